"""Registering: one number a digest, and none without evidence."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from goldenpath import refs, registry
from goldenpath.errors import InputError, NotFound, RefError, Refused
from goldenpath.journal import Journal
from goldenpath.provenance import Code, RunRecord, StepRecord
from goldenpath.registry import Evidence
from goldenpath.store import Store, put_document

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(params=["memory_store", "file_store"])
def store(request: pytest.FixtureRequest) -> Store:
    found: Store = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def published(store: Store, tmp_path: Path) -> Callable[..., str]:
    def make(content: str = "weights", name: str = "digits") -> str:
        folder = tmp_path / f"{name}-{content}"
        folder.mkdir(exist_ok=True)
        (folder / "model.bin").write_text(content)
        return registry.publish(folder, name, store=store)

    return make


def evidence(
    store: Store, model: str, *, run: str = "run-1", verdict: str = "passed", **fields: Any
) -> Evidence:
    evaluation = put_document(store, {"model": model, "metrics": {"accuracy": 0.9}})
    gate = put_document(store, {"verdict": verdict, "candidate": evaluation})
    found = Evidence(
        evaluation=evaluation,
        gate=gate,
        override="",
        run=run,
        code=Code(repository="https://host/r", commit="c" * 40, digest="d" * 64),
        image="sha256:" + "e" * 64,
        config_digest="f" * 64,
    )
    return replace(found, **fields)


def register(
    store: Store, model: str, given: Evidence | None = None, name: str = "digits"
) -> registry.Registered:
    return registry.register(model, name, evidence=given or evidence(store, model), store=store, tracking="")


def test_a_model_gets_the_next_number_and_its_record_answers_for_it(
    store: Store, published: Callable[..., str]
) -> None:
    first, second = published("a"), published("b")
    given = evidence(store, first)
    done = register(store, first, given)
    assert done.version == 1
    assert done.model == first.replace("digits@", "digits:1@")
    assert register(store, second).version == 2
    newest, oldest = registry.versions("digits", store=store)
    assert (newest.number, oldest.number) == (2, 1)
    assert oldest.ref(store.url) == done.model
    assert (oldest.run, oldest.verdict, oldest.override) == ("run-1", "passed", "")
    assert (oldest.evaluation, oldest.gate, oldest.code) == (given.evaluation, given.gate, given.code)
    assert str(registry.resolve("models/digits:1", store=store)) == done.model


def test_the_same_bytes_keep_their_number_whoever_registers_them(
    store: Store, published: Callable[..., str]
) -> None:
    model = published()
    first = register(store, model)
    register(store, published("other"))
    assert register(store, model) == first
    assert register(store, first.model) == first
    assert register(store, model, evidence(store, model, run="run-2")) == first
    assert [version.run for version in registry.versions("digits", store=store)] == ["run-1", "run-1"]


def test_registrations_at_once_give_numbers_without_holes_and_one_a_digest(
    store: Store, published: Callable[..., str]
) -> None:
    models = [published(str(n)) for n in range(4)]
    asked = [(model, f"run-{n}") for n in range(3) for model in models]
    with ThreadPoolExecutor(len(asked)) as pool:
        done = list(pool.map(lambda ask: register(store, ask[0], evidence(store, ask[0], run=ask[1])), asked))
    assert {one.version for one in done} == {1, 2, 3, 4}
    assert len({one.model for one in done}) == 4


def test_two_attempts_of_one_run_at_once_give_one_version(
    store: Store, published: Callable[..., str]
) -> None:
    model = published()
    with ThreadPoolExecutor(8) as pool:
        done = set(pool.map(lambda _: register(store, model).model, range(8)))
    assert len(done) == 1
    assert len(list(registry.versions("digits", store=store))) == 1


@pytest.mark.parametrize("verdict", ["refused", "no_evidence", "PASSED", "passed "])
def test_what_did_not_pass_is_refused_and_leaves_no_number(
    store: Store, published: Callable[..., str], verdict: str
) -> None:
    model = published()
    with pytest.raises(Refused, match=r"verdict on .* is"):
        register(store, model, evidence(store, model, verdict=verdict))
    with pytest.raises(Refused):
        register(store, model, evidence(store, model, verdict=verdict, override="  "))
    assert list(registry.versions("digits", store=store)) == []


def test_an_override_is_kept_with_its_verdict(
    store: Store, published: Callable[..., str], notes: list[str]
) -> None:
    model = published()
    given = evidence(store, model, verdict="refused", override="the old champion leaks labels")
    register(store, model, given)
    (version,) = registry.versions("digits", store=store)
    assert (version.verdict, version.override) == ("refused", "the old champion leaks labels")
    assert any("in spite of 'refused'" in note for note in notes)


def test_an_override_that_was_not_needed_is_not_shown_as_one(
    store: Store, published: Callable[..., str]
) -> None:
    model = published()
    register(store, model, evidence(store, model, override="to be sure"))
    (version,) = registry.versions("digits", store=store)
    assert version.override == ""


def test_the_evidence_of_another_model_is_refused_even_with_an_override(
    store: Store, published: Callable[..., str]
) -> None:
    mine, other = published("mine"), published("other")
    with pytest.raises(Refused, match=r"is of .*, not of"):
        register(store, mine, replace(evidence(store, other), override="trust me"))
    passed = evidence(store, mine)
    swapped = replace(passed, evaluation=evidence(store, other).evaluation)
    with pytest.raises(Refused, match="not the evaluation"):
        register(store, mine, swapped)


@pytest.mark.parametrize("document", [{}, [], {"verdict": "passed"}, {"verdict": True, "candidate": "x"}])
def test_a_gate_without_a_verdict_is_refused(
    store: Store, published: Callable[..., str], document: Any
) -> None:
    model = published()
    given = replace(evidence(store, model), gate=put_document(store, document))
    with pytest.raises(Refused, match="missing evidence never passes"):
        register(store, model, given)


def test_what_cannot_be_registered_says_why(store: Store, published: Callable[..., str]) -> None:
    model = published()
    with pytest.raises(InputError, match="was published as 'digits'"):
        register(store, model, name="letters")
    with pytest.raises(NotFound, match="There is no model"):
        register(store, f"{store.url}/models/digits@sha256:{'0' * 64}", evidence(store, model))
    with pytest.raises(RefError, match="names no version"):
        register(store, f"{store.url}/models/digits", evidence(store, model))
    with pytest.raises(InputError, match="is not in the registry's store"):
        register(store, model.replace(store.url, "memory://elsewhere"), evidence(store, model))
    with pytest.raises(RefError, match="not a document"):
        register(store, model, replace(evidence(store, model), gate=""))


def test_a_reference_that_contradicts_itself_is_refused(store: Store, published: Callable[..., str]) -> None:
    first, second = register(store, published("a")), register(store, published("b"))
    wrong = str(refs.parse(first.model).with_digest(refs.parse(second.model).digest or ""))
    with pytest.raises(RefError, match="contradicts itself"):
        registry.resolve(wrong, store=store)


def test_the_record_says_what_the_model_was_trained_on(store: Store, published: Callable[..., str]) -> None:
    model = published()
    journal = Journal(store)
    journal.begin(RunRecord(run="run-1", path="p", engine="local", queue="team-a", started_at=NOW))
    datasets = {"train": f"{store.url}/datasets/digits:1@sha256:{'1' * 64}"}
    checkpoint = f"{store.url}/checkpoints/run-1:40@sha256:{'2' * 64}"
    journal.commit_step(
        StepRecord(
            run="run-1",
            step="train",
            component="training.launch",
            key="k",
            attempt="a",
            inputs={"job": {"queue": None}, "datasets": datasets},
            outputs={
                "model": model,
                "checkpoint": checkpoint,
                "cost": {"amount": 1.5, "currency": "EUR"},
            },
            started_at=NOW,
            finished_at=NOW,
        ),
        reusable=False,
    )
    register(store, model)
    (version,) = registry.versions("digits", store=store)
    assert version.datasets == datasets
    assert (version.checkpoint, version.queue) == (checkpoint, "team-a")
    assert version.cost is not None
    assert (version.cost.amount, version.cost.currency) == (1.5, "EUR")
