"""What a mongod says of itself."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.collecting import collected
from tests.databases import Collection, Dataset, write
from tests.engines.mongodb.double import MongoDB
from tsaudit.engines.mongodb.connector import status_rows

_NOW = datetime(2026, 3, 31, 6, tzinfo=UTC)
_GB = 1_000_000_000


def _status(
    *, dirty: float = 0.05, held: float = 0.8, passes: int | None = 9, uptime: float = 7_200, **more: Any
) -> Any:
    cache = {
        "maximum bytes configured": 4 * _GB,
        "tracked dirty bytes in the cache": int(dirty * 4 * _GB),
        "bytes currently in the cache": int(held * 4 * _GB),
    }
    return {
        "localTime": _NOW,
        "uptime": uptime,
        "asserts": {"regular": 2, "msg": 1, "user": 900},
        "connections": {"current": 300, "available": 700},
        "wiredTiger": {"cache": cache, "connection": {"files currently open": 5_000}},
        "metrics": {"ttl": {} if passes is None else {"passes": passes}},
    } | more


def _failing(status: Any) -> set[str]:
    return {name for kind, name, _ in status_rows(status, {}) if kind == "failure"}


def test_limits_and_counters() -> None:
    assert set(status_rows(_status(), {"extra": {"maxOpenFiles": 64_000}})) == {
        ("started", "", _NOW.timestamp() - 7_200),
        ("counter", "server_errors", 3.0),
        ("counter", "connections", 300.0),
        ("setting", "connections", 1_000.0),
        ("counter", "open_files", 5_300.0),
        ("setting", "open_files", 64_000.0),
    }
    assert not [row for row in status_rows(_status(), {}) if row[1] == "open_files"]
    assert list(status_rows({}, {})) == [("counter", "server_errors", 0.0)]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (_status(), set()),
        (_status(dirty=0.19, held=0.94), set()),
        (_status(dirty=0.2), {"cache"}),
        (_status(held=0.95), {"cache"}),
        (_status(passes=0), {"expiry"}),
        (_status(passes=0, uptime=3_500), set()),
        (_status(passes=0, repl={"isWritablePrimary": False}), set()),
        (_status(passes=None), set()),
    ],
)
def test_mechanisms_that_fail(status: Any, expected: set[str]) -> None:
    assert _failing(status) == expected


def test_they_are_collected() -> None:
    server = MongoDB()
    try:
        server.sections = _status(dirty=0.4)
        profile = collected(write(Dataset(collections=[Collection("users", [{"name": "a"}])]), "mongodb", server.url))
    finally:
        server.stop()
    assert profile.gaps == ()
    assert profile.server is not None
    assert [failure.name for failure in profile.server.failures] == ["cache"]
    assert profile.server.settings == {"connections": 1_000.0, "open_files": 64_000.0}
