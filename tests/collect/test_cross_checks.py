"""Figures that ought to agree: how far each pair may differ, and what becomes of those that differ by more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.builders import NOW, a_count, a_measurement, a_profile, a_source, a_tag
from tsaudit.collect.cross_checks import PAIRS, cross_checked, disagreements, inexact
from tsaudit.collect.query_runner import in_order
from tsaudit.evaluation import evaluate
from tsaudit.model.figures import Count, Gap, How, Reason, Selection, Source
from tsaudit.model.finding import Outcome
from tsaudit.model.profile import Database, Measurement, Profile
from tsaudit.model.rows import Documents, RowPatterns
from tsaudit.rules import all_rules

WINDOW = "rows from 2026-03-01 06:00 to 2026-03-31 06:00 UTC"
READ = "all rows from 2026-03-01 06:00 to 2026-03-31 06:00 UTC"
INFLUX_FACTS = ("measurements", "series_listing", "database_series", "field_types", "tag_keys", "row_sample")


def _count(value: int, query: str, scope: str = "", how: How = How.EXACT, error: float | None = None) -> Count:
    return Count(value, Source(query, how, NOW, scope), error)


# --- Series: listed by measurement, counted by the database ---------------------------------------------------------


def _influx(listed: dict[str, int], counted: int, engine: str = "influxdb1", **changes: Any) -> Profile:
    measurements = [
        replace(a_measurement(name, rows=None), series=_count(n, f"{engine}/series_listing.influxql"))
        for name, n in listed.items()
    ]
    measurements = [m if m.series and m.series.value else replace(m, fields=()) for m in measurements]
    database = Database("main", series=_count(counted, f"{engine}/database_series.influxql"))
    settings = {"facts": INFLUX_FACTS, "databases": (database,)} | changes
    return a_profile(*measurements, engine=engine, **settings)


@pytest.mark.parametrize("engine", ["influxdb1", "influxdb2"])
def test_series_that_no_listing_shows(engine: str) -> None:
    """A policy that the listings do not reach: 5 series listed, 3,005 in the database."""
    profile = cross_checked(_influx({"req": 5}, 3_005, engine))
    assert [(g.fact, g.reason, g.database, g.measurement) for g in profile.gaps] == [
        ("database_series", Reason.INCONSISTENT, "main", None),
        ("series_listing", Reason.INCONSISTENT, "main", None),
    ]
    (detail,) = {g.detail for g in profile.gaps}
    assert "\n" not in detail
    for words in (
        "5 series listed",
        f"{engine}/series_listing.influxql",
        "3,005 series",
        f"{engine}/database_series.influxql",
    ):
        assert words in detail
    (req,) = profile.measurements
    assert req.series is not None
    assert (req.series.value, req.series.source.how) == (5, How.ESTIMATE)
    assert profile.databases[0].series is not None
    assert profile.databases[0].series.source.how is How.ESTIMATE
    # Nor does what was worked out of them claim to be exact.
    assert req.tags[0].values is not None
    assert "contradicted by 3,005" in req.series.source.words


def test_rules_judge_nothing_on_inconsistent_figures() -> None:
    healthy = _influx({"req": 5}, 5)
    rules = [rule for rule in all_rules() if {"series_listing", "tag_values"} & (rule.requires | rule.uses)]
    before = {r.code: r.outcome for r in evaluate(healthy, rules=rules).results}
    after = {r.code: r.outcome for r in evaluate(cross_checked(_influx({"req": 5}, 3_005)), rules=rules).results}
    passed = [code for code, outcome in before.items() if outcome is Outcome.PASS]
    assert "CAR001" in passed
    assert {after[code] for code in passed} == {Outcome.OPEN}


@pytest.mark.parametrize(
    ("listed", "counted", "agrees"),
    [
        ({"a": 0}, 0, True),
        ({"a": 40, "b": 60}, 100, True),
        ({"a": 40, "b": 58}, 100, True),  # two may have come in between
        ({"a": 40, "b": 57}, 100, False),
        ({"a": 40, "b": 63}, 100, False),
        ({"a": 99_000}, 100_000, True),
        ({"a": 98_900}, 100_000, False),
        ({"a": 0}, 1, False),  # none against some is never a matter of timing
        ({"a": 1}, 0, False),
    ],
)
def test_series_of_a_database(listed: dict[str, int], counted: int, agrees: bool) -> None:
    assert (list(disagreements(_influx(listed, counted))) == []) == agrees


@pytest.mark.parametrize(
    "changes",
    [
        {"selection": Selection(include=("a*",))},
        {"selection": Selection(exclude=("b*",))},
        {"gaps": (Gap("measurements", Reason.OVER_BUDGET, "3 of 4 measurements were skipped", "main"),)},
    ],
)
def test_a_part_of_the_measurements_has_no_more_series_than_all(changes: dict[str, Any]) -> None:
    assert list(disagreements(_influx({"a": 5}, 3_000, **changes))) == []
    assert list(disagreements(_influx({"a": 3_100}, 3_000, **changes)))


def test_a_measurement_whose_listing_failed_leaves_the_sum_a_part() -> None:
    profile = _influx({"a": 5, "b": 9}, 3_000)
    a, b = profile.measurements
    assert list(disagreements(replace(profile, measurements=(a, replace(b, series=None))))) == []


def test_estimated_series_may_be_off_by_their_error() -> None:
    profile = _influx({"a": 1}, 1_000_000)
    (a,) = profile.measurements
    for value, agrees in ((970_000, True), (900_000, False)):
        series = _count(value, "influxdb1/series_listing.influxql", how=How.ESTIMATE, error=10_000)
        found = list(disagreements(replace(profile, measurements=(replace(a, series=series),))))
        assert (found == []) == agrees


@pytest.mark.parametrize(
    ("default", "raw", "counted", "agrees"),
    [
        ({"cpu": 5}, {"cpu": 3_000}, 3_005, True),
        ({"cpu": 5}, {"cpu": 3_000}, 3_000, True),  # the five are in both
        ({"cpu": 5, "mem": 4}, {"cpu": 3_000}, 3_004, True),
        ({"cpu": 5, "mem": 400}, {"cpu": 3_000}, 3_000, False),
        ({"cpu": 5}, {"cpu": 3_000}, 6_000, False),  # a third policy that nobody listed
        ({"cpu": 5}, {"cpu": 3_000}, 2_000, False),
    ],
)
def test_series_that_several_policies_share(
    default: dict[str, int], raw: dict[str, int], counted: int, agrees: bool
) -> None:
    one, other = _influx(default, counted), _influx(raw, counted)
    policy = Database("main/raw", policy_of="main", series=_count(3_000, "influxdb1/series_listing.influxql"))
    beside = tuple(replace(m, database="main/raw") for m in other.measurements)
    profile = replace(one, databases=(*one.databases, policy), measurements=(*one.measurements, *beside))
    changed = cross_checked(profile)
    assert {(g.fact, g.database) for g in changed.gaps} == (
        set()
        if agrees
        else {(fact, name) for fact in ("series_listing", "database_series") for name in ("main", "main/raw")}
    )
    hows = {m.series.source.how for m in changed.measurements if m.series}
    assert hows == {How.EXACT if agrees else How.ESTIMATE}


# --- Rows: read, counted, counted by the engine ---------------------------------------------------------------------


def _patterns(rows: int, how: How = How.EXACT, scope: str = READ) -> RowPatterns:
    return RowPatterns((), rows, 0, 0, Source("duckdb/row_sample.sql", how, NOW, scope))


def _table(**changes: Any) -> Measurement:
    about = {
        "series": _count(3, "duckdb/series_listing.sql", WINDOW),
        "rows": _count(1000, "duckdb/null_counts.sql", WINDOW),
        "row_patterns": _patterns(1000),
        "statements": {"row_sample": "SELECT 1", "null_counts": "SELECT 2"},
    }
    return replace(a_measurement(), **about | changes)


@pytest.mark.parametrize(
    ("read", "agrees"),
    [
        (_patterns(1000), True),
        (_patterns(990), True),
        (_patterns(1011), False),
        (_patterns(500), False),
        (None, False),
        (_patterns(500, How.SAMPLED), True),
        (_patterns(1500, How.SAMPLED), False),
        (_patterns(500, scope="all rows from 2026-03-20 06:00 to 2026-03-31 06:00 UTC"), True),
    ],
)
def test_rows_read_and_counted(read: RowPatterns | None, agrees: bool) -> None:
    profile = cross_checked(a_profile(_table(row_patterns=read)))
    assert {g.fact for g in profile.gaps} == (set() if agrees else {"row_sample", "null_counts"})
    assert {(g.database, g.measurement) for g in profile.gaps} == (set() if agrees else {("main", "cpu")})
    (cpu,) = profile.measurements
    assert cpu.rows is not None
    assert (cpu.rows.source.how is How.EXACT) == agrees


def test_rows_that_could_not_be_read_contradict_nothing() -> None:
    gap = Gap("row_sample", Reason.TIMED_OUT, "cancelled", "main", "cpu")
    assert list(disagreements(a_profile(_table(row_patterns=None), gaps=(gap,)))) == []


@pytest.mark.parametrize(
    ("series", "rows", "agrees"), [(3, 1000, True), (1000, 1000, True), (1200, 1000, False), (0, 1000, False)]
)
def test_series_and_rows(series: int, rows: int, agrees: bool) -> None:
    table = _table(
        series=_count(series, "duckdb/series_listing.sql", WINDOW),
        rows=_count(rows, "duckdb/null_counts.sql", WINDOW),
        row_patterns=_patterns(rows),
    )
    gaps = cross_checked(a_profile(table)).gaps
    assert {g.fact for g in gaps} == (set() if agrees else {"series_listing", "null_counts"})


def test_a_table_without_tags_is_one_series_however_few_its_rows() -> None:
    rows = _count(0, "duckdb/null_counts.sql", WINDOW)
    table = _table(tags=(), series=_count(1, "duckdb/series_listing.sql", "has no tags"), rows=rows, row_patterns=None)
    assert list(disagreements(a_profile(table))) == []


@pytest.mark.parametrize(
    ("engine", "total", "agrees"),
    [
        ("duckdb", 1000, True),
        ("duckdb", 400_000, True),  # rows older than the window, or deleted
        ("duckdb", 980, False),
        ("duckdb", 0, False),
        ("greptimedb", 960, True),  # some seconds behind
        ("greptimedb", 900, False),
        ("postgresql", 10, True),  # statistics of the last ANALYZE
        ("postgresql", 0, True),
    ],
)
def test_rows_and_all_rows(engine: str, total: int, agrees: bool) -> None:
    estimate = _count(total, f"{engine}/row_estimate.sql", how=How.ESTIMATE)
    gaps = cross_checked(a_profile(_table(rows_total=estimate), engine=engine)).gaps
    assert {g.fact for g in gaps} == (set() if agrees else {"null_counts", "row_estimate"})


@pytest.mark.parametrize(
    ("read", "counted", "agrees"), [(20, 20, True), (20, 25, True), (20, 5_000, False), (1000, 9**9, True)]
)
def test_documents_read_and_counted(read: int, counted: int, agrees: bool) -> None:
    documents = Documents(read, 100.0, 200, a_source(How.SAMPLED, query="mongodb/documents.json"))
    total = _count(counted, "mongodb/row_estimate.json", how=How.ESTIMATE)
    one = replace(a_measurement(), series=None, documents=documents, rows=total, rows_total=total)
    gaps = cross_checked(a_profile(one, engine="mongodb")).gaps
    assert {g.fact for g in gaps} == (set() if agrees else {"documents", "row_estimate"})


# --- Listed -----------------------------------------------------------------------------------------------------------


def test_series_without_a_field() -> None:
    profile = _influx({"a": 5}, 5)
    (a,) = profile.measurements
    gaps = cross_checked(replace(profile, measurements=(replace(a, fields=()),))).gaps
    assert {g.fact for g in gaps} == {"field_types", "series_listing"}
    # What is refused contradicts nothing.
    refused = Gap("field_types", Reason.DENIED, "no", "main")
    assert cross_checked(replace(profile, measurements=(replace(a, fields=()),), gaps=(refused,))).gaps == (refused,)


def test_fields_without_a_series() -> None:
    """As on a server that is emptied after its fields were listed: nothing of it is known any more."""
    profile = _influx({"a": 0}, 0)
    listed = replace(profile.measurements[0], fields=a_measurement().fields)
    checked = cross_checked(replace(profile, measurements=(listed,)))
    assert {g.fact for g in checked.gaps} == {"field_types", "series_listing"}
    assert "cannot go with 0 series" in checked.gaps[0].detail
    (a,) = checked.measurements
    assert a.series is not None
    assert a.series.source.how is How.ESTIMATE


# --- The mechanism --------------------------------------------------------------------------------------------------


def test_a_healthy_profile_is_left_as_it_is() -> None:
    for profile in (a_profile(), a_profile(_table()), _influx({"a": 5}, 5), a_profile(engine="mongodb")):
        assert cross_checked(profile) is profile


def test_documents_have_a_line_for_each_pair() -> None:
    docs = Path("docs/engines.md").read_text().partition("## Figures that contradict")[2].partition("\n## ")[0]
    assert docs.count("\n| ") == len(PAIRS) + 1, "a line for each pair below the table's head"


def test_only_the_figures_of_the_query_lose_their_exactness() -> None:
    one = a_measurement(tags=(a_tag("host"), a_tag("region", values=2)), rows=_count(7, "duckdb/null_counts.sql"))
    changed = inexact(one, "duckdb/test.sql", "3 rows")
    assert changed.rows == one.rows
    assert {tag.values.source.how for tag in changed.tags if tag.values} == {How.ESTIMATE}
    assert changed.series is not None
    assert changed.series.source.contradicted_by == "3 rows"
    assert inexact(one, "duckdb/other.sql", "3 rows") is one


def test_other_databases_are_left_alone() -> None:
    profile = _influx({"req": 5}, 3_005)
    other = a_measurement("x", database="other", series=2)
    both = replace(
        profile,
        measurements=(*profile.measurements, other),
        databases=(*profile.databases, Database("other", series=a_count(2))),
    )
    changed = cross_checked(both)
    assert changed.measurements[1] == other
    assert changed.databases[1] == both.databases[1]
    assert {g.database for g in changed.gaps} == {"main"}
    assert changed.gaps == in_order(changed.gaps)
