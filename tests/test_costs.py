"""What a table grows by: rows that are deleted again are no growth."""

from __future__ import annotations

import dataclasses
from datetime import timedelta

import pytest

from tests.builders import NOW, a_count, a_measurement, a_profile
from tsaudit import costs
from tsaudit.model.profile import Measurement, Profile, TableStatus, Window
from tsaudit.model.subject import Subject
from tsaudit.model.timeline import Point, Timeline
from tsaudit.rule import Case, LimitPolicy
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
