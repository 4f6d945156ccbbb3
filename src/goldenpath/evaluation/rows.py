"""Rows: one line an example, in parquet; the evidence that every gate is judged from.

    id          unique, text or whole numbers; the rows of two models pair by it
    label       what is true
    prediction  what the model said, of the label's kind
    score       optional: the probability of the positive class, or a list with one number a class
    group       optional: rows of one group (a user, a document) are not independent of each other
    weight      optional: how much a row counts, a number over 0
    slice_*     optional: what the rows can be told apart by, text or whole numbers

Floating-point labels are numbers to be predicted; all other labels are classes. The positive class
of two is the greater one (1, True, the later word). A list of scores is in the order of the classes:
of the whole numbers from 0 where labels are such, else of the sorted classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

import numpy as np
import numpy.typing as npt

from goldenpath.errors import GoldenPathError, InputError

REQUIRED = ("id", "label", "prediction")
OPTIONAL = ("score", "group", "weight")
SLICE = "slice_"
_SHOWN = 5

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int32]


@dataclass(frozen=True, kw_only=True)
class Categories:
    """A column of few values: ``codes`` (n,) index ``values``, which are sorted."""

    codes: Codes
    values: tuple[Any, ...]

    def take(self, order: npt.NDArray[np.int64]) -> Categories:
        """The rows of these positions."""
        return Categories(codes=self.codes[order], values=self.values)


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Validated rows, column by column; every array has ``n`` entries."""

    ids: Any
    """A pyarrow array of int64 or string."""
    label: Categories | Floats
    prediction: Categories | Floats
    """Categories share ``values`` with the label's."""
    score: Floats | None = None
    """(n,) for the positive class, or (n, classes)."""
    group: Codes | None = None
    weight: Floats | None = None
    slices: Mapping[str, Categories] = field(default_factory=dict)
    """By name, without the prefix."""

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.ids)

    @property
    def scores(self) -> Floats:
        """The score of rows that have one."""
        if self.score is None:
            raise GoldenPathError("The rows have no scores.")
        return self.score

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes in order; empty where numbers are predicted."""
        return self.label.values if isinstance(self.label, Categories) else ()

    def take(self, order: npt.NDArray[np.int64]) -> Rows:
        """The rows of these positions, in that order."""
        return Rows(
            ids=self.ids.take(order),
            label=_taken(self.label, order),
            prediction=_taken(self.prediction, order),
            score=None if self.score is None else self.score[order],
            group=None if self.group is None else self.group[order],
            weight=None if self.weight is None else self.weight[order],
            slices={name: values.take(order) for name, values in self.slices.items()},
        )

    def with_classes(self, classes: tuple[Any, ...]) -> Rows:
        """The same rows, their classes coded by a longer list; a class without a score gets 0."""
        if not isinstance(self.label, Categories) or not isinstance(self.prediction, Categories):
            return self
        place = {value: code for code, value in enumerate(classes)}
        recode = np.array([place[value] for value in self.label.values], dtype=np.int32)
        score = self.score
        if score is not None and score.ndim == 2 and score.shape[1] < len(classes):
            score = np.zeros((self.n, len(classes)))
            score[:, recode] = self.score
        return Rows(
            ids=self.ids,
            label=Categories(codes=recode[self.label.codes], values=classes),
            prediction=Categories(codes=recode[self.prediction.codes], values=classes),
            score=score,
            group=self.group,
            weight=self.weight,
            slices=self.slices,
        )


def codes_of(column: Categories | Floats) -> Codes:
    """The codes of a column of classes."""
    if not isinstance(column, Categories):
        raise GoldenPathError("The column holds numbers, not classes.")
    return column.codes


def numbers_of(column: Categories | Floats) -> Floats:
    """A column of numbers."""
    if isinstance(column, Categories):
        raise GoldenPathError("The column holds classes, not numbers.")
    return column


def _taken(column: Categories | Floats, order: npt.NDArray[np.int64]) -> Categories | Floats:
    return column.take(order) if isinstance(column, Categories) else column[order]


def from_table(table: Any, *, where: str) -> Rows:
    """Validates a pyarrow table of rows.

    Raises:
        InputError: A column is missing, unknown or of the wrong type; an id is there twice; a value
            is missing or not finite. The message names the column and the first rows.
    """
    _check_columns(table.column_names, where)
    if table.num_rows == 0:
        raise InputError(f"{where} has no rows.", next_step="Nothing can be judged from no example.")
    for name in table.column_names:
        if name in REQUIRED or name in OPTIONAL or name.startswith(SLICE):
            _check_present(table, name, where)
    ids = _ids(table, where)
    label, prediction = _label_and_prediction(table, where)
    score = _score(table, label, where) if "score" in table.column_names else None
    weight = _weight(table, where) if "weight" in table.column_names else None
    group = _categories(table, "group", where).codes if "group" in table.column_names else None
    slices = {
        name.removeprefix(SLICE): _categories(table, name, where)
        for name in table.column_names
        if name.startswith(SLICE)
    }
    rows = Rows(
        ids=ids,
        label=label,
        prediction=prediction,
        score=score,
        group=group,
        weight=weight,
        slices=slices,
    )
    if score is not None and score.ndim == 2 and score.shape[1] > len(rows.classes):
        # Whole-number classes that no row has, as label or prediction, still have their score.
        return replace(rows.with_classes(tuple(range(score.shape[1]))), score=score)
    return rows


def _check_columns(names: list[str], where: str) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"{where} has the column {twice[0]!r} {names.count(twice[0])} times.")
    for name in REQUIRED:
        if name not in names:
            near = get_close_matches(name, names, n=1)
            raise InputError(
                f"{where} has no column {name!r}; it has {', '.join(names) or 'none'}.",
                next_step=f"Rename {near[0]!r}." if near else f"Rows need {', '.join(REQUIRED)}.",
            )
    known = (*REQUIRED, *OPTIONAL)
    for name in names:
        if name not in known and not (name.startswith(SLICE) and len(name) > len(SLICE)):
            near = get_close_matches(name, known, n=1)
            hint = (
                f"Did you mean {near[0]!r}?" if near else f"Columns are {', '.join(known)} and {SLICE}<name>."
            )
            raise InputError(f"{where}: the column {name!r} is unknown.", next_step=hint)


def _check_present(table: Any, name: str, where: str) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    column = table[name]
    absent = pc.is_null(column)
    if pa.types.is_floating(column.type):
        absent = pc.or_(absent, pc.invert(pc.fill_null(pc.is_finite(column), fill_value=False)))
    _refuse_where(absent, table, f"{where}: the column {name!r} is missing, NaN or infinite")


def _refuse_where(mask: Any, table: Any, what: str) -> None:
    """Raises an InputError naming the first rows where the mask is true."""
    bad = np.flatnonzero(np.asarray(mask, dtype=bool))
    if len(bad):
        shown = ", ".join(repr(table["id"][int(row)].as_py()) for row in bad[:_SHOWN])
        more = ", …" if len(bad) > _SHOWN else ""
        raise InputError(f"{what} in {len(bad):,} of {table.num_rows:,} rows: id {shown}{more}.")


def _ids(table: Any, where: str) -> Any:
    import pyarrow.compute as pc

    column = _decoded(table["id"])
    if _family(column.type) not in ("whole numbers", "text"):
        raise InputError(
            f"{where}: the column 'id' is {column.type}.", next_step="Ids are text or whole numbers."
        )
    ids = column.combine_chunks()
    if pc.count_distinct(ids).as_py() != len(ids):
        counted = pc.value_counts(ids)
        twice = counted.filter(pc.greater(counted.field("counts"), 1)).field("values")
        shown = ", ".join(repr(value) for value in twice[:_SHOWN].to_pylist())
        more = ", …" if len(twice) > _SHOWN else ""
        raise InputError(
            f"{where}: {len(twice):,} ids are there more than once: {shown}{more}.",
            next_step="An id names one example.",
        )
    return ids


def _decoded(column: Any) -> Any:
    """A column in the widest type of its family, dictionaries unpacked."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_integer(column.type):
        return column.cast(pa.int64())
    return column.cast(pa.large_string()) if _family(column.type) == "text" else column


def _label_and_prediction(table: Any, where: str) -> tuple[Categories, Categories] | tuple[Floats, Floats]:
    import pyarrow as pa

    label, prediction = _decoded(table["label"]), _decoded(table["prediction"])
    if pa.types.is_floating(label.type) or pa.types.is_floating(prediction.type):
        for name, column in (("label", label), ("prediction", prediction)):
            if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
                raise InputError(
                    f"{where}: the column {name!r} is {column.type}, the other floating-point.",
                    next_step="Label and prediction are both numbers, or both classes (text, whole numbers).",
                )
        return label.to_numpy().astype(np.float64), prediction.to_numpy().astype(np.float64)
    if _family(label.type) != _family(prediction.type) or not _family(label.type):
        raise InputError(
            f"{where}: 'label' is {label.type} and 'prediction' is {prediction.type}.",
            next_step="Both are of one kind: text, whole numbers, booleans, or floating-point numbers.",
        )
    joined = _encoded(pa.chunked_array([*label.chunks, *prediction.chunks], type=label.type))
    n = table.num_rows
    return (
        Categories(codes=joined.codes[:n], values=joined.values),
        Categories(codes=joined.codes[n:], values=joined.values),
    )


def _family(kind: Any) -> str:
    import pyarrow as pa

    if pa.types.is_boolean(kind):
        return "booleans"
    if pa.types.is_integer(kind):
        return "whole numbers"
    return "text" if pa.types.is_string(kind) or pa.types.is_large_string(kind) else ""


def _categories(table: Any, name: str, where: str) -> Categories:
    column = _decoded(table[name])
    if not _family(column.type):
        raise InputError(
            f"{where}: the column {name!r} is {column.type}.",
            next_step="It holds text, whole numbers or booleans; bin other numbers first.",
        )
    return _encoded(column)


def _encoded(column: Any) -> Categories:
    import pyarrow.compute as pc

    encoded = pc.dictionary_encode(column.combine_chunks())
    if hasattr(encoded, "combine_chunks"):
        encoded = encoded.combine_chunks()
    values = encoded.dictionary.to_pylist()
    order = sorted(range(len(values)), key=values.__getitem__)
    place = np.empty(len(values), dtype=np.int32)
    place[order] = np.arange(len(values), dtype=np.int32)
    codes = place[encoded.indices.to_numpy(zero_copy_only=False)]
    return Categories(codes=codes, values=tuple(values[position] for position in order))


def _weight(table: Any, where: str) -> Floats:
    import pyarrow as pa

    column = table["weight"]
    if not (pa.types.is_floating(column.type) or pa.types.is_integer(column.type)):
        raise InputError(f"{where}: the column 'weight' is {column.type}, not a number.")
    weight: Floats = column.to_numpy().astype(np.float64)
    _refuse_where(weight <= 0, table, f"{where}: the column 'weight' is not over 0")
    return weight


def _score(table: Any, label: Categories | Floats, where: str) -> Floats:
    import pyarrow as pa

    column = table["score"].combine_chunks()
    if not isinstance(label, Categories):
        raise InputError(
            f"{where} has the column 'score', but floating-point labels.",
            next_step="Scores go with classes: make label and prediction text or whole numbers.",
        )
    if pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
        if len(label.values) > 2:
            raise InputError(
                f"{where}: 'score' is one number a row, but there are {len(label.values)} classes "
                f"({_few(label.values)}).",
                next_step="Give a list with one number a class.",
            )
        one: Floats = column.to_numpy(zero_copy_only=False).astype(np.float64)
        return one
    return _score_lists(table, column, label, where)


def _score_lists(table: Any, column: Any, label: Categories, where: str) -> Floats:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    if not is_list or not (pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type)):
        raise InputError(
            f"{where}: the column 'score' is {kind}.",
            next_step="It holds a number, or a list with one number a class.",
        )
    lengths = pc.list_value_length(column).to_numpy(zero_copy_only=False)
    width = int(lengths[0])
    if width < 2:
        raise InputError(
            f"{where}: a list in 'score' has {width} numbers.", next_step="One a class: 2 or more."
        )
    _refuse_where(
        lengths != width, table, f"{where}: the list in 'score' has not {width} numbers as the first has"
    )
    indexed = all(isinstance(v, int) and not isinstance(v, bool) and 0 <= v < width for v in label.values)
    if not indexed and width != len(label.values):
        raise InputError(
            f"{where}: a list in 'score' has {width} numbers, but there are {len(label.values)} classes "
            f"({_few(label.values)}).",
            next_step="Give one number a class, in the order of the sorted classes.",
        )
    flat = column.flatten()
    score: Floats = flat.to_numpy(zero_copy_only=False).astype(np.float64).reshape(-1, width)
    _refuse_where(
        ~np.isfinite(score).all(axis=1), table, f"{where}: a number in 'score' is missing, NaN or infinite"
    )
    return score


def _few(values: Iterable[Any]) -> str:
    shown = [str(value) for value in values]
    return ", ".join(shown[:_SHOWN]) + (", …" if len(shown) > _SHOWN else "")
