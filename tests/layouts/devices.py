"""Readings of devices in SQL: TimescaleDB's tutorials, sensors with serials, interfaces by SNMP, an archive."""

from __future__ import annotations

import math
import random
from datetime import UTC, datetime

from tests.layouts.layout import Layout, Script, Wanted
from tests.layouts.making import ANALYZE, evenly, stamp


def _conditions(requests: bool) -> Script:
    noise = random.Random(23)
    devices = [(f"weather-pro-{i:06}", "pro" if i % 3 else "home", ("field", "office")[i % 2]) for i in range(100)]
    rows = []
    for n, at in enumerate(evenly(12_000, 2)):
        temperature = round(20 + 8 * math.sin(n / 2_000 + n % 100) + noise.random(), 2)
        humidity = round(50 + 20 * math.cos(n / 2_000), 2)
        row: tuple[object, ...] = (at, devices[n % 100][0], temperature, humidity)
        rows.append((*row, temperature) if requests else row)
    extra = (
        ", reading text NOT NULL, PRIMARY KEY (time, device_id, reading)"
        if requests
        else ", PRIMARY KEY (time, device_id)"
    )
    statements = (
        "CREATE TABLE device_info (device_id text PRIMARY KEY, model text, location text)",
        f"""CREATE TABLE conditions (time timestamptz NOT NULL, device_id text NOT NULL, temperature double precision,
            humidity double precision{extra})""",
        "CREATE INDEX conditions_device_id_time ON conditions (device_id, time DESC)",
    )
    return Script(statements, {"device_info": devices, "conditions": rows}, (ANALYZE,))


def _unindexed(indexed: bool) -> Script:
    """A hundred megabytes of raw frames; few rows, because only the bytes count."""
    statements = [
        """CREATE TABLE sensor (id integer PRIMARY KEY, serial_no varchar(20) NOT NULL UNIQUE, building text,
            floor smallint, installed_on date)""",
        """INSERT INTO sensor SELECT i, 'SN-' || upper(substr(md5(i::text), 1, 10)), 'B' || i % 4, i % 9,
            date '2023-02-01' + i % 400 FROM generate_series(1, 800) g(i)""",
        # The pages are mostly empty, as after many deletes.
        """CREATE TABLE reading (id bigserial PRIMARY KEY, sensor_id integer NOT NULL, ts timestamptz NOT NULL,
            celsius real, frame bytea) WITH (fillfactor = 10)""",
        """INSERT INTO reading (sensor_id, ts, celsius, frame) SELECT 1 + i % 800,
            timestamptz '2026-03-31 05:59:59+00' - (13199 - i) * interval '3 minutes', 20 + sin(i / 900.0),
            decode(repeat(md5(i::text), 27), 'hex') FROM generate_series(0, 13199) g(i)""",
    ]
    statements += ["CREATE INDEX reading_ts ON reading USING brin (ts)"] if indexed else []
    statements += ["CREATE INDEX reading_sensor_id_ts ON reading (sensor_id, ts)"] if indexed else []
    return Script(statements, then=(ANALYZE,))


def _interfaces(dirty: bool) -> Script:
    noise = random.Random(24)
    number = "text" if dirty else "bigint"
    place = "port text NOT NULL" if dirty else "device text NOT NULL, if_index integer NOT NULL, if_name text NOT NULL"
    statements = (
        f"""CREATE TABLE interface_counters (polled_at timestamptz NOT NULL, {place}, if_alias text,
            oper_status smallint NOT NULL, in_octets {number} NOT NULL, out_octets {number} NOT NULL, in_errors bigint,
            speed_mbps integer)""",
        f"""CREATE INDEX interface_counters_source ON interface_counters ({"port" if dirty else "device, if_index"},
            polled_at)""",
        "CREATE INDEX interface_counters_polled_at ON interface_counters (polled_at)",
    )
    ports = [(f"sw{s:02}", p) for s in range(8) for p in range(1, 13)]
    totals = dict.fromkeys(ports, 10**9)
    rows = []
    for n, at in enumerate(evenly(12_000, 1)):
        switch, index = ports[n % len(ports)]
        totals[switch, index] += noise.randrange(10**7)
        octets = totals[switch, index]
        alias = ("uplink core", "printer 2nd floor", "", "desk")[index % 4]
        name = f"GigabitEthernet1/0/{index}"
        who: tuple[object, ...] = (f"dc1/{switch}/{name}",) if dirty else (switch, index, name)
        sums = (str(octets), str(octets // 3)) if dirty else (octets, octets // 3)
        rows.append((at, *who, alias, 1 if index < 10 else 2, *sums, 0, 1_000))
    return Script(statements, {"interface_counters": rows}, (ANALYZE,))


def _archive(joined: bool) -> Script:
    """Nobody has written since 2019."""
    end = datetime(2019, 7, 14, 12, tzinfo=UTC)
    sites = ("lab", "roof", "cellar", "hall")
    rows = []
    for n, at in enumerate(evenly(9_000, 60, end)):
        site, kind = sites[n % 4], ("temp", "hum", "co2")[n // 4 % 3]
        value = round(20 + 5 * math.sin(n / 700), 2)
        who = (f"site-{site}.kind-{kind}.unit-{n // 12 % 5}",) if joined else (site, kind, n // 12 % 5)
        rows.append((stamp(at), *who, value))
    names = "sensor TEXT NOT NULL" if joined else "site TEXT NOT NULL, kind TEXT NOT NULL, unit INTEGER NOT NULL"
    key = "sensor" if joined else "site, kind, unit"
    statements = (
        f"CREATE TABLE archive_2019 (measured_at TEXT NOT NULL, {names}, value REAL, PRIMARY KEY ({key}, measured_at))",
    )
    return Script(statements, {"archive_2019": rows})


LAYOUTS = (
    Layout(
        name="timescaledb-conditions-postgresql",
        engine="postgresql",
        source="https://docs.timescale.com/tutorials/latest/simulate-iot-sensor-data/",
        clean=lambda: _conditions(False),
        dirty=lambda: _conditions(True),
        wanted=(Wanted("TAG002", "conditions.reading", "a temperature in the key, as text"),),
    ),
    Layout(
        name="serial-numbers-postgresql",
        engine="postgresql",
        source="https://www.postgresql.org/docs/current/brin-intro.html",
        clean=lambda: _unindexed(True),
        dirty=lambda: _unindexed(False),
        wanted=(Wanted("STO002", "reading", "100 MB, and only the key is indexed: each range of time is a full scan"),),
    ),
    Layout(
        name="snmp-interfaces-postgresql",
        engine="postgresql",
        source="https://www.rfc-editor.org/rfc/rfc2863",
        clean=lambda: _interfaces(False),
        dirty=lambda: _interfaces(True),
        wanted=(
            Wanted("FLD002", "interface_counters.in_octets", "a counter as text: no difference without a cast"),
            Wanted("FLD002", "interface_counters.out_octets", "the same of the other direction"),
            Wanted("TAG003", "interface_counters.port", "site, switch and interface in one text"),
        ),
    ),
    Layout(
        name="old-archive-sqlite",
        engine="sqlite",
        source="https://www.sqlite.org/lang_datefunc.html",
        clean=lambda: _archive(False),
        dirty=lambda: _archive(True),
        wanted=(
            Wanted("TAG003", "archive_2019.sensor", "three attributes in one text, in a table that is still read"),
        ),
    ),
)
