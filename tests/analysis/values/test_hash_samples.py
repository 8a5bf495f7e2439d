"""Estimates from a hash-sample of series, compared with counting all of them."""

from __future__ import annotations

import random
import statistics
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tsaudit.analysis.cardinality import tag_sets as cardinality
from tsaudit.analysis.cardinality.tag_sets import TagSetCounter
from tsaudit.analysis.values.hashes import Counted, Distinct, HashThreshold
from tsaudit.model.columns import Dependency, TagSets
from tsaudit.model.figures import How, Source

SOURCE = Source("influxdb1/series_listing.influxql", How.ESTIMATE, datetime(2026, 11, 21, tzinfo=UTC))
CEILING = 1000
SEEDS = range(25)
FEW = SEEDS[:5]
"""Enough where each one is to be right, and none is compared with the others."""


def requests(seed: int, count: int = 50_000) -> list[dict[str, str | None]]:
    """Requests to hosts in racks, ids that make the series; every fourth has no version. `seed` makes the names."""
    draw = random.Random(seed)
    return [
        {
            "id": f"{draw.getrandbits(64):016x}",
            "host": f"h{seed}-{i % 200}",
            "rack": f"r{seed}-{i % 200 // 20}",
            "version": None if i % 4 == 0 else f"v{i % 7}",
        }
        for i in range(count)
    ]


def counted(rows: list[dict[str, str | None]], ceiling: int | None = CEILING, size: int = 1000) -> TagSetCounter:
    counter = TagSetCounter(list(rows[0]), ceiling=ceiling)
    for at in range(0, len(rows), size):
        counter.add(pa.RecordBatch.from_pylist(rows[at : at + size]))
    return counter


def left_of(rows: list[dict[str, str | None]], dropped: set[str]) -> int:
    return len({tuple(v for k, v in sorted(row.items()) if k not in dropped) for row in rows})


@pytest.fixture(scope="module")
def estimated() -> tuple[list[TagSetCounter], list[TagSets]]:
    counters = [counted(requests(seed)) for seed in FEW]
    return counters, [c.tag_sets(SOURCE) for c in counters]


@pytest.mark.full
def test_series_are_estimated_within_their_error() -> None:
    off = []
    for seed in SEEDS:
        counter = counted(requests(seed))
        series = counter.series
        assert series.standard_error is not None
        assert series.standard_error < 0.05 * 50_000
        off.append((series.value - 50_000) / series.standard_error)
        assert abs(off[-1]) < 3.5, f"seed {seed}"
        assert CEILING // 3 < (counter.sampled or 0) <= CEILING
    # The error is neither too small nor too great, and there is no bias.
    assert 0.7 < statistics.pstdev(off) < 1.4
    assert abs(statistics.mean(off)) < 0.5


def test_true_dependencies_and_the_main_contributor_stay(estimated: tuple[list[TagSetCounter], list[TagSets]]) -> None:
    for sets in estimated[1]:
        assert {("id", "host"), ("id", "rack"), ("host", "rack")} <= {
            (d.determinant, d.dependent) for d in sets.dependencies
        }
        assert (sets.drop_curve[0].tag, sets.drop_curve[0].together_with) == ("id", ())


def test_tags_that_only_together_make_the_series_are_found_in_a_sample() -> None:
    for seed in FEW:
        draw = random.Random(seed)
        rows = [row | {"span": f"{draw.randrange(45_000):04x}"} for row in requests(seed)]
        assert {*counted(rows).tag_sets(SOURCE).drop_curve[0].tags} == {"id", "span"}, f"seed {seed}"


def test_what_is_left_lies_within_its_bounds(estimated: tuple[list[TagSetCounter], list[TagSets]]) -> None:
    rows = requests(0)
    for contribution in estimated[1][0].contributions:
        truth = left_of(rows, {contribution.tag, *contribution.together_with})
        assert contribution.at_least is not None
        assert contribution.at_least <= truth
        # The upper bound holds in expectation; here what is left either shows in full or hardly at all.
        assert truth <= contribution.series_left * 1.1


def test_values_are_counted_one_by_one_though_series_are_sampled() -> None:
    columns = counted(requests(0)).columns()
    assert {name: column.values for name, column in columns.items()} == {
        "id": Counted(50_000),
        "host": Counted(200),
        "rack": Counted(10),
        "version": Counted(7),
    }
    assert columns["id"].absent_ratio == 0
    version = columns["version"]
    assert version.absent_error is not None
    assert abs(version.absent_ratio - 0.25) < 4 * version.absent_error


@pytest.mark.costly
@pytest.mark.parametrize("groups", [1, 30, 3000, 15_000])
def test_at_most_is_no_less_than_the_truth_on_average(groups: int) -> None:
    most = []
    for seed in range(15):
        rows = [{"id": f"{seed}-{i}", "group": f"{seed}-{i * 7919 % groups}"} for i in range(20_000)]
        sets = counted(rows).tag_sets(SOURCE)
        found = next(c for c in sets.contributions if c.tag == "id")
        assert found.at_least is not None
        assert found.at_least <= groups, f"seed {seed}"
        most.append(found.series_left)
    assert statistics.mean(most) >= groups * 0.95


def test_order_batches_and_repeats_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cardinality, "_NUMBER_AT", 100)
    rows = requests(1, 5000)
    once = counted(rows)
    twice = rows + rows
    random.Random(2).shuffle(twice)
    again = counted(twice, size=333)
    assert again.series == once.series
    assert again.columns() == once.columns()
    assert set(again.tag_sets(SOURCE).dependencies) == set(once.tag_sets(SOURCE).dependencies)


def test_up_to_the_ceiling_all_is_exact() -> None:
    rows = requests(3, CEILING)
    below, without = counted(rows), counted(rows, ceiling=None)
    assert below.sampled is None
    assert below.tag_sets(SOURCE) == without.tag_sets(SOURCE)
    assert below.columns() == without.columns()


def test_a_tag_that_turns_up_after_thinning_was_absent_before() -> None:
    counter = TagSetCounter(["id"], ceiling=CEILING)
    counter.add(pa.record_batch({"id": [f"a{i}" for i in range(5000)]}))
    counter.add(pa.record_batch({"id": [f"b{i}" for i in range(5000)], "zone": ["x"] * 5000}))
    zone = counter.columns()["zone"]
    assert zone.values == Counted(1)
    assert zone.absent_error is not None
    assert abs(zone.absent_ratio - 0.5) < 4 * zone.absent_error


def kept_bytes(counter: TagSetCounter) -> int:
    held = [part for c in counter._columns.values() for part in (c._values, *c._parts, *c._waiting)]
    return sum(part.nbytes for part in [*held, *counter._waiting])


def test_what_is_kept_does_not_grow_with_what_streams_by(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cardinality, "_NUMBER_AT", 1000)
    counter, most = TagSetCounter(["id", "host", "rack", "version"], ceiling=CEILING), []
    for part in range(4):
        peak = 0
        rows = requests(part, 20_000)
        for at in range(0, len(rows), 500):
            counter.add(pa.RecordBatch.from_pylist(rows[at : at + 500]))
            peak = max(peak, kept_bytes(counter))
        most.append(peak)
    assert max(most[1:]) < 1.25 * most[0]


@settings(deadline=None, max_examples=examples(200))
@given(st.integers(0, 2**32), st.integers(1, 3000), st.integers(16, 400))
def test_different_hashes_are_counted_within_the_error(seed: int, count: int, most: int) -> None:
    values = np.random.default_rng(seed).integers(0, 2**64 - 1, count, np.uint64)
    distinct = Distinct(most)
    for part in np.array_split(np.concatenate([values, values[::2]]), 5):
        distinct.add(part)
    found = distinct.counted
    if count <= most:
        assert found == Counted(count)
    else:
        assert found.standard_error is not None
        # 6.5 standard errors: no false alarm in hundreds of runs, though the tails are a binomial's.
        assert abs(found.value - count) < 6.5 * found.standard_error, f"seed {seed}"
        assert len(distinct._kept) <= most


def test_a_threshold_keeps_its_share() -> None:
    values = np.arange(1 << 16, dtype=np.uint64) << np.uint64(48)
    for halvings in (0, 1, 5, 16):
        threshold = HashThreshold(halvings)
        assert np.count_nonzero(threshold.below(values)) == len(values) * threshold.share


def test_a_dependency_found_is_one_of_the_sample() -> None:
    rows = requests(5)
    # One series of fifty thousand goes against it: a sample of a thousand will hardly see it.
    rows[0] = rows[0] | {"rack": "elsewhere"}
    sets = counted(rows).tag_sets(SOURCE)
    assert sets.sampled is not None
    assert Dependency("host", "rack") not in counted(rows, ceiling=None).tag_sets(SOURCE).dependencies
    assert sets.sampled < 1001
