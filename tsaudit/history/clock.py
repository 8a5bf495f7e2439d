"""What the history makes of days that are still to come: one run with a wrong clock leaves such a day.

The clock of the run that asks is taken for right, because it is all there is to go by: days after its today are in
nobody's way, as if they did not exist, and it says so in red. Only where most of a history lies ahead is it the clock
that is taken for wrong, and the audit is one of a past day.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date, timedelta
from typing import Final

from tsaudit.model.profile import utc_now
from tsaudit.text import many

_ZONES: Final = timedelta(hours=14)
"""No time zone is further ahead of UTC: a day that is today somewhere is no sign of a wrong clock."""
_NAMED: Final = 3

_STEADY_AUDITS: Final = 7
_STEADY: Final = timedelta(days=31)
"""So far past the seventh newest audit a day is believed when it comes to forgetting: nothing brings that back."""


def today() -> date:
    """The logical day it is now, in UTC."""
    return utc_now().date()


def is_closed(days: Collection[date], day: date) -> bool:
    """Whether an audit of the day is of the past and changes nothing that is newer. `days`: the audited ones.

    A later day closes it, unless that day is still to come. Of a clock that most of the days are ahead of, nothing is
    concluded.
    """
    later = [d for d in days if d > day]
    return any(d <= today() for d in later) or _is_behind(later, days)


def days_ahead(days: Collection[date]) -> list[date]:
    """Those of the days that have not begun anywhere on earth, oldest first."""
    latest = (utc_now() + _ZONES).date()
    return sorted(d for d in days if d > latest)


def steady(days: Collection[date], day: date) -> date:
    """The day to count ages from, when an audit of `day` thins out the history: no later than the days before bear out.

    A clock that jumps ahead would make everything old at once.
    """
    before = sorted(d for d in days if d < day)[-_STEADY_AUDITS:]
    return min(day, before[0] + _STEADY) if before else day


def complaint(target: str, days: Collection[date]) -> str | None:
    """One line on the audited days that lie ahead, with what to do; None when there are none."""
    ahead = days_ahead(days)
    if not ahead:
        return None
    found = many(len(ahead), "day")
    line = f"the history of {target} holds {found} in the future ({_named(ahead)}; the clock says {today()})"
    if _is_behind(ahead, days):
        return f"{line}: that is most of it, so the clock is behind; set it right. Until then no incident is changed"
    drop = f"`tsaudit history drop {target} {ahead[0]}`" + (", and so on" if len(ahead) > 1 else "")
    why = "If this machine's clock is right, an audit ran with a wrong one"
    return f"{line}, left out here. {why}: remove it with {drop}"


def _is_behind(ahead: Sequence[date], days: Collection[date]) -> bool:
    """A single day ahead is a slip of somebody's clock; so are a few beside a longer past."""
    return len(ahead) > 1 and 2 * len(ahead) > len(days)


def _named(days: Sequence[date]) -> str:
    more = f" and {len(days) - _NAMED} more" if len(days) > _NAMED else ""
    return ", ".join(map(str, days[:_NAMED])) + more
