"""What the engines' type names mean, as far as rules need it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tsaudit.dialect import DOCUMENT_ENGINES


def is_text(data_type: str) -> bool:
    """Whether columns of the type hold text."""
    return bool(re.match(r"(N?VAR)?CHAR|N?VARCHAR|(CI)?TEXT|STRING|BPCHAR|CLOB|ENUM|UUID", data_type.upper()))


_NUMBERS: Final = frozenset({"int", "long", "double", "decimal"})
"""BSON types that compare as one, and between which drivers choose by the value: `1` or `1.5`."""


def told_apart(engine: str, types: Sequence[str]) -> tuple[str, ...]:
    """The types of which queries notice that they differ, sorted."""
    if engine not in DOCUMENT_ENGINES:
        return tuple(types)
    return tuple(sorted({"number" if t in _NUMBERS else t for t in types}))


def is_integer(data_type: str) -> bool:
    """Whether columns of the type hold whole numbers."""
    return bool(re.match(r"U?(TINY|SMALL|BIG|HUGE|MEDIUM)?INT(EGER)?([248]|16|32|64)?\b|UNSIGNED", data_type.upper()))
