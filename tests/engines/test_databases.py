"""The writers themselves: what was said is what a plain client of the engine reads back."""

from __future__ import annotations

from tests.databases import Dataset, Row, Table, influxql, times, write
from tests.servers import Influxd

HOST = 'a\\x, "b"=c'


def _dataset() -> Dataset:
    rows = [Row(t, {"host": HOST, "region": None}, {"ms": float(i), "on": True}) for i, t in enumerate(times(3))]
    fields = {"ms": "float", "on": "boolean"}
    return Dataset([Table('ht"tp, x', ("host", "region"), fields, rows, key=("time", "host"))])


def test_influxdb_when_names_are_hostile(influxd: Influxd) -> None:
    target = write(_dataset(), "influxdb1", influxd.url)
    answer = influxql(influxd.url, 'SELECT * FROM "ht\\"tp, x"', db=target.databases[0])
    (series,) = answer["results"][0]["series"]
    assert series["columns"] == ["time", "host", "ms", "on"]
    assert [row[1:] for row in series["values"]] == [[HOST, i, True] for i in range(3)]
