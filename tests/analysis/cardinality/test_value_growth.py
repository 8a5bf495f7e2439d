"""Whether the values of a tag end: tags whose course is known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.analysis.values.observations import day, observed
from tsaudit.analysis.cardinality import arrivals
from tsaudit.analysis.values import value_sets
from tsaudit.analysis.values.value_sets import ValueSet


def fixed_hosts(number: int, draw: np.random.Generator) -> list[str]:
    return [f"host-{i}" for i in range(2000)]


def users(number: int, draw: np.random.Generator) -> list[str]:
    return [f"user-{i}" for i in np.unique(draw.integers(0, 5000, 10_000))]


def frequent_users(number: int, draw: np.random.Generator) -> list[str]:
    chances = np.cumsum(1 / np.arange(1, 100_001))
    return [f"user-{i}" for i in np.unique(np.searchsorted(chances, draw.random(10_000) * chances[-1]))]


def replaced(name: str, count: int, share: float) -> Callable[[int, np.random.Generator], list[str]]:
    """Each day the oldest give way to as many new ones."""
    step = round(count * share)
    return lambda number, draw: [f"{name}-{i}" for i in range(step * number, step * number + count)]


def versions(number: int, draw: np.random.Generator) -> list[str]:
    """A release every five days, four of them in use."""
    newest = (number + 2) // 5
    return [f"v{i}" for i in range(newest, newest + 4)]


def dates(number: int, draw: np.random.Generator) -> list[str]:
    return [day(number).isoformat()]


@pytest.mark.parametrize(
    ("tag", "kind", "beta", "turnover"),
    [
        (fixed_hosts, "bounded", 0.00, 0.00),
        (users, "bounded", 0.04, 0.00),
        (replaced("host", 1000, 0.05), "churning", 0.26, 0.27),
        (versions, "churning", 0.27, 0.27),
        (replaced("pod", 500, 0.3), "churning", 0.66, 0.75),
        (frequent_users, "churning", 0.72, 0.39),
        (replaced("request", 2000, 1.0), "unbounded", 1.00, 1.00),
        (dates, "churning", 1.00, 1.00),
    ],
)
def test_tags_of_known_truth(tag, kind, beta, turnover):
    draw = np.random.default_rng(1)
    index = arrivals.value_index(observed(tag(number, draw) for number in range(28)))
    assert index.kind == kind
    assert index.beta == pytest.approx(beta, abs=0.06)
    assert index.turnover == pytest.approx(turnover, abs=0.08)
    assert index.days == 28


def test_a_sketch_knows_request_ids_from_pods(monkeypatch):
    monkeypatch.setattr(value_sets, "MAX_EXACT", 5000)
    draw = np.random.default_rng(1)
    for tag, kind in ((replaced("request", 2000, 1.0), "unbounded"), (replaced("pod", 2000, 0.3), "churning")):
        values = observed(tag(number, draw) for number in range(28))
        assert not values.exact
        assert arrivals.value_index(values).kind == kind


@pytest.mark.parametrize(("count", "kind"), [(6, "unknown"), (7, "unbounded")])
def test_an_index_needs_seven_days(count, kind):
    index = arrivals.value_index(observed([f"id-{number}-{i}" for i in range(300)] for number in range(count)))
    assert (index.kind, index.days) == (kind, count)
    assert (index.beta is None) == (kind == "unknown")


@pytest.mark.parametrize(("a_day", "kind"), [(35, "churning"), (36, "unbounded")])
def test_the_floor_is_a_thousand_values(a_day, kind):
    index = arrivals.value_index(observed([f"id-{number}-{i}" for i in range(a_day)] for number in range(28)))
    assert index.kind == kind


def test_the_floor_itself_is_no_endless_growth():
    index = arrivals.value_index(observed([f"id-{number}-{i}" for i in range(50)] for number in range(20)))
    assert index.kind == "churning"


def test_turnover_is_that_of_the_last_seven_days():
    fixed = [f"v{i}" for i in range(80)]
    eight_days_back = [[*fixed, "before"]] * 7 + [[*fixed, "old"]] + [fixed] * 7
    seven_days_back = [[*fixed, "before"]] * 8 + [[*fixed, *(f"new{i}" for i in range(20))]] + [fixed] * 6
    assert arrivals.value_index(observed(eight_days_back)).turnover == 0
    assert arrivals.value_index(observed(seven_days_back)).turnover == 20 / 100


@pytest.mark.parametrize("empty_days", [0, 1, 3])
def test_what_the_first_day_with_values_saw_is_not_new(empty_days):
    index = arrivals.value_index(observed([[]] * empty_days + [["a", "b", "c"]] * 6 + [["a", "b", "c", "d"]]))
    assert (index.kind, index.turnover, index.days) == ("churning", 1 / 4, 7)


def test_a_first_day_that_saw_little_starts_no_endless_growth():
    index = arrivals.value_index(observed([["host-0"]] + [[f"host-{i}" for i in range(5000)]] * 20))
    assert index.beta is not None
    assert index.beta > 0.8
    assert index.kind == "churning"


def test_days_without_audit_do_not_hide_endless_values():
    values = ValueSet.empty()
    for number in range(0, 28, 3):
        values = values.observe((f"id-{number}-{i}" for i in range(500)), day(number))
    index = arrivals.value_index(values)
    assert (index.kind, index.days) == ("unbounded", 10)
    assert index.beta == pytest.approx(1)


def test_what_is_older_than_28_days_no_longer_counts():
    churned = [[f"id-{number}-{i}" for i in range(500)] for number in range(28)]
    index = arrivals.value_index(observed(churned + [["a", "b"]] * 28))
    assert (index.kind, index.days) == ("bounded", 28)


@pytest.mark.parametrize("days", [[], [[]] * 28])
def test_no_values_have_no_index(days):
    index = arrivals.value_index(observed(days))
    assert (index.kind, index.beta, index.days) == ("unknown", None, 0)


def test_a_week_without_values_has_no_turnover():
    index = arrivals.value_index(observed([[f"v{i}" for i in range(9)]] * 8 + [[]] * 8))
    assert (index.kind, index.turnover) == ("bounded", 0.0)


def rate(*a_day: int) -> float | None:
    """The present rate after days with so many new values each."""
    return arrivals.arrivals_per_day(observed([f"{number}-{i}" for i in range(n)] for number, n in enumerate(a_day)))


@pytest.mark.parametrize(
    ("a_day", "expected"),
    [
        ([300] * 28, 300),
        # A leak counts from its first day, not over the quiet weeks before it.
        ([20] * 20 + [3000], 3000),
        # A single day before is enough to say what is usual, unless it had less than a quarter.
        ([1, 30, 0] + [100] * 6, 600 / 7),
        ([1, 20, 0] + [100] * 6, 100),
        ([20] * 20 + [3000] * 3, 3000),
        ([0] * 20 + [3000] * 8, 3000),
        ([100] * 20 + [200] * 10, 200),
        # On weekends there are fewer: all seven days are one period.
        (([500] * 5 + [10] * 2) * 4, 360),
        (([500] * 5 + [10] * 2) * 4 + [500] * 2, 360),
        # It has ended, and that is no weekend.
        ([3000] * 20 + [0] * 3, 0),
        ([3000] * 20 + [30] * 4, 30),
        ([300, 300], 300),
        # The last day is not over.
        ([3000] * 20 + [1500], 3000),
        ([20] * 20 + [3000] * 3 + [300], 3000),
        (([500] * 5 + [10] * 2) * 4 + [250], 322),
    ],
)
def test_new_a_day_is_the_present_rate(a_day: list[int], expected: float) -> None:
    assert rate(*a_day) == pytest.approx(expected, rel=0.03)


def test_new_a_day_is_unknown_with_a_single_day() -> None:
    assert rate(300) is None


def test_new_a_day_of_a_sketch_and_of_days_without_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    values = ValueSet.empty()
    for number in range(0, 28, 3):
        values = values.observe((f"id-{number}-{i}" for i in range(600)), day(number))
    assert arrivals.arrivals_per_day(values) == 200
    monkeypatch.setattr(value_sets, "MAX_EXACT", 5000)
    assert rate(*[100] * 21, *[2000] * 7) == pytest.approx(2000, rel=0.1)


def test_listings_that_would_have_been_unchanged_count_as_days() -> None:
    """An unchanged index is listed once a week: what it held between is known."""
    values = ValueSet.empty()
    for number in (0, 1, 7):
        values = values.observe([f"h{i}" for i in range(1600)], day(number))
    index = arrivals.value_index(values, None)
    assert (index.kind, index.days) == ("bounded", 8)
    # A listing of one day does not show the others, nor do two listings a week apart show what came between.
    assert arrivals.value_index(values, 1).kind == "unknown"
    assert arrivals.value_index(values, 5).kind == "unknown"


@pytest.mark.parametrize("listing_days", [1, 30, None])
def test_values_of_the_first_day_are_new_to_tsaudit_only(listing_days: int | None) -> None:
    """Also if that day is the first of the last week."""
    index = arrivals.value_index(observed([fixed_hosts(0, np.random.default_rng(1))] * 7), listing_days)
    assert (index.kind, index.turnover) == ("bounded", 0.0)
