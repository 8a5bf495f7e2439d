"""How DuckDB makes changes."""

from __future__ import annotations

from typing import Final

from tsaudit.engines.duckdb.dependents import dependents
from tsaudit.engines.quoting import quote_text
from tsaudit.engines.rendering import Renderers
from tsaudit.engines.sql import changes as sql
from tsaudit.engines.sql import values
from tsaudit.engines.sql.dialect import Dialect
from tsaudit.engines.sql.table_changes import renderers


def _converted(column: str, kind: str, is_text: bool) -> str:
    if not is_text:
        return values.whole(column) if kind == "integer" else values.real(column, _TYPES[kind])
    text = f"trim({column})"
    if kind == "boolean":
        return values.boolean(text)
    if kind == "time":
        since = values.since_1970(text, "TIMESTAMP '1970-01-01'", "to_microseconds({number})")
        return (
            f"CASE WHEN regexp_matches({text}, '{values.EPOCH}') THEN {since} "
            f"WHEN regexp_matches({text}, '{values.TIME}') THEN TRY_CAST({text} AS TIMESTAMP) END"
        )
    pattern = values.WHOLE if kind == "integer" else values.NUMBER
    return f"CASE WHEN regexp_matches({text}, '{pattern}') THEN TRY_CAST({text} AS {_TYPES[kind]}) END"


def _piece(column: str, separator: str, number: int) -> str:
    return f"split_part({column}, {quote_text('duckdb', separator)}, {number})"


_TYPES: Final = {"integer": "BIGINT", "float": "DOUBLE", "boolean": "BOOLEAN", "time": "TIMESTAMP"}
DIALECT: Final = Dialect(
    text="VARCHAR",
    converted=_converted,
    piece=_piece,
    dependents=dependents,
    indexes_block=True,
    indexes_one_column=True,
)
RENDERERS: Final[Renderers] = {**sql.COMMON, **renderers(DIALECT)}
