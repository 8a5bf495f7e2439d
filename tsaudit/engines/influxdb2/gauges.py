"""Reads metrics about buckets from InfluxDB 2's /metrics: their series, their shards with the bytes of their files, and
the points written to them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from tsaudit.engines.metrics_page import samples

_SERIES: Final = "storage_bucket_series_num"
_LIVE: Final = ("storage_tsm_files_total", "storage_tsm_files_disk_bytes", "storage_wal_size")
_SHARD_SERIES: Final = "storage_shard_series"
_UPTIME: Final = "influxdb_uptime_seconds"
_COUNTERS: Final = {
    # This counter includes points that failed.
    "storage_shard_write_sum": "points_written",
    "storage_shard_write_dropped_sum": "points_dropped",
    "storage_shard_write_err_sum": "points_failed",
    "storage_compactions_failed": "compactions_failed",
}


@dataclass(frozen=True, slots=True)
class Gauges:
    """Metrics by bucket ID."""

    series: Mapping[str, int]
    """Number of tag sets. A bucket is missing until 10 s after its first point, and as long as it has no points."""
    file_bytes: Mapping[str, int]
    """Bytes of the data files and write-ahead logs of its shards, without their index. A bucket without shards is
    missing.
    """
    shards: Mapping[str, int] = field(default_factory=dict)
    shard_series: Mapping[str, int] = field(default_factory=dict)
    """Sum of the series in each shard; a series counts once in each shard that contains it. A bucket is missing if the
    server does not report it.
    """
    counters: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """(name, bucket) to the counter since the server started, as in `server_status`."""
    uptime_s: float | None = None
    """Seconds since the server started; None if the server does not report it."""


def read(lines: Iterable[bytes]) -> Gauges:
    """Parse the page."""
    series: dict[str, int] = {}
    shards: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: dict.fromkeys(_LIVE, 0))
    counters, uptime_s = defaultdict[tuple[str, str], float](float), None
    for sample in samples(lines, {_SERIES, *_LIVE, _SHARD_SERIES, _UPTIME, *_COUNTERS}):
        bucket, value = sample.labels.get("bucket"), sample.value
        if sample.metric == _UPTIME:
            uptime_s = value
        elif bucket is None:
            continue
        elif sample.metric == _SERIES:
            series[bucket] = int(value)
        elif name := _COUNTERS.get(sample.metric):
            counters[name, bucket] += value
        else:
            shards[bucket, sample.labels.get("id", "")][sample.metric] = int(value)
    held, count, inside = defaultdict[str, int](int), defaultdict[str, int](int), defaultdict[str, int](int)
    for (bucket, _), shard in shards.items():
        held[bucket] += _held(shard)
        if not _is_gone(shard):
            count[bucket] += 1
            if _SHARD_SERIES in shard:
                inside[bucket] += shard[_SHARD_SERIES]
    return Gauges(series, dict(held), dict(count), dict(inside), dict(counters), uptime_s)


def _held(shard: Mapping[str, int]) -> int:
    """Bytes of the shard; 0 for a dropped one."""
    return 0 if _is_gone(shard) else sum(shard[name] for name in _LIVE[1:])


def _is_gone(shard: Mapping[str, int]) -> bool:
    """Whether it was dropped.

    After a shard is dropped, its metrics keep their values until the server is restarted, except for the number of
    files: it has bytes but no files (observed on 2.7.12). A shard that never had a file has its rows in the log.
    """
    files, size, _ = (shard[name] for name in _LIVE)
    return size > 0 and files == 0
