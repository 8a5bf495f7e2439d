"""What was requested, what it cost, and what was not measured."""

from __future__ import annotations

import enum
import fnmatch
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from tsaudit.secrets import mask

POLICY_SEPARATOR: Final = "/"
"""Separates a database from its retention policy, in the name of an audited policy (`shop/raw`)."""


class Reason(enum.StrEnum):
    """Why something was not measured."""

    DENIED = "denied"
    TIMED_OUT = "timed out"
    OVER_BUDGET = "over budget"
    UNREACHABLE = "unreachable"
    UNSUPPORTED = "unsupported"
    FAILED = "failed"
    NOTHING_THERE = "nothing there"
    """The server responded, but it contains no data, or none that the configuration selects."""
    PAST_DAY = "past day"
    """Only the present can be measured, and the audit is of a past day."""
    INCONSISTENT = "inconsistent"
    """It was measured, but another figure contradicts the result."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A fact that was requested and not measured."""

    fact: str
    reason: Reason
    detail: str
    """One line: what happened, and what would help."""
    database: str | None = None
    measurement: str | None = None
    """The measurement concerned; None: the whole database, or the whole target."""

    def __post_init__(self) -> None:
        # A driver's error may contain anything, and gaps go into the history, the report, and messages.
        object.__setattr__(self, "detail", mask(self.detail))

    def covers(self, database: str, measurement: str | None = None) -> bool:
        """Whether the gap leaves something unmeasured there. If the server became unreachable, that includes everything
        queried later.
        """
        if self.database is None or (self.reason is Reason.UNREACHABLE and self.measurement is None):
            return True
        return self.database == database and (self.measurement is None or self.measurement == measurement)


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one fact for the audited database."""

    fact: str
    statements: int
    seconds: float
    rows: int
    bytes: int | None
    """Bytes received; None if the driver does not report them."""
    bytes_scanned: int | None = None
    """Bytes read by the server; None if it does not report them."""
    bytes_metered: int | None = None
    """Bytes billed; None if the provider does not report them."""

    @property
    def bytes_charged(self) -> int:
        """Bytes that count toward `budget.max_bytes_scanned`: a provider may bill for more than is read."""
        return max(self.bytes_scanned or 0, self.bytes_metered or 0)


@dataclass(frozen=True, slots=True)
class Window:
    """The time range of rows for data facts: from `start` (included) to `end` (excluded)."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class Selection:
    """Which measurements to audit. Other measurements were not listed, which does not mean that it did not exist."""

    databases: tuple[str, ...] = ()
    """Names of the databases; empty for all."""
    include: tuple[str, ...] = ("*",)
    exclude: tuple[str, ...] = ()
    """Patterns of measurement names; takes precedence over `include`."""
    parts_of: tuple[str, ...] = ()
    """Databases in scope with all their retention policies, which are named `database/policy` (InfluxDB 1.x)."""

    def takes(self, database: str, measurement: str | None = None) -> bool:
        """Whether the database, or the measurement in it, is in scope."""
        if self.databases and database not in self.databases and not self._is_part(database):
            return False
        if measurement is None:
            return True
        included, excluded = (
            any(fnmatch.fnmatchcase(measurement, pattern) for pattern in patterns)
            for patterns in (self.include, self.exclude)
        )
        return included and not excluded

    def _is_part(self, database: str) -> bool:
        return any(database.startswith(f"{whole}{POLICY_SEPARATOR}") for whole in self.parts_of)


@dataclass(frozen=True, slots=True)
class Listed:
    """How many measurements a database has, and how many of them the patterns exclude."""

    database: str
    measurements: int
    left_out: int
    """Number of measurements excluded by `include` and `exclude`. The budget may skip more, which is a gap."""
    examples: tuple[str, ...] = ()
    """Names of the first few excluded measurements."""


@dataclass(frozen=True, slots=True)
class UnusedSetting:
    """A setting that matches nothing on the server, so it has no effect."""

    setting: str
    """Path of the setting below the target, e.g. `include` or `columns.cpu.tags`; `routes[2].measurements` for all
    targets.
    """
    value: str
    """The value as written in the file."""
    detail: str
    """What the value does not match, and similar names: `matches none of 42 measurements, did you mean cpu?`."""

    def __str__(self) -> str:
        return f"{self.setting}: `{self.value}` {self.detail}"


def utc_now() -> datetime:
    """The current time, timezone-aware, in UTC."""
    return datetime.now(UTC)
