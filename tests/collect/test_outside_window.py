"""A table whose rows lie outside the window was not measured: a dead time column, old rows, clocks that differ."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.builders import DAY, NOW, a_count, a_measurement, a_profile
from tests.collecting import Writer, collected, file_with
from tests.databases import Dataset, Row, Table, times
from tests.engines.traits import KEEP_DOCUMENTS, SHARE_SQL
from tests.servers import Postgresql
from tsaudit.collect.cross_checks import MANY_ROWS, without_unusable_figures
from tsaudit.config.settings import Columns, Target
from tsaudit.engines.queries import query_files, query_name
from tsaudit.engines.registry import ENGINES
from tsaudit.evaluation import evaluate
from tsaudit.model.facts import FACTS, sources_of
from tsaudit.model.figures import Count, Gap, How, Reason, Source, TableKind, utc_now
from tsaudit.model.finding import Outcome, Verdict
from tsaudit.model.profile import Measurement, Profile
from tsaudit.rules import all_rules

Made = Callable[..., Target]
_numbers = itertools.count()
_FACTS = {"null_counts", "row_sample", "series_listing"}


@pytest.fixture(params=sorted(SHARE_SQL))
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Made:
    """Runs SQL statements in a new database; a target for it."""

    def make(*statements: str, **settings: Any) -> Target:
        if request.param == "postgresql":
            return _in_postgresql(request.getfixturevalue("postgresql"), statements, settings)
        return file_with(request.param, tmp_path / f"made{next(_numbers)}.db", *statements, **settings)

    return make


def _in_postgresql(server: Postgresql, statements: tuple[str, ...], settings: dict[str, Any]) -> Target:
    schema = server.new_schema(*statements, "ANALYZE t")
    return Target(name="t", engine="postgresql", url=server.audit_url, databases=(schema,), **settings)


def _rows(*values: str, count: int = 500) -> str:
    """An INSERT of so many rows; `{i}` in the values is the row's number."""
    rows = ", ".join("(" + ", ".join(v.replace("{i}", str(i)) for v in values) + ")" for i in range(count))
    return f"INSERT INTO t VALUES {rows}"


def _only(profile: Profile) -> Measurement:
    (found,) = profile.measurements
    return found


def _marked(profile: Profile) -> set[str]:
    return {gap.fact for gap in profile.gaps if gap.reason is Reason.INCONSISTENT and gap.measurement == "t"}


def _verdict(profile: Profile) -> Verdict:
    return evaluate(profile).verdict


def test_a_time_column_that_nobody_fills_measures_nothing(made: Made) -> None:
    """The layout of Home Assistant: `last_changed` is there for the past, and new rows leave it null."""
    target = made(
        "CREATE TABLE t (last_changed TIMESTAMP, entity TEXT, state TEXT, last_changed_ts DOUBLE PRECISION)",
        _rows("NULL", "'e{i}'", "'on'", "1774000000.5 + {i}"),
        columns={"t": Columns(time="last_changed")},
    )
    profile = collected(target)
    t = _only(profile)
    assert t.time_column == "last_changed"
    assert t.series is None
    assert t.rows is None
    assert _marked(profile) >= _FACTS
    detail = next(g.detail for g in profile.gaps if g.fact == "null_counts" and g.measurement == "t")
    assert "\n" not in detail
    assert "0 rows from 2026-03-01 06:00 to 2026-03-31 06:00 UTC by column last_changed" in detail
    assert query_name(target.engine, "null_counts") in detail
    assert "read have no last_changed" in detail
    assert "columns: {t: {time: <column>}}" in detail
    if "row_estimate" in query_files(target.engine):
        name = re.escape(query_name(target.engine, "row_estimate"))
        assert re.search(rf"the engine counts about [1-9][\d,]* \({name}\)", detail)
        assert "row_estimate" in _marked(profile)
    assert _verdict(profile) is Verdict.UNKNOWN
    rules = {rule.code: rule for rule in all_rules()}
    passed = [rules[r.code] for r in evaluate(profile).results if r.outcome is Outcome.PASS]
    needed = {source for rule in passed for fact in rule.requires | rule.uses for source in sources_of(fact)}
    assert not needed & _FACTS


@pytest.mark.parametrize(
    ("columns", "filled"),
    [
        pytest.param("closed_on DATE", "NULL", id="a list whose only date is of what has not happened"),
        pytest.param("made TIMESTAMP", "NULL", id="the same, whatever its name"),
        pytest.param("opened TIMESTAMP, closed TIMESTAMP", "NULL, NULL", id="two of them"),
    ],
)
@pytest.mark.parametrize("count", [6, 3000])
def test_a_list_whose_time_nobody_fills_is_measured_as_a_whole(
    made: Made, columns: str, filled: str, count: int
) -> None:
    """As if it had no such column: nothing is unknown, and no row is left out."""
    target = made(
        f"CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, {columns})",
        _rows("{i}", "'shop {i}'", filled, count=count),
    )
    first = collected(target)
    for profile in (first, collected(target, previous=first, day=DAY + timedelta(days=1))):
        t = _only(profile)
        assert profile.gaps == ()
        assert (t.time_column, t.rows and t.rows.value, t.has_series) == (None, count, False)
        assert {f.key for f in t.fields if f.null_ratio and f.null_ratio.value == 1} == set(columns.split()[::2])
        assert _verdict(profile) is Verdict.OK


def test_a_few_rows_with_another_time_are_not_all_of_the_list(made: Made) -> None:
    """Only one of the accounts was locked within the window; the others are accounts all the same."""
    target = made(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, locked_until TIMESTAMP)",
        _rows("{i}", "'user {i}'", "NULL", count=40),
        "UPDATE t SET locked_until = '2026-03-30 00:00:00' WHERE id = 7",
    )
    profile = collected(target)
    assert profile.gaps == ()
    assert (_only(profile).rows or a_count(-1)).value == 40


def test_series_whose_time_is_no_longer_filled_are_not_measured(made: Made) -> None:
    """Their figures would not follow those of the days before."""
    target = made("CREATE TABLE t (time TIMESTAMP, host TEXT, v DOUBLE PRECISION)", _rows("NULL", "'h{i}'", "1.5"))
    (now_,) = collected(target).measurements
    before = dataclasses.replace(now_, kind=TableKind.SERIES, time_column="time")
    profile = collected(target, previous=dataclasses.replace(collected(target), measurements=(before,)))
    assert _verdict(profile) is Verdict.UNKNOWN
    assert _marked(profile)


def test_the_line_that_the_gap_proposes_puts_it_right(made: Made) -> None:
    columns = "created TIMESTAMP, sampled TIMESTAMP, host TEXT, v DOUBLE PRECISION"
    statements = (f"CREATE TABLE t ({columns})", _rows("NULL", "'2026-03-30 00:00:00'", "'h{i}'", "1.5"))
    wrong = collected(made(*statements, columns={"t": Columns(time="created")}))
    assert _marked(wrong)
    right = collected(made(*statements, columns={"t": Columns(time="sampled")}))
    t = _only(right)
    assert (t.rows and t.rows.value, t.series and t.series.value) == (500, 500)
    assert not _marked(right)


def test_a_table_of_old_rows_is_measured_in_a_window_of_its_own(made: Made) -> None:
    target = made(
        "CREATE TABLE t (time TIMESTAMP, host TEXT, v DOUBLE PRECISION)",
        _rows("'2021-05-03 10:00:00'", "'h{i}'", "1.5"),
        "CREATE TABLE live (time TIMESTAMP, host TEXT, v DOUBLE PRECISION)",
        "INSERT INTO live VALUES ('2026-03-30 00:00:00', 'a', 1.5)",
    )
    first = collected(target)
    for profile in (first, collected(target, previous=first, day=DAY + timedelta(days=1), now=NOW + timedelta(days=1))):
        assert profile.gaps == ()
        live, t = profile.measurements
        assert (live.rows and live.rows.value, live.own_window) == (1, None)
        assert t.own_window is not None
        assert t.own_window.end - datetime(2021, 5, 3, 10, tzinfo=UTC) == timedelta(seconds=1)
        for figure in (t.rows, t.series):
            assert figure is not None
            assert (figure.value, figure.source.how) == (500, How.EXACT)
            assert "2021-05-03 10:00 UTC: no row is within the audit's window" in figure.source.scope
        assert "no row is within the window" in t.time_reason


def test_a_list_of_things_of_which_the_last_grows_old(made: Made) -> None:
    target = made(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, opened TIMESTAMP, name TEXT)",
        *(f"INSERT INTO t VALUES ({i}, '2021-05-03 10:00:00', 'store {i}')" for i in range(1, 60)),
        "INSERT INTO t VALUES (60, '2026-03-03 10:00:00', 'store 60')",
    )
    previous = None
    for days, rows in ((0, 1), (5, 60), (6, 60)):  # the kind of a single row is not known
        previous = collected(target, previous=previous, day=DAY + timedelta(days=days), now=NOW + timedelta(days=days))
        assert previous.gaps == ()
        stores = _only(previous)
        assert (stores.rows and stores.rows.value, stores.has_series) == (rows, False)


def test_of_a_big_table_of_old_rows_the_newest_are_measured(made: Made) -> None:
    """Half of the rows are from the last thirty days that it was written."""
    half = f"{MANY_ROWS // 2}"
    target = made(
        "CREATE TABLE t (time TIMESTAMP, host TEXT, v DOUBLE PRECISION)",
        _rows("'2021-01-01 10:00:00'", "'old{i}'", "1.5", count=MANY_ROWS // 2),
        _rows("'2021-05-03 10:00:00'", "'h{i} '", "1.5", count=MANY_ROWS // 2),
        budget={"max_rows": 100},
    )
    t = _only(collected(target))
    assert (t.rows and f"{t.rows.value}") == half
    assert t.own_window is not None
    assert t.own_window.start == t.own_window.end - timedelta(seconds=1) - target.window


@pytest.mark.parametrize("made", ["duckdb", "postgresql"], indirect=True)
def test_a_table_of_old_rows_that_is_too_big_is_measured_where_its_newest_are(made: Made) -> None:
    """DuckDB and an index find rows by their time. Rows at older places are other rows, not copies of the newest."""
    target = made(
        "CREATE TABLE t (time TIMESTAMP, host TEXT, v INT)",
        "INSERT INTO t SELECT '2021-05-01 10:00:00'::TIMESTAMP - n * INTERVAL '1 minute', 'h' || n % 7, n "
        "FROM generate_series(0, 59999) AS a(n)",
        "CREATE INDEX t_time ON t (time)",
        budget={"max_scan_rows": 50_000},
    )
    profile = collected(target)
    assert profile.gaps == ()
    t = _only(profile)
    assert t.own_window is not None
    assert t.rows is not None
    assert t.rows.value == pytest.approx(30 * 24 * 60, rel=0.03), "PostgreSQL estimates it"
    assert t.copies is not None
    assert (t.copies.copies, t.copies.rows) == (0, 10_000)


def test_a_table_whose_writers_stopped_is_not_measured_elsewhere(made: Made) -> None:
    """Its figures would not follow those of the days before."""
    target = made(
        "CREATE TABLE t (time TIMESTAMP, host TEXT, v DOUBLE PRECISION)",
        _rows("'2026-01-03 10:00:00'", "'h{i}'", "1.5"),
    )
    written = collected(target, now=datetime(2026, 1, 4, tzinfo=UTC))
    assert written.gaps == ()
    assert _only(written).own_window is None
    # Each host has one row, so that nothing else shows that they are series.
    (before,) = (dataclasses.replace(m, kind=TableKind.SERIES) for m in written.measurements)
    profile = collected(target, previous=dataclasses.replace(written, measurements=(before,)))
    assert _marked(profile) >= _FACTS
    detail = next(g.detail for g in profile.gaps if g.fact == "null_counts" and g.measurement == "t")
    assert "the newest time is 2026-01-03 10:00 UTC" in detail
    assert "longer `window`" in detail
    t = _only(profile)
    # It is what the window holds, so that a table that went quiet keeps its history.
    assert t.rows is None or t.rows.source.how is How.ESTIMATE
    assert _verdict(profile) is Verdict.UNKNOWN


def test_a_dead_time_beside_a_live_table_leaves_no_figure(made: Made) -> None:
    target = made(
        "CREATE TABLE t (time TIMESTAMP, host TEXT, v DOUBLE PRECISION)",
        _rows("NULL", "'h{i}'", "1.5"),
        "CREATE TABLE live (time TIMESTAMP, host TEXT, v DOUBLE PRECISION)",
        "INSERT INTO live VALUES ('2026-03-30 00:00:00', 'a', 1.5)",
        columns={"t": Columns(time="time")},
    )
    live, t = collected(target).measurements
    assert (t.rows, t.series, t.tag_sets, {tag.values for tag in t.tags}) == (None, None, None, {None})
    assert (live.series and live.series.value) == 1


@pytest.mark.parametrize("latest", ["{now:%Y-%m-%d %H:%M:%S}", "2150-05-03 10:00:00", "9999-12-31 23:59:59"])
def test_rows_that_all_lie_ahead_are_measured(made: Made, latest: str) -> None:
    """Of a schedule, a forecast, or what expires; some programs write the last day there is for never."""
    now = utc_now()
    target = made(
        "CREATE TABLE t (time TIMESTAMP, host TEXT, v DOUBLE PRECISION)",
        _rows(f"'{now + timedelta(days=3):%Y-%m-%d %H:%M:%S}'", "'h{i}'", "1.5"),
        _rows(f"'{latest.format(now=now + timedelta(days=90))}'", "'h{i}'", "1.5"),
    )
    profile = collected(target, now=now)
    assert profile.gaps == ()
    t = _only(profile)
    assert "no row is within the window" in t.time_reason
    assert t.own_window is not None
    assert t.own_window.start > now
    assert (t.rows and t.rows.value) == 1000, "all, because the table is small"
    assert _verdict(profile) is Verdict.OK


def test_rows_before_and_after_the_window_and_none_within_are_measured(made: Made) -> None:
    """A conference each spring, seen in autumn."""
    now = utc_now()
    target = made(
        "CREATE TABLE t (time TIMESTAMP, host TEXT, v DOUBLE PRECISION)",
        _rows(f"'{now - timedelta(days=200):%Y-%m-%d %H:%M:%S}'", "'h{i}'", "1.5"),
        _rows(f"'{now + timedelta(days=165):%Y-%m-%d %H:%M:%S}'", "'h{i}'", "1.5"),
    )
    profile = collected(target, now=now)
    assert profile.gaps == ()
    t = _only(profile)
    assert (t.rows and t.rows.value, t.series and t.series.value) == (1000, 500)


def test_a_forecast_that_is_replaced_each_day_stays_known(made: Made) -> None:
    """On the day before, some of its rows were in the window."""
    now = utc_now()
    ahead = now + timedelta(hours=6)
    target = made(
        "CREATE TABLE t (time TIMESTAMP, host TEXT, v DOUBLE PRECISION)",
        _rows(f"'{ahead:%Y-%m-%d %H:%M:%S}'", "'h{i}'", "1.5"),
    )
    before = collected(target, now=ahead + timedelta(hours=1))
    assert _only(before).own_window is None
    (seen,) = (dataclasses.replace(m, kind=TableKind.SERIES) for m in before.measurements)
    profile = collected(target, now=now, previous=dataclasses.replace(before, measurements=(seen,)))
    assert profile.gaps == ()
    t = _only(profile)
    assert (t.own_window is not None, t.rows and t.rows.value, t.series and t.series.value) == (True, 500, 500)


@pytest.mark.parametrize("made", ["postgresql"], indirect=True)
def test_a_big_table_that_lies_ahead_is_measured_by_its_index(made: Made) -> None:
    now = utc_now()
    target = made(
        "CREATE TABLE t (time TIMESTAMP, host TEXT, v DOUBLE PRECISION, PRIMARY KEY (time, host))",
        *(_rows(f"'{now + timedelta(days=days):%Y-%m-%d %H:%M:%S}'", "'h{i}'", "1.5") for days in (2, 40, 50)),
        budget={"max_scan_rows": 1200},
    )
    profile = collected(target, now=now)
    assert not _marked(profile)
    t = _only(profile)
    assert t.own_window is not None
    assert (t.rows and t.rows.value) == 1000, "those of the last thirty days"


@pytest.mark.parametrize("written_table", ["greptimedb", "influxdb1", "influxdb3"], indirect=True)
def test_rows_that_lie_ahead_are_measured_on_engines_that_declare_their_tags(written_table: Writer) -> None:
    ahead = utc_now() + timedelta(days=20)
    rows = [Row(ahead + timedelta(hours=i), {"host": f"h{i % 3}"}, {"v": float(i)}) for i in range(30)]
    target = written_table(Dataset([Table("t", ("host",), {"v": "float"}, rows, key=("time", "host"))]))
    profile = collected(target, now=utc_now())
    assert profile.gaps == ()
    t = _only(profile)
    assert (t.rows and t.rows.value, t.series and t.series.value) == (30, 3)


def test_rows_that_lie_ahead_were_perhaps_not_there_on_a_past_day(made: Made) -> None:
    target = made(
        "CREATE TABLE t (time TIMESTAMP, host TEXT, v DOUBLE PRECISION)",
        _rows("'2150-05-03 10:00:00'", "'h{i}'", "1.5"),
    )
    t = _only(collected(target))
    assert (t.own_window, t.rows and t.rows.value) == (None, 0)


@pytest.mark.parametrize("statements", [(), (_rows("'2026-03-30 00:00:00'", "'h{i}'", "1.5"), "DELETE FROM t")])
def test_a_table_without_rows_is_measured(made: Made, statements: tuple[str, ...]) -> None:
    """Whatever the engine's statistics say of rows that were deleted."""
    profile = collected(made("CREATE TABLE t (time TIMESTAMP, host TEXT, v DOUBLE PRECISION)", *statements))
    assert profile.gaps == ()
    assert (_only(profile).rows or a_count(-1)).value == 0


def test_rows_later_than_a_past_day_were_not_there_then(made: Made) -> None:
    target = made(
        "CREATE TABLE t (time TIMESTAMP, host TEXT, v DOUBLE PRECISION)",
        _rows("'2026-03-30 00:00:00'", "'h{i}'", "1.5"),
    )
    profile = collected(target, now=NOW - timedelta(days=100))
    assert profile.gaps == ()


def test_rows_that_began_after_the_window_are_no_matter_of_clocks(made: Made) -> None:
    """Yesterday is audited this morning, and the table was made in the night."""
    now = utc_now()
    target = made(
        "CREATE TABLE t (time TIMESTAMP, host TEXT, v DOUBLE PRECISION)",
        _rows(f"'{now - timedelta(hours=2):%Y-%m-%d %H:%M:%S}'", "'h{i}'", "1.5"),
    )
    assert collected(target, now=now - timedelta(hours=6)).gaps == ()
    assert collected(target, now=now - timedelta(hours=1)).gaps == ()


@pytest.mark.parametrize("written_table", sorted(ENGINES.keys() - KEEP_DOCUMENTS - {"influxdb2"}), indirect=True)
def test_a_clock_that_is_ahead_is_seen_on_every_engine(written_table: Writer) -> None:
    """One audit with a clock 400 days ahead: the window lies behind all rows."""
    rows = [Row(t, {"host": f"h{i % 3}"}, {"v": float(i)}) for i, t in enumerate(times(30))]
    target = written_table(Dataset([Table("t", ("host",), {"v": "float"}, rows, key=("time", "host"))]))
    healthy = collected(target)
    assert healthy.gaps == ()
    profile = collected(target, previous=healthy, now=NOW + timedelta(days=400))
    whole = [g for g in profile.gaps if g.database is None]
    assert whole
    assert {g.reason for g in whole} == {Reason.INCONSISTENT}
    assert all("clock" in g.detail and "2027-" in g.detail for g in whole)
    assert _only(profile).rows is None
    result = evaluate(profile)
    assert result.verdict is Verdict.UNKNOWN


# --- A table that says nothing about time ---------------------------------------------------------------------------


def test_numbers_without_time_or_tag_are_not_classified(made: Made) -> None:
    """Nothing tells that `tick` is a time, or `channel` a source: the owner is asked, and nothing is counted."""
    target = made(
        "CREATE TABLE t (channel BIGINT, tick INTEGER, value DOUBLE PRECISION, ns INTEGER)",
        _rows("{i} % 30", "{i}", "1.5", "0", count=MANY_ROWS),
    )
    profile = collected(target)
    t = _only(profile)
    assert (t.time_column, t.tags) == (None, ())
    assert t.series is None
    assert t.kind is TableKind.OTHER
    assert "could not classify" in t.kind_reason
    assert profile.gaps == ()


def test_epochs_of_a_collector_are_the_time(made: Made) -> None:
    """The layout of Zabbix."""
    target = made(
        "CREATE TABLE t (itemid BIGINT, clock INTEGER, value DOUBLE PRECISION, ns INTEGER)",
        _rows("{i} % 30", f"{round(NOW.timestamp())} - {{i}}", "1.5", "0", count=MANY_ROWS),
    )
    t = _only(collected(target))
    assert (t.time_column, [tag.key for tag in t.tags]) == ("clock", ["itemid"])
    assert t.series is not None
    assert t.series.value == 30


def test_a_few_settings_without_time_are_left_alone(made: Made) -> None:
    profile = collected(made("CREATE TABLE t (a INTEGER, b DOUBLE PRECISION)", _rows("{i}", "1.5", count=50)))
    assert profile.gaps == ()


# --- By hand --------------------------------------------------------------------------------------------------------


def _unseen(**changes: Any) -> Measurement:
    source = Source("influxdb1/series_listing.influxql", How.EXACT, NOW)
    about = {"rows": a_count(0), "series": 7, "row_patterns": None, "statements": {"row_sample": "SELECT"}}
    found = a_measurement(**about | changes)
    return found if found.series is None else _with(found, source)


def _with(measurement: Measurement, source: Source) -> Measurement:
    assert measurement.series is not None
    return dataclasses.replace(measurement, series=Count(measurement.series.value, source))


INFLUX = {"engine": "influxdb1", "facts": ("series_listing", "row_sample", "row_count")}
ASKED = frozenset({"series_listing", "row_sample", "row_count"})


def test_an_index_keeps_its_series_when_no_row_was_seen() -> None:
    profile = without_unusable_figures(a_profile(_unseen(), **INFLUX), ASKED)
    assert {g.fact for g in profile.gaps} == {"row_sample", "row_count"}
    assert {(g.database, g.measurement) for g in profile.gaps} == {(None, None)}
    assert "main/cpu has 7 series (influxdb1/series_listing.influxql)" in profile.gaps[0].detail
    (cpu,) = profile.measurements
    assert cpu.rows is None
    assert cpu.series is not None


def test_a_listed_field_is_proof_of_rows() -> None:
    """As on a replica that knows the measurements, and has none of their points yet."""
    profile = without_unusable_figures(a_profile(_unseen(series=0), **INFLUX), ASKED)
    assert {g.fact for g in profile.gaps} == {"row_sample", "row_count"}
    assert "main/cpu has 1 field, so it had rows once" in profile.gaps[0].detail


def test_one_row_anywhere_is_enough() -> None:
    for other in (a_measurement("mem"), _unseen(name="mem", rows=None, statements={})):
        profile = a_profile(_unseen(), other, **INFLUX)
        assert without_unusable_figures(profile, ASKED) is profile


def test_a_server_without_rows_is_measured() -> None:
    for profile in (
        a_profile(_unseen(series=0, fields=()), **INFLUX),
        a_profile(_unseen(), engine="duckdb", facts=tuple(FACTS)),  # it was looked outside, and nothing found
    ):
        assert without_unusable_figures(profile, ASKED) is profile


def test_rows_found_outside_of_the_window_count_for_the_target() -> None:
    gap = Gap("row_sample", Reason.INCONSISTENT, "0 rows", "main", "cpu")
    profile = without_unusable_figures(a_profile(_unseen(), engine="duckdb", gaps=(gap,)), ASKED)
    assert {g.fact for g in profile.gaps if g.database is None} == ASKED
    assert profile.measurements[0].series is None
