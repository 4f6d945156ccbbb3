"""Rows on their way in and out: frames, lists and parquet files become tables, tables become bytes."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from goldenpath.errors import InputError
from goldenpath.evaluation.rows import Rows, from_table


def as_table(rows: Any, *, where: str) -> Any:
    """A pyarrow table from a table, a pandas DataFrame, or a list of mappings.

    Raises:
        InputError: The rows are of another type, or their columns hold mixed types.
    """
    import pyarrow as pa

    try:
        if isinstance(rows, pa.Table):
            return rows
        if type(rows).__module__.partition(".")[0] == "pandas" and hasattr(rows, "columns"):
            return pa.Table.from_pandas(rows, preserve_index=False).replace_schema_metadata(None)
        if isinstance(rows, Sequence) and rows and all(isinstance(row, Mapping) for row in rows):
            names = dict.fromkeys(name for row in rows for name in row)
            return pa.table({name: [_plain(row.get(name)) for row in rows] for name in names})
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise InputError(
            f"{where}: the rows make no table: {str(error).splitlines()[0]}",
            next_step="Each column holds one type.",
        ) from None
    raise InputError(
        f"{where}: the rows are {'an empty ' if rows == [] else ''}{type(rows).__name__}.",
        next_step="Give a pandas DataFrame, a pyarrow table, or a list with one dict a row.",
    )


def _plain(value: Any) -> Any:
    """A numpy scalar or array as Python's own value."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


def read_rows(path: Path) -> Rows:
    """Reads and validates a parquet file of rows.

    Raises:
        InputError: The file is missing, no parquet, or its rows are not of the format above.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path, memory_map=True)
    except FileNotFoundError:
        raise InputError(f"There is no file {path}.") from None
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path} is no readable parquet file: {str(error).splitlines()[0]}") from None
    return from_table(table, where=str(path))


def parse_rows(data: bytes, *, where: str) -> Rows:
    """Validates rows from the bytes of a parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(pa.BufferReader(data))
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{where} is no readable parquet file: {str(error).splitlines()[0]}") from None
    return from_table(table, where=where)


def write_rows(table: Any) -> bytes:
    """The parquet bytes of a table: the same table gives the same bytes."""
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(
        table.combine_chunks().replace_schema_metadata(None),
        sink,
        compression="zstd",
        version="2.6",
        row_group_size=1 << 17,
        store_schema=False,
    )
    return sink.getvalue()
