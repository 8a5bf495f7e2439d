"""Snapshots are stored as what differs from a month's base text: small, and read back exactly."""

from __future__ import annotations

import random
import tracemalloc
import zlib
from dataclasses import replace
from datetime import date, timedelta
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import func, select, update

from tests.builders import a_finding, a_measurement, a_profile, a_result, a_rule_result, a_tag
from tsaudit.config.settings import Incidents
from tsaudit.history import incidents
from tsaudit.history.removal import compact, remove_day
from tsaudit.history.schema import base_text, incident_day, snapshot
from tsaudit.history.store import Packer, Store
from tsaudit.model.finding import AuditResult, Finding, RuleResult
from tsaudit.model.jsonfile import to_json
from tsaudit.model.profile import Profile

POLICY: Final = Incidents(open_after=1, resolve_after=1)
FIRST: Final = date(2026, 3, 25)
APRIL: Final = 7
"""Days from the first until the first day of the next month."""


def on(days: int) -> date:
    return FIRST + timedelta(days=days)


def profile_of(names: str, day: date) -> Profile:
    """30 measurements with names that do not compress."""
    chance = random.Random(names)
    found = [
        a_measurement(f"m{chance.getrandbits(200):x}", tags=(a_tag(sample=(f"{chance.getrandbits(400):x}",)),))
        for _ in range(30)
    ]
    return a_profile(*found, day=day)


def result_of(day: date) -> AuditResult:
    return a_result(a_rule_result(a_finding()), day=day)


def owner_of(_finding: Finding, _rule: RuleResult) -> str:
    return "team"


def save(store: Store, days: int, names: str = "a") -> None:
    store.save(profile_of(names, on(days)), result_of(on(days)), None)
    incidents.update(store, result_of(on(days)), POLICY, owner_of)


def value(store: Store, column: Any, *where: Any) -> Any:
    with store.reading() as connection:
        return connection.execute(select(column).where(*where)).scalar_one()


def bases(store: Store) -> dict[date, bytes]:
    with store.reading() as connection:
        return {row.month: row.data for row in connection.execute(select(base_text))}


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_packed_text_is_unpacked_with_its_base(base: bytes, text: bytes) -> None:
    assert Packer(base).unpacked(Packer(base).packed(text)) == text


@given(st.binary(max_size=300), st.binary(max_size=300), st.integers(0, 5))
def test_what_was_packed_without_a_base_is_unpacked_with_any(base: bytes, text: bytes, repeats: int) -> None:
    assert Packer(base).unpacked(Packer().packed(text * repeats)) == text * repeats
    assert Packer(base).unpacked(Packer().packed(base * repeats + text)) == base * repeats + text


def test_packed_text_is_short_when_the_base_has_it() -> None:
    text = random.Random(1).randbytes(300_000)
    assert len(Packer(text + b"x").packed(text)) < 100
    assert len(Packer(text).packed(text[:1_000])) < 100


def test_unpacked_rejects_what_has_another_base() -> None:
    packed = Packer(b"one base" * 100).packed(b"one base" * 50)
    for other in (b"", b"two base" * 100):
        with pytest.raises(ValueError, match="cannot be decompressed"):
            Packer(other).unpacked(packed)


def test_later_days_take_a_fraction_and_are_read_back(store: Store) -> None:
    for day in range(5):
        save(store, day)
    assert list(bases(store)) == [date(2026, 3, 1)]
    size = func.length(snapshot.c.profile) + func.length(snapshot.c.result)
    alone = len(zlib.compress(to_json(profile_of("a", FIRST)))) + len(zlib.compress(to_json(result_of(FIRST))))
    assert value(store, func.max(size)) < alone / 20
    for day in range(5):
        assert store.profile("demo", on(day)) == profile_of("a", on(day))
        assert store.result("demo", on(day)) == result_of(on(day))
    assert value(store, func.max(func.length(incident_day.c.finding))) < len(to_json(a_finding())) / 4
    assert incidents.current(store)[0].finding == a_finding()


def test_each_month_has_the_base_that_its_first_audit_made(store: Store) -> None:
    days = {1: "a", 2: "b", APRIL - 1: "b", APRIL: "b", APRIL + 1: "b", 0: "c"}
    for day, names in days.items():
        save(store, day, names)
    assert sorted(bases(store)) == [date(2026, 3, 1), date(2026, 4, 1)]
    assert Packer().unpacked(bases(store)[date(2026, 3, 1)]).startswith(to_json(profile_of("a", on(1))))
    assert value(store, func.length(snapshot.c.profile), snapshot.c.day == on(APRIL + 1)) < 200
    for day, names in days.items():
        assert store.profile("demo", on(day)) == profile_of(names, on(day))


def test_base_stays_when_its_day_is_audited_again_or_removed(store: Store) -> None:
    save(store, 0)
    save(store, 1)
    made = bases(store)
    save(store, 0, "b")
    remove_day(store, "demo", on(0), POLICY, owner_of)
    compact(store, "demo", on(1))
    assert bases(store) == made
    assert store.profile("demo", on(1)) == profile_of("a", on(1))


def test_days_without_a_profile_make_no_base_and_are_read_with_the_one_made_later(store: Store) -> None:
    result = result_of(FIRST)
    store.save(None, result, None)
    incidents.update(store, result, POLICY, owner_of)
    assert bases(store) == {}
    save(store, 1)
    assert len(bases(store)) == 1
    assert store.profile("demo", FIRST) is None
    assert store.result("demo", FIRST) == result
    assert [i.finding for i in incidents.current(store, day=FIRST)] == [a_finding()]


def test_text_longer_than_a_base_can_be_is_stored_by_itself(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tsaudit.history.store.LARGEST_BASE", 100)
    save(store, 0)
    assert bases(store) == {}
    assert store.profile("demo", FIRST) == profile_of("a", FIRST)


def test_text_longer_than_a_base_is_never_in_memory_as_a_whole(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    values = ("v" * 4_000,) * 25
    long = a_profile(*(a_measurement(f"m{n}", tags=(a_tag(sample=values),)) for n in range(200)), day=FIRST)
    length = len(to_json(long))
    monkeypatch.setattr("tsaudit.history.store.LARGEST_BASE", length // 50)
    store.save(profile_of("a", FIRST), result_of(FIRST), None)  # what is only loaded once
    tracemalloc.start()
    store.save(long, result_of(FIRST), None)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < length // 10
    assert store.profile("demo", FIRST) == long


def test_damaged_base_costs_the_days_stored_with_it_and_no_other(store: Store) -> None:
    save(store, 0)
    save(store, APRIL)
    with store.writing("test") as connection:
        connection.execute(update(base_text).where(base_text.c.month == date(2026, 4, 1)).values(data=b"damaged"))
    assert store.profile("demo", on(APRIL)) is None
    save(store, APRIL + 1)
    assert store.profile("demo", on(APRIL + 1)) == profile_of("a", on(APRIL + 1))
    assert store.timeline("demo", on(APRIL + 1)).previous == profile_of("a", FIRST)


def test_first_base_of_a_year_is_the_root_of_the_others(store: Store) -> None:
    """It stays as long as they need it, even if a day before it is audited later."""
    for month, names in ((3, "a"), (4, "a"), (1, "a"), (12, "b")):
        store.save(profile_of(names, date(2026, month, 5)), result_of(date(2026, month, 5)), None)
    store.save(profile_of("b", date(2027, 1, 5)), result_of(date(2027, 1, 5)), None)
    sizes = {month: len(data) for month, data in bases(store).items()}
    root, year_later = sizes[date(2026, 3, 1)], sizes[date(2027, 1, 1)]
    assert max(sizes[date(2026, month, 1)] for month in (1, 4)) < root / 20
    assert min(sizes[date(2026, 12, 1)], year_later) > root / 2
    with store.writing("test") as connection:
        connection.execute(snapshot.delete().where(snapshot.c.day == date(2026, 3, 5)))
    compact(store, "demo", date(2027, 1, 5))
    assert bases(store).keys() == sizes.keys()
    assert store.profile("demo", date(2026, 4, 5)) == profile_of("a", date(2026, 4, 5))
    assert store.profile("demo", date(2026, 12, 5)) == profile_of("b", date(2026, 12, 5))
    with store.writing("test") as connection:
        connection.execute(snapshot.delete().where(snapshot.c.day < date(2027, 1, 1)))
    compact(store, "demo", date(2027, 1, 5))
    assert list(bases(store)) == [date(2027, 1, 1)]


def test_compact_deletes_the_bases_of_months_without_days(store: Store) -> None:
    """A month is needed for a state of an incident, too."""
    save(store, 0)
    save(store, APRIL)
    for table, left in ((snapshot, 2), (incident_day, 1)):
        with store.writing("test") as connection:
            connection.execute(table.delete().where(table.c.day == on(APRIL)))
        compact(store, "demo", on(APRIL))
        assert len(bases(store)) == left
    assert store.profile("demo", FIRST) == profile_of("a", FIRST)


def test_audited_again_when_nothing_could_be_measured_keeps_the_profile(store: Store) -> None:
    save(store, 0)
    save(store, 1)
    store.save(None, replace(result_of(on(1)), results=()), "https://reports/1")
    assert store.profile("demo", on(1)) == profile_of("a", on(1))
    assert store.result("demo", on(1)) == replace(result_of(on(1)), results=())


def test_published_changes_the_address_only(store: Store) -> None:
    save(store, 0)
    store.published("demo", FIRST, "https://reports/demo")
    store.published("unknown", FIRST, "https://reports/unknown")
    assert value(store, snapshot.c.report_url) == "https://reports/demo"
    assert store.profile("demo", FIRST) == profile_of("a", FIRST)
