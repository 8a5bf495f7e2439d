"""A measurement in the making: what is known of it so far, rung by rung."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import TYPE_CHECKING, TypedDict

from tsaudit.engines.engine import Ladder
from tsaudit.engines.sql.roles import Column, TimeColumn
from tsaudit.model.profile import (
    Activity,
    Arrivals,
    Buckets,
    Count,
    Documents,
    Field,
    Gap,
    Index,
    Measurement,
    MeasureName,
    MeasureNames,
    Partitioning,
    PointSample,
    Repeats,
    Retention,
    Rhythms,
    Role,
    RowPatterns,
    RowsApart,
    Storage,
    StoredRows,
    Tag,
    TagSets,
    Window,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from tsaudit.collect.table_statistics import ColumnStatistics, Excerpt


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
class Found:
    """What one step found out about a measurement. Of itself: nothing.

    Each kind of it is a class beside the step, whose fields are some of the draft's: they stand in its place from then
    on. See `Draft.knowing`.
    """


@dataclass(frozen=True, slots=True)
class Draft:
    """One measurement as far as it is known. Steps take one and return one that knows more."""

    database: str
    name: str
    ladder: Ladder = Ladder.COLUMNS
    """How it is measured."""
    columns: tuple[Column, ...] = ()
    """As the catalogue has them; empty for an engine that says itself what is a tag and what a field."""
    is_empty: bool = False
    """The engine was asked for its columns and knows none: nothing was ever written to it."""
    roles_known: bool = True
    """False when it could not be told what its columns are for: nothing more can be asked then."""
    policies: tuple[str, ...] = ()
    """Retention policies of its database (InfluxDB)."""
    path: tuple[str, ...] = ()
    """See `Measurement.path`."""
    is_divided: bool = False
    """Its database is one of several retention policies, and its tag keys are those of all of them."""
    time: TimeColumn | None = None
    tags: tuple[Tag, ...] = ()
    fields: tuple[Field, ...] = ()
    series: Count | None = None
    rows: Count | None = None
    tag_sets: TagSets | None = None
    arrivals: Arrivals | None = None
    row_patterns: RowPatterns | None = None
    measure_names: MeasureNames | None = None
    rough_values: Mapping[str, list[int]] = field(default_factory=dict)
    """Tag to about how many values it has under each measure name; empty where they were not counted."""
    listed_names: tuple[MeasureName, ...] = ()
    """Its measure names by the catalogue, all of them."""
    storage: Storage | None = None
    options: Mapping[str, str] | None = None
    indexes: tuple[Index, ...] | None = None
    partitioning: Partitioning | None = None
    retention: Retention | None = None
    repeats: Repeats | None = None
    rows_apart: RowsApart | None = None
    stored: StoredRows | None = None
    rhythms: Rhythms | None = None
    point_sample: PointSample | None = None
    activity: Activity | None = None
    stood_for: str = ""
    """The family of which other members are measured in its place; empty for none."""
    documents: Documents | None = None
    buckets: Buckets | None = None
    listing_window: Window | None = None
    """What the listing of its tag sets covers; None before there is one."""
    first_time: datetime | None = None
    last_time: datetime | None = None
    later_rows: bool | None = None
    """Whether rows lie at or after the window's end; None where that was not asked."""
    fingerprint: str = ""
    fingerprint_as_of: datetime | None = None
    """See `Measurement.fingerprint_as_of`."""
    previous: Measurement | None = None
    """The same measurement in the profile before."""
    reused: bool = False
    """Its expensive facts were taken over from the profile before."""
    rows_total: Count | None = None
    """By the engine's counters or statistics; None where it has none."""
    statistics: Mapping[str, ColumnStatistics] | None = None
    """Column to what the engine's statistics say of it; None where the table may be read whole without asking."""
    excerpt: Excerpt | None = None
    """Which of its rows may be read; None: all within the window."""
    unreadable: Gap | None = None
    """Why it cannot be told what reading its rows would cost, so that none are."""
    statements: Mapping[str, str] = field(default_factory=dict)
    """Fact to the statement that was sent for it."""
    some_series: Sequence[Mapping[str, str | None]] = ()
    """A few of its tag sets, chosen evenly from the listing."""
    sample: pa.Table | None = None
    """Rows read, the newest ones; see `read`."""
    sampled_since: datetime | None = None
    """From when on rows were read, where that is later than the window's start; None for the whole window."""
    sampled_series: int = 0
    """Of how many of its series the rows were read; 0 for all of them."""

    @property
    def is_indexed(self) -> bool:
        """Whether its tags and tag sets are those that an index knows, which has no window."""
        return self.ladder is Ladder.TAG_LISTING

    @property
    def estimated_rows(self) -> int | None:
        """The number of `rows_total`."""
        return self.rows_total.value if self.rows_total else None

    def about(self, window: Window) -> About:
        """What every query about it is given."""
        return {
            "database": self.database,
            "measurement": self.name,
            "tags": [t.key for t in self.tags],
            "fields": [f.key for f in self.fields],
            "time": self.time.name if self.time else None,
            "time_kind": self.time.kind.value if self.time else None,
            "policies": list(self.policies),
            "start": window.start,
            "end": window.end,
        }

    def read(self, role: Role, key: str) -> pa.ChunkedArray:
        """The rows read of one column. InfluxDB lets a tag and a field have one name, so that a name is not enough."""
        assert self.sample is not None
        return self.sample.column(f"{role} {key}" if self.is_indexed else key)

    def knowing(self, *found: Found) -> Draft:
        """The same with what was found: the one place where a measurement is put together."""
        known = self
        for one in found:
            known = replace(known, **{part.name: getattr(one, part.name) for part in fields(one)})
        return known

    def asked(self, fact: str, statement: str) -> Draft:
        """The same with the statement that was sent for the fact."""
        return replace(self, statements={**self.statements, fact: statement})

    def finished(self) -> Measurement:
        """What the profile keeps."""
        return Measurement(
            database=self.database,
            name=self.name,
            time_column=self.time.name if self.time else None,
            tags=tuple(sorted(self.tags, key=lambda t: t.key)),
            fields=tuple(sorted(self.fields, key=lambda f: f.key)),
            path=self.path,
            series=self.series,
            rows=self.rows,
            rows_total=self.rows_total,
            tag_sets=self.tag_sets,
            arrivals=self.arrivals,
            row_patterns=self.row_patterns,
            measure_names=self.measure_names,
            storage=self.storage,
            options=self.options,
            indexes=self.indexes,
            partitioning=self.partitioning,
            retention=self.retention,
            repeats=self.repeats,
            rows_apart=self.rows_apart,
            stored=self.stored,
            time_type=next((c.data_type for c in self.columns if self.time and c.name == self.time.name), None),
            rhythms=self.rhythms,
            point_sample=self.point_sample,
            activity=self.activity,
            documents=self.documents,
            buckets=self.buckets,
            first_time=self.first_time,
            last_time=self.last_time,
            later_rows=self.later_rows,
            fingerprint=self.fingerprint,
            fingerprint_as_of=self.fingerprint_as_of,
            statements=dict(sorted(self.statements.items())),
        )
