"""What a table grows by: rows that are deleted again are no growth."""

from __future__ import annotations

import dataclasses
from datetime import timedelta

import pytest

from tests.builders import DAY, NOW, a_count, a_field, a_measurement, a_profile
from tsaudit import costs
from tsaudit.model.figures import Subject, TableKind, Window
from tsaudit.model.profile import Measurement, Profile
from tsaudit.model.server import TableStatus
from tsaudit.model.storage import Index, Storage
from tsaudit.model.timeline import Point, Timeline
from tsaudit.policy import LimitPolicy
from tsaudit.rule import Case
from tsaudit.rules.storage.unused_or_redundant_index import unused_or_redundant_index as rule

DAYS = 10


def _queue(engine: str = "postgresql", **changes: float) -> Profile:
    """1,000 rows of the last 10 days."""
    status = TableStatus(counters=changes) if changes else None
    first = NOW - timedelta(days=DAYS)
    return a_profile(a_measurement("jobs", rows=a_count(1_000), first_time=first, status=status), engine=engine)


def _growth(profile: Profile, previous: Profile | None = None) -> float:
    case = Case(rule, profile, Timeline(previous=previous), LimitPolicy())
    return costs.rows_growth(case, profile.measurements[0])


@pytest.mark.parametrize(
    ("deleted", "kept"), [(None, 1.0), (0.0, 1.0), (250.0, 0.75), (499.0, 0.501), (500.0, 0.0), (990.0, 0.0)]
)
def test_rows_that_the_server_counts_as_deleted(deleted: float | None, kept: float) -> None:
    counted = {} if deleted is None else {"rows_deleted": deleted}
    profile = _queue(rows_inserted=1_000.0, **counted)
    assert _growth(profile) == pytest.approx(kept / DAYS)
    # IDs are gone, whatever becomes of their rows.
    assert costs.rows_a_day(Case(rule, profile, Timeline(), LimitPolicy()), profile.measurements[0]) == 100


@pytest.mark.parametrize(("moved", "kept"), [(0.0, 1.0), (1.0, 0.5), (2.0, 0.0), (3.0, 0.0), (-1.0, 1.0)])
def test_oldest_row_that_has_moved_since_the_previous_audit(moved: float, kept: float) -> None:
    profile = _queue("sqlite")
    (now,) = profile.measurements
    assert now.first_time is not None
    then = dataclasses.replace(now, first_time=now.first_time - timedelta(days=moved))
    assert _growth(profile, _two_days_before(profile, then)) == pytest.approx(kept / DAYS)


def test_oldest_row_of_a_window_that_does_not_show_all_rows() -> None:
    profile = _queue("sqlite")
    (now,) = profile.measurements
    start = profile.window.start
    cut = dataclasses.replace(now, first_time=start)
    profile = dataclasses.replace(profile, measurements=(cut,))
    before = _two_days_before(profile, dataclasses.replace(cut, first_time=start - timedelta(days=2)))
    assert _growth(profile, before) == pytest.approx(1 / 30)


def _two_days_before(profile: Profile, then: Measurement) -> Profile:
    ago = timedelta(days=2)
    window = Window(profile.window.start - ago, profile.window.end - ago)
    return dataclasses.replace(profile, measurements=(then,), window=window, day=profile.day - ago)


@pytest.mark.parametrize(
    ("engine", "known_since", "after_a_year"),
    [("duckdb", None, 2e6), ("mongodb", 6, 2e6), ("sqlite", 7, 37.5e6), ("postgresql", None, 37.5e6)],
)
def test_rate_that_nobody_counted_is_not_looked_further_ahead_than_back(
    engine: str, known_since: int | None, after_a_year: float
) -> None:
    """1 MB in ten days: PostgreSQL counts the rows that come and go; elsewhere, a week of history shows it."""
    profile = _queue(engine)
    points = () if known_since is None else (Point(profile.day - timedelta(days=known_since), 900.0),)
    case = Case(rule, profile, Timeline(points={("rows", Subject("main", "jobs")): points}), LimitPolicy())
    impact = costs.of_bytes(case, profile.measurements[0], 1e6, how="")
    assert impact.after(365) == pytest.approx(after_a_year)


def _expiring(column: str, expires_s: int, *, last: float, days: float, kind: str = "date", **changes: bool) -> Case:
    """Messages of the last days. `last`: in how many days the last of them expires, if they say so themselves."""
    times = tuple(f"{NOW + timedelta(days=n * last / 4):%FT%T}" for n in range(5))
    index = Index("ttl", "btree", (column,), **{"unique": False, "constraint": False, "partial": False} | changes)
    field = a_field("until", types=(kind,), sample=times, null_ratio=0.0)
    messages = a_measurement(
        "messages",
        fields=(field,),
        indexes=(dataclasses.replace(index, expires_s=expires_s),),
        rows=a_count(10_000),
        first_time=NOW - timedelta(days=days),
        storage=Storage(10_000_000, 0),
    )
    known = Timeline(points={("rows", Subject("main", "messages")): (Point(DAY - timedelta(days=7), 900.0),)})
    return Case(rule, a_profile(messages, engine="mongodb"), known, LimitPolicy())


@pytest.mark.parametrize(
    ("case", "in_a_year"),
    [
        # By their own time, after 20 days: of 10 days, half is there.
        (_expiring("time", 20 * 86_400, last=0, days=10), 2e6),
        (_expiring("time", 20 * 86_400, last=0, days=19), 1e6),
        # They say when: the last ones in 30 days.
        (_expiring("until", 0, last=30, days=10), 3e6),
        (_expiring("until", 0, last=30, days=29), 1e6),
        (_expiring("until", 10 * 86_400, last=30, days=10), 4e6),
        # These remove nothing, or not all.
        (_expiring("until", 0, last=30, days=10, kind="long"), 37.5e6),
        (_expiring("until", 0, last=30, days=10, partial=True), 37.5e6),
        (_expiring("until", 0, last=-1, days=10), 37.5e6),
        (_expiring("other", 0, last=30, days=10), 37.5e6),
    ],
)
def test_documents_that_expire_are_no_growth_once_as_many_go_as_come(case: Case, in_a_year: float) -> None:
    (measurement,) = case.profile.measurements
    impact = costs.of_bytes(case, measurement, 1e6, how="")
    assert impact.after(365) == pytest.approx(in_a_year)
    growth = costs.rows_growth(case, measurement)
    assert growth == (0.0 if in_a_year == 1e6 else 0.1)


@pytest.mark.parametrize(
    ("kind", "column", "days", "growth"),
    [
        (TableKind.ENTITY, "created_at", DAYS, 1 / DAYS),
        (TableKind.ENTITY, "updated_at", DAYS, None),
        (TableKind.REFERENCE, "last_seen", DAYS, None),
        (TableKind.ENTITY, "schedule_requested", 0.06, None),
        (TableKind.ENTITY, "created_at", 0.06, 1 / 0.06),
        (TableKind.EVENTS, "updated_at", DAYS, 1 / DAYS),
        (TableKind.EVENTS, "requested", 0.06, 1 / 0.06),
    ],
)
def test_times_of_changes_are_no_rate(kind: TableKind, column: str, days: float, growth: float | None) -> None:
    """360 jobs, each checked within the last hour and a half, are not 360 new ones."""
    first = NOW - timedelta(days=days)
    table = a_measurement("jobs", rows=a_count(360), first_time=first, kind=kind, time_column=column)
    case = Case(rule, a_profile(table, engine="postgresql"), Timeline(), LimitPolicy())
    assert costs.rows_growth(case, table) == (None if growth is None else pytest.approx(growth))


@pytest.mark.parametrize("engine", ["postgresql", "mongodb"])
def test_no_more_is_avoidable_than_is_stored(engine: str) -> None:
    """Neither now nor at the horizon, whatever a price or a mean width says."""
    table = a_measurement("jobs", first_time=NOW - timedelta(days=DAYS), storage=Storage(3_000, 1_000))
    case = Case(rule, a_profile(table, engine=engine), Timeline(), LimitPolicy())
    impact = costs.of_bytes(case, table, 9_000, how="")
    assert (impact.now, impact.whole) == (4_000, 4_000)
    growth = costs.rows_growth(case, table)
    assert growth is not None
    assert impact.after(365) <= 4_000 * (1 + growth * 365)
