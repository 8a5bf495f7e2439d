"""Converts the server's responses to the columns of facts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import pyarrow as pa

from tsaudit.engines.influx import influxql
from tsaudit.engines.influx.influxql import Series
from tsaudit.engines.influxdb1 import policies as retention

OWN_DATABASE: Final = "_internal"
_GO_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|us|µs|ns|s)")
_SECONDS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


def databases(answer: Iterator[Series], _: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    for series in answer:
        names = [name for name in influxql.column(series, "name") if name != OWN_DATABASE]
        yield pa.record_batch({"database": pa.array(names, pa.string())})


def described(series: Series) -> list[retention.Policy]:
    """The policies in one series of the response."""
    columns = (influxql.column(series, name) for name in ("name", "duration", "shardGroupDuration", "default"))
    return [
        retention.Policy(name, duration_s(duration), duration_s(partition), bool(default))
        for name, duration, partition, default in zip(*columns, strict=True)
    ]


def retention_rows(answer: Iterator[Series], _: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    for series in answer:
        yield as_batch(described(series))


def as_batch(policies: Sequence[retention.Policy]) -> pa.RecordBatch:
    return pa.record_batch(
        {
            "policy": pa.array([policy.name for policy in policies], pa.string()),
            "duration_s": pa.array([policy.duration_s for policy in policies], pa.int64()),
            "partition_s": pa.array([policy.partition_s for policy in policies], pa.int64()),
            "default": pa.array([policy.is_default for policy in policies], pa.bool_()),
        }
    )


def duration_s(text: str) -> int:
    """The number of seconds in a duration in Go's format, such as `168h0m0s`."""
    return round(sum(float(number) * _SECONDS[unit] for number, unit in _GO_DURATION.findall(text)))


@dataclass(frozen=True, slots=True)
class Shards:
    """The shards of one retention policy, or of several together."""

    count: int = 0
    bytes: int = 0
    series: int = 0
    """Number of series; a series counts once in each shard that contains it."""

    def __add__(self, other: Shards) -> Shards:
        return Shards(self.count + other.count, self.bytes + other.bytes, self.series + other.series)


def shards(answer: Iterator[Series]) -> dict[tuple[str, str], Shards]:
    """All shards, by database and retention policy."""
    found: dict[tuple[str, str], Shards] = {}
    for series in answer:
        if series.get("name") == "shard":
            key = series["tags"]["database"], series["tags"]["retentionPolicy"]
            held = (sum(int(n) for n in influxql.column(series, name) if n) for name in ("diskBytes", "seriesCreate"))
            found[key] = found.get(key, Shards()) + Shards(1, *held)
    return found


def status_rows(answer: Iterator[Series]) -> Iterator[tuple[str, str, str, float]]:
    """(kind, name, database, value) of what the server reports about itself."""
    counters: dict[tuple[str, str], float] = {}
    indexes = set[str]()
    for series in answer:
        match series.get("name"):
            case "system":
                for started in influxql.column(series, "started"):
                    yield "started", "", "", datetime.fromisoformat(started).timestamp()
            case "config-data":
                for setting in ("max-series-per-database", "max-values-per-tag"):
                    if setting in series["columns"]:
                        (value,) = influxql.column(series, setting)
                        yield "setting", setting.replace("-", "_"), "", float(value)
            case str(name) if name in _OF_SERVER:
                for counter, columns in _OF_SERVER[name].items():
                    known = [column for column in columns if column in series["columns"]]
                    risen = sum(float(n) for column in known for n in influxql.column(series, column) if n)
                    counters[counter, ""] = counters.get((counter, ""), 0.0) + risen
            case "shard":
                tags = series["tags"]
                indexes.add(tags.get("indexType", ""))
                for name, column in _COUNTERS.items():
                    key = name, tags["database"]
                    counters[key] = counters.get(key, 0.0) + sum(float(n) for n in influxql.column(series, column) if n)
    # Shards keep the type of index that they were created with, so a server may have both types.
    if indexes in ({"inmem"}, {"tsi1"}):
        yield "setting", "index_in_memory", "", float(indexes == {"inmem"})
    too_old = counters.pop((_TOO_OLD, ""), None)
    if too_old is not None and ("points_dropped", "") in counters:
        counters["points_dropped", ""] = max(counters["points_dropped", ""] - too_old, 0.0)
    yield from (("counter", name, database, value) for (name, database), value in counters.items())


_TOO_OLD: Final = "points beyond the retention"
"""Points beyond the retention are among the points that the server dropped, but they are no loss."""


_COUNTERS: Final = {
    "points_written": "writePointsOk",
    "points_dropped": "writePointsDropped",
    "points_failed": "writePointsErr",
}


_OF_SERVER: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "cq": {"continuous_queries_failed": ("queryFail",)},
    "subscriber": {"subscriptions_failed": ("writeFailures",)},
    "httpd": {"server_errors": ("serverError", "recoveredPanics"), "points_dropped": ("pointsWrittenDropped",)},
    "write": {_TOO_OLD: ("writeDrop",)},
    "tsm1_engine": {
        "compactions_failed": (
            "cacheCompactionErr",
            "tsmLevel1CompactionErr",
            "tsmLevel2CompactionErr",
            "tsmLevel3CompactionErr",
            "tsmOptimizeCompactionErr",
            "tsmFullCompactionErr",
        )
    },
}
"""Component to the counters of the whole server, each with the columns that are added up for it."""


def database_series(answer: Iterator[Series], _: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    # For a database without series, the server returns nothing, or 0. The name of the column differs between versions.
    total = sum(int(row[0]) for series in answer for row in series.get("values", ()))
    yield pa.record_batch({"series": pa.array([total], pa.int64()), "counts_fields": [False]})
