"""Converts the server's responses to the columns of facts."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

import pyarrow as pa

from tsaudit.engines.connection import FactError, fact_batch
from tsaudit.engines.http_client import StatusRow
from tsaudit.engines.influx import influxql
from tsaudit.engines.influx.influxql import Series
from tsaudit.engines.influxdb1 import policies as retention
from tsaudit.model.facts import FACTS
from tsaudit.model.figures import Reason

OWN_DATABASE: Final = "_internal"
_GO_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|us|µs|ns|s)")
_SECONDS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


def databases(answer: Iterator[Series], _: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    for series in answer:
        names = influxql.column(series, "name")
        yield fact_batch("databases", [{"database": name} for name in names if name != OWN_DATABASE])


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
    rows = ((policy.name, policy.duration_s, policy.partition_s, policy.is_default) for policy in policies)
    columns = FACTS["retention"].columns
    return fact_batch("retention", (dict(zip(columns, row, strict=True)) for row in rows))


def duration_s(text: str) -> int:
    """The number of seconds in a duration in Go's format, such as `168h0m0s`. Raises ValueError for any other text."""
    parts = _GO_DURATION.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"a duration is {text!r}")
    return round(sum(float(number) * _SECONDS[unit] for number, unit in parts))


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard of a retention policy."""

    database: str
    policy: str
    bytes: int
    series: int
    expired: datetime | None
    """When its retention passed, for a shard that should have been deleted since; otherwise None."""


_OVERDUE: Final = timedelta(days=1)
"""How long a shard may outlive its retention, at least: by default, the server looks for such each half hour."""
_MISSED: Final = 3
"""So many times in a row, the server must have looked for shards to delete."""


def shards(answer: Sequence[Series]) -> tuple[list[Shard], bool]:
    """All shards, and whether it is known which of them have expired."""
    overdue, found = _overdue(answer), list[Shard]()
    for series in answer:
        # SHOW SHARDS names its series after databases, of which one may be called so.
        if series.get("name") == "shard" and "tags" in series:
            tags = series["tags"]
            if not all(isinstance(tags.get(name), str) for name in ("database", "retentionPolicy", "id")):
                # Its bytes would be missing from those of its database.
                raise FactError(Reason.FAILED, "a shard without the name of its database; is there a proxy in between?")
            held, count = (
                sum(map(influxql.whole, influxql.column(series, name))) for name in ("diskBytes", "seriesCreate")
            )
            expired = overdue.get(tags["id"]) if overdue else None
            found.append(Shard(tags["database"], tags["retentionPolicy"], held, count, expired))
    return found, overdue is not None


def _overdue(answer: Sequence[Series]) -> dict[str, datetime] | None:
    """The shards that should have been deleted, and when the retention of each passed; None if it is not known."""
    now, grace = None, _OVERDUE
    passed: dict[str, datetime] = {}
    for series in answer:
        columns = series.get("columns", ())
        if "expiry_time" in columns:
            each = (influxql.column(series, name) for name in ("id", "end_time", "expiry_time"))
            # Without a retention, a shard expires when it ends, according to the list.
            passed |= {str(n): datetime.fromisoformat(at) for n, end, at in zip(*each, strict=True) if at > end}
        elif series.get("name") == "system" and "currentTime" in columns:
            (time,) = influxql.column(series, "currentTime")
            now = datetime.fromisoformat(time)
        elif series.get("name") == "config-retention" and "check-interval" in columns:
            (interval,) = influxql.column(series, "check-interval")
            grace = max(grace, _MISSED * timedelta(seconds=duration_s(interval)))
    return None if now is None else {n: at for n, at in passed.items() if at < now - grace}


def status_rows(answer: Iterator[Series]) -> Iterator[tuple[str, str, str, float]]:
    """(kind, name, database, value) of what the server reports about itself."""
    counters: dict[tuple[str, str], float] = {}
    newest, index = 0, ""
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
            case "config-retention":
                (is_enabled,) = influxql.column(series, "enabled")
                yield "setting", "retention_enabled", "", float(is_enabled)
            case "subscriber" if series.get("tags", {}).get("destination"):
                pass  # The row without a destination counts all of them.
            case str(name) if name in _OF_SERVER:
                for counter, columns in _OF_SERVER[name].items():
                    known = [column for column in columns if column in series["columns"]]
                    risen = sum(influxql.whole(n) for column in known for n in influxql.column(series, column))
                    counters[counter, ""] = counters.get((counter, ""), 0.0) + risen
            case "shard":
                tags = series["tags"]
                if int(tags["id"]) > newest:
                    newest, index = int(tags["id"]), tags.get("indexType", "")
                for name, column in _COUNTERS.items():
                    key = name, tags["database"]
                    counters[key] = counters.get(key, 0.0) + sum(map(influxql.whole, influxql.column(series, column)))
    # Shards keep the type of index that they were created with. The newest one shows the type that is set.
    if index:
        yield "setting", INDEX_IN_MEMORY, "", float(index == "inmem")
    too_old = counters.pop((_TOO_OLD, ""), None)
    if too_old is not None and ("points_dropped", "") in counters:
        counters["points_dropped", ""] = max(counters["points_dropped", ""] - too_old, 0.0)
    yield from (("counter", name, database, value) for (name, database), value in counters.items())


INDEX_IN_MEMORY: Final = "index_in_memory"
_HEAP_PROFILE: Final = b"heap profile:"


def index_row(page: Sequence[bytes]) -> Iterator[StatusRow]:
    """The row of the setting, by what takes memory in the heap profile `page`; none if that does not show it."""
    if not page or not page[0].startswith(_HEAP_PROFILE):
        return
    # Both packages take memory when the server starts, and an empty index in memory is made for each database: only
    # methods show which of them contains series.
    in_memory, on_disk = (any(one in line for line in page) for one in (b"/index/inmem.(*", b"/index/tsi1.(*"))
    if not (in_memory and on_disk):
        yield "setting", INDEX_IN_MEMORY, "", float(not on_disk)


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
    total = sum(influxql.whole(row[0]) for series in answer for row in series.get("values", ()))
    yield fact_batch("database_series", [{"series": total, "counts_fields": False}])


def continuous_queries(answer: Iterator[Series]) -> Iterator[pa.RecordBatch]:
    for series in answer:
        names, statements = (influxql.column(series, name) for name in ("name", "query"))
        of_all = {"enabled": True, "database": series["name"]}
        rows = ({"query": name, "statement": text, **of_all} for name, text in zip(names, statements, strict=True))
        yield fact_batch("scheduled_queries", rows, "database")


def early_rows(answer: Iterable[Series]) -> pa.RecordBatch:
    """The oldest and the newest row of each measurement."""
    times: dict[str, list[int]] = defaultdict(list)
    for series in answer:
        times[series["name"]] += influxql.column(series, "time")
    ends = {"first": map(min, times.values()), "last": map(max, times.values())}
    stored, precise = pa.timestamp("us", "UTC"), pa.timestamp("ns", "UTC")
    return pa.record_batch(
        {"measurement": pa.array(list(times), pa.string())}
        | {end: pa.array(each, precise).cast(stored, safe=False) for end, each in ends.items()}
    )


MOST_BYTES: Final = 50_000_000
"""Maximum size in bytes of a shard whose values are counted: a server reads about a million of them a second."""
MOST_SERIES: Final = 5_000
"""Maximum number of series of such a shard, and of measurements of its policy: each series takes the server 50
microseconds or more, and its answer has a column for every field of the measurement; each measurement takes 0.4 ms.
"""
MOST_FIELDS: Final = 1_000
"""Maximum number of fields of a measurement in its policy: the server opens a cursor for each in each series."""
_FEWEST: Final = 1_000
"""Minimum number of accepted points for a shard to be conclusive."""
_GROUPS: Final = 4
"""Maximum number of points as which a writer may send a row, unless it sends each field separately: our default."""
_MAIN: Final = 0.9
"""Minimum share of the rows that must belong to one measurement, so that points can be divided by rows."""
_EXACT: Final = 0.02
"""Maximum relative difference of points and values where each value is sent separately and some are repeated."""


@dataclass(frozen=True, slots=True)
class AcceptedShard:
    """A shard, and how many points the server accepted for it since it started."""

    database: str
    policy: str
    first: str
    """The beginning of the shard's time range, in the server's format."""
    last: str
    accepted: int
    values: int | None = None
    """How many values of fields these points had; None if the server does not count them, as before 1.8.3."""


def accepted_shards(answer: Iterable[Series]) -> list[AcceptedShard]:
    """The shards that are conclusive and not too large, newest first."""
    spans: dict[str, tuple[str, str]] = {}
    found: list[tuple[str, tuple[str, str], tuple[int, int | None]]] = []
    for series in answer:
        if series.get("name") == "shard":
            tags = series["tags"]
            names = ("writePointsOk", "diskBytes", "seriesCreate")
            (accepted,), (size,), (count,) = (influxql.column(series, name) for name in names)
            counts_values = "writeValuesOk" in series["columns"]
            values = influxql.whole(influxql.column(series, "writeValuesOk")[0]) if counts_values else None
            if accepted >= _FEWEST and size <= MOST_BYTES and count <= MOST_SERIES:
                where = tags["database"], tags["retentionPolicy"]
                found.append((tags["id"], where, (influxql.whole(accepted), values)))
        elif "start_time" in series.get("columns", ()):
            listed = (influxql.column(series, name) for name in ("id", "start_time", "end_time"))
            spans |= {str(number): (first, last) for number, first, last in zip(*listed, strict=True)}
    shards = [AcceptedShard(*where, *spans[number], *counts) for number, where, counts in found if number in spans]
    return sorted(shards, key=lambda shard: shard.first, reverse=True)


@dataclass(slots=True)
class Kept:
    """What is stored for a measurement in a shard."""

    rows: int = 0
    """Number of rows, at least."""
    values: Counter[str] = field(default_factory=Counter)
    """Number of values by field."""


def kept(answer: Iterable[Series]) -> dict[str, Kept]:
    """What is stored for each measurement, computed from the values of its series."""
    found: dict[str, Kept] = defaultdict(Kept)
    for series in answer:
        for row in series["values"]:
            counts = {name: influxql.whole(n) for name, n in zip(series["columns"][1:], row[1:], strict=True) if n}
            found[series["name"]].rows += max(counts.values(), default=0)
            found[series["name"]].values.update(counts)
    return found


def overwritten(shard: AcceptedShard, held: Mapping[str, Kept]) -> tuple[str, int]:
    """The measurement that nearly all rows belong to, empty if there is none; and the number of points that others
    replaced, of those that the server accepted for a shard.

    Points with the same tags and time become one row. If they have different fields, the row keeps all of them, and
    nothing is lost: a writer may send each field, or each of a few groups of fields, as a separate point. A server that
    counts the values of the points shows how many are missing. Of others, the minimum is known: with fewer values than
    points, some were certainly replaced. Otherwise, each row may consist of several points: up to `_GROUPS`, or one for
    each field, or for each of many groups of as many fields. Values of fields that some rows lack, and values of other
    measurements, may be separate points.
    """
    accepted = shard.accepted
    rows, values = sum(one.rows for one in held.values()), sum(one.values.total() for one in held.values())
    certain = max(accepted - values, 0)
    name = max(held, key=lambda name: held[name].rows, default="")
    if not rows:
        # The rows were deleted.
        return "", 0
    has_main = held[name].rows >= _MAIN * rows
    if shard.values is not None:
        return name if has_main else "", accepted * max(shard.values - values, 0) // max(shard.values, 1)
    if not has_main:
        return "", certain
    main, each = held[name], round(values / accepted)
    in_groups = each == 1 or each * _GROUPS < len(main.values)
    if values > rows and each and in_groups and abs(accepted * each - values) <= _EXACT * accepted:
        return name, certain
    alone = values - sum(n for n in main.values.values() if n == main.rows)
    groups = min(max(accepted // main.rows, 1), _GROUPS)
    return name, max(accepted - groups * main.rows - alone, certain)
