"""How many values a tag is said to gain a day, and when its series reach a limit, against what is known to come."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final

import pytest

from tests.builders import DAY, NOW, PASSING, a_count, a_measurement, a_profile, a_source, a_tag, a_turnover
from tests.builders import values_over_time as listed
from tests.rules.cases import run_rule
from tests.rules.tags.test_unbounded_tag import UUIDS
from tsaudit import costs
from tsaudit.model.columns import Contribution, TagSets
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Currency, Impact
from tsaudit.model.profile import Database, Measurement, Profile
from tsaudit.model.server import ServerStatus
from tsaudit.model.storage import Retention
from tsaudit.model.timeline import Point, Timeline
from tsaudit.policy import LimitPolicy
from tsaudit.rule import Case
from tsaudit.rules.tags.unbounded_tag import unbounded_tag as rule

Course = Callable[[int], float]
"""New values in each hour: hours since the first audit, in which the first one ends at 0; 24 hours are a day."""


def _after(hours: int, course: Course) -> Course:
    return lambda hour: course(hour) if hour >= hours else 0.0


def _even(hour: int) -> float:
    return 1_000 / 24


def _by_day(hour: int) -> float:
    """Half of the hours of a day: nobody is there at night."""
    return 1_000 / 12 if 10 <= hour % 24 < 22 else 0.0


def _weekdays(monday: int) -> Course:
    return lambda hour: (1_000 if (hour // 24 + monday) % 7 < 5 else 500) / 24


def _faster(hour: int) -> float:
    return (100 if hour < 0 else 1_000) / 24


def _slower(hour: int) -> float:
    return (1_000 if hour < 0 else 100) / 24


def _measured(course: Course, audits: int, name: str = "wifi") -> Measurement:
    """A measurement at the last of so many daily audits. Its rows are those of all values, and each has one series."""
    hours = range(-19 * 24, (audits - 1) * 24)
    came = {hour: course(hour) for hour in hours}
    first = next(hour for hour in hours if came[hour])
    last = max(hour for hour in hours if came[hour])
    of_day = [round(sum(came[24 * day + hour] for hour in range(24))) for day in range(audits - 1)]
    values = round(sum(came.values()))
    known = listed(
        "unknown",
        audits,
        new_values=of_day[-1] if of_day else None,
        new_per_day=sum(of_day) / len(of_day) if of_day else None,
    )
    return a_measurement(
        name,
        values,
        tags=(a_tag("client", values, UUIDS[:64], turnover=PASSING, over_time=known),),
        first_time=NOW - timedelta(hours=hours.stop - first),
        last_time=NOW - timedelta(hours=hours.stop - last),
        rows=a_count(10 * values),
    )


def _timeline(*measurements: Measurement, whole: list[int] | None = None) -> Timeline:
    """With an audit of the day before, and so many series of the database on the days up to it."""
    before = a_profile(*measurements, day=DAY - timedelta(days=1))
    points = [Point(DAY - timedelta(days=ago), float(n)) for ago, n in enumerate(reversed(whole or ()), 1)]
    return Timeline(previous=before, points={("series", Subject("main")): tuple(reversed(points))})


def _a_day(now: Measurement) -> float | None:
    """Values that come a day, as said of the last audit."""
    case = Case(rule, a_profile(now, engine="influxdb1"), _timeline(now), LimitPolicy())
    growth = costs.growth_of(case, now, now.tags)
    (tag,) = now.tags
    assert tag.values
    return None if growth is None else growth * tag.values.value


STEADY: Final[dict[str, tuple[Course, float]]] = {
    "even": (_even, 1_000),
    "by day": (_by_day, 1_000),
    **{f"weekdays, {monday} days after Monday": (_weekdays(monday), 6_000 / 7) for monday in range(7)},
}


@pytest.mark.parametrize("history", STEADY)
@pytest.mark.parametrize("audits", range(1, 7))
def test_rate_is_that_of_weeks_if_the_rows_are_of_weeks(history: str, audits: int) -> None:
    course, true = STEADY[history]
    assert _a_day(_measured(course, audits)) == pytest.approx(true, rel=0.15)


@pytest.mark.parametrize("begun", [-23, -14, -12])
@pytest.mark.parametrize("course", [_even, _by_day])
@pytest.mark.parametrize("audits", range(1, 7))
def test_values_that_began_within_the_first_day(course: Course, begun: int, audits: int) -> None:
    """On the first day, as if the hours since then were like all others; on later days, as counted."""
    now = _measured(_after(begun, course), audits)
    counted = sum(course(hour) for hour in range(begun, 0))
    first = next(hour for hour in range(begun, 0) if course(hour))
    expected = 24 / -first * counted if audits == 1 else 1_000
    assert _a_day(now) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize(("course", "true"), [(_faster, 1_000), (_slower, 100)])
@pytest.mark.parametrize("audits", range(2, 7))
def test_rate_that_has_changed_is_the_new_one(course: Course, true: float, audits: int) -> None:
    assert _a_day(_measured(course, audits)) == pytest.approx(true, rel=0.02)


def _profile(*measurements: Measurement, limit: float = 100_000, kept: int | None = None) -> Profile:
    retention = (Retention("p", kept * 86_400, None, default=True),) if kept else None
    whole = a_count(sum(m.series.value for m in measurements if m.series))
    return a_profile(
        *measurements,
        engine="influxdb1",
        databases=(Database("main", series=whole, retention=retention),),
        server=ServerStatus({"max_series_per_database": limit, "index_in_memory": 1.0}),
    )


def _impacts(profile: Profile, timeline: Timeline) -> dict[str, Impact]:
    found = run_rule(rule, profile, timeline=timeline).findings
    return {one.subject.measurement: one.impact for one in found if one.impact}


@pytest.mark.parametrize("audits", range(2, 7))
def test_level_is_what_comes_in_the_time_that_rows_are_kept(audits: int) -> None:
    """19 days of rows, a policy of 30 days, and a busy Thursday after the first audit."""
    usual = _weekdays(3)
    now = _measured(lambda hour: usual(hour) * (1.5 if hour // 24 == 0 else 1), audits)
    impact = _impacts(_profile(now, kept=30), _timeline(now))["wifi"]
    assert impact.currency is Currency.SERIES
    assert impact.levels_off(365)
    assert impact.after(365) == pytest.approx(30 * 6_000 / 7, rel=0.15)


@pytest.mark.parametrize("audits", range(1, 7))
def test_limit_is_reached_by_what_all_measurements_add_and_each_at_its_own_rate(audits: int) -> None:
    """A tag of long standing adds few series in one measurement, and many in another one since half a day."""
    old = _measured(lambda hour: _even(hour) / 10, audits, "old")
    new = _measured(_after(-14, _even), audits, "new")
    impacts = _impacts(_profile(old, new, limit=20_000), _timeline(old, new))
    assert impacts["old"].currency is Currency.SERIES
    whole = sum(m.series.value for m in (old, new) if m.series)
    assert impacts["new"].days_left == pytest.approx((20_000 - whole) / 1_100, rel=0.05)


def test_no_more_series_come_than_were_counted() -> None:
    """Values of the first days have 10 series each, and new ones a single one: 100 a day and not 1,000."""
    known = listed("unknown", 3, new_values=100, new_per_day=100.0)
    tag = a_tag("client", 1_000, UUIDS[:64], turnover=PASSING, over_time=known)
    sets = TagSets(10_000, 10_000, 10_000, (), ("client",), (Contribution("client", (), 10),), (), a_source())
    now = a_measurement("wifi", 10_000, tags=(tag,), tag_sets=sets, first_time=NOW - timedelta(days=3))
    counted = _timeline(now, whole=[9_800, 9_900])
    impact = _impacts(_profile(now, limit=12_000), counted)["wifi"]
    assert impact.days_left == pytest.approx(20)


def test_values_with_several_series_each_come_as_fast_as_their_rows() -> None:
    """1,200 traces a day, each with spans of three services, whose IDs are a part of the key, too."""
    seen = a_turnover(2_000, 0, 2_000, by=("service",), sources=3, hours=40.0)
    tags = (a_tag("service"), a_tag("span", 42_000, UUIDS), a_tag("trace", 8_400, UUIDS[:64], turnover=seen))
    parts = (Contribution("trace", ("span",), 3), Contribution("service", ("span",), 8_400))
    sets = TagSets(42_000, 42_000, 42_000, (), ("span",), (*parts, Contribution("span", (), 25_200)), (), a_source())
    now = a_measurement("spans", 42_000, tags=tags, tag_sets=sets, first_time=NOW - timedelta(days=7))
    case = Case(rule, a_profile(now, engine="greptimedb"), Timeline(), LimitPolicy())
    assert costs.growth_of(case, now, tags[-1:]) == pytest.approx(1_200 / 8_400, rel=0.05)
