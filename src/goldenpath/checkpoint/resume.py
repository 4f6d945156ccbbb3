"""Resume: which checkpoint a run goes on from. Rank 0 decides, and every rank loads the same one.

The newest commit is tried first. A rank that finds it damaged says so, and all go on to the one
before; where a store is merely away nothing is given up. What an absent commit means:

- No data, or only data of attempts that were killed before their first checkpoint was complete: the
  run starts from its beginning (and the second case is told).
- A complete checkpoint without its commit (the manifest's copy lies beside the data from the moment
  that all data is there): it is verified and committed now.
- The same, but damaged: DataDamaged, for starting over would silently throw work away.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from goldenpath import progress
from goldenpath.checkpoint import catalogue
from goldenpath.checkpoint.commit import error_record, rebuilt
from goldenpath.checkpoint.coordinator import Coordinator
from goldenpath.checkpoint.manifest import Manifest, digest_of_bytes, parse
from goldenpath.errors import DataDamaged, GoldenPathError, NotFound
from goldenpath.refs import Kind
from goldenpath.store import Store, keys

_COMPLETE = re.compile(r"([0-9a-f]{8})/([0-9]{10})/manifest\.json")

Load = Callable[[Manifest], Any]


class Resume:
    """One search for the checkpoint to go on from; on every rank, with the same calls."""

    def __init__(self, *, store: Store, run: str, coordinator: Coordinator) -> None:
        self._store, self._run, self._coordinator = store, run, coordinator
        self.damaged: set[int] = set()
        """On rank 0: the steps that were fallen past."""
        self._candidates: Iterator[tuple[int, str]] | None = None
        self._trying: int | None = None

    def find(self, load: Load) -> tuple[Manifest, str, Any] | None:
        """Loads the newest valid checkpoint.

        Args:
            load: Loads one; DataDamaged makes all ranks go on to the one before.

        Returns:
            Its manifest, its digest and what ``load`` returned; None where the run has none yet.

        Raises:
            DataDamaged: There was work, and nothing of it can be read.
            Temporary: The store or a rank is away.
        """
        report: dict[str, Any] = {"state": "start"}
        loaded: tuple[Manifest, str, Any] | None = None
        while True:
            verdict = self._coordinator.agree(report, self._decide)
            if "error" in verdict:
                raise rebuilt(verdict["error"])
            if verdict["state"] == "done":
                return loaded
            step, digest = verdict["step"], verdict["digest"]
            try:
                manifest, _ = catalogue.read(self._run, step, store=self._store, digest=digest)
                loaded = manifest, digest, load(manifest)
                report = {"state": "loaded"}
            except (DataDamaged, NotFound) as error:
                loaded = None
                report = {"state": "damaged", "message": str(error)}
            except GoldenPathError as error:
                loaded = None
                report = {"state": "failed", "error": error_record(error)}

    def _decide(self, reports: list[dict[str, Any]]) -> dict[str, Any]:
        failed = [report["error"] for report in reports if report["state"] == "failed"]
        if failed:
            return {"error": failed[0]}
        if all(report["state"] == "loaded" for report in reports):
            return {"state": "done"}
        damaged = [report["message"] for report in reports if report["state"] == "damaged"]
        if damaged and self._trying is not None:
            self.damaged.add(self._trying)
            progress.note(f"Checkpoint {self._run}:{self._trying} cannot be used: {damaged[0]}")
        try:
            return self._next()
        except GoldenPathError as error:
            return {"error": error_record(error)}

    def _next(self) -> dict[str, Any]:
        if self._candidates is None:
            self._candidates = self._search()
        found = next(self._candidates, None)
        if found is None:
            if self.damaged:
                raise DataDamaged(
                    f"None of the checkpoints of run {self._run} can be read "
                    f"(steps {', '.join(map(str, sorted(self.damaged)))}).",
                    next_step="Mend the store, or give the training a new run to start over.",
                )
            return {"state": "done"}
        self._trying = found[0]
        if self.damaged:
            progress.note(f"Run {self._run} falls back to its checkpoint at step {found[0]}.")
        return {"state": "try", "step": found[0], "digest": found[1]}

    def _search(self) -> Iterator[tuple[int, str]]:
        known = catalogue.steps(self._run, store=self._store)
        for step in reversed(known):
            try:
                _, digest = catalogue.read(self._run, step, store=self._store)
            except (DataDamaged, NotFound) as error:
                self.damaged.add(step)
                progress.note(f"Checkpoint {self._run}:{step} cannot be used: {error}")
            else:
                yield step, digest
        if not known:
            yield from self._lost_commits()

    def _lost_commits(self) -> Iterator[tuple[int, str]]:
        """Complete checkpoints of a run that has no commit at all, the newest first."""
        folder = keys.checkpoint_attempts(self._run)
        entries = [entry.key for entry in self._store.list(folder)]
        matches = (_COMPLETE.fullmatch(key.removeprefix(folder)) for key in entries)
        complete = sorted(((int(m[2]), m[1]) for m in matches if m), reverse=True)
        if entries and not complete:
            progress.note(
                f"Run {self._run} has data of attempts that ended before their first checkpoint was "
                "complete: it starts from its beginning."
            )
        for step, attempt in complete:
            key = keys.checkpoint_complete(self._run, attempt, step)
            try:
                data = self._store.get(key)
                manifest = parse(data, run=self._run, step=step, where=self._store.uri(key))
                catalogue.verify_objects(self._store, manifest)
            except (DataDamaged, NotFound) as error:
                self.damaged.add(step)
                progress.note(f"The complete checkpoint {self._store.uri(key)} cannot be used: {error}")
                continue
            self._store.create(keys.ref(Kind.CHECKPOINTS, self._run, step), data)
            progress.note(f"The commit of {self._run}:{step} was lost; its data is whole: committed now.")
            yield step, digest_of_bytes(data)
