"""Counts how many of the points that the server accepted for a shard are no longer there, because others replaced them.

Points with the same tags and time become one row. If they have different fields, the row keeps all of them, and nothing
is lost: a writer may send each field, or each of a few groups of fields, as a separate point. Only points that neither
explains are counted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from tsaudit.engines.influx import influxql
from tsaudit.engines.influx.influxql import Series

MOST_BYTES: Final = 50_000_000
"""Maximum size in bytes of a shard whose values are counted: a server reads about a million of them a second."""
_FEWEST: Final = 1_000
"""Minimum number of accepted points for a shard to be conclusive."""
_GROUPS: Final = 4
"""Maximum number of points as which a writer may send a row, unless it sends each field separately: our default."""
_MAIN: Final = 0.9
"""Minimum share of the rows that must belong to one measurement, so that points can be divided by rows."""
_EXACT: Final = 0.02
"""Maximum relative difference between the numbers of points and of values, if each value is sent separately and some
are repeated.
"""


@dataclass(frozen=True, slots=True)
class AcceptedShard:
    """A shard, and how many points the server accepted for it since it started."""

    database: str
    policy: str
    first: str
    """The beginning of the shard's time range, in the server's format."""
    last: str
    accepted: int


def accepted_shards(answer: Iterable[Series]) -> list[AcceptedShard]:
    """The shards that are conclusive and not too large, newest first."""
    spans: dict[str, tuple[str, str]] = {}
    found: list[tuple[str, str, str, int]] = []
    for series in answer:
        if series.get("name") == "shard":
            tags = series["tags"]
            (accepted,), (size,) = (influxql.column(series, name) for name in ("writePointsOk", "diskBytes"))
            if accepted >= _FEWEST and size <= MOST_BYTES:
                found.append((tags["id"], tags["database"], tags["retentionPolicy"], int(accepted)))
        elif "start_time" in series.get("columns", ()):
            listed = (influxql.column(series, name) for name in ("id", "start_time", "end_time"))
            spans |= {str(number): (first, last) for number, first, last in zip(*listed, strict=True)}
    shards = [AcceptedShard(name, policy, *spans[number], n) for number, name, policy, n in found if number in spans]
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
            counts = {name: n for name, n in zip(series["columns"][1:], row[1:], strict=True) if n}
            found[series["name"]].rows += max(counts.values(), default=0)
            found[series["name"]].values.update(counts)
    return found


def overwritten(accepted: int, held: Mapping[str, Kept]) -> tuple[str, int]:
    """The measurement that nearly all rows belong to, empty if there is none; and the minimum number of points that
    others replaced.

    If there are fewer values than `accepted` points, some were certainly replaced. Otherwise, each row may consist of
    several points: up to `_GROUPS`, or one for each field. Values of fields that some rows lack, and values of other
    measurements, may be separate points.
    """
    rows, values = sum(one.rows for one in held.values()), sum(one.values.total() for one in held.values())
    certain = max(accepted - values, 0)
    name = max(held, key=lambda name: held[name].rows, default="")
    if not rows:
        # The rows were deleted.
        return "", 0
    if held[name].rows < _MAIN * rows:
        return "", certain
    if values > rows and abs(accepted - values) <= _EXACT * values:
        return name, certain
    main = held[name]
    alone = values - sum(n for n in main.values.values() if n == main.rows)
    groups = min(max(accepted // main.rows, 1), _GROUPS)
    return name, max(accepted - groups * main.rows - alone, certain)
