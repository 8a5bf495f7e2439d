"""Builds a regular expression that splits the values of a column with several attributes."""

from __future__ import annotations

import re

from tsaudit.model.change import SplitColumn


def value_pattern(split: SplitColumn) -> str:
    """A Go regular expression that matches a whole value, with a named group for each part. Empty if the example does
    not show where the parts are, or a name cannot be the name of a group. Text between the parts must be the same in
    all values.
    """
    pattern, rest = "", split.example
    for part in split.parts:
        before, found, rest = rest.partition(part.example)
        if not found or not re.fullmatch(r"[A-Za-z_]\w*", part.name, re.ASCII):
            return ""
        pattern += f"{re.escape(before)}(?P<{part.name}>.*?)"
    return f"^{pattern}{re.escape(rest)}$"
