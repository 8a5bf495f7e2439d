"""How SQL databases differ in changing tables, and what they have in common."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from tsaudit.engines.quoting import Qualified
from tsaudit.engines.rendering import Place
from tsaudit.engines.sql.types import is_number
from tsaudit.model.profile import Index

A_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Dialect:
    """The syntax of a database's own statements."""

    text: str
    """The type of string columns."""
    converted: Callable[[str, str, bool], str]
    """A quoted column, a kind (`integer`, `float`, `boolean` or `time`), and whether it holds texts: its value as that
    kind; null for a value that is none."""
    piece: Callable[[str, str, int], str | None]
    """A quoted column, an unquoted separator, and a number from 1 on: that piece of its text; None if no function
    splits strings at this separator.
    """
    dependents: Callable[[Place, Sequence[str]], str]
    """A query for what depends on columns of the table: `what` it is, and the statements `before` and `afterward` that
    take it aside and make it again, null where there are none.
    """
    indexes_block: bool = False
    """Whether columns and tables cannot be renamed while the table has an index."""
    indexes_one_column: bool = False
    """Whether queries use no index on several columns."""
    folds_case: bool = True
    """Whether names that differ in case only are one."""
    locks: str = ""
    """Who has to wait while a table is altered."""
    views_follow: bool = False
    """Whether views, triggers and the like refer to the column itself, not to its name."""
    beside_writers: str = ""
    """The keyword of CREATE INDEX and DROP INDEX that lets writers continue."""


def free(name: str, taken: Collection[str], dialect: Dialect) -> str:
    """The name, or if it is taken, the name with the lowest free number at its end."""
    used = {t.casefold() for t in taken} if dialect.folds_case else set(taken)

    def is_free(one: str) -> bool:
        return (one.casefold() if dialect.folds_case else one) not in used

    numbered = (f"{name}_{number}" for number in range(2, len(used) + 3))
    return name if is_free(name) else next(one for one in numbered if is_free(one))


def relations(place: Place) -> set[str]:
    """Names of tables and indexes next to the table, and its own: most databases keep them in one namespace."""
    beside = [m for m in place.profile.measurements if m.database == place.database]
    return {m.name for m in beside} | {i.name for m in beside for i in m.indexes or ()}


def a_day_of(place: Place) -> tuple[str, timedelta | None]:
    """A condition for the rows of the newest day, and the interval between such days.

    Empty and None if the table has no time, or a numeric time with an unknown unit. Rows of no day: see `of_no_day`.
    """
    time = place.here.time_column
    if time is None or is_number(place.here.time_type or ""):
        return "", None
    newest = (place.here.last_time or place.profile.window.end).astimezone(UTC)
    day = newest.replace(hour=0, minute=0, second=0, microsecond=0)
    column = place.quoted([time])
    return f"{column} >= '{_text(day)}' AND {column} < '{_text(day + A_DAY)}'", A_DAY


def of_no_day(place: Place) -> str:
    """A condition for the rows that `a_day_of` finds on no day, where it returns a condition."""
    column = place.quoted([place.here.time_column or ""])
    # Where a column of times can also hold numbers, no date is compared with those.
    return (
        f"{column} IS NULL" if place.engine.enforces_types else f"{column} IS NULL OR {column} NOT LIKE '____-__-__%'"
    )


def _text(day: datetime) -> str:
    return f"{day:%Y-%m-%d %H:%M:%S}"


def constrained(place: Place, column: str) -> str:
    """The key or other constraint that includes the column, or the partitioning; empty if there is none."""
    key = next((i.name for i in place.here.indexes or () if i.constraint and column in i.columns), "")
    cut = place.here.partitioning
    # PostgreSQL shows a name with quotes where it needs them, and an expression as a whole.
    by = cut is not None and any(column == part.strip('"') or f"({column}" in part for part in cut.key)
    return key or ("what divides the table into partitions" if by else "")


def may_refuse(place: Place, dialect: Dialect) -> str:
    """A sentence for a step that drops a column, if the database may refuse it; otherwise empty."""
    # The profile does not know the order of the columns.
    key = next((i.name for i in place.here.indexes or () if i.constraint), "") if dialect.indexes_block else ""
    return f" The database refuses this if a column of {key} is after it in the table; it stays then." if key else ""


def can_be_made_again(index: Index) -> bool:
    """Whether the profile contains its complete definition."""
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
    """Create an index. `table`: its name at that time. `like`: an index whose kind, uniqueness, and sorting to use."""
    unique = "UNIQUE " if like is not None and like.unique else ""
    kind = method or (like.kind if like is not None else "")
    using = f" USING {kind}" if kind not in ("", "btree", "art") else ""
    sorting = (like.sorting if like is not None else ()) or ("",) * len(columns)
    members = ", ".join(f"{place.quoted([c])} {how}".strip() for c, how in zip(columns, sorting, strict=True))
    beside = dialect.beside_writers if place.here.partitioning is None else ""
    # PostgreSQL generates a free name.
    made_up = "" if dialect.beside_writers else free("_".join((table, *columns, "idx")), relations(place), dialect)
    words = ["CREATE", f"{unique}INDEX", beside, place.quoted([name or made_up]) if name or made_up else ""]
    return f"{' '.join(filter(None, words))} ON {place.table(table)}{using} ({members});"


def drop_index(place: Place, dialect: Dialect, name: str) -> str:
    """Drop an index."""
    # PostgreSQL refuses CONCURRENTLY for the index of a partitioned table.
    is_whole = place.here.partitioning is None
    beside = f" {dialect.beside_writers}" if dialect.beside_writers and is_whole else ""
    # If indexes are dropped and created again around other steps, one of them may already be gone.
    beside = " IF EXISTS" if dialect.indexes_block else beside
    return f"DROP INDEX{beside} {place.quoted([Qualified(place.database, name)])};"


def aside(
    place: Place, dialect: Dialect, own: Sequence[Index], names: Mapping[str, str], table: str, without: Collection[str]
) -> tuple[list[str], list[str]]:
    """Statements that drop these indexes before columns are renamed or dropped, and that create them again afterward.

    `names`, `table`: the names of columns and the table at that time. `without`: dropped columns, along with all
    indexes on them.
    """
    again = [i for i in own if can_be_made_again(i) and not set(without) & set(i.columns)]
    made = []
    for index in again:
        columns = [names.get(c, c) for c in index.columns if c is not None]
        made.append(create_index(place, dialect, table, columns, like=index, name=index.name))
    return [drop_index(place, dialect, index.name) for index in own], made
