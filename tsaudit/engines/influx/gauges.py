"""Metrics about buckets from /metrics of InfluxDB 2: their series, and their shards with the bytes of their files."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

_GAUGE: Final = re.compile(
    rb"storage_(bucket_series_num|shard_series|tsm_files_total|tsm_files_disk_bytes|wal_size)"
    rb'\{bucket="([0-9a-f]+)"(?:[^{}]*?,id="(\d+)")?.*\} ([0-9.e+]+)'
)
_LIVE: Final = ("tsm_files_total", "tsm_files_disk_bytes", "wal_size")


@dataclass(frozen=True, slots=True)
class Gauges:
    """Metrics by bucket ID."""

    series: Mapping[str, int]
    """Number of tag sets. A bucket is missing for 10 s after its first point, and as long as it has no points."""
    file_bytes: Mapping[str, int]
    """Bytes of the files and write-ahead logs of its shards, without their index. A bucket without shards is
    missing.
    """
    shards: Mapping[str, int] = field(default_factory=dict)
    shard_series: Mapping[str, int] = field(default_factory=dict)
    """A series counts in each shard that has it. A bucket is missing if the server does not report it."""


def read(lines: Iterable[bytes]) -> Gauges:
    """Parse the page."""
    series: dict[str, int] = {}
    shards: dict[tuple[str, bytes], dict[str, int]] = defaultdict(lambda: dict.fromkeys(_LIVE, 0))
    for line in lines:
        if match := _GAUGE.match(line):
            name, bucket, value = match[1].decode(), match[2].decode(), int(float(match[4]))
            if name == "bucket_series_num":
                series[bucket] = value
            else:
                shards[bucket, match[3]][name] = value
    held, count, inside = defaultdict[str, int](int), defaultdict[str, int](int), defaultdict[str, int](int)
    for (bucket, _), shard in shards.items():
        held[bucket] += _held(shard)
        if not _is_gone(shard):
            count[bucket] += 1
            if "shard_series" in shard:
                inside[bucket] += shard["shard_series"]
    return Gauges(series, dict(held), dict(count), dict(inside))


def _held(shard: Mapping[str, int]) -> int:
    """Bytes of the shard; 0 for a dropped one."""
    return 0 if _is_gone(shard) else shard["tsm_files_disk_bytes"] + shard["wal_size"]


def _is_gone(shard: Mapping[str, int]) -> bool:
    """Whether it was dropped.

    After a shard is dropped, its metrics keep their values until the server is restarted, except for the number of
    files: it has bytes but no files (observed on 2.7.12). A shard that never had a file has its rows in the log.
    """
    return shard["tsm_files_disk_bytes"] > 0 and shard["tsm_files_total"] == 0
