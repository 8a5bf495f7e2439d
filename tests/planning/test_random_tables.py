"""Random changes of random tables, run on real SQL databases: nothing is lost but what the plan names."""

from __future__ import annotations

import itertools
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import duckdb
import pytest
from hypothesis import Phase, event, given, settings
from hypothesis import strategies as st

from tests.builders import NOW
from tests.collecting import collected
from tests.databases import Dataset, Row, Table, write
from tests.planning.careful import carry_out
from tests.planning.losses import held, lost
from tests.servers import Postgresql
from tsaudit.config.settings import Target
from tsaudit.model.change import (
    AddIndex,
    Change,
    ChangeType,
    DropIndex,
    MakeField,
    MakeTag,
    Part,
    Rename,
    SplitColumn,
    SplitMeasurement,
)
from tsaudit.model.finding import Severity
from tsaudit.model.profile import Measurement, Profile
from tsaudit.model.subject import Subject
from tsaudit.planning.merging import Wanted
from tsaudit.planning.plans import _plan

FILES: Final[dict[str, Callable[[str], Any]]] = {"duckdb": duckdb.connect, "sqlite": sqlite3.connect}
NAMES: Final = (
    "host",
    "Host name",
    'a"b',
    "order",
    "select",
    "x.y",
    "größe",
    "v_float",
    "v",
    "value_text",
    "a;b",
    "--",
)
TEXTS: Final = (
    "1",
    "2.5",
    "-3",
    "true",
    "off",
    "",
    " 4 ",
    "n/a",
    "eu-1",
    "eu-2-x",
    "a|b",
    "2026-01-01",
    "1e400",
    "it's",
)
KINDS: Final = {
    "float": st.floats(-1e6, 1e6),
    "integer": st.integers(-(2**63), 2**63 - 1),
    "string": st.sampled_from(TEXTS),
}
_QUICK: Final = (Phase.explicit, Phase.generate)
"""Without shrinking, which takes minutes here: the tables are small enough to read."""
_numbers = itertools.count()


@st.composite
def tables(draw: st.DrawFn) -> Table:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=3, max_size=7, unique=True))
    name, columns = names[0], names[1:]
    split = draw(st.integers(1, len(columns) - 1))
    tags = columns[:split]
    fields = {column: draw(st.sampled_from(sorted(KINDS))) for column in columns[split:]}
    rows = [
        Row(
            NOW - timedelta(minutes=7 * n),
            {tag: draw(st.sampled_from(TEXTS)) for tag in tags},
            {f: draw(st.none() | KINDS[kind]) for f, kind in fields.items()},
        )
        for n in range(draw(st.integers(1, 12)))
    ]
    keys = st.none() | st.just((*tags, "time"))
    indexes = draw(st.lists(st.lists(st.sampled_from(columns), min_size=1, max_size=2, unique=True), max_size=2))
    return Table(name, tags, fields, rows, draw(keys), [*dict.fromkeys(map(tuple, indexes))])


def changes_of(table: Measurement) -> st.SearchStrategy[list[Change]]:
    """What rules may ask for about it, whether or not it makes sense here."""
    at = Subject(table.database, table.name)
    columns = st.sampled_from([c for c in table.columns if c != table.time_column])
    new = st.sampled_from([*NAMES, "reading", "HOST"])
    several = st.lists(columns, min_size=1, max_size=2, unique=True).map(tuple)
    kinds = st.sampled_from(["integer", "float", "boolean", "time"])
    parts = (Part("region", "eu"), Part("rack", "2"))
    every: list[st.SearchStrategy[Change]] = [
        st.builds(Rename, st.just(at), columns, new),
        st.builds(Rename, st.just(at), st.just(""), new),
        st.builds(ChangeType, st.just(at), columns, kinds),
        st.builds(MakeField, st.just(at), columns, kinds | st.just("")),
        st.builds(MakeTag, st.just(at), columns),
        st.builds(SplitColumn, st.just(at), columns, st.just("-"), st.just(parts), st.just("eu-2")),
        st.builds(SplitMeasurement, st.just(at), new, several),
        st.builds(AddIndex, st.just(at), several),
    ]
    if own := [index.name for index in table.indexes or () if not index.constraint]:
        every.append(st.builds(DropIndex, st.just(at), st.sampled_from(own)))
    is_one = lambda change: not isinstance(change, Rename) or change.old != change.new  # noqa: E731
    return st.lists(st.one_of(every).filter(is_one), min_size=1, max_size=4)


def _nothing_lost(data: st.DataObject, target: Target, execute: Callable[[str], Any]) -> None:
    profile: Profile = collected(target)
    (table,) = profile.measurements
    at = Subject(table.database, table.name)
    asked = data.draw(changes_of(table))
    plan = _plan(profile, at, table, [Wanted(change, "X", Severity.WARN) for change in asked])
    for one in plan.changes:
        event(type(one.change).__name__)
    before = held(profile, execute)
    done = carry_out(plan, execute, NOW - timedelta(days=1), NOW)
    after = held(collected(target), execute)
    assert not list(lost(before, after, plan, done.shown)), [s.text for s in plan.steps]


@pytest.mark.parametrize("engine", sorted(FILES))
@settings(max_examples=15, phases=_QUICK)
@given(data=st.data(), table=tables())
def test_on_a_file(engine: str, data: st.DataObject, table: Table) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "t.db"

        def execute(statement: str) -> Any:
            opened = FILES[engine](str(file))
            with closing(opened) as connection:
                try:
                    answer = connection.execute(statement)
                except duckdb.CatalogException as error:
                    if "index depends on a column after it" in str(error):  # as the step says
                        return []
                    raise
                rows = answer.fetchall() if answer.description else []
                connection.commit()
                return rows

        _nothing_lost(data, write(Dataset([table]), engine, file), execute)


@settings(max_examples=5, phases=_QUICK)
@given(data=st.data(), table=tables())
def test_on_postgresql(postgresql: Postgresql, data: st.DataObject, table: Table) -> None:
    def execute(statement: str) -> Any:
        with postgresql.connect() as connection:
            answer = connection.execute(statement.encode())
            return answer.fetchall() if answer.description else []

    target = write(Dataset([table], database=f"random_{next(_numbers)}"), "postgresql", postgresql)
    _nothing_lost(data, target, execute)
