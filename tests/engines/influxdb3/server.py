"""An InfluxDB 3 that somebody runs for tests: data sets are written to it as line protocol."""

from __future__ import annotations

import itertools
import json
import os
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import pytest
import urllib3

from tests.databases import Dataset, line
from tests.engines.influxdb3.double import Door, InfluxDB3

REAL: Final = os.environ.get("TSAUDIT_INFLUXDB3_URL", "").rstrip("/")
"""With it, and TSAUDIT_INFLUXDB3_TOKEN where the server asks for one, tests write their data sets to that server."""
TOKEN: Final = os.environ.get("TSAUDIT_INFLUXDB3_TOKEN", "")
_BATCH: Final = 10_000
_MOST: Final = 3
"""Databases at a time; Core has room for five. The oldest makes room for a new one."""
_numbers = itertools.count()


def need_stand_in(why: str) -> None:
    """Skip the test on a real server, which cannot be made to do what it is about."""
    if REAL:
        pytest.skip(f"only a stand-in {why}")


class RealInfluxDB3:
    """The server of REAL. `with_flight=False`: by a door that lets HTTP/1 through only."""

    def __init__(self, *, with_flight: bool = True) -> None:
        self.url = REAL
        self.login = {"password": TOKEN} if TOKEN else {}
        self._made: list[str] = []
        self._door: Door | None = None
        if not with_flight:
            address = urlsplit(REAL)
            self._door = Door(None, (address.hostname or "", address.port or 80))
            self.url = f"http://127.0.0.1:{self._door.port}"

    @property
    def version(self) -> str:
        """Product and version, such as `Core 3.6.0`."""
        headers = self._ask("GET", "/ping").headers
        return f"{headers['x-influxdb-build']} {headers['x-influxdb-version']}"

    def write(self, dataset: Dataset) -> str:
        """The name of the database that holds it now; one of that name is replaced."""
        name = dataset.database or f"tsaudit_test_{next(_numbers)}"
        if name in self._made:
            self._drop(name)
        while len(self._made) >= _MOST:
            self._drop(self._made[0])
        kept = {"retention_period": f"{round(dataset.retention.total_seconds())}s"} if dataset.retention else {}
        self._made.append(name)
        if self._ask("POST", "/api/v3/configure/database", json={"db": name, **kept}, may_fail=True).status == 409:
            self._drop(name)  # a run that was broken off left it there
            return self.write(dataset)
        tables = (*dataset.tables, *dataset.rejected)
        lines = (text for table in tables for row in table.rows if (text := line(table, row)) is not None)
        while batch := list(itertools.islice(lines, _BATCH)):
            path = "/api/v3/write_lp?" + urlencode({"db": name, "precision": "nanosecond"})
            answer = self._ask("POST", path, body="\n".join(batch).encode(), may_fail=True)
            # Points whose fields have another type than the column are refused, and the others are kept.
            assert answer.status < 300 or b"invalid column type" in answer.data, answer.data
        return name

    def rows(self, database: str, statement: str) -> list[dict[str, Any]]:
        """What it answers."""
        asked = {"db": database, "q": statement, "format": "jsonl"}
        return [json.loads(text) for text in self._ask("POST", "/api/v3/query_sql", json=asked).data.splitlines()]

    def delete_table(self, database: str, table: str) -> None:
        self._ask("DELETE", "/api/v3/configure/table?" + urlencode({"db": database, "table": table}))

    def stop(self) -> None:
        for name in tuple(self._made):
            self._drop(name)
        if self._door:
            self._door.close()

    def _drop(self, name: str) -> None:
        self._made.remove(name)
        query = urlencode({"db": name, "hard_delete_at": "now"})
        gone = self._ask("DELETE", f"/api/v3/configure/database?{query}", may_fail=True)
        # Another of the fixtures may have made one of the same name, and dropped it.
        assert gone.status in (200, 404), gone.data

    def _ask(self, method: str, path: str, *, may_fail: bool = False, **content: Any) -> urllib3.BaseHTTPResponse:
        headers = {"Authorization": f"Bearer {TOKEN}"} if TOKEN else {}
        answer = urllib3.request(method, f"{REAL}{path}", headers=headers, timeout=120, **content)
        assert may_fail or answer.status < 300, answer.data
        return answer


def influxdb3_server(*, with_flight: bool = True) -> InfluxDB3 | RealInfluxDB3:
    """The real one where there is one, else a stand-in."""
    return RealInfluxDB3(with_flight=with_flight) if REAL else InfluxDB3(with_flight=with_flight)
