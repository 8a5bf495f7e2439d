"""What the engines' type names mean, as far as rules need it."""

from __future__ import annotations

import re


def is_text(data_type: str) -> bool:
    """Whether columns of the type hold text."""
    return bool(re.match(r"(N?VAR)?CHAR|N?VARCHAR|(CI)?TEXT|STRING|BPCHAR|CLOB|ENUM|UUID", data_type.upper()))


def is_integer(data_type: str) -> bool:
    """Whether columns of the type hold whole numbers."""
    return bool(re.match(r"U?(TINY|SMALL|BIG|HUGE|MEDIUM)?INT(EGER)?([248]|16|32|64)?\b|UNSIGNED", data_type.upper()))
