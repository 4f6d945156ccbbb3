"""The trace: everything a model came from, each thing at its address; and what came of data and code."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from typer.testing import CliRunner

from goldenpath import refs, registry
from goldenpath.cli import main as cli
from goldenpath.cli.output import jsonable
from goldenpath.errors import DataDamaged, InputError, NotFound
from goldenpath.journal import IndexKind, Journal
from goldenpath.provenance import RunRecord, StepRecord
from goldenpath.registry.lineage.tree import render
from goldenpath.store import Store

Run = Callable[..., dict[str, str]]
COMMIT = "c" * 40
NOW = datetime(2026, 1, 1, tzinfo=UTC)
SINGLE = ("code", "config", "evaluation", "gate", "report", "rows", "rollout", "run")


def test_a_promoted_model_leads_to_everything_it_came_from(file_store: Store, run: Run) -> None:
    made = run("run-1", "weights")
    found = registry.trace("models:/digits@champion", store=file_store)
    assert found.model is not None
    assert found.model.uri == made["model"]
    assert {name: getattr(found, name).uri for name in SINGLE} == {name: made[name] for name in SINGLE}
    assert [(entry.facts["name"], entry.uri) for entry in found.data] == [
        ("train", made["train"]),
        ("test", made["test"]),
    ]
    assert [entry.uri for entry in found.checkpoints] == [made["checkpoints"]]
    assert all(entry.resolves for _, entry in found.entries() if entry.uri)
    assert (found.faults, found.aliases, found.also_by) == ((), ("champion",), ())
    assert found.image is not None
    assert found.image.text == "sha256:image"
    assert found.queue is not None
    assert found.queue.facts == {"queue": "team-a", "queued_s": 12.0}
    assert found.cost is not None
    assert found.cost.facts["cost"] == {"amount": 1.25, "currency": "EUR"}
    assert [step.component for step in found.steps] == [
        "run.pin", "training.launch", "evaluation.evaluate", "evaluation.gate", "registry.register",
        "serving.promote",
    ]  # fmt: skip


def test_every_name_of_a_model_leads_to_the_same_trace(file_store: Store, run: Run) -> None:
    model = run("run-1", "weights")["model"]
    ref = refs.parse(model)
    asked = [
        "models:/digits@champion", "models:/digits/1", model, "models/digits:1", "digits:1",
        f"models/digits@sha256:{ref.digest}", f"sha256:{ref.digest}", str(ref.digest), "run-1",
        "checkpoints/run-1:40",
    ]  # fmt: skip
    traces = [registry.trace(text, store=file_store) for text in asked]
    assert {trace.model.uri for trace in traces if trace.model} == {model}
    assert [trace.asked for trace in traces] == asked
    assert len({json.dumps([jsonable(t.gate), jsonable(t.data)]) for t in traces}) == 1


def test_a_dataset_and_a_commit_tell_what_came_of_them(file_store: Store, run: Run) -> None:
    first, second = run("run-1", "a"), run("run-2", "b", verdict="refused")
    digest = refs.parse(first["train"]).digest
    for asked in (first["train"], "datasets/digits-train:1", f"sha256:{digest}", COMMIT):
        found = registry.trace(asked, store=file_store)
        assert {(came.run, came.model, came.outcome) for came in found.came_of} == {
            ("run-1", first["model"], "promoted"),
            ("run-2", second["model"], "refused"),
        }
    assert registry.trace(f"sha256:{digest}", store=file_store).data[0].uri == first["train"]
    assert registry.trace(COMMIT, store=file_store).kind == "commit"


def test_a_refused_model_is_traced_too(file_store: Store, run: Run) -> None:
    made = run("run-1", "bad", verdict="refused")
    for asked in (made["model"], "run-1"):
        found = registry.trace(asked, store=file_store)
        assert found.gate is not None
        assert found.gate.facts["verdict"] == "refused"
        assert (found.rollout, found.aliases, found.faults) == (None, (), ())


def test_an_override_is_shown_for_ever(file_store: Store, run: Run) -> None:
    run("run-1", "bad", verdict="refused", override="the champion leaks labels")
    found = registry.trace("models:/digits/1", store=file_store)
    assert found.gate is not None
    assert found.gate.facts["override"] == "the champion leaks labels"
    assert "Overridden: the champion leaks labels" in render(found, colour=False)


def test_an_adopted_training_is_followed_to_the_run_that_did_it(file_store: Store, run: Run) -> None:
    run("run-1", "weights", promoted=False)
    run("run-2", "weights", promoted=False, adopted_from="run-1")
    found = registry.trace("run-2", store=file_store)
    by_component = {step.component: step for step in found.steps}
    assert by_component["training.launch"].run == "run-1"
    assert by_component["training.launch"].logs == ("file:///log",)
    assert by_component["evaluation.evaluate"].run == "run-2"
    assert found.faults == ()
    # One digest, one version: the first run's. The other is told beside it.
    assert registry.trace("models:/digits/1", store=file_store).also_by == ("run-2",)


def test_a_promotion_by_another_run_is_found(file_store: Store, world: Any) -> None:
    made = world.run("run-1", "weights", promoted=False)
    assert registry.trace("models:/digits/1", store=file_store).rollout is None
    world.promote("run-9", made["model"], "")
    found = registry.trace("models:/digits/1", store=file_store)
    assert found.rollout is not None
    assert (found.rollout.uri, found.rollout.facts["run"]) == (world.made["run-9"]["rollout"], "run-9")


@pytest.mark.parametrize("name", ["model", "train", "code", "checkpoints", "rows", "gate", "evaluation"])
def test_a_flipped_byte_is_found_by_verify(file_store: Store, run: Run, name: str) -> None:
    made = run("run-1", "weights")
    assert registry.trace("models:/digits/1", store=file_store, verify=True).faults == ()
    for path in _files_of(made[name], file_store):
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
    found = registry.trace("models:/digits/1", store=file_store, verify=True)
    field = {"train": "data"}.get(name, name)
    assert [fault.partition(":")[0] for fault in found.faults] == [field]


def _files_of(uri: str, store: Store) -> list[Path]:
    """The files in the store that hold the bytes behind an address."""
    root = Path(unquote(urlsplit(store.url).path))
    if "/objects/" in uri or "/manifests/" in uri:
        return [root / uri.removeprefix(store.url + "/")]
    ref = refs.parse(uri)
    if ref.kind is refs.Kind.MODELS:
        return list((root / "models").rglob("model.bin"))
    if ref.kind is refs.Kind.CHECKPOINTS:
        return [path for path in (root / "checkpoints").rglob("*") if path.is_file()]
    content = {"digits-train": b"rows", "digits-source": b"code"}[ref.name]
    return [p for p in (root / "objects").rglob("*") if p.is_file() and content in p.read_bytes()]


def test_with_a_trusted_key_an_unsigned_model_does_not_hold(
    file_store: Store, run: Run, tmp_path: Path
) -> None:
    run("run-1", "weights")
    trusted = tmp_path / "trusted.pub"
    found = registry.trace("models:/digits/1", store=file_store, verify=True, trusted_key=trusted)
    (fault,) = found.faults
    assert fault.startswith("model: The model digits@sha256:")
    assert "is not signed" in fault


def test_what_is_gone_is_told_and_the_rest_still_shown(file_store: Store, run: Run) -> None:
    made = run("run-1", "weights")
    file_store.delete(made["report"].removeprefix(file_store.url + "/"))
    found = registry.trace("models:/digits/1", store=file_store)
    assert found.report is not None
    assert found.report.resolves is False
    (fault,) = found.faults
    assert fault.startswith("report: There is no object")
    assert found.gate is not None
    assert found.gate.resolves is True


def test_a_thousand_runs_are_not_listed(file_store: Store, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run("run-1", "weights")
    journal = Journal(file_store)
    for number in range(1000):
        name = f"other-{number}"
        journal.begin(RunRecord(run=name, path="p", engine="local", started_at=NOW))
        journal.commit_step(
            StepRecord(
                run=name, step="fit", component="training.launch", key="k", attempt="a", inputs={},
                started_at=NOW, finished_at=NOW,
            ),
            reusable=False,
        )  # fmt: skip
        journal.add_to_index(IndexKind.MODEL, "other", name)
    asked: Counter[str] = Counter()
    listed: list[str] = []
    call, list_ = Store._call, Store.list

    def counted(self: Store, key: str, act: Callable[[], Any]) -> Any:
        asked[key] += 1
        return call(self, key, act)

    def listing(self: Store, prefix: str = "") -> Any:
        for entry in list_(self, prefix):
            listed.append(entry.key)
            yield entry

    monkeypatch.setattr(Store, "_call", counted)
    monkeypatch.setattr(Store, "list", listing)
    found = registry.trace("models:/digits@champion", store=file_store)
    assert found.faults == ()
    assert sum(asked.values()) < 80, asked
    assert len(listed) < 20, listed
    assert not [key for key in (*asked, *listed) if "other" in key]


@pytest.mark.parametrize(
    ("asked", "kind", "words"),
    [
        ("models:/digits@queen", NotFound, "has no alias 'queen'"),
        ("models:/digits/7", NotFound, "no version 7"),
        ("models:/digits", InputError, "names no version"),
        ("models:/../3", InputError, "not allowed"),
        ("models:/..@champion", InputError, "not allowed"),
        ("run-7", NotFound, "No run or commit"),
        ("d" * 40, NotFound, "No run or commit"),
        ("e" * 64, NotFound, "No model or dataset with the digest"),
        (f"models/digits@sha256:{'e' * 64}", NotFound, "made"),
        ("s3://other/models/digits:1", InputError, "another store"),
        ("What?", InputError, "cannot be traced"),
    ],
)
def test_what_cannot_be_found_says_so(
    file_store: Store, run: Run, asked: str, kind: type[Exception], words: str
) -> None:
    run("run-1", "weights")
    with pytest.raises(kind, match=words):
        registry.trace(asked, store=file_store)


def test_the_tree_names_everything_in_a_line(file_store: Store, run: Run) -> None:
    run("run-1", "weights")
    text = render(registry.trace("models:/digits@champion", store=file_store), colour=False)
    lines = text.splitlines()
    assert lines[0].startswith("✓ model      digits:1@sha256:")
    assert lines[0].endswith("(champion)")
    for label in ("code", "data", "image", "config", "checkpoint", "evaluation", "gate", "rollout", "queue"):
        assert sum(f" {label} " in line for line in lines) >= 1, text
    assert "team-a, waited 12 s" in text
    assert "1.25 EUR; 0.50 accelerator hours, 60 s" in text


def test_the_command_prints_json_and_ends_with_6_where_something_is_damaged(
    file_store: Store, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = run("run-1", "weights")
    monkeypatch.setenv("GOLDENPATH_STORE", file_store.url)
    command = ["trace", "models:/digits@champion", "--json", "--verify"]
    done = CliRunner().invoke(cli.app, command)
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert (told["model"]["uri"], told["model"]["resolves"]) == (made["model"], True)
    for path in _files_of(made["model"], file_store):
        path.write_bytes(b"tampered")
    damaged = CliRunner().invoke(cli.app, command)
    assert isinstance(damaged.exception, DataDamaged)
    assert json.loads(damaged.stdout)["model"]["resolves"] is False


def test_the_model_commands_list_show_verify_and_fetch(
    file_store: Store, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = run("run-1", "weights")["model"]
    run("run-2", "more", promoted=False)
    monkeypatch.setenv("GOLDENPATH_STORE", file_store.url)

    def told(*arguments: str) -> Any:
        done = CliRunner().invoke(cli.app, ["model", *arguments, "--json"])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    (listed,) = told("list")
    assert (listed["name"], listed["versions"], listed["champion"]) == ("digits", 2, model)
    shown = told("show", "digits")
    assert [version["number"] for version in shown["versions"]] == [2, 1]
    assert shown["aliases"] == {"champion": model}
    assert told("verify", "digits:1")["digest"] == refs.parse(model).digest
    fetched = told("fetch", "digits:1", str(tmp_path / "got"))
    assert (fetched["model"], fetched["files"]) == (model, 1)
    assert (tmp_path / "got" / "model.bin").read_text() == "weights"
    text = CliRunner().invoke(cli.app, ["model", "show", "digits"]).stdout
    assert "run run-1  passed  (champion)" in text


def test_the_statement_is_in_toto_with_slsa_provenance(file_store: Store, run: Run) -> None:
    made = run("run-1", "weights")
    told = registry.in_toto(registry.trace("models:/digits@champion", store=file_store))
    model = refs.parse(made["model"])
    assert told["_type"] == "https://in-toto.io/Statement/v1"
    assert told["predicateType"] == "https://slsa.dev/provenance/v1"
    assert told["subject"] == [{"name": "model", "uri": made["model"], "digest": {"sha256": model.digest}}]
    definition, details = told["predicate"]["buildDefinition"], told["predicate"]["runDetails"]
    assert definition["externalParameters"]["config"]["uri"] == made["config"]
    assert [(one["name"], one["digest"]["sha256"]) for one in definition["resolvedDependencies"]] == [
        ("code", refs.parse(made["code"]).digest),
        ("train", refs.parse(made["train"]).digest),
        ("test", refs.parse(made["test"]).digest),
        ("image", "image"),
    ]
    assert details["metadata"]["invocationId"] == made["run"]
    byproducts = {one["name"]: one["uri"] for one in details["byproducts"]}
    assert byproducts == {name: made[name] for name in (
        "checkpoints", "evaluation", "rows", "gate", "report", "rollout")}  # fmt: skip
    with pytest.raises(InputError, match="made no model"):
        registry.in_toto(registry.trace(COMMIT, store=file_store))
