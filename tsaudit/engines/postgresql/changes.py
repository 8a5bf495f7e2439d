"""How PostgreSQL and TimescaleDB make changes."""

from __future__ import annotations

from typing import Final

from tsaudit.engines.postgresql.dependents import dependents
from tsaudit.engines.postgresql.retention import keep_for
from tsaudit.engines.quoting import quote_text
from tsaudit.engines.rendering import Renderers
from tsaudit.engines.sql import changes as sql
from tsaudit.engines.sql import values
from tsaudit.engines.sql.dialect import Dialect
from tsaudit.engines.sql.table_changes import renderers
from tsaudit.model.change import SetRetention


def _converted(column: str, kind: str, is_text: bool) -> str:
    if not is_text:
        return values.whole(column) if kind == "integer" else values.real(column, _TYPES[kind])
    text = f"btrim(CAST({column} AS TEXT))"
    if kind == "boolean":
        return values.boolean(text)
    if kind == "time":
        since = values.since_1970(text, "TIMESTAMPTZ 'epoch'", "{number} * INTERVAL '1 microsecond'")
        # Without a time zone, the time would be interpreted in the session's zone.
        return (
            f"CASE WHEN {text} ~ '{values.EPOCH}' THEN {since} "
            f"WHEN {text} ~ '{values.TIME}' AND {text} ~ '{values.ZONE}' THEN CAST({text} AS TIMESTAMPTZ) "
            f"WHEN {text} ~ '{values.TIME}' THEN CAST({text} AS TIMESTAMP) AT TIME ZONE 'UTC' END"
        )
    pattern = values.WHOLE if kind == "integer" else values.NUMBER
    return f"CASE WHEN {text} ~ '{pattern}' THEN CAST({text} AS {_TYPES[kind]}) END"


def _piece(column: str, separator: str, number: int) -> str:
    return f"split_part({column}, {quote_text('postgresql', separator)}, {number})"


_TYPES: Final = {"integer": "BIGINT", "float": "DOUBLE PRECISION", "boolean": "BOOLEAN", "time": "TIMESTAMPTZ"}
DIALECT: Final = Dialect(
    text="TEXT",
    converted=_converted,
    piece=_piece,
    dependents=dependents,
    views_follow=True,
    folds_case=False,
    locks="readers and writers of the table, for a moment",
    beside_writers="CONCURRENTLY",
)
RENDERERS: Final[Renderers] = {**sql.COMMON, **renderers(DIALECT), SetRetention: keep_for}
