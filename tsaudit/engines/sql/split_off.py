"""Columns that move to a table of their own, with the tags and the time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tsaudit.engines.rendering import Place
from tsaudit.engines.sql.dialect import (
    Dialect,
    a_day_of,
    aside,
    constrained,
    drop_index,
    free,
    may_refuse,
    of_no_day,
    relations,
)
from tsaudit.model.change import SplitMeasurement
from tsaudit.model.plan import Phase, Step
from tsaudit.model.profile import Index
from tsaudit.text import listed


def steps(
    place: Place,
    dialect: Dialect,
    changes: Sequence[SplitMeasurement],
    indexes: Sequence[Index],
    names: Mapping[str, str],
    table: str,
) -> Iterator[Step]:
    """A table for each group of columns; the columns go last.

    `indexes`: those of the table that stay. `names`, `table`: what columns, and the old table, are called by then.
    """
    taken = relations(place) | {table}
    for change in changes:
        columns = moving(place, change)
        if not columns:
            continue
        name = free(change.name, taken, dialect)
        taken.add(name)
        yield from _moved(place, name, columns)
        yield from _removed(place, dialect, name, columns, indexes, names, table)
        indexes = without(indexes, [c for c in columns if not constrained(place, c)])


def moving(place: Place, change: SplitMeasurement) -> list[str]:
    """The columns of the table that move."""
    return [c for c in change.columns if c in place.here.columns and c != place.here.time_column]


def without(indexes: Sequence[Index], columns: Sequence[str]) -> list[Index]:
    """The indexes that are left when these columns are dropped."""
    return [index for index in indexes if not set(columns) & set(index.columns)]


def _moved(place: Place, name: str, columns: Sequence[str]) -> Iterator[Step]:
    here = place.here
    types = {tag.key: tag.data_type for tag in here.tags} | {field.key: field.types[0] for field in here.fields}
    time = [here.time_column] if here.time_column else []
    types |= dict.fromkeys(time, here.time_type or "TIMESTAMP")
    # A text that repeats is taken for a tag, and may still be one of those that move.
    kept = [*time, *(tag.key for tag in here.tags if tag.key not in columns)]
    lines = [f"{place.quoted([c])} {types[c]}" for c in (*kept, *columns)]
    key = next((i for i in here.indexes or () if i.constraint and i.columns and set(i.columns) <= set(kept)), None)
    if key is not None:
        lines.append(f"UNIQUE ({place.quoted(str(c) for c in key.columns)})")
    body = ",\n".join(f"  {line}" for line in lines)
    yield Step(
        Phase.WRITE,
        f"Write {listed(columns, 20)} of {here.name} to {name}, with {listed(kept, 20) or 'its key'}.",
    )
    yield Step(
        Phase.PREPARE,
        f"Create a table for {listed(columns, 20)}, with the time and the columns that identify a row.",
        f"CREATE TABLE {place.table(name)} (\n{body}\n);",
        "sql",
    )
    day, every = a_day_of(place)
    listing = place.quoted([*kept, *columns])
    filled = " OR ".join(f"{place.quoted([c])} IS NOT NULL" for c in columns)
    within = f" AND ({day})" if day else ""
    statement = f"INSERT INTO {place.table(name)} ({listing}) SELECT {listing} FROM {place.table()} WHERE ({filled})"  # noqa: S608
    yield Step(
        Phase.COPY,
        f"Copy them{' one day at a time, the newest day first' if every else ''}. Copy each day once.",
        f"{statement}{within};",
        "sql",
        cost="reads all rows",
        repeat_every=every,
    )
    if day:
        yield Step(Phase.COPY, "Copy the rows without a time.", f"{statement} AND ({of_no_day(place)});", "sql")
    counts = [
        f"SELECT count(*) FROM {place.table()} WHERE {filled};",  # noqa: S608 -- shown, never run
        f"SELECT count(*) FROM {place.table(name)};",  # noqa: S608
    ]
    yield Step(Phase.CHECK, "Compare the counts: they must be equal.", "\n".join(counts), "sql", cost="reads all rows")


def _removed(
    place: Place,
    dialect: Dialect,
    name: str,
    columns: Sequence[str],
    indexes: Sequence[Index],
    names: Mapping[str, str],
    table: str,
) -> Iterator[Step]:
    bound = [c for c in columns if constrained(place, c)]
    if bound:
        yield Step(Phase.REMOVE, f"{listed(bound)} stays in {place.here.name}, as a constraint needs it.")
    going = [c for c in columns if c not in bound]
    if not going:
        return
    on_them = [i for i in indexes if set(i.columns) & set(going)]
    first, last = [drop_index(place, dialect, i.name) for i in on_them], list[str]()
    if dialect.indexes_block:
        first, last = aside(place, dialect, indexes, names, table, going)
    dropped = [f"ALTER TABLE {place.table(table)} DROP COLUMN {place.quoted([names.get(c, c)])};" for c in going]
    lost = f"; and the indexes {listed([i.name for i in on_them], 8)}" if on_them else ""
    yield Step(
        Phase.REMOVE,
        f"Drop {listed(going, 20)} from {table} once the counts are equal and nothing reads them there."
        + may_refuse(place, dialect),
        "\n".join([*first, *dropped, *last]),
        "sql",
        can_undo=False,
        locks=dialect.locks,
        loses=f"{listed(going, 20)} in {table}, all values of which {name} then holds{lost}",
    )
