"""A measurement, table or collection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

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
    RowPatterns,
    RowsApart,
    StoredRows,
)
from tsaudit.model.profile.storage import Index, Partitioning, Retention, Storage
from tsaudit.model.profile.tags import Arrivals, Tag, TagSets


@dataclass(frozen=True, slots=True)
class Measurement:
    """A measurement, table or collection."""

    database: str
    name: str
    time_column: str | None
    tags: tuple[Tag, ...]
    fields: tuple[Field, ...]
    series: Count | None = None
    """Distinct tag sets; fields are not counted in (InfluxDB OSS's definition)."""
    rows: Count | None = None
    """Rows (points) within the profile's window."""
    rows_total: Count | None = None
    """Rows of whatever time, by the engine's own statistics. None: it keeps none, or they were not asked for."""
    tag_sets: TagSets | None = None
    arrivals: Arrivals | None = None
    """None where the tag sets were not listed in full, or no history was at hand to compare them with."""
    row_patterns: RowPatterns | None = None
    """None where no rows were read."""
    rhythms: Rhythms | None = None
    """None where no rows, or no times of them, were read."""
    point_sample: PointSample | None = None
    """As above."""
    measure_names: MeasureNames | None = None
    """None: not measured, or the engine has no such thing."""
    storage: Storage | None = None
    options: Mapping[str, str] | None = None
    """Storage options by the engine's own names; those not here have their default. None: not measured."""
    indexes: tuple[Index, ...] | None = None
    """By name. None: not measured, or the engine's users make none."""
    partitioning: Partitioning | None = None
    """None: it has no partitions, or the fact `partitions` was not measured."""
    retention: Retention | None = None
    """Where the engine keeps it for each table. None: it does not, or it is not known."""
    activity: Activity | None = None
    documents: Documents | None = None
    """None for tables with columns, and where none was read."""
    buckets: Buckets | None = None
    rows_apart: RowsApart | None = None
    """None where no rows with times were read, or only those of some series."""
    repeats: Repeats | None = None
    """None where no rows with times were read."""
    stored: StoredRows | None = None
    """None: the engine does not tell, or no file lies within the window."""
    time_type: str | None = None
    """The engine's own name; None where the catalogue does not tell, as in InfluxDB, where it is always the same."""
    first_time: datetime | None = None
    last_time: datetime | None = None
    """Oldest and newest row among those read; None where there were none or nothing was read."""
    later_rows: bool | None = None
    """Whether rows lie at or after the end of the window. None: not measured."""
    fingerprint: str = ""
    """Cheap state (keys, types, counts) by which the next audit sees whether anything moved."""
    fingerprint_as_of: datetime | None = None
    """The instant that both the fingerprint and the figures are of: the end of the window they were measured in. None
    where they are not of one instant, as after an audit of a past day: the fingerprint is always of the present."""
    statements: Mapping[str, str] = field(default_factory=dict)
    """Fact name to the statement that was sent, so that a reader can run it by hand."""
    path: tuple[str, ...] = ()
    """What a statement puts before the name to reach it from anywhere: database and retention policy. On InfluxDB 2.x
    those of the DBRP mapping by which InfluxQL answered; empty there where InfluxQL does not reach the bucket. Empty on
    all other engines, where `database` says it all."""

    @property
    def columns(self) -> tuple[str, ...]:
        """All column names, the time column first."""
        time = (self.time_column,) if self.time_column else ()
        return (*time, *(t.key for t in self.tags), *(f.key for f in self.fields))

    @property
    def parts(self) -> tuple[Measurement | MeasureName, ...]:
        """Whose rows are looked at apart: its measure names where it has such, else itself."""
        return (self,) if self.measure_names is None else self.measure_names.names

    def tag(self, key: str) -> Tag | None:
        return next((t for t in self.tags if t.key == key), None)
