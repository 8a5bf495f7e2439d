"""Measurements with the same points, told by a few of them: against all points, and on known truths."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import a_source
from tsaudit.analysis.rows.duplicates import POINTS_KEPT, ColumnGroup, Overlap, overlap, point_sample, same_points
from tsaudit.model.rows import PointSample

HOUR = 3_600
Integers = npt.NDArray[np.int64]
Point = tuple[int, int]
"""Number of the source, and time in seconds."""
points = st.frozensets(st.tuples(st.integers(0, 5), st.integers(0, 50)), max_size=40)


def of(given: Iterable[Point], start: int = 0, end: int = 10**9) -> PointSample:
    rows = list(given)
    tag_sets = [{"host": f"h{number}", "region": "eu"} for number in range(max((s for s, _ in rows), default=0) + 1)]
    series = np.array([s for s, _ in rows], np.int64)
    times = np.array([t * 1_000_000 for _, t in rows], np.int64)
    return _sample(tag_sets, series, times, start=start, end=end)


def _sample(tag_sets: list[dict[str, str]], series: Integers, times: Integers, *, start: int, end: int) -> PointSample:
    tags = {}
    for key in {key for tags in tag_sets for key in tags}:
        values = sorted({one[key] for one in tag_sets if key in one})
        tags[key] = (values, [values.index(one[key]) if key in one else -1 for one in tag_sets])
    return point_sample(tags, len(tag_sets), series, times, start=start, end=end, source=a_source())


def grid(hosts: int, instants: int, step: int = 60, since: int = 0) -> list[Point]:
    return [(host, since + tick * step) for tick in range(instants) for host in range(hosts)]


@given(points, points)
def test_of_few_points_the_overlap_is_exact(a: frozenset[Point], b: frozenset[Point]) -> None:
    found = overlap(of(a), of(b))
    assert found == Overlap(len(a | b), len(a & b), len({t for _, t in a & b}))
    assert overlap(of(b), of(a)) == found


@given(points, points, st.integers(0, 50), st.integers(0, 50))
def test_only_time_that_both_cover_is_compared(
    a: frozenset[Point], b: frozenset[Point], start: int, length: int
) -> None:
    def inside(rows: frozenset[Point]) -> set[Point]:
        return {(s, t) for s, t in rows if start <= t < start + length}

    found = overlap(of(a, end=start + length), of(b, start=start))
    assert (found.points, found.common) == (len(inside(a) | inside(b)), len(inside(a) & inside(b)))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 300)), max_size=200), st.randoms())
def test_neither_order_nor_repetition_matter(rows: list[Point], random: object) -> None:
    assert of(rows) == of(sorted([*rows, *rows], reverse=True))


def test_hash_is_that_of_every_version() -> None:
    """Samples are stored: one made by another version has to mean the same."""
    assert [(p.hash, p.time_s) for p in of([(0, 0), (1, 0), (1, 60)]).points] == [
        (2389011654, 60),
        (2874501664, 0),
        (3592957307, 0),
    ]


def test_no_tag_set_looks_like_another() -> None:
    alike: list[dict[str, str]] = [
        {"a": "b"},
        {"a": "", "b": ""},
        {"ab": ""},
        {"a": "1:b"},
        {"a1:": "b"},
        {"": "ab"},
        {},
    ]
    hashes = [
        tuple(_sample([tags], np.zeros(1, np.int64), np.zeros(1, np.int64), start=0, end=1).points) for tags in alike
    ]
    assert len(set(hashes)) == len(alike)


@pytest.mark.costly
@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 1.0])
def test_the_estimate_is_that_of_all_points(share: float) -> None:
    """Two measurements of 50 hosts over many hours; of 200 pairs, the mean share is the true one."""
    estimates = []
    for trial in range(200):
        both = grid(50, 40, since=trial * 7 * HOUR)
        keep = np.random.default_rng(trial).random(len(both)) < share
        estimates.append(overlap(of(both), of(list(itertools.compress(both, keep)))).share)
    assert np.mean(estimates) == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / POINTS_KEPT / 200) + 1e-12)


def test_what_is_kept_is_bounded() -> None:
    found = of(grid(100, 100))
    assert (len(found.points), found.complete) == (POINTS_KEPT, False)
    assert of(grid(8, 8)).complete


def _group(**samples: PointSample) -> tuple[ColumnGroup, ...]:
    return same_points(samples, min_share=0.9, min_instants=5)


def test_groups_of_many_measurements() -> None:
    same, other, late = grid(40, 60), grid(40, 60, since=30), grid(39, 60)
    found = _group(
        heart_rate=of(same),
        oxygen=of(same),
        cpu=of(other),
        temperature=of(late),
        load=of(other),
        lone=of(grid(3, 90, 7)),
    )
    assert [group.members for group in found] == [("cpu", "load"), ("heart_rate", "oxygen", "temperature")]
    assert found[0] == ColumnGroup(("cpu", "load"), 1.0, POINTS_KEPT, found[0].instants)
    assert 0.9 < found[1].share < 1.0


def test_another_rate_another_phase_and_another_set_of_sources_are_no_group() -> None:
    base = grid(10, 60)
    for other in (grid(10, 30, step=120), grid(10, 60, since=1), grid(5, 60), [(h + 5, t) for h, t in base]):
        assert _group(a=of(base), b=of(other)) == ()


def test_few_instants_are_no_group() -> None:
    assert _group(a=of(grid(500, 4)), b=of(grid(500, 4))) == ()
    assert len(_group(a=of(grid(500, 5)), b=of(grid(500, 5)))) == 1


def test_a_thousand_measurements_of_one_group() -> None:
    one = of(grid(40, 60))
    (found,) = same_points({f"m{i}": one for i in range(1000)}, min_share=0.9, min_instants=5)
    assert len(found.members) == 1000


def test_nothing_to_compare() -> None:
    assert _group() == ()
    assert _group(a=of([]), b=of([])) == ()
    assert overlap(of([]), of(grid(9, 99))).share == 0.0
    assert overlap(of(grid(9, 99), end=60), of(grid(9, 99), start=60)).share == 0.0
