"""Handling of future days in the history: a run with a wrong clock leaves such a day.

The clock of the current run is assumed to be right, because there is nothing to compare it with. Later days are ignored
and reported as an error. Only if most of the history is in the future is the clock assumed to be wrong, and the audit
is treated as one of a past day.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date, timedelta
from typing import Final

from tsaudit.model.figures import utc_now
from tsaudit.text import many

_ZONES: Final = timedelta(hours=14)
"""The largest offset of a time zone from UTC: a day that has begun somewhere on earth does not indicate a wrong clock.
"""
_NAMED: Final = 3

_REFERENCE_AUDITS: Final = 7
_ALLOWANCE: Final = timedelta(days=31)
"""How far past the seventh-newest audit a day may be to be trusted for deleting, which cannot be undone."""


def today() -> date:
    """Today in UTC."""
    return utc_now().date()


def is_closed(days: Collection[date], day: date) -> bool:
    """Whether an audit of the day is an audit of a past day, which does not change anything newer. `days`: the audited
    days.

    A later audited day closes it, unless that day is in the future. If most of the days are ahead of the clock, nothing
    can be concluded, so the result is True.
    """
    later = [d for d in days if d > day]
    return any(d <= today() for d in later) or _is_behind(later, days)


def days_ahead(days: Collection[date]) -> list[date]:
    """The days that have not begun anywhere on earth, oldest first."""
    latest = (utc_now() + _ZONES).date()
    return sorted(d for d in days if d > latest)


def reference_date(days: Collection[date], day: date) -> date:
    """The day from which ages are computed when an audit of `day` deletes what is old.

    That is `day`, unless the clock may have jumped ahead, which would make everything old at once: then the
    seventh-newest audit before it, or the oldest if there are fewer.
    """
    before = sorted(d for d in days if d < day)[-_REFERENCE_AUDITS:]
    return before[0] if before and before[0] + _ALLOWANCE < day else day


def future_days_warning(target: str, days: Collection[date]) -> str | None:
    """One line about audited days in the future, with what to do; None if there are none."""
    ahead = days_ahead(days)
    if not ahead:
        return None
    found = many(len(ahead), "day")
    line = f"the history of {target} holds {found} in the future ({_named(ahead)}; the clock says {today()})"
    if _is_behind(ahead, days):
        return f"{line}: that is most of it, so the clock is behind; correct it. Until then, incidents do not change"
    drop = f"`tsaudit history drop {target} {ahead[0]}`" + (", and so on" if len(ahead) > 1 else "")
    why = "If this machine's clock is correct, an audit ran with a wrong one"
    return f"{line}, ignored here. {why}: remove it with {drop}"


def _is_behind(ahead: Sequence[date], days: Collection[date]) -> bool:
    """Whether the clock is behind: most days are in the future. A single future day, or a few next to a longer past,
    show that the clock was wrong once.
    """
    return len(ahead) > 1 and 2 * len(ahead) > len(days)


def _named(days: Sequence[date]) -> str:
    more = f" and {len(days) - _NAMED} more" if len(days) > _NAMED else ""
    return ", ".join(map(str, days[:_NAMED])) + more
