"""Cases of unbounded-tag: a data set for each kind of values."""

from __future__ import annotations

import math
from typing import Final

from tests.builders import NOW
from tests.databases import Dataset, Greptime, Row, Table, times
from tests.engines.greptimedb.cases import IDS, LINES
from tests.engines.timestream.devops import devops
from tests.rules.cases import Case, dataset, table
from tsaudit.model.figures import Subject
from tsaudit.rules.tags.unbounded_tag import unbounded_tag

RECORDED: Final = "influxdb2"
"""Its answers are recorded, to the first two cases only."""
ON_GREPTIMEDB: Final = frozenset({"greptimedb"})
ON_TIMESTREAM: Final = frozenset({"timestream"})
SENSORS = ("kitchen", "hall", "cellar")


def curve(sensor: int, row: int) -> float:
    return round(20 + sensor + 3 * math.sin(row / 9), 1)


def _rooms(as_tag: bool) -> Dataset:
    tags = ("sensor", "temperature") if as_tag else ("sensor",)
    fields = {"ok": "integer"} if as_tag else {"ok": "integer", "temperature": "float"}
    rows = [
        Row(
            time,
            {"sensor": name} | ({"temperature": str(curve(s, r))} if as_tag else {}),
            {"ok": 1} | ({} if as_tag else {"temperature": curve(s, r)}),
        )
        for r, time in enumerate(times(60))
        for s, name in enumerate(SENSORS)
    ]
    return dataset(Table("rooms", tags, fields, rows, key=("time", *tags)))


LATENCY = [{"host": f"web-{h}", "upto": str(bound / 10)} for h in range(3) for bound in range(1, 41)]


VEHICLES = [{"vehicle": f"car-{i:03}", "latitude": f"{48 + i / 7:.4f}"} for i in range(20)]


def _logs(tag: str, values: tuple[str, ...]) -> Dataset:
    rows = [Row(t, {tag: values[i % len(values)]}, {"message": LINES[i]}) for i, t in enumerate(times(200))]
    append_only = Greptime(options={"append_mode": "true"})
    return dataset(Table("logs", (tag,), {"message": "string"}, rows, key=("time", tag), greptime=append_only))


def _levels(type_: str, values: tuple[str, ...]) -> Dataset:
    rows = [Row(t, {"sensor": "s1", "level": values[i % len(values)]}, {"ok": 1}) for i, t in enumerate(times(20))]
    settings = Greptime(tag_types={"level": type_} if type_ else {})
    return dataset(
        Table("tanks", ("sensor", "level"), {"ok": "integer"}, rows, key=("time", "sensor", "level"), greptime=settings)
    )


OF_KINDS = (
    Case(
        breaks=_rooms(True),
        keeps=_rooms(False),
        subject=Subject("", "rooms", "temperature"),
        main_contributor="temperature",
        engines=unbounded_tag.engines - {RECORDED},
    ),
    Case(
        breaks=_rooms(True),
        keeps=dataset(table("latency", LATENCY, rows=3)),
        subject=Subject("", "rooms", "temperature"),
        # Bounds of a histogram have a type there, too.
        engines=unbounded_tag.engines - {RECORDED} - ON_TIMESTREAM,
    ),
    Case(
        breaks=dataset(table("vehicles", VEHICLES)),
        keeps=dataset(
            table(
                "vehicles",
                [{"vehicle": tags["vehicle"]} for tags in VEHICLES],
                {"latitude": "float", "sent": "time"},
                lambda s, r: {"latitude": 48 + s / 7, "sent": NOW},
            )
        ),
        subject=Subject("", "vehicles", "latitude"),
        main_contributor="latitude",
        engines=ON_TIMESTREAM,
    ),
    Case(
        breaks=dataset(
            table("requests", [{"host": f"web-{i}", "sent": f"2026-03-30T05:{i:02}:00Z"} for i in range(9)])
        ),
        keeps=devops("multi"),
        subject=Subject("", "requests", "sent"),
        main_contributor="sent",
        engines=ON_TIMESTREAM,
    ),
    Case(
        breaks=_logs("request_id", IDS[:200]),
        keeps=_logs("application", ("shop", "search", "billing")),
        subject=Subject("", "logs", "request_id"),
        main_contributor="request_id",
        engines=ON_GREPTIMEDB,
        limits={"unbounded-tag.max_values": 100},
    ),
    Case(
        _levels("float", ("1.5", "2.5")),
        _levels("integer", ("1", "2")),
        Subject("", "tanks", "level"),
        main_contributor="level",
        engines=ON_GREPTIMEDB,
    ),
)
