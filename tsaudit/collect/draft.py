"""A measurement under construction: what is known about it so far, and what the next steps need to know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, TypedDict

from tsaudit.analysis.columns.columns import Column, TimeColumn
from tsaudit.collect.read_rows import ReadColumn, ReadRows
from tsaudit.engines.quoting import Label
from tsaudit.model.profile import Count, Field, Gap, Measurement, Role, Tag, Window
from tsaudit.model.query_parameters import TablePart
from tsaudit.text import many

LONGEST: Final = 1000
"""Most characters read of each string: enough to recognize what it contains, even if the column contains documents."""


@dataclass(frozen=True, slots=True)
class PartialScan:
    """The rows of a big table that may be read."""

    newest: bool
    """True: the newest rows, from an index. False: rows on pages selected at random, the same pages each time."""
    rows: int | None
    """Number of rows within the window, as estimated by the planner; None if it has no statistics of the time column.
    """
    rows_all: int
    most: int
    """Most rows that one statement may read."""

    def of(self, rows: int) -> TablePart:
        """The parameters for reading this many rows within the window."""
        inside = self.rows_all if self.rows is None else self.rows
        share = min(rows / max(inside, 1), self.most / max(self.rows_all, 1))
        return TablePart(self.newest, rows, f"{min(100.0, max(100 * share, 1e-4)):.6f}")

    def words(self, rows: int) -> str:
        """Which rows were read."""
        return f"the newest {many(rows, 'row')}" if self.newest else f"{many(rows, 'row')} on pages chosen at random"


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """The engine's statistics about a column."""

    distinct: int | None
    at_least: bool
    """True if `distinct` is only a lower bound, because it covers a part of the rows."""
    null_ratio: float | None
    common_values: tuple[str, ...]
    sampled_rows: int
    """The number of rows they were computed from, unless the table has fewer."""
    analysed_at: datetime | None
    """When they were computed; None if never, or if the engine no longer knows."""
    changed_ratio: float | None
    """Rows written since then, as a share of all rows (0-1); None if not counted."""


class About(TypedDict):
    """The fields of `facts.given.OfMeasurement`."""

    database: str
    measurement: str
    tags: list[str]
    fields: list[str]
    time: str | None
    time_kind: str | None
    policies: list[str]
    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class Draft:
    """One measurement as far as it is known. Steps take one and return one with more information."""

    measurement: Measurement
    """The part that goes into the profile. Everything else in this class is only for the steps."""
    is_indexed: bool = False
    """Whether its tags and tag sets come from an index, which has no window."""
    columns: tuple[Column, ...] = ()
    """Its columns as in the catalog; empty for an engine that declares tags and fields itself."""
    referred_to: bool = False
    """Whether foreign keys of other tables refer to it."""
    reads_all_parts: bool = True
    """Whether rows from all parts of it can be read without the others: SQLite finds them by rowid, which some tables
    do not have.
    """
    never_source: Mapping[str, str] = field(default_factory=dict)
    """Columns that cannot name the source of a row, whatever their type, with the reason."""
    time: TimeColumn | None = None
    """The time column, and how it stores times; see `with_time`."""
    roles_known: bool = True
    """False if the roles of its columns could not be determined: then nothing more is queried about it."""
    policies: tuple[str, ...] = ()
    """Retention policies of its database (InfluxDB)."""
    is_divided: bool = False
    """Whether its database is one of several retention policies; its tag keys are then those of all policies together.
    """
    previous: Measurement | None = None
    """The same measurement in the previous profile."""
    reused: bool = False
    """Whether its expensive facts were reused from the previous profile."""
    statistics: Mapping[str, ColumnStatistics] | None = None
    """Column to the engine's statistics about it; None if the whole table may be read without checking."""
    oldest: datetime | None = None
    """Its oldest time; None if it was not needed to find the time column."""
    newest: datetime | None = None
    """Its newest time, whatever the window; None if that was not looked up."""
    partial_scan: PartialScan | None = None
    """Which of its rows may be read; None: all rows within the window."""
    unreadable: Gap | None = None
    """Why none of its rows are read: the user may not read them, or the columns or the cost of reading are unknown.
    None if rows may be read.
    """
    listing_window: Window | None = None
    """The period that the listing of its tag sets covers; None before there is one."""
    some_series: Sequence[Mapping[str, str | None]] = ()
    """A few of its tag sets, selected evenly from the listing, even from a listing that was stopped early; or values of
    one tag, see `read_by`.
    """
    read_by: str = ""
    """The tag whose values are in `some_series`, because whole tag sets are not known; empty if they are."""
    sample: ReadRows | None = None
    """The newest rows; see `read`. None if none were read."""
    sample_limit: int = 0
    """The number of rows requested for the sample."""
    sampled_since: datetime | None = None
    """The start of the period that the sample covers, if later than the window's start; None if it covers the whole
    window.
    """
    sampled_series: int = 0
    """The number of series whose rows were read; 0 for all."""
    counted: Count | None = None
    """All rows, whatever their time, as counted to find the time; None if they were not counted. They do not decide how
    much is read.
    """

    @classmethod
    def new(cls, database: str, name: str) -> Draft:
        """A measurement of which only the name is known."""
        return cls(Measurement(database, name, None, (), ()))

    @property
    def database(self) -> str:
        """The name of its database."""
        return self.measurement.database

    @property
    def name(self) -> str:
        """Its name."""
        return self.measurement.name

    @property
    def tags(self) -> tuple[Tag, ...]:
        """Its tags so far."""
        return self.measurement.tags

    @property
    def fields(self) -> tuple[Field, ...]:
        """Its fields so far."""
        return self.measurement.fields

    @property
    def estimated_rows(self) -> int | None:
        """The number of all rows, whatever their time, according to the engine; None if unknown."""
        return self.measurement.rows_total.value if self.measurement.rows_total else None

    def about(self, window: Window) -> About:
        """The parameters that all queries about it have. `window`: the period, unless the measurement has its own."""
        window = self.measurement.own_window or window
        return {
            "database": self.database,
            "measurement": self.name,
            "tags": [self._name(t) for t in self.tags],
            "fields": [f.key for f in self.fields],
            "time": self.time.name if self.time else None,
            "time_kind": self.time.kind.value if self.time else None,
            "policies": list(self.policies),
            "start": window.start,
            "end": window.end,
        }

    def _name(self, tag: Tag) -> str:
        """The tag's name for queries, which shows where to read it if it is a label."""
        column = next((c for c in self.columns if tag.label_of and c.name == tag.label_of), None)
        if column is None:
            return tag.key
        return Label.of(column.name, column.data_type, tag.key.removeprefix(f"{column.name}."))

    def read(self, role: Role, key: str) -> ReadColumn:
        """One column of the rows read. In InfluxDB, a tag and a field may have the same name, so the name is not
        enough.
        """
        assert self.sample is not None
        return self.sample.column(f"{role} {key}" if self.is_indexed else key)

    def read_times(self) -> tuple[ReadColumn, ReadColumn]:
        """The times of the rows read, as stored, and in microseconds since 1970; see `ReadRows.times_us`."""
        assert self.sample is not None
        assert self.time is not None
        name = "time" if self.is_indexed else self.time.name
        return self.sample.column(name), self.sample.times_us(name, self.time.kind)

    @property
    def is_read_whole(self) -> bool:
        """Whether the sample contains all rows within the window, for the series it was taken from."""
        if self.sample is None:
            return self.partial_scan is None
        in_order = self.partial_scan is None or (self.partial_scan.newest and self.sample.num_rows > 0)
        return in_order and self.sample.num_rows < self.sample_limit and self.sampled_since is None

    @property
    def is_empty(self) -> bool:
        """Whether rows were read, and there are none within the window."""
        was_read = "row_sample" in self.measurement.statements and self.is_read_whole
        return was_read and (self.sample is None or not self.sample.num_rows)

    @property
    def is_too_big(self) -> bool:
        """Whether only a part of its rows may be read: False also if the newest rows turned out to be all rows within
        the window, contrary to the planner's estimate.
        """
        return self.partial_scan is not None and not self.is_read_whole

    def with_time(self, time: TimeColumn | None) -> Draft:
        """The draft with this time column; None if it has none."""
        return replace(
            self,
            time=time,
            measurement=replace(
                self.measurement,
                time_column=time.name if time else None,
                time_reason=time.reason if time else "",
                time_type=next((c.data_type for c in self.columns if time and c.name == time.name), None),
            ),
        )

    def sent(self, fact: str, statement: str) -> Draft:
        """The draft with the statement that was sent for the fact."""
        statements = {**self.measurement.statements, fact: statement}
        return replace(self, measurement=replace(self.measurement, statements=statements))

    def finished(self) -> Measurement:
        """The measurement for the profile, with everything in an order that does not depend on the server's."""
        return replace(
            self.measurement,
            tags=tuple(sorted(self.tags, key=lambda t: t.key)),
            fields=tuple(sorted(self.fields, key=lambda f: f.key)),
            statements=dict(sorted(self.measurement.statements.items())),
            rows_total=self.measurement.rows_total or self.counted,
        )
