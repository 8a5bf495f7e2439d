"""Layouts on Timestream for LiveAnalytics: AWS's samples, and fleets of devices."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from tests.databases import Dataset, Row, Table
from tests.engines.timestream.devops import devops, partitioned_by
from tests.layouts.layout import Layout, Wanted
from tests.layouts.series import Noise, kept, table

_MODELING: Final = "https://docs.aws.amazon.com/timestream/latest/developerguide/data-modeling.html"
_SAMPLES: Final = "https://github.com/awslabs/amazon-timestream-tools"


def _named(made: Table, measure: str, **settings: Any) -> Table:
    """The table with one name for all its records."""
    rows = [Row(row.time, row.tags, row.fields, measure) for row in made.rows]
    return Table(made.name, made.tags, made.fields, rows, made.key, timestream=settings)


# --- The samples' DevOps data: two measure names, or a record for each value -----------------------------------------


def _devops_clean() -> Dataset:
    return devops("multi", table=partitioned_by("instance_name"))


def _devops_dirty() -> Dataset:
    return devops("multi", hosts=20, instants=60, request_id="dimension", table=partitioned_by("instance_name"))


def _single() -> Dataset:
    return devops("single", hosts=8, table=partitioned_by("instance_name"))


# --- The samples' trucks ---------------------------------------------------------------------------------------------


def _trucks(place: dict[str, Any], measured: dict[str, Any], instants: int) -> Dataset:
    trucks = [
        {
            "truck_id": str(1_000_000_000 + 7_919 * i),
            "fleet": ("Alpha", "Bravo")[i % 2],
            "fuel_capacity": ("100", "150")[i % 2],
            "load_capacity": ("500", "1000", "1500")[i % 3],
            "make": ("Peterbilt", "Kenworth", "Mack")[i % 3],
            "model": ("359", "925", "C-600")[i % 3],
        }
        for i in range(12)
    ]
    values = {"load": (50.0, 900.0), "fuel-reading": (1.0, 100.0), "speed": (0.0, 80.0)} | measured
    made = table("IoTMulti", [t | place for t in trucks], values, instants=instants, step=timedelta(minutes=2))
    return kept(_named(made, "IoTMulti-stats", **partitioned_by("truck_id")), database="sampleDB")


def _latitude(noise: Noise) -> float:
    return round(noise.uniform(33.0, 47.0), 4)


def _trucks_clean() -> Dataset:
    def location(noise: Noise) -> str:
        return f"{_latitude(noise)}° N, {round(noise.uniform(77.0, 122.0), 4)}° W"

    return _trucks({}, {"location": location}, 40)


def _trucks_dirty() -> Dataset:
    here = {"lat": lambda noise: str(_latitude(noise)), "lon": lambda noise: str(-round(noise.uniform(77.0, 122.0), 4))}
    return _trucks(here, {}, 120)


# --- A fleet of meters: as many in a year ----------------------------------------------------------------------------


def _meters(**settings: Any) -> Dataset:
    meters = [
        {"meter_id": f"1EBZ{100_000_000 + 7_919 * i}", "tariff": ("day", "night", "business")[i % 3]}
        for i in range(1_500)
    ]
    made = table(
        "readings", meters, {"kwh": (0.0, 90_000.0), "volt": (220.0, 240.0)}, instants=2, step=timedelta(hours=12)
    )
    return kept(_named(made, "reading", **settings), database="grid")


def _meters_clean() -> Dataset:
    return _meters(**partitioned_by("meter_id"))


# --- Measure names that are numbers ----------------------------------------------------------------------------------


def _hashed() -> Dataset:
    return devops("hashed", hosts=40, instants=10)


LAYOUTS: Final = (
    Layout(
        name="timestream-devops",
        engine="timestream",
        source=_SAMPLES,
        dirty=_devops_dirty,
        clean=_devops_clean,
        wanted=(Wanted("TAG002", "devops.request_id", "an id of each record as a dimension; it is a measure"),),
    ),
    Layout(
        name="timestream-single-measure",
        engine="timestream",
        source=_MODELING,
        dirty=_single,
        wanted=(
            Wanted(
                "LAY010|LAY005", "devops", "twenty values of one instant in twenty records: one multi-measure record"
            ),
        ),
    ),
    Layout(
        name="timestream-iot",
        engine="timestream",
        source=_SAMPLES,
        dirty=_trucks_dirty,
        clean=_trucks_clean,
        wanted=(
            Wanted("TAG002|TAG007", "IoTMulti.lat", "a position as text in a dimension: each place a series"),
            Wanted("TAG002|TAG007", "IoTMulti.lon", "the same"),
        ),
    ),
    Layout(
        name="timestream-meters",
        engine="timestream",
        source=_MODELING,
        dirty=_meters,
        clean=_meters_clean,
        wanted=(
            Wanted(
                "STO015",
                "readings*",
                "1,500 meters under one measure name: a partition key can only be chosen at the start",
            ),
        ),
    ),
    Layout(
        name="timestream-hashed-names",
        engine="timestream",
        source=_MODELING,
        dirty=_hashed,
        wanted=(Wanted("NAM006", "devops", "numbers for names: a partition key does what they were for"),),
        fine=(
            Wanted("STO015|SRV003", "devops*", "there is no key, which is why the names are numbers"),
            Wanted("LAY004|LAY006", "devops", "the number of a host stands for its metrics and its events alike"),
        ),
    ),
)
