"""Value sets in the history: whatever days come in whatever order, they are those of the days put in order."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select, update

from tests.builders import a_profile, a_result
from tsaudit.analysis.values import packed_columns, stored_value_sets, value_sets
from tsaudit.analysis.values.value_hashes import hash_values
from tsaudit.analysis.values.value_sets import ValueSet
from tsaudit.history.compaction import DAILY, WEEKLY, compact
from tsaudit.history.schema import value_set
from tsaudit.history.store import Store
from tsaudit.history.value_set_chains import MOST_CHANGES, REMEMBERED, Form
from tsaudit.history.value_sets import RememberedValues
from tsaudit.model.subject import Subject

FIRST = date(2026, 1, 5)
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
    store.save(a_profile(day=day, target=target), a_result(day=day, target=target), None, values)


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


@settings(max_examples=40, deadline=None)
@given(histories, st.integers(1, 5))
def test_any_order_of_audits_gives_the_days_in_order(
    store: Store, audits: list[tuple[int, set[str] | None]], most: int
) -> None:
    """Days come late, twice, or not at all; on some the tag is not listed (None), which changes nothing."""
    target, known = uuid.uuid4().hex, dict[int, Iterable[str]]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tsaudit.history.value_set_chains.MOST_CHANGES", most)
        for number, names in audits:
            audit(store, on(number), *([] if names is None else [(HOST, names)]), target=target)
            if names is not None:
                known[number] = names
            for until in (number + 1, 13):
                expected = in_order({n: v for n, v in known.items() if n < until})
                assert stored(store, on(until), target=target) == expected


daily_audits = st.lists(
    st.tuples(st.sampled_from([1, 1, 1, 2, 5, 0, -1, -3]), st.sets(st.sampled_from("abcdefghij"), max_size=8)),
    min_size=10,
    max_size=40,
)


@settings(max_examples=30, deadline=None)
@given(daily_audits, st.integers(1, 5))
def test_sets_are_the_same_however_little_of_them_is_stored(
    store: Store, audits: list[tuple[int, set[str]]], most: int
) -> None:
    """As in a history that is never compacted and keeps every set in full. Audits go on, repeat a day, or come late."""
    kept, thinned, newest = uuid.uuid4().hex, uuid.uuid4().hex, 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tsaudit.history.value_set_chains.MOST_CHANGES", most)
        patch.setattr("tsaudit.history.value_set_chains.REMEMBERED", timedelta(days=6))
        patch.setattr("tsaudit.history.compaction.DAILY", timedelta(days=12))
        for step, names in audits:
            number = max(newest + step, 0)
            newest = max(newest, number)
            with pytest.MonkeyPatch.context() as whole:
                whole.setattr("tsaudit.history.value_sets._shorten", lambda *_: None)
                audit(store, on(number), (HOST, names), target=kept)
            audit(store, on(number), (HOST, names), target=thinned)
            compact(store, thinned, on(newest))
            for until in range(max(newest - 12, 0), newest + 2):
                assert stored(store, on(until), target=thinned) == stored(store, on(until), target=kept)


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


def test_an_unchanged_day_costs_few_bytes_and_a_whole_set_comes_in_time(store: Store) -> None:
    names = [f"host-{i}" for i in range(2000)]
    for number in range(MOST_CHANGES + 3):
        audit(store, on(number), (HOST, names))
    kinds = [row.whole for row in rows(store)]
    assert kinds == [1] + [0] * MOST_CHANGES + [1, 0]
    assert max(len(row.data) for row in rows(store) if not row.whole) < 100


def test_sets_in_the_middle_are_left_as_changes(store: Store) -> None:
    names = [f"host-{i}" for i in range(2000)]
    for number in range(5 * (MOST_CHANGES + 1)):
        audit(store, on(number), (HOST, names[number:]))
    found = [row.whole for row in rows(store) if row.whole]
    assert found == [Form.WHOLE, Form.WAS_WHOLE, Form.WAS_WHOLE, Form.WAS_WHOLE, Form.WHOLE]
    assert sum(len(row.data) for row in rows(store)) < 3 * len(rows(store)[0].data)
    assert stored(store, on(50)) == in_order({number: names[number:] for number in range(50)})


def test_a_whole_set_is_due_when_changes_outgrow_the_last_one(store: Store) -> None:
    for number in range(4):
        audit(store, on(number), (HOST, [f"{number}-{i}" for i in range(500)]))
    assert [row.whole for row in rows(store)][:3] == [1, 0, 1]


def test_a_whole_set_forgets_what_was_long_not_seen(store: Store) -> None:
    far = REMEMBERED.days + 5
    audit(store, FIRST, (HOST, ["a", "b"]))
    for number in range(far - MOST_CHANGES, far + 2):
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
    for number in range(MOST_CHANGES + 5):
        audit(store, on(number), (HOST, [f"v{number}", "a"]), *([(SERIES, ["s"])] if number % 3 else []))
    for number in range(MOST_CHANGES + 6):
        values = RememberedValues(store, "demo", on(number))
        values.expect(together)
        days = range(number)
        assert values.of(HOST) == in_order({n: [f"v{n}", "a"] for n in days})
        assert values.of(SERIES) == in_order({n: ["s"] for n in days if n % 3})
        assert values.of(OTHER) == ValueSet.empty()


def test_an_audit_overtaken_by_one_of_an_earlier_day_writes_nothing(store: Store) -> None:
    audit(store, FIRST, (HOST, ["a"]))
    slow = RememberedValues(store, "demo", on(5))
    slow.keep(HOST, slow.of(HOST).observe(["b"], on(5)))
    audit(store, on(3), (HOST, ["c"]))
    store.save(a_profile(day=on(5)), a_result(day=on(5)), None, slow)
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
        connection.execute(damaged.values(data=packed_columns.DELTA + b"?" * 40))
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
    days = {n: names[n % 7 :] for n in range(0, 140, 2)}
    for number, seen in days.items():
        audit(store, on(number), (HOST, seen))
    newest = max(days)
    before = [stored(store, on(until)) for until in range(newest - DAILY.days, newest + 2)]
    count = len(rows(store))

    compact(store, "demo", on(newest))

    assert [stored(store, on(until)) for until in range(newest - DAILY.days, newest + 2)] == before
    left = rows(store)
    assert left[0].whole == 1
    assert DAILY.days / 2 <= len(left) < count
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


def test_a_history_of_the_version_before_goes_on(tmp_path: Path) -> None:
    """Made by the first migration alone, with a snapshot in it."""
    from alembic import command
    from alembic.config import Config
    from sqlalchemy import text

    from tsaudit.history import database

    address = f"sqlite:///{tmp_path}/h.db"
    engine = database._sqlite(database._checked(address))
    with engine.begin() as connection:
        config = Config()
        config.set_main_option("script_location", str(Path(database.__file__).parent / "migrations"))
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        connection.execute(
            text(
                "INSERT INTO snapshot VALUES (1, 'demo', '2026-01-04', 'duckdb', '2026-01-04', '', 'ok', 1, '', '', '')"
            )
        )
    engine.dispose()
    with Store.open(address) as store:
        assert store.days("demo") == [date(2026, 1, 4)]
        audit(store, FIRST, (HOST, ["a"]))
        assert stored(store, on(1)) == in_order({0: ["a"]})
