"""Statements of plans: queries that show what a finding is about, what each change adds to a step, which must fit on
one screen, and the table that replaces several.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Final

from tsaudit.analysis.columns.columns import is_number
from tsaudit.engines.advice import Piece, Place, by_source, by_time, free
from tsaudit.engines.quoting import Language
from tsaudit.model.change import Diagnose, Merged, MergeMeasurements
from tsaudit.model.plan import Step, StepKind
from tsaudit.model.profile import Measurement
from tsaudit.text import listed, many

_A_DAY: Final = timedelta(days=1)


def newest_day(place: Place) -> str:
    """A condition for the rows of the newest day; empty if the table has no time column, or its times are numbers."""
    time = place.here.time_column
    if time is None or is_number(place.here.time_type or ""):
        return ""
    newest = (place.here.last_time or place.profile.window.end).astimezone(UTC)
    day = newest.replace(hour=0, minute=0, second=0, microsecond=0)
    column = place.quoted([time])
    begins = f"{column} >= '{_text(day)}'"
    # Rows that never end have the last time that there is.
    return begins if day.date() == date.max else f"{begins} AND {column} < '{_text(day + _A_DAY)}'"


def _text(day: datetime) -> str:
    return f"{day:%Y-%m-%d %H:%M:%S}"


@dataclass(frozen=True, slots=True)
class DiagnosticQueries:
    """How a database is queried about its contents."""

    recent: Callable[[Place], str] = newest_day
    """The condition for rows of the newest day, for a table with a time column; empty if times cannot be compared."""
    columns: Callable[[Place], str] = lambda place: _standard(place, "columns", "column_name, data_type")
    tables: Callable[[Place], str] = lambda place: _standard(place, "tables", "table_name")
    end: str = ";"
    """The text that ends a statement."""


def _standard(place: Place, view: str, listed: str) -> str:
    where = [f"table_schema = {Language.SQL.string(place.database)}"]
    if place.measurement is not None:
        where.append(f"table_name = {Language.SQL.string(place.here.name)}")
    return f"SELECT {listed} FROM information_schema.{view} WHERE {' AND '.join(where)}"  # noqa: S608 -- shown


def diagnostic_query(place: Place, change: Diagnose, own: DiagnosticQueries) -> Piece | None:
    """The statement for the change, in words, and what it reads; None if there is none."""
    found = None
    if place.measurement is not None:
        found = _of_table(place, change, own)
    elif change.what == "measurements":
        found = Piece(f"List the tables of {place.database}.", own.tables(place))
    return found and replace(found, text=f"{found.text}{own.end}")


def _of_table(place: Place, change: Diagnose, own: DiagnosticQueries) -> Piece | None:
    here, column, table = place.here, place.quoted([change.column]), place.table()
    time = place.quoted([here.time_column]) if here.time_column else ""
    recent = _recent(place, own)
    rows = f"FROM {table} {recent}".rstrip()
    is_label = any(tag.label_of and tag.key == change.column for tag in here.tags)
    if is_label:
        return None
    if change.what == "new values" and (writers := place.quoted(place.writers_of(change.column))):
        # Values are counted, not shown: reports redact them, and a query that is pasted into a chat should not reveal
        # them.
        counted = f"count(DISTINCT {column}) AS distinct_values"
        text = f"SELECT {writers}, {counted}\n{rows}\nGROUP BY {writers}"
        last = len(place.writers_of(change.column)) + 1
        return Piece(by_source(change.column), f"{text} ORDER BY {last} DESC LIMIT 20", _cost(recent))
    if change.what == "new values" and time:
        newest = f"GROUP BY {column} ORDER BY 2 DESC LIMIT 20"
        text = f"SELECT {column}, min({time}), count(*)\n{rows}\n{newest}"
        return Piece(by_time(change.column), text, _cost(recent))
    if change.what == "growth" and time:
        text = f"SELECT count(*), min({time}), max({time}) FROM {table}"  # noqa: S608 -- shown, never run
        return Piece(f"See from when to when {here.name} has rows.", text, _cost(""))
    if change.what == "sources":
        tags = place.quoted(tag.key for tag in here.tags if not tag.label_of)
        by, group = (f"{tags}, ", f"\nGROUP BY {tags} ORDER BY filled") if tags else ("", "")
        text = f"SELECT {by}count(*) AS total, count({column}) AS filled\n{rows}{group}"
        return Piece(f"Find the sources that stopped sending {change.column}.", text, _cost(recent))
    if change.what == "schema":
        return Piece(f"See which columns {here.name} has.", own.columns(place))
    return None


def _recent(place: Place, own: DiagnosticQueries) -> str:
    condition = own.recent(place) if place.here.time_column else ""
    return f"WHERE {condition}" if condition else ""


def _cost(recent: str) -> str:
    return "reads a day of rows" if recent else "reads all rows"


MOST_LINES: Final = 10
"""Maximum number of lines in the text of a step."""
MOST_OF_PLAN: Final = 20
"""Maximum number of lines in the texts of all steps, to fit on a screen of forty lines with the sentences."""
_WIDTH: Final = 96
_INDENT: Final = "  "


@dataclass(frozen=True, slots=True)
class Part:
    """The part of a step about one change, or about several changes of the same kind."""

    words: str
    """Complete sentences. The first one says what to do, and can be understood without the others."""
    statements: tuple[str, ...] = ()
    """The statements, in order; each may have several lines, and ends as the language requires."""
    locks: str = ""
    cost: str = ""
    loses: str = ""
    are_one: bool = False
    """Whether the statements belong together: all of them are shown, or none."""


def joined(kind: StepKind, parts: Sequence[Part]) -> Step | None:
    """One step with all the parts; None if there are none. Statements that do not fit are only counted."""
    if not parts:
        return None
    each = (("\n".join(part.statements),) if part.are_one and part.statements else part.statements for part in parts)
    statements = list(dict.fromkeys(one for some in each for one in some))

    def all_of(values: Iterable[str]) -> str:
        return "; ".join(dict.fromkeys(filter(None, values)))

    return Step(
        kind,
        " ".join(dict.fromkeys(part.words for part in parts if part.words)),
        shown(statements),
        "sql" if statements else "",
        locks=all_of(part.locks for part in parts),
        cost=all_of(part.cost for part in parts),
        loses=all_of(part.loses for part in parts),
    )


def shown(statements: Sequence[str], most: int = MOST_LINES) -> str:
    """As many of the statements as fit into `most` lines, followed by the number of those left out."""
    found, lines = list[str](), 0
    for number, one in enumerate(statements):
        lines += lines_of(one)
        if number and lines + (number + 1 < len(statements)) > most:
            return "\n".join([*found, _left_out(found, statements[number:])])
        found.append(one)
    return "\n".join(found)


def _left_out(found: Sequence[str], rest: Sequence[str]) -> str:
    """The number of statements that are not shown, and their form."""
    known = {_form(one) for text in found for one in text.split(";\n")}
    left = [_form(one) for text in rest for one in text.split(";\n")]
    others = [form for form in dict.fromkeys(left) if form not in known]
    return f"-- {many(len(left), 'more statement')} {f'({listed(others, 3)})' if others else 'of the same form'}"


def _form(statement: str) -> str:
    return " ".join(statement.split()[:2])


def fits(*statements: str, most: int = MOST_LINES) -> bool:
    """Whether all the statements fit into one step."""
    return lines_of(*statements) <= min(most, MOST_LINES)


def lines_of(*texts: str) -> int:
    """The total number of lines of the texts."""
    return sum(len(text.splitlines()) for text in texts)


def folded(pieces: Iterable[str]) -> str:
    """The pieces separated by spaces, on as many lines as necessary. Lines are only broken between pieces."""
    lines = [""]
    for piece in pieces:
        if lines[-1].strip() and len(lines[-1]) + len(piece) >= _WIDTH:
            lines.append(f"{_INDENT}{piece}")
        else:
            lines[-1] += f" {piece}" if lines[-1] else piece
    return "\n".join(lines)


def enumerated(items: Sequence[str], before: str = "", after: str = "") -> list[str]:
    """The items as pieces of a list, separated by commas."""
    if not items:
        return []
    found = [f"{item}," for item in items[:-1]] + [items[-1]]
    found[0], found[-1] = f"{before}{found[0]}", f"{found[-1]}{after}"
    if len(items) == 1:
        found[0] = f"{before}{items[0]}{after}"
    return found


def create_table(name: str, lines: Sequence[str], end: str = "") -> str:
    """A CREATE TABLE statement. `name` must be quoted; `lines`: columns and constraints; `end`: what follows."""
    body = folded(enumerated(lines))
    return f"CREATE TABLE {name} (\n{_INDENT}{body}\n){end};"


@dataclass(frozen=True, slots=True)
class MergedTable:
    """The columns of the merged table."""

    name: str
    types: Mapping[str, str]
    """Each column of the old tables to its type; the time comes first."""
    data: tuple[str, ...]
    """The columns for the data in the old names, in the order of `Merged.tags`."""
    key: tuple[str, ...]
    """The columns that identify a row; empty if the old tables have no key."""
    time: str | None
    first: Measurement
    """One of the old tables."""

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of the table: the time and the data in the old names come first."""
        time = tuple(name for name in self.types if name == self.time)
        return (*time, *self.data, *(name for name in self.types if name not in time))


def merged_table(
    place: Place, change: MergeMeasurements, folds_case: bool, taken: Collection[str]
) -> MergedTable | str:
    """The merged table, or why it cannot be determined, as the end of a sentence.

    `folds_case`: whether names that differ only in case are the same. `taken`: names that the table cannot have.
    """
    inside = {m.name: m for m in place.profile.measurements if m.database == place.database}
    if unknown := [m.measurement for m in change.members if m.measurement not in inside]:
        return f"the audit did not read {listed(unknown, 4)}"
    members = [(member, inside[member.measurement]) for member in change.members]
    if any(tag.label_of for _, measurement in members for tag in measurement.tags):
        return "some of their tags are labels in one column"
    types: dict[str, str] = {}
    for member, measurement in members:
        for name, kind in _types(member, measurement).items():
            if types.setdefault(name, kind).casefold() != kind.casefold():
                return f"{name} does not have the same type in all of them"
    if len({measurement.time_column for _, measurement in members}) > 1:
        return "their time columns have different names"
    keys = {_key(measurement) for _, measurement in members}
    if len(keys) > 1 and () not in keys:
        return "their keys differ"
    key = keys.pop() if len(keys) == 1 else ()
    data = tuple(_beside(name, types) for name, _ in members[0][0].tags)
    name = free(change.into, taken, folds_case)
    first = members[0][1]
    return MergedTable(name, types, data, (*data, *key) if key else (), first.time_column, first)


def _beside(name: str, columns: Collection[str]) -> str:
    """The name of a column for data from a table's name, changed if the tables already have a column with that name."""
    taken = {column.casefold() for column in columns}
    numbered = (f"{name}_in_name{number}" for number in ("", *(f"_{n}" for n in range(2, len(taken) + 3))))
    return next(one for one in (name, *numbered) if one.casefold() not in taken)


def _types(member: Merged, measurement: Measurement) -> dict[str, str]:
    """The columns and their types, under the names that they have in the new table."""
    only = len(measurement.fields) == 1 and bool(member.field)
    renamed = {measurement.fields[0].key: member.field} if only else {}
    return {renamed.get(name, name): kind for name, kind in types_of(measurement).items()}


def types_of(measurement: Measurement) -> dict[str, str]:
    """The table's columns, the time first, to their types as in the catalog."""
    time = {measurement.time_column: measurement.time_type or "TIMESTAMP"} if measurement.time_column else {}
    tags = {tag.key: tag.data_type for tag in measurement.tags if not tag.label_of}
    return time | tags | {field.key: field.types[0] for field in measurement.fields if field.types}


def _key(measurement: Measurement) -> tuple[str, ...]:
    found = (i.columns for i in measurement.indexes or () if i.constraint and None not in i.columns)
    return next((tuple(str(c) for c in columns) for columns in found), ())
