"""The page /metrics of InfluxDB 2: lines as 2.7.12 wrote them."""

from __future__ import annotations

from tsaudit.engines.influxdb2.client import Gauges, read_gauges

LIVE, NEW, EMPTY = "867cf5ac811aa409", "0b4d1c22f3a71f00", "1779bd800e398fef"


def _shard(bucket: str, number: int, files: int, file_bytes: float, log_bytes: int) -> list[bytes]:
    at = "/var/lib/influxdb/engine"
    labels = f'bucket="{bucket}",engine="tsm1",id="{number}",path="{at}/data/x/{number}",walPath="{at}/wal/x/{number}"'
    return [
        f"storage_cache_disk_bytes{{{labels}}} 490".encode(),
        f"storage_shard_disk_size{{{labels}}} 77".encode(),
        f"storage_shard_series{{{labels}}} 5".encode(),
        f"storage_tsm_files_disk_bytes{{{labels}}} {file_bytes:g}".encode(),
        f"storage_tsm_files_total{{{labels}}} {files}".encode(),
        f"storage_wal_size{{{labels}}} {log_bytes}".encode(),
    ]


def test_series_and_bytes_by_bucket() -> None:
    lines = [
        b"# HELP storage_bucket_series_num Gauge of series cardinality per bucket",
        f'storage_bucket_series_num{{bucket="{LIVE}"}} 2.00024e+05'.encode(),
        f'storage_bucket_series_num{{bucket="{EMPTY}"}} 0'.encode(),
        *_shard(LIVE, 909, 1, 1013, 231171),
        *_shard(LIVE, 910, 3, 2e6, 0),
        *_shard(NEW, 911, 0, 0, 40),
        b"storage_retention_check_duration_sum 0.000351857",
    ]
    bytes_of = {LIVE: 1013 + 231_171 + 2_000_000, NEW: 40}
    assert read_gauges(lines) == Gauges({LIVE: 200_024, EMPTY: 0}, bytes_of, {LIVE: 2, NEW: 1}, {LIVE: 10, NEW: 5})


def test_shards_that_were_dropped_take_nothing() -> None:
    lines = [*_shard(LIVE, 909, 0, 1013, 231171), *_shard(LIVE, 910, 2, 500, 7)]
    found = read_gauges(lines)
    assert (found.file_bytes, found.shards, found.shard_series) == ({LIVE: 507}, {LIVE: 1}, {LIVE: 5})


def test_series_of_shards_that_the_server_does_not_report() -> None:
    lines = [one for one in _shard(LIVE, 909, 1, 500, 7) if not one.startswith(b"storage_shard_series")]
    assert (read_gauges(lines).shards, read_gauges(lines).shard_series) == ({LIVE: 1}, {})


def test_a_shard_without_a_log_has_the_bytes_of_its_files() -> None:
    lines = [one for one in _shard(LIVE, 909, 1, 500, 7) if not one.startswith(b"storage_wal_size")]
    assert read_gauges(lines).file_bytes == {LIVE: 500}


def test_nothing_is_known_of_another_page() -> None:
    assert read_gauges([b"<html>", b"", b"storage_wal_size 3"]) == Gauges({}, {})
