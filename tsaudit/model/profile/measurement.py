"""A measurement, table, or collection."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from tsaudit.model.profile.coverage import Window
from tsaudit.model.profile.fields import Field, Rhythms
from tsaudit.model.profile.figures import Count
from tsaudit.model.profile.rows import (
    Activity,
    Buckets,
    Documents,
    MeasureName,
    MeasureNames,
    PointSample,
    Repeats,
    RowBytes,
    RowPatterns,
    RowsApart,
    StoredRows,
)
from tsaudit.model.profile.server import TableStatus
from tsaudit.model.profile.storage import Index, Partitioning, Retention, Storage
from tsaudit.model.profile.tags import Arrivals, Tag, TagSets


class TableKind(enum.StrEnum):
    """Decides which rules evaluate a table: a customer per row is right in one, and a leak in another."""

    SERIES = "series"
    """Readings: the same sources write again and again, each row a time and measured values."""
    EVENTS = "events"
    """A log: each row is something that happened, and is not changed afterward."""
    REFERENCE = "reference"
    """One row per thing, or per version of it, that other rows refer to; new rows are rare."""
    ENTITY = "entity"
    """One row per thing, such as an order, that is updated during its life."""
    QUEUE = "queue"
    """One row per job, which workers take and finish."""
    ATTRIBUTE_VALUE = "attribute_value"
    """A column names the attribute, another one contains its value: a series per thing and attribute."""
    OTHER = "other"
    """None of these, or its rows do not show which: no rule that needs to know evaluates it."""

    @property
    def has_series(self) -> bool:
        """Whether rows of one source form a series."""
        return self in SERIES_KINDS

    @property
    def words(self) -> str:
        """For sentences: `a table of readings`."""
        return _WORDS[self]


SERIES_KINDS: Final = frozenset({TableKind.SERIES, TableKind.ATTRIBUTE_VALUE})
CLASSIFIED: Final = frozenset(TableKind) - {TableKind.OTHER}
READ_BY_TIME: Final = SERIES_KINDS | {TableKind.EVENTS, TableKind.QUEUE}
"""Rows arrive all the time, are read by their time, and are dropped when they are old."""
_WORDS: Final = {
    TableKind.SERIES: "series",
    TableKind.EVENTS: "events",
    TableKind.REFERENCE: "reference data",
    TableKind.ENTITY: "entities",
    TableKind.QUEUE: "jobs of a queue",
    TableKind.ATTRIBUTE_VALUE: "values by attribute",
    TableKind.OTHER: "other rows",
}


@dataclass(frozen=True, slots=True)
class Measurement:
    """A measurement, table, or collection."""

    database: str
    name: str
    time_column: str | None
    tags: tuple[Tag, ...]
    fields: tuple[Field, ...]
    series: Count | None = None
    """Distinct tag sets; fields do not count (InfluxDB OSS's definition)."""
    rows: Count | None = None
    """Rows (points) within the profile's window."""
    rows_total: Count | None = None
    """Rows of any time, according to the engine's own statistics. None: it has none, or they were not queried."""
    tag_sets: TagSets | None = None
    arrivals: Arrivals | None = None
    """None if the tag sets were not listed completely, or there was no history to compare them with."""
    row_patterns: RowPatterns | None = None
    """None if no rows were read."""
    row_bytes: RowBytes | None = None
    """None if no rows were read, or the engine keeps a repeated text only once."""
    rhythms: Rhythms | None = None
    """None if no rows, or no times of them, were read."""
    point_sample: PointSample | None = None
    """As above."""
    measure_names: MeasureNames | None = None
    """None: not measured, or the engine has no such thing."""
    storage: Storage | None = None
    options: Mapping[str, str] | None = None
    """Storage options by the engine's own names; missing ones have their default. None: not measured."""
    indexes: tuple[Index, ...] | None = None
    """By name. None: not measured, or users of the engine do not create any."""
    partitioning: Partitioning | None = None
    """None: it has no partitions, or the fact `partitions` was not measured."""
    retention: Retention | None = None
    """If the engine sets it per table. None: it does not, or it is not known."""
    activity: Activity | None = None
    status: TableStatus | None = None
    """None: the engine counts nothing, or it was not queried."""
    documents: Documents | None = None
    """None for tables with columns, and if no document was read."""
    buckets: Buckets | None = None
    rows_apart: RowsApart | None = None
    """None if no rows with times were read, or only those of some series."""
    repeats: Repeats | None = None
    """None if no rows with times were read."""
    stored: StoredRows | None = None
    """None: the engine does not report it, or no file is within the window."""
    kind: TableKind | None = None
    """What its rows are. None: it was not read, or the engine is not asked; all rules evaluate it."""
    kind_reason: str = ""
    """Why: part of a sentence."""
    time_reason: str = ""
    """Why this is the time column, and what counts against others; empty if the engine allows only one."""
    time_type: str | None = None
    """The engine's own name; None if the catalog does not contain it, as in InfluxDB, where it is always the same."""
    first_time: datetime | None = None
    last_time: datetime | None = None
    """Oldest and newest row among those read; None if there were none or nothing was read."""
    own_window: Window | None = None
    """The period that was measured instead of the profile's window, if that contains no row; None: the window."""
    later_rows: bool | None = None
    """Whether there are rows at or after the end of the window. None: not measured."""
    fingerprint: str = ""
    """Cheap state (keys, types, counts) by which the next audit detects changes."""
    fingerprint_as_of: datetime | None = None
    """The time that both the fingerprint and the figures describe: the end of their window. None if they describe
    different times, as after an audit of a past day, since the fingerprint always describes the present.
    """
    statements: Mapping[str, str] = field(default_factory=dict)
    """Fact name to the statement that was sent, so that a reader can run it manually."""
    path: tuple[str, ...] = ()
    """What a statement puts before the name to reach it from anywhere: database and retention policy. On InfluxDB 2.x,
    those of the DBRP mapping through which InfluxQL answered; empty there if InfluxQL does not reach the bucket. Empty
    on all other engines, where `database` is enough.
    """

    @property
    def columns(self) -> tuple[str, ...]:
        """All column names, the time column first."""
        time = (self.time_column,) if self.time_column else ()
        tags = dict.fromkeys(t.label_of or t.key for t in self.tags)
        return (*time, *tags, *(f.key for f in self.fields))

    @property
    def parts(self) -> tuple[Measurement | MeasureName, ...]:
        """The groups of rows to look at separately: its measure names if it has any, otherwise itself."""
        return (self,) if self.measure_names is None else self.measure_names.names

    @property
    def rows_known(self) -> int:
        """Rows within the window: as counted or, where they could not be, as many as were read."""
        read = self.row_patterns.rows if self.row_patterns else 0
        return self.rows.value if self.rows else read

    @property
    def has_series(self) -> bool:
        """Whether its rows may form series; False for a table of orders or a log in a SQL database."""
        return self.kind is None or self.kind.has_series or self.series is not None

    def tag(self, key: str) -> Tag | None:
        return next((t for t in self.tags if t.key == key), None)
