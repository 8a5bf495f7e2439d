"""Cron expressions: validated when the file is read, not when Dagster first uses them, and the days they match."""

from __future__ import annotations

from calendar import monthrange
from datetime import date
from typing import Final

NEVER: Final = "never"
"""Used instead of an expression: Dagster never audits the target by itself."""

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_NICKNAMES: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_FIELDS: Final = (
    ("minute", 0, 59, ()),
    ("hour", 0, 23, ()),
    ("day of the month", 1, 31, ()),
    ("month", 1, 12, _MONTHS),
    ("day of the week", 0, 7, _DAYS),
)


def check(line: str) -> str:
    """The expression itself. Raises ValueError unless it has five valid fields, is a nickname such as `@daily`, or
    `never`.
    """
    if line in _NICKNAMES or line == NEVER:
        return line
    parts = line.split()
    if len(parts) != len(_FIELDS):
        fields = "minute, hour, day of the month, month, day of the week, such as `0 6 * * *`, in UTC"
        raise ValueError(
            f"expected a cron expression: {fields}{f'; not {len(parts)} fields' if len(parts) > 1 else ''}"
        )
    for part, (field, lowest, highest, names) in zip(parts, _FIELDS, strict=True):
        for item in part.split(","):
            if not _is_item(item.lower(), lowest, highest, names):
                raise ValueError(
                    f"`{part}` is not a valid {field} in a cron expression: expected {lowest} to {highest}, or *"
                )
    _, _, of_month, month, _ = parts
    if not any(_names(month.lower(), number, 1, 12, _MONTHS) and _has_day(number, of_month) for number in range(1, 13)):
        raise ValueError(
            f"`{of_month} {month}` is not a date: Dagster rejects such an expression, whatever its days of the week"
        )
    return line


def fires_on(line: str, day: date) -> bool:
    """Whether an expression that passed `check` matches the day.

    As in Dagster: if both a day of the month and a day of the week are given, either is enough.
    """
    if line == NEVER:
        return False
    *_, of_month, month, of_week = _NICKNAMES.get(line, line).lower().split()
    on_date = _names(of_month, day.day, 1, 31, ())
    # Both 0 and 7 stand for Sunday.
    weekday = day.isoweekday() % 7
    on_weekday = any(_names(of_week, number, 0, 7, _DAYS) for number in {weekday, weekday or 7})
    either = of_month != "*" and of_week != "*"
    return _names(month, day.month, 1, 12, _MONTHS) and ((on_date or on_weekday) if either else on_date and on_weekday)


def _has_day(month: int, of_month: str) -> bool:
    """Whether any month has one of the given days."""
    _, days = monthrange(2024, month)  # A leap year.
    return any(_names(of_month, day, 1, 31, ()) for day in range(1, days + 1))


def _names(part: str, value: int, lowest: int, highest: int, names: tuple[str, ...]) -> bool:
    """Whether one field of an expression includes the value."""
    for item in part.split(","):
        span, _, step = item.partition("/")
        first, _, last = span.partition("-")
        start = lowest if span == "*" else _number(first, names, lowest) or 0
        end = highest if span == "*" else _number(last or first, names, lowest) or 0
        if start <= value <= end and (value - start) % int(step or 1) == 0:
            return True
    return False


def _is_item(item: str, lowest: int, highest: int, names: tuple[str, ...]) -> bool:
    """Whether the text is a valid item: `*`, `5`, `1-5`, or `mon-fri`, each with or without a step, as in `*/15`."""
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
