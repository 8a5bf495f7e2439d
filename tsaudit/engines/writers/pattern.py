"""A regular expression that takes the values of a column with several attributes apart."""

from __future__ import annotations

import re

from tsaudit.model.change import SplitColumn


def value_pattern(split: SplitColumn) -> str:
    """A regular expression of Go that fits a whole value, with a named group for each part; empty if the example does
    not show where the parts are, or a name cannot be that of a group. Other pieces are the same in all values.
    """
    pieces, number = [], 0
    for text in split.example.split(split.separator):
        if number < len(split.parts) and split.parts[number].example in text:
            part = split.parts[number]
            before, _, after = text.partition(part.example)
            pieces.append(f"{re.escape(before)}(?P<{part.name}>.*?){re.escape(after)}")
            number += 1
        else:
            pieces.append(re.escape(text))
    are_names = all(re.fullmatch(r"[A-Za-z_]\w*", part.name, re.ASCII) for part in split.parts)
    return f"^{re.escape(split.separator).join(pieces)}$" if number == len(split.parts) and are_names else ""
