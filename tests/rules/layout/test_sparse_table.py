"""LAY003: nulls."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.builders import DAY, NOW, a_count, a_field, a_measurement, a_profile, a_source
from tests.collecting import collected, collected_with, file_with
from tests.databases import writing_of
from tests.rules.cases import Case, dataset, hosts, run_rule, table
from tests.servers import Postgresql
from tsaudit.collect.earlier_days import with_column_ends
from tsaudit.config.settings import Budget, Target
from tsaudit.engines.connection import Rows
from tsaudit.model.columns import FieldEnd, PartOfRows
from tsaudit.model.figures import Count, How, Ratio, Subject, TableKind, Window
from tsaudit.model.finding import Finding, Outcome, Severity
from tsaudit.model.profile import Profile
from tsaudit.model.timeline import Point, Timeline
from tsaudit.rules.layout.sparse_table import sparse_table as rule
from tsaudit.text import quantity

FIELDS = {"price": "float", "cost": "float", "volume": "float", "tax": "float"}


def _one_of_four(series: int, row: int) -> dict[str, float | None]:
    return {name: row + 0.5 if i == row % 4 else None for i, name in enumerate(FIELDS)}


def _half_ended(series: int, row: int) -> dict[str, float | None]:
    return {"price": row + 0.5} if series % 2 or row < 400 else {"cost": row + 0.5}


def _by_design(series: int, row: int) -> dict[str, float | None]:
    return {"price" if series % 2 else "cost": row + 0.5}


CASES = (
    Case(
        breaks=dataset(table("crypto", hosts(2), FIELDS, _one_of_four, rows=60)),
        keeps=dataset(table("crypto", hosts(2), FIELDS, lambda s, r: dict.fromkeys(FIELDS, r + 0.5), rows=60)),
        subject=Subject("", "crypto"),
        engines=rule.engines - {"influxdb1", "influxdb2"},
    ),
    # There is no recording of InfluxDB 2.x.
    Case(
        breaks=dataset(table("crypto", hosts(4), {"price": "float", "cost": "float"}, _half_ended, rows=720)),
        keeps=dataset(table("crypto", hosts(4), {"price": "float", "cost": "float"}, _by_design, rows=720)),
        subject=Subject("", "crypto", "price"),
        engines=frozenset({"influxdb1"}),
    ),
)


def _profile(*nulls: float, rows: int = 1000) -> Profile:
    fields = tuple(a_field(f"f{i}", null_ratio=n) for i, n in enumerate(nulls))
    return a_profile(a_measurement("t", fields=fields, rows=a_count(rows)))


def test_finding_when_just_over_half_of_the_cells_are_null() -> None:
    assert run_rule(rule, _profile(0.5, 0.5, 0.5)).outcome is Outcome.PASS
    (finding,) = run_rule(rule, _profile(0.5, 0.5, 0.53)).findings
    assert finding.impact is None
    assert finding.message == "In the rows of the last 30 days, 51% of the cells in its 3 fields are null."
    assert run_rule(rule, _profile(0.5, 0.5, 0.53), {"max_null_ratio": 0.6}).outcome is Outcome.PASS


def test_silence_about_fields_of_documents_whose_names_are_data() -> None:
    fields = tuple(a_field(f"scores.user_{i}", null_ratio=0.98) for i in range(20))
    games = a_measurement("games", fields=fields, tags=())
    assert run_rule(rule, a_profile(games, engine="mongodb")).outcome is Outcome.PASS
    assert len(run_rule(rule, a_profile(games)).findings) == 1


def test_silence_about_a_table_whose_columns_are_attributes_of_spans() -> None:
    fields = tuple(a_field(f"span_attributes.{i}", null_ratio=0.9) for i in range(20))
    traces = a_measurement("traces", fields=fields, options={"table_data_model": "greptime_trace_v1"})
    assert run_rule(rule, a_profile(traces, engine="greptimedb")).outcome is Outcome.PASS
    assert run_rule(rule, a_profile(dataclasses.replace(traces, options={}), engine="greptimedb")).findings


def test_information_when_one_column_is_hardly_ever_set() -> None:
    assert run_rule(rule, _profile(0.0, 0.0, 0.95)).outcome is Outcome.PASS
    (finding,) = run_rule(rule, _profile(0.0, 0.0, 0.96)).findings
    assert finding.impact is None
    assert finding.main_contributor == "f2"
    assert finding.unit == "share of rows without a value"


@pytest.mark.parametrize(
    ("changes", "is_all"),
    [
        ({}, False),
        ({"first_time": NOW - timedelta(days=20)}, True),
        ({"rows_total": a_count(40_000)}, True),
        ({"rows_total": a_count(40_001)}, False),
        ({"rows_total": a_count(30_000, How.ESTIMATE)}, False),
        ({"time_column": None}, True),
    ],
)
def test_a_share_of_the_window_is_none_of_the_table(changes: dict[str, Any], is_all: bool) -> None:
    fields = (a_field("weight"), a_field("coupon", null_ratio=0.98))
    measurement = a_measurement("sale", fields=fields, rows=a_count(40_000), **changes)
    (finding,) = run_rule(rule, a_profile(measurement)).findings
    assert finding.fix.startswith("If coupon may be empty, or a source was meant to stop sending it, nothing")
    if is_all:
        assert finding.message == "coupon is null in 98% of the rows."
    else:
        assert finding.message == ("In the rows of the last 30 days, coupon is null in 98% of them.")


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ((1.0,), "f0 is null in all of them."),
        ((1.0, 0.99), "f0 is null in all of them, and f1 nearly as often."),
        ((1.0, 1.0), "f0 and f1 are null in all of them."),
        ((0.98, 0.979, 0.96), "f0 and f1 are null in 98% of them, and f2 nearly as often."),
    ],
)
def test_what_is_never_set_is_said_once(shares: tuple[float, ...], said: str) -> None:
    (finding,) = run_rule(rule, _profile(*shares, 0.0, 0.0, 0.0)).findings
    assert finding.message == f"In the rows of the last 30 days, {said}"
    assert f"meant to stop sending {'them' if len(shares) > 1 else 'it'}, nothing" in finding.fix


def test_columns_that_no_row_has_are_not_of_another_kind_of_rows() -> None:
    """Optional columns of a program, which nothing fills, make no table of several."""
    (finding,) = run_rule(rule, _profile(*(1.0,) * 12, 0.0, 0.1, 0.0)).findings
    assert "null in all of them" in finding.message
    assert "nothing has to be done" in finding.fix
    (finding,) = run_rule(rule, _profile(*(1.0,) * 12, 0.6, 0.6, 0.6)).findings
    assert finding.message == "In the rows of the last 30 days, 60% of the cells in its 3 fields are null."


def test_an_end_of_one_type_is_no_end_where_others_are_not_read() -> None:
    """InfluxDB 2 answers with the floats of a field that has been text since a week."""
    end = FieldEnd(NOW - timedelta(days=7), 1_000, 1_000, 1.0)
    for types, is_found in ((("float",), True), (("float", "integer"), True), (("float", "string"), False)):
        value = a_field("value", types, idle_hours=168.0, end=end)
        here = a_measurement(fields=(value, a_field("ok")), time_column="time", last_time=NOW)
        assert bool(run_rule(rule, a_profile(here, engine="influxdb2")).findings) is is_found
        # InfluxDB 1 is asked for each type: none of them is there anymore.
        assert run_rule(rule, a_profile(here, engine="influxdb1")).findings


def test_silence_when_rows_or_fields_are_few() -> None:
    assert run_rule(rule, _profile(0.9, 0.9, 0.9, rows=99)).outcome is Outcome.PASS
    assert run_rule(rule, _profile(0.9, 0.9)).outcome is Outcome.PASS


def test_silence_when_rows_were_not_counted() -> None:
    profile = a_profile(a_measurement(fields=(a_field(null_ratio=1.0),), rows=None))
    assert run_rule(rule, profile).outcome is Outcome.PASS


def test_finding_when_a_column_empties() -> None:
    def history(*values: float) -> Timeline:
        points = tuple(Point(DAY - timedelta(days=len(values) - i), v) for i, v in enumerate(values))
        return Timeline(points={("null_ratio", Subject("main", "t", "f1")): points})

    profile = _profile(0.0, 0.3, 0.0)
    (finding,) = run_rule(rule, profile, timeline=history(0.0, 0.0, 0.1)).findings
    assert finding.impact is None
    assert finding.message == f"Nulls in f1 rose from 0% on {DAY - timedelta(days=2)} to 30%."
    assert (finding.main_contributor, finding.since) == ("f1", DAY - timedelta(days=1))
    assert finding.headline == f"Nulls in f1 rose from 0% to 30% of the rows since {DAY - timedelta(days=1)}"
    # Of all nulls it may have any part: what is told is its own share, before and now.
    assert (finding.share, finding.observed, finding.baseline) == (None, 0.3, 0.0)
    assert quantity(finding.observed, finding.unit) == "30% of rows without a value"
    assert run_rule(rule, profile, timeline=history(0.05, 0.1)).outcome is Outcome.PASS
    assert run_rule(rule, profile).outcome is Outcome.PASS


def test_columns_for_a_value_of_any_type_are_not_empty_cells() -> None:
    nulls = {"str_v": 0.9, "long_v": 0.8, "dbl_v": 0.3, "bool_v": 1.0}
    typed = tuple(a_field(key, null_ratio=null) for key, null in nulls.items())
    assert run_rule(rule, a_profile(a_measurement(fields=typed, rows=a_count(1000)))).outcome is Outcome.PASS
    others = tuple(a_field(key, null_ratio=null) for key, null in zip("abcd", nulls.values(), strict=True))
    assert run_rule(rule, a_profile(a_measurement(fields=others, rows=a_count(1000)))).outcome is Outcome.FAIL


def test_events_may_have_attributes_but_not_without_end() -> None:
    def of(empty: int) -> Profile:
        fields = tuple(a_field(f"f{i}", null_ratio=0.97 if i < empty else 0.6) for i in range(80))
        return a_profile(a_measurement("t", fields=fields, rows=a_count(1000), kind=TableKind.EVENTS))

    assert run_rule(rule, of(50)).outcome is Outcome.PASS
    (finding,) = run_rule(rule, of(51)).findings
    assert finding.impact is None
    assert finding.message == (
        "In the rows of the last 30 days, 51 of its 80 fields are null in more than 95% of the rows."
    )


def test_only_the_kinds_of_tables_that_the_rule_is_about() -> None:
    rare = (a_field("installed_on"), a_field("removed_on", null_ratio=0.99))
    meters = a_measurement("meters", tags=(), fields=rare, rows=a_count(1000), time_column=None)
    assert run_rule(rule, a_profile(meters, engine="postgresql")).findings
    reference = dataclasses.replace(meters, kind=TableKind.REFERENCE)
    assert not run_rule(rule, a_profile(reference, engine="postgresql")).findings


def test_columns_of_entities_with_a_time_may_be_filled_later() -> None:
    end = FieldEnd(NOW - timedelta(days=9), rows_after=300, rows_before=1_000, filled_before=1.0)
    fields = (dataclasses.replace(a_field("paid", null_ratio=0.3), end=end, idle_hours=216.0),)
    orders = a_measurement("orders", tags=(), fields=fields)
    assert run_rule(rule, a_profile(dataclasses.replace(orders, kind=TableKind.EVENTS))).findings
    assert not run_rule(rule, a_profile(dataclasses.replace(orders, kind=TableKind.ENTITY))).findings


def _meters(values: str, rows: int = 30_000) -> str:
    return f"""CREATE TABLE readings AS SELECT TIMESTAMP '{NOW:%Y-%m-%d}' - i * INTERVAL 1 minute AS at,
      'm' || i % 5 AS meter, i % 700 / 7.0 AS power, {values} AS flow FROM range({rows}) AS a(i)"""


@pytest.mark.parametrize(
    ("values", "severity", "day"),
    [
        # Days without a value are beyond the rows read, or among them, or fewer than one.
        ("CASE WHEN i > 9 * 1440 THEN i % 90 / 3.0 END", Severity.WARNING, 9),
        ("CASE WHEN i > 2 * 1440 THEN i % 90 / 3.0 END", Severity.WARNING, 2),
        ("CASE WHEN i > 1300 THEN i % 90 / 3.0 END", None, 0),
        ("CASE WHEN i > 9 * 1440 AND i % 4 > 0 THEN i % 90 / 3.0 END", Severity.NOTE, 9),
        ("CASE WHEN i > 9 * 1440 AND i % 9 = 0 THEN i % 90 / 3.0 END", None, 9),
    ],
)
def test_a_column_that_is_not_filled_anymore(tmp_path: Path, values: str, severity: Severity | None, day: int) -> None:
    profile = collected(file_with("duckdb", tmp_path / "meters.duckdb", _meters(values)))
    found = [finding for finding in run_rule(rule, profile).findings if finding.subject.column == "flow"]
    assert [finding.severity for finding in found] == ([severity] if severity else [])
    if found:
        assert found[0].since == (NOW.replace(hour=0) - timedelta(days=day, minutes=1)).date()
        assert "in none of the" in found[0].message


def test_a_time_that_cannot_be_read_is_not_the_newest(tmp_path: Path) -> None:
    """SQLite accepts the hour 24."""
    statement = f"""CREATE TABLE readings AS WITH RECURSIVE a(i) AS
      (SELECT 0 UNION ALL SELECT i + 1 FROM a WHERE i < 29999)
      SELECT datetime('{NOW:%Y-%m-%d}', '-' || i || ' minutes') AS at, 'm' || (i % 5) AS meter, i % 700 / 7.0 AS power,
      CASE WHEN i > 9 * 1440 THEN i % 90 / 3.0 END AS flow FROM a"""
    wrong = f"UPDATE readings SET at = '{NOW - timedelta(days=2):%Y-%m-%d} 24:00:00' WHERE rowid = 1"
    profile = collected(file_with("sqlite", tmp_path / "meters.db", statement, wrong))
    assert not profile.gaps
    (finding,) = (finding for finding in run_rule(rule, profile).findings if finding.subject.column == "flow")
    assert finding.observed == 9 * 24


@pytest.mark.costly
@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
@pytest.mark.parametrize(
    ("values", "severity", "days"),
    [
        ("CASE WHEN i % 4 > 0 OR i >= 5 * 1440 THEN i % 90 / 3.0 END", Severity.WARNING, 5),
        ("CASE WHEN i % 4 > 0 OR i >= 13 * 1440 THEN i % 90 / 3.0 END", Severity.WARNING, 13),
        # Fewer than a day, never, or always only some.
        ("CASE WHEN i % 4 > 0 OR i >= 1300 THEN i % 90 / 3.0 END", None, 0),
        ("CASE WHEN i % 4 > 0 THEN i % 90 / 3.0 END", None, 0),
        ("CASE WHEN i % 4 > 0 OR i >= 5 * 1440 AND i % 7 < 5 THEN i % 90 / 3.0 END", Severity.NOTE, 5),
        # More rows without a value, of all kinds.
        ("CASE WHEN i % 7 > 1 OR i >= 5 * 1440 THEN i % 90 / 3.0 END", None, 0),
    ],
)
def test_a_column_that_one_kind_of_rows_no_longer_fills(
    tmp_path: Path, engine: str, values: str, severity: Severity | None, days: int
) -> None:
    """The share of nulls in the window rises by few percent, because the other kinds go on."""
    statement = f"""CREATE TABLE readings AS WITH RECURSIVE a(i) AS
      (SELECT 0 UNION ALL SELECT i + 1 FROM a WHERE i < 39999)
      SELECT {{at}} AS at, 'm' || (i % 8) AS meter, {{kind}} AS kind, i % 700 / 7.0 AS power, {values} AS flow FROM a"""
    kind = "CASE i % 4 WHEN 0 THEN 'gas' WHEN 1 THEN 'heat' WHEN 2 THEN 'water' ELSE 'steam' END"
    at = {
        "duckdb": f"TIMESTAMP '{NOW:%Y-%m-%d}' - i * INTERVAL 1 minute",
        "sqlite": f"datetime('{NOW:%Y-%m-%d}', '-' || i || ' minutes')",
    }
    target = file_with(engine, tmp_path / "meters.db", statement.format(at=at[engine], kind=kind))
    found = [f for f in run_rule(rule, collected(target)).findings if f.subject.column == "flow"]
    assert [finding.severity for finding in found] == ([severity] if severity else [])
    for finding in found:
        assert finding.since == (NOW.replace(hour=0) - timedelta(days=days)).date()
        assert finding.headline is not None
        assert finding.headline.startswith("flow of rows with kind gas is not filled anymore")


def test_a_kind_of_rows_that_ends_is_no_column_that_ends(tmp_path: Path) -> None:
    """The others never had the field."""
    statement = f"""CREATE TABLE readings AS SELECT TIMESTAMP '{NOW:%Y-%m-%d}' - i * INTERVAL 1 minute AS at,
      'm' || i % 8 AS meter, CASE WHEN i % 2 = 0 AND i > 5 * 1440 THEN 'gas' ELSE 'heat' END AS kind, i / 7.0 AS power,
      CASE WHEN i % 2 = 0 AND i > 5 * 1440 THEN i % 90 / 3.0 END AS flow FROM range(40000) AS a(i)"""
    profile = collected(file_with("duckdb", tmp_path / "meters.duckdb", statement))
    assert not [f for f in run_rule(rule, profile).findings if f.headline and "of rows with" in f.headline]


@pytest.mark.parametrize(
    ("ended_days", "moved_h", "severities"),
    [
        (9, None, [Severity.NOTE]),  # No audit came before.
        (9, 0, [Severity.WARNING]),
        (2, 0, [Severity.NOTE]),  # They may be written once a week.
        (2, 24, []),  # Two days later than the order, each invoice comes.
    ],
)
def test_what_may_be_filled_later_is_only_certain_with_the_next_audit(
    tmp_path: Path, ended_days: int, moved_h: int | None, severities: list[Severity]
) -> None:
    invoice = f"CASE WHEN i > {ended_days} * 1440 THEN i / 1000 END"
    statement = _meters(invoice).replace("'m' || i % 5 AS meter", "md5(i::TEXT) AS buyer").replace("power", "amount")
    profile = collected(file_with("duckdb", tmp_path / "orders.duckdb", statement))
    (measurement,) = profile.measurements
    now = dataclasses.replace(measurement, kind=TableKind.EVENTS, tags=())
    timeline = Timeline()
    if moved_h is not None:
        fields = [
            dataclasses.replace(f, end=dataclasses.replace(f.end, time=f.end.time - timedelta(hours=moved_h)))
            if f.end
            else f
            for f in now.fields
        ]
        then = dataclasses.replace(now, fields=tuple(fields))
        timeline = Timeline(previous=dataclasses.replace(profile, measurements=(then,), day=DAY - timedelta(days=1)))
    findings = run_rule(rule, dataclasses.replace(profile, measurements=(now,)), timeline=timeline).findings
    assert [one.severity for one in findings if one.subject.column == "flow"] == severities


def test_an_end_in_a_table_too_big_to_look_for_it(postgresql: Postgresql) -> None:
    """An index finds the newest rows, of which 1,000 are those of eight hours, and few others."""
    newest, asked = NOW + timedelta(days=3), []
    schema = postgresql.new_schema(
        "CREATE TABLE readings (at TIMESTAMP, meter TEXT, power FLOAT, flow FLOAT)",
        f"""INSERT INTO readings SELECT '{newest:%Y-%m-%d}'::timestamp - i * INTERVAL '30 s',
        'm' || i % 5, i % 700 / 7.0, CASE WHEN i > 1.51 * 2880 THEN i % 90 / 3.0 END
        FROM generate_series(1, 90000) AS n (i)""",
        "CREATE INDEX ON readings (at)",
        "ANALYZE",
    )
    budget = Budget(max_scan_rows=15_000, max_rows=1_000)
    target = Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,), budget=budget)

    def tampering(name: str, parameters: Mapping[str, Any]) -> Rows | None:
        if name == "row_sample" and parameters["end"] < now:
            asked[-1] += tuple(parameters["fields"]) == ("flow",)
        return None

    previous, found = None, []
    for ago in (2, 1, 0, -0.2):
        now = newest - timedelta(days=ago)
        asked.append(0)
        previous = collected_with(target, tampering, now=now, day=now.date(), previous=previous)
        found.append([f for f in run_rule(rule, previous).findings if f.subject.column == "flow"])
    warned = [Severity.WARNING]
    assert [[finding.severity for finding in day] for day in found] == [[], [], warned, warned]
    ((finding,), (later,)) = found[2:]
    # What was found is only looked at.
    assert asked[1:] == [9, 4, 4]
    # To the hour, and the same for as long as it lasts.
    assert f"since {newest - timedelta(days=2):%Y-%m-%d} 1" in finding.message
    assert ":00 UTC" in finding.message
    assert finding.observed in (36, 37)
    assert (later.headline, later.evidence) == (finding.headline, finding.evidence)
    assert finding.message.endswith("all of the 1,000 rows read up to then, and in none of the 1,000 read after it.")

    # Where an audit knows of none, the oldest rows of the window have it.
    (first,) = (f for f in run_rule(rule, collected(target, now=now, day=now.date())).findings if f.subject.column)
    assert first.subject.column == "flow"
    postgresql.execute(f"UPDATE {schema}.readings SET flow = NULL")
    asked.append(0)
    collected_with(target, tampering, now=now, day=now.date(), previous=previous)
    assert asked[4] == 1


@pytest.mark.parametrize(
    ("before", "share", "begun", "severity"),
    [
        # Five of thirty days are without it.
        ((), 25 / 30, (), Severity.WARNING),
        ((), 22 / 30, (), Severity.NOTE),
        ((0.27,), 22 / 30, (), Severity.NOTE),
        ((0.09,), 22 / 30, (), Severity.WARNING),
        ((0.27,), 22 / 30, ("flow_rate",), Severity.WARNING),
        ((), None, (), Severity.WARNING),
    ],
)
def test_a_column_that_was_not_always_filled_before_may_be_again(
    before: Sequence[float], share: float | None, begun: tuple[str, ...], severity: Severity
) -> None:
    end = FieldEnd(NOW - timedelta(days=5), rows_after=300, rows_before=1_000, filled_before=1.0, begun=begun)
    ratio = Ratio(0.0 if share is None else 1 - share, a_source(How.SAMPLED if share is None else How.EXACT))
    flow = dataclasses.replace(a_field("flow"), null_ratio=ratio, end=end, idle_hours=120.0)
    points = tuple(Point(DAY - timedelta(days=9 - n), value) for n, value in enumerate(before))
    timeline = Timeline(points={("null_ratio", Subject("main", "meters", "flow")): points})
    (finding,) = run_rule(rule, a_profile(a_measurement("meters", fields=(flow,))), timeline=timeline).findings
    assert finding.severity is severity


@pytest.mark.parametrize(
    ("ago_h", "first", "nulls", "after", "full_before", "severity"),
    [
        # All rows up to Sunday had it, for weeks, or only since Monday.
        (40, 30, 0.02, 200, None, Severity.WARNING),
        (40, 8, 0.02, 200, None, Severity.NOTE),
        (40, 16, 0.02, 200, None, Severity.NOTE),
        (40, 17, 0.02, 200, None, Severity.WARNING),
        # Those of weekends, which are few, may be without it.
        (40, 30, 0.04, 200, None, Severity.NOTE),
        (40, 30, 0.04, 200, 3, Severity.WARNING),
        (40, 30, 0.04, 200, 10, Severity.WARNING),
        (40, 15, 0.04, 200, 10, Severity.NOTE),
        (40, 30, None, 200, 3, Severity.NOTE),
        (73, 30, 0.04, 200, None, Severity.WARNING),
        (29, 30, 0.04, 200, None, Severity.WARNING),
    ],
)
def test_a_column_that_ends_on_a_weekend_may_be_filled_on_monday(
    ago_h: int, first: int, nulls: float | None, after: int, full_before: int | None, severity: Severity
) -> None:
    """NOW is a Tuesday. `full_before`: days ago when no row was without it."""
    end = FieldEnd(NOW - timedelta(hours=ago_h), after, rows_before=1_000, filled_before=1.0)
    ratio = Ratio(nulls or 0.0, a_source(How.SAMPLED if nulls is None else How.EXACT))
    flow = dataclasses.replace(a_field("flow"), null_ratio=ratio, end=end, idle_hours=float(ago_h))
    points = (Point(DAY - timedelta(days=full_before), 0.0),) if full_before else ()
    timeline = Timeline(points={("null_ratio", Subject("main", "meters", "flow")): points})
    meters = a_measurement("meters", fields=(flow,), rows=a_count(10_000), first_time=NOW - timedelta(days=first))
    (finding,) = run_rule(rule, a_profile(meters), timeline=timeline).findings
    assert finding.severity is severity


@pytest.mark.parametrize(("first", "severity"), [(30, Severity.WARNING), (8, Severity.NOTE)])
def test_sources_whose_column_ends_on_a_weekend_in_a_young_table(first: int, severity: Severity) -> None:
    sunday = NOW - timedelta(hours=40)
    of = PartOfRows("meter", ("m1", "m2"), count=2, known=5, first=sunday, sources=2)
    end = FieldEnd(sunday, 200, rows_before=1_000, filled_before=1.0, of=of)
    flow = dataclasses.replace(a_field("flow", null_ratio=0.3), end=end)
    meters = a_measurement("meters", fields=(flow,), first_time=NOW - timedelta(days=first))
    (finding,) = (f for f in run_rule(rule, a_profile(meters)).findings if f.subject.column)
    assert finding.severity is severity


def test_few_columns_are_looked_up(tmp_path: Path) -> None:
    """Each takes two queries: those of a wide table are not worth an hour."""
    ends = ", ".join(f"CASE WHEN i > {12_000 + n} THEN i / 3.0 END AS v{n:02}" for n in range(30))
    target = file_with("duckdb", tmp_path / "wide.duckdb", _meters(f"{ends}, 1.0"))
    found = [finding.subject.column for finding in run_rule(rule, collected(target)).findings]
    assert [column for column in found if column] == [f"v{n:02}" for n in range(8)]


@pytest.mark.costly
@pytest.mark.parametrize(
    ("begun", "filled", "severity", "is_named"),
    [
        ("amount_text", "i < 9 * 1440", Severity.WARNING, True),
        ("amount_text", "i < 2 * 1440", Severity.WARNING, True),  # The rows read contain the end.
        ("note", "i < 9 * 1440", Severity.NOTE, True),
        ("note", "i < 2 * 1440", Severity.NOTE, True),
        ("amount_text", "i < 5 * 1440", Severity.NOTE, False),  # It begins later.
        ("amount_text", "i < 20 * 1440", Severity.NOTE, False),  # It was there before.
    ],
)
def test_a_column_that_begins_where_another_ends(
    tmp_path: Path, begun: str, filled: str, severity: Severity, *, is_named: bool
) -> None:
    days = 2 if filled == "i < 2 * 1440" else 9
    statement = f"""CREATE TABLE bills AS SELECT TIMESTAMP '{NOW:%Y-%m-%d}' - i * INTERVAL 1 minute AS at,
      md5(i::TEXT) AS buyer, CASE WHEN i >= {days} * 1440 THEN i // 3 END AS amount, i % 7 AS lines,
      CASE WHEN {filled} THEN i || ' EUR' END AS {begun} FROM range(30000) AS a(i)"""
    (measurement,) = collected(file_with("duckdb", tmp_path / "bills.duckdb", statement)).measurements
    found = run_rule(rule, a_profile(dataclasses.replace(measurement, kind=TableKind.EVENTS, tags=()))).findings
    (finding,) = (one for one in found if one.subject.column == "amount")
    assert finding.severity is severity
    assert finding.headline is not None
    assert finding.headline.endswith(f", where {begun} begins") is is_named
    assert ("is lost" in finding.fix) is not is_named


def _lines(count: int, price: str, text: str = "NULL", first: int = 10_000) -> str:
    """What inserts order lines with the same price, as a number and as a text."""
    rows = (f"({i}, 's{i % 7}', {price}, {text})" for i in range(first, first + count))
    return f"INSERT INTO lines VALUES {', '.join(rows)}"


def _line_findings(path: Path, engine: str, days: Sequence[Sequence[str]], hours: float = 24) -> list[Finding]:
    """What is found about the prices in the last of several audits, before each of which statements are run."""
    columns = "id integer, sku text, price double, price_text text"
    target = file_with(engine, path / "shop.db", f"CREATE TABLE lines ({columns})")
    server, profile, timeline = writing_of(engine).server(path / "shop.db", target), None, Timeline()
    for n, statements in enumerate(days):
        for statement in statements:
            server.rows(statement)
        timeline, now = Timeline(previous=profile), NOW + timedelta(hours=n * hours)
        profile = collected(target, now=now, day=now.date(), previous=profile)
    assert profile is not None
    (measurement,) = profile.measurements
    assert measurement.time_column is None
    assert measurement.kind not in (None, TableKind.SERIES, TableKind.EVENTS)
    found = run_rule(rule, profile, timeline=timeline).findings
    assert {finding.subject.column for finding in found} <= {"price"}
    return list(found)


FILLED = [_lines(2_000, "1.5", first=0)]
MOVED = [_lines(150, "NULL", "'1,50 EUR'")]
ENDED = [_lines(150, "NULL")]


@pytest.mark.parametrize(
    ("days", "severity"),
    [
        ([FILLED, MOVED], Severity.WARNING),
        ([FILLED, MOVED, []], Severity.WARNING),
        ([FILLED, MOVED, MOVED, MOVED], Severity.WARNING),
        # Too few rows on the first day, and on the second.
        ([FILLED, [_lines(60, "NULL", "'1'")]], None),
        ([FILLED, [_lines(60, "NULL", "'1'")], [_lines(60, "NULL", "'1'")]], Severity.WARNING),
        # They may be filled once a week.
        ([FILLED, ENDED, ENDED], Severity.NOTE),
        ([FILLED, *[ENDED] * 7], Severity.WARNING),
        # Filled again, later, or converted.
        ([FILLED, MOVED, [_lines(10, "2.5")]], None),
        ([FILLED, MOVED, ["UPDATE lines SET price = 1.5"]], None),
        ([FILLED, ENDED, [_lines(150, "NULL"), "UPDATE lines SET price = 1.5 WHERE price IS NULL"]], None),
        # Optional, before and now.
        ([[_lines(2_000, "1.5", first=0), "UPDATE lines SET price = NULL WHERE id % 15 = 0"], MOVED], None),
        ([FILLED, [*MOVED, _lines(1, "1.5")]], None),
        # Too few rows before.
        ([[_lines(90, "1.5", first=0)], MOVED], None),
        # Fewer.
        ([FILLED, ["DELETE FROM lines WHERE id < 500", *MOVED]], None),
        ([FILLED, MOVED, ["DELETE FROM lines WHERE id >= 10000"]], None),
        ([MOVED], None),
        # Older rows have lost theirs, too, or all were written again.
        ([FILLED, ["UPDATE lines SET price_text = price, price = NULL"]], Severity.WARNING),
        ([FILLED, ["UPDATE lines SET price = NULL"], ENDED, []], Severity.WARNING),
        ([FILLED, ["DELETE FROM lines", _lines(2_200, "NULL", "'1,50 EUR'")]], Severity.WARNING),
        ([FILLED, ["UPDATE lines SET price = NULL"], [_lines(10, "1.5")]], None),
        # Locks, as it were, of other rows, until a second audit finds none, or of rows that are done.
        ([FILLED, ["DELETE FROM lines", _lines(2_200, "NULL")]], Severity.NOTE),
        ([FILLED, ["DELETE FROM lines", _lines(2_200, "NULL")], []], Severity.WARNING),
        ([FILLED, ["DELETE FROM lines WHERE id >= 600", "UPDATE lines SET price = NULL"]], None),
        ([FILLED, ["UPDATE lines SET price = NULL WHERE id > 5"]], None),
        ([FILLED, ["ALTER TABLE lines DROP COLUMN price"]], None),
    ],
)
def test_a_column_without_times_that_is_not_filled_anymore(
    tmp_path: Path, days: Sequence[Sequence[str]], severity: Severity | None
) -> None:
    found = _line_findings(tmp_path, "sqlite", days)
    assert [finding.severity for finding in found] == ([severity] if severity else [])


def test_message_about_rows_without_times(tmp_path: Path) -> None:
    (finding,) = _line_findings(tmp_path, "duckdb", [FILLED, MOVED, MOVED])
    assert finding.message == (
        f"price is not filled anymore since {NOW:%Y-%m-%d %H:%M} UTC, where price_text begins: it has a value in all "
        "of the 2,000 rows there were then, and in none of the 300 added since then."
    )
    assert finding.consequence == "Sums and means of price leave out all rows that were added since then."
    assert finding.since == NOW.date()
    assert finding.observed == 48


def test_end_is_reported_after_a_day_on_any_schedule(tmp_path: Path) -> None:
    assert not _line_findings(tmp_path, "sqlite", [FILLED, MOVED], hours=20)
    (tmp_path / "daily").mkdir()
    assert _line_findings(tmp_path / "daily", "sqlite", [FILLED, MOVED], hours=23.9)


@pytest.mark.parametrize(
    ("then", "now", "severity"),
    [
        ({}, {}, Severity.WARNING),
        ({"share": 0.05}, {}, Severity.WARNING),
        ({"share": 0.06}, {}, None),
        ({"rows": 99}, {}, None),
        ({}, {"rows": 99}, None),
        ({}, {"share": 0.999}, None),
        ({}, {"how": How.ESTIMATE}, None),
        # Others may be there now, or those that had it without it: a lock, an error.
        ({}, {"kind": TableKind.ENTITY, "tags": ()}, Severity.NOTE),
        ({"time_column": None}, {"time_column": None}, Severity.NOTE),
        ({}, {"rows": 999}, Severity.NOTE),
        ({}, {"rows": 940}, None),
        ({"share": 0.03}, {"rows": 300}, None),
        ({}, {"power": 0.02}, Severity.NOTE),
        ({}, {"rows": 1_100, "power": 0.05}, Severity.WARNING),
        ({}, {"power": 0.06}, None),
        # All of several are gone.
        ({}, {"power": 1.0, "begun": 1.0}, Severity.WARNING),
        # Most rows, or all, have left the window since then.
        ({}, {"first_time": NOW - timedelta(days=17)}, Severity.WARNING),
        ({}, {"first_time": NOW - timedelta(days=14)}, None),
    ],
)
def test_a_column_whose_values_are_gone(then: dict[str, Any], now: dict[str, Any], severity: Severity | None) -> None:
    before = _counted(NOW - timedelta(days=1), **{"share": 0.0} | then)
    after = with_column_ends(_counted(NOW, **{"share": 1.0, "begun": 0.0} | now), before)
    found = [
        f for f in run_rule(rule, after, timeline=Timeline(previous=before)).findings if f.subject.column == "flow"
    ]
    assert [finding.severity for finding in found] == ([severity] if severity else [])
    next_day = with_column_ends(_counted(NOW + timedelta(days=1), **{"share": 1.0, "begun": 0.0} | now), after)
    later = [f for f in run_rule(rule, next_day, timeline=Timeline(previous=after)).findings if f.subject.column]
    assert {finding.severity for finding in later} == ({Severity.WARNING} if severity else set())


def test_what_is_said_of_values_that_are_gone() -> None:
    """Only rows of the window were counted, unless there are no others."""
    before = _counted(NOW - timedelta(days=1), share=0.0)
    for total, of, missed in ((None, " of the last 30 days", "in rows of the last 30 days."), (1_000, "", "of older")):
        more = {"rows_total": a_count(total)} if total else {}
        after = with_column_ends(_counted(NOW, share=1.0, begun=0.0, **more), before)
        (finding,) = run_rule(rule, after, timeline=Timeline(previous=before)).findings
        since = f"All values of flow{of} are gone since the audit of {NOW - timedelta(days=1):%Y-%m-%d %H:%M}"
        assert finding.headline == f"{since}, where fill begins"
        assert finding.message.startswith(f"{since} UTC, where fill begins: all of the 1,000 rows")
        assert finding.consequence is not None
        assert finding.consequence.startswith(f"Queries of flow find nothing anymore, {missed}")
        assert "query fill instead, and drop flow" in finding.fix


def test_values_are_gone_until_there_are_new_ones_or_the_older_rows_are_gone() -> None:
    def on(day: int, share: float, first: int = 30, **changes: Any) -> Profile:
        now = NOW + timedelta(days=day)
        return _counted(now, share=share, first_time=now - timedelta(days=first), **changes)

    emptied = with_column_ends(on(1, 1.0), on(0, 0.0))
    uncounted = with_column_ends(on(2, 1.0, how=How.ESTIMATE), emptied)
    cases = [
        (on(3, 1.0), emptied, True),
        (on(3, 1.0), uncounted, True),
        (on(3, 0.99), emptied, False),
        (on(20, 1.0), emptied, True),
        (on(31, 1.0), emptied, False),
        (on(3, 1.0, first=2), emptied, False),
    ]
    assert not [f for f in run_rule(rule, uncounted).findings if f.subject.column]
    for now, before, is_found in cases:
        found = [f for f in run_rule(rule, with_column_ends(now, before)).findings if f.subject.column]
        assert [finding.subject.column for finding in found] == ["flow"] * is_found
        assert all(finding.since == NOW.date() for finding in found)


def _counted(
    now: datetime,
    share: float,
    begun: float = 1.0,
    rows: int = 1_000,
    how: How = How.EXACT,
    power: float = 0.0,
    **changes: Any,
) -> Profile:
    """A measurement with these shares of nulls in `flow`, `fill`, and `power`, as audited at a time."""
    source = a_source(how, as_of=now)
    fields = [a_field(key, null_ratio=of) for key, of in (("power", power), ("flow", share), ("fill", begun))]
    fields = [dataclasses.replace(f, null_ratio=Ratio(f.null_ratio.value, source)) for f in fields if f.null_ratio]
    times = {"first_time": now - timedelta(days=30), "last_time": now}
    known = a_measurement("t", fields=tuple(fields), rows=Count(rows, source), **times | changes)
    return a_profile(known, day=now.date(), window=Window(now - timedelta(days=30), now))


def test_rows_with_times_or_without_a_count_show_no_end_by_their_number() -> None:
    def profile(rows: int, share: float, how: How = How.EXACT, time: str | None = None) -> Profile:
        field = a_field("price", null_ratio=share)
        assert field.null_ratio is not None
        ratio = dataclasses.replace(field.null_ratio, source=a_source(how))
        fields = (dataclasses.replace(field, null_ratio=ratio),)
        return a_profile(a_measurement("t", time_column=time, fields=fields, rows=a_count(rows)))

    def ends(now: Profile, then: Profile) -> bool:
        return with_column_ends(now, then).measurements[0].fields[0].end is not None

    assert ends(profile(1_250, 0.2), profile(1_000, 0))
    assert not ends(profile(1_250, 0.2, time="at"), profile(1_000, 0, time="at"))
    assert not ends(profile(1_250, 0.2, time="at"), profile(1_000, 0))
    assert not ends(profile(1_250, 0.2), profile(1_000, 0, time="at"))
    assert not ends(profile(1_000, 0), profile(1_000, 0))
    assert not ends(profile(1_250, 0.2, How.ESTIMATE), profile(1_000, 0))
    assert not ends(profile(1_250, 0.2), profile(1_000, 0, How.ESTIMATE))
    about = (dataclasses.replace(m, rows=a_count(1_250, How.ESTIMATE)) for m in profile(1_250, 0.2).measurements)
    assert not ends(a_profile(*about), profile(1_000, 0))
    assert with_column_ends(profile(1_250, 0.2), None) == profile(1_250, 0.2)
