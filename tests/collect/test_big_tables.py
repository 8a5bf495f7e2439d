"""Tables too big to be read whole: PostgreSQL's statistics and bounded parts stand in, and every figure says so."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from tests.builders import NOW
from tests.collecting import collected, collected_with
from tests.servers import Postgresql
from tsaudit.collect.probing import probe
from tsaudit.config.settings import Target
from tsaudit.engines.connection import Rows
from tsaudit.engines.opening import open_connection
from tsaudit.evaluation import evaluate
from tsaudit.model.facts import FACTS
from tsaudit.model.figures import How, Reason, utc_now
from tsaudit.model.finding import Outcome
from tsaudit.model.profile import Measurement, Profile
from tsaudit.what_if import TagReduction, answer

ROWS = 1_200_000
"""More than an audit reads unless told to."""
FEW = {"max_scan_rows": 20_000, "max_rows": 1_000}


def _made(server: Postgresql, *statements: str, **settings: Any) -> Target:
    schema = server.new_schema(*statements)
    about = {"name": "t", "engine": "postgresql", "url": server.audit_url, "databases": (schema,)}
    return Target(**about | settings)


def _fill(rows: int, more: str = "", *, end: datetime = NOW) -> str:
    """Rows a second apart, the newest a second before the end; 50 hosts, 20 sensors."""
    return (
        f"SELECT '{end.isoformat()}'::TIMESTAMPTZ - i * '1 s'::INTERVAL AS ts, 'h' || i % 50 AS host, "
        f"i % 20 AS sensor_id, i / 7.0::FLOAT AS v, CASE WHEN i % 4 = 0 THEN i::FLOAT END AS w{more} "
        f"FROM generate_series(1, {rows}) AS i"
    )


@pytest.fixture(scope="module")
def big(postgresql: Postgresql) -> Target:
    """Requests, each with an id of its own, and an index on the time."""
    target = _made(
        postgresql,
        f"CREATE TABLE requests AS {_fill(ROWS, ', md5(i::TEXT)::UUID AS request_id')}",
        "CREATE INDEX ON requests (ts)",
    )
    postgresql.execute(f"VACUUM ANALYZE {target.databases[0]}.requests")
    return target


def _counters(server: Postgresql, target: Target) -> tuple[int, int]:
    """Rows read so far by scans of whole tables, and by way of an index."""
    server.execute("SELECT pg_stat_force_next_flush()")
    (row,) = server.rows(
        "SELECT sum(seq_tup_read)::BIGINT, sum(coalesce(idx_tup_fetch, 0))::BIGINT FROM pg_stat_user_tables "
        f"WHERE schemaname = '{target.databases[0]}'"
    )
    return row[0], row[1]


def _only(profile: Profile) -> Measurement:
    (measurement,) = profile.measurements
    return measurement


def _lacking(profile: Profile) -> set[str]:
    return {rule.code for rule in evaluate(profile).results if rule.is_lacking}


@pytest.mark.full
def test_no_full_scan_of_a_million_rows(postgresql: Postgresql, big: Target) -> None:
    before = _counters(postgresql, big)
    profile = collected(big)
    whole, by_index = _counters(postgresql, big)
    assert whole == before[0], "no sequential scan"
    assert by_index - before[1] <= 10_000 + 100_000 + 10_000, "the newest, the listed ones, and those at older places"
    (gap,) = profile.gaps
    assert (gap.fact, gap.reason) == ("series_listing", Reason.OVER_BUDGET)
    assert gap.detail == (
        "only the newest 100,000 rows were listed: of about 1,200,000 rows at most 1,000,000 may be read; "
        "set `budget: {max_scan_rows: 10000000}`"
    )


def test_no_plan_reads_the_whole_table(postgresql: Postgresql, big: Target) -> None:
    statements = _only(collected(big)).statements
    assert set(statements) == {"row_sample", "scan_estimate", "series_listing"}
    with postgresql.connect() as connection:
        connection.execute("SET enable_sort = off")
        connection.execute("SET max_parallel_workers_per_gather = 0")
        for fact in ("row_sample", "series_listing"):
            ((plan,),) = connection.execute(f"EXPLAIN (FORMAT JSON) {statements[fact]}".encode()).fetchall()
            assert "Seq Scan" not in json.dumps(plan), fact
            assert "Index Scan" in json.dumps(plan), fact


def test_figures_of_a_big_table_say_how_they_were_had(big: Target) -> None:
    m = _only(collected(big))
    assert m.rows is not None
    assert (m.rows.source.how, m.rows.source.scope) == (How.ESTIMATE, "according to the planner")
    assert m.rows.value == pytest.approx(ROWS, rel=0.05)
    assert m.last_time == datetime(2026, 3, 31, 5, 59, 59, tzinfo=UTC)
    assert m.series is not None
    assert (m.series.value, m.series.source.how) == (100_000, How.SAMPLED)
    assert m.series.source.words.startswith("at least; according to the newest 100,000 rows from 2026-03-01")
    assert {t.key: t.values.value for t in m.tags if t.values} == {"host": 50, "request_id": 100_000, "sensor_id": 20}
    assert m.tags[-1].role_reason == "whole numbers with the name of an ID, each 60,000 times on average"
    w = next(f for f in m.fields if f.key == "w")
    assert w.null_ratio is not None
    assert w.null_ratio.standard_error is not None
    assert abs(w.null_ratio.value - 0.75) < 4 * w.null_ratio.standard_error < 0.02
    assert (w.null_ratio.source.how, w.null_ratio.source.query) == (
        How.ESTIMATE,
        "postgresql/column_statistics.sql",
    )
    assert w.null_ratio.source.scope.startswith("all rows, according to the engine's statistics of ")
    assert w.distinct is not None
    assert (w.distinct.source.how, w.distinct.source.scope[:22]) == (How.SAMPLED, "the newest 10,000 rows")


def test_rules_find_the_ids_and_call_nothing_green_that_was_not_listed(big: Target) -> None:
    result = evaluate(collected(big))
    found = {(r.code, f.subject.column) for r, f in result.findings()}
    assert ("TAG002", "request_id") in found
    messages = {r.code: f.message for r, f in result.findings()}
    assert messages["TAG002"].startswith("Tag request_id has at least 100,000 values shaped like IDs")
    assert "of a part of the rows" in messages["TAG002"] or "at least" in messages["TAG002"]
    outcomes = {r.code: r.outcome for r in result.results}
    assert outcomes["CAR001"] is Outcome.OPEN


def test_probe_does_not_read_it_either_and_leaves_the_same_gap(postgresql: Postgresql, big: Target) -> None:
    before, gaps = _counters(postgresql, big), collected(big).gaps
    with open_connection(big) as connection:
        assert probe(big, connection, NOW, most_tables=1).profile.gaps == gaps
    assert _counters(postgresql, big)[0] == before[0]


def test_probe_leaves_the_gaps_of_an_audit_where_there_is_no_index(postgresql: Postgresql) -> None:
    more = ", md5((i % 3000)::TEXT)::UUID AS tenant_id"
    target = _made(postgresql, f"CREATE TABLE t AS {_fill(60_000, more)}", "ANALYZE t", budget=FEW)
    (gap,) = collected(target).gaps
    assert gap.detail.endswith("at most 20,000 may be read; set `budget: {max_scan_rows: 100000}`")
    with open_connection(target) as connection:
        assert probe(target, connection, NOW, most_tables=1).profile.gaps == (gap,)


def test_all_rows_are_read_when_asked_for(postgresql: Postgresql) -> None:
    budget = FEW | {"max_scan_rows": 0}
    target = _made(postgresql, f"CREATE TABLE t AS {_fill(60_000)}", "ANALYZE t", budget=budget)
    profile = collected(target)
    assert profile.gaps == ()
    m = _only(profile)
    assert m.rows is not None
    assert (m.rows.value, m.rows.source.how) == (60_000, How.EXACT)
    assert m.series is not None
    assert (m.series.value, m.series.source.how) == (100, How.EXACT)
    assert "column_statistics" not in {c.fact for c in profile.costs}


def test_window_of_a_big_table_is_small(postgresql: Postgresql) -> None:
    """An index finds the few rows within the window: they are counted one by one."""
    old = (
        "INSERT INTO t SELECT '2020-01-01'::TIMESTAMPTZ + i * '1 s'::INTERVAL, 'x', 1, 1, 1 "
        "FROM generate_series(1, 60000) AS i"
    )
    target = _made(
        postgresql, f"CREATE TABLE t AS {_fill(5_000)}", old, "CREATE INDEX ON t (ts)", "VACUUM ANALYZE t", budget=FEW
    )
    profile = collected(target)
    assert profile.gaps == ()
    m = _only(profile)
    assert m.rows is not None
    assert (m.rows.value, m.rows.source.how) == (5_000, How.EXACT)


def test_partitions_outside_the_window_are_not_read(postgresql: Postgresql) -> None:
    columns = "ts TIMESTAMPTZ, host TEXT, sensor_id INT, v FLOAT, w FLOAT"
    target = _made(
        postgresql,
        f"CREATE TABLE t ({columns}) PARTITION BY RANGE (ts)",
        "CREATE TABLE old PARTITION OF t FOR VALUES FROM (MINVALUE) TO ('2026-03-30')",
        "CREATE TABLE new PARTITION OF t FOR VALUES FROM ('2026-03-30') TO (MAXVALUE)",
        f"INSERT INTO t {_fill(120_000)}",
        budget=FEW | {"max_scan_rows": 110_000},
        window="24h",
    )
    (schema,) = target.databases
    postgresql.execute(f"ANALYZE {schema}.old; ANALYZE {schema}.new")
    before = _counters(postgresql, target)
    m = _only(collected(target))
    assert m.rows is not None
    assert (m.rows.value, m.rows.source.how) == (86_400, How.EXACT)
    # Without an index all of the new partition is read for each of three facts; nothing is read of the old one.
    assert _counters(postgresql, target)[0] - before[0] == 3 * 108_000
    assert m.later_rows is None, "figures of a past day are not taken over"


@pytest.mark.parametrize("later", [0, 1, 500])
@pytest.mark.parametrize("kind", ["TIMESTAMPTZ", "TIMESTAMP", "TEXT", "BIGINT"])
def test_later_rows_are_seen_in_the_scan_of_the_window(postgresql: Postgresql, kind: str, later: int) -> None:
    now = utc_now()
    end = now + timedelta(seconds=later)
    time = "extract(epoch FROM ts)" if kind == "BIGINT" else "to_char(ts, 'YYYY-MM-DD HH24:MI:SS')"
    target = _made(
        postgresql,
        "SET timezone = 'UTC'",
        f"CREATE TABLE t AS SELECT {time}::{kind} AS ts, host, v, w FROM ({_fill(5_000 + later, end=end)}) AS made",
        "ANALYZE t",
        columns={"t": {"time": "ts", "tags": ["host"]}},
    )
    before = _counters(postgresql, target)
    m = _only(collected(target, now=now))
    read = _counters(postgresql, target)[0] - before[0]
    assert read <= 4 * (5_000 + later), "three facts, and the least and greatest of what may be the time"
    assert m.rows is not None
    # Of times in whole seconds, that of the first later row may lie before the end.
    assert (m.rows.value - 5_000) in (0, 1)
    assert m.later_rows is (later > 1 or (later == 1 and m.rows.value == 5_000))
    assert m.last_time is not None
    assert m.last_time < now
    assert {f.key: f.null_ratio and f.null_ratio.value for f in m.fields} == {
        "v": 0.0,
        "w": pytest.approx(0.75, abs=0.001),
    }


def test_later_rows_are_looked_up_in_an_index(postgresql: Postgresql) -> None:
    """An hour of a table that reaches far into the past, and holds five hours of forecasts."""
    now = utc_now()
    target = _made(
        postgresql,
        f"CREATE TABLE t AS {_fill(120_000, end=now + timedelta(hours=5))}",
        "CREATE INDEX ON t (ts)",
        "VACUUM ANALYZE t",
        budget=FEW,
        window="1h",
    )
    before = _counters(postgresql, target)
    m = _only(collected(target, now=now))
    whole, by_index = _counters(postgresql, target)
    assert whole == before[0], "no sequential scan"
    read = by_index - before[1]
    assert read <= 3 * 1_000 + 2 * 3_600 + 1, "two samples, a listing, a count, one of the later rows, and some more"
    assert (m.rows and m.rows.value, m.later_rows) == (3_600, True)


def test_all_rows_are_later_ones(postgresql: Postgresql) -> None:
    now = utc_now()
    target = _made(postgresql, f"CREATE TABLE t AS {_fill(500, end=now + timedelta(hours=5))}", window="1h")
    profile = collected(target, now=now)
    m = _only(profile)
    assert profile.gaps == ()
    assert m.own_window is not None
    assert m.own_window.start > now
    assert (m.rows and m.rows.value) == 500


def test_archive_is_not_read_for_its_newest_row(postgresql: Postgresql) -> None:
    """The window is a small part, and empty; without an index the newest row of all is found by reading all of them."""
    columns = "ts TIMESTAMPTZ, host TEXT, sensor_id INT, v FLOAT, w FLOAT"
    target = _made(
        postgresql,
        f"CREATE TABLE t ({columns}) PARTITION BY RANGE (ts)",
        "CREATE TABLE old PARTITION OF t FOR VALUES FROM (MINVALUE) TO ('2026-03-01')",
        "CREATE TABLE new PARTITION OF t FOR VALUES FROM ('2026-03-01') TO (MAXVALUE)",
        f"INSERT INTO t {_fill(60_000, end=NOW - timedelta(days=60))}",
        budget=FEW,
    )
    (schema,) = target.databases
    postgresql.execute(f"ANALYZE {schema}.old; ANALYZE {schema}.new")
    before = _counters(postgresql, target)
    profile = collected(target)
    assert _counters(postgresql, target)[0] - before[0] <= 20_000
    (gap,) = [g for g in profile.gaps if g.fact == "row_sample" and g.measurement == "t"]
    assert gap.reason is Reason.OVER_BUDGET
    assert gap.detail.startswith("no row is within the window, and the newest one was not looked up: of about 60,00")
    # The same with a budget that lets them be read.
    whole = target.model_copy(update={"budget": target.budget.model_copy(update={"max_scan_rows": 100_000})})
    profile = collected(whole)
    assert profile.gaps == ()
    (t,) = (m for m in profile.measurements if m.name == "t")
    assert t.own_window is not None
    assert t.own_window.end.date() == date(2026, 1, 30)
    assert t.rows is not None
    assert t.rows.value == 60_000


def test_partitions_alone_were_analysed(postgresql: Postgresql) -> None:
    columns = "ts TIMESTAMPTZ, host TEXT, sensor_id INT, v FLOAT, w FLOAT"
    target = _made(
        postgresql,
        f"CREATE TABLE t ({columns}) PARTITION BY RANGE (ts)",
        "CREATE TABLE old PARTITION OF t FOR VALUES FROM (MINVALUE) TO ('2026-03-31')",
        "CREATE TABLE new PARTITION OF t FOR VALUES FROM ('2026-03-31') TO (MAXVALUE)",
        f"INSERT INTO t {_fill(60_000)}",
        "CREATE INDEX ON t (ts)",
        budget=FEW,
    )
    (schema,) = target.databases
    postgresql.execute(f"ANALYZE {schema}.old; ANALYZE {schema}.new")
    parts = _only(collected(target))
    # Their hosts may differ or not: how many there are in all is not known, so that they are listed.
    assert parts.series is not None
    assert (parts.series.value, parts.series.source.how) == (100, How.SAMPLED)
    w = next(f for f in parts.fields if f.key == "w")
    assert w.null_ratio is not None
    assert w.null_ratio.value == pytest.approx(0.75, abs=0.02)
    postgresql.execute(f"ANALYZE {schema}.t")
    whole = _only(collected(target))
    assert whole.series is not None
    assert (whole.series.value, whole.series.source.query) == (1000, "postgresql/column_statistics.sql")


def test_few_series_are_not_listed(postgresql: Postgresql) -> None:
    target = _made(
        postgresql, f"CREATE TABLE t AS {_fill(60_000)}", "CREATE INDEX ON t (ts)", "VACUUM ANALYZE t", budget=FEW
    )
    profile = collected(target)
    assert profile.gaps == ()
    assert "series_listing" not in {c.fact for c in profile.costs}
    m = _only(profile)
    assert m.series is not None
    assert (m.series.value, m.series.source.how) == (1000, How.ESTIMATE)
    assert m.series.source.words.startswith(
        "at most, the product of all tags' values; all rows, according to the engine's"
    )
    host = m.tags[0]
    assert host.values is not None
    assert (host.values.value, len(host.sample)) == (50, 50)
    # What was listed before is listed again, so that another way to count is not taken for growth.
    asked = target.model_copy(update={"budget": target.budget.model_copy(update={"max_scan_rows": 0})})
    again = collected(target, previous=collected(asked))
    assert _only(again).series is not None
    assert "series_listing" in {c.fact for c in again.costs}


def test_no_index_hands_over_the_newest_rows(postgresql: Postgresql) -> None:
    target = _made(postgresql, f"CREATE TABLE t AS {_fill(60_000, ', i AS code_id')}", "ANALYZE t", budget=FEW)
    before = _counters(postgresql, target)
    m = _only(collected(target))
    read = _counters(postgresql, target)[0] - before[0]
    assert read < 25_000, "pages that make up about 1,000 rows, and 20,000 for the listing"
    assert re.search(r"TABLESAMPLE SYSTEM \(1\.6\d+\) REPEATABLE \(1\)", m.statements["row_sample"])
    v = next(f for f in m.fields if f.key == "v")
    assert v.distinct is not None
    assert "rows on pages chosen at random from 2026-03-01" in v.distinct.source.scope
    assert 300 < v.distinct.value <= 1000


def test_window_is_a_small_part_that_no_index_finds(postgresql: Postgresql) -> None:
    """Of the pages more are read, so that enough of their rows lie within the window."""
    target = _made(postgresql, f"CREATE TABLE t AS {_fill(60_000)}", "ANALYZE t", budget=FEW, window="1h")
    before = _counters(postgresql, target)
    m = _only(collected(target))
    assert _counters(postgresql, target)[0] - before[0] < 2 * 21_000
    v = next(f for f in m.fields if f.key == "v")
    assert v.distinct is not None
    assert v.distinct.value > 300
    late = datetime(2026, 4, 2, tzinfo=UTC)
    (gap,) = [g for g in collected(target, now=late).gaps if g.fact == "row_sample"]
    assert gap.detail.startswith("no row within the window was among those read: of about 60,000 rows at most")


def test_table_was_never_analysed(postgresql: Postgresql) -> None:
    target = _made(postgresql, f"CREATE TABLE t AS {_fill(60_000)}", budget=FEW)
    profile = collected(target)
    gaps = {g.fact: g for g in profile.gaps}
    assert set(gaps) == {"null_counts", "series_listing"}
    assert gaps["null_counts"].detail.startswith("no statistics for ts, v, w, and of about 60,000 rows at most")
    m = _only(profile)
    assert m.rows is None
    assert {f.null_ratio.source.how for f in m.fields if f.null_ratio} == {How.SAMPLED}


def test_statistics_older_than_the_data_say_so(postgresql: Postgresql) -> None:
    target = _made(postgresql, f"CREATE TABLE t AS {_fill(50_000)}", "CREATE INDEX ON t (ts)", budget=FEW)
    (schema,) = target.databases
    postgresql.execute(f"VACUUM ANALYZE {schema}.t")
    postgresql.execute(f"INSERT INTO {schema}.t SELECT ts, 'new' || v, sensor_id, v, w FROM {schema}.t LIMIT 25000")
    m = _only(collected(target))
    w = next(f for f in m.fields if f.key == "w")
    assert w.null_ratio is not None
    assert w.null_ratio.source.scope.endswith(", which are old: rows written since then are 33% of the table")
    # By the statistics there are 50 hosts; nothing is concluded from that.
    assert m.series is not None
    assert m.series.source.how is How.SAMPLED
    assert m.series.value > 1000


def test_nothing_is_read_when_the_catalog_denies_it(postgresql: Postgresql) -> None:
    target = _made(postgresql, f"CREATE TABLE t AS {_fill(60_000)}", "ANALYZE t", budget=FEW)
    (schema,) = target.databases
    postgresql.execute(f"REVOKE SELECT ON {schema}.t FROM tsaudit")
    profile = collected(target)
    assert {g.reason for g in profile.gaps} == {Reason.DENIED}
    assert {"series_listing", "null_counts", "row_sample"} <= {g.fact for g in profile.gaps}
    assert "row_sample" not in {c.fact for c in profile.costs}
    m = _only(profile)
    assert m.time_column == "ts"
    assert {t.key for t in m.tags} | {f.key for f in m.fields} == {"host", "sensor_id", "v", "w"}
    (unsure,) = (gap for gap in profile.gaps if gap.fact == "columns")
    assert unsure.detail.startswith("permission denied")
    assert len({gap.detail for gap in profile.gaps}) == 1, "what would help is said once"
    with open_connection(target) as connection:
        foretold = probe(target, connection, NOW).profile
    assert _lacking(foretold) == _lacking(profile)


def test_nothing_big_is_read_when_the_statistics_make_no_sense(postgresql: Postgresql) -> None:
    target = _made(postgresql, f"CREATE TABLE t AS {_fill(60_000)}", "ANALYZE t", budget=FEW)

    def tampering(fact: str, parameters: Mapping[str, Any]) -> Rows | None:
        del parameters
        if fact != "column_statistics":
            return None
        row = dict.fromkeys(FACTS[fact].columns) | {"measurement": "t", "column": "v", "common_values": "{"}
        return Rows("SELECT", iter([pa.RecordBatch.from_pylist([row])]))

    before = _counters(postgresql, target)
    profile = collected_with(target, tampering)
    assert "tsaudit does not understand the response" in {g.fact: g for g in profile.gaps}["column_statistics"].detail
    assert _counters(postgresql, target)[0] - before[0] < 25_000


def test_what_if_reads_no_more_than_an_audit(postgresql: Postgresql, big: Target) -> None:
    before = _counters(postgresql, big)
    found = answer(big, None, "requests", TagReduction(frozenset({"request_id", "sensor_id"}), {}), now=NOW)
    whole, by_index = _counters(postgresql, big)
    assert whole == before[0], "no sequential scan"
    assert by_index - before[1] <= 1_000 + 100_000
    assert found.left is not None
    assert (found.left.now, found.left.after) == (100_000, 50)
    assert found.left_how.startswith("sampled, live: at least; according to the newest 100,000 rows from 2026-03-01")


def test_what_if_lists_what_an_audit_need_not(postgresql: Postgresql) -> None:
    target = _made(
        postgresql, f"CREATE TABLE t AS {_fill(60_000)}", "CREATE INDEX ON t (ts)", "VACUUM ANALYZE t", budget=FEW
    )
    found = answer(target, None, "t", TagReduction(frozenset(), {"host": 2}), now=NOW)
    assert found.left is not None
    assert (found.left.now, found.left.after) == (100, 40)


def test_table_that_others_inherit_from_is_its_own_rows(postgresql: Postgresql) -> None:
    """As tables were divided before PostgreSQL had partitions: the parent is empty, and small by all statistics."""
    target = _made(
        postgresql,
        "CREATE TABLE parent (ts TIMESTAMPTZ, host TEXT, sensor_id INT, v FLOAT, w FLOAT)",
        "CREATE TABLE child () INHERITS (parent)",
        f"INSERT INTO child {_fill(60_000)}",
        "INSERT INTO parent SELECT ts, 'own', sensor_id, v, w FROM child LIMIT 100",
        "ANALYZE parent",
        "ANALYZE child",
        budget=FEW,
    )
    before = _counters(postgresql, target)
    parent, child = sorted(collected(target).measurements, key=lambda m: m.name, reverse=True)
    assert _counters(postgresql, target)[0] - before[0] < 25_000 + 3 * 100
    assert (parent.name, parent.rows and parent.rows.value) == ("parent", 100)
    assert [t.sample for t in parent.tags if t.key == "host"] == [("own",)]
    assert child.rows is not None
    assert child.rows.value == pytest.approx(60_000, rel=0.05)


def test_statistics_know_fewer_rows_than_the_counters(postgresql: Postgresql) -> None:
    """What the planner would sort is more than it says, so that pages are chosen at random."""
    target = _made(postgresql, f"CREATE TABLE t AS {_fill(60_000)}", "ANALYZE t", budget=FEW)
    (schema,) = target.databases
    told = f"UPDATE pg_class SET reltuples = 10000 WHERE oid = '{schema}.t'::REGCLASS"
    postgresql.execute(f"SET allow_system_table_mods = on; {told}")
    before = _counters(postgresql, target)
    m = _only(collected(target))
    assert _counters(postgresql, target)[0] - before[0] < 25_000
    assert "TABLESAMPLE" in m.statements["row_sample"]


def test_more_rows_are_sampled_than_may_be_scanned(postgresql: Postgresql) -> None:
    budget = {"max_scan_rows": 500, "max_rows": 1_000}
    target = _made(
        postgresql, f"CREATE TABLE t AS {_fill(60_000)}", "CREATE INDEX ON t (ts)", "VACUUM ANALYZE t", budget=budget
    )
    m = _only(collected(target))
    assert "TABLESAMPLE" not in m.statements["row_sample"], "the index hands them over"
