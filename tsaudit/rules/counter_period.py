"""The time for which the counters of a server count what is new."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from tsaudit.model.server import ServerStatus
from tsaudit.rule import Case
from tsaudit.text import day as written


@dataclass(frozen=True, slots=True)
class CounterPeriod:
    """From the previous audit, or from the server's start if they began at 0 again or were not read before."""

    now: ServerStatus
    before: ServerStatus | None
    """What the counters had reached when the period began; None: they were 0."""
    since: str
    """Its beginning, in words."""
    began: datetime | None
    """Its beginning; None if the server does not say when it started."""
    is_recent: bool
    """Whether it began with the previous audit, or less than a day ago."""
    is_first: bool
    """Whether the counters are read for the first time."""

    def risen(self, name: str, database: str = "") -> int:
        """By how much the counter rose. One that was not reported when the period began was 0, as many are left out
        until something happens.
        """
        then = self.before.counted(name, database) if self.before else None
        return max((self.now.counted(name, database) or 0) - (then or 0), 0)


def counter_period(case: Case, now: ServerStatus) -> CounterPeriod:
    """The period for which the counters of today's status count what is new."""
    previous = case.timeline.previous
    before = previous.server if previous and previous.server and previous.server.counters else None
    if previous and before and now.is_same_start(before) is not False:
        # An earlier day may be audited today: the counters are as of then, whatever the day.
        since = f"since the audit of {written(previous.collected_at.date())}"
        return CounterPeriod(now, before, since, previous.collected_at, is_recent=True, is_first=False)
    is_first = before is None
    if now.started is None:
        return CounterPeriod(now, None, "since the server started", None, is_recent=False, is_first=is_first)
    audited = previous.collected_at if previous and before else case.profile.collected_at - timedelta(days=1)
    since = f"since the server started on {written(now.started.date())}"
    return CounterPeriod(now, None, since, now.started, is_recent=now.started >= audited, is_first=is_first)
