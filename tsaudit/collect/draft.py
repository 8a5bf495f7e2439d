"""A measurement under construction: what is known about it so far, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final, TypedDict

from tsaudit.analysis.columns.columns import Column, TimeColumn
from tsaudit.engines.engine import Ladder
from tsaudit.engines.labels import Label
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
    TableKind,
    Tag,
    TagSets,
    Window,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from tsaudit.collect.table_statistics import ColumnStatistics, Excerpt


_DECLARED: Final = {
    Ladder.TAG_LISTING: "the engine stores series",
    Ladder.MEASURE_NAMES: "the engine stores series",
}
"""Why all measurements on a ladder contain series."""


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
    """What one step found out about a measurement; empty in this base class.

    Each step has its own subclass; its fields are fields of the draft and replace their values. See `Draft.knowing`.
    """


@dataclass(frozen=True, slots=True)
class Draft:
    """One measurement as far as it is known. Steps take one and return one with more information."""

    database: str
    name: str
    ladder: Ladder = Ladder.COLUMNS
    """How it is measured."""
    columns: tuple[Column, ...] = ()
    """As in the catalog; empty for an engine that declares tags and fields itself."""
    referred_to: bool = False
    """Whether foreign keys of other tables refer to it."""
    kind: TableKind | None = None
    """See `Measurement.kind`."""
    kind_reason: str = ""
    never_source: Mapping[str, str] = field(default_factory=dict)
    """Columns that cannot name the source of a row, whatever their type, with the reason."""
    roles_known: bool = True
    """False if the roles of its columns could not be determined: nothing more can be queried then."""
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
    """Tag to its approximate number of values under each measure name; empty if they were not counted."""
    listed_names: tuple[MeasureName, ...] = ()
    """Its measure names from the catalog, all of them."""
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
    """The family whose other members are measured in its place; empty for none."""
    documents: Documents | None = None
    buckets: Buckets | None = None
    own_window: Window | None = None
    """See `Measurement.own_window`."""
    listing_window: Window | None = None
    """The period that the listing of its tag sets covers; None before there is one."""
    first_time: datetime | None = None
    last_time: datetime | None = None
    later_rows: bool | None = None
    """Whether there are rows at or after the window's end; None if that was not queried."""
    fingerprint: str = ""
    fingerprint_as_of: datetime | None = None
    """See `Measurement.fingerprint_as_of`."""
    previous: Measurement | None = None
    """The same measurement in the previous profile."""
    reused: bool = False
    """Its expensive facts were reused from the previous profile."""
    rows_total: Count | None = None
    """From the engine's counters or statistics; None if it has none."""
    statistics: Mapping[str, ColumnStatistics] | None = None
    """Column to the engine's statistics about it; None if the whole table may be read without checking."""
    excerpt: Excerpt | None = None
    """Which of its rows may be read; None: all within the window."""
    unreadable: Gap | None = None
    """Why none of its rows are read: the user may not, its columns are not known, or the cost of reading is not."""
    statements: Mapping[str, str] = field(default_factory=dict)
    """Fact to the statement sent for it."""
    some_series: Sequence[Mapping[str, str | None]] = ()
    """A few of its tag sets, evenly selected from the listing."""
    sample: pa.Table | None = None
    """The newest rows; see `read`."""
    sampled_since: datetime | None = None
    """The start of the rows read, if later than the window's start; None for the whole window."""
    sampled_series: int = 0
    """The number of series whose rows were read; 0 for all."""

    @property
    def is_indexed(self) -> bool:
        """Whether its tags and tag sets come from an index, which has no window."""
        return self.ladder is Ladder.TAG_LISTING

    @property
    def estimated_rows(self) -> int | None:
        """The number in `rows_total`."""
        return self.rows_total.value if self.rows_total else None

    @property
    def time_type(self) -> str | None:
        """The type of the time column, as in the catalog; None without one."""
        return next((c.data_type for c in self.columns if self.time and c.name == self.time.name), None)

    def about(self, window: Window) -> About:
        """The parameters of every query about it. `window`: applies unless it has one of its own."""
        window = self.own_window or window
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

    def read(self, role: Role, key: str) -> pa.ChunkedArray:
        """One column of the rows read. In InfluxDB, a tag and a field may have the same name, so the name is not
        enough.
        """
        assert self.sample is not None
        return self.sample.column(f"{role} {key}" if self.is_indexed else key)

    def knowing(self, *found: Found) -> Draft:
        """The draft with these findings: the only place where a measurement is put together."""
        known = self
        for one in found:
            known = replace(known, **{part.name: getattr(one, part.name) for part in fields(one)})
        return known

    def asked(self, fact: str, statement: str) -> Draft:
        """The draft with the statement sent for the fact."""
        return replace(self, statements={**self.statements, fact: statement})

    def finished(self) -> Measurement:
        """The measurement for the profile."""
        declared = "" if self.kind else _DECLARED.get(self.ladder, "")
        if self.ladder is Ladder.DOCUMENTS and self.buckets is not None:
            declared = "a time series collection"
        return Measurement(
            database=self.database,
            name=self.name,
            time_column=self.time.name if self.time else None,
            kind=TableKind.SERIES if declared else self.kind,
            kind_reason=declared or self.kind_reason,
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
            time_reason=self.time.reason if self.time else "",
            time_type=self.time_type,
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
            own_window=self.own_window,
            statements=dict(sorted(self.statements.items())),
        )
