"""Pages of metrics, and what their counters mean: of InfluxDB 2 and 3, and of GreptimeDB."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from tests.builders import DAY, NOW, a_measurement, a_profile
from tests.engines.influxdb3.double import metrics
from tests.rules.cases import run_rule
from tests.serving import Handler, serving_http
from tsaudit.engines import http_client
from tsaudit.engines.connection import FactError
from tsaudit.engines.greptimedb import connector, wire
from tsaudit.engines.influxdb2.client import read_gauges
from tsaudit.model.figures import Reason, Subject
from tsaudit.model.finding import Finding, Severity
from tsaudit.model.profile import Profile
from tsaudit.model.server import ServerCounter, ServerStatus
from tsaudit.model.timeline import Point, Timeline
from tsaudit.rule import Rule
from tsaudit.rules.server.dropped_points import dropped_points
from tsaudit.rules.server.server_in_distress import server_in_distress

PAGE = b"""\
# HELP writes Writes.
# TYPE writes counter
writes{db="a",kind="x"} 1
writes{kind="}, db=\\"b",db="a"} 2e3 1700000000000
writes{db="b",} 5
writes 7
writes_total{db="a"} 100
writes{db="a"} NaN
writes{db="a"} +Inf
writes{db="a"} ?
no sample
process_start_time_seconds 1.7e+09
"""

INFLUXDB2 = b"""\
# TYPE storage_shard_write_sum counter
storage_shard_write_sum{bucket="0c3dd7d2d97f4b23",engine="tsm1",id="1",path="/e/0c3d/autogen/1",walPath="/w/1"} 1000
storage_shard_write_sum{bucket="0c3dd7d2d97f4b23",engine="tsm1",id="2",path="/e/0c3d/autogen/2",walPath="/w/2"} 500
storage_shard_write_count{bucket="0c3dd7d2d97f4b23",engine="tsm1",id="2",path="/e/0c3d/autogen/2",walPath="/w/2"} 5
storage_shard_write_dropped_sum{bucket="0c3dd7d2d97f4b23",engine="tsm1",id="2",path="/e/2",walPath="/w/2"} 30
storage_shard_write_err_sum{bucket="0c3dd7d2d97f4b23",engine="tsm1",id="1",path="/e/1",walPath="/w/1"} 0
storage_compactions_failed{bucket="0c3dd7d2d97f4b23",engine="tsm1",id="1",level="1",path="/e/1",walPath="/w/1"} 2
storage_compactions_failed{bucket="0c3dd7d2d97f4b23",engine="tsm1",id="1",level="full",path="/e/1",walPath="/w/1"} 1
influxdb_uptime_seconds{id="0c3dd7cf13b15000"} 93.5
"""


def test_counters_are_summed_by_database() -> None:
    rows = http_client.counted_metrics(PAGE.splitlines(), {"writes": "points_written"}, "db")
    assert sorted(rows) == [
        ("counter", "points_written", "", 7.0),
        ("counter", "points_written", "a", 2001.0),
        ("counter", "points_written", "b", 5.0),
        ("started", "", "", 1.7e9),
    ]
    assert ("counter", "n", "", 2013.0) in list(http_client.counted_metrics(PAGE.splitlines(), {"writes": "n"}))
    assert list(http_client.counted_metrics([], {"writes": "n"})) == []


def test_counters_of_influxdb_2() -> None:
    found = read_gauges(INFLUXDB2.splitlines())
    bucket = "0c3dd7d2d97f4b23"
    assert found.counters == {
        ("points_written", bucket): 1470.0,
        ("points_dropped", bucket): 30.0,
        ("points_failed", bucket): 0.0,
        ("compactions_failed", ""): 3.0,
    }
    assert found.uptime_s == 93.5
    assert read_gauges([b"go_info 1"]).counters == {}


def _shard(number: int, **metrics: float) -> list[bytes]:
    labels = f'bucket="b",engine="tsm1",id="{number}",path="/e/{number}",walPath="/w/{number}"'
    return [f"storage_{name}{{{labels}}} {value}".encode() for name, value in metrics.items()]


def test_points_and_requests_of_influxdb_2_7_are_the_other_way_around() -> None:
    """As 2.7.12 counted six requests with 1,060 points, of which ten had another type."""
    page = _shard(1, shard_write_sum=6, shard_write_count=1060, shard_write_err_sum=1, shard_write_err_count=50)
    page += _shard(1, shard_write_dropped_sum=10, cache_writes_err=0, wal_writes_err=0)
    page += [b'storage_writer_err_points_sum{path="/e"} 60', b'task_executor_total_runs_complete{status="success"} 7']
    page += [b'task_executor_total_runs_complete{status="failed",task_type="system"} 8']
    assert read_gauges(page).counters == {
        ("points_written", "b"): 1050.0,
        ("points_dropped", "b"): 10.0,
        ("points_failed", "b"): 0.0,
        ("points_failed", ""): 0.0,
        ("compactions_failed", ""): 0.0,
        ("tasks_failed", ""): 8.0,
    }


def test_points_that_a_full_cache_refuses_and_those_of_a_shard_that_cannot_be_opened() -> None:
    page = _shard(
        1, shard_write_sum=30, shard_write_count=150_000, shard_write_err_sum=10, shard_write_err_count=64_000
    )
    page += _shard(1, shard_write_dropped_sum=0, cache_writes_err=8, wal_writes_err=2)
    page += _shard(2, shard_write_sum=4, shard_write_count=400, shard_write_err_sum=2, shard_write_err_count=190)
    page += _shard(2, shard_write_dropped_sum=10, cache_writes_err=1, wal_writes_err=0)
    page += [b'storage_writer_err_points_sum{path="/e"} 69200']
    found = read_gauges(page).counters
    assert (found["points_failed", "b"], found["points_dropped", "b"]) == (64_095, 10)
    assert found["points_written", "b"] == 150_400 - 64_105
    assert found["points_failed", ""] == 5_000


@contextmanager
def _serving(status: int, body: bytes) -> Iterator[str]:
    class Page(Handler):
        def do_GET(self) -> None:
            self.answer(status, body)

    with serving_http(Page) as server:
        yield f"http://127.0.0.1:{server.server_port}/metrics"


@pytest.mark.parametrize(("status", "reason"), [(401, Reason.DENIED), (403, Reason.DENIED), (404, Reason.UNSUPPORTED)])
def test_page_that_is_refused_or_absent(status: int, reason: Reason) -> None:
    with (
        _serving(status, b"no") as url,
        pytest.raises(FactError, match=rf"HTTP {status}") as found,
    ):
        http_client.read_page(url, {}, 5)
    assert found.value.reason is reason
    with _serving(200, PAGE) as url:
        assert http_client.read_page(url, {}, 5) == PAGE.splitlines()
    with pytest.raises(FactError, match="cannot be read"):
        http_client.read_page(url, {}, 5)


@pytest.mark.parametrize("body", [b"", b"null", b"12", b"[]", b"[" * 200_000, b'{"a":' * 100_000, b"<html>"])
def test_body_that_is_no_object(body: bytes) -> None:
    with pytest.raises(FactError, match=r"is not JSON|is a web page|is not an object"):
        http_client.json_object(body)


def test_page_of_greptimedb_is_known_by_its_usual_ports() -> None:
    assert wire.metrics_url(wire.address("mysql+pymysql://db.example", None, "p")) == "http://db.example:4000/metrics"
    assert wire.metrics_url(sa.make_url("mysql+pymysql://db.example:3306/public")) == ""
    lines = [b"greptime_mito_write_reject_total 4", b'greptime_mito_write_stalling_count{worker="0"} 1']
    rows = list(http_client.counted_metrics(lines, connector._COUNTERS))
    assert rows == [("counter", "writes_rejected", "", 4.0)]


START = datetime(2026, 3, 1, tzinfo=UTC)


def _profile(engine: str, started: datetime = START, database: str = "", **counted: int) -> Profile:
    counters = tuple(ServerCounter(name, database, value) for name, value in counted.items())
    status = ServerStatus(counters=counters, started=started)
    return a_profile(a_measurement(), engine=engine, server=status)


def _since(rule: Rule, before: Profile, today: Profile, *risen: tuple[str, int, int]) -> Finding | None:
    """`risen`: counters, and their values on the two days before today."""
    points = {
        (name, Subject()): tuple(Point(DAY - timedelta(days=n), float(value)) for n, value in ((2, first), (1, last)))
        for name, first, last in risen
    }
    earlier = dataclasses.replace(before, day=DAY - timedelta(days=1), collected_at=NOW - timedelta(days=1))
    findings = run_rule(rule, today, timeline=Timeline(previous=earlier, points=points)).findings
    return findings[0] if findings else None


def test_rejected_lines_of_influxdb_3_with_and_without_a_database() -> None:
    for database in ("main", ""):
        before = _profile("influxdb3", database=database, points_written=1_000, points_dropped=3)
        today = _profile("influxdb3", database=database, points_written=9_000, points_dropped=7)
        finding = _since(dropped_points, before, today)
        assert finding is not None
        assert (finding.severity, finding.subject, finding.observed) == (Severity.WARNING, Subject(database), 4)
        assert _since(dropped_points, today, today) is None
    rows = http_client.counted_metrics(
        metrics(lines=9, rejected=1, ooms=2).splitlines(),
        {"influxdb3_write_lines_rejected_total": "points_dropped"},
        "db",
    )
    assert ("counter", "points_dropped", "test", 1.0) in list(rows)


def test_what_greptimedb_rejects_is_critical_on_the_second_day() -> None:
    before, today = _profile("greptimedb", writes_rejected=5), _profile("greptimedb", writes_rejected=9)
    first = _since(server_in_distress, before, today, ("writes_rejected", 5, 5))
    assert first is not None
    assert (first.severity, first.severity_reason) == (Severity.WARNING, "4 writes rejected or dropped")
    assert first.message == "Since the audit of 2026-03-30, 4 writes were rejected because memory was full."
    again = _since(server_in_distress, before, today, ("writes_rejected", 1, 5))
    assert again is not None
    assert again.severity is Severity.CRITICAL


@pytest.mark.parametrize("name", ["compactions_failed", "flushes_failed"])
def test_what_the_server_tries_again_is_a_warning_on_the_second_day(name: str) -> None:
    before, today = _profile("influxdb2", **{name: 5}), _profile("influxdb2", **{name: 6})
    first = _since(server_in_distress, before, today, (name, 5, 5))
    again = _since(server_in_distress, before, today, (name, 2, 5))
    assert first is not None
    assert again is not None
    assert (first.severity, again.severity) == (Severity.NOTE, Severity.WARNING)


def test_queries_without_memory_are_a_note() -> None:
    before, today = _profile("influxdb3", queries_out_of_memory=0), _profile("influxdb3", queries_out_of_memory=2)
    finding = _since(server_in_distress, before, today)
    assert finding is not None
    assert (finding.severity, finding.observed) == (Severity.NOTE, 2)
    assert finding.message == "Since the audit of 2026-03-30, 2 queries ran out of memory."


@pytest.mark.parametrize(
    ("seconds", "is_same_start"), [(0, True), (60, True), (120, False), (0.5, True), (-60, True), (86_400, False)]
)
def test_start_that_is_only_known_to_the_minute(seconds: float, is_same_start: bool) -> None:
    now, before = ServerStatus(started=START + timedelta(seconds=seconds)), ServerStatus(started=START)
    assert now.is_same_start(before) is is_same_start
    assert now.is_restarted(before, START + timedelta(seconds=30)) is not is_same_start
    assert now.is_restarted(before, START + timedelta(days=2)) is False
    assert now.is_same_start(ServerStatus()) is None
    assert now.is_restarted(ServerStatus(), START) is None
