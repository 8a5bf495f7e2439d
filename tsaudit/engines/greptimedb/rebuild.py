"""The final state of a table that is rebuilt, and the statements for it: all changes in one copy."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from tsaudit.engines.greptimedb.statements import CLAUSES, bounds_of, options_clause, partitions_clause
from tsaudit.engines.greptimedb.tables import indexes_on, primary_key
from tsaudit.engines.quoting import quote_text
from tsaudit.engines.rendering import Place
from tsaudit.engines.sql import values
from tsaudit.engines.sql.merging import Merger
from tsaudit.engines.sql.types import is_text
from tsaudit.model.change import SplitColumn
from tsaudit.model.profile import Measurement

A_DAY: Final = timedelta(days=1)
TYPES: Final = {"integer": "BIGINT", "float": "DOUBLE", "boolean": "BOOLEAN", "time": "TIMESTAMP(3)"}


@dataclass(frozen=True, slots=True)
class Shape:
    """The final state of a table, by the names that its columns have now."""

    key: tuple[str, ...]
    time: str | None
    options: Mapping[str, str] = field(default_factory=dict)
    """Those that change; empty for one that is left out."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Of columns that get others."""
    types: Mapping[str, str] = field(default_factory=dict)
    """Column to the kind of its values (`integer`, `float`, ...), of those that get another type."""
    kept_beside: Mapping[str, str] = field(default_factory=dict)
    """Column that gets another type to the one that keeps those of its values which have no such type."""
    parts: Mapping[str, SplitColumn] = field(default_factory=dict)
    """Column to what takes its place."""
    indexes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Column to the kinds of index on it, of those where they change."""
    is_divided: bool = True
    is_distinct: bool = False
    """Whether rows that are the same in all columns are copied once."""


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    type: str
    value: str
    is_time: bool = False
    kinds: Collection[str] = ()


def create(place: Place, shape: Shape, name: str) -> str:
    """Makes the new table."""
    lines = []
    for column in _columns(place, shape):
        # An index on the time index would serve nothing.
        clauses = [] if column.is_time else [CLAUSES[kind] for kind in sorted(column.kinds)]
        null = ["NOT NULL"] if column.is_time else []
        lines.append(" ".join([place.quoted([column.name]), column.type.upper(), *null, *clauses]))
    if shape.time:
        lines.append(f"TIME INDEX ({place.quoted([shape.names.get(shape.time, shape.time)])})")
    if key := final_key(shape):
        lines.append(f"PRIMARY KEY ({place.quoted(key)})")
    body = ",\n".join(f"  {line}" for line in lines)
    changed = {**shape.names, **dict.fromkeys(shape.parts, "")}
    parts = partitions_clause(place, place.here, changed) if shape.is_divided else ""
    return f"CREATE TABLE {place.table(name)} (\n{body}\n){parts}{options_clause(place.here, shape.options)};"


def create_merged(place: Place, merger: Merger) -> str:
    """Makes the table that several become, with the settings of the first of them."""
    first = merger.members[0][1]
    lines = []
    for name, kind in {**dict.fromkeys(merger.told, "STRING"), **merger.types}.items():
        null = " NOT NULL" if name == merger.time else ""
        lines.append(f"{place.quoted([name])} {kind.upper()}{null}")
    lines.append(f"TIME INDEX ({place.quoted([merger.time or ''])})")
    if key := [*merger.told, *primary_key(first)]:
        lines.append(f"PRIMARY KEY ({place.quoted(key)})")
    body = ",\n".join(f"  {line}" for line in lines)
    return f"CREATE TABLE {place.table(merger.into)} (\n{body}\n){options_clause(first, {})}"


def final_key(shape: Shape) -> list[str]:
    """The columns of the new key, by their new names."""
    found: list[str] = []
    for column in shape.key:
        split = shape.parts.get(column)
        found += [part.name for part in split.parts] if split else [shape.names.get(column, column)]
    return found


def loses_partitions(place: Place, shape: Shape) -> bool:
    """Whether its partitions cannot be carried over."""
    cut, changed = place.here.partitioning, {**shape.names, **dict.fromkeys(shape.parts, "")}
    return bool(
        cut and bounds_of(place.here) and shape.is_divided and not partitions_clause(place, place.here, changed)
    )


def insert_day(place: Place, shape: Shape, name: str) -> str:
    """Copies the rows of the newest day: of many days at once the server would open more files than it may."""
    columns = _columns(place, shape)
    into = place.quoted(column.name for column in columns)
    selected = ", ".join(column.value for column in columns)
    once = "DISTINCT " if shape.is_distinct else ""
    where = f" WHERE {within(place, place.here.time_column)}" if place.here.time_column else ""
    return f"INSERT INTO {place.table(name)} ({into}) SELECT {once}{selected} FROM {place.table()}{where};"  # noqa: S608


def within(place: Place, time: str | None) -> str:
    """A condition for the rows of the newest day."""
    newest = (place.here.last_time or place.profile.window.end).astimezone(UTC)
    day = newest.replace(hour=0, minute=0, second=0, microsecond=0)
    column = place.quoted([time or ""])
    return f"{column} >= '{_text(day)}' AND {column} < '{_text(day + A_DAY)}'"


def _text(day: datetime) -> str:
    return f"{day:%Y-%m-%d %H:%M:%S}"


def counts(place: Place, shape: Shape, name: str) -> str:
    """Counts the rows of the newest day in both tables, and what has no value in a column of another type."""
    time = place.here.time_column
    found = []
    for table, names in ((place.table(), {}), (place.table(name), dict(shape.names))):
        shown = [place.quoted([names.get(c, c)]) for c in shape.types]
        # A count of a column without a condition would not look at nulls in a table that keeps all rows.
        filled = "".join(f", sum(CASE WHEN {c} IS NULL THEN 1 ELSE 0 END)" for c in shown)
        where = f" WHERE {within(place, names.get(time, time))}" if time else ""
        found.append(f"SELECT count(*){filled} FROM {table}{where};")  # noqa: S608 -- shown, never run
    return "\n".join(found)


def split_statement(place: Place, change: SplitColumn) -> str:
    """Shows the values that are of another form."""
    column = place.quoted([change.column])
    whole = _joined(place, change)
    where = f"{column} <> {whole}"
    time = place.here.time_column
    where += f" AND {within(place, time)}" if time else ""
    return f"SELECT {column}, count(*) FROM {place.table()} WHERE {where} GROUP BY {column};"  # noqa: S608


def _columns(place: Place, shape: Shape) -> list[_Column]:
    here, found = place.here, list[_Column]()
    for column in here.columns:
        if column in shape.parts:
            found += _parts(place, shape.parts[column])
            continue
        quoted, kind = place.quoted([column]), shape.types.get(column)
        value = _converted(quoted, kind, is_text(_stored(here, column))) if kind else quoted
        if column == shape.time and column != here.time_column and here.time_column:
            value = f"coalesce({quoted}, {place.quoted([here.time_column])})"
        own = frozenset(indexes_on(here, column))
        found.append(
            _Column(
                shape.names.get(column, column),
                TYPES[kind] if kind else _stored(here, column),
                value,
                column == shape.time,
                shape.indexes.get(column, own),
            )
        )
        if beside := shape.kept_beside.get(column):
            found.append(_Column(beside, _stored(here, column), f"CASE WHEN {value} IS NULL THEN {quoted} END"))
    return found


def _stored(measurement: Measurement, column: str) -> str:
    types = {t.key: t.data_type for t in measurement.tags} | {f.key: f.types[0] for f in measurement.fields}
    return types.get(column) or measurement.time_type or "timestamp(3)"


def _pieces(place: Place, change: SplitColumn) -> list[tuple[str, str]]:
    """Each part's expression, and what stands before it in the value."""
    column, separator = place.quoted([change.column]), quote_text("greptimedb", change.separator)
    found = []
    for number, (part, text) in enumerate(zip(change.parts, change.example.split(change.separator), strict=False), 1):
        before = text[: max(0, text.find(part.example))]
        piece = f"split_part({column}, {separator}, {number})"
        found.append((f"substr({piece}, {len(before) + 1})" if before else piece, before))
    return found


def _joined(place: Place, change: SplitColumn) -> str:
    pieces = _pieces(place, change)
    texts = [f"concat({quote_text('greptimedb', before)}, {piece})" if before else piece for piece, before in pieces]
    separator = f", {quote_text('greptimedb', change.separator)}, "
    return f"concat({separator.join(texts)})"


def _parts(place: Place, change: SplitColumn) -> list[_Column]:
    """A value of another form stays whole, in the first of them, so that rows stay apart."""
    column, whole = place.quoted([change.column]), _joined(place, change)
    found = []
    for number, (part, (piece, _)) in enumerate(zip(change.parts, _pieces(place, change), strict=False)):
        otherwise = f" ELSE {column}" if number == 0 else ""
        found.append(_Column(part.name, "STRING", f"CASE WHEN {column} = {whole} THEN {piece}{otherwise} END"))
    return found


def _converted(column: str, kind: str, of_text: bool) -> str:
    """Null for a value that is none of the kind."""
    if not of_text:
        return values.whole(column) if kind == "integer" else f"CAST({column} AS {TYPES[kind]})"
    text = f"trim({column})"
    if kind == "boolean":
        return values.boolean(text)
    if kind == "time":
        units: tuple[tuple[int, str], ...] = ((10, "seconds"), (13, "millis"), (16, "micros"), (19, "nanos"))
        since = " ".join(
            f"WHEN length({text}) = {digits} THEN CAST(to_timestamp_{unit}(CAST({text} AS BIGINT)) AS TIMESTAMP(3))"
            for digits, unit in units
        )
        is_epoch = f"{text} ~ '{values.EPOCH}'"
        return f"CASE WHEN {is_epoch} THEN CASE {since} END ELSE TRY_CAST({text} AS TIMESTAMP(3)) END"
    pattern = values.WHOLE if kind == "integer" else values.NUMBER
    return f"CASE WHEN {text} ~ '{pattern}' THEN TRY_CAST({text} AS {TYPES[kind]}) END"


def as_it_is(place: Place) -> Shape:
    """The table's present state."""
    return Shape(primary_key(place.here), place.here.time_column)
