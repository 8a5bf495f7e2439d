"""Databases as they are written day by day, for what audits have to say of each day."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

import pytest

FIRST: Final = date(2026, 3, 1)
DAYS: Final = 30
EVENT: Final = 10
"""The day on which something changes, where something does."""
FIXED: Final = 20
HOURS: Final = 6
"""Between two reports of a source that lasts."""


@contextmanager
def clock_at(now: datetime) -> Iterator[None]:
    """Let all of tsaudit take it for the present."""
    patch = pytest.MonkeyPatch()
    for name, module in list(sys.modules.items()):
        if name.startswith("tsaudit") and hasattr(module, "utc_now"):
            patch.setattr(module, "utc_now", lambda: now)
    try:
        yield
    finally:
        patch.undo()


Points = Iterator[tuple[str, int]]
"""Tag sets as in line protocol, with minutes of the day."""


@dataclass(frozen=True)
class Daily:
    """What is written to measurement `m` day by day, and what an expert wants to be told of it."""

    name: str
    points: Callable[[int], Points]
    expected: Callable[[int], Expected]
    dropped: str = ""
    """On `FIXED`, the series with this tag are dropped."""
    max_series: int | None = None
    """The limit that the owner declares."""


@dataclass(frozen=True)
class Expected:
    """What has to be found on a day, and what may be, as severities with the code and the tag, if there is one."""

    must: frozenset[str] = frozenset()
    """Each of these codes, with its tag, at the severity or a worse one."""
    severity: str = "note"
    """The worst there may be, and, with `must`, has to be."""


NOTHING: Final = Expected()


def reporting(tags: str, number: int, every: int = HOURS * 60) -> Points:
    """One source that reports all day, at its own minute."""
    for minute in range(number % every, 24 * 60, every):
        yield tags, minute


def fleet(day: int) -> Points:
    """Devices, 1% more a day."""
    for n in range(round(1_500 * 1.01**day)):
        yield from reporting(f"device=d{n:05d},site=s{n % 7}", n)


def pods(day: int) -> Points:
    """As many at a time, others every day."""
    for n in range(300):
        yield from reporting(f"pod=api-{(day * 7919 + 13) % 65521:04x}-{n:03d},app=a{n % 5}", n, 120)


def renamed(day: int) -> Points:
    """1,600 hosts, whose tag gets another name."""
    key = "hostname" if day >= EVENT else "host"
    for n in range(1_600):
        yield from reporting(f"{key}=h{n:04d},region=r{n % 4}", n)


def leaking(day: int, until: int = DAYS) -> Points:
    """1,200 series, and from a deployment on 500 sessions a day, each written once."""
    for n in range(1_200):
        yield from reporting(f"host=h{n // 8:03d},path=p{n % 8}", n)
    if EVENT <= day < until:
        for n in range(500):
            yield f"host=h{n % 150:03d},path=p{n % 8},session={_id(day, n)}", n * 1440 // 500


def leaking_path(day: int) -> Points:
    """The same in a tag that was there before."""
    for n in range(1_200):
        yield from reporting(f"host=h{n // 8:03d},path=p{n % 8}", n)
    if day >= EVENT:
        for n in range(500):
            yield f"host=h{n % 150:03d},path=/user/{_id(day, n)}", n * 1440 // 500


def _id(day: int, number: int) -> str:
    return f"{(day * 500 + number) * 2654435761 % 2**32:08x}"


def of_rename(day: int) -> Expected:
    """News for two days, once it is certain."""
    return Expected(frozenset({"CAR004"}), "warning") if EVENT < day <= EVENT + 2 else NOTHING


def of_leak(tag: str, until: int = DAYS) -> Callable[[int], Expected]:
    def expected(day: int) -> Expected:
        if EVENT + 2 <= day < until:
            return Expected(frozenset({f"TAG002 {tag}"}), "warning")
        # It may be called before, and never after.
        return Expected(severity="warning" if EVENT <= day < until else "note")

    return expected


MAX_SERIES: Final = 12_000
"""1,200 series and 500 a day more are there in 21 days; 14 are left on the eighth day of the leak."""


def of_limit(day: int) -> Expected:
    """Critical once two weeks are left, and a day earlier or later where the rate is not yet certain."""
    if day >= EVENT + 9:
        return Expected(frozenset({"TAG002 session"}), "critical")
    return Expected(severity="critical") if day >= EVENT + 6 else of_leak("session")(day)


HISTORIES: Final = (
    Daily("a fleet that grows", fleet, lambda day: NOTHING),
    Daily("pods replaced daily", pods, lambda day: NOTHING),
    Daily("a tag renamed", renamed, of_rename),
    Daily("a leak", leaking, of_leak("session")),
    Daily("a leak in an old tag", leaking_path, of_leak("path")),
    Daily("a leak toward a limit", leaking, of_limit, max_series=MAX_SERIES),
    Daily(
        "a leak, fixed and dropped",
        lambda day: leaking(day, FIXED),
        of_leak("session", FIXED),
        dropped="session",
    ),
)


def at(day: int) -> datetime:
    """Its start."""
    return datetime.combine(FIRST + timedelta(days=day), datetime.min.time(), UTC)


def lines(daily: Daily, day: int, on: int | None = None) -> Iterator[str]:
    """The points of a day in line protocol. `on`: the day they are dated, if it is another."""
    start = int(at(day if on is None else on).timestamp())
    for tags, minute in daily.points(day):
        yield f"m,{tags} value={(minute * 7 + day) % 101}.5 {(start + minute * 60) * 10**9}"
