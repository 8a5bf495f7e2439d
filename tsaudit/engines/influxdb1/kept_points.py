"""How many of the points that the server accepted for a shard cannot be found there, because others replaced them.

Points with the same tags and time are one row. If they have different fields, the row keeps all of them, and nothing is
lost: a writer may send each field as a point of its own, or a few groups of fields. Only what neither explains counts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from tsaudit.engines.influx import influxql
from tsaudit.engines.influx.influxql import Series

MOST_BYTES: Final = 50_000_000
"""Bytes of the largest shard whose values are counted: a server reads about a million of them a second."""
_FEWEST: Final = 1_000
"""Accepted points of the smallest shard that says something."""
_GROUPS: Final = 4
"""As how many points a writer may send a row, if not each field by itself: our default."""
_MAIN: Final = 0.9
"""Share of the rows that must be of one measurement, so that points can be divided by rows."""
_EXACT: Final = 0.02
"""How far the points may be from the number of values, where each is sent by itself and some again."""


@dataclass(frozen=True, slots=True)
class AcceptedShard:
    """A shard, and how many points the server accepted for it since it started."""

    database: str
    policy: str
    first: str
    """Its beginning, as the server writes times."""
    last: str
    accepted: int


def accepted_shards(answer: Iterable[Series]) -> list[AcceptedShard]:
    """Those that say something and are not too large, the newest first."""
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
    """What a measurement has in a shard."""

    rows: int = 0
    """At least."""
    values: Counter[str] = field(default_factory=Counter)
    """By field."""


def kept(answer: Iterable[Series]) -> dict[str, Kept]:
    """What each measurement has, by the values of its series."""
    found: dict[str, Kept] = defaultdict(Kept)
    for series in answer:
        for row in series["values"]:
            counts = {name: n for name, n in zip(series["columns"][1:], row[1:], strict=True) if n}
            found[series["name"]].rows += max(counts.values(), default=0)
            found[series["name"]].values.update(counts)
    return found


def overwritten(accepted: int, held: Mapping[str, Kept]) -> tuple[str, int]:
    """How many of the points, at least, others replaced, and the measurement that nearly all rows are of; empty if
    there is none.

    With `accepted` points and fewer values, some were replaced for certain. With fewer points than values, each row
    would consist of several points: of up to `_GROUPS`, or of one for each field. Values of fields that some rows
    lack, and those of other measurements, may be points of their own.
    """
    rows, values = sum(one.rows for one in held.values()), sum(one.values.total() for one in held.values())
    certain = max(accepted - values, 0)
    name = max(held, key=lambda name: held[name].rows, default="")
    if not rows:
        # They were deleted.
        return "", 0
    if held[name].rows < _MAIN * rows:
        return "", certain
    if values > rows and abs(accepted - values) <= _EXACT * values:
        return name, certain
    main = held[name]
    alone = values - sum(n for n in main.values.values() if n == main.rows)
    groups = min(max(accepted // main.rows, 1), _GROUPS)
    return name, max(accepted - groups * main.rows - alone, certain)
