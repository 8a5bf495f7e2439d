"""How SQLite makes changes."""

from __future__ import annotations

from typing import Final

from tsaudit.engines.quoting import quote_text
from tsaudit.engines.rendering import Renderers
from tsaudit.engines.sql import changes as sql
from tsaudit.engines.sql import values
from tsaudit.engines.sql.dialect import Dialect
from tsaudit.engines.sql.looks import Looks, renderer
from tsaudit.engines.sql.table_changes import renderers
from tsaudit.engines.sqlite.dependents import dependents
from tsaudit.model.change import Inspect

_ESCAPED: Final = frozenset('\\"') | frozenset(map(chr, range(32)))
"""What JSON writes in another way."""


def _converted(column: str, kind: str, is_text: bool) -> str:
    """SQLite has no patterns: only text that is a number as a whole equals the number that it begins with."""
    if kind == "integer" and not is_text:
        return f"CASE WHEN {column} = CAST({column} AS INTEGER) THEN CAST({column} AS INTEGER) END"
    text = f"trim({column})"
    if kind == "boolean":
        return values.boolean(text, "1", "0")
    if kind == "time":  # Text of this form is how SQLite keeps times.
        return f"CASE WHEN {text} NOT GLOB '*[^0-9]*' OR julianday({text}) IS NOT NULL THEN {text} END"
    has_point, is_code = f"{text} GLOB '*[.eE]*'", f"ltrim({text}, '+-') GLOB '0[0-9]*'"
    if kind == "integer":
        number = f"CAST({text} AS INTEGER)"
        fits = f"length({text}) <= 18 AND NOT {has_point} AND NOT {is_code}"
        return f"CASE WHEN {number} = {text} AND {fits} THEN {number} END"
    number = f"CAST({text} AS REAL)"
    # A float holds 15 digits of any integer.
    fits = f"({has_point} OR length({text}) <= 15 AND NOT {is_code})"
    # As text, a float would keep 15 digits only.
    own = f"WHEN typeof({column}) = 'real' THEN {column} "
    return f"CASE {own}WHEN {number} = {text} AND abs({number}) < 1e300 AND {fits} THEN {number} END"


def _piece(column: str, separator: str, number: int) -> str | None:
    """SQLite splits no text, but takes a list of JSON apart."""
    if set(separator) & _ESCAPED:
        return None
    joined = f"replace(json_quote({column}), {quote_text('sqlite', separator)}, '\",\"')"
    return f"json_extract('[' || {joined} || ']', '$[{number - 1}]')"


DIALECT: Final = Dialect(
    text="TEXT",
    converted=_converted,
    piece=_piece,
    dependents=dependents,
    locks="all writers of the file",
)
_LOOKS: Final = Looks(
    columns=lambda place: f"PRAGMA table_info({quote_text('sqlite', place.here.name)})",
    tables=lambda _: "SELECT name FROM sqlite_master WHERE type = 'table'",
)
RENDERERS: Final[Renderers] = {**sql.COMMON, **renderers(DIALECT), Inspect: renderer(_LOOKS)}
