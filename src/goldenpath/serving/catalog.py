"""The registry as rollouts see it: one service's models, champion and examples."""

from __future__ import annotations

from pathlib import Path

from goldenpath import refs, registry
from goldenpath.errors import InputError, NotFound, RefError
from goldenpath.refs import Kind
from goldenpath.serving.targets import Revision
from goldenpath.store import Store

EXAMPLE_FILE = "serving_input_example.json"
"""Where an MLflow model keeps its input example as a request's body."""


class Catalog:
    """The models that one service may serve."""

    def __init__(
        self, *, service: str, store: Store, tracking: str, run: str, trusted_key: Path | None
    ) -> None:
        self.service = service
        self.store = store
        self.tracking = tracking
        self.run = run
        self.trusted_key = trusted_key

    def revision(self, model: str) -> Revision:
        """A registered model as a revision.

        Raises:
            RefError: The reference has no number: only a registered model is served.
        """
        found = registry.resolve(model, store=self.store)
        if found.number is None or found.digest is None:
            raise RefError(f"{model!r} has no version number.", next_step="Register the model first.")
        return Revision(model=str(found), digest=found.digest)

    def champion(self, model: str) -> str:
        """The service's champion among the versions of a model's name; empty for none."""
        return registry.aliases(_name(model), store=self.store).of(registry.CHAMPION, service=self.service)

    def previous(self, model: str) -> str:
        """The champion before; empty for none."""
        return registry.aliases(_name(model), store=self.store).of(registry.PREVIOUS, service=self.service)

    def fetch(self, model: str, folder: Path) -> Path:
        """Brings a model's files into a folder: each verified, and signed where that is asked for."""
        return registry.fetch(model, folder, store=self.store, trusted_key=self.trusted_key)

    def example(self, model: str) -> bytes:
        """A model's input example, as the body of a request.

        Raises:
            InputError: It was published without one: it cannot be warmed up.
        """
        manifest = registry.read_manifest(model, store=self.store)
        try:
            return self.store.get(manifest.prefix + EXAMPLE_FILE)
        except NotFound:
            raise InputError(
                f"The model {model} has no {EXAMPLE_FILE}: it cannot be warmed up.",
                next_step="Save it with input_example=… and publish it again.",
            ) from None

    def crown(self, model: str, *, instead_of: str) -> None:
        """Makes a model the champion, if the champion is the expected one (or the model already).

        Raises:
            StaleChampion: Another model became champion meanwhile.
        """
        self._move({registry.CHAMPION: model}, model, instead_of)

    def bring_back(self, model: str, *, instead_of: str) -> None:
        """Makes the previous champion the champion again; there is no previous one then.

        Raises:
            StaleChampion: Another model became champion meanwhile.
        """
        self._move({registry.CHAMPION: model, registry.PREVIOUS: ""}, model, instead_of)

    def _move(self, moves: dict[str, str], model: str, expected: str) -> None:
        registry.move_alias(
            _name(model),
            moves,
            expected_champion=expected,
            store=self.store,
            tracking=self.tracking,
            service=self.service,
            run=self.run,
        )


def _name(model: str) -> str:
    return refs.parse(model, kind=Kind.MODELS).name
