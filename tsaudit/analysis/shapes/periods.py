"""Tells the names of things made anew for each period: `users_2012_10_03`, `users_2012w40`, `users_2012_10`.

A single name proves nothing: `order_201210` may be an order's number. Names that differ only in the period have to be
several, to fill most of the time from the first to the last, and to be nearly all there are of their form.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final

FEWEST: Final = 3
"""Names that make a family."""
FILLED: Final = 0.6
"""Share of the periods from the first to the last that have one."""
DATED: Final = 0.9
"""Share of the names of one form whose digits are a time: among order_201201 to order_201299, twelve are."""
_AHEAD: Final = timedelta(days=366)
"""How long before they begin collections may be made."""


@dataclass(frozen=True, slots=True)
class Period:
    """One name and the time it is about."""

    name: str
    start: datetime
    """A name has no zone; taken as UTC."""
    end: datetime
    """The next period's start."""


@dataclass(frozen=True, slots=True)
class PeriodFamily:
    """Names that are the same but for the period in them."""

    template: str
    """The name with the period replaced by its unit in braces: `users_{day}`."""
    unit: str
    """`hour`, `day`, `week`, `month`, `quarter` or `year`."""
    members: tuple[Period, ...]
    """Oldest first."""

    @property
    def stem(self) -> str:
        """What the name says besides the period and words for its length: the same for families of one thing."""
        bare = _LENGTHS.sub("", re.sub(r"\{\w+\}", "", self.template))
        return re.sub(r"[^A-Za-z0-9]+", "_", bare).strip("_").lower()


_LENGTHS: Final = re.compile(
    r"(?<![a-z])(?:hourly|daily|weekly|monthly|quarterly|yearly|hours?|days?|weeks?|months?|quarters?|years?)(?![a-z])",
    re.IGNORECASE,
)

_Y: Final = r"(?P<y>19[7-9]\d|20\d\d)"
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
    "hour": _forms(rf"{_FROM}{_Y}(?P<s>[-_.]?)(?P<m>\d\d)(?P=s)(?P<d>\d\d)[-_.T]?(?P<h>[01]\d|2[0-3]){_TO}"),
    "day": _forms(
        rf"{_FROM}{_Y}(?P<s>[-_.]?)(?P<m>\d\d)(?P=s)(?P<d>\d\d){_TO}",
        rf"{_FROM}{_Y}(?P<s>[-_.])(?P<m>\d\d?)(?P=s)(?P<d>\d\d?){_TO}",
        rf"{_FROM}(?P<d>\d\d?)(?P<s>[-_.])(?P<m>\d\d?)(?P=s){_Y}{_TO}",
        rf"{_FROM_WORD}{_WORD}(?P<s>[-_.])(?P<d>\d\d?)(?P=s){_Y}{_TO}",
        rf"{_FROM}{_Y}(?P<s>[-_.]){_WORD}(?P=s)(?P<d>\d\d?){_TO}",
    ),
    "week": _forms(
        rf"{_FROM}{_Y}[-_.]?(?:w|wk|kw|week)[-_.]?(?P<w>\d\d?){_TO}",
        # Without a `w`, a name has to say itself that it is about weeks.
        rf"(?<=week)(?:s|ly)?(?:[-_.][a-z]+)*[-_.]{_Y}[-_.](?P<w>\d\d?){_TO}(?![-_.]\d)",
    ),
    "quarter": _forms(rf"{_FROM}{_Y}[-_.]?q(?P<q>[1-4]){_TO}"),
    "month": _forms(
        rf"{_FROM}{_Y}[-_.]?(?P<m>0[1-9]|1[0-2]){_TO}(?![-_.]\d)",
        rf"{_FROM_WORD}{_WORD}[-_.]?{_Y}{_TO}",
        rf"{_FROM}{_Y}[-_.]?{_WORD}{_TO_WORD}",
    ),
    "year": _forms(rf"{_FROM_WORD}{_Y}{_TO_WORD}(?![-_.]\d)"),
}
"""Unit to how it is written, most common first."""


def period_families(names: Sequence[str], fewest: int = FEWEST, now: datetime | None = None) -> list[PeriodFamily]:
    """The families among the names, sorted by template. Each name is in one at most.

    `now`: names of a time more than a year after it are of none. None: any time will do.
    """
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    shapes: Counter[str] = Counter()
    for name in sorted(set(names)):
        shapes[_shape(name)] += 1
        if key := _key(name):
            groups[key].append(name)
    found = []
    for (unit, template), members in sorted(groups.items()):
        periods = _periods(unit, members)
        known = [p for p in periods if now is None or p.start <= now + _AHEAD]
        alike = sum(shapes[shape] for shape in {_shape(name) for name in members})
        if len(known) < DATED * alike:
            continue  # numbers, some of which could be read as times
        if len({p.start for p in periods}) >= fewest and filled_ratio(unit, periods) >= FILLED:
            found.append(PeriodFamily(template, unit, tuple(sorted(periods, key=lambda p: (p.start, p.name)))))
    return found


def _shape(name: str) -> str:
    """What names have in common that differ in digits only."""
    return re.sub(r"\d", "0", name)


def filled_ratio(unit: str, periods: Sequence[Period]) -> float:
    """Share of the periods from the first to the last for which there is a name."""
    first, last = min(p.start for p in periods), max(p.start for p in periods)
    return len({p.start for p in periods}) / (_number(unit, last) - _number(unit, first) + 1)


def _number(unit: str, start: datetime) -> int:
    days = start.toordinal()
    months = start.year * 12 + start.month
    numbers = {"hour": days * 24 + start.hour, "day": days, "week": days // 7, "month": months}
    return numbers.get(unit, months // 3 if unit == "quarter" else start.year)


def _key(name: str) -> tuple[str, str] | None:
    """Unit and template of the name; None for a name without a period."""
    for unit in ("hour", "day", "week", "quarter", "month", "year"):
        for form in _FORMS[unit]:
            template, count = form.subn(lambda found, unit=unit: _marked(found, unit), name)  # type: ignore[misc]
            if count and template != name:
                return unit, template
    return None


def _marked(found: re.Match[str], unit: str) -> str:
    if not any(_start(found, unit, order) for order in _ORDERS):
        return found[0]
    # What stands before the year belongs to the name, where the form looks at it.
    begin = found.start("y") - found.start() if "w" in found.re.groupindex else 0
    return found[0][:begin] + "{" + unit + "}"


_DAY_FIRST: Final = "day first"
_ORDERS: Final = (_DAY_FIRST, "month first")
"""How `03-10-2012` may be meant. A family has one order: the one that gives all its names a date, and fills better."""


def _periods(unit: str, names: Sequence[str]) -> list[Period]:
    readings = [_read(unit, names, order) for order in _ORDERS]
    whole = [r for r in readings if len(r) == len(names)] or [max(readings, key=len)]
    return max(whole, key=lambda periods: filled_ratio(unit, periods))


def _read(unit: str, names: Sequence[str], order: str) -> list[Period]:
    periods = []
    for name in names:
        matches = (found for form in _FORMS[unit] if (found := form.search(name)))
        start = next((s for found in matches if (s := _start(found, unit, order))), None)
        if start is not None:
            periods.append(Period(name, start, _NEXT[unit](start)))
    return periods


def _start(found: re.Match[str], unit: str, order: str) -> datetime | None:
    """When the period begins; None for a date that no calendar has."""
    part = found.groupdict()
    year = int(part["y"])
    try:
        if unit == "week":
            return datetime.combine(date.fromisocalendar(year, int(part["w"]), 1), time(), UTC)
        if unit == "quarter":
            return datetime(year, 3 * int(part["q"]) - 2, 1, tzinfo=UTC)
        month = _MONTHS.index(part["word"][:3].lower()) + 1 if part.get("word") else int(part.get("m") or 1)
        day = int(part.get("d") or 1)
        year_last = "d" in part and "word" not in part and found.start("d") < found.start("y")
        if year_last and order != _DAY_FIRST:
            month, day = day, month
        return datetime(year, month, day, int(part.get("h") or 0), tzinfo=UTC)
    except ValueError:
        return None


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
