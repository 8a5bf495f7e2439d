"""One data set for all generations of InfluxDB: each audits it to the same profile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import overload

from tests.builders import NOW
from tests.databases import Dataset, Row, Table, times

REQUESTS = 200_000
ODD = ('quo"ted', "two words", "a,comma", "k=v", "größe ☃")


@dataclass(frozen=True)
class _Requests(Sequence[Row]):
    """A row per request, made as it is read."""

    def __len__(self) -> int:
        return REQUESTS

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | Sequence[Row]:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(REQUESTS))]
        tags = {"endpoint": f"e{place % 20:02}", "request_id": f"req-{place:06}"}
        return Row(NOW - timedelta(milliseconds=REQUESTS - place), tags, {"ms": place % 500 + 0.5})

    def __iter__(self) -> Iterator[Row]:
        return (self[i] for i in range(REQUESTS))


def _air() -> Table:
    rows = [
        Row(at, {"sensor_id": f"TLM0{100 + s}"}, {"co": 0.1 * s + i / 97, "humidity": 35.0 + s, "temperature": 71.5})
        for i, at in enumerate(times(12, timedelta(minutes=10)))
        for s in range(8)
    ]
    return Table("airSensors", ("sensor_id",), {"co": "float", "humidity": "float", "temperature": "float"}, rows)


def _dependent() -> Table:
    """Email tells first name: 3 x 2 x 2 combinations at worst, 6 in fact."""
    people = (("a@example.com", "ann"), ("b@example.com", "ann"), ("c@example.com", "bob"))
    rows = [
        Row(at, {"email": email, "firstname": name, "status": status}, {"age": float(i)})
        for i, at in enumerate(times(4))
        for email, name in people
        for status in ("start", "finish")
    ]
    return Table("logins", ("email", "firstname", "status"), {"age": "float"}, rows)


def _conflict() -> Table:
    rows = [
        Row(NOW - timedelta(days=20), {"host": "a"}, {"level": 1}),
        Row(NOW - timedelta(minutes=5), {"host": "a"}, {"level": "high"}),
        Row(NOW - timedelta(minutes=5), {"host": "b"}, {"level": "low"}),
    ]
    return Table("conflict", ("host",), {"level": "any"}, rows)


def _embedded(number: int) -> Table:
    rows = [Row(at, {"dc": "x"}, {"value": float(i)}) for i, at in enumerate(times(3))]
    return Table(f"server-{number}.cpu.eu-west-1", ("dc",), {"value": "float"}, rows)


def _odd(name: str) -> Table:
    rows = [Row(at, {f"t {name}": f"v {name}"}, {f"f {name}": float(i)}) for i, at in enumerate(times(3))]
    return Table(name, (f"t {name}",), {f"f {name}": "float"}, rows)


REQUEST_TABLE = Table("requests", ("endpoint", "request_id"), {"ms": "float"}, _Requests())
FAMILY = Dataset(
    [_air(), _dependent(), _conflict(), *map(_embedded, (17, 18, 19)), *map(_odd, ODD), REQUEST_TABLE],
    database="family",
)
SMALL = Dataset([table for table in FAMILY.tables if table is not REQUEST_TABLE], database="family small")
EMPTY = Dataset([], database="family empty")
