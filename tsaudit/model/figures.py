"""A figure: what it is about, its value, its source, and how reliable it is; and a gap: what was not measured."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from fnmatch import fnmatchcase
from typing import Final, Literal

from tsaudit.secrets import mask


@dataclass(frozen=True, slots=True, order=True)
class Subject:
    """What a finding is about: the target (all empty), a database, a measurement, or one of its columns."""

    database: str = ""
    measurement: str = ""
    column: str = ""

    def __str__(self) -> str:
        """For people: `db/measurement.column`, without the empty parts."""
        name = "/".join(part for part in (self.database, self.measurement) if part)
        return f"{name}.{self.column}" if self.column else name or "(whole target)"

    @property
    def key(self) -> str:
        """For storage: one text per subject, all different, whatever characters the names contain."""
        plain = f"{self.database}/{self.measurement}/{self.column}"
        if "%" not in plain and plain.count("/") == 2:
            return plain
        parts = (self.database, self.measurement, self.column)
        return "/".join(p.replace("%", "%25").replace("/", "%2F") for p in parts)

    @classmethod
    def from_key(cls, key: str) -> Subject:
        """The subject that has this `key`."""
        return cls(*(p.replace("%2F", "/").replace("%25", "%") for p in key.split("/")))


SAMPLE_SIZE: Final = 64
"""Maximum number of distinct values of a column that a profile stores."""
TEXT_KEPT: Final = 256
"""Maximum length of a sampled value of a field, in characters."""
Forever = Literal["forever"]
FOREVER: Final[Forever] = "forever"
"""The duration of a retention that never deletes data."""


class How(enum.StrEnum):
    """How a figure was measured."""

    EXACT = "exact"
    ESTIMATE = "estimate"
    """Computed from statistics by the engine or by tsaudit. It has a standard error if one is known."""
    SAMPLED = "sampled"
    """Exact for part of the data; `Source.scope` names the part."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a figure comes from."""

    query: str
    """The query file below `sql/`, e.g. `duckdb/row_count.sql`."""
    how: How
    as_of: datetime
    """When it was measured; older than the profile if the figure was reused."""
    scope: str = ""
    """The part of the data that the figure covers, in words; empty for all of it."""
    is_at_least: bool = False
    """Whether the true figure may be higher. Days with a lower bound are not compared with other days."""
    contradicted_by: str = ""
    """Another figure that contradicts this one, in words; empty if none does. No warning is based on such a figure."""

    @property
    def words(self) -> str:
        """The scope, after what else limits the figure: `at least; rows of 64 series`; empty if nothing does."""
        contradicted = f"contradicted by {self.contradicted_by}" if self.contradicted_by else ""
        return "; ".join(filter(None, (contradicted, "at least" if self.is_at_least else "", self.scope)))


@dataclass(frozen=True, slots=True)
class Count:
    """A number of things."""

    value: int
    source: Source
    standard_error: float | None = None
    """In the same unit as `value`; None if the count is exact or the error unknown."""

    @property
    def is_lower_bound(self) -> bool:
        """Whether the true number may be higher, because only a part was counted."""
        return self.source.is_at_least


def how_summed(counts: Sequence[Count]) -> tuple[How, float | None]:
    """How the sum of the counts was measured, and its standard error; None if the sum is exact or the error unknown."""
    estimates = [count for count in counts if count.source.how is not How.EXACT]
    if not estimates:
        return How.EXACT, None
    errors = [count.standard_error for count in estimates if count.standard_error is not None]
    return How.ESTIMATE, math.hypot(*errors) if len(errors) == len(estimates) else None


@dataclass(frozen=True, slots=True)
class Ratio:
    """A share, 0 to 1."""

    value: float
    source: Source
    standard_error: float | None = None


class Role(enum.StrEnum):
    """The role of a column. InfluxDB declares it; in SQL it is inferred or configured."""

    TIME = "time"
    TAG = "tag"
    FIELD = "field"


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
    cause: str
    """What happened, in one line."""
    database: str | None = None
    measurement: str | None = None
    """The measurement concerned; None: the whole database, or the whole target."""
    fix: str = ""
    """What would help: a statement to copy, or what to set, in one line; empty if nothing is known to."""

    def __post_init__(self) -> None:
        # A driver's error may contain anything, and gaps go into the history, the report, and messages.
        object.__setattr__(self, "cause", mask(self.cause))
        object.__setattr__(self, "fix", mask(self.fix))

    @property
    def detail(self) -> str:
        """In one line: what happened, and what would help."""
        return "; ".join(filter(None, (self.cause, self.fix)))

    @property
    def place(self) -> str:
        """Database and measurement; empty for the whole target."""
        return "/".join(part for part in (self.database, self.measurement) if part)

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
        is_part = any(database.startswith(f"{whole}{POLICY_SEPARATOR}") for whole in self.parts_of)
        if self.databases and database not in self.databases and not is_part:
            return False
        if measurement is None:
            return True
        return fits(measurement, self.include) and not fits(measurement, self.exclude)


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
    """Path of the setting below the target, e.g. `include` or `columns.cpu.tags`; `routes[2].measurements` of all."""
    value: str
    """The value as written in the file."""
    detail: str
    """What the value does not match, and similar names: `matches none of 42 measurements, did you mean cpu?`."""

    def __str__(self) -> str:
        return f"{self.setting}: `{self.value}` {self.detail}"


def fits(name: str, patterns: Iterable[str]) -> bool:
    """Whether the name fits one of the patterns of tsaudit.yaml, in which `*` stands for any text. Case matters."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def with_zone(time: datetime) -> datetime:
    """The time, in UTC if it has no zone of its own."""
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def utc_now() -> datetime:
    """The current time, timezone-aware, in UTC."""
    return datetime.now(UTC)


def ahead(day: date) -> str:
    """What to say of a day in the future, whose rows are not written yet; empty for any other day."""
    today = utc_now().date()
    return f"{day} is in the future; in UTC it is {today}" if day > today else ""


class TableKind(enum.StrEnum):
    """The kind of rows in a table. It decides which rules evaluate the table: one row per customer is right in one
    kind, and a problem in another.
    """

    SERIES = "series"
    """Readings: the same sources write again and again; each row is a time with measured values."""
    EVENTS = "events"
    """A log: each row is an event, and is not changed afterward."""
    REFERENCE = "reference"
    """One row per entity, or per version of it, that other rows refer to; new rows are rare."""
    ENTITY = "entity"
    """One row per entity, such as an order, that is updated during its life."""
    QUEUE = "queue"
    """One row per job, which workers pick up and finish."""
    ATTRIBUTE_VALUE = "attribute_value"
    """One column names the attribute, and another contains its value: one series per entity and attribute."""
    OTHER = "other"
    """None of these, or the rows do not show which. Rules that depend on the kind do not evaluate such a table."""

    @property
    def has_series(self) -> bool:
        """Whether rows of one source form a series."""
        return self in SERIES_KINDS

    @property
    def words(self) -> str:
        """The kind as a noun phrase, for sentences: `a table of readings`."""
        return _WORDS[self]


SERIES_KINDS: Final = frozenset({TableKind.SERIES, TableKind.ATTRIBUTE_VALUE})
CLASSIFIED: Final = frozenset(TableKind) - {TableKind.OTHER}
READ_BY_TIME: Final = SERIES_KINDS | {TableKind.EVENTS, TableKind.QUEUE}
"""Kinds whose rows arrive all the time, are read by their time, and are deleted when they are old."""
_WORDS: Final = {
    TableKind.SERIES: "series",
    TableKind.EVENTS: "events",
    TableKind.REFERENCE: "reference data",
    TableKind.ENTITY: "entities",
    TableKind.QUEUE: "jobs of a queue",
    TableKind.ATTRIBUTE_VALUE: "values by attribute",
    TableKind.OTHER: "other rows",
}
