"""Indexes of a SQL database that come and go, without writers waiting where the database can do so."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from tsaudit.engines.quoting import Qualified, quote_name
from tsaudit.engines.rendering import Place
from tsaudit.engines.sql.dialect import Dialect, create_index, drop_index, free, relations
from tsaudit.model.change import AddIndex, DropIndex
from tsaudit.model.plan import Phase, Step
from tsaudit.model.subject import Subject
from tsaudit.text import listed

HYPERTABLE: Final = "timescaledb.compress"
"""An option that hypertables have, and no other table."""


def identify(place: Place, columns: Sequence[str], names: Mapping[str, str], table: str) -> Iterator[Step]:
    """Columns that name a source: nothing in the table changes, tsaudit is told.

    `names`, `table`: what columns that get other names, and the table, are called afterwards.
    """
    later = [names.get(column, column) for column in columns]
    yield Step(
        Phase.WRITE,
        f"Treat {listed(columns, 20)} as part of what identifies a row of {place.here.name}, and declare it in "
        "tsaudit.yaml.",
        f"columns:\n  {_json(table)}:\n    tags: {_json(later)}",
        "yaml",
    )


def declared(columns: Sequence[str], table: str, split: str) -> Step:
    """What takes the place of `split`, a column that stays in the key: without a word they would be fields of it."""
    return Step(
        Phase.WRITE,
        f"Declare {listed(columns, 20)} as {'a tag' if len(columns) == 1 else 'tags'} in tsaudit.yaml: they identify "
        f"the source of a row, as {split} does.",
        f"columns:\n  {_json(table)}:\n    tags: {_json(columns)}",
        "yaml",
    )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def of_source(place: Place, dialect: Dialect, column: str) -> AddIndex:
    """The index by which the rows of one source are found."""
    time = place.here.time_column
    alone = dialect.indexes_one_column or not time or column == time
    return AddIndex(Subject(place.database, place.here.name), (column,) if alone else (column, str(time)))


def added(
    place: Place,
    dialect: Dialect,
    changes: Sequence[AddIndex],
    phase: Phase,
    table: str,
    names: Mapping[str, str],
    gone: Collection[str] = (),
) -> Iterator[Step]:
    """Indexes that are made.

    `table`, `names`: what the table, and columns that get other names, are called by then. `gone`: indexes that this
    plan drops.
    """
    time = place.here.time_column
    for change in changes:
        columns, method = change.columns, change.method
        members = [names.get(c, c) for c in columns]
        if _is_there(place, columns, gone):
            continue
        if dialect.beside_writers and method == "" and columns == (time,):
            method = "brin"
        words = f"Index {listed(members)}."
        if method == "brin":
            words = (
                f"Index {listed(members)}. A BRIN index takes a few pages and serves where rows are written about in "
                "the order of their time, as readings are; for others leave out USING brin."
            )
        if dialect.beside_writers and place.here.partitioning is not None:
            yield from _in_parts(place, dialect, members, method, phase, words)
            continue
        statement = create_index(place, dialect, table, members, method=method)
        waits = "" if dialect.beside_writers else "writers of the table"
        yield Step(phase, words, statement, "sql", locks=waits, cost="reads all rows")


def _is_there(place: Place, columns: Sequence[str], gone: Collection[str]) -> bool:
    indexes = [index for index in place.here.indexes or () if index.name not in gone]
    return any(i.valid and not i.partial and i.columns[: len(columns)] == tuple(columns) for i in indexes)


def _in_parts(
    place: Place, dialect: Dialect, columns: Sequence[str], method: str, phase: Phase, words: str
) -> Iterator[Step]:
    """PostgreSQL makes no index on a partitioned table beside its writers, but on each of its partitions."""
    cut, here = place.here.partitioning, place.here.name
    using, members = f" USING {method}" if method else "", place.quoted(columns)
    if HYPERTABLE in (place.here.options or {}):
        yield Step(
            phase,
            f"{words} TimescaleDB makes it chunk by chunk, so that writers wait for one chunk at a time.",
            f"CREATE INDEX ON {place.table()}{using} ({members}) WITH (timescaledb.transaction_per_chunk);",
            "sql",
            locks="writers of one chunk at a time",
            cost="reads all rows",
        )
        return
    assert cut is not None
    if cut.count > len(cut.partitions):
        yield Step(
            phase,
            f"{words} Make it ON ONLY {here} first, then CONCURRENTLY on each of the {cut.count} partitions, and "
            "attach each of these to the first one: it is used once all are attached.",
            cost="reads all rows",
        )
        return
    taken = relations(place)

    def name(of: str) -> str:
        # Longer names are cut off, and would meet.
        taken.add(one := free(f"{of[:40]}_{'_'.join(columns)[:16]}_idx", taken, dialect))
        return one

    def at(relation: str) -> str:
        return quote_name(place.profile.engine, Qualified(place.database, relation))

    whole = name(here)
    statements = [f"CREATE INDEX {place.quoted([whole])} ON ONLY {at(here)}{using} ({members});"]
    for part in cut.partitions:
        own = name(part.name)
        statements.append(f"CREATE INDEX CONCURRENTLY {place.quoted([own])} ON {at(part.name)}{using} ({members});")
        statements.append(f"ALTER INDEX {at(whole)} ATTACH PARTITION {at(own)};")
    yield Step(
        phase,
        f"{words} On a partitioned table it is made on each partition, so that no writer waits, and attached.",
        "\n".join(statements),
        "sql",
        cost="reads all rows",
    )


def dropped(place: Place, dialect: Dialect, changes: Sequence[DropIndex], phase: Phase) -> Iterator[Step]:
    """Indexes that go, one step for each: somebody watches the queries in between."""
    known = {i.name for i in place.here.indexes or () if not i.constraint}
    is_whole = place.here.partitioning is None
    for change in changes:
        if change.index in known:
            yield Step(
                phase,
                f"Drop {change.index}, and watch the slow queries before you drop the next one: "
                "creating an index again reads the whole table.",
                drop_index(place, dialect, change.index),
                "sql",
                locks="" if dialect.beside_writers and is_whole else "readers and writers of the table, for a moment",
            )
