"""Recognizes names of things created once per period: `users_2012_10_03`, `users_2012w40`, `users_1709251200`.

A single name proves nothing: `order_201210` may be the number of an order. Several names must differ only in the
period, cover most of the time from the first to the last one, and make up nearly all names of their form. Two-digit
years prove less: such names must also continue from one year, or month, into the next, which no counter does, or spell
out the month, or start with the day.
"""

from __future__ import annotations

import functools
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final, NamedTuple

from tsaudit.analysis.shapes.shape_rules import is_epoch, is_random

FEWEST: Final = 3
"""Minimum number of names in a family."""
FILLED: Final = 0.6
"""Minimum share of the periods from the first to the last one that have a name."""
DATED: Final = 0.9
"""Minimum share of names of one form whose digits are a time: of order_201201 to order_201299, only twelve are."""
_AHEAD: Final = timedelta(days=366)
"""How long before the start of their period collections may be created."""


@dataclass(frozen=True, slots=True)
class Period:
    """One name and its period."""

    name: str
    start: datetime
    """Names have no time zone; UTC is assumed."""
    end: datetime
    """The start of the next period."""


@dataclass(frozen=True, slots=True)
class PeriodFamily:
    """Names that are the same except for the period."""

    template: str
    """The name with the period replaced by its unit in braces: `users_{day}`."""
    unit: str
    """`hour`, `day`, `week`, `month`, `quarter` or `year`."""
    members: tuple[Period, ...]
    """Oldest first."""

    @property
    def stem(self) -> str:
        """The name without the period and words for its length: the same for families of the same thing."""
        bare = _LENGTHS.sub("", re.sub(r"\{\w+\}", "", self.template))
        return re.sub(r"[^A-Za-z0-9]+", "_", bare).strip("_").lower()


_LENGTHS: Final = re.compile(
    r"(?<![a-z])(?:hourly|daily|weekly|monthly|quarterly|yearly|hours?|days?|weeks?|months?|quarters?|years?)(?![a-z])",
    re.IGNORECASE,
)

_Y: Final = r"(?P<y>19[7-9]\d|20\d\d)"
_M: Final = r"(?P<m>0[1-9]|1[0-2])"
_YMD: Final = rf"{_Y}(?P<s>[-_.]?)(?P<m>\d\d)(?P=s)(?P<d>\d\d)"
_H: Final = r"(?P<h>[01]\d|2[0-3])"
_YY: Final = r"(?P<yy>[1-3]\d)"
_SHORT_YEARS: Final = range(2010, 2040)
"""Years that may be written with two digits; a number that begins with 01 is a counter."""
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WORD: Final = (
    r"(?P<word>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_FROM: Final = r"(?<!\d)"
_TO: Final = r"(?!\d)"
_TO_WORD: Final = r"(?![a-z0-9])"
_FROM_WORD: Final = r"(?<![a-z0-9])"


def _forms(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in patterns)


_FORMS: Final[Mapping[str, tuple[re.Pattern[str], ...]]] = {
    # Names with a time of day, or in seconds since 1970, stand for days if there is one per day.
    "hour": _forms(
        rf"{_FROM}{_YMD}[-_.T]?{_H}{_TO}",
        rf"{_FROM}{_YMD}T?{_H}[0-5]\d(?:[0-5]\d)?Z?{_TO}",
        rf"{_FROM}{_YMD}[-_](?!0000){_H}[0-5]\d[0-5]\d{_TO}",
        rf"{_FROM}(?P<epoch>\d{{10}}(?:\d{{3}})?){_TO}",
    ),
    "day": _forms(
        rf"{_FROM}{_YMD}{_TO}",
        rf"{_FROM}{_Y}(?P<s>[-_.])(?P<m>\d\d?)(?P=s)(?P<d>\d\d?){_TO}",
        rf"{_FROM}(?P<d>\d\d?)(?P<s>[-_.])(?P<m>\d\d?)(?P=s){_Y}{_TO}",
        rf"{_FROM_WORD}{_WORD}(?P<s>[-_.])(?P<d>\d\d?)(?P=s){_Y}{_TO}",
        rf"{_FROM}{_Y}(?P<s>[-_.]){_WORD}(?P=s)(?P<d>\d\d?){_TO}",
        rf"{_FROM}(?P<d>\d\d?)(?P<s>[-_.]?){_WORD}(?P=s){_Y}{_TO}",
        rf"{_FROM}(?P<d>\d\d)(?P<m>\d\d){_Y}{_TO}",
        rf"(?:(?<![a-z])y)?{_FROM}{_Y}[-_.]?m(?P<m>\d\d?)[-_.]?d(?P<d>\d\d?){_TO}",
    ),
    "week": _forms(
        rf"{_FROM}{_Y}[-_.]?(?:w|wk|kw|week)[-_.]?(?P<w>\d\d?){_TO}",
        # Without a `w`, the name itself has to mention weeks.
        rf"(?<=week)(?:s|ly)?(?:[-_.][a-z]+)*[-_.]{_Y}[-_.](?P<w>\d\d?){_TO}(?![-_.]\d)",
    ),
    "quarter": _forms(
        rf"{_FROM}{_Y}[-_.]?q(?P<q>[1-4]){_TO}",
        rf"{_FROM_WORD}q(?P<q>[1-4])[-_.]?{_Y}{_TO}",
    ),
    "month": _forms(
        rf"{_FROM}{_Y}[-_.]?{_M}{_TO}(?![-_.]\d)",
        rf"(?:(?<![a-z])y)?{_FROM}{_Y}[-_.]?m(?P<m>\d\d?){_TO}",
        rf"{_FROM_WORD}{_WORD}[-_.]?{_Y}{_TO}",
        rf"{_FROM}{_Y}[-_.]?{_WORD}{_TO_WORD}",
    ),
    "year": _forms(rf"{_FROM_WORD}(?:fy)?{_Y}{_TO_WORD}(?![-_.]\d)"),
}
"""Unit to its formats, most common first."""
_SHORT: Final[Mapping[str, tuple[re.Pattern[str], ...]]] = {
    "day": _forms(
        rf"{_FROM}(?P<d>\d\d?)(?P<s>[-_.]?){_WORD}(?P=s)(?P<yy>\d\d){_TO}",
        rf"{_FROM}(?<!\d[-_.])(?P<d>\d\d)(?P<s>[-_.]?)(?P<m>\d\d)(?P=s)(?P<yy>\d\d){_TO}(?![-_.]\d)",
    ),
    "month": _forms(
        rf"{_FROM_WORD}{_WORD}[-_.]?{_YY}{_TO}(?![-_.]\d)",
        rf"{_FROM}(?<!\d[-_.]){_YY}[-_.]?{_M}{_TO}(?![-_.]\d)",
    ),
}
"""Unit to its formats with two-digit years. Whether a day starts with its day, month, or year is decided by
the family.
"""


def period_families(names: Sequence[str], now: datetime | None = None) -> list[PeriodFamily]:
    """The families among the names, sorted by template. Each name is in one family at most.

    `now`: names with a period more than a year after this are in no family. None: any time is accepted.
    """
    return _families(*_read_all(names), now)


def _families(keys: Mapping[str, _Key], alike: Counter[str], now: datetime | None = None) -> list[PeriodFamily]:
    groups: dict[_Key, list[str]] = defaultdict(list)
    for name, key in keys.items():
        groups[key].append(name)
    found = []
    for key, members in sorted(groups.items()):
        unit, periods = _periods(key.unit, members)
        if key.is_short and not _is_calendar(unit, periods):
            continue  # it may as well be a counter
        known = [p for p in periods if now is None or p.start <= now + _AHEAD]
        if len(known) < DATED * sum(alike[shape] for shape in {_shape(name) for name in members}):
            continue  # numbers, some of which could be parsed as times
        if len({p.start for p in periods}) >= FEWEST and filled_ratio(unit, periods) >= FILLED:
            template = key.template.replace("{" + key.unit + "}", "{" + unit + "}")
            found.append(PeriodFamily(template, unit, tuple(sorted(periods, key=lambda p: (p.start, p.name)))))
    return sorted(found, key=lambda family: (family.unit, family.template))


def dated_templates(names: Sequence[str]) -> dict[str, str]:
    """The names that contain a date, each to the name with `{date}` in place of the date.

    Dates with gaps also count, as of a census every ten years, unless there are names of the same form without a date.
    """
    keys, alike = _read_all(names)
    found = {name: _with_date(key.template, key.unit) for name, key in keys.items() if _is_usual(name, key)}
    dated = Counter(map(_shape, found))
    found = {name: template for name, template in found.items() if dated[_shape(name)] >= DATED * alike[_shape(name)]}
    for family in _families(keys, alike):
        found |= {period.name: _with_date(family.template, family.unit) for period in family.members}
    return found


def _with_date(template: str, unit: str) -> str:
    return template.replace("{" + unit + "}", "{date}")


def _is_usual(name: str, key: _Key) -> bool:
    """Whether the name contains a date even without other names before and after it: the date is complete, and is no
    other kind of number.
    """
    starts = _read(key.unit, [name], _DAY_FIRST) or _read(key.unit, [name], "month first")
    return not key.is_short and bool(starts) and (starts[0].start.year in _USUAL_YEARS or not _PACKED.search(name))


_USUAL_YEARS: Final = range(1990, 2050)
_PACKED: Final = re.compile(r"(?<!\d)\d{6}(?!\d)")
"""Year and month without a separator, which look like other numbers."""


class _Key(NamedTuple):
    """What names of one family have in common."""

    unit: str
    template: str
    is_short: bool
    """Whether the year has two digits and the month is a number."""


def _read_all(names: Sequence[str]) -> tuple[dict[str, _Key], Counter[str]]:
    """The key of each name with a period, and the number of names of each shape."""
    distinct = sorted(set(names))
    return {name: key for name in distinct if (key := _key(name))}, Counter(map(_shape, distinct))


def _is_calendar(unit: str, periods: Sequence[Period]) -> bool:
    """Whether names with a short year are not a counter, which would not continue in the next year or month."""
    if len({_above(unit, p.start) for p in periods}) >= _FEWEST_ABOVE:
        return True
    # A counter would not change only the first of three numbers either.
    found = [form.search(p.name) for p in periods for form in _SHORT[unit] if form.search(p.name)]
    return unit == "day" and all(
        f and f["s"] and int(f["d"]) == p.start.day for f, p in zip(found, periods, strict=True)
    )


def _shape(name: str) -> str:
    """The pattern that names share if they differ only in digits."""
    return re.sub(r"\d", "0", name)


def filled_ratio(unit: str, periods: Sequence[Period]) -> float:
    """Share of the periods from the first to the last one that have a name."""
    first, last = min(p.start for p in periods), max(p.start for p in periods)
    return len({p.start for p in periods}) / (_number(unit, last) - _number(unit, first) + 1)


_FEWEST_ABOVE: Final = 2
"""Minimum number of years (for months) or months (for days) that names with a short year must extend over."""


def _above(unit: str, start: datetime) -> tuple[int, ...]:
    """The year for a month, and the year and month for a day."""
    return (start.year,) if unit == "month" else (start.year, start.month)


def _number(unit: str, start: datetime) -> int:
    days = start.toordinal()
    months = start.year * 12 + start.month
    numbers = {"hour": days * 24 + start.hour, "day": days, "week": days // 7, "month": months}
    return numbers.get(unit, months // 3 if unit == "quarter" else start.year)


def _key(name: str) -> _Key | None:
    """What the name has in common with its family; None for a name without a period."""
    for forms in (_FORMS, _SHORT):
        for unit in forms:
            for form in forms[unit]:
                template, count = form.subn(lambda found, unit=unit: _marked(found, unit), name)  # type: ignore[misc]
                if count and template != name:
                    return _Key(unit, template, forms is _SHORT and "word" not in form.groupindex)
    return None


def _marked(found: re.Match[str], unit: str) -> str:
    if not any(_start(found, unit, order) for order in _ORDERS):
        return found[0]
    # Text before the year is part of the name, even if the format checks it.
    begin = found.start("y") - found.start() if "w" in found.re.groupindex else 0
    return found[0][:begin] + "{" + unit + "}"


_DAY_FIRST: Final = "day first"
_YEAR_FIRST: Final = "year first"
_ORDERS: Final = (_DAY_FIRST, "month first", _YEAR_FIRST)
"""The possible readings of `03-10-2012`, and of `12-10-03`, where the year may come first. A family uses the order in
which all its names are valid dates with the fewest gaps.
"""


def _periods(unit: str, names: Sequence[str]) -> tuple[str, list[Period]]:
    """The periods with their unit. For names with hours that occur once per day, the unit is the day."""
    readings = [_read(unit, names, order) for order in _ORDERS]
    whole = [r for r in readings if len(r) == len(names)] or [max(readings, key=len)]
    periods = max(whole, key=lambda periods: filled_ratio(unit, periods))
    if unit != "hour" or len({p.start.date() for p in periods}) < len(periods):
        return unit, periods
    days = [(p.name, p.start.replace(hour=0)) for p in periods]
    return "day", [Period(name, start, _NEXT["day"](start)) for name, start in days]


def _read(unit: str, names: Sequence[str], order: str) -> list[Period]:
    periods = []
    for name in names:
        forms = (*_FORMS[unit], *_SHORT.get(unit, ()))
        matches = (found for form in forms for found in form.finditer(name))
        start = next((s for found in matches if (s := _start(found, unit, order))), None)
        if start is not None:
            periods.append(Period(name, start, _NEXT[unit](start)))
    return periods


def _start(found: re.Match[str], unit: str, order: str) -> datetime | None:
    """The start of the period; None for an invalid date, and for digits of an ID."""
    if any(start <= found.start() and found.end() <= end for start, end in _ids(found.string)):
        return None
    part = found.groupdict()
    if part.get("epoch"):
        seconds = int(part["epoch"][:10])
        return datetime.fromtimestamp(seconds - seconds % 3600, UTC) if is_epoch(part["epoch"]) else None
    if part.get("yy") and part.get("d") and order == _YEAR_FIRST:
        part["d"], part["yy"] = part["yy"], part["d"]
    year = int(part["y"]) if part.get("y") else 2000 + int(part["yy"])
    if "yy" in part and year not in _SHORT_YEARS:
        return None
    try:
        if unit == "week":
            return datetime.combine(date.fromisocalendar(year, int(part["w"]), 1), time(), UTC)
        if unit == "quarter":
            return datetime(year, 3 * int(part["q"]) - 2, 1, tzinfo=UTC)
        month = _MONTHS.index(part["word"][:3].lower()) + 1 if part.get("word") else int(part.get("m") or 1)
        day = int(part.get("d") or 1)
        year_last = "d" in part and "word" not in part and ("yy" in part or found.start("d") < found.start("y"))
        if year_last and order not in (_DAY_FIRST, _YEAR_FIRST):
            month, day = day, month
        return datetime(year, month, day, int(part.get("h") or 0), tzinfo=UTC)
    except ValueError:
        return None


_HASH: Final = re.compile(
    r"(?<![a-z0-9])(?:(?P<uuid>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})|[0-9a-f]{16,})(?![a-z0-9])", re.IGNORECASE
)
"""Hashes: one in thirty contains digits that can be read as a date."""


@functools.lru_cache(maxsize=1024)
def _ids(name: str) -> tuple[tuple[int, int], ...]:
    """The positions of hashes in the name."""
    return tuple(found.span() for found in _HASH.finditer(name) if found["uuid"] or is_random(found[0]))


def _next_month(start: datetime, months: int = 1) -> datetime:
    number = start.year * 12 + start.month - 1 + months
    return start.replace(year=number // 12, month=number % 12 + 1)


_NEXT: Final[Mapping[str, Callable[[datetime], datetime]]] = {
    "hour": lambda start: start + timedelta(hours=1),
    "day": lambda start: start + timedelta(days=1),
    "week": lambda start: start + timedelta(days=7),
    "month": _next_month,
    "quarter": lambda start: _next_month(start, 3),
    "year": lambda start: _next_month(start, 12),
}
