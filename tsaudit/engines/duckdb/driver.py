"""How DuckDB's driver opens a file and reads a response."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa
import sqlalchemy as sa

from tsaudit.engines.sql.connector import BATCH_ROWS, FileDriver


@functools.cache
def _spill_folder(process: int) -> str:
    """A temporary folder for data that does not fit into memory. Only this user can read it. It is deleted when this
    process ends; forked processes have their own.
    """
    folder = tempfile.mkdtemp(prefix="tsaudit-duckdb-")

    def remove() -> None:
        if os.getpid() == process:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder


def _read_only(path: Path, lock_s: float) -> tuple[sa.URL, dict[str, Any]]:
    del lock_s  # DuckDB does not wait for locks
    config = {
        # An audit neither downloads extensions nor leaves temporary files next to the database.
        "autoinstall_known_extensions": "false",
        "temp_directory": _spill_folder(os.getpid()),
        # By default, DuckDB uses all processors, and caches what it has read until most of the memory is in use.
        "threads": 2,
        "memory_limit": "256MB",
    }
    return sa.URL.create("duckdb", database=str(path)), {"read_only": True, "config": config}


def _batches(raw: Any, statement: str, as_text: bool) -> Iterator[pa.RecordBatch]:
    # The relation streams; a cursor's Arrow output would keep the whole response in memory.
    del as_text  # columns have one type here, and query files cast to text if needed
    found = raw.sql(statement)
    # Before version 1.5, the method had another name.
    read = found.to_arrow_reader if hasattr(found, "to_arrow_reader") else found.fetch_arrow_reader
    reader, first = read(BATCH_ROWS), True
    try:
        for batch in reader:
            first = False
            yield batch
        if first:
            yield pa.RecordBatch.from_pylist([], schema=reader.schema)
    finally:
        reader.close()


DRIVER: Final = FileDriver(
    opening="SELECT version(), current_database()",
    read_only=_read_only,
    batches=_batches,
    # Its record batch reader raises Arrow's errors.
    errors=(duckdb.Error, pa.ArrowException),
    too_much="Out of Memory Error",
)
