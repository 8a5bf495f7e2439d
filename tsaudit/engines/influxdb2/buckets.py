"""Buckets of InfluxDB 2: their IDs, their names in InfluxQL, and the metrics that the server has of them. One lookup
serves all connections to a server.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

from influxdb_client.rest import ApiException

from tsaudit.engines import queries
from tsaudit.engines.connection import FactError, FactQuery
from tsaudit.engines.influxdb2.client import Client
from tsaudit.engines.metrics_page import samples
from tsaudit.model.profile import Reason

_ENGINE: Final = "influxdb2"


@dataclass(frozen=True, slots=True)
class Bucket:
    """What requests need to know about a bucket in addition to its name."""

    id: str
    org_id: str


@dataclass(frozen=True, slots=True)
class Dbrp:
    """The names of a bucket in InfluxQL."""

    database: str
    policy: str
    default: bool
    """Whether the bucket is used if a statement names only the database."""


@dataclass(slots=True)
class KnownBuckets:
    """What is known about the server's buckets so far; shared by all connections to it."""

    by_name: dict[str, Bucket] = field(default_factory=dict)
    mappings: dict[str, Dbrp | None] = field(default_factory=dict)
    """Name of the bucket to its names in InfluxQL; None if InfluxQL cannot access it."""


class BucketList:
    """Looks up buckets by name, each only once. Methods raise FactError, and the errors of `Client`."""

    def __init__(self, client: Client, known: KnownBuckets) -> None:
        self._client = client
        self._known = known

    def remember(self, buckets: Sequence[Mapping[str, Any]]) -> None:
        """Store the buckets that the server lists. Raises FactError if two buckets share a name."""
        for bucket in buckets:
            known = self._known.by_name.get(bucket["name"])
            if known and known.org_id != bucket["orgID"]:
                detail = f"two organizations have a bucket {bucket['name']}; name one in the URL: ?org=NAME"
                raise FactError(Reason.FAILED, detail)
            self._known.by_name[bucket["name"]] = Bucket(bucket["id"], bucket["orgID"])

    def look_up(self, ask: FactQuery) -> dict[str, Any]:
        """The bucket as described by the server. Raises FactError if there is none with this name."""
        request = json.loads(queries.render(_ENGINE, "retention", **ask.about))
        ask.rows.statement = shown(request)
        buckets = self._client.rest(request, ask)["buckets"]
        if not buckets:
            name = ask.about["database"]
            detail = f"no bucket {name} is visible: it does not exist, or the token has no permission to read it"
            raise FactError(Reason.FAILED, detail)
        self.remember(buckets)
        found: dict[str, Any] = buckets[0]
        return found

    def of(self, ask: FactQuery) -> Bucket:
        """The bucket that the query is about."""
        name = ask.about["database"]
        if name not in self._known.by_name:
            self.look_up(ask)
        return self._known.by_name[name]

    def dbrp(self, ask: FactQuery) -> Dbrp | None:
        """The names of the bucket in InfluxQL: the default mapping of its own database, otherwise a user-defined
        mapping, otherwise a virtual one. None if there is none.
        """
        known, name = self._known.mappings, ask.about["database"]
        if name not in known:
            bucket = self.of(ask)
            text = queries.render_file(_ENGINE, "_dbrp.json", org_id=bucket.org_id, bucket_id=bucket.id)
            request = json.loads(text)
            try:
                listed = self._client.rest(request, ask).get("content") or []
            except ApiException:
                listed = []
            listed.sort(key=lambda m: (not m["default"], bool(m.get("virtual"))))
            mappings = (Dbrp(m["database"], m["retention_policy"], m["default"]) for m in listed)
            names = [one for one in mappings if isinstance(one.database, str) and isinstance(one.policy, str)]
            known[name] = names[0] if names else None
        return known[name]


def shown(request: Mapping[str, Any]) -> str:
    """A request of the REST API in one line, for display."""
    query = urlencode(request["query"])
    return f"{request['method']} {request['path']}{'?' + query if query else ''}"


# --- Metrics --------------------------------------------------------------------------------------------------------


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


def read_gauges(lines: Iterable[bytes]) -> Gauges:
    """The metrics about buckets on the page /metrics."""
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
