"""Value sets that are nearly full: what is in use stays exact, and what is gone makes room."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.analysis.values.observations import counted, day
from tsaudit.analysis.values import stored_value_sets as stored
from tsaudit.analysis.values import value_sets
from tsaudit.analysis.values.value_sets import REACH_DAYS, ValueSet


@pytest.fixture(autouse=True)
def small_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(value_sets, "MAX_EXACT", 4_000)
    monkeypatch.setattr(value_sets, "SKETCH_SIZE", 400)


def churning(live: int, a_day: int, days: int) -> Iterator[list[str]]:
    """The values in use on each day, of which the oldest are replaced."""
    for number in range(days):
        yield [f"v{i}" for i in range(number * a_day, number * a_day + live)]


def grown(live: int, a_day: int, days: int) -> Iterator[ValueSet]:
    values = ValueSet.empty()
    for number, names in enumerate(churning(live, a_day, days)):
        values = values.observe(names, day(number))
        yield values


def test_new_values_are_counted_exactly_however_long_a_set_has_churned() -> None:
    sizes = []
    for number, values in enumerate(grown(800, 40, 300)):
        sizes.append(len(values.hashes))
        assert values.exact
        assert values.on_last_day().sum() == 800
        new = values.new_on(day(number))
        assert (new.value, new.standard_error) == (800 if number == 0 else 40, 0)
    assert 3_900 < max(sizes) <= 4_000, "it uses the room it has"
    assert values.thinned_before == 0, "forgetting the oldest is enough"


def test_what_the_figures_need_is_not_forgotten() -> None:
    """All of the last five weeks are kept where they fit."""
    *_, values = grown(1_200, 45, 200)
    recent = values.last > values.days[-1] - REACH_DAYS
    assert values.counted(recent).value == 1_200 + 45 * (REACH_DAYS - 1)


def test_of_what_is_long_gone_a_sample_is_kept_where_not_all_fits() -> None:
    """2,000 in use and 3,600 gone in the last five weeks: more than there is room for."""
    errors, thinned = [], 0
    for number, values in enumerate(grown(2_000, 100, 200)):
        assert values.exact
        assert len(values.hashes) <= 4_000
        new = values.new_on(day(number))
        assert (new.value, new.standard_error) == (2_000 if number == 0 else 100, 0)
        week = values.counted(values.last > values.days[-1] - 7)
        assert (week.value, week.standard_error) == (2_000 + 100 * min(number, 6), 0), "a pause of a week is no matter"
        if values.thinned_before and number > REACH_DAYS:
            thinned += 1
            month = values.counted(values.last > values.days[-1] - 28)
            errors.append((month.value - 4_700) / max(month.standard_error, 1))
            assert values.weights.sum() == pytest.approx(counted(values).value)
    assert thinned > 100
    assert max(map(abs, errors)) < 4


def test_a_value_that_pauses_for_a_week_is_not_new() -> None:
    values = ValueSet.empty()
    for number, names in enumerate(churning(2_000, 100, 120)):
        seasonal = ["weekend-1", "weekend-2"] if number % 7 >= 5 else []
        values = values.observe([*names, *seasonal], day(number))
        assert values.new_on(day(number)).value == (2_000 if number == 0 else 100) + (2 if number == 5 else 0)


def test_a_day_without_values_empties_no_full_set() -> None:
    *_, values = grown(2_000, 100, 120)
    names = list(churning(2_000, 100, 121))[-1]
    back = values.observe([], day(120)).observe(names, day(121))
    assert back.new_on(day(121)).value == 100


def test_a_set_becomes_a_sketch_if_a_week_does_not_fit() -> None:
    for number, values in enumerate(grown(1_000, 1_000, 40)):
        assert values.exact == (number < 4)
    assert len(values.hashes) == 400
    assert values.new_on(day(39)).value == pytest.approx(1_000, rel=0.7)


def test_a_set_that_is_nearly_full_of_values_in_use_stays_exact() -> None:
    for number, values in enumerate(grown(3_700, 10, 150)):
        assert values.exact
        assert values.new_on(day(number)).value == (3_700 if number == 0 else 10)


def test_a_set_is_whole_again_once_all_is_forgotten_that_a_sample_stood_for() -> None:
    *_, values = grown(2_000, 100, 120)
    assert values.thinned_before
    whole = values.prune(day(114))
    assert (whole.thinned_before, whole.weights.max()) == (0, 1)
    assert values.prune(day(90)).thinned_before == values.thinned_before


def test_a_thinned_set_is_stored_with_what_it_lacks() -> None:
    before = ValueSet.empty()
    replayed, deltas = before, 0
    for after in grown(2_000, 100, 120):
        if stored.continues(before, after):
            replayed = stored.with_delta(replayed, stored.delta(before, after))
            deltas += 1
        else:
            replayed = stored.from_bytes(stored.to_bytes(after))
            with pytest.raises(ValueError, match="there is no delta"):
                stored.delta(before, after)
        assert replayed == after
        before = after
    assert before.thinned_before
    assert deltas > 100, "room is made rarely"


def test_checksums_differ_by_what_a_set_lacks() -> None:
    *_, values = grown(2_000, 100, 120)
    whole = ValueSet(*values.columns(), values.bound)
    assert stored.checksum(values) != stored.checksum(whole)
    assert values != whole
