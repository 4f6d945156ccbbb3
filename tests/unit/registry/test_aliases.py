"""Aliases: one champion, whoever races, and a history without holes."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from goldenpath import registry
from goldenpath.errors import DataDamaged, InputError, NotFound, RefError, StaleChampion
from goldenpath.provenance import Code
from goldenpath.registry import Aliases, Evidence
from goldenpath.registry.alias_epochs import alias_of, moved
from goldenpath.store import Store, keys, put_document


@pytest.fixture(params=["memory_store", "file_store"])
def store(request: pytest.FixtureRequest) -> Store:
    found: Store = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def registered(store: Store, tmp_path: Path) -> Callable[..., str]:
    """Makes registered versions; gives their references."""

    def make(content: str, name: str = "digits") -> str:
        folder = tmp_path / f"{name}-{content}"
        folder.mkdir(exist_ok=True)
        (folder / "model.bin").write_text(content)
        model = registry.publish(folder, name, store=store)
        evaluation = put_document(store, {"model": model})
        gate = put_document(store, {"verdict": "passed", "candidate": evaluation})
        evidence = Evidence(
            evaluation=evaluation, gate=gate, override="", run="r", code=Code(), image="", config_digest=""
        )
        return registry.register(model, name, evidence=evidence, store=store, tracking="").model

    return make


def move(store: Store, moves: dict[str, str], expected: str, **more: str) -> Aliases:
    return registry.move_alias("digits", moves, expected_champion=expected, store=store, tracking="", **more)


def test_a_model_without_epochs_has_no_aliases(store: Store) -> None:
    assert registry.aliases("digits", store=store) == Aliases(model="digits", epoch=0, refs={})
    assert list(registry.alias_history("digits", store=store)) == []


def test_the_champion_moves_and_the_one_before_stays_as_previous(
    store: Store, registered: Callable[..., str]
) -> None:
    a, b = registered("a"), registered("b")
    move(store, {"champion": a}, "", run="run-1")
    move(store, {"challenger": b}, a)
    after = move(store, {"champion": b}, a, run="run-2")
    assert after == registry.aliases("digits", store=store)
    assert (after.epoch, after.refs) == (3, {"champion": b, "previous": a})
    history = list(registry.alias_history("digits", store=store))
    assert [(one.epoch, one.run) for one in history] == [(3, "run-2"), (2, ""), (1, "run-1")]
    back = move(store, {"champion": a, "previous": ""}, b)
    assert back.refs == {"champion": a}


def test_a_stale_champion_is_told_by_name_and_nothing_moves(
    store: Store, registered: Callable[..., str]
) -> None:
    a, b, c = registered("a"), registered("b"), registered("c")
    move(store, {"champion": a}, "")
    for expected in ("", b):
        with pytest.raises(StaleChampion, match="digits:1@sha256") as caught:
            move(store, {"champion": c}, expected)
        assert caught.value.exit_code == 3
    assert registry.aliases("digits", store=store).epoch == 1


def test_a_move_that_was_made_already_is_done(store: Store, registered: Callable[..., str]) -> None:
    a, b = registered("a"), registered("b")
    move(store, {"champion": a}, "")
    first = move(store, {"champion": b}, a)
    assert move(store, {"champion": b}, a) == first


def test_of_eight_promoters_at_once_one_wins_and_the_history_has_no_holes(
    store: Store, registered: Callable[..., str]
) -> None:
    old = registered("old")
    move(store, {"champion": old}, "")
    models = [registered(str(n)) for n in range(8)]

    def promote(model: str) -> str:
        try:
            return move(store, {"champion": model}, old).of("champion")
        except StaleChampion:
            return ""

    with ThreadPoolExecutor(8) as pool:
        won = [model for model in pool.map(promote, models) if model]
    assert len(won) == 1
    assert registry.aliases("digits", store=store).refs == {"champion": won[0], "previous": old}
    assert [one.epoch for one in registry.alias_history("digits", store=store)] == [2, 1]


def test_moves_of_other_roles_at_once_all_arrive(store: Store, registered: Callable[..., str]) -> None:
    a = registered("a")
    services = [f"shop-{n}" for n in range(6)]

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda service: move(store, {"champion": a}, "", service=service), services))
    found = registry.aliases("digits", store=store)
    assert found.epoch == 6
    assert found.refs == {f"champion-{service}": a for service in services}
    assert [one.epoch for one in registry.alias_history("digits", store=store)] == [6, 5, 4, 3, 2, 1]


def test_each_service_has_its_own_champion(store: Store, registered: Callable[..., str]) -> None:
    a, b = registered("a"), registered("b")
    move(store, {"champion": a}, "", service="digits")
    found = move(store, {"champion": b}, "", service="shop")
    assert (found.of("champion"), found.of("champion", service="shop")) == (a, b)
    assert found.of("champion", service="other") == ""


def test_only_registered_versions_of_the_model_get_an_alias(
    store: Store, registered: Callable[..., str]
) -> None:
    a, other = registered("a"), registered("x", "letters")
    with pytest.raises(RefError, match="not a version of the model 'digits'"):
        move(store, {"champion": other}, "")
    with pytest.raises(NotFound, match="no version 9"):
        move(store, {"champion": a.replace(":1@", ":9@")}, "")
    with pytest.raises(RefError, match="has no version number"):
        move(store, {"champion": a.replace(":1@", "@")}, "")
    with pytest.raises(InputError, match="no role 'king'"):
        move(store, {"king": a}, "")
    assert registry.aliases("digits", store=store).epoch == 0


def test_an_unreadable_epoch_is_damage_not_an_empty_map(store: Store, registered: Callable[..., str]) -> None:
    move(store, {"champion": registered("a")}, "")
    store.put(keys.alias_epoch("digits", 2), b"{}")
    with pytest.raises(DataDamaged, match="unreadable"):
        registry.aliases("digits", store=store)


@pytest.mark.parametrize(
    ("current", "wanted", "after"),
    [
        ({}, {"champion": "a"}, {"champion": "a"}),
        ({"champion": "a"}, {"champion": "b"}, {"champion": "b", "previous": "a"}),
        ({"champion": "a", "challenger": "b"}, {"champion": "b"}, {"champion": "b", "previous": "a"}),
        ({"champion": "a", "challenger": "c"}, {"champion": "b"},
         {"champion": "b", "challenger": "c", "previous": "a"}),
        ({"champion": "b", "previous": "a"}, {"champion": "a", "previous": ""}, {"champion": "a"}),
        ({"champion": "a", "challenger": "b"}, {"challenger": ""}, {"champion": "a"}),
        ({"champion": "a"}, {"champion": "a"}, {"champion": "a"}),
        ({"champion": "a"}, {"champion": ""}, {}),
    ],
)  # fmt: skip
def test_the_map_after_a_move(current: dict[str, str], wanted: dict[str, str], after: dict[str, str]) -> None:
    assert moved(current, wanted, model="m") == after


def test_a_services_alias_is_named_by_it() -> None:
    assert alias_of("champion", model="m") == alias_of("champion", model="m", service="m") == "champion"
    assert alias_of("champion", model="m", service="s") == "champion-s"
