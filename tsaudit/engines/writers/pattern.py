"""A regular expression that takes the values of a column with several attributes apart."""

from __future__ import annotations

import re

from tsaudit.model.change import SplitColumn


def value_pattern(split: SplitColumn) -> str:
    """A regular expression of Go that fits a whole value, with a named group for each part; empty if the example does
    not show where the parts are, or a name cannot be that of a group. Other pieces are the same in all values.
    """
    pattern, rest = "", split.example
    for part in split.parts:
        before, found, rest = rest.partition(part.example)
        if not found or not re.fullmatch(r"[A-Za-z_]\w*", part.name, re.ASCII):
            return ""
        pattern += f"{re.escape(before)}(?P<{part.name}>.*?)"
    return f"^{pattern}{re.escape(rest)}$"
