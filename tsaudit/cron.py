"""Cron lines, checked where they are written instead of when Dagster first reads them."""

from __future__ import annotations

from typing import Final

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_NICKNAMES: Final = ("@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually")
_FIELDS: Final = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day of the month", 1, 31, ()),
    ("month", 1, 12, _MONTHS),
    ("day of the week", 0, 7, _DAYS),
)


def check(line: str) -> str:
    """The line itself. ValueError, in words, when it is no cron line of five fields or a nickname such as `@daily`."""
    if line in _NICKNAMES:
        return line
    parts = line.split()
    if len(parts) != len(_FIELDS):
        raise ValueError(
            "expected a cron line: minute, hour, day of the month, month, day of the week, such as `0 6 * * *`"
        )
    for part, (field, lowest, highest, names) in zip(parts, _FIELDS, strict=True):
        for item in part.split(","):
            if not _is_item(item.lower(), lowest, highest, names):
                raise ValueError(f"`{part}` is no {field} of a cron line: expected {lowest} to {highest}, or *")
    return line


def _is_item(item: str, lowest: int, highest: int, names: tuple[str, ...]) -> bool:
    """`*`, `5`, `1-5`, `mon-fri`, each with or without a step: `*/15`."""
    span, slash, step = item.partition("/")
    if slash and not (step.isascii() and step.isdigit() and int(step) > 0):
        return False
    if span == "*":
        return True
    first, dash, last = span.partition("-")
    if slash and not dash:
        return False
    start = _number(first, names, lowest)
    end = _number(last, names, lowest) if dash else start
    return start is not None and end is not None and lowest <= start <= end <= highest


def _number(text: str, names: tuple[str, ...], lowest: int) -> int | None:
    if text in names:
        return names.index(text) + lowest
    return int(text) if text.isascii() and text.isdigit() else None
