"""Even and uneven intervals: clocks and dice with known outcome, and plain Python as the judge of the arithmetic."""

from __future__ import annotations

import itertools
import statistics
from collections import defaultdict

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsaudit.analysis.rows.over_time import MIN_INTERVALS, chance_of, rhythms, separating_tag, spacing

Times = npt.NDArray[np.int64]
SECOND = 1_000_000


@given(st.lists(st.tuples(st.integers(-2, 3), st.integers(-50, 50)), max_size=60))
def test_spacing_as_plain_python_has_it(points: list[tuple[int, int]]) -> None:
    times = defaultdict(set)
    for series, time in points:
        times[series].add(time)
    found = spacing(np.array([s for s, _ in points], np.int64), np.array([t for _, t in points], np.int64))
    assert found.series.tolist() == sorted(times)
    for place, series in enumerate(sorted(times)):
        steps = [after - before for before, after in itertools.pairwise(sorted(times[series]))]
        assert found.intervals[place] == len(steps)
        if steps:
            middle = statistics.median(steps)
            assert found.median[place] == middle
            expected = statistics.median(abs(step - middle) for step in steps) / middle
            assert found.unevenness[place] == pytest.approx(expected)
        else:
            assert np.isnan(found.median[place])
            assert np.isnan(found.unevenness[place])


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 10**6)), max_size=60), st.integers(1, 1000), st.randoms())
def test_unevenness_knows_neither_unit_nor_order(points: list[tuple[int, int]], unit: int, random: object) -> None:
    def of(given: list[tuple[int, int]], factor: int) -> npt.NDArray[np.float64]:
        times = np.array([t * factor for _, t in given], np.int64)
        return spacing(np.array([s for s, _ in given], np.int64), times).unevenness

    np.testing.assert_allclose(of(points, 1), of(sorted(points, reverse=True), unit))


def clock(points: int, seconds: float = 10.0, jitter: float = 0.0, missing: float = 0.0, seed: int = 1) -> Times:
    """Ticks, each moved by up to `jitter` of an interval, of which a share is `missing`."""
    random = np.random.default_rng(seed)
    ticks = np.arange(points) + random.uniform(-jitter, jitter, points)
    return np.asarray(np.sort(ticks[random.random(points) >= missing]) * seconds * SECOND, np.int64)


def dice(points: int, seconds: float = 10.0, seed: int = 2) -> Times:
    """Instants each as likely as any other."""
    return np.asarray(np.random.default_rng(seed).exponential(seconds, points).cumsum() * SECOND, np.int64)


def _judged(times: Times) -> tuple[bool, bool]:
    found = spacing(np.zeros(len(times), np.int64), times)
    return bool(found.regular.any()), bool(found.irregular.any())


@pytest.mark.parametrize(
    "times",
    [
        clock(40),
        clock(40, jitter=0.03),
        clock(200, missing=0.2),
        clock(60, seconds=86_400.0),
        # An outage of a week, and another agent's interval for a third of the time.
        np.r_[clock(40), clock(40) + 7 * 86_400 * SECOND],
        np.r_[clock(40), clock(20, seconds=60) + 3_600 * SECOND],
    ],
)
def test_clocks_are_regular(times: Times) -> None:
    assert _judged(times) == (True, False)


def test_instants_by_chance_are_irregular() -> None:
    trials = [_judged(dice(30, seed=seed)) for seed in range(500)]
    assert sum(regular for regular, _ in trials) == 0
    assert sum(irregular for _, irregular in trials) > 0.97 * len(trials)


def test_instants_by_chance_cut_to_seconds_stay_irregular() -> None:
    times = dice(60, seconds=7.0) // SECOND * SECOND
    assert _judged(times) == (False, True)


def test_chance_of_the_shortest_stream_to_pass_for_a_clock() -> None:
    series = np.repeat(np.arange(20_000), MIN_INTERVALS + 1)
    times = np.random.default_rng(3).exponential(SECOND, len(series)).cumsum().astype(np.int64)
    found = spacing(series, times)
    assert (found.intervals == MIN_INTERVALS).all()
    assert found.regular.mean() < 0.002


def test_nothing_is_said_of_few_intervals_and_of_what_lies_between() -> None:
    assert _judged(clock(MIN_INTERVALS)) == (False, False)
    assert _judged(clock(MIN_INTERVALS + 1)) == (True, False)
    uniform = np.random.default_rng(4).uniform(0.5, 1.5, 400).cumsum() * SECOND
    assert _judged(uniform.astype(np.int64)) == (False, False)


def _merged(**streams: Times) -> tuple[Times, dict[str, npt.NDArray[np.bool_]]]:
    """Rows of one series: those of one instant are one row."""
    times = np.unique(np.concatenate(list(streams.values())))
    return times, {field: np.isin(times, own) for field, own in streams.items()}


def _kinds(times: Times, filled: dict[str, npt.NDArray[np.bool_]]) -> dict[str, tuple[int, int]]:
    found = rhythms(np.zeros(len(times), np.int64), times, filled)
    return {field: (len(one.regular), len(one.irregular)) for field, one in found.items()}


@pytest.mark.parametrize("seconds", [3.0, 10.0, 200.0])
def test_an_event_among_metrics_of_one_source(seconds: float) -> None:
    metric = clock(300)
    times, filled = _merged(temperature=metric, pressure=metric, alarm=dice(max(12, int(2000 / seconds)), seconds))
    assert _kinds(times, filled) == {"temperature": (1, 0), "pressure": (1, 0), "alarm": (0, 1)}
    found = rhythms(np.zeros(len(times), np.int64), times, filled)
    assert found["temperature"].interval == 10 * SECOND
    assert found["alarm"].interval is None


def test_an_optional_value_in_the_rows_of_a_metric_is_no_event() -> None:
    metric = clock(300)
    optional = metric[np.random.default_rng(5).random(300) < 0.1]
    assert _kinds(*_merged(usage=metric, error=optional)) == {"usage": (1, 0), "error": (0, 0)}


def test_fields_that_take_turns_at_random_keep_the_time_together() -> None:
    ticks = clock(300)
    turn = np.random.default_rng(6).integers(0, 4, 300)
    kinds = _kinds(ticks, {f"f{i}": turn == i for i in range(4)})
    assert all(irregular == 0 for _, irregular in kinds.values())


def test_sources_of_both_kinds() -> None:
    streams = [clock(50, seed=1), dice(50, seed=2), clock(50, seconds=60, seed=3), dice(50, seed=4)]
    series = np.repeat(np.arange(4), 50)
    found = rhythms(series, np.concatenate(streams), {"value": np.ones(200, bool)})["value"]
    assert (found.regular.tolist(), found.irregular.tolist()) == ([0, 2], [1, 3])
    assert found.interval == 35 * SECOND


@pytest.mark.parametrize("share", [0.15, 0.3, 0.5])
def test_a_source_that_skips_beats_of_the_clock_is_no_event(share: float) -> None:
    """A collector writes a status only where it occurred: at its own instants, or not at all."""
    beats = clock(400)
    some = beats[np.random.default_rng(6).random(400) < share]
    series = np.repeat(np.arange(2), [len(beats), len(some)])
    found = rhythms(series, np.concatenate([beats, some]), {"value": np.ones(len(series), bool)})["value"]
    assert (found.regular.tolist(), found.irregular.tolist()) == ([0], [])


def test_events_in_whole_seconds_are_events_whatever_the_clock() -> None:
    metric, event = clock(300, seconds=1), dice(300, seconds=20) // SECOND * SECOND
    series = np.repeat(np.arange(2), 300)
    found = rhythms(series, np.concatenate([metric // SECOND * SECOND, event]), {"value": np.ones(600, bool)})["value"]
    assert found.irregular.tolist() == [1]


def test_without_fields_or_rows() -> None:
    assert rhythms(np.zeros(3, np.int64), np.arange(3), {}) == {}
    nothing = rhythms(np.zeros(0, np.int64), np.zeros(0, np.int64), {"value": np.zeros(0, bool)})["value"]
    assert (len(nothing.regular), len(nothing.irregular), nothing.interval) == (0, 0, None)


def test_the_tag_that_tells_them_apart() -> None:
    regular, irregular = np.array([1, 0, 1, 0, 0], bool), np.array([0, 1, 0, 1, 0], bool)
    tags = {
        "host": np.arange(5),
        "kind": np.array([0, 1, 0, 1, 0]),
        "region": np.array([0, 0, 1, 1, 1]),
    }
    assert separating_tag(tags, regular, irregular) == "kind"
    assert separating_tag({"region": tags["region"]}, regular, irregular) is None
    assert separating_tag({}, regular, irregular) is None


def test_chance_of_a_count() -> None:
    assert chance_of(0, 10, 0.1) == 1
    assert chance_of(1, 6, 0.1) == pytest.approx(1 - 0.9**6)
    assert chance_of(3, 3, 0.1) == pytest.approx(0.001)
    assert chance_of(2, 3, 0.5) == pytest.approx(0.5)
    assert chance_of(2_000, 10_000, 0.1) < 1e-100
    assert (chance_of(1, 5, 0), chance_of(5, 5, 1)) == (0, 1)
