"""Statements of plans: queries that show what a finding is about, and parts of steps, which must fit on a screen."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Final

from tsaudit.analysis.columns.columns import is_number
from tsaudit.engines.advice import Piece, Place, by_source, by_time
from tsaudit.engines.quoting import Language
from tsaudit.engines.sql.tables import types_of
from tsaudit.model.change import Diagnose, DropRepeats
from tsaudit.model.plan import Step, StepKind
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


_MOST_OF_COPIES: Final = 6
"""Lines of a statement about copies, of which a plan has two."""
_SORTS: Final = "reads and sorts all rows"


def copies_counted(place: Place, change: DropRepeats, uncomparable: Collection[str]) -> Part:
    """The query for rows that are stored twice. `uncomparable`: types that have to be cast to text to be compared."""
    keys = place.quoted(change.key)
    newest = f"ORDER BY {len(change.key)} DESC LIMIT 20;"
    rows = [*_numbered(place, change, keys, uncomparable), f"GROUP BY {keys}", newest]
    statement = folded([f"SELECT {keys}, count(*) AS copies FROM", *rows])
    return Part("See the newest rows that have copies, and how many.", _short(statement), cost=_SORTS)


def copies_deleted(place: Place, change: DropRepeats, uncomparable: Collection[str], address: str) -> Part:
    """The statement that leaves one of the rows that are the same. `address`: columns, separated by commas, that tell
    such rows apart. Others as for `copies_counted`.
    """
    own = f"({address})" if "," in address else address
    rows = _numbered(place, change, address, uncomparable)
    statement = folded([f"DELETE FROM {place.table()} WHERE {own} IN", f"(SELECT {address} FROM", *rows])  # noqa: S608 -- shown
    apart = f", whatever they have in {listed(change.ignored, 3)}" if change.ignored else ""
    return Part(
        f"Delete the copies: of rows that are the same in all columns, one stays{apart}.",
        _short(f"{statement});"),
        cost=_SORTS,
        loses=f"all but one of rows that are the same: {change.found}",
    )


def _numbered(place: Place, change: DropRepeats, selected: str, uncomparable: Collection[str]) -> list[str]:
    """A subquery that numbers equal rows, the first of them 1, as pieces of a statement. Of rows that came at different
    times, it is the one that came first.
    """
    types = types_of(place.here)
    compared = [
        f"CAST({place.quote(column)} AS TEXT)" if types.get(column, "").lower() in uncomparable else place.quote(column)
        for column in place.here.columns
        if column not in change.ignored
    ]
    apart = [column for column in change.ignored if types.get(column, "").lower() not in uncomparable]
    order = f" ORDER BY {', '.join(map(place.quote, apart))}" if apart else ""
    by = enumerated(compared, "(PARTITION BY ", f"{order}) AS copy")
    return [f"(SELECT {selected},", "row_number() OVER", *by, f"FROM {place.table()}) AS numbered", "WHERE copy > 1"]


def _short(statement: str) -> tuple[str, ...]:
    """Of a table with many columns, only the words."""
    return (statement,) if lines_of(statement) <= _MOST_OF_COPIES else ()
