"""Numbers, dates and figures as people read them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final

from tsaudit import text as phrases
from tsaudit.model.profile import FOREVER, Count, Forever, How, Ratio

NOT_MEASURED: Final = "not measured"
NONE: Final = "\N{EN DASH}"
"""Stands where there is no figure."""
_MINUS: Final = "\N{MINUS SIGN}"
_RATIO_UNITS: Final = frozenset({"ratio", "share"})


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure in words."""

    text: str
    note: str
    """How it was had; empty for an exact figure of today, which needs no remark."""
    measured: bool = True


def number(value: float) -> str:
    """With thousands separators, as in the rules' messages; also of what is no finite number."""
    if not math.isfinite(value):
        return "∞" if value > 0 else "not a number"
    return phrases.number(value)


def percent(ratio: float) -> str:
    """A share of 1 as a percentage that is never rounded up to all or down to nothing."""
    return phrases.percent(ratio) if math.isfinite(ratio) else number(ratio)


def quantity(value: float, unit: str = "") -> str:
    """A value with its unit; a share as a percentage, `share of null cells` as `12 % of null cells`."""
    if unit in _RATIO_UNITS:
        return percent(value)
    if unit.startswith("share of "):
        return f"{percent(value)} {unit.removeprefix('share ')}"
    return f"{number(value)} {unit}" if unit else number(value)


def change(value: float) -> str:
    """A difference, always with its sign."""
    return f"+{number(value)}" if value > 0 else f"{_MINUS}{number(-value)}" if value < 0 else "±0"


def figure(value: Count | Ratio | None, day: date, usual_scope: str = "") -> Figure:
    """A count or ratio with how it was had; `day` is the audited day, older figures say so.

    `usual_scope` is what most figures cover; the page says it once, so it is not said again.
    """
    if value is None:
        return Figure(NONE, NOT_MEASURED, measured=False)
    write = percent if isinstance(value, Ratio) else number
    text, source, notes = write(value.value), value.source, []
    scope = source.scope
    if usual_scope:
        scope = "" if scope == usual_scope else scope.replace(usual_scope, "rows")
    if source.how is How.ESTIMATE:
        text = f"≈ {text}"
        error = value.standard_error
        notes.append(f"estimate ± {write(error)}" if error is not None else "estimate, error unknown")
    elif source.how is How.SAMPLED:
        notes.append(f"sampled: {scope}" if scope else "sampled")
    elif scope:
        notes.append(scope)
    if source.as_of.date() < day:
        notes.append(f"as of {short_day(source.as_of.date())}")
    return Figure(text, ", ".join(notes))


def long_day(day: date) -> str:
    """`31 March 2026`."""
    return f"{day.day} {day:%B %Y}"


def short_day(day: date) -> str:
    """`31 Mar`."""
    return f"{day.day} {day:%b}"


def instant(moment: datetime) -> str:
    """`31 March 2026, 06:00 UTC`."""
    utc = moment.astimezone(UTC)
    return f"{long_day(utc.date())}, {utc:%H:%M} UTC"


def duration(seconds: float | Forever) -> str:
    """A length of time in its largest whole unit, or `forever`."""
    if isinstance(seconds, str):
        return FOREVER
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size and seconds % size == 0:
            return f"{number(seconds // size)} {unit}"
    return f"{number(seconds)} s"


def size(count: int | None) -> str:
    """Bytes in decimal units; a dash when unknown."""
    return NONE if count is None else phrases.size(count)


def plural(count: int, noun: str, many: str = "") -> str:
    """`1 table`, `1,200 tables`."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def listing(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"
