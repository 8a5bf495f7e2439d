"""Cases of unbounded-tag: a data set for each kind of values."""

from __future__ import annotations

import math
from typing import Final

from tests.builders import NOW
from tests.databases import Dataset, Row, Table, times
from tests.engines.timestream.devops import devops
from tests.rules.cases import Case, dataset, table
from tsaudit.model.subject import Subject
from tsaudit.rules.tags.unbounded_tag import unbounded_tag

RECORDED: Final = "influxdb2"
"""Its answers are recorded, to the first two cases only."""
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
)
