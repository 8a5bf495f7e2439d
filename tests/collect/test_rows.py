"""Times as engines return them, tables out of batches that disagree, and reasons that are handed on."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
import pytest

from tests.builders import DAY, NOW
from tsaudit.collect import collect
from tsaudit.collect.rows import _joined, instant
from tsaudit.config import Target
from tsaudit.connector import ConnectorError, FactError, Rows
from tsaudit.profile import Reason
from tsaudit.roles import TimeKind

BERLIN = timezone(timedelta(hours=2))


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (datetime(2026, 3, 31, 6, tzinfo=UTC).replace(tzinfo=None), TimeKind.TIMESTAMP, NOW),
        (datetime(2026, 3, 31, 8, tzinfo=BERLIN), TimeKind.ZONED, NOW),
        (date(2026, 3, 31), TimeKind.TIMESTAMP, NOW - timedelta(hours=6)),
        ("2026-03-31T08:00:00+02:00", TimeKind.TEXT, NOW),
        ("2026-03-31 06:00:00", TimeKind.TEXT, NOW),
        ("noon", TimeKind.TEXT, None),
        (int(NOW.timestamp()), TimeKind.SECONDS, NOW),
        (int(NOW.timestamp()) * 1_000_000_000 + 1, TimeKind.NANOSECONDS, NOW),
        (None, TimeKind.TIMESTAMP, None),
        (5, None, None),
    ],
)
def test_instant(value: Any, kind: TimeKind | None, expected: datetime | None) -> None:
    assert instant(value, kind) == expected


def test_batches_disagree_on_types() -> None:
    time = pa.array([NOW], pa.timestamp("ns", "UTC"))
    parts: list[Any] = [[1], [2.5], [None], ["x"]]
    numbers = _joined([pa.table([time, pa.array(p)], names=["time", "v"]) for p in parts[:3]])
    assert numbers.column("v").to_pylist() == [1.0, 2.5, None]
    mixed = _joined([pa.table([time, pa.array(p)], names=["time", "v"]) for p in parts])
    assert mixed.column("v").to_pylist() == ["1", "2.5", None, "x"]


class Silent:
    """A server that answers the first few statements, and then never again."""

    server_version = "1.8"

    def __init__(self, error: Exception, after: int) -> None:
        self.error = error
        self.left = after
        self.asked: list[str] = []

    def query(self, fact: str, timeout_s: float, **parameters: Any) -> Rows:
        self.asked.append(fact)
        return Rows(f"{fact}?", self._answer(fact))

    def _answer(self, fact: str) -> Iterator[pa.RecordBatch]:
        self.left -= 1
        if self.left < 0:
            raise self.error
        names = pa.array([f"m{i}" for i in range(50)])
        answers: dict[str, dict[str, Any]] = {
            "databases": {"database": ["db"]},
            "measurements": {"measurement": names},
            "tag_keys": {"measurement": names, "tag": ["host"] * 50},
            "field_types": {"measurement": names, "field": ["v"] * 50, "data_type": ["float"] * 50},
        }
        yield pa.record_batch({k: pa.array(v) for k, v in answers[fact].items()})

    def reconnect(self) -> Silent:
        raise ConnectorError("the server is gone")

    def close(self) -> None:
        pass

    def abort(self) -> None:
        pass


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize("reason", [Reason.UNREACHABLE, Reason.TIMED_OUT])
def test_server_falls_silent(reason: Reason, concurrency: int) -> None:
    target = Target(name="t", engine="influxdb1", url="http://x:1", budget={"concurrency": concurrency})
    server = Silent(FactError(reason, "silence"), after=4)
    profile = collect(target, server, day=DAY, now=NOW)
    assert len(profile.measurements) == 50
    # One try whether it is still there, and nothing more is sent.
    assert server.asked == ["databases", "measurements", "tag_keys", "field_types", "retention", "databases"]
    missing = {g.measurement: g.reason for g in profile.gaps if g.fact == "series_listing"}
    assert set(missing) == {f"m{i}" for i in range(50)}
    assert set(missing.values()) == {Reason.UNREACHABLE}
    assert {g.reason for g in profile.gaps} <= {reason, Reason.UNREACHABLE}


def test_further_connections_cannot_be_had() -> None:
    target = Target(name="t", engine="influxdb1", url="http://x:1", budget={"concurrency": 3})
    server = Silent(FactError(Reason.FAILED, "no"), after=4)
    profile = collect(target, server, day=DAY, now=NOW)
    gaps = [g for g in profile.gaps if g.fact == "series_listing"]
    assert len(gaps) == 50
    assert {(g.reason) for g in gaps} == {Reason.UNREACHABLE}


def test_databases_cannot_be_listed() -> None:
    target = Target(name="t", engine="influxdb1", url="http://x:1")
    profile = collect(target, Silent(FactError(Reason.DENIED, "no"), after=0), day=DAY, now=NOW)
    assert (profile.databases, profile.measurements) == ((), ())
    assert {g.reason for g in profile.gaps} == {Reason.DENIED}
    assert {"databases", "series_listing", "retention", "row_sample"} <= {g.fact for g in profile.gaps}
