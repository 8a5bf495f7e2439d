"""Connects to AcmeDB: addresses `acme:///path/to/file`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from tsaudit.engines import queries
from tsaudit.engines.connection import Access, ConnectorError, FactError, Rows
from tsaudit.model.facts import Given
from tsaudit.model.figures import Reason
from tsaudit.net.watchdog import OutOfTimeError, bounded


@contextmanager
def connect(access: Access) -> Iterator[AcmeConnection]:
    path = Path(access.url.removeprefix("acme:///"))
    if not path.is_file():
        raise ConnectorError(f"there is no ledger {path}")
    connection = AcmeConnection(path)
    try:
        yield connection
    finally:
        connection.close()


class AcmeConnection:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._raw = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, check_same_thread=False)
        self.server_version = "7.0"

    def query(self, fact: str, timeout_s: float, given: Given) -> Rows:
        statement = queries.render("acmedb", fact, **given.variables())
        return Rows(statement, self._batches(statement, fact == "series_listing", timeout_s))

    def _batches(self, statement: str, as_text: bool, timeout_s: float) -> Iterator[pa.RecordBatch]:
        try:
            with bounded(timeout_s, self._raw.interrupt):
                cursor = self._raw.execute(statement)
                names = [column[0] for column in cursor.description]
                columns = list(zip(*cursor, strict=True)) or [()] * len(names)
        except OutOfTimeError as error:
            raise FactError(Reason.TIMED_OUT, f"canceled after {timeout_s:g} s") from error
        except sqlite3.Error as error:
            raise FactError(Reason.FAILED, str(error)) from error
        arrays = [pa.array(column) if not as_text else pa.array(column, pa.string()) for column in columns]
        yield pa.RecordBatch.from_arrays(arrays, names=names)

    def reconnect(self) -> AcmeConnection:
        return AcmeConnection(self._path)

    def abort(self) -> None:
        self._raw.interrupt()

    def close(self) -> None:
        self._raw.close()
