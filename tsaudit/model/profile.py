"""The measurements of one target on one day, and the databases that they are in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Final

from tsaudit.model.columns import Arrivals, Field, SeriesSince, Tag, TagSets
from tsaudit.model.figures import (
    POLICY_SEPARATOR,
    Cost,
    Count,
    Gap,
    How,
    Listed,
    Reason,
    Selection,
    TableKind,
    UnusedSetting,
    Window,
)
from tsaudit.model.rows import (
    Copies,
    Documents,
    ExcessRows,
    Expiry,
    MeasureName,
    MeasureNames,
    MisdatedRows,
    OtherTimes,
    PointSample,
    Repeats,
    Rhythms,
    RowBytes,
    RowPatterns,
    RowsAhead,
    RowsApart,
)
from tsaudit.model.server import Activity, KeptPoints, ServerStatus, StoredQuery, TableStatus
from tsaudit.model.storage import Buckets, DatabaseStorage, Index, Partitioning, Retention, Storage, StoredRows


@dataclass(frozen=True, slots=True)
class Database:
    """A database, bucket, or schema within the target."""

    name: str
    series: Count | None = None
    """Distinct tag sets, as everywhere in a profile. If retention policies are audited separately (`policy_of`), the
    number covers all of them: the server counts a series once, however many policies contain it.
    """
    retention: tuple[Retention, ...] | None = None
    """None: not measured, or the engine has no retention (then there is no gap)."""
    series_with_fields: Count | None = None
    """Distinct pairs of a tag set and a field, if the product counts those (InfluxDB Cloud); never compared with
    `series`, and stored under a separate name in the history.
    """
    storage: DatabaseStorage | None = None
    own_series: Count | None = None
    """The part of `series` in this database's own policy. None: no other policy has data, or it is not known."""
    kept: KeptPoints | None = None
    """How many of the accepted points are left; None: not known."""
    policy_of: str = ""
    """The database that this retention policy belongs to (InfluxDB 1.x: `shop` for `shop/raw`); empty for a database
    and its default policy.
    """
    statements: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Fact name to the statement that was sent, for facts about the database."""

    @property
    def server_name(self) -> str:
        """The server's name for the database."""
        return self.policy_of or self.name

    @property
    def own_name(self) -> str:
        """The name chosen by a user: of a database, or of the retention policy that is audited as one."""
        return self.name.removeprefix(f"{self.policy_of}{POLICY_SEPARATOR}") if self.policy_of else self.name


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
    """Which series are new; None if tag sets were not listed completely, or without a history."""
    first_rows: tuple[SeriesSince, ...] = ()
    """An even sample of the series, by the 24 hours, up to the end of the window, that have their first row within it,
    oldest first; those that have no row, or may have older ones, count on the oldest day. Before these, those of the
    previous audit that began earlier than all of them. Empty if it is not known.
    """
    row_patterns: RowPatterns | None = None
    """Which columns are filled together; None if no rows were read."""
    row_bytes: RowBytes | None = None
    """Bytes of a row by column; None if no rows were read, or if the engine stores a repeated text only once."""
    rhythms: Rhythms | None = None
    """How regularly points arrive; None if no rows, or no times of rows, were read."""
    point_sample: PointSample | None = None
    """Points to compare with other measurements; None if no rows, or no times of rows, were read, or if it has too many
    fields to be compared (`MOST_COMPARED_FIELDS`).
    """
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
    """Which tags distinguish rows with the same time; None if no rows with times, or only of some series, were read."""
    copies: Copies | None = None
    """Rows that are copies of another one; None if no rows were read, or if it keeps one row per source and time."""
    repeats: Repeats | None = None
    """Duplicate rows; None if no rows with times were read."""
    stored: StoredRows | None = None
    """Rows in the stored files. None: the engine does not report them, or no file is within the window."""
    kind: TableKind | None = None
    """The kind of rows. None: not determined, or not meant for the engine; then all rules evaluate the table."""
    kind_reason: str = ""
    """The reason for `kind`, as a part of a sentence."""
    time_reason: str = ""
    """Why this column is the time column, and what speaks against other candidates; empty if there can be only one."""
    time_type: str | None = None
    """The engine's own name of the time column's type; None if the catalog does not contain it, as in InfluxDB, where
    it is always the same.
    """
    other_times: tuple[OtherTimes, ...] = ()
    """Values of columns with times that have another form than most, by column."""
    misdated: MisdatedRows | None = None
    """Rows whose times were written in a wrong unit; None: none were found, or none were looked for."""
    ahead: RowsAhead | None = None
    """Sources whose rows are later than now, unlike those of others; None: none were found, or none were looked for."""
    excess: ExcessRows | None = None
    """What multiplied the rows of a day; None: nothing did, or there was no audit of an earlier day."""
    expiry: Expiry | None = None
    """Rows that may have been removed; None if no column says that, there are none, or they were not counted."""
    first_time: datetime | None = None
    last_time: datetime | None = None
    """Oldest and newest row among those read; None if there were none or nothing was read."""
    own_window: Window | None = None
    """The period measured instead of the profile's window, which contains no row; None: that was measured."""
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
        """The groups of rows to examine separately: the measure names, or the measurement itself."""
        return (self,) if self.measure_names is None else self.measure_names.names

    @property
    def rows_known(self) -> int:
        """Rows within the window: the count if there is one, otherwise the number of rows read."""
        read = self.row_patterns.rows if self.row_patterns else 0
        return self.rows.value if self.rows else read

    @property
    def filled_rows(self) -> dict[str, int]:
        """Field to the number of rows that have it; without those that were not counted."""
        if self.rows is None or self.rows.source.how is not How.EXACT:
            return {}
        known = {field.key: field.null_ratio for field in self.fields}
        exact = {key: ratio for key, ratio in known.items() if ratio is not None and ratio.source.how is How.EXACT}
        return {key: round(self.rows.value * (1 - ratio.value)) for key, ratio in exact.items()}

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


SCHEMA_VERSION: Final = 1
"""Increased if tsaudit can no longer read stored profiles of the previous version."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Everything measured about one target on one day."""

    target: str
    engine: str
    server_version: str
    day: date
    """The audited day: a second audit of the same day replaces the first."""
    collected_at: datetime
    window: Window
    facts: tuple[str, ...]
    """Facts that the engine offers, whether or not they were queried."""
    databases: tuple[Database, ...]
    measurements: tuple[Measurement, ...]
    gaps: tuple[Gap, ...]
    costs: tuple[Cost, ...]
    statements: Mapping[str, str] = field(default_factory=dict)
    """Fact name to the statement that was sent, for facts about the whole target."""
    reused: int = 0
    """Number of measurements whose expensive facts were reused from the previous snapshot."""
    selection: Selection = field(default_factory=Selection)
    listed: tuple[Listed, ...] = ()
    """Databases whose measurements could be listed, with the number of measurements in each."""
    beyond_budget: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Database to the names of the measurements in scope not examined because of `budget.max_measurements`."""
    unused_settings: tuple[UnusedSetting, ...] = ()
    """Settings for this target that have no effect. Also empty if the server did not report what exists."""
    stored_queries: tuple[StoredQuery, ...] | None = None
    """Enabled scheduled queries, by name. None: not measured, or the engine has none."""
    ended_queries: tuple[StoredQuery, ...] = ()
    """Scheduled queries that audits of earlier days listed and this one did not, as they were last."""
    storage: Storage | None = None
    """Storage of all databases together, if they are one file. None: they are not, or it was not measured."""
    server: ServerStatus | None = None
    """Limits and counters of the server; None if the engine has none, or the user may not read them."""
    schema_version: int = SCHEMA_VERSION

    def gaps_for(self, fact: str, measurement: Measurement | None = None) -> Iterator[Gap]:
        """Gaps that leave `fact` unmeasured, for one measurement or anywhere."""
        for gap in self.gaps:
            if gap.fact != fact:
                continue
            if measurement is None or (
                gap.database in (None, measurement.database) and gap.measurement in (None, measurement.name)
            ):
                yield gap

    def all_listed(self, database: str | None = None) -> bool:
        """Whether the profile contains every measurement of the database, or of the target, that is in scope."""
        gaps = (g for g in self.gaps if g.fact == "measurements" and g.measurement is None)
        return not any(database is None or g.database in (None, database) for g in gaps)

    def all_named(self, database: str | None = None) -> bool:
        """Whether `names` contains every measurement of the database, or of the target, that is in scope."""
        gaps = (g for g in self.gaps if g.fact == "measurements" and g.measurement is None)
        return not any((database is None or g.database in (None, database)) and not self.is_named(g) for g in gaps)

    def is_named(self, gap: Gap) -> bool:
        """Whether the names of all measurements are known that the gap is about: only the budget leaves them out."""
        return gap.reason is Reason.OVER_BUDGET and gap.measurement is None and gap.database in self.beyond_budget

    def names(self, database: str) -> tuple[str, ...]:
        """The names of the database's measurements, including those that the budget leaves out."""
        examined = (m.name for m in self.measurements if m.database == database)
        return (*examined, *self.beyond_budget.get(database, ()))

    @property
    def wholes(self) -> tuple[Database, ...]:
        """The databases that are not a retention policy of another one here: each series is in exactly one of them."""
        names = {database.name for database in self.databases}
        return tuple(database for database in self.databases if database.policy_of not in names)

    def policies_beside(self, database: Database) -> tuple[Database, ...]:
        """Other retention policies of the database, which are audited as separate databases."""
        return tuple(other for other in self.databases if other.policy_of == database.name)

    def is_within(self, database: str, other: str) -> bool:
        """Whether `database` is `other` or a retention policy of it; an empty `other` stands for the whole target."""
        if other in ("", database):
            return True
        is_named_so = database.startswith(f"{other}{POLICY_SEPARATOR}")
        return is_named_so and any(d.name == database and d.policy_of == other for d in self.databases)

    def inside(self, database: Database) -> tuple[Measurement, ...]:
        """All measurements of the database, including those in its other retention policies."""
        names = {database.name, *(policy.name for policy in self.policies_beside(database))}
        return tuple(m for m in self.measurements if m.database in names)

    def oldest_time(self, measurement: Measurement) -> datetime | None:
        """The beginning of its oldest partition, or the time of its oldest row; None if that is not known: not all rows
        were counted, or older ones may lie before the window.
        """
        cut, time, first = measurement.partitioning, measurement.time_column, measurement.first_time
        if cut is not None and cut.first_begin is not None and time is not None and any(time in key for key in cut.key):
            return cut.first_begin
        is_counted = "null_counts" in self.facts and measurement.own_window is None
        return first if is_counted and first and first - self.window.start >= timedelta(days=1) else None

    @property
    def edition(self) -> str:
        """The engine's product edition, such as `Core` or `Cloud Serverless`; empty if the engine has none."""
        named = re.match(r"[A-Za-z ]*", self.server_version)
        return named[0].strip() if named else ""

    @property
    def series(self) -> int | None:
        """Series of the whole target: each database's own count, or the sum over all its measurements.

        None if any of these is not known: a part must not look like the whole. So if nothing was found that may have
        series: an audit cannot tell an empty database from one whose measurements it may not see.
        """
        if all(d.series is None for d in self.databases) and not any(m.has_series for m in self.measurements):
            return None
        total = 0
        for database in self.wholes:
            if database.series is not None:
                total += database.series.value
                continue
            if self.policies_beside(database):
                # A series may be in several measurements, so the database's count is not the sum over them.
                return None
            counts = [m.series for m in self.measurements if m.database == database.name and m.has_series]
            known = [c.value for c in counts if c is not None and not c.is_lower_bound]
            if len(known) != len(counts) or not self.all_listed(database.name):
                return None
            total += sum(known)
        return total
