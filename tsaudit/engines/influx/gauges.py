"""Metrics about buckets from /metrics of InfluxDB 2: their series, and the bytes of their shards' files."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

_GAUGE: Final = re.compile(
    rb"storage_(bucket_series_num|tsm_files_total|tsm_files_disk_bytes|wal_size)"
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
    held: dict[str, int] = defaultdict(int)
    for (bucket, _), shard in shards.items():
        held[bucket] += _held(shard)
    return Gauges(series, dict(held))


def _held(shard: Mapping[str, int]) -> int:
    """Bytes of the shard; 0 for a dropped one.

    After a shard is dropped, its metrics keep their values until the server is restarted, except for the number of
    files: it has bytes but no files (observed on 2.7.12). A shard that never had a file has its rows in the log.
    """
    gone = shard["tsm_files_disk_bytes"] > 0 and shard["tsm_files_total"] == 0
    return 0 if gone else shard["tsm_files_disk_bytes"] + shard["wal_size"]
