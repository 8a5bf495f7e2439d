"""The meaning of the engines' type names, as far as rules need it."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Final

from tsaudit.engines.registry import ENGINES

_TYPES: Final = 1_024
"""Size of the caches by type name: the same type is looked up several times per column."""
_SCHEMA: Final = re.compile(r'(\w+|"([^"]|"")*")\.')


def is_made(data_type: str) -> bool:
    """Whether the type is user-defined in a schema, such as an extension's `public.citext`, rather than built in."""
    return bool(_SCHEMA.match(data_type))


def is_list(data_type: str) -> bool:
    """Whether values of the type are lists."""
    return data_type.endswith("]")


@functools.lru_cache(maxsize=_TYPES)
def is_text(data_type: str) -> bool:
    """Whether columns of the type hold text."""
    schema = _SCHEMA.match(data_type)
    kind = data_type[schema.end() if schema else 0 :].upper()
    is_one = re.match(r"(N?VAR)?CHAR|N?VARCHAR|(CI)?TEXT|STRING|BPCHAR|CLOB|ENUM|UUID", kind)
    return bool(is_one) and not is_list(data_type)


_NUMBERS: Final = frozenset({"int", "long", "double", "decimal"})
"""BSON types that compare as equal; drivers choose between them by the value: `1` or `1.5`."""


def distinct_types(engine: str, types: Sequence[str]) -> tuple[str, ...]:
    """The types whose differences affect queries, sorted."""
    if not ENGINES[engine].keeps_documents:
        return tuple(types)
    return tuple(sorted({"number" if t in _NUMBERS else t for t in types}))


@functools.lru_cache(maxsize=_TYPES)
def is_integer(data_type: str) -> bool:
    """Whether columns of the type contain integers."""
    is_one = re.match(r"U?(TINY|SMALL|BIG|HUGE|MEDIUM)?INT(EGER)?([248]|16|32|64)?\b|UNSIGNED", data_type.upper())
    return bool(is_one) and not is_list(data_type)


@functools.lru_cache(maxsize=_TYPES)
def is_number(data_type: str) -> bool:
    """Whether columns of the type contain integers, floats, or decimals."""
    is_one = re.match(r"FLOAT|REAL|DOUBLE|NUMERIC|DECIMAL|DEC\b", data_type.upper())
    return is_integer(data_type) or (bool(is_one) and not is_list(data_type))


def is_single(data_type: str) -> bool:
    """Whether columns of the type contain floating-point numbers of four bytes."""
    # In lower case, `float` is a type of InfluxDB, which has eight bytes.
    return bool(re.fullmatch(r"real|float4|float32|FLOAT|REAL|FLOAT4|Float32", data_type))
