"""The tables: worst first, nothing guessed, nothing endless."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.builders import (
    DAY,
    NOW,
    a_count,
    a_field,
    a_finding,
    a_measurement,
    a_profile,
    a_result,
    a_rule_result,
    a_source,
    a_tag,
)
from tests.report import sample
from tsaudit.model.figures import FOREVER, Gap, Reason, Subject
from tsaudit.model.finding import Severity, Verdict
from tsaudit.model.profile import Database, Profile
from tsaudit.model.rows import Documents, RowBytes
from tsaudit.model.storage import Retention, Storage
from tsaudit.model.timeline import Point, Timeline
from tsaudit.report import findings, tables
from tsaudit.text import NOT_KNOWN


def overview(profile: Profile, *found: object, timeline: Timeline | None = None) -> tables.Overview:
    items = findings.items_of(a_result(a_rule_result(*found)), profile, ())
    return tables.overview(profile, timeline or Timeline(), items)


def test_overview_is_worst_first_then_by_series() -> None:
    profile = a_profile(*(a_measurement(name, series) for name, series in (("a", 1), ("b", 9), ("c", 5), ("d", 2))))
    found = a_finding(Subject("main", "a", "host")), a_finding(Subject("main", "d"), Severity.NOTE)
    rows = overview(profile, *found).rows
    assert [(r.measurement.name, r.verdict) for r in rows] == [
        ("a", Verdict.WARNING),
        ("b", Verdict.OK),
        ("c", Verdict.OK),
        ("d", Verdict.OK),
    ]


def test_overview_when_something_was_not_measured_is_unknown_there() -> None:
    gap = Gap("row_sample", Reason.DENIED, "no", "main", "a")
    rows = overview(a_profile(a_measurement("a"), a_measurement("b"), gaps=(gap,))).rows
    assert {r.measurement.name: r.verdict for r in rows} == {"a": Verdict.UNKNOWN, "b": Verdict.OK}


def test_overview_of_a_family_of_collections() -> None:
    names = [f"visits_2026_03_{day:02}" for day in range(1, 8)]
    stored = Storage(100, 10)
    read = {"documents": Documents(9, 35.0, 35, a_source()), "storage": stored}
    members = [a_measurement(name, **(read if i % 3 == 0 else {})) for i, name in enumerate(names)]
    empty = a_measurement("empty", storage=stored)
    profile = a_profile(*members, empty, engine="mongodb")
    verdicts = {r.measurement.name: r.verdict for r in overview(profile).rows}
    # What others stand for was not looked at; what is empty was.
    assert verdicts == {n: Verdict.OK if i % 3 == 0 else Verdict.UNKNOWN for i, n in enumerate(names)} | {
        "empty": Verdict.OK
    }
    told = overview(profile, a_finding(Subject("main", "visits_{day}"))).rows
    assert {r.verdict for r in told} == {Verdict.WARNING, Verdict.OK}


def test_overview_when_very_long_says_how_many_are_left_out() -> None:
    many = overview(a_profile(*(a_measurement(f"m{n}") for n in range(tables.MOST_ROWS + 7))))
    assert (len(many.rows), many.left_out) == (tables.MOST_ROWS, 7)
    assert many.verdicts == {Verdict.OK: tables.MOST_ROWS + 7}


def test_settings_are_made_only_for_the_tables_that_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(tables, "override", lambda m: asked.append(m.name) or m.name)
    many = a_profile(*(a_measurement(f"m{n:03}", rows=a_count(n)) for n in range(110)), engine="duckdb")
    shown, left_out = tables.roles(many)
    assert asked == [setting for _, setting in shown] == [f"m{n:03}" for n in range(109, 9, -1)]
    assert left_out == 10
    assert tables.roles(a_profile(engine="influxdb1")) == ([], 0)


def test_row_tells_change_share_nulls_and_retention() -> None:
    policy = Retention("auto", 86_400, None, True)
    other = Retention("long", FOREVER, None, False)
    profile = a_profile(
        a_measurement("a", 12, fields=(a_field("x", null_ratio=0.1), a_field("y", null_ratio=0.4))),
        a_measurement("b", rows=a_count(3000)),
        databases=(Database("main", None, (other, policy)),),
    )
    points = {("series", Subject("main", "a")): (Point(DAY - timedelta(days=2), 10.0), Point(DAY, 99.0))}
    row = overview(profile, timeline=Timeline(points=points)).rows[0]
    assert (row.series_change, row.row_share, row.worst_null, row.retention) == (2.0, 0.25, ("y", 0.4), "1 day")


def test_share_of_an_unknown_whole_is_unknown() -> None:
    profile = a_profile(a_measurement("a"), a_measurement("b", rows=None, fields=()))
    row = overview(profile).rows[0]
    assert (row.row_share, row.series_change, row.retention) == (None, None, NOT_KNOWN)
    assert overview(profile).rows[1].worst_null is None


def test_retention_without_a_default_lists_what_there_is() -> None:
    policies = (Retention("a", 3_600, None, False), Retention("b", FOREVER, None, False))
    profile = a_profile(databases=(Database("main", None, policies),))
    assert overview(profile).rows[0].retention == "1 hour, no retention"


def test_details_are_of_measurements_with_findings_first_then_of_those_whose_tags_were_listed() -> None:
    profile = sample.the_profile()
    quiet = replace(sample.http_requests(), name="quiet")
    profile = replace(profile, measurements=(quiet, *profile.measurements))
    items = findings.items_of(sample.the_result(), profile, ())
    found = tables.details(profile, items)
    assert [d.measurement.name for d in found] == [
        *("http_requests", "cpu", "Cpu.server-5.us-west", sample.HOSTILE),
        "quiet",
    ]
    assert [c.tag for c in found[0].drop_curve] == ["request_id", "path", "status"]
    assert found[0].tags[0].key == "request_id"
    assert found[0].fields[0].key == "error"
    assert found[1].contributions == ()


def test_details_when_wide_or_many_are_cut() -> None:
    wide = a_measurement("wide", series=99, fields=tuple(a_field(f"f{n}") for n in range(250)))
    tables_ = [a_measurement(f"m{n:02}", tags=(a_tag(),)) for n in range(40)]
    profile = a_profile(wide, *tables_)
    many = (
        a_finding(Subject("main", m.name), affected_series=m.series.value) for m in profile.measurements if m.series
    )
    found = tables.details(profile, findings.items_of(a_result(a_rule_result(*many)), profile, ()))
    assert len(found) == tables.MOST_DETAILS
    assert sum(d.columns_left_out for d in found) == 250 - tables.MOST_COLUMNS


def test_heat_map_holds_the_worst_and_says_what_is_missing() -> None:
    some = [a_measurement(f"m{n:02}", fields=(a_field("x", null_ratio=n / 100),)) for n in range(1, 41)]
    unknown = replace(a_field("y"), null_ratio=None)
    heat = tables.heat_map(a_profile(*some, a_measurement("none", fields=(a_field("x"), unknown))))
    assert heat is not None
    assert (len(heat.rows), heat.left_out, heat.fields) == (tables.HEAT_ROWS, 10, ("x",))
    assert (heat.rows[0][0].name, heat.rows[0][1]) == ("m40", (0.4,))
    assert tables.heat_map(a_profile()) is None


def test_heat_map_leaves_cells_without_such_a_field_empty() -> None:
    left = a_measurement("a", fields=(a_field("x", null_ratio=1.0),))
    right = a_measurement("b", fields=(a_field("y", null_ratio=0.5),))
    heat = tables.heat_map(a_profile(left, right))
    assert heat is not None
    assert [ratios for _, ratios in heat.rows] == [(1.0, None), (None, 0.5)]


def test_bytes_that_are_written_a_day() -> None:
    columns = {"about": 135.0, "host": 9.0, "time": 8.0, "a": 4.0, "b": 2.0, "c": 1.0}
    read = RowBytes(columns, (), 1000, a_source())
    table = a_measurement(rows=a_count(864_000), row_bytes=read)
    found = findings.items_of(a_result(a_rule_result(a_finding(Subject("main", "cpu")))), a_profile(table), ())

    def daily(**changes: Any) -> str:
        (detail,) = tables.details(a_profile(replace(table, **changes)), found)
        return detail.daily

    words = "4.58 MB in 28,800 rows; most in about 3.89 MB, host 259 kB, time 230 kB, a 115 kB, and b 57.6 kB"
    assert daily() == words
    assert daily(first_time=None) == words, "within the window, by the planner"
    assert daily(row_bytes=None) == daily(last_time=None) == daily(first_time=NOW - timedelta(minutes=59)) == ""
