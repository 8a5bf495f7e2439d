"""Growth: histories of known truth, quiet ones that must stay quiet, and forecasts that must hit."""

from __future__ import annotations

import math
from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tsaudit.analysis.growth.detection import detect, forecast

FIRST = date(2026, 1, 5)


def days(count: int) -> list[date]:
    return [FIRST + timedelta(days=i) for i in range(count)]


def noisy(level: np.ndarray, seed: int, deviation: float = 0.01) -> list[float]:
    """Counts around the level: deviations last some days, and one day in fifty is far off."""
    random = np.random.default_rng(seed)
    noise = random.normal(0, deviation, len(level))
    for i in range(1, len(level)):
        noise[i] = 0.5 * noise[i - 1] + math.sqrt(0.75) * noise[i]
    wild = random.random(len(level)) < 0.02
    wild[-3:] = False
    noise[wild] += random.normal(0, 0.08, wild.sum())
    return [float(v) for v in np.round(level * np.exp(noise))]


def since(onset: int, count: int) -> np.ndarray:
    return np.maximum(np.arange(count) - onset, 0.0)


def deployment(grown: int, quiet: int = 21) -> list[float]:
    """300 series, until a new tag adds 900 every day."""
    return [300.0] * quiet + [300.0 + 900 * k for k in range(1, grown + 1)]


def test_a_deployment_is_growth_from_its_fourth_day():
    # Until then it may be a step that takes three days, and on the first a burst.
    kinds = [detect(days(21 + k), deployment(k)).kind for k in range(7)]
    assert kinds[:2] == ["flat", "flat"]
    assert "growth" not in kinds[:4]
    assert kinds[4:] == ["growth", "growth", "growth"]


@pytest.mark.parametrize("quiet", [4, 6, 9])
def test_a_deployment_in_the_second_week_of_a_history_is_dated_as_well(quiet: int) -> None:
    counts = deployment(4, quiet)
    growth = detect(days(len(counts)), counts)
    assert (growth.kind, growth.onset, growth.provisional) == ("growth", FIRST + timedelta(days=quiet), True)
    ahead = forecast(days(len(counts)), counts, 9_300)
    assert ahead is not None
    assert ahead.days == pytest.approx(6, rel=0.01)


@pytest.mark.parametrize("counts", [[300.0] * 6 + [600.0, 950.0, 990.0, 1_000.0], [300.0] * 4 + [400, 500, 560, 590]])
def test_a_young_history_with_a_rollout_is_no_growth(counts: list[float]) -> None:
    assert detect(days(len(counts)), counts).kind != "growth"


@pytest.mark.parametrize("grown", range(4, 11))
def test_a_deployment_is_dated_and_forecast_rightly(grown):
    counts = deployment(grown)
    growth = detect(days(len(counts)), counts)
    assert growth.onset == FIRST + timedelta(days=21)
    assert growth.shape in ("steady", "undecided")
    assert growth.before == pytest.approx(300)
    assert growth.growth_per_day == pytest.approx(900 / counts[-1], rel=0.01)
    ahead = forecast(days(len(counts)), counts, 30_000)
    assert ahead is not None
    assert ahead.days == pytest.approx((30_000 - counts[-1]) / 900, rel=0.02)
    assert ahead.days_low is not None
    assert ahead.days_high is not None
    assert ahead.days_low <= ahead.days <= ahead.days_high
    assert (ahead.onset, ahead.shape, ahead.provisional) == (growth.onset, growth.shape, False)


def test_growth_that_has_ended_is_a_step():
    counts = deployment(10) + [9300.0] * 14
    growth = detect(days(len(counts)), counts)
    assert growth.kind == "step"
    assert growth.step_ratio is not None
    assert growth.step_ratio > 2


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "level",
    [
        1e4 * np.ones(90),
        1e4 * np.where(np.arange(90) % 7 >= 5, 0.75, 1.0),
        1e4 * (1 + 0.3 * (np.arange(90) % 7) / 7),
        1e4 * np.where(np.arange(90) >= 40, 1.4, 1.0),
        1e4 * np.where(np.arange(90) >= 70, 0.7, np.where(np.arange(90) >= 35, 1.3, 1.0)),
        1e4 * (1.2 - 0.3 * np.arange(90) / 90),
    ],
    ids=["flat", "season", "sawtooth", "step", "steps", "falling"],
)
def test_quiet_histories_never_grow(level, seed):
    counts = noisy(level, seed)
    kinds = {detect(days(n), counts[:n]).kind for n in range(21, 91, 3)}
    assert "growth" not in kinds


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("season", [False, True], ids=["level", "season"])
@pytest.mark.parametrize(
    ("growing", "shape"),
    [(1 + 0.03 * since(60, 90), "steady"), (2 ** (since(60, 90) / 12), "speeding up")],
    ids=["linear", "exponential"],
)
def test_growth_is_found_dated_and_shaped(growing, shape, season, seed):
    level = 1e4 * growing * (np.where(np.arange(90) % 7 >= 5, 0.8, 1.0) if season else 1.0)
    counts = noisy(level, seed)
    assert detect(days(72), counts[:72]).kind == "growth"
    growth = detect(days(90), counts)
    assert growth.kind == "growth"
    assert growth.onset is not None
    assert abs((growth.onset - FIRST).days - 61) <= 4
    assert growth.shape in (shape, "undecided")
    assert not growth.provisional


def test_growth_from_the_start_has_no_onset():
    growth = detect(days(40), [1000 * 1.02**i for i in range(40)])
    assert (growth.kind, growth.onset, growth.before, growth.shape) == ("growth", None, None, "steady")
    assert growth.growth_per_day == pytest.approx(0.02, rel=0.01)


def test_growth_after_a_step_is_dated_after_it():
    counts = [1000.0] * 30 + [2000.0] * 10 + [2000 * 1.05**i for i in range(1, 9)]
    growth = detect(days(48), counts)
    assert (growth.kind, growth.onset) == ("growth", FIRST + timedelta(days=40))
    assert growth.growth_per_day == pytest.approx(0.05, rel=0.02)


@pytest.mark.parametrize("ratio", [0.5, 1.5, 4.0])
def test_a_step_is_dated_and_measured(ratio):
    growth = detect(days(60), noisy(1000 * np.where(np.arange(60) >= 45, ratio, 1.0), 3))
    assert (growth.kind, growth.onset) == ("step", FIRST + timedelta(days=45))
    assert growth.step_ratio == pytest.approx(ratio, rel=0.03)
    assert growth.before == pytest.approx(1000, rel=0.03)
    assert growth.growth_per_day == 0


@pytest.mark.parametrize("missing", [(), (5,), (4, 5, 6)], ids=len)
@pytest.mark.parametrize("rise", [[40_000.0, 40_000.0], [3_000.0, 40_000.0], [9_000.0, 30_000.0], [2_600.0, 9_000.0]])
@pytest.mark.parametrize("quiet", [7, 11, 30])
def test_a_count_ten_times_as_large_is_a_step_from_its_second_day_whatever_days_are_missing(
    quiet: int, rise: list[float], missing: tuple[int, ...]
) -> None:
    counts = [250.0] * quiet + rise + [rise[-1]] * 6
    audited = [day for day in range(len(counts)) if day not in missing]
    found = {}
    for last in range(quiet, len(counts)):
        seen = [day for day in audited if day <= last]
        found[last] = detect([FIRST + timedelta(days=day) for day in seen], [counts[day] for day in seen])
    assert found.pop(quiet).kind == "flat", "a burst of one day"
    for growth in found.values():
        assert (growth.kind, growth.growth_per_day) == ("step", 0)
        assert growth.onset is not None
        assert (growth.onset - FIRST).days - quiet in ((0, 1) if rise[0] < rise[1] else (0,))


def test_a_leak_that_begins_while_nothing_is_audited_is_never_silent() -> None:
    audited = [*range(6), *range(9, 20)]
    counts = [800.0 if day < 7 else 800.0 + 45_000 * (day - 6) for day in audited]
    dates = [FIRST + timedelta(days=day) for day in audited]
    kinds = [detect(dates[:n], counts[:n]).kind for n in range(8, len(dates) + 1)]
    assert set(kinds) == {"step", "growth"}
    assert kinds == sorted(kinds, reverse=True)


@pytest.mark.parametrize("rise", [[1254.0, 1508.0], [1304.0, 1607.0, 1911.0]], ids=["two days", "three days"])
def test_a_rise_over_some_days_that_then_stands_grows_on_no_day_after(rise):
    counts = [1000.0] * 30 + rise + [rise[-1]] * 8
    kinds = [detect(days(n), counts[:n]).kind for n in range(31 + len(rise), len(counts) + 1)]
    assert "growth" not in kinds


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("width", [4, 10, 15])
def test_a_rise_that_levels_off_grows_while_it_rises_and_no_more_when_it_is_over(width, seed):
    time = np.arange(160)
    level = 1e4 * (1 + 2 / (1 + np.exp(-(time - 80) / width)))
    rates = np.gradient(np.log(level))
    counts = noisy(level, seed)

    def grows(day):
        return detect(days(56), counts[day - 55 : day + 1]).kind == "growth"

    assert all(grows(day) for day in range(80, 86))
    # A pause of twelve days is needed to tell.
    over = [day for day in range(94, 160) if rates[day - 14] < 0.003]
    assert not any(grows(day) for day in over[::2])


@pytest.mark.parametrize("seed", range(3))
def test_a_rise_of_days_that_falls_back_leaves_no_growth_behind(seed):
    level = 1e4 * (1 + np.interp(np.arange(75), [50, 52, 55, 58], [0, 0.8, 0.8, 0]))
    counts = noisy(level, seed)
    kinds = [detect(days(n), counts[:n]).kind for n in range(54, 76)]
    assert "growth" not in kinds


def test_a_rise_that_pauses_is_not_over_before_twelve_days():
    counts = deployment(10) + [9300.0] * 14
    kinds = [detect(days(n), counts[:n]).kind for n in range(31, len(counts) + 1)]
    assert kinds[:9] == ["growth"] * 9, "real counts stand still for a week and go on"
    assert kinds[-1] == "step"


@pytest.mark.parametrize("missing", [None, 9], ids=["daily", "a day not audited"])
@pytest.mark.parametrize("beside", [0, 9], ids=["still", "others go on"])
@pytest.mark.parametrize("quiet", [2, 4])
def test_a_leak_that_is_most_of_a_short_history_is_flat_on_the_third_day_after_it_ended(
    quiet: int, beside: int, missing: int | None
) -> None:
    leak = [400.0] * quiet + [400.0 + 1_700 * day for day in range(1, 10 - quiet)]
    counts = [*leak, *[leak[-1]] * 12]
    audited = [day for day in range(len(counts)) if day != missing]
    dated = {day: FIRST + timedelta(days=day) for day in audited}
    for last in range(12, len(counts)):
        seen = [day for day in audited if day <= last]
        growth = detect([dated[day] for day in seen], [counts[day] + beside * day for day in seen])
        assert growth.growth_per_day == 0
        assert growth.kind == "step" or growth.flat_days >= 3


COURSES = {
    "flat": 1e4 * np.ones(70),
    "zero": np.zeros(70),
    "growth": 1e4 * (1 + 0.03 * since(50, 70)),
    "growth from nothing": 300 * since(50, 70),
    "step": 1e4 * np.where(np.arange(70) >= 50, 3.0, 1.0),
    "ended": 1e4 * (1 + 0.1 * np.minimum(since(40, 70), 15)),
}


@pytest.mark.parametrize("course", COURSES)
def test_the_unit_of_what_is_counted_does_not_matter(course):
    counts = noisy(COURSES[course], 5)
    plain = detect(days(70), counts)
    in_bytes = [1e9 * max(count, 1) for count in counts]
    other = detect(days(70), in_bytes)
    assert (other.kind, other.onset, other.shape) == (plain.kind, plain.onset, plain.shape)
    assert other.growth_per_day == pytest.approx(plain.growth_per_day, rel=1e-3)
    ahead = forecast(days(70), in_bytes, 5e13)
    same = forecast(days(70), counts, 5e4)
    assert (ahead is None) == (same is None)
    if ahead and same:
        assert ahead.days == pytest.approx(same.days, rel=1e-2)
    expected = {"zero": "flat", "ended": "step"}.get(course, course.split()[0])
    assert plain.kind == expected


def test_an_amount_that_grows_from_nothing_reaches_its_limit():
    counts = [0.0] * 30 + [20.0 * n for n in range(1, 11)]
    growth = detect(days(40), counts)
    assert (growth.kind, growth.onset, growth.shape) == ("growth", FIRST + timedelta(days=30), "steady")
    ahead = forecast(days(40), counts, 500)
    assert ahead is not None
    assert ahead.days == pytest.approx(15, rel=0.1)


def test_an_amount_that_jumps_is_a_step():
    growth = detect(days(40), [10] * 30 + [900] * 10)
    assert (growth.kind, growth.onset) == ("step", FIRST + timedelta(days=30))
    assert growth.step_ratio == pytest.approx(90, rel=0.01)


def test_a_measurement_more_every_other_day_is_growth():
    growth = detect(days(60), [20 + n // 2 for n in range(60)])
    assert growth.kind == "growth"
    assert growth.growth_per_day == pytest.approx(0.5 / 50, rel=0.2)


def test_a_steady_growth_doubles_when_it_has_added_its_size():
    growth = detect(days(40), [768.0] * 28 + [768 + 3072.0 * (n + 1) for n in range(12)])
    assert (growth.shape, growth.growth_per_day) == ("steady", pytest.approx(3072 / 37_632, rel=0.01))
    assert growth.doubling_days == pytest.approx(37_632 / 3072, rel=0.01)


def test_doubling_is_told_for_growth_alone():
    doubling = detect(days(40), [1000 * 2 ** (i / 12) for i in range(40)]).doubling_days
    assert doubling == pytest.approx(12, rel=0.01)
    assert detect(days(40), [1000.0] * 40).doubling_days is None


def test_a_step_below_five_per_cent_is_flat():
    assert detect(days(40), [1000.0] * 20 + [1040.0] * 20).kind == "flat"


def test_a_rise_that_was_seen_before_is_no_growth():
    """Teeth of a retention of 30 days: the first may be growth, the later ones are the same again."""
    counts = [1000.0 * (1 + 0.4 * (day % 30) / 30) for day in range(150)]
    kinds = [detect(days(n), counts[max(0, n - 90) : n] if n < 90 else counts[:n]).kind for n in range(32, 150)]
    assert "growth" not in kinds


def test_slow_growth_is_flat():
    assert detect(days(60), [1000 * 1.001**i for i in range(60)]).kind != "growth"


@pytest.mark.parametrize("points", range(7))
def test_fewer_than_seven_points_are_unknown(points):
    growth = detect(days(points), deployment(10)[-points:] if points else [])
    assert (growth.kind, growth.points, growth.provisional) == ("unknown", points, True)
    assert forecast(days(points), [100.0 * 2**i for i in range(points)], 1e9) is None


def test_fewer_than_21_points_are_provisional():
    counts = [100 * 1.1**i for i in range(21)]
    assert detect(days(20), counts[:20]).provisional
    assert not detect(days(21), counts).provisional


def test_a_single_wild_day_counts_for_nothing():
    counts = [1000.0] * 30
    counts[15] = 9000.0
    assert detect(days(30), counts).kind == "flat"


def test_order_gaps_and_repeats_of_days_do_not_matter():
    counts = deployment(8)
    pairs = [p for i, p in enumerate(zip(days(len(counts)), counts, strict=True)) if i % 6 != 2]
    plain = detect(*zip(*pairs, strict=True))
    assert plain.kind == "growth"
    assert detect(*zip(*reversed(pairs), strict=True)) == plain
    assert detect(*zip(*[(pairs[0][0], 5e9), *pairs], strict=True)) == plain


def test_only_the_last_90_days_count():
    counts = [1.0] * 60 + [1000.0] * 90
    growth = detect(days(150), counts)
    assert (growth.kind, growth.points) == ("flat", 90)


def test_values_that_are_no_numbers_are_left_out():
    counts = [1000.0] * 20
    counts[3] = math.nan
    assert detect(days(20), counts).points == 19


def test_zero_counts_are_flat():
    assert detect(days(30), [0.0] * 30).kind == "flat"


@pytest.mark.parametrize("values", [[100.0] * 10, [100.0] * 3, [10.0] * 9 + [200.0]])
def test_a_count_at_its_limit_has_no_day_left(values):
    ahead = forecast(days(len(values)), values, 100)
    assert ahead is not None
    assert (ahead.days, ahead.days_low, ahead.days_high) == (0, 0, 0)


def test_no_forecast_without_growth():
    assert forecast(days(40), [100.0] * 40, 101) is None
    assert forecast([], [], 5) is None


@pytest.mark.parametrize("days_of_growth", range(5, 15))
def test_straight_growth_is_forecast_when_its_first_day_was_only_half_of_one(days_of_growth):
    # A deployment in the middle of a day, then 3,072 new series on each: what the demo tells.
    counts = [768.0] * 23 + [2304.0 + 3072 * day for day in range(days_of_growth)]
    found = forecast(days(len(counts)), counts, 100_000)

    truth = (100_000 - counts[-1]) / 3072
    assert found is not None
    assert found.days == pytest.approx(truth, rel=0.05)


def test_a_limit_beyond_a_year_is_not_dated():
    ahead = forecast(days(60), [1000 + 10.0 * i for i in range(60)], 1e6)
    assert ahead is not None
    assert (ahead.days, ahead.days_low, ahead.days_high) == (None, None, None)
    assert ahead.growth_per_day > 0.003


@pytest.mark.parametrize("seed", range(4))
def test_slow_noisy_growth_far_from_its_limit_is_not_forecast_soon(seed):
    """Two years away at the present rate: what real counts did within 120 days says nothing about it."""
    counts = noisy(1e4 * np.exp(0.006 * since(20, 89)), seed, deviation=0.005)
    ahead = forecast(days(89), counts, 1e6)
    assert ahead is not None
    assert ahead.days is None
    assert ahead.days_low is None or ahead.days_low > 60


def test_exponential_growth_is_forecast_on_its_curve_where_it_follows_one():
    counts = [1e4 * 1.05**n for n in since(40, 65)]
    ahead = forecast(days(65), counts, 1e4 * 1.05**54)
    assert ahead is not None
    assert ahead.shape == "speeding up"
    assert ahead.growth_per_day == pytest.approx(0.05, rel=0.01)
    assert ahead.days == pytest.approx(30, rel=0.05)


@pytest.mark.parametrize("seed", range(3))
def test_exponential_growth_with_noise_may_slow_down(seed):
    counts = noisy(1e4 * 1.05 ** since(40, 65), seed)
    ahead = forecast(days(65), counts, 1e4 * 1.05**54)
    assert ahead is not None
    assert ahead.growth_per_day == pytest.approx(0.05, rel=0.25)
    assert ahead.days_low is not None
    assert ahead.days is not None
    assert ahead.days_low <= 30 <= ahead.days * 1.1
    assert ahead.days_high is None or ahead.days_high > 40


def test_two_weeks_that_happen_to_fall_do_not_put_off_the_forecast_of_a_noisy_count():
    """At 15% of noise, the slope of two weeks says little: rates are taken over a longer time."""
    middles, inside = [], 0
    for seed in range(16):
        noise = np.random.default_rng(seed).normal(0, 0.15, 88)
        counts = 1e4 * np.exp(0.02 * since(30, 88) + noise)
        ahead = forecast(days(88), counts.tolist(), 1e4 * np.exp(0.02 * (57 + 14)))
        assert ahead is not None
        assert ahead.days is not None
        middles.append(ahead.days)
        inside += (ahead.days_low or 365) <= 14 <= (ahead.days_high or 365)
    assert np.std(np.log(middles)) < 0.7
    assert inside >= 11


def test_with_a_season_the_busiest_day_meets_the_limit():
    season = np.where(np.arange(84) % 7 >= 5, 0.6, 1.0)
    counts = [float(v) for v in 1000 * (1 + 0.05 * since(50, 84)) * season]
    ahead = forecast(days(84), counts, 4000)
    assert ahead is not None
    assert ahead.days == pytest.approx(60 - 33, rel=0.15)


def test_intervals_of_noisy_histories_cover_the_truth_most_of_the_time():
    inside = 0
    for seed in range(15):
        ahead = forecast(days(75), noisy(1e4 * (1 + 0.04 * since(45, 75)), seed), 1e4 * (1 + 0.04 * 59))
        assert ahead is not None
        assert ahead.days is not None
        assert ahead.days == pytest.approx(30, rel=0.5)
        inside += (ahead.days_low or 0) <= 30 <= (ahead.days_high or 365)
    assert inside >= 9


@settings(deadline=None, max_examples=examples(60))
@given(st.lists(st.floats(0, 1e9), max_size=40), st.floats(1, 1e9))
def test_any_history_is_judged_and_twice_the_same(counts, limit):
    growth = detect(days(len(counts)), counts)
    assert growth == detect(days(len(counts)), counts)
    assert forecast(days(len(counts)), counts, limit) == forecast(days(len(counts)), counts, limit)
    assert (growth.growth_per_day > 0) == (growth.kind == "growth" and not growth.flat_days)
    assert (growth.step_ratio is not None) == (growth.kind == "step")


@pytest.mark.parametrize(
    ("level", "before"),
    [
        # A day off in the week before, the last one or one in its midst; ordinary noise.
        ([300.0] * 39 + [330.0], 300),
        ([300.0] * 36 + [390.0] + [300.0] * 3, 300),
        ([300.0] * 34 + [298.0, 305.0, 296.0, 301.0, 299.0, 304.0], 300),
    ],
    ids=["last day off", "wild day", "noise"],
)
def test_the_level_before_growth_is_the_usual_one_of_the_days_before(level, before):
    counts = level + [before + 300.0 * n for n in range(1, 11)]
    growth = detect(days(len(counts)), counts)
    assert growth.kind == "growth"
    assert growth.before == pytest.approx(before, rel=0.011)


def test_the_level_before_growth_is_not_that_of_a_time_before_it():
    counts = [1000.0] * 30 + [2000.0] * 10 + [2000 * 1.05**i for i in range(1, 9)]
    growth = detect(days(len(counts)), counts)
    assert (growth.kind, growth.before) == ("growth", pytest.approx(2000, rel=0.01))


# Weekends, outages, backfills: 60 series, and from day 12 on a tag that adds 1,440 every day.
UNEVEN = {
    "daily": range(8, 21),
    "with outages": (8, 11, 12, 15, 18, 20),
    "every third day": range(2, 21, 3),
    "working days": [d for d in range(1, 27) if (d - 1) % 7 < 5],
    "weekly": (1, 8, 15, 22, 29),
}


@pytest.mark.parametrize("which", UNEVEN)
def test_growth_when_days_are_missing_is_that_of_the_days_there_are(which: str) -> None:
    known = list(UNEVEN[which])
    values = [60.0 + 1440 * max(0, day - 11) for day in known]
    growth = detect([FIRST + timedelta(days=day) for day in known], values)
    assert growth.kind == "growth"
    assert growth.onset == FIRST + timedelta(days=next(day for day in known if day >= 12))
    assert growth.before == pytest.approx(60.0)
    # Weekly counts cannot tell on which of seven days it began: a line from the last low one is as good.
    assert growth.growth_per_day == pytest.approx(1440 / values[-1], rel=0.2 if which == "weekly" else 0.05)


@pytest.mark.full
def test_quiet_counts_when_days_are_missing_seldom_grow() -> None:
    """No more often than when only points counted, never days: that was 9 of 80."""
    random, grew = np.random.default_rng(1), 0
    for _ in range(80):
        known = np.cumsum(random.integers(2, 5, 20))
        values = 1000 * np.exp(random.normal(0, 0.08, 20))
        on = [FIRST + timedelta(days=int(day)) for day in known]
        grew += any(detect(on[:n], values[:n].tolist()).kind == "growth" for n in range(5, 21))
    assert grew <= 5


@pytest.mark.parametrize("quiet", [3, 5, 9])
def test_growth_that_stopped_is_flat_and_promises_no_date(quiet: int) -> None:
    """300 series, 900 more a day for ten days, and then none: the limit is 3,500 away."""
    counts = [*deployment(10), *[9_300.0] * quiet]
    growth = detect(days(len(counts)), counts)
    assert (growth.kind, growth.growth_per_day) == ("growth", 0)
    assert quiet <= growth.flat_days <= quiet + 1
    assert growth.doubling_days is None
    ahead = forecast(days(len(counts)), counts, 12_800)
    assert ahead is not None
    assert ahead.days is None


def steps(*daily: float, quiet: int = 28) -> list[float]:
    """300 series for so many days from a Monday on, and then so many more every day."""
    return [300.0] * quiet + [300.0 + float(one) for one in np.cumsum(daily)]


@pytest.mark.parametrize("beside", [0, 1], ids=["still", "others go on"])
@pytest.mark.parametrize("part", [0, 10], ids=["at the audit", "minutes after it"])
@pytest.mark.parametrize("flat", [1, 2, 3])
@pytest.mark.parametrize("leak", [3, 4, 5, 10, 20])
@pytest.mark.parametrize("quiet", [4, 28])
def test_a_leak_that_was_fixed_grows_on_no_day_after(quiet: int, leak: int, flat: int, part: int, beside: int) -> None:
    counts = steps(*[900] * leak, *[part, 0, 0][:flat], quiet=quiet)
    counts = [count + beside * day for day, count in enumerate(counts)]
    growth = detect(days(len(counts)), counts)
    assert growth.growth_per_day == 0
    assert growth.kind != "growth" or growth.flat_days >= flat
    ahead = forecast(days(len(counts)), counts, 50_000)
    assert ahead is None or ahead.days is None


def test_a_leak_that_pauses_for_a_day_is_back_as_soon_as_it_goes_on() -> None:
    for after in range(1, 8):
        counts = steps(*[900] * 5, 0, *[900] * after)
        growth = detect(days(len(counts)), counts)
        assert (growth.kind, growth.flat_days) == ("growth", 0)
        ahead = forecast(days(len(counts)), counts, counts[-1] + 9_000)
        assert ahead is not None
        assert ahead.days is not None
        assert ahead.days >= 9_000 / (growth.growth_per_day * counts[-1]) * 0.99
        assert ahead.days >= 9.9


@pytest.mark.parametrize("week", [1, 2, 3])
def test_a_weekend_is_no_end_of_a_growth_that_has_paused_on_one(week: int) -> None:
    daily = [900.0 if day % 7 < 5 else 0.0 for day in range(7 * week + 7)]
    for last in range(7 * week + 4, 7 * week + 8):
        counts = steps(*daily[:last])
        assert detect(days(len(counts)), counts).flat_days == 0


@pytest.mark.parametrize("seed", range(4))
def test_growth_that_goes_on_unevenly_is_never_flat(seed: int) -> None:
    """Such as that of pods of which some more come every day."""
    daily = np.random.default_rng(seed).poisson(9, 40) * 10
    for last in range(6, 41):
        counts = steps(*daily[:last])
        assert detect(days(len(counts)), counts).flat_days == 0


def test_growth_that_slows_down_is_not_flat() -> None:
    counts = [10_000.0] * 30 + [10_000 + 30_000 * (1 - 0.9**n) for n in range(1, 21)]
    assert detect(days(50), counts).flat_days == 0


@pytest.mark.parametrize("ago", range(1, 10))
def test_one_empty_day_changes_neither_rate_nor_date(ago: int) -> None:
    counts = [10_000.0] * 30 + [10_000 + 200.0 * n for n in range(1, 21)]
    bad = [*counts]
    bad[-ago] = 0.0
    whole, holed = (detect(days(50), series) for series in (counts, bad))
    assert holed.growth_per_day == pytest.approx(whole.growth_per_day, rel=0.12)
    assert holed.shape == whole.shape
    dates = [forecast(days(50), series, 16_000) for series in (counts, bad)]
    assert dates[0] is not None
    assert dates[1] is not None
    assert dates[0].days is not None
    assert dates[1].days == pytest.approx(dates[0].days, rel=0.12)


@pytest.mark.parametrize("rate", [0.01, 0.015, 0.02])
def test_growth_that_compounds_is_dated_by_its_law_however_slow(rate: float) -> None:
    counts = [round(100_000 * (1 + rate) ** n) for n in range(60)]
    for ahead in (40, 60, 90):
        found = forecast(days(60), counts, 100_000 * (1 + rate) ** (59 + ahead))
        assert found is not None
        assert found.days == pytest.approx(ahead, rel=0.1)


def test_a_date_does_not_contradict_the_rate() -> None:
    """From the first day of a growth to three weeks after its end, no date is sooner than at the rate that is said."""
    counts = [100_000.0] * 30 + [100_000 + 2_000.0 * n for n in range(1, 15)] + [128_000.0] * 21
    for count in range(34, len(counts)):
        growth = detect(days(count), counts[:count])
        ahead = forecast(days(count), counts[:count], 131_500)
        if growth.kind == "growth" and ahead is not None and ahead.days is not None:
            left = 131_500 - counts[count - 1]
            assert ahead.days >= 0.8 * left / (growth.growth_per_day * counts[count - 1]), count


@pytest.mark.parametrize("seed", range(2))
def test_a_level_that_was_reached_by_growth_is_not_dated(seed: int) -> None:
    noise = np.random.default_rng(seed).normal(0, 0.01, 76)
    counts = (1e4 * np.exp(noise) * 1.04 ** np.minimum(since(40, 76), 20)).tolist()
    dated = []
    for count in range(65, 77):
        ahead = forecast(days(count), counts[:count], 3e4)
        dated.append(ahead is not None and ahead.days is not None)
    assert sum(dated) <= 1


@pytest.mark.parametrize("seed", range(3))
def test_a_rate_is_that_of_the_growth_rather_than_of_its_noise(seed: int) -> None:
    level = 1e4 * (1 + 0.008 * since(20, 80))
    counts = (level * np.exp(np.random.default_rng(seed).normal(0, 0.01, 80))).tolist()
    for count in range(55, 81, 3):
        growth = detect(days(count), counts[:count])
        if growth.growth_per_day:
            assert growth.growth_per_day == pytest.approx(80 / level[count - 1], rel=0.3), count


@pytest.mark.parametrize("seed", range(2))
def test_no_date_is_sooner_than_at_the_rate_however_noisy_the_count(seed: int) -> None:
    level = 1e4 * (1 + 0.03 * since(30, 80))
    counts = (level * np.exp(np.random.default_rng(seed).normal(0, 0.04, 80))).tolist()
    for count in range(45, 81, 2):
        growth, ahead = detect(days(count), counts[:count]), forecast(days(count), counts[:count], 5e4)
        if ahead is not None and ahead.days is not None:
            middle = float(np.median(counts[count - 5 : count]))
            assert ahead.days >= 0.8 * growth.days_until(math.log(5e4 / middle)), count


@pytest.mark.parametrize("ahead", [10, 20, 40])
@pytest.mark.parametrize(
    "course",
    [lambda n: 5e4 * (3 - 2 * 0.96**n), lambda n: 4e4 + 4e3 * 1.08**n],
    ids=["slowing", "speeding up"],
)
def test_growth_whose_daily_amounts_change_by_a_share_is_dated_by_that(course, ahead: int) -> None:
    counts = [float(course(0))] * 30 + [float(round(course(n))) for n in range(1, 26)]
    found = forecast(days(55), counts, course(25 + ahead))
    assert found is not None
    assert found.days == pytest.approx(ahead, rel=0.15)


def test_the_first_day_after_an_outage_keeps_the_date() -> None:
    counts = [20_000 + 600.0 * n for n in since(30, 60)]
    seen = [n for n in range(60) if not 50 <= n < 59]
    found = forecast([FIRST + timedelta(days=n) for n in seen], [counts[n] for n in seen], counts[-1] + 12_000)
    assert found is not None
    assert found.days == pytest.approx(20, rel=0.05)


@pytest.mark.parametrize(("quiet", "provisional"), [(0, True), (15, False)])
def test_growth_from_the_first_count_on_is_provisional_for_a_month(quiet: int, provisional: bool) -> None:
    """It may be data that fills up to a retention, which no count of that time shows."""
    rising = [1_000 * (1 + 0.02 * n) for n in range(45 - quiet)]
    counts = [1_000.0] * quiet + rising
    assert detect(days(28), counts[:28]).provisional == provisional
    assert not detect(days(31), counts[:31]).provisional


def test_growth_that_slows_down_but_does_not_stop_is_dated() -> None:
    """The root of the days: by its last weeks, it would stop soon."""
    counts = 5e4 * (1 + 0.3 * np.sqrt(since(29, 101)))
    for count in range(50, 101, 10):
        for ahead in (15, 30, 60):
            found = forecast(days(count), counts[:count].tolist(), 5e4 * (1 + 0.3 * math.sqrt(count - 30 + ahead)))
            assert found is not None
            assert found.days is not None, (count, ahead)
            assert ahead / 2 <= found.days <= 2 * ahead, (count, ahead)


def test_the_rate_of_a_growth_that_comes_to_its_end_is_that_of_its_end() -> None:
    """A rollout of 4,000 devices, which halves its pace every three days, does not reach 12,000."""
    counts = [6_000.0] * 30 + [float(round(6_000 + 4_000 * (1 - 0.5 ** (n / 3)))) for n in range(1, 17)]
    for count in range(38, 46):
        growth = detect(days(count), counts[:count])
        added = counts[count - 1] - counts[count - 4]
        assert growth.growth_per_day * counts[count - 1] <= 1.01 * max(added / 3, 30), count


def test_a_step_while_a_count_grows_does_not_set_its_rate() -> None:
    """A restart wrote 13 MB of logs; before and after it, a megabyte a day is added."""
    megabytes = [5.12, 6.26, 7.82, 8.75, 9.56, 11.24, 24.08, 22.45, 23.46, 24.47, 25.48]
    days = [date(2026, 11, 20) + timedelta(days=n) for n in range(len(megabytes))]
    found = detect(days, [value * 1e6 for value in megabytes])
    assert found.kind == "growth"
    assert 0.5e6 < found.added_per_day < 1.5e6


def test_a_forecast_has_the_days_at_the_rate_that_is_reported() -> None:
    counts = [1_000.0] * 20 + [float(round(1_000 + 40 * 1.35**n)) for n in range(12)]
    growth, ahead = detect(days(32), counts), forecast(days(32), counts, 9_000)
    assert ahead is not None
    assert ahead.days_at_rate == pytest.approx(growth.days_until(math.log(9_000 / counts[-1])), rel=0.05)
    assert ahead.slows_down == (ahead.days is not None and ahead.days > 1.1 * ahead.days_at_rate)


@pytest.mark.parametrize("flat", [8, 11])
def test_growth_that_goes_on_has_the_rate_of_the_days_since(flat: int) -> None:
    """The level has not been flat long enough to end the growth, whose first part was slower."""
    rising = [600.0 + 2_000 * day for day in range(1, 9)]
    counts = rising + [rising[-1]] * flat
    counts += [counts[-1] + 5_000 * day for day in range(1, 10)]
    resumed = 8 + flat
    for count in range(resumed + 3, len(counts) + 1):
        growth = detect(days(count), counts[:count])
        assert growth.growth_per_day * counts[count - 1] == pytest.approx(5_000, rel=0.01), count
        assert growth.shape in ("undecided", "steady"), count
