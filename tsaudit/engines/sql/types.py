"""What the engines' type names mean, as far as rules need it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tsaudit.engines.registry import ENGINES

_SCHEMA: Final = re.compile(r'(\w+|"([^"]|"")*")\.')


def is_made(data_type: str) -> bool:
    """Whether the type is not the engine's own but was made in a schema, such as an extension's `public.citext`."""
    return bool(_SCHEMA.match(data_type))


def is_list(data_type: str) -> bool:
    """Whether columns of the type hold several values each."""
    return data_type.endswith("]")


def is_text(data_type: str) -> bool:
    """Whether columns of the type hold text."""
    schema = _SCHEMA.match(data_type)
    kind = data_type[schema.end() if schema else 0 :].upper()
    is_one = re.match(r"(N?VAR)?CHAR|N?VARCHAR|(CI)?TEXT|STRING|BPCHAR|CLOB|ENUM|UUID", kind)
    return bool(is_one) and not is_list(data_type)


_NUMBERS: Final = frozenset({"int", "long", "double", "decimal"})
"""BSON types that compare as one, and between which drivers choose by the value: `1` or `1.5`."""


def told_apart(engine: str, types: Sequence[str]) -> tuple[str, ...]:
    """The types of which queries notice that they differ, sorted."""
    if not ENGINES[engine].keeps_documents:
        return tuple(types)
    return tuple(sorted({"number" if t in _NUMBERS else t for t in types}))


def is_integer(data_type: str) -> bool:
    """Whether columns of the type hold whole numbers."""
    is_one = re.match(r"U?(TINY|SMALL|BIG|HUGE|MEDIUM)?INT(EGER)?([248]|16|32|64)?\b|UNSIGNED", data_type.upper())
    return bool(is_one) and not is_list(data_type)


_SQL_TYPES: Final = {"integer": "BIGINT", "float": "DOUBLE", "boolean": "BOOLEAN", "time": "TIMESTAMP"}
_OWN_SQL_TYPES: Final = {
    "sqlite": {"integer": "INTEGER", "float": "REAL", "boolean": "INTEGER", "time": "TIMESTAMP"},
    "postgresql": {"float": "DOUBLE PRECISION", "time": "TIMESTAMPTZ"},
}


def sql_type(engine: str, kind: str) -> str:
    """What the engine calls a column of integers, floats, booleans or times (`integer`, `float`, ...)."""
    return (_SQL_TYPES | _OWN_SQL_TYPES.get(engine, {}))[kind]
