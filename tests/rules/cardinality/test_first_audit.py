"""CAR004 on a first audit: growth by the first rows of an even sample of the series, of known courses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from tests.builders import DAY, a_count, a_measurement, a_profile, a_source, a_tag
from tsaudit.evaluation import evaluate
from tsaudit.model.columns import Contribution, SeriesSince, TagSets
from tsaudit.model.figures import FOREVER, Subject
from tsaudit.model.finding import Finding, RuleResult, Severity
from tsaudit.model.profile import Database
from tsaudit.model.storage import Retention
from tsaudit.model.timeline import Point, Timeline
from tsaudit.policy import LimitPolicy
from tsaudit.rules.cardinality.runaway_cardinality import runaway_cardinality as rule

SAMPLE, WINDOW = 64, 30
MANY = 300_000
"""Series of which as many again, at the rates below, are too many for the limit of a million within weeks."""
Noise = np.random.Generator
Ago = Callable[[Noise], np.ndarray]
"""How many days before the audit the series of a sample had their first row of the window."""


def since(share: float, first: float, last: float, start: float = WINDOW) -> Ago:
    """So large a share came evenly from `first` to `last` days ago; the others were there at the start."""
    return lambda noise: np.where(noise.random(SAMPLE) < share, noise.uniform(last, first, SAMPLE), start)


def seldom(mean_days: float, start: float = WINDOW) -> Ago:
    """A fleet that stays as it is, and reports at random times."""

    def ago(noise: Noise) -> np.ndarray:
        first = noise.exponential(mean_days, 10 * SAMPLE)
        return start - first[first < start][:SAMPLE]

    return ago


def each(days: float, start: float = WINDOW) -> Ago:
    """A fleet that stays as it is, each of which reports once in so many days."""

    def ago(noise: Noise) -> np.ndarray:
        first = noise.uniform(0, days, 10 * SAMPLE)
        return start - first[first < start][:SAMPLE]

    return ago


HEALTHY: Mapping[str, Ago] = {
    "stays": since(0, 1, 0),
    "young": since(1, 3, 2.9),
    "rolled out on one day": since(0.6, 4.9, 4.1),
    "rolled out yesterday": since(0.6, 1, 0.5),
    "rolled out within three days": since(0.6, 3, 0),
    "rolled out within three days of last week": since(0.6, 9, 6),
    "reports once a week": each(7),
    "reports once a month": each(30),
    "young, and reports once a week": each(7, 5),
    "reports at random, every other day": seldom(2),
    "reports at random, every tenth day": seldom(10),
    "reports at random, every twentieth day": seldom(20),
    "reports at random, every other month": seldom(60),
    "young, and reports at random": seldom(20, 20),
    "a tenth was replaced within a month": since(0.1, 30, 0),
    "came evenly, for as long as the rows go back": since(0.5, 30, 0),
}


def audited(ago: np.ndarray, series: int = MANY, **about: Any) -> Finding | None:
    """What the rule finds of so many series; see `evaluated`."""
    return next(iter(evaluated(ago, series, **about).findings), None)


def evaluated(
    ago: np.ndarray, series: int, kept_days: int | None = None, earlier: tuple[Point, ...] = ()
) -> RuleResult:
    """`kept_days`: None for ever. `earlier`: what audits have counted before."""
    days = Counter(int(min(one, WINDOW)) for one in ago)
    first_rows = tuple(SeriesSince(DAY - timedelta(days=day), days[day]) for day in sorted(days, reverse=True))
    left = (Contribution("flow", (), series // 100),)
    sets = TagSets(series, 9 * series, 9 * series, (), ("flow",), left, left, a_source())
    measurement = a_measurement(
        "t", series, tags=(a_tag("flow", series), a_tag("host", 9)), first_rows=first_rows, tag_sets=sets
    )
    policy = Retention("p", FOREVER if kept_days is None else kept_days * 86_400, 86_400, default=True)
    profile = a_profile(
        measurement, engine="influxdb1", databases=(Database("main", a_count(series), retention=(policy,)),)
    )
    limits = LimitPolicy(target={"high-series-cardinality.max_series": 1_000_000})
    timeline = Timeline(points={("series", at): earlier for at in (Subject("main"), Subject("main", "t"))})
    (result,) = evaluate(profile, timeline, limits, [rule]).results
    return result


@pytest.mark.parametrize("kept_days", [None, 180])
@pytest.mark.parametrize("course", HEALTHY)
def test_what_does_not_grow_is_not_accused(course: str, kept_days: int | None) -> None:
    for seed in range(12):
        found = audited(HEALTHY[course](np.random.default_rng(seed)), kept_days=kept_days)
        assert found is None, found.message


def test_growth_toward_the_limit_is_a_warning() -> None:
    """Nine tenths came within the last six days: 45,000 a day, so that 700,000 more take about 16."""
    for seed in range(8):
        found = audited(since(0.9, 6, 0, start=16)(np.random.default_rng(seed)))
        assert found is not None
        assert found.severity is not Severity.NOTE
        assert found.since is not None
        assert abs((DAY - found.since).days - 5) <= 1
        assert found.forecast is not None
        assert found.forecast.days is not None
        assert 10 < found.forecast.days < 26
        assert "from about " in found.message
        assert any("even sample of 64 series" in one.value for one in found.evidence)


def test_growth_far_from_the_limit_is_information() -> None:
    found = audited(since(0.9, 6, 0, start=16)(np.random.default_rng(1)), 5_000)
    assert found is not None
    assert found.main_contributor == "flow"
    assert found.forecast is not None
    assert found.forecast.days is None


def test_series_that_expire_are_no_growth() -> None:
    """As many come as expire after 20 days: those that are left began within that time."""
    ago = since(0.6, 15, 0, start=20)(np.random.default_rng(1))
    assert audited(ago) is not None
    assert audited(ago, kept_days=20) is None


def test_audits_that_counted_continue_what_the_rows_show() -> None:
    ago = since(0.9, 6, 0, start=16)(np.random.default_rng(1))
    counted = tuple(Point(DAY - timedelta(days=n), MANY - n * 45_000) for n in (2, 1))
    found = audited(ago, earlier=counted)
    assert found is not None
    assert found.forecast is not None
    assert found.forecast.days is not None
    # Audits over weeks have counted that nothing grows: the rows are not asked.
    level = tuple(Point(DAY - timedelta(days=n), MANY) for n in range(40, 0, -1))
    assert audited(ago, earlier=level) is None


def test_what_a_first_audit_cannot_tell_is_said() -> None:
    """Rows of two days show no level before, and an audit before this one counts."""
    noise = np.random.default_rng(1)
    said = "whether the series of main grow, which the next audits show"
    assert evaluated(since(0.9, 2, 0, start=2.5)(noise), MANY).not_evaluated == said
    assert evaluated(np.zeros(0), MANY).not_evaluated == said
    assert evaluated(np.zeros(0), 900).not_evaluated == ""
    assert evaluated(since(0, 1, 0)(noise), MANY).not_evaluated == ""
    assert evaluated(np.zeros(0), MANY, earlier=(Point(DAY - timedelta(days=1), MANY),)).not_evaluated == ""


def test_a_steep_rise_is_said_to_go_on_before_there_is_a_trend() -> None:
    """Five audits in a row found a thousand more: that is a rate. A single jump is none."""
    days = [DAY - timedelta(days=n) for n in range(5, 0, -1)]
    rising = tuple(Point(day, 240.0 + 1_000 * n) for n, day in enumerate(days))
    found = audited(np.zeros(0), 5_240, earlier=rising)
    assert found is not None
    assert found.per_day == 1_000
    assert "at least 1,000 a day" in found.message
    for last in (240.0, 5_140.0):
        level = tuple(Point(day, 240.0) for day in days[:-1])
        jumped = audited(np.zeros(0), 5_240, earlier=(*level, Point(days[-1], last)))
        assert jumped is not None
        assert jumped.per_day is None


@pytest.mark.parametrize("quiet", [1, 3, 30])
@pytest.mark.parametrize("leak", [3, 4, 5])
@pytest.mark.parametrize("flat", [0, 1, 2, 3])
def test_a_leak_that_was_fixed_is_a_note_without_a_rate_from_the_next_audit(leak: int, flat: int, quiet: int) -> None:
    """45,000 a day, toward a limit of a million."""
    ago = since(0.95, leak + flat, flat)(np.random.default_rng(1))
    counts = [100] * quiet + [100 + 45_000 * min(day, leak) for day in range(1, leak + flat + 1)]
    earlier = tuple(Point(DAY - timedelta(days=len(counts) - day - 1), one) for day, one in enumerate(counts[:-1]))
    found = audited(ago, counts[-1], earlier=earlier)
    if not flat:
        assert found is not None
        assert found.severity is not Severity.NOTE
    elif found is not None:
        assert found.severity is Severity.NOTE
        assert found.per_day is None
        assert found.forecast is None or found.forecast.days is None
        assert "a day" not in found.message
