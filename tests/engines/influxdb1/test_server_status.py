"""What a real server says of its limits and of what it dropped, and what it really rejects."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pytest

from tests.builders import DAY, NOW
from tests.collecting import collected
from tests.databases import Dataset, Row, Table, times, write, write_lines
from tests.servers import Influxd, influxql, run_influxd
from tsaudit.config.settings import Target
from tsaudit.engines.influxdb1.answers import index_row, status_rows
from tsaudit.evaluation import evaluate
from tsaudit.model.finding import Finding, Severity
from tsaudit.model.plan import StepKind
from tsaudit.model.profile import Profile
from tsaudit.model.timeline import Timeline

MOST = 100
AT = int((NOW - timedelta(minutes=5)).timestamp()) * 10**9


def _hosts(count: int) -> Table:
    (at,) = times(1)
    return Table(
        "cpu", ("host",), {"usage": "float"}, [Row(at, {"host": f"h{i}"}, {"usage": 1.5}) for i in range(count)]
    )


@pytest.fixture(params=["inmem", "tsi1"])
def index(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def _lines(count: int, series: str, value: str = "1.5") -> Iterator[str]:
    """Points of so many series; `series` has a place for its number."""
    return (f"{series.format(i)} usage={value} {AT}" for i in range(count))


def _audited(target: Target) -> tuple[Profile, dict[str, Finding]]:
    """The profile, and what costs something: the first finding of each rule."""
    profile = collected(target, now=NOW)
    found = [(r.code, f) for r, f in evaluate(profile).findings() if f.severity is not Severity.NOTE]
    return profile, dict(reversed(found))


def _severities(found: dict[str, Finding]) -> dict[str, Severity]:
    return {code: finding.severity for code, finding in found.items()}


@pytest.fixture
def of_series(index: str, tmp_path: Path) -> Iterator[Influxd]:
    """A server that takes a hundred series in a database."""
    yield from run_influxd(tmp_path, index=index, max_series=MOST)


@pytest.fixture
def of_values(index: str, tmp_path: Path) -> Iterator[Influxd]:
    """A server that takes a hundred values of a tag in a measurement."""
    yield from run_influxd(tmp_path, index=index, max_values=MOST)


@pytest.mark.parametrize(("count", "of_memory"), [(79, None), (80, Severity.WARNING), (96, Severity.CRITICAL)])
def test_limit_as_it_is_set_and_not_as_the_vendor_has_it(
    of_series: Influxd, index: str, count: int, of_memory: Severity | None
) -> None:
    # The index on disk ignores the limit.
    severity = of_memory if index == "inmem" else None
    target = write(Dataset([_hosts(count)]), "influxdb1", of_series.url)
    profile, found = _audited(target)
    assert profile.server is not None
    assert profile.server.settings["max_series_per_database"] == MOST
    assert profile.server.settings["index_in_memory"] == (index == "inmem")
    assert _severities(found) == ({"CAR001": severity} if severity else {})
    if severity:
        assert found["CAR001"].limit is not None
        assert found["CAR001"].limit.value == MOST


def test_rejected_series_are_counted_and_the_tag_is_named(of_series: Influxd, index: str) -> None:
    target = write(Dataset([_hosts(20)]), "influxdb1", of_series.url)
    (database,) = target.databases
    # No measurement is large: it is the same tag in all of them.
    for number in range(9):
        write_lines(of_series.url, database, _lines(8, f"http{number},path=p{{}}"))
    write_lines(of_series.url, database, _lines(30, "http9,path=p{}"), status=400 if index == "inmem" else 204)
    profile, found = _audited(target)
    assert profile.server is not None
    assert profile.server.counted("points_dropped", database) == (30 if index == "inmem" else 0)
    assert profile.server.started is not None
    # The index on disk takes them all.
    assert _severities(found) == ({"SRV001": Severity.CRITICAL} if index == "inmem" else {})
    if found:
        dropped = found["SRV001"]
        assert (dropped.observed, dropped.main_contributor) == (30, "path")
        assert dropped.message.endswith(
            "25% of those sent: the database has 92 of the 100 series that it may have, and tag path, in 9 "
            "measurements, causes 68% of them."
        )
        assert "also CAR001" in {evidence.label for evidence in dropped.evidence}


@pytest.mark.parametrize(("count", "of_memory"), [(79, None), (80, Severity.WARNING), (96, Severity.CRITICAL)])
def test_values_of_a_tag_near_the_limit(of_values: Influxd, index: str, count: int, of_memory: Severity | None) -> None:
    severity = of_memory if index == "inmem" else None
    target = write(Dataset([_hosts(count)]), "influxdb1", of_values.url)
    profile, found = _audited(target)
    assert _severities(found) == ({"TAG002": severity} if severity else {})
    plans = evaluate(profile).plans
    assert bool(plans) is bool(severity)
    for step in (step for plan in plans for step in plan.steps[:1]):
        is_first = step.kind is StepKind.SCHEMA and "raise `max-values-per-tag`" in step.words
        assert is_first is (severity is Severity.CRITICAL)


@pytest.mark.parametrize(("kinds", "in_memory"), [("tsi1 inmem", 1.0), ("inmem tsi1", 0.0), ("inmem", 1.0), ("", None)])
def test_newest_shard_shows_the_index_that_is_set(kinds: str, in_memory: float | None) -> None:
    """Servers from 1.8 on say of each shard which index it was created with."""
    points = dict.fromkeys(("writePointsOk", "writePointsDropped", "writePointsErr"), 0)
    shards = [
        {
            "name": "shard",
            "tags": {"database": "main", "id": str(9 + number), "indexType": kind},
            "columns": list(points),
            "values": [list(points.values())],
        }
        for number, kind in enumerate(kinds.split())
    ]
    found = {name: value for kind, name, _, value in status_rows(iter(shards)) if kind == "setting"}
    assert found.get("index_in_memory") == in_memory


_IN_MEMORY: Final = b"# 0xa7 github.com/influxdata/influxdb/tsdb/index/inmem.(*measurement).AddSeries+0x9"
_MADE: Final = b"# 0xa7 github.com/influxdata/influxdb/tsdb/index/inmem.NewIndex+0x9 .../inmem.go:74"
_STARTED: Final = b"# 0xab github.com/influxdata/influxdb/tsdb/index/tsi1.init+0x235 .../partition.go:1183"
_ON_DISK: Final = b"# 0xa8 github.com/influxdata/influxdb/tsdb/index/tsi1.(*Index).Open+0x9 .../index.go:285"


@pytest.mark.parametrize(
    ("functions", "in_memory"),
    [
        ([_STARTED, _MADE, _IN_MEMORY], 1.0),
        ([_STARTED, _MADE, _ON_DISK], 0.0),
        # Few series take too little memory to be seen.
        ([], 1.0),
        # Shards of both kinds.
        ([_MADE, _ON_DISK, _IN_MEMORY], None),
    ],
)
def test_functions_in_memory_show_the_index(functions: list[bytes], in_memory: float | None) -> None:
    page = [b"heap profile: 14: 571440 [36: 1694880] @ heap/1048576", *functions]
    assert [row[3] for row in index_row(page)] == ([] if in_memory is None else [in_memory])


@pytest.mark.parametrize("page", [[], [b"<!DOCTYPE html>", b"<title>Sign in</title>"]])
def test_other_pages_show_no_index(page: list[bytes]) -> None:
    assert list(index_row(page)) == []


def test_limit_is_not_proven_where_the_heap_profile_is_off(tmp_path: Path) -> None:
    for server in run_influxd(tmp_path, max_values=MOST, pprof="false"):
        _, found = _audited(write(Dataset([_hosts(96)]), "influxdb1", server.url))
        assert _severities(found) == {"TAG002": Severity.WARNING}


def test_rejected_values_are_counted_and_the_tag_is_named(of_values: Influxd, index: str) -> None:
    target = write(Dataset([_hosts(MOST)]), "influxdb1", of_values.url)
    (database,) = target.databases
    write_lines(of_values.url, database, _lines(30, "cpu,host=new{}"), status=400 if index == "inmem" else 204)
    _, found = _audited(target)
    assert _severities(found) == ({"SRV001": Severity.CRITICAL} if index == "inmem" else {})
    if found:
        assert (found["SRV001"].observed, found["SRV001"].main_contributor) == (30, "host")
        assert found["SRV001"].message.endswith("tag host of cpu has 100 of the 100 values that one tag may have.")


def test_rejected_types_are_counted_and_the_field_is_named(own_influxd: Influxd) -> None:
    target = write(Dataset([_hosts(3)]), "influxdb1", own_influxd.url)
    (database,) = target.databases
    write_lines(own_influxd.url, database, _lines(2, "cpu,host=h{}", '"idle"'), status=400)
    _, found = _audited(target)
    assert _severities(found) == {"SRV001": Severity.CRITICAL}
    # The server keeps only the first type, and says nowhere which field had another one.
    assert found["SRV001"].message.endswith(", so a field most likely has another type than before.")
    # A shard that began with the other type has it.
    long_ago = int((NOW - timedelta(days=20)).timestamp()) * 10**9
    write_lines(own_influxd.url, database, iter([f'cpu,host=h1 usage="idle" {long_ago}']))
    _, found = _audited(target)
    assert _severities(found) == {"SRV001": Severity.CRITICAL}
    assert (found["SRV001"].observed, found["SRV001"].main_contributor) == (2, "usage")
    assert found["SRV001"].message.endswith("field usage of cpu has several types: float and string.")
    assert "also FLD003" in {evidence.label for evidence in found["SRV001"].evidence}


def test_troubles_that_the_server_counts(own_influxd: Influxd) -> None:
    target = write(Dataset([_hosts(3)]), "influxdb1", own_influxd.url)
    (database,) = target.databases
    troubles = ("continuous_queries_failed", "subscriptions_failed", "server_errors")
    before = collected(target, now=NOW)
    assert before.server is not None
    assert [before.server.counted(name, "") for name in troubles] == [0, 0, 0]
    storage = before.databases[0].storage
    assert storage is not None
    assert (storage.shards, storage.shard_series) == (1, 3)
    write_lines(own_influxd.url, database, iter([f"cpu,host=h1 usage=1.5 {AT - 20 * 86_400 * 10**9}"]))
    own_influxd.stop()
    own_influxd.start()
    # The test has restarted it within a minute of its start, which nobody does otherwise.
    ran = dataclasses.replace(before.server, started=NOW - timedelta(days=3))
    before = dataclasses.replace(before, server=ran)
    after = collected(target, now=NOW, day=DAY + timedelta(days=1), previous=before)
    storage = after.databases[0].storage
    assert storage is not None
    assert (storage.shards, storage.shard_series) == (2, 4)
    found = [f for r, f in evaluate(after, Timeline(previous=before)).findings() if r.code == "SRV002"]
    assert [(f.severity, f.message) for f in found] == [
        (Severity.NOTE, f"Since the audit of {before.collected_at.date()}, the server was restarted.")
    ]


def test_failed_writes_to_subscribers_are_counted_once() -> None:
    """The server lists them in all, and again for each destination."""
    every = {
        "name": "subscriber",
        "columns": ["createFailures", "pointsWritten", "writeFailures"],
        "values": [[0, 7, 12]],
    }
    each = [
        {
            "name": "subscriber",
            "tags": {"database": "tick", "destination": f"http://kapacitor{n}:9092", "mode": "ANY", "name": f"k{n}"},
            "columns": ["pointsWritten", "writeFailures"],
            "values": [[0, 4]],
        }
        for n in range(3)
    ]
    assert ("counter", "subscriptions_failed", "", 12.0) in list(status_rows(iter([every, *each])))


def test_shards_that_outlive_their_retention(own_influxd: Influxd) -> None:
    target = write(Dataset([_hosts(3)], retention=timedelta(days=3650)), "influxdb1", own_influxd.url)
    (database,) = target.databases
    (kept,) = collected(target, now=NOW).databases
    assert kept.storage is not None
    assert (kept.storage.expired_shards, kept.storage.expired_since) == (0, None)
    first = int((datetime.now(UTC) - timedelta(days=40)).timestamp()) * 10**9
    write_lines(own_influxd.url, database, iter([f"cpu,host=h1 usage=1.5 {first}"]))
    (policy,) = kept.retention or ()
    # The server looks for shards to delete each half hour, so it has not yet.
    influxql(own_influxd.url, f'ALTER RETENTION POLICY "{policy.policy}" ON "{database}" DURATION 10d')
    profile, found = _audited(target)
    (passed,) = profile.databases
    assert passed.storage is not None
    assert (passed.storage.expired_shards or 0) >= 1
    assert passed.storage.expired_since is not None
    assert profile.server is not None
    assert profile.server.settings["retention_enabled"] == 1
    # The next one says more, so it is a note.
    assert "RET003" not in _severities(found)
    (finding,) = [f for rule, f in evaluate(profile, Timeline()).findings() if rule.code == "RET003"]
    assert "although the retention service is on" in finding.message


def test_points_beyond_the_retention_are_no_loss(influxd: Influxd) -> None:
    target = write(Dataset([_hosts(3)], retention=timedelta(days=3650)), "influxdb1", influxd.url)
    (database,) = target.databases
    write_lines(influxd.url, database, iter(["cpu,host=h1 usage=1.5 1000"]), status=400)
    profile, found = _audited(target)
    assert profile.server is not None
    assert profile.server.counted("points_dropped", database) == 0
    assert not found
