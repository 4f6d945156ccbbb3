"""Pairing: the candidate's rows and the champion's, brought to one order by their ids."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from goldenpath.evaluation.rows import Categories, Rows

_SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Two models' rows of the same examples: row i of one is row i of the other."""

    candidate: Rows
    champion: Rows

    @property
    def n(self) -> int:
        """The number of pairs."""
        return self.candidate.n

    def take(self, order: npt.NDArray[np.int64]) -> Pairs:
        """The pairs of these positions."""
        return Pairs(candidate=self.candidate.take(order), champion=self.champion.take(order))


def pair(candidate: Rows, champion: Rows) -> Pairs | str:
    """Pairs two models' rows, or tells in a sentence why they do not pair.

    They pair if both have the same ids, and for each id the same label, group, weight and slices. The
    order of rows does not matter.
    """
    import pyarrow.compute as pc

    if candidate.ids.type != champion.ids.type:
        return f"The candidate's ids are {candidate.ids.type}, the champion's {champion.ids.type}."
    if not candidate.ids.equals(champion.ids):
        where = pc.index_in(candidate.ids, value_set=champion.ids)
        if where.null_count or candidate.n != champion.n:
            return _unpaired(candidate, champion)
        champion = champion.take(where.to_numpy(zero_copy_only=False).astype(np.int64))
    if bool(candidate.classes) != bool(champion.classes):
        return "One model's labels are classes, the other's are floating-point numbers."
    if candidate.classes:
        try:
            classes = tuple(sorted({*candidate.classes, *champion.classes}))
        except TypeError:
            return "The candidate's labels are of another type than the champion's."
        candidate, champion = candidate.with_classes(classes), champion.with_classes(classes)
    return _difference(candidate, champion) or Pairs(candidate=candidate, champion=champion)


def _unpaired(candidate: Rows, champion: Rows) -> str:
    import pyarrow.compute as pc

    parts = []
    for name, mine, other in (("candidate", candidate, champion), ("champion", champion, candidate)):
        alone = mine.ids.filter(pc.invert(pc.is_in(mine.ids, value_set=other.ids)))
        if len(alone):
            shown = ", ".join(repr(value) for value in alone[:_SHOWN].to_pylist())
            more = ", …" if len(alone) > _SHOWN else ""
            parts.append(f"{len(alone):,} ids are in the {name}'s rows alone ({shown}{more})")
    return "; ".join(parts) + "."


def _difference(candidate: Rows, champion: Rows) -> str:
    """Which column of the same examples differs between the two, in a sentence, or an empty string."""
    columns = {
        "label": (candidate.label, champion.label),
        "group": (candidate.group, champion.group),
        "weight": (candidate.weight, champion.weight),
    }
    for name in sorted({*candidate.slices, *champion.slices}):
        columns[f"slice_{name}"] = (candidate.slices.get(name), champion.slices.get(name))
    for name, (mine, other) in columns.items():
        if (mine is None) != (other is None):
            return f"Only the {'champion' if mine is None else 'candidate'}'s rows have the column {name!r}."
        if mine is None or other is None:
            continue
        if isinstance(mine, Categories) != isinstance(other, Categories):
            return f"The column {name!r} is of two types."
        differs = _differs(mine, other)
        if differs.any():
            rows = np.flatnonzero(differs)
            shown = ", ".join(repr(candidate.ids[int(row)].as_py()) for row in rows[:_SHOWN])
            more = ", …" if len(rows) > _SHOWN else ""
            return f"The column {name!r} differs for {len(rows):,} of the ids: {shown}{more}."
    return ""


def _differs(
    mine: Categories | npt.NDArray[np.float64] | npt.NDArray[np.int32],
    other: Categories | npt.NDArray[np.float64] | npt.NDArray[np.int32],
) -> npt.NDArray[np.bool_]:
    if isinstance(mine, Categories) and isinstance(other, Categories):
        place = {value: code for code, value in enumerate(mine.values)}
        recode = np.array([place.get(value, -1) for value in other.values], dtype=np.int32)
        return np.not_equal(mine.codes, recode[other.codes], dtype=np.bool_)
    differs: npt.NDArray[np.bool_] = np.asarray(mine) != np.asarray(other)
    return differs
