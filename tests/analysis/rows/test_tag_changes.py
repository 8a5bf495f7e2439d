"""What rows tell of a tag's changes, on rows of which it is known what made them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import a_source
from tsaudit.analysis.codes import Codes
from tsaudit.analysis.rows.over_time import Numbers, changes_of, other_sources, shared
from tsaudit.model.columns import TagChanges

SOURCES, ROWS = 20, 200
MEASURED = a_source()


def changes(tag: Codes, source: Codes, time: Codes, numbers: Numbers | None = None) -> TagChanges:
    return changes_of(tag, source, time, numbers, measured=MEASURED)


def expected(*figures: int) -> TagChanges:
    values, sources, instants = figures
    return TagChanges((), values, 0, sources, 0, 0, 0, 0.0, instants, 0, None, MEASURED)


def _rows(together: bool = True) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """Source and time of every row; `together`: all sources report at the same instants."""
    random = np.random.default_rng(3)
    source = np.tile(np.arange(SOURCES), ROWS)
    time = np.repeat(np.arange(ROWS), SOURCES) if together else random.permutation(SOURCES * ROWS)
    return source.astype(np.int64), time.astype(np.int64), random


def test_attribute_that_changes_once_stays_itself_for_long() -> None:
    source, time, random = _rows()
    switch = random.integers(20, ROWS - 20, SOURCES)
    colour = (time >= switch[source]).astype(np.int64)
    colour[source >= 5] = 0
    found = changes(colour, source, time)
    assert (found.sources, found.changing, found.changes, found.clashes) == (SOURCES, 5, 5, 0)
    assert found.pairs == 5 * (ROWS - 1)
    assert found.changes < 0.05 * found.by_chance


def test_levels_of_messages_come_as_by_chance() -> None:
    source, time, random = _rows()
    found = changes((random.random(len(source)) < 0.05).astype(np.int64), source, time)
    assert found.changing == SOURCES
    assert 0.85 < found.changes / found.by_chance < 1.15


@pytest.mark.parametrize("together", [True, False])
def test_tag_that_names_sources_clashes_or_comes_as_by_chance(together: bool) -> None:
    source, time, _ = _rows(together)
    found = changes(source, np.zeros_like(source), time)
    if together:
        assert found.clashes == found.instants == ROWS
    else:
        assert found.clashes == 0
        assert 0.95 < found.changes / found.by_chance < 1.05


def test_curve_is_smooth_and_noise_is_not() -> None:
    source, time, random = _rows()
    numbers = np.round(20 + 5 * np.sin(time / 15 + source) + random.normal(0, 0.1, len(time)), 1)
    values, codes = np.unique(numbers, return_inverse=True)
    curve = changes(codes.astype(np.int64), source, time, values)
    assert (curve.changing, curve.clashes) == (SOURCES, 0)
    assert curve.roughness is not None
    assert curve.roughness < 0.15
    noise = changes(random.permutation(codes).astype(np.int64), source, time, values)
    assert noise.roughness is not None
    assert 0.9 < noise.roughness < 1.1


def test_nothing_when_there_are_no_rows_or_no_changes() -> None:
    nothing = np.empty(0, np.int64)
    assert changes(nothing, nothing, nothing) == expected(0, 0, 0)
    one = np.zeros(3, np.int64)
    assert changes(one, one, np.arange(3), np.array([1.0])) == expected(1, 1, 3)
    assert changes(one, np.arange(3), np.arange(3)) == expected(1, 0, 3)


def test_roughness_when_some_values_are_no_numbers() -> None:
    codes = np.array([0, 1, 2, 1])
    found = changes(codes, np.zeros(4, np.int64), np.arange(4), np.array([1.0, np.nan, 2.0]))
    assert found.changes == 3
    assert found.roughness is None


CODES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 4)), max_size=30)


@settings(deadline=None)
@given(CODES)
def test_counts_when_counted_one_by_one(rows: list[tuple[int, int, int]]) -> None:
    seen: dict[int, dict[int, set[int]]] = {}
    for tag, source, time in rows:
        seen.setdefault(source, {}).setdefault(time, set()).add(tag)
    first = [[min(values) for _, values in sorted(instants.items())] for instants in seen.values()]
    switches = [sum(a != b for a, b in itertools.pairwise(c)) for c in first]
    array = np.array(rows, np.int64).reshape(-1, 3)
    found = changes(array[:, 0], array[:, 1], array[:, 2])
    sources = {tag: {s for t, s, _ in rows if t == tag} for tag, _, _ in rows}
    assert found.values == len(sources)
    tags = {source: {t for t, s, _ in rows if s == source} for _, source, _ in rows}
    assert shared(array[:, 0], array[:, 1]) == sum(len(s) > 1 for s in sources.values())
    assert shared(array[:, 1], array[:, 0]) == sum(len(t) > 1 for t in tags.values())
    assert shared(array[:, 0], array[:, 0]) == 0
    assert found.sources == sum(len(c) > 1 for c in first)
    assert found.changing == sum(n > 0 for n in switches)
    assert found.changes == sum(switches)
    assert found.pairs == sum(len(c) - 1 for c, n in zip(first, switches, strict=True) if n)
    assert found.instants == sum(len(c) for c in first)
    assert found.clashes == sum(len(v) > 1 for i in seen.values() for v in i.values())


@settings(deadline=None)
@given(CODES)
def test_other_sources_when_compared_with_the_rows(rows: list[tuple[int, int, int]]) -> None:
    array = np.array(rows, np.int64).reshape(-1, 3)
    numbers = other_sources([array[:, i] for i in range(3)])
    for i in range(3):
        rest = [tuple(v for k, v in enumerate(row) if k != i) for row in rows]
        assert [a == b for a in rest for b in rest] == [
            a == b for a in numbers[i].tolist() for b in numbers[i].tolist()
        ]


def test_other_sources_when_there_is_one_tag_or_none() -> None:
    assert other_sources([]) == []
    assert other_sources([np.array([3, 4])])[0].tolist() == [0, 0]
