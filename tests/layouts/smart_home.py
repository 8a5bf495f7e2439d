"""Programs for homes that keep their states in InfluxDB 1.x."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from tests.databases import Dataset
from tests.layouts.layout import Layout, Wanted
from tests.layouts.series import kept, table

_ROOMS: Final = ("kitchen", "living_room", "bath", "attic", "garage", "office")
_STEP: Final = timedelta(minutes=7)


def _home_assistant() -> Dataset:
    """Measurements are named after units, and each attribute of a state is a field: `friendly_name_str`."""

    def states(unit: str, kind: str, low: float, high: float) -> Any:
        return [
            table(
                unit,
                [{"domain": "sensor", "entity_id": f"{room}_{kind}"} for room in _ROOMS],
                {"value": (low, high), "device_class_str": kind, "state_class_str": "measurement"},
                step=_STEP,
                apart=timedelta(seconds=11),
            )
        ][0]

    lights = [{"domain": "light", "entity_id": f"{room}_light"} for room in _ROOMS]
    return kept(
        states("°C", "temperature", 15.0, 25.0),
        states("%", "humidity", 30.0, 60.0),
        states("W", "power", 0.0, 900.0),
        states("kWh", "energy", 1.0, 9000.0),
        table(
            "state",
            lights,
            {"value": [0.0, 1.0], "state": ["on", "off"], "brightness": (0.0, 255.0)},
            step=_STEP,
            apart=timedelta(seconds=7),
        ),
    )


_ITEMS: Final = [
    f"{room.title().replace('_', '')}_{what}" for room in _ROOMS for what in ("Temperature", "Humidity", "Light")
]


def _openhab_dirty() -> Dataset:
    more = [f"{item}_Battery" for item in _ITEMS]
    return kept(*(table(item, [{"item": item}], {"value": (0.0, 99.0)}, instants=12) for item in (*_ITEMS, *more)))


def _openhab_clean() -> Dataset:
    """The metadata `influxdb` of each item names its measurement, and a tag with its room."""
    kinds = ("Temperature", "Humidity", "Light")
    return kept(
        *(
            table(
                kind.lower(),
                [{"item": item, "room": item.split("_")[0]} for item in _ITEMS if item.endswith(kind)],
                {"value": (0.0, 99.0)},
                step=_STEP,
                apart=timedelta(seconds=13),
            )
            for kind in kinds
        )
    )


def _iobroker() -> Dataset:
    """A measurement for each data point, with where its value came from in a field."""
    devices = [f"OEQ{1_400_000 + 7919 * i}" for i in range(16)]
    points = [f"hm-rpc.0.{d}.1.{what}" for d in devices for what in ("TEMPERATURE", "HUMIDITY", "STATE", "LOWBAT")]
    values = {"value": (0.0, 90.0), "ack": True, "q": 0.0, "from": "system.adapter.hm-rpc.0"}
    return kept(*(table(point, [{}], values, instants=12) for point in points))


LAYOUTS: Final = (
    Layout(
        name="home-assistant-influxdb",
        engine="influxdb1",
        source="https://www.home-assistant.io/integrations/influxdb/",
        clean=_home_assistant,
    ),
    Layout(
        name="openhab-measurement-per-item",
        engine="influxdb1",
        source="https://www.openhab.org/addons/persistence/influxdb/",
        dirty=_openhab_dirty,
        clean=_openhab_clean,
        wanted=(
            Wanted(
                "NAM002|LAY007",
                "*",
                "36 measurements with the same field, whose tag repeats the name: one per kind would do",
            ),
        ),
    ),
    Layout(
        name="iobroker",
        engine="influxdb1",
        source="https://github.com/ioBroker/ioBroker.influxdb",
        dirty=_iobroker,
        wanted=(
            Wanted(
                "NAM002",
                "*",
                "serials in 64 names: nothing can be asked over all devices; an alias or a tag can",
            ),
        ),
        fine=(Wanted("FLD001", "*.from", "constant where one adapter writes, in the adapter's hands"),),
    ),
)
