"""Value sets in the history: whatever days come in whatever order, they are those of the days put in order."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select, update

from tests.builders import a_profile, a_result
from tests.history.conftest import EXAMPLES
from tsaudit.analysis.values import stored_value_sets, value_sets
from tsaudit.analysis.values.hashes import hash_values
from tsaudit.analysis.values.value_sets import ValueSet
from tsaudit.history.removal import DAILY, WEEKLY, compact
from tsaudit.history.schema import value_set
from tsaudit.history.store import Store
from tsaudit.history.value_sets import REMEMBERED, RememberedValues, prune
from tsaudit.model.figures import Subject

FIRST = date(2026, 1, 5)
FEBRUARY = 27
"""Days from the first until the first day of the next month."""
HOST = Subject("main", "cpu", "host")
SERIES = Subject("main", "cpu")
OTHER = Subject("main", "cpu", "core")


def on(number: int) -> date:
    return FIRST + timedelta(days=number)


def audit(store: Store, day: date, *seen: tuple[Subject, Iterable[str]], target: str = "demo") -> None:
    """What an audit that lists these does with the value sets."""
    values = RememberedValues(store, target, day)
    for subject, names in seen:
        values.keep(subject, values.of(subject).observe(names, day))
    store.save(a_profile(day=day, target=target), a_result(day=day, target=target), None, values.write)


def stored(store: Store, day: date, subject: Subject = HOST, target: str = "demo") -> ValueSet:
    """The set with all days before the day."""
    return RememberedValues(store, target, day).of(subject)


def rows(store: Store, subject: Subject = HOST) -> list[Any]:
    with store.reading() as connection:
        mine = select(value_set).where(value_set.c.subject == subject.key).order_by(value_set.c.day)
        return list(connection.execute(mine).all())


def in_order(days: dict[int, Iterable[str]]) -> ValueSet:
    values = ValueSet.empty()
    for number, names in sorted(days.items()):
        values = values.observe(names, on(number))
    return values


def periods_of(days: int, patch: pytest.MonkeyPatch) -> None:
    """Sets are stored in full on the first of so many days instead of a month."""
    patch.setattr("tsaudit.history.value_sets.month_of", lambda day: day.toordinal() // days)


def test_a_history_without_audits_knows_no_values(store: Store) -> None:
    assert stored(store, FIRST) == ValueSet.empty()


def test_a_set_is_that_of_the_days_before(store: Store) -> None:
    days = {0: {"a", "b"}, 1: {"b"}, 4: {"b", "c"}, 5: set()}
    for number, names in days.items():
        audit(store, on(number), (HOST, names))
    for until in range(8):
        assert stored(store, on(until)) == in_order({n: v for n, v in days.items() if n < until})


def test_subjects_and_targets_are_kept_apart(store: Store) -> None:
    audit(store, FIRST, (HOST, {"a"}), (SERIES, {"b"}))
    audit(store, FIRST, (HOST, {"c"}), target="other")
    assert stored(store, on(1)) == in_order({0: {"a"}})
    assert stored(store, on(1), SERIES) == in_order({0: {"b"}})
    assert stored(store, on(1), OTHER) == ValueSet.empty()
    assert stored(store, on(1), target="other") == in_order({0: {"c"}})


histories = st.lists(
    st.tuples(st.integers(0, 12), st.none() | st.sets(st.sampled_from("abcdefgh"), max_size=6)), min_size=1, max_size=10
)


def test_any_order_of_audits_gives_the_days_in_order(store: Store) -> None:
    """Days come late, twice, or not at all; on some the tag is not listed (None), which changes nothing."""

    @settings(max_examples=EXAMPLES[store.engine.dialect.name], deadline=None)
    @given(histories, st.integers(1, 5))
    def holds(audits: list[tuple[int, set[str] | None]], period: int) -> None:
        target, known = uuid.uuid4().hex, dict[int, Iterable[str]]()
        with pytest.MonkeyPatch.context() as patch:
            periods_of(period, patch)
            for number, names in audits:
                if names is not None:
                    known[number] = names
                    list_values(store, target, on(number), names)
                for until in (number + 1, 13):
                    expected = in_order({n: v for n, v in known.items() if n < until})
                    assert stored(store, on(until), target=target) == expected

    holds()


daily_audits = st.lists(
    st.tuples(st.sampled_from([1, 1, 1, 2, 5, 0, -1, -3]), st.sets(st.sampled_from("abcdefghij"), max_size=8)),
    min_size=8,
    max_size=24,
)


@pytest.mark.full
def test_sets_are_the_same_however_many_days_compaction_deleted(store: Store) -> None:
    """As in a history that is never compacted. Audits go on, repeat a day, or come late."""

    @settings(max_examples=EXAMPLES[store.engine.dialect.name], deadline=None)
    @given(daily_audits, st.integers(1, 5))
    def holds(audits: list[tuple[int, set[str]]], period: int) -> None:
        targets, newest = [uuid.uuid4().hex, uuid.uuid4().hex], 0
        with pytest.MonkeyPatch.context() as patch:
            periods_of(period, patch)
            patch.setattr("tsaudit.history.value_sets.REMEMBERED", timedelta(days=6))
            for step, names in audits:
                number = max(newest + step, 0)
                newest = max(newest, number)
                found = [list_values(store, target, on(number), names) for target in targets]
                with store.writing("test") as connection:
                    prune(connection, targets[0], on(newest - 12), on(newest - 300))
                assert found[0] == found[1]
            for until in range(max(newest - 12, 0), newest + 2):
                pruned, complete = (stored(store, on(until), target=target) for target in targets)
                assert pruned == complete

    holds()


def list_values(store: Store, target: str, day: date, names: Iterable[str]) -> ValueSet:
    """The set before the day, to which the values were added."""
    values = RememberedValues(store, target, day)
    before = values.of(HOST)
    values.keep(HOST, before.observe(names, day))
    with store.writing(target) as connection:
        values.write(connection)
    return before


def test_a_past_day_of_a_sketch_is_put_in_its_place(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(value_sets, "MAX_EXACT", 20)
    monkeypatch.setattr(value_sets, "SKETCH_SIZE", 8)
    days: dict[int, Iterable[str]] = {n: {f"{n}-{i}" for i in range(15)} for n in (0, 2, 3)}
    for number, names in days.items():
        audit(store, on(number), (HOST, names))
    audit(store, on(1), (HOST, {f"1-{i}" for i in range(15)}))
    found = stored(store, on(4))
    assert not found.exact
    assert found.days.tolist() == [on(n).toordinal() for n in range(4)]
    assert found.distinct.tolist() == [15] * 4
    first = {hash_values([f"{n}-{i}"])[0]: on(n).toordinal() for n in range(4) for i in range(15)}
    assert [first[h] for h in found.hashes] == found.first.tolist()


def test_an_unchanged_day_costs_few_bytes_and_a_month_begins_with_a_full_set(store: Store) -> None:
    names = [f"host-{i}" for i in range(2000)]
    for number in range(FEBRUARY + 3):
        audit(store, on(number), (HOST, names))
    assert [row.whole for row in rows(store)] == [1] + [0] * (FEBRUARY - 1) + [1, 0, 0]
    assert max(len(row.data) for row in rows(store) if not row.whole) < 100


def test_a_full_set_is_due_when_the_set_is_not_the_last_one_plus_a_day(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(value_sets, "MAX_EXACT", 20)
    monkeypatch.setattr(value_sets, "SKETCH_SIZE", 8)
    for number in range(4):
        audit(store, on(number), (HOST, {f"{number}-{i}" for i in range(15)}))
    assert [row.whole for row in rows(store)] == [1, 1, 0, 0], "on the second day it becomes a sketch"


def test_a_whole_set_forgets_what_was_long_not_seen(store: Store) -> None:
    far = REMEMBERED.days + 31
    audit(store, FIRST, (HOST, ["a", "b"]))
    for number in (FEBRUARY, far - 1, far, far + 1):
        audit(store, on(number), (HOST, ["b"]))
    assert stored(store, on(far + 5)).hashes.tolist() == hash_values(["b"]).tolist()


def test_a_broken_transaction_leaves_the_day_before(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    audit(store, FIRST, (HOST, ["a"]))
    monkeypatch.setattr("tsaudit.history.store._figure_rows", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        audit(store, on(1), (HOST, ["b"]))
    assert store.days("demo") == [FIRST]
    assert stored(store, on(2)) == in_order({0: ["a"]})


def test_a_later_save_of_the_same_day_keeps_its_values(store: Store) -> None:
    audit(store, FIRST, (HOST, ["a"]))
    store.save(None, a_result(day=FIRST), None)
    store.save(a_profile(day=FIRST), a_result(day=FIRST), None)
    assert stored(store, on(1)) == in_order({0: ["a"]})


@pytest.mark.parametrize("together", [[HOST, SERIES, OTHER], [HOST], []])
def test_sets_are_the_same_whichever_are_read_together(store: Store, together: list[Subject]) -> None:
    for number in range(FEBRUARY - 5, FEBRUARY + 3):
        audit(store, on(number), (HOST, [f"v{number}", "a"]), *([(SERIES, ["s"])] if number % 3 else []))
    for number in range(FEBRUARY - 5, FEBRUARY + 4):
        values = RememberedValues(store, "demo", on(number))
        values.expect(together)
        days = range(FEBRUARY - 5, number)
        assert values.of(HOST) == in_order({n: [f"v{n}", "a"] for n in days})
        assert values.of(SERIES) == in_order({n: ["s"] for n in days if n % 3})
        assert values.of(OTHER) == ValueSet.empty()


def test_an_audit_overtaken_by_one_of_an_earlier_day_writes_nothing(store: Store) -> None:
    audit(store, FIRST, (HOST, ["a"]))
    slow = RememberedValues(store, "demo", on(5))
    slow.keep(HOST, slow.of(HOST).observe(["b"], on(5)))
    audit(store, on(3), (HOST, ["c"]))
    store.save(a_profile(day=on(5)), a_result(day=on(5)), None, slow.write)
    assert stored(store, on(9)) == in_order({0: ["a"], 3: ["c"]})


def test_another_hash_begins_a_new_set_and_damages_none(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    audit(store, FIRST, (HOST, ["a"]))
    monkeypatch.setattr(stored_value_sets, "HASH_VERSION", 2)
    assert stored(store, on(1)) == ValueSet.empty()
    audit(store, on(1), (HOST, ["a", "b"]))
    audit(store, on(2), (HOST, ["b"]))
    assert stored(store, on(3)) == in_order({1: ["a", "b"], 2: ["b"]})
    monkeypatch.undo()
    assert stored(store, on(1)) == in_order({0: ["a"]})


def test_damaged_bytes_are_left_and_a_new_set_begun(store: Store) -> None:
    for number in range(3):
        audit(store, on(number), (HOST, [f"v{i}" for i in range(100)]))
    with store.writing("demo") as connection:
        damaged = update(value_set).where(value_set.c.day == on(1))
        connection.execute(damaged.values(data=stored_value_sets.DELTA + b"?" * 40))
    assert stored(store, on(3)) == ValueSet.empty()
    audit(store, FIRST, (HOST, ["late"]))
    assert [row.day for row in rows(store)] == [on(n) for n in range(3)]
    audit(store, on(3), (HOST, ["a"]))
    assert stored(store, on(4)) == in_order({3: ["a"]})


def test_names_too_long_for_an_index_are_not_followed(store: Store) -> None:
    long = Subject("main", "m" * 3000, "host")
    audit(store, FIRST, (long, ["a"]), (HOST, ["a"]))
    assert stored(store, on(1), long) == ValueSet.empty()
    assert stored(store, on(1)) == in_order({0: ["a"]})


def test_compaction_keeps_what_younger_days_need(store: Store) -> None:
    names = [f"host-{i}" for i in range(50)]
    days = {n: names[n % 7 :] for n in range(0, 145, 4)}
    for number, seen in days.items():
        audit(store, on(number), (HOST, seen))
    newest = max(days)
    young = range(newest - DAILY.days, newest + 2, 7)
    before = [stored(store, on(until)) for until in young]
    count = len(rows(store))

    compact(store, "demo", on(newest))

    assert [stored(store, on(until)) for until in young] == before
    left = rows(store)
    assert left[0].whole == 1
    assert DAILY.days / 4 <= len(left) < count
    audit(store, on(1), (HOST, ["too late"]))
    assert [row.day for row in rows(store)] == [row.day for row in left]


def test_compaction_forgets_tags_not_listed_for_a_year(store: Store) -> None:
    audit(store, FIRST, (HOST, ["a"]), (OTHER, ["b"]))
    for number in (WEEKLY.days - 1, WEEKLY.days + 1):
        audit(store, on(number), (HOST, ["a"]))
        compact(store, "demo", on(number))
        assert bool(rows(store, OTHER)) is (number < WEEKLY.days)
    with store.reading() as connection:
        assert connection.execute(select(func.count()).select_from(value_set)).scalar_one() > 0


def test_sets_of_one_content_are_packed_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    packed: list[ValueSet] = []

    def noted(pack: Callable[..., bytes]) -> Callable[..., bytes]:
        return lambda *sets: packed.append(sets[-1]) or pack(*sets)

    monkeypatch.setattr(stored_value_sets, "to_bytes", noted(stored_value_sets.to_bytes))
    monkeypatch.setattr(stored_value_sets, "delta", noted(stored_value_sets.delta))
    days = {0: "ab", 1: "abc"}
    for number, names in days.items():
        audit(store, on(number), (HOST, names), (OTHER, names), (SERIES, "xy"))
    assert [values.distinct.tolist() for values in packed] == [[2], [2], [2, 3], [2, 2]]
    assert stored(store, on(2)) == stored(store, on(2), OTHER) == in_order(dict(days))
    assert stored(store, on(2), SERIES) == in_order({0: "xy", 1: "xy"})
