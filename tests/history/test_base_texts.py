"""Snapshots are stored as what differs from a base text: small, read back exactly, and old ones are read as before."""

from __future__ import annotations

import random
import zlib
from dataclasses import replace
from datetime import date, timedelta
from typing import Any, Final

import pytest
from alembic import command
from alembic.config import Config
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, func, select, text, update

import tsaudit.history
from tests.builders import DAY, a_finding, a_measurement, a_profile, a_result, a_rule_result, a_tag
from tsaudit.config.settings import Incidents
from tsaudit.history import base_texts, database, incidents
from tsaudit.history.compaction import compact
from tsaudit.history.packing import Packer
from tsaudit.history.schema import base, incident_day, snapshot
from tsaudit.history.store import Store
from tsaudit.model.finding import AuditResult
from tsaudit.model.jsonfile import to_json
from tsaudit.model.profile import Profile

POLICY: Final = Incidents(open_after=1, resolve_after=1)


def on(days: int) -> date:
    return DAY + timedelta(days=days)


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


def save(store: Store, days: int, names: str = "a") -> None:
    store.save(profile_of(names, on(days)), result_of(on(days)), None)
    incidents.update(store, result_of(on(days)), POLICY, lambda _finding, _rule: "team")


def value(store: Store, column: Any, *where: Any) -> Any:
    with store.reading() as connection:
        return connection.execute(select(column).where(*where)).scalar_one()


def bases(store: Store) -> int:
    return int(value(store, func.count(base.c.id)))


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_packed_text_is_unpacked_with_its_base(base_text: bytes, content: bytes) -> None:
    text_ = b"[" + content
    assert Packer(base_text).unpacked(Packer(base_text).packed(text_)) == text_


def test_packed_text_is_short_when_the_base_has_it() -> None:
    text_ = random.Random(1).randbytes(300_000)
    assert len(Packer(text_ + b"x").packed(text_)) < 100
    assert len(Packer(text_).packed(text_[:1_000])) < 100


def test_unpacked_rejects_what_has_another_base() -> None:
    packed = Packer(b"one base" * 100).packed(b"one base" * 50)
    for other in (b"", b"two base" * 100):
        with pytest.raises(ValueError, match="cannot be decompressed"):
            Packer(other).unpacked(packed)


def test_later_days_take_a_fraction_and_are_read_back(store: Store) -> None:
    for day in range(5):
        save(store, day)
    assert bases(store) == 1
    size = func.length(snapshot.c.profile) + func.length(snapshot.c.result)
    alone = len(zlib.compress(to_json(profile_of("a", DAY)))) + len(zlib.compress(to_json(result_of(DAY))))
    assert value(store, func.max(size)) < alone / 20
    for day in range(5):
        assert store.profile("demo", on(day)) == profile_of("a", on(day))
        assert store.result("demo", on(day)) == result_of(on(day))
    assert value(store, func.max(func.length(incident_day.c.finding))) < len(to_json(a_finding())) / 4
    assert incidents.current(store)[0].finding == a_finding()


def test_new_base_once_the_audits_have_become_different(store: Store) -> None:
    for day in range(10):
        save(store, day, "a" if day < 3 else "b")
    assert bases(store) == 2
    assert value(store, func.length(snapshot.c.profile), snapshot.c.day == on(9)) < 2_000
    assert [store.profile("demo", on(day)) for day in (2, 3, 9)] == [
        profile_of("a", on(2)),
        profile_of("b", on(3)),
        profile_of("b", on(9)),
    ]


def test_no_new_base_when_every_day_is_as_different_from_each_other(store: Store) -> None:
    for day in range(10):
        save(store, day, str(day))
    assert bases(store) == 1


def test_new_base_is_stored_as_a_difference_while_most_of_the_root_is_left(store: Store) -> None:
    profiles = []
    for day in range(30):
        old, new = profile_of("a", on(day)), profile_of("b", on(day))
        profiles.append(replace(old, measurements=(*new.measurements[: day // 3], *old.measurements[day // 3 :])))
        store.save(profiles[-1], result_of(on(day)), None)
    assert bases(store) > 2
    assert value(store, func.count(), base.c.root_id.is_(None)) == 1
    assert value(store, func.max(func.length(base.c.data)), base.c.root_id.is_not(None)) < value(
        store, func.length(base.c.data), base.c.root_id.is_(None)
    )
    root = value(store, base.c.id, base.c.root_id.is_(None))
    with store.writing("test") as connection:
        connection.execute(snapshot.delete().where(snapshot.c.base_id == root, snapshot.c.day != on(0)))
        base_texts.tidy(connection, "demo", [root])
    assert value(store, snapshot.c.base_id, snapshot.c.day == on(0)) == root, "it is needed anyway"
    with store.writing("test") as connection:
        newest = base_texts.newest(connection, "demo")
        connection.execute(snapshot.delete().where(snapshot.c.base_id != newest))
        left = set(connection.execute(select(snapshot.c.day)).scalars())
    compact(store, "demo", on(29))
    assert bases(store) == 2, "the newest and its root"
    assert left
    assert all(store.profile("demo", day) == profiles[(day - DAY).days] for day in left)


def test_compact_deletes_bases_that_nothing_needs(store: Store) -> None:
    for day in range(10):
        save(store, day, "a" if day < 3 else "b")
    compact(store, "demo", on(9))
    assert bases(store) == 2
    with store.writing("test") as connection:
        for table in (snapshot, incident_day):
            connection.execute(table.delete().where(table.c.base_id == select(func.min(base.c.id)).scalar_subquery()))
    compact(store, "demo", on(9))
    assert bases(store) == 1
    assert store.profile("demo", on(9)) == profile_of("b", on(9))


def test_compact_packs_the_few_snapshots_of_a_base_with_the_next_one(store: Store) -> None:
    """Among those are days without a profile, and findings."""
    for day in range(20):
        save(store, day, "ab"[day // 10])
    assert bases(store) == 2
    first = value(store, func.min(base.c.id))
    with store.writing("test") as connection:
        for table in (snapshot, incident_day):
            connection.execute(table.delete().where(table.c.base_id == first, table.c.day != on(4)))
        result, expected = result_of(on(4)), profile_of("a", on(4))
    for less_used, left in (([], 2), ([first], 1)):
        with store.writing("test") as connection:
            base_texts.tidy(connection, "demo", less_used)
        assert bases(store) == left
        assert (store.profile("demo", on(4)), store.result("demo", on(4))) == (expected, result)
        assert incidents.current(store, day=on(4))[0].finding == a_finding()


def test_audited_again_when_nothing_could_be_measured_keeps_the_profile(store: Store) -> None:
    save(store, 0)
    save(store, 1)
    store.save(None, replace(result_of(on(1)), results=()), "https://reports/1")
    assert store.profile("demo", on(1)) == profile_of("a", on(1))
    assert store.result("demo", on(1)) == replace(result_of(on(1)), results=())


def test_published_changes_the_address_only(store: Store) -> None:
    save(store, 0)
    store.published("demo", DAY, "https://reports/demo")
    store.published("unknown", DAY, "https://reports/unknown")
    assert value(store, snapshot.c.report_url) == "https://reports/demo"
    assert store.profile("demo", DAY) == profile_of("a", DAY)


def as_before(connection: Connection, *, findings: bool) -> None:
    """Store everything the way earlier versions did."""
    for row in connection.execute(select(snapshot)).all():
        packer = base_texts.Packers(connection).of(row.base_id)
        old = {name: zlib.compress(packer.unpacked(getattr(row, name))) for name in ("profile", "result")}
        connection.execute(update(snapshot).where(snapshot.c.id == row.id).values(**old, base_id=None))
    if findings:
        plain = to_json(a_finding())
        connection.execute(update(incident_day).values(finding=plain, base_id=None))
    connection.execute(base.delete())


def test_compact_packs_what_an_earlier_version_stored(store: Store) -> None:
    for day in range(25):
        save(store, day)
    with store.writing("test") as connection:
        as_before(connection, findings=True)
    assert store.profile("demo", on(3)) == profile_of("a", on(3))
    save(store, 25)
    for left in (15, 5, 0):
        compact(store, "demo", on(25))
        assert value(store, func.count(), snapshot.c.base_id.is_(None)) == left
    for day in range(26):
        assert store.profile("demo", on(day)) == profile_of("a", on(day))
        assert store.result("demo", on(day)) == result_of(on(day))
        assert incidents.current(store, day=on(day))[0].finding == a_finding()


def test_migration_keeps_everything(address: str) -> None:
    folder = f"{tsaudit.history.__path__[0]}/migrations"
    with Store.open(address) as store:
        for day in range(3):
            save(store, day)
        with store.writing("test") as connection:
            as_before(connection, findings=True)
            rows = [dict(row._mapping) for row in connection.execute(select(snapshot))]
            states = [dict(row._mapping) for row in connection.execute(select(incident_day))]
        with store.engine.begin() as connection:
            for table in tsaudit.history.schema.metadata.sorted_tables[::-1]:
                table.drop(connection)
            connection.execute(text(f"DROP TABLE {database.VERSION_TABLE}"))
        with store.engine.begin() as connection:
            config = Config()
            config.set_main_option("script_location", folder)
            config.attributes["connection"] = connection
            command.upgrade(config, "0007")
            for name, old in (("snapshot", rows), ("incident_day", states)):
                for row in old:
                    kept = {k: v for k, v in row.items() if k not in ("id", "base_id")}
                    if "finding" in kept:
                        kept["finding"] = kept["finding"].decode()
                    names = ", ".join(kept)
                    marks = ", ".join(f":{k}" for k in kept)
                    connection.execute(text(f"INSERT INTO {name} ({names}) VALUES ({marks})"), kept)
            connection.execute(
                text(
                    "INSERT INTO reaction (id, delivery_id, kind, person, seen_at) "
                    "VALUES (1, 'gone', 'ack', 'U0', '2026-01-01'), (2, 'gone', 'ack', 'U0', '2026-01-01')"
                )
            )
    with Store.open(address) as store:
        assert store.days("demo") == [on(0), on(1), on(2)]
        for day in range(3):
            assert store.profile("demo", on(day)) == profile_of("a", on(day))
            assert store.result("demo", on(day)) == result_of(on(day))
            assert [i.finding for i in incidents.current(store, day=on(day))] == [a_finding()]
        assert store.timeline("demo", on(3)).previous == profile_of("a", on(2))
        assert value(store, func.count(tsaudit.history.schema.reaction.c.id)) == 1
        save(store, 3)
        assert [i.opened for i in incidents.current(store)] == [on(0)]
