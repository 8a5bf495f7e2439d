"""A measurement, table, or collection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from tsaudit.model.coverage import Window
from tsaudit.model.figures import Count
from tsaudit.model.profile.columns import Arrivals, Field, Rhythms, Tag, TagSets
from tsaudit.model.profile.database import TableStatus
from tsaudit.model.profile.rows import (
    Activity,
    Buckets,
    Copies,
    Documents,
    MeasureName,
    MeasureNames,
    MisdatedRows,
    OtherTimes,
    PointSample,
    Repeats,
    RowBytes,
    RowPatterns,
    RowsApart,
    StoredRows,
)
from tsaudit.model.profile.storage import Index, Partitioning, Retention, Storage
from tsaudit.model.table_kind import TableKind


@dataclass(frozen=True, slots=True)
class Measurement:
    """A measurement, table, or collection."""

    database: str
    name: str
    time_column: str | None
    tags: tuple[Tag, ...]
    fields: tuple[Field, ...]
    series: Count | None = None
    """Distinct tag sets; fields do not count (as InfluxDB OSS defines series)."""
    rows: Count | None = None
    """Rows (points) within the profile's window."""
    rows_total: Count | None = None
    """Rows of any time, according to the engine's own statistics. None: the engine has none, or they were not queried.
    """
    tag_sets: TagSets | None = None
    arrivals: Arrivals | None = None
    """Which series are new; None if the tag sets were not listed completely, or there was no history to compare them
    with.
    """
    row_patterns: RowPatterns | None = None
    """Which columns are filled together; None if no rows were read."""
    row_bytes: RowBytes | None = None
    """Bytes of a row by column; None if no rows were read, or if the engine stores a repeated text only once."""
    rhythms: Rhythms | None = None
    """How regularly points arrive; None if no rows, or no times of rows, were read."""
    point_sample: PointSample | None = None
    """Points to compare with other measurements; None if no rows, or no times of rows, were read."""
    measure_names: MeasureNames | None = None
    """Measure names (Timestream). None: not measured, or the engine has none."""
    storage: Storage | None = None
    options: Mapping[str, str] | None = None
    """Storage options by the engine's own names; options not listed have their default. None: not measured."""
    indexes: tuple[Index, ...] | None = None
    """Indexes by name. None: not measured, or users of the engine do not create any."""
    partitioning: Partitioning | None = None
    """Partitions of the table. None: it has none, or the fact `partitions` was not measured."""
    retention: Retention | None = None
    """Retention, if the engine sets it per table. None: the engine does not, or it is not known."""
    activity: Activity | None = None
    status: TableStatus | None = None
    """Counters and statistics of the server. None: the engine has none, or they were not queried."""
    documents: Documents | None = None
    """The documents read; None for tables with columns, and if no document was read."""
    buckets: Buckets | None = None
    rows_apart: RowsApart | None = None
    """Which tags distinguish rows with the same time; None if no rows with times were read, or only those of some
    series.
    """
    copies: Copies | None = None
    """Rows that are copies of another one; None if no rows were read, or if the engine declares tags."""
    repeats: Repeats | None = None
    """Duplicate rows; None if no rows with times were read."""
    stored: StoredRows | None = None
    """Rows in the stored files. None: the engine does not report them, or no file is within the window."""
    kind: TableKind | None = None
    """The kind of rows. None: it was not determined, or does not apply to the engine; then all rules evaluate the
    table.
    """
    kind_reason: str = ""
    """The reason for `kind`, as a part of a sentence."""
    time_reason: str = ""
    """Why this column is the time column, and what speaks against other candidates; empty if the engine allows only
    one.
    """
    time_type: str | None = None
    """The engine's own name of the time column's type; None if the catalog does not contain it, as in InfluxDB, where
    it is always the same.
    """
    other_times: tuple[OtherTimes, ...] = ()
    """Values of columns with times that have another form than most, by column."""
    misdated: MisdatedRows | None = None
    """Rows whose times were written in a wrong unit; None: none were found, or none were looked for."""
    first_time: datetime | None = None
    last_time: datetime | None = None
    """Oldest and newest row among those read; None if there were none or nothing was read."""
    own_window: Window | None = None
    """The period measured instead of the profile's window, because the window contains no row; None: the window was
    measured.
    """
    later_rows: bool | None = None
    """Whether there are rows at or after the end of the window. None: not measured."""
    fingerprint: str = ""
    """Hash of cheap metadata (keys, types, counts), by which the next audit detects changes."""
    fingerprint_as_of: datetime | None = None
    """The time that both the fingerprint and the figures describe: the end of their window. None if they describe
    different times, as after an audit of a past day, since the fingerprint always describes the present.
    """
    statements: Mapping[str, str] = field(default_factory=dict)
    """Fact name to the statement that was sent, so that a reader can run it manually."""
    path: tuple[str, ...] = ()
    """The qualifier that a statement puts before the name to reach it from anywhere: database and retention policy. On
    InfluxDB 2.x, those of the DBRP mapping through which InfluxQL answered; empty there if InfluxQL does not reach the
    bucket. Empty on all other engines, where `database` is enough.
    """

    @property
    def columns(self) -> tuple[str, ...]:
        """All column names, the time column first."""
        time = (self.time_column,) if self.time_column else ()
        tags = dict.fromkeys(t.label_of or t.key for t in self.tags)
        return (*time, *tags, *(f.key for f in self.fields))

    @property
    def parts(self) -> tuple[Measurement | MeasureName, ...]:
        """The groups of rows to examine separately: the measure names if there are any, otherwise the measurement
        itself.
        """
        return (self,) if self.measure_names is None else self.measure_names.names

    @property
    def rows_known(self) -> int:
        """Rows within the window: the count if there is one, otherwise the number of rows read."""
        read = self.row_patterns.rows if self.row_patterns else 0
        return self.rows.value if self.rows else read

    @property
    def is_compressed(self) -> bool:
        """Whether TimescaleDB may compress it, so that a repeated value takes hardly any room."""
        return (self.options or {}).get("timescaledb.compress") == "true"

    @property
    def has_series(self) -> bool:
        """Whether the rows may form series; False for a table of orders or a log in a SQL database."""
        return self.kind is None or self.kind.has_series or self.series is not None

    def tag(self, key: str) -> Tag | None:
        return next((t for t in self.tags if t.key == key), None)
