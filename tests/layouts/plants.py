"""Plants: hundreds of columns for sensors, attributes as rows, a table for each device or site."""

from __future__ import annotations

import math
import random
from typing import Any

from tests.layouts.layout import Layout, Script, Wanted
from tests.layouts.making import ANALYZE, evenly, stamp

_SENSORS = [f"s{i:03}" for i in range(1, 301)]


def _wide() -> Script:
    columns = ", ".join(f"{name} DOUBLE" for name in _SENSORS)
    values = ", ".join(f"{20 + i % 40} + sin(i / {30 + i}.0)" for i in range(len(_SENSORS)))
    return Script(
        (
            f"CREATE TABLE plant (ts TIMESTAMP NOT NULL, {columns})",
            f"""INSERT INTO plant SELECT TIMESTAMP '2026-03-31 05:59:00' - i * INTERVAL 1 MINUTE, {values}
                FROM generate_series(0, 2999) g(i)""",
        )
    )


def _narrow() -> Script:
    return Script(
        (
            "CREATE TABLE sensors (sensor_id INTEGER PRIMARY KEY, code VARCHAR UNIQUE, unit VARCHAR, installed DATE)",
            """INSERT INTO sensors SELECT i, 's' || lpad(i::VARCHAR, 3, '0'), ['C', 'bar', 'A'][1 + i % 3],
                DATE '2021-05-01' + (i % 90)::INTEGER FROM generate_series(1, 300) g(i)""",
            "CREATE TABLE readings (ts TIMESTAMP NOT NULL, sensor_id INTEGER NOT NULL, value DOUBLE)",
            """INSERT INTO readings SELECT TIMESTAMP '2026-03-31 05:59:00' - i // 300 * INTERVAL 1 MINUTE, 1 + i % 300,
                20 + i % 40 + sin(i / 900.0) FROM generate_series(0, 17999) g(i)""",
        )
    )


_KINDS = ("temperature", "pressure", "flow", "vibration", "state")


def _attributes(as_text: bool) -> Script:
    """Entity, attribute, value: with texts of everything, or with numbers alone."""
    noise = random.Random(15)
    rows: list[tuple[Any, ...]] = []
    for n, at in enumerate(evenly(15_000, 6)):
        device, kind = f"pump-{n // 5 % 50:02}", _KINDS[n % 5]
        number = round(50 + 20 * math.sin(n / 400 + n % 50) + noise.random(), 2)
        if not as_text:
            rows.append((at, device, "speed" if kind == "state" else kind, number))
        else:
            rows.append(
                (at, device, kind, noise.choice(("running", "idle", "fault")) if kind == "state" else str(number))
            )
    statements = (
        f"""CREATE TABLE readings (recorded_at timestamptz NOT NULL, entity text NOT NULL, attribute text NOT NULL,
            value {"text" if as_text else "double precision"})""",
        "CREATE INDEX readings_entity_attribute_recorded_at ON readings (entity, attribute, recorded_at)",
        "CREATE INDEX readings_recorded_at ON readings (recorded_at)",
    )
    return Script(statements, {"readings": rows}, (ANALYZE,))


_CITIES = (
    "hamburg",
    "munich",
    "cologne",
    "leipzig",
    "dresden",
    "bremen",
    "essen",
    "kiel",
    "mainz",
    "ulm",
    "trier",
    "jena",
)


def _per_site() -> Script:
    statements = []
    for n, city in enumerate(_CITIES):
        statements += [
            f"CREATE TABLE {city}_boilers (ts TIMESTAMP NOT NULL, boiler VARCHAR, temperature DOUBLE, pressure DOUBLE)",
            f"""INSERT INTO {city}_boilers SELECT TIMESTAMP '2026-03-31 05:59:00' - i // 4 * INTERVAL 5 MINUTE,
                'b' || i % 4,
                60 + {n} + sin(i / 90.0), 1.5 + hash(i) % 100 / 200 FROM generate_series(0, 799) g(i)""",
        ]
    return Script(statements)


def _one_site_column() -> Script:
    cities = ", ".join(f"'{city}'" for city in _CITIES)
    return Script(
        (
            """CREATE TABLE boilers (ts TIMESTAMP NOT NULL, city VARCHAR, boiler VARCHAR, temperature DOUBLE,
                pressure DOUBLE)""",
            f"""INSERT INTO boilers SELECT TIMESTAMP '2026-03-31 05:59:00' - i // 48 * INTERVAL 5 MINUTE,
                [{cities}][1 + i % 12], 'b' || i // 12 % 4, 60 + i % 12 + sin(i / 1000.0), 1.5 + hash(i) % 100 / 200
                FROM generate_series(0, 9599) g(i)""",
        )
    )


def _serials(count: int) -> list[str]:
    noise = random.Random(16)
    return [f"{noise.getrandbits(48):012x}" for _ in range(count)]


def _per_device() -> Script:
    statements, rows = [], {}
    for n, serial in enumerate(_serials(60)):
        table = f"device_{serial}"
        statements.append(f"CREATE TABLE {table} (ts TEXT PRIMARY KEY, temperature REAL, battery REAL)")
        rows[table] = [
            (stamp(at), round(20 + math.sin(i / 9 + n), 2), 3.6 - i / 900) for i, at in enumerate(evenly(60, 2))
        ]
    return Script(statements, rows)


def _devices_in_one() -> Script:
    serials = _serials(60)
    rows = [
        (stamp(at), serials[n % 60], round(20 + math.sin(n / 540 + n % 60), 2), 3.6 - n / 9e4)
        for n, at in enumerate(evenly(9_000, 2))
    ]
    devices = [(i, serial, f"Room {i}", "2025-01-07 10:00:00") for i, serial in enumerate(serials, 1)]
    statements = (
        "CREATE TABLE devices (id INTEGER PRIMARY KEY, serial TEXT NOT NULL UNIQUE, room TEXT, installed_at TEXT)",
        """CREATE TABLE readings (ts TEXT NOT NULL, device TEXT NOT NULL, temperature REAL, battery REAL,
            PRIMARY KEY (device, ts))""",
        "CREATE INDEX readings_ts ON readings (ts)",
    )
    return Script(statements, {"devices": devices, "readings": rows})


LAYOUTS = (
    Layout(
        name="wide-plant-duckdb",
        engine="duckdb",
        source="https://www.tigerdata.com/learn/designing-your-database-schema-wide-vs-narrow-postgres-tables",
        clean=_narrow,
        dirty=_wide,
        wanted=(Wanted("NAM005|SRV003", "plant*", "300 numbered columns: a new sensor is a change of the schema"),),
    ),
    Layout(
        name="attribute-value-postgresql",
        engine="postgresql",
        source="https://www.tigerdata.com/blog/best-practices-for-time-series-data-modeling-narrow-medium-or-wide-table-layout-2",
        clean=lambda: _attributes(False),
        dirty=lambda: _attributes(True),
        wanted=(Wanted("FLD002|LAY004", "readings*", "numbers and states in one text column: split by what they are"),),
    ),
    Layout(
        name="table-per-city-duckdb",
        engine="duckdb",
        source="https://docs.influxdata.com/influxdb3/core/write-data/best-practices/schema-design/",
        clean=_one_site_column,
        dirty=_per_site,
        wanted=(Wanted("NAM002", "*", "one schema in twelve tables: a column for the city, and one table"),),
    ),
    Layout(
        name="table-per-device-sqlite",
        engine="sqlite",
        source="https://docs.tdengine.com/basic/data-model/",
        clean=_devices_in_one,
        dirty=_per_device,
        wanted=(Wanted("NAM002", "*", "a table of each device: no query over all of them"),),
    ),
)
