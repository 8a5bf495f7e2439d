"""Parses which days a run audits."""

from collections.abc import Iterator
from datetime import date, timedelta
from typing import Final

import dagster as dg

from dagster_tsaudit.plan import AuditConfig
from tsaudit.model.profile import utc_now
from tsaudit.text import number

MOST_DAYS: Final = 366
"""Maximum number of days in one run: more are probably a typo in a year, and each day queries the database."""


def audited_days(config: AuditConfig) -> list[date]:
    """The days of the run configuration, oldest first.

    Raises dg.Failure if something in it is not a day or a range of days, or if there are too many days.
    """
    days = sorted({day for one in config.days for day in _range(one)})
    if not days:
        raise dg.Failure("`days` is empty", allow_retries=False)
    if len(days) > MOST_DAYS:
        what = f"`days` contains {number(len(days))} days; a run audits at most {MOST_DAYS}"
        raise dg.Failure(what, allow_retries=False)
    return days


def _range(given: str) -> Iterator[date]:
    """The days of `today`, `2026-03-01`, or `2026-03-01..2026-03-31`, both ends included."""
    start, dots, end = given.partition("..")
    first = _day(start)
    last = _day(end) if dots else first
    if last < first:
        raise dg.Failure(f"`{given}` ends before it begins", allow_retries=False)
    yield from (first + timedelta(days=n) for n in range((last - first).days + 1))


def _day(text: str) -> date:
    if text.strip() == "today":
        return utc_now().date()
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        what = f"`{text}` is not `today`, a day such as 2026-03-31, or a range such as 2026-03-01..2026-03-31"
        raise dg.Failure(what, allow_retries=False) from None
