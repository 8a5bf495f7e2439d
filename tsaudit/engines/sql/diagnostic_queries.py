"""Queries in SQL that show what a finding is about. They only read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from tsaudit.analysis.columns.columns import is_number
from tsaudit.engines.advice import Piece, Place, by_source, by_time
from tsaudit.engines.quoting import Language
from tsaudit.model.change import Diagnose

_A_DAY: Final = timedelta(days=1)


def newest_day(place: Place) -> str:
    """A condition for the rows of the newest day; empty if the table has no time column, or if its times
    are numbers.
    """
    time = place.here.time_column
    if time is None or is_number(place.here.time_type or ""):
        return ""
    newest = (place.here.last_time or place.profile.window.end).astimezone(UTC)
    day = newest.replace(hour=0, minute=0, second=0, microsecond=0)
    column = place.quoted([time])
    return f"{column} >= '{_text(day)}' AND {column} < '{_text(day + _A_DAY)}'"


def _text(day: datetime) -> str:
    return f"{day:%Y-%m-%d %H:%M:%S}"


@dataclass(frozen=True, slots=True)
class DiagnosticQueries:
    """How a database is queried about its contents."""

    recent: Callable[[Place], str] = newest_day
    """The condition for rows of the newest day, for a table with a time column; empty if its times cannot
    be compared.
    """
    columns: Callable[[Place], str] = lambda place: _standard(place, "columns", "column_name, data_type")
    tables: Callable[[Place], str] = lambda place: _standard(place, "tables", "table_name")
    end: str = ";"
    """The text that ends a statement."""


def _standard(place: Place, view: str, listed: str) -> str:
    where = [f"table_schema = {Language.SQL.string(place.database)}"]
    if place.measurement is not None:
        where.append(f"table_name = {Language.SQL.string(place.here.name)}")
    return f"SELECT {listed} FROM information_schema.{view} WHERE {' AND '.join(where)}"  # noqa: S608 -- shown


def query(place: Place, change: Diagnose, own: DiagnosticQueries) -> Piece | None:
    """The statement for the change, in words, and what it reads; None if there is none."""
    found = _of_database(place, change, own) if place.measurement is None else _of_table(place, change, own)
    return found and replace(found, text=f"{found.text}{own.end}")


def _of_database(place: Place, change: Diagnose, own: DiagnosticQueries) -> Piece | None:
    if change.what == "measurements":
        return Piece(f"List the tables of {place.database}.", own.tables(place))
    return None


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
