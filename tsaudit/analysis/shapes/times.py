"""Recognizes points in time in the notations that people and programs use."""

from __future__ import annotations

import re
from datetime import date
from typing import Final

_MONTHS: Final = re.compile(
    "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mär|mrz|maa|mag|mai|maj|mei|fév|avr|abr|giu|jui|lug|aoû|ago|set|out|"
    "okt|ott|dez|déc|dic|ene|gen"
)
"""Abbreviated names of months in several languages."""
_WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

_ISO: Final = re.compile(
    r"(\d{4})[-/](\d\d)[-/](\d\d)"
    r"(?:[T ](?:[01]\d|2[0-3])[:.]?[0-5]\d(?:[:.]?[0-5]\d(?:[.,]\d+)?)?\s?(?:Z|UTC|[+-]\d\d:?\d\d)?)?"
)
_ORDINAL: Final = re.compile(r"(?:19|20)\d\d-(?:[0-3]\d\d|W[0-5]\d-[1-7])T[\d:.]+Z?")
_COMPACT: Final = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T?\d{6}Z?)?")
_CLOCK: Final = re.compile(
    r"(?<!\d)(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d{1,9})?)?(?!\d)|\d\d\.\d\d\.\d\d\.\d+(?= [AP]M)"
)
_ZONE: Final = re.compile(r"[+-]\d\d:?\d\d$|\b[A-Z][a-z]+/[A-Z][A-Za-z_]+$|\b(?:[A-Z]{3,4}|Z)$")
_PARTS: Final = re.compile(r"\d+|[^\W\d_]+")


def is_time(value: str) -> bool:
    """Whether the whole value is a date, with or without a time of day; a time of day alone is not."""
    found = _ISO.fullmatch(value) or _COMPACT.fullmatch(value)
    if found:
        return _is_date(*(int(part) for part in found.groups()))
    if _ORDINAL.fullmatch(value):
        return True
    if len(value) > 48 or not any(c.isdigit() for c in value):
        return False
    rest, clocks = _CLOCK.subn(" ", value.strip("[]()"))
    if clocks > 1:
        return False
    numbers, months = [], 0
    for part in _PARTS.findall(_ZONE.sub("", rest.strip()) if clocks else rest):
        word = part.lower()
        if part.isascii() and part.isdigit():
            numbers.append(part)
        elif _MONTHS.match(word) and len(word) <= 10:
            months += 1
        elif word[:3] not in _WEEKDAYS and word not in (
            "am",
            "pm",
            "t",
            "z",
            "utc",
            "gmt",
            "at",
            "uhr",
            "de",
            *"年月日년월일",
        ):
            return False
    if not clocks and not re.fullmatch(r"\d\d?([./-])\d\d?\1\d{4}|.*[^\W\d_].*", value):
        return False
    return _is_calendar(numbers, months, clocked=bool(clocks))


def _is_calendar(numbers: list[str], months: int, *, clocked: bool) -> bool:
    """Whether the numbers, besides names of months, are a day and a year."""
    years = [n for n in numbers if len(n) == 4 and 1970 <= int(n) <= 2099]
    short = [int(n) for n in numbers if len(n) <= 2]
    if len(years) + len(short) != len(numbers) or months > 1 or len(years) > 1:
        return False
    if months:
        # If there is a time of day, the year may be missing or short.
        return bool(short) and short[0] <= 31 and len(short) <= 1 + (clocked and not years) and (clocked or bool(years))
    if years:
        return len(short) == 2 and 1 <= min(short) <= 12 and max(short) <= 31
    return clocked and len(short) == 3


def _is_date(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return 1970 <= year <= 2099


WITHIN: Final = re.compile(
    r"(?:19|20)\d\d[-_./]?(?:0[1-9]|1[0-2])[-_./]?(?:0[1-9]|[12]\d|3[01])[-_T ./]{0,2}\d\d[-_:.]?\d"
)
"""A date within a longer value, followed by a time of day or by a number of that day."""
