"""How one SQL database differs from another in changing tables, and what all of them have in common."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from tsaudit.engines.quoting import Qualified
from tsaudit.engines.rendering import Place
from tsaudit.engines.sql.types import is_integer
from tsaudit.model.profile import Index

A_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a database's own statements look like."""

    text: str
    """The type of columns for texts."""
    converted: Callable[[str, str, bool], str]
    """A quoted column, a kind (`integer`, `float`, `boolean` or `time`), and whether it holds texts: its value as that
    kind; null for a value that is none."""
    piece: Callable[[str, str, int], str | None]
    """A quoted column, a separator as it is, and a number from 1 on: that piece of its text; None where no function
    takes texts apart by this separator."""
    indexes_block: bool = False
    """Whether no column, and no table, gets another name while the table has an index."""
    folds_case: bool = True
    """Whether names that differ in case only are one."""
    can_drop_not_null: bool = True
    locks: str = ""
    """Who waits while a table is altered."""
    beside_writers: str = ""
    """What CREATE INDEX and DROP INDEX say so that writers need not wait."""


def free(name: str, taken: Collection[str], dialect: Dialect) -> str:
    """The name, or the name with the lowest number at its end that is not taken."""
    used = {t.casefold() for t in taken} if dialect.folds_case else set(taken)

    def is_free(one: str) -> bool:
        return (one.casefold() if dialect.folds_case else one) not in used

    numbered = (f"{name}_{number}" for number in range(2, len(used) + 3))
    return name if is_free(name) else next(one for one in numbered if is_free(one))


def relations(place: Place) -> set[str]:
    """Names of tables and indexes beside the table, and its own: they are of one kind to most databases."""
    beside = [m for m in place.profile.measurements if m.database == place.database]
    return {m.name for m in beside} | {i.name for m in beside for i in m.indexes or ()}


def a_day_of(place: Place) -> tuple[str, timedelta | None]:
    """A condition for the rows of the newest day, and how far apart such days are.

    Empty and None where the table has no time, or keeps it as a number, of which nobody told the unit.
    """
    time = place.here.time_column
    if time is None or is_integer(place.here.time_type or ""):
        return "", None
    newest = (place.here.last_time or place.profile.window.end).astimezone(UTC)
    day = newest.replace(hour=0, minute=0, second=0, microsecond=0)
    column = place.quoted([time])
    return f"{column} >= '{_text(day)}' AND {column} < '{_text(day + A_DAY)}'", A_DAY


def _text(day: datetime) -> str:
    return f"{day:%Y-%m-%d %H:%M:%S}"


def constrained(place: Place, column: str) -> Index | None:
    """A key or another constraint that the column is part of."""
    return next((i for i in place.here.indexes or () if i.constraint and column in i.columns), None)


def can_be_made_again(index: Index) -> bool:
    """Whether the profile has all of its definition."""
    return not index.partial and None not in index.columns and not index.constraint


def create_index(
    place: Place,
    dialect: Dialect,
    table: str,
    columns: Sequence[str],
    *,
    like: Index | None = None,
    method: str = "",
    name: str = "",
) -> str:
    """Makes an index. `table`: its name then. `like`: an index whose kind, uniqueness and sorting it has."""
    unique = "UNIQUE " if like is not None and like.unique else ""
    kind = method or (like.kind if like is not None else "")
    using = f" USING {kind}" if kind not in ("", "btree", "art") else ""
    sorting = (like.sorting if like is not None else ()) or ("",) * len(columns)
    members = ", ".join(f"{place.quoted([c])} {how}".strip() for c, how in zip(columns, sorting, strict=True))
    beside = dialect.beside_writers if place.here.partitioning is None else ""
    # PostgreSQL makes up a name that is free.
    made_up = "" if dialect.beside_writers else free("_".join((table, *columns, "idx")), relations(place), dialect)
    words = ["CREATE", f"{unique}INDEX", beside, place.quoted([name or made_up]) if name or made_up else ""]
    return f"{' '.join(filter(None, words))} ON {place.table(table)}{using} ({members});"


def drop_index(place: Place, dialect: Dialect, name: str) -> str:
    """Drops an index."""
    # PostgreSQL refuses CONCURRENTLY for the index of a partitioned table.
    is_whole = place.here.partitioning is None
    beside = f" {dialect.beside_writers}" if dialect.beside_writers and is_whole else ""
    # Where indexes are dropped and made again around other steps, one of them may be gone already.
    beside = " IF EXISTS" if dialect.indexes_block else beside
    return f"DROP INDEX{beside} {place.quoted([Qualified(place.database, name)])};"


def aside(
    place: Place, dialect: Dialect, own: Sequence[Index], names: Mapping[str, str], table: str, without: Collection[str]
) -> tuple[list[str], list[str]]:
    """Statements that drop these indexes before columns get other names or go, and that make them again afterwards.

    `names`, `table`: what columns, and the table, are called by then. `without`: columns that go, with all indexes on
    them.
    """
    again = [i for i in own if can_be_made_again(i) and not set(without) & set(i.columns)]
    made = []
    for index in again:
        columns = [names.get(c, c) for c in index.columns if c is not None]
        made.append(create_index(place, dialect, table, columns, like=index, name=index.name))
    return [drop_index(place, dialect, index.name) for index in own], made
