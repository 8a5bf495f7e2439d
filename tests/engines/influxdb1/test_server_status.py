"""What a real server says of its limits and of what it dropped, and what it really rejects."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from tests.builders import NOW
from tests.collecting import collected
from tests.databases import Dataset, Row, Table, times, write, write_lines
from tests.servers import Influxd, run_influxd
from tsaudit.config.settings import Target
from tsaudit.evaluation import evaluate
from tsaudit.model.finding import Finding, Severity
from tsaudit.model.profile import Profile

MOST = 100


def _hosts(count: int) -> Table:
    (at,) = times(1)
    return Table(
        "cpu", ("host",), {"usage": "float"}, [Row(at, {"host": f"h{i}"}, {"usage": 1.5}) for i in range(count)]
    )


@pytest.fixture(params=["inmem", "tsi1"])
def index(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def small(index: str, tmp_path: Path) -> Iterator[Influxd]:
    """A server that takes a hundred series in a database, and fifty values of a tag."""
    yield from run_influxd(tmp_path, index=index, max_series=MOST, max_values=MOST)


def _audited(target: Target, code: str) -> tuple[Profile, list[Finding]]:
    profile = collected(target, now=NOW)
    return profile, [f for r, f in evaluate(profile).findings() if r.code == code]


@pytest.mark.parametrize(("count", "severity"), [(79, None), (80, Severity.WARNING), (96, Severity.WARNING)])
def test_limit_as_it_is_set_and_not_as_the_vendor_has_it(small: Influxd, count: int, severity: Severity | None) -> None:
    target = write(Dataset([_hosts(count)]), "influxdb1", small.url)
    profile, found = _audited(target, "CAR001")
    assert profile.server is not None
    assert profile.server.settings["max_series_per_database"] == MOST
    # This version does not say which index it has, so that it is not proven that it rejects what goes beyond.
    assert [(f.severity, f.limit.value if f.limit else None) for f in found] == ([(severity, MOST)] if severity else [])


def test_what_the_server_rejects_it_counts_and_the_audit_says(small: Influxd, index: str) -> None:
    target = write(Dataset([_hosts(MOST)]), "influxdb1", small.url)
    (database,) = target.databases
    at = int((NOW - timedelta(minutes=5)).timestamp()) * 10**9
    lines = (f"cpu,host=new{i} usage=1.5 {at}" for i in range(30))
    # The index in memory enforces the limit; that on disk takes them all.
    write_lines(small.url, database, lines, status=400 if index == "inmem" else 204)
    profile, dropped = _audited(target, "SRV001")
    assert profile.server is not None
    assert profile.server.counted("points_dropped", database) == (30 if index == "inmem" else 0)
    assert profile.server.started is not None
    assert [(f.severity, f.observed) for f in dropped] == ([(Severity.CRITICAL, 30)] if index == "inmem" else [])
    series = [f for r, f in evaluate(profile).findings() if r.code == "CAR001"]
    # More series than the limit prove that nobody enforces it.
    assert [f.severity for f in series] == ([Severity.WARNING] if index == "inmem" else [Severity.NOTE])


def test_points_beyond_the_retention_are_no_loss(influxd: Influxd) -> None:
    target = write(Dataset([_hosts(3)], retention=timedelta(days=3650)), "influxdb1", influxd.url)
    (database,) = target.databases
    write_lines(influxd.url, database, iter(["cpu,host=h1 usage=1.5 1000"]), status=400)
    profile, dropped = _audited(target, "SRV001")
    assert profile.server is not None
    assert profile.server.counted("points_dropped", database) == 0
    assert not dropped
