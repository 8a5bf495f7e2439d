"""How SQLite's driver opens a file and reads a response."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import sqlalchemy as sa

from tsaudit.engines.sql.connector import BATCH_ROWS, FileDriver


def _read_only(path: Path, lock_s: float) -> tuple[sa.URL, dict[str, Any]]:
    query = {"mode": "ro", "uri": "true"}
    return sa.URL.create("sqlite", database=path.absolute().as_uri(), query=query), {"timeout": lock_s}


def _batches(raw: sqlite3.Connection, statement: str, as_text: bool) -> Iterator[pa.RecordBatch]:
    raw.execute("PRAGMA query_only = ON")
    # SQLite has no hash function.
    raw.create_function("crc32", 1, _crc32, deterministic=True)
    raw.text_factory = lambda text: text.decode("utf-8", "replace")
    cursor = raw.execute(statement)
    try:
        names = [column[0] for column in cursor.description]
        first = True
        # The batch size fits facts that are read completely, so that the inferred types apply to the whole response;
        # listings are strings anyway.
        while (rows := cursor.fetchmany(BATCH_ROWS if as_text else _WHOLE)) or first:
            first = False
            columns = list(zip(*rows, strict=True)) or [()] * len(names)
            yield pa.RecordBatch.from_arrays([_array(column, as_text) for column in columns], names=names)
    finally:
        cursor.close()


_WHOLE: Final = 1_000_000


def _crc32(value: Any) -> int:
    return zlib.crc32(value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass"))


def _array(values: tuple[Any, ...], as_text: bool) -> pa.Array:
    """Converts SQLite's values, whose types may differ from row to row: a column with mixed types becomes strings."""
    kinds = {type(v) for v in values if v is not None}
    if not as_text and kinds <= {int}:
        return pa.array(values, pa.int64() if kinds else pa.string())
    if not as_text and kinds <= {int, float}:
        return pa.array([None if v is None else float(v) for v in values], pa.float64())
    return pa.array([_text(v) for v in values], pa.string())


def _text(value: Any) -> str | None:
    if isinstance(value, bytes):
        return value.hex()
    return value if value is None or isinstance(value, str) else str(value)


DRIVER: Final = FileDriver(
    opening="SELECT sqlite_version(), 'main' FROM (SELECT count(*) FROM sqlite_master)",
    read_only=_read_only,
    batches=_batches,
    errors=(sqlite3.Error, pa.ArrowException),
)
