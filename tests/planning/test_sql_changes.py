"""What the SQL databases are told to do about a table, run in order on real ones: nothing is lost but what is named."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests import plans
from tests.builders import NOW
from tests.collecting import collected
from tests.databases import Dataset, Table, write
from tests.rules.cases import dataset, hosts, table
from tests.servers import Postgresql
from tsaudit.engines.quoting import Qualified, quote_name
from tsaudit.model.change import (
    AddIndex,
    Change,
    ChangeType,
    DropIndex,
    MakeTag,
    Part,
    Rename,
    SplitColumn,
    SplitMeasurement,
)
from tsaudit.model.finding import Severity
from tsaudit.model.plan import Phase, Plan
from tsaudit.model.profile import Measurement, Profile
from tsaudit.model.subject import Subject
from tsaudit.planning.merging import Wanted
from tsaudit.planning.plans import _plan

HOSTILE = 'or"der, by'
COUNT = 24


@dataclass(frozen=True, slots=True)
class Place:
    """A database that a data set was written to."""

    profile: Callable[[], Profile]
    execute: Callable[[str], Any]
    """A statement, and its rows."""
    engine: str

    @property
    def measurement(self) -> Measurement:
        return next(m for m in self.profile().measurements)

    def named(self, name: str) -> str:
        return quote_name(self.engine, Qualified(self.profile().databases[0].name, name))


@pytest.fixture(params=["duckdb", "sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Dataset], Place]:
    engine = request.param

    def written(data: Dataset) -> Place:
        if engine == "postgresql":
            server: Postgresql = request.getfixturevalue("postgresql")
            target = write(data, engine, server)

            def execute(statement: str) -> Any:
                with server.connect() as connection:
                    answer = connection.execute(statement.encode())
                    return answer.fetchall() if answer.description else []
        else:
            file = tmp_path / "t.db"
            target = write(data, engine, file)

            def execute(statement: str) -> Any:
                connection: Any = (duckdb if engine == "duckdb" else sqlite3).connect(str(file))
                try:
                    answer = connection.execute(statement)
                    rows = answer.fetchall() if answer.description else []
                    connection.commit()
                    return rows
                finally:
                    connection.close()

        return Place(lambda: collected(target), execute, engine)

    return written


def planned(where: Place, *changes: Change) -> Plan:
    profile = where.profile()
    here = where.measurement
    at = Subject(here.database, here.name)
    own = [type(c)(**{f: getattr(c, f) for f in c.__dataclass_fields__} | {"at": at}) for c in changes]
    return _plan(profile, at, here, [Wanted(c, "X", Severity.WARN) for c in own])


def run(where: Place, *changes: Change, without: Sequence[Phase] = (Phase.LOOK, Phase.CHECK)) -> Plan:
    plan = planned(where, *changes)
    assert not plan.set_aside
    plans.run(plan, where.execute, NOW - timedelta(days=2), NOW, without)
    return plan


def checked(where: Place, plan: Plan) -> list[Any]:
    """What the plan's checks show."""
    steps = [step for step in plan.steps if step.phase is Phase.CHECK]
    return [row for step in steps for s in plans.statements_of(step, NOW, NOW) for row in where.execute(s)]


NOWHERE = Subject()
VALUES = ["1.5", "007", "abc", "", " 2 ", "1e5", "-.5", "999999999999999999999999", "off", "n/a", "1.5.5", "0"]
VALUES += ["000101.213", "-00.5", "+3", "7.", "1 2", "0x1f", "."]


def _readings(**more: Any) -> Table:
    return table(
        HOSTILE,
        [{"host": "a.b-1", "site": "x"}],
        {"val'ue": "string", "usage": "float"},
        lambda s, r: {"val'ue": VALUES[r % len(VALUES)], "usage": r / 7},
        rows=COUNT,
        **more,
    )


@pytest.mark.parametrize("indexed", [(), (("val'ue",), ("host", "time"), ("val'ue", "host"))], ids=["bare", "indexed"])
def test_text_becomes_a_number_and_what_is_none_stays(place: Callable[[Dataset], Place], indexed: Any) -> None:
    where = place(dataset(_readings(indexes=indexed)))
    change = ChangeType(NOWHERE, "val'ue", "float", ("abc", "off"))
    plan = run(where, change, without=(Phase.LOOK, Phase.CHECK, Phase.REMOVE))
    name = where.named(HOSTILE)
    held = dict(where.execute(f'SELECT "val\'ue_text", min("val\'ue") FROM {name} GROUP BY 1'))
    assert {k: v for k, v in held.items() if v is not None} == {
        "1.5": 1.5, " 2 ": 2, "1e5": 1e5, "0": 0, "-.5": -0.5, "000101.213": 101.213, "-00.5": -0.5, "+3": 3, "7.": 7,
    }  # fmt: skip
    assert set(held) == set(VALUES), "the texts are still there"
    (removal,) = [step for step in plan.steps if step.phase is Phase.REMOVE]
    assert removal.needs_decision
    assert "'abc' and 'off'" in removal.loses
    assert not [s for s in plan.steps if s.phase not in (Phase.REMOVE,) and s.needs_decision]
    for statement in plans.statements_of(removal, NOW, NOW):
        where.execute(statement)
    here = where.measurement
    assert {f.key for f in here.fields} | {t.key for t in here.tags} == {"host", "site", "val'ue", "usage"}
    kept = sorted(i.columns for i in here.indexes or () if not i.constraint)
    assert kept == sorted(indexed)
    assert where.execute(f"SELECT count(*) FROM {name}") == [(COUNT,)]


def test_what_is_left_over_is_shown_by_the_check(place: Callable[[Dataset], Place]) -> None:
    where = place(dataset(_readings()))
    plan = planned(where, ChangeType(NOWHERE, "val'ue", "float"))
    for step in plan.steps:
        if step.phase in (Phase.PREPARE, Phase.COPY):
            for statement in plans.statements_of(step, NOW - timedelta(days=2), NOW):
                where.execute(statement)
    left = {value for value, _ in checked(where, plan)}
    assert left == {"007", "abc", "999999999999999999999999", "off", "n/a", "1.5.5", "1 2", "0x1f", "."}


@pytest.mark.parametrize(
    ("kind", "texts", "expected"),
    [
        ("integer", ("1", "-7", "+5", "1.5", "010", "x", "12345678901234567890"), {1, -7, 5}),
        ("boolean", ("true", "FALSE", "on", "off", "1", "maybe"), {True, False}),
        ("time", ("2024-03-01T00:00:00Z", "2024-13-01", "1709251200000", "soon"), None),
    ],
)
def test_kinds_of_values(place: Callable[[Dataset], Place], kind: str, texts: Sequence[str], expected: Any) -> None:
    data = table("t", hosts(1), {"v": "string"}, lambda s, r: {"v": texts[r % len(texts)]}, rows=COUNT, key=False)
    where = place(dataset(data))
    run(where, ChangeType(NOWHERE, "v", kind), without=(Phase.LOOK, Phase.CHECK, Phase.REMOVE))
    as_type = "TEXT" if kind == "time" else "INTEGER"
    found = {
        str(k): v
        for k, v in where.execute(f"SELECT v_text, min(CAST(v AS {as_type})) FROM {where.named('t')} GROUP BY 1")
    }
    assert set(found) == set(texts)
    if kind == "time":
        assert {k for k, v in found.items() if v is not None} == {"2024-03-01T00:00:00Z", "1709251200000"}
        if where.engine != "sqlite":
            assert found["2024-03-01T00:00:00Z"] == found["1709251200000"]
    else:
        assert {v for v in found.values() if v is not None} == expected


def test_floats_that_are_whole_become_integers_and_others_are_kept(place: Callable[[Dataset], Place]) -> None:
    data = table("t", hosts(1), {"v": "float"}, lambda s, r: {"v": r + (0.5 if r == 3 else 0)}, rows=10, key=False)
    where = place(dataset(data))
    run(where, ChangeType(NOWHERE, "v", "integer"), without=(Phase.LOOK, Phase.CHECK, Phase.REMOVE))
    assert where.execute(f"SELECT v_former FROM {where.named('t')} WHERE v IS NULL") == [(3.5,)]


PARTS = SplitColumn(
    NOWHERE, "host", ".", (Part("location", "kitchen"), Part("model", "A6"), Part("place", "7")), "loc-kitchen.A6.7"
)


@pytest.mark.parametrize("indexes", [(), (("host",), ("host", "time"), ("time",))], ids=["bare", "indexed"])
def test_attributes_get_columns_and_other_forms_stay(place: Callable[[Dataset], Place], indexes: Any) -> None:
    values = ["loc-kitchen.A6.7", "loc-bath.B.8", "attic", "loc-a.b.c.d", "loc-.x.", None, "lok-a.b.c"]
    data = table("t", [{"host": v} for v in values], key=False, indexes=indexes)
    where = place(dataset(data))
    plan = run(where, PARTS, without=(Phase.LOOK, Phase.CHECK, Phase.REMOVE))
    found = {
        h: (a, b, c) for h, a, b, c in where.execute(f"SELECT host, location, model, place FROM {where.named('t')}")
    }
    assert found["loc-kitchen.A6.7"] == ("kitchen", "A6", "7")
    assert found["loc-bath.B.8"] == ("bath", "B", "8")
    assert found["loc-.x."] == ("", "x", "")
    assert {h for h, parts in found.items() if parts == (None, None, None)} == {
        "attic",
        "loc-a.b.c.d",
        None,
        "lok-a.b.c",
    }
    assert {value for value, _ in checked(where, plan)} == {"attic", "loc-a.b.c.d", "lok-a.b.c"}
    for step in plan.steps:
        if step.phase is Phase.REMOVE:
            for statement in plans.statements_of(step, NOW, NOW):
                where.execute(statement)
    here = where.measurement
    assert "host" not in here.columns
    assert sorted(i.columns for i in here.indexes or ()) == ([("time",)] if indexes else [])


@pytest.mark.parametrize("indexes", [(), (("usage",), ("host", "time"))], ids=["bare", "indexed"])
def test_names_that_are_taken_are_not_given(place: Callable[[Dataset], Place], indexes: Any) -> None:
    own = table(HOSTILE, hosts(2), {"usage": "float"}, indexes=indexes)
    where = place(dataset(own, table("orders", hosts(1))))
    here = next(m for m in where.profile().measurements if m.name == HOSTILE)
    at = Subject(here.database, here.name)
    changes = [Rename(at, "usage", "host"), Rename(at, "host", "name"), Rename(at, "", "orders")]
    plan = _plan(where.profile(), at, here, [Wanted(c, "X", Severity.WARN) for c in changes])
    plans.run(plan, where.execute, NOW, NOW)
    renamed = where.named("orders_2")
    assert len(where.execute(f"SELECT host_2, name FROM {renamed}")) == 4
    assert len(where.execute(f"SELECT * FROM {where.named('orders')}")) == 2
    left = next(m for m in where.profile().measurements if m.name == "orders_2")
    assert sorted(i.columns for i in left.indexes or () if not i.constraint) == sorted(
        tuple({"usage": "host_2", "host": "name"}.get(c, c) for c in i) for i in indexes
    )


def test_a_name_that_differs_in_case_only(place: Callable[[Dataset], Place]) -> None:
    where = place(dataset(table("Orders", hosts(2), {"Usage": "float"}, lambda s, r: {"Usage": 1.5})))
    run(where, Rename(NOWHERE, "", "orders"), Rename(NOWHERE, "Usage", "usage"))
    assert where.measurement.name == "orders"
    assert [f.key for f in where.measurement.fields] == ["usage"]


@pytest.mark.parametrize("indexes", [(), (("a",), ("host", "time"))], ids=["bare", "indexed"])
def test_columns_that_move_out(place: Callable[[Dataset], Place], indexes: Any) -> None:
    data = table(
        HOSTILE, hosts(3), {"a": "float", "b": "string", "c": "float"}, indexes=indexes,
        value=lambda s, r: {"a": r + 0.5, "b": "x"} if s else {"c": 1.5}, rows=COUNT,
    )  # fmt: skip
    where = place(dataset(data))
    plan = run(where, SplitMeasurement(NOWHERE, "events", ("a", "b")))
    assert where.execute(f"SELECT count(*), count(a), count(b), count(host) FROM {where.named('events')}") == [
        (2 * COUNT, 2 * COUNT, 2 * COUNT, 2 * COUNT)
    ]
    assert where.execute(f"SELECT count(*), count(c) FROM {where.named(HOSTILE)}") == [(3 * COUNT, COUNT)]
    old = next(m for m in where.profile().measurements if m.name == HOSTILE)
    assert [f.key for f in old.fields] == ["c"]
    assert sorted(i.columns for i in old.indexes or () if not i.constraint) == ([("host", "time")] if indexes else [])
    assert plan.steps[-1].needs_decision


def test_indexes_come_and_go_beside_the_other_changes(place: Callable[[Dataset], Place]) -> None:
    where = place(dataset(_readings(indexes=(("usage",),), key=False)))
    (index,) = where.measurement.indexes or ()
    run(
        where,
        DropIndex(NOWHERE, index.name, ("usage",)),
        AddIndex(NOWHERE, ("time",)),
        ChangeType(NOWHERE, "val'ue", "float"),
        MakeTag(NOWHERE, "usage"),
        Rename(NOWHERE, "usage", "used"),
        Rename(NOWHERE, "", "orders"),
    )
    here = where.measurement
    assert here.name == "orders"
    of_source = ("used",) if where.engine == "duckdb" else ("used", "time")
    assert sorted(i.columns for i in here.indexes or ()) == [("time",), of_source]


def test_no_writer_waits_for_an_index_of_a_partitioned_table(postgresql: Postgresql) -> None:
    parts = [f"FOR VALUES WITH (MODULUS 2, REMAINDER {n})" for n in range(2)]
    long = "x" * 60
    data = dataset(table(long, hosts(4), key=False, partition_by="HASH (host)", partitions=parts))
    target = write(data, "postgresql", postgresql)

    def profile() -> Profile:
        return collected(target)

    def execute(statement: str) -> Any:
        postgresql.execute(statement)

    where = Place(profile, execute, "postgresql")
    plan = run(where, AddIndex(NOWHERE, ("time",)))
    text = "\n".join(step.text for step in plan.steps)
    assert text.count("CREATE INDEX CONCURRENTLY") == 2
    assert any(i.finds_ranges_of("time") for i in where.measurement.indexes or ())
