"""What the stand-in for GreptimeDB knows of its tables, and in which shapes its versions tell of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

CATALOG: Final = "greptime"
INTERNAL: Final = ("__table_id", "__tsid")
"""Columns of a metric engine's physical table that its definition does not show."""

TYPES: Final = {
    pa.string(): ("string", "String"),
    pa.float64(): ("double", "Float64"),
    pa.float32(): ("float", "Float32"),
    pa.int64(): ("bigint", "Int64"),
    pa.uint64(): ("bigint unsigned", "UInt64"),
    pa.uint32(): ("int unsigned", "UInt32"),
    pa.uint8(): ("tinyint unsigned", "UInt8"),
    pa.bool_(): ("boolean", "Boolean"),
    pa.binary(): ("varbinary", "Binary"),
    pa.large_binary(): ("json", "Json"),
    pa.timestamp("s"): ("timestamp(0)", "TimestampSecond"),
    pa.timestamp("ms"): ("timestamp(3)", "TimestampMillisecond"),
    pa.timestamp("us"): ("timestamp(6)", "TimestampMicrosecond"),
    pa.timestamp("ns"): ("timestamp(9)", "TimestampNanosecond"),
}
"""Arrow's type to `data_type` and `greptime_data_type`. Documents are kept in a form of their own, which is no text."""

INDEXES: Final = {
    "inverted": ("INVERTED", "inverted", "greptime-inverted-index-v1"),
    "fulltext": ("FULLTEXT", "fulltext_bloom", "greptime-fulltext-index-bloom"),
    "skipping": ("SKIPPING", "bloom_filter", "greptime-bloom-filter-v1"),
}
"""Kind to its `index_type`, its `greptime_index_type` and the name of the latter up to v1.0; in the product's order."""


@dataclass(frozen=True, slots=True)
class Version:
    """Which shapes the metadata has."""

    text: str

    @property
    def number(self) -> tuple[int, ...]:
        return tuple(int(part) for part in self.text.split("-")[0].split(".")[:2])

    @property
    def joins_indexes(self) -> bool:
        """All indexes of a column are one row of `key_column_usage`, and there are no `statistics`."""
        return self.number < (1, 1)

    @property
    def bounds_as_expression(self) -> bool:
        return self.number < (1, 0)

    @property
    def sst_format(self) -> str:
        """Of a table that does not say."""
        return "primary_key" if self.number < (1, 0) else "flat"


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: pa.DataType
    semantic: str
    """TAG, FIELD or TIMESTAMP."""

    @property
    def nullable(self) -> bool:
        return self.semantic != "TIMESTAMP" and self.name not in INTERNAL


@dataclass(frozen=True, slots=True)
class File:
    """Rows of one span of time, as written; times in nanoseconds since 1970."""

    rows: int
    first_ns: int | None
    last_ns: int | None
    """None for a time beyond what 64 bits of nanoseconds hold."""


@dataclass(frozen=True, slots=True)
class Region:
    """Where the rows of one partition are kept."""

    id: int
    bound: str | None
    rows: int
    """As written: versions of a row that a later one replaced are counted too."""
    data_bytes: int
    index_bytes: int
    files: Sequence[File]
    series_estimate: int
    """Times that the time does not increase from row to row, in the order of the key: what the product guesses by."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A table as the server knows it."""

    database: str
    name: str
    id: int
    engine: str
    columns: Sequence[Column]
    key: Sequence[str]
    options: Mapping[str, str]
    indexes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    partition_by: Sequence[str] = ()
    regions: Sequence[Region] = ()
    """Empty for a logical table of the metric engine."""

    @property
    def is_append_only(self) -> bool:
        return self.options.get("append_mode") == "true"

    @property
    def time(self) -> str:
        return next(c.name for c in self.columns if c.semantic == "TIMESTAMP")
