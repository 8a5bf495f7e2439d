"""InfluxDB 1.x of things that report by themselves: radio sensors, a watch, a storage cluster, a mesh of routers."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final

from tests.blind.expected import BlindDatabase, Cause, Expected, Grade
from tests.builders import NOW
from tests.databases import Dataset, Row, Table, Value, times
from tests.layouts.series import YEAR, hex_id

_MINUTE: Final = timedelta(minutes=1)


# --- rtl_433 -----------------------------------------------------------------------------------------------------

_TIRES: Final = {"Schrader": 7, "Toyota": 8, "Ford": 8, "Renault": 6, "Citroen": 8}
"""Model to the digits of its IDs."""
_WEATHER: Final = (
    *(("Nexus-TH", {"channel": str(number), "id": str(60 * number + 3)}) for number in (1, 2, 3)),
    *(("Acurite-Tower", {"channel": channel, "id": code}) for channel, code in (("A", "11482"), ("C", "3071"))),
    *(("LaCrosse-TX141THBv2", {"channel": str(number), "id": f"{97 + number}", "mic": "CRC"}) for number in (0, 1)),
)
_NEW_BATTERY: Final = NOW - timedelta(hours=40)


def _rtl433(until: datetime = NOW) -> Dataset:
    """A receiver beside a road for three days, and what it had heard `until` then: 7 sensors of a house each minute,
    and the tires of 4,000 cars a day, of which three of ten pass every day.
    """
    noise = random.Random("rtl_433")
    rows: dict[str, list[Row]] = {name: [] for name in (*dict(_WEATHER), *_TIRES)}
    for at in times(3 * 1440, _MINUTE):
        for place, (name, tags) in enumerate(_WEATHER):
            own = {**tags, "id": "214"} if place == 0 and at >= _NEW_BATTERY else tags
            fields = {"battery_ok": 1.0, "temperature_C": noise.uniform(-2, 24), "humidity": noise.uniform(30, 95)}
            rows[name].append(Row(at + timedelta(seconds=7 * place), own, {k: round(v, 1) for k, v in fields.items()}))
    neighbors = [_car(noise) for _ in range(600)]
    for at in times(3 * 4000, timedelta(days=1) / 4000):
        model, wheels = noise.choice(neighbors) if noise.random() < 0.3 else _car(noise)
        for place, wheel in enumerate(noise.sample(wheels, noise.randint(1, 2))):
            for repeat in range(noise.randint(1, 2)):
                pressure, warmth = round(noise.uniform(190, 290), 1), float(noise.randint(2, 35))
                heard = at + timedelta(seconds=2 * repeat, milliseconds=300 * place)
                tags = {"id": wheel, "mic": "CRC", "type": "TPMS"}
                rows[model].append(Row(heard, tags, {"pressure_kPa": pressure, "temperature_C": warmth}))
    return Dataset(
        [
            Table(name, sorted({key for row in made for key in row.tags}), dict.fromkeys(made[0].fields, "float"), made)
            for name, every in rows.items()
            if (made := [row for row in every if row.time < until])
        ],
        retention=2 * YEAR,
    )


def _rtl433_yesterday() -> Dataset:
    return _rtl433(NOW - timedelta(days=1))


def _car(noise: random.Random) -> tuple[str, list[str]]:
    model = noise.choices(list(_TIRES), (45, 15, 15, 15, 10))[0]
    return model, [hex_id(_TIRES[model])(noise) for _ in range(4)]


# --- Garmin Grafana ----------------------------------------------------------------------------------------------

_OF_WATCH: Final = {"Device": "Forerunner 255", "Database_Name": "GarminStats"}
_DAYS: Final = 40


def _garmin() -> Dataset:
    """One person with a watch for 40 days, who runs or rides every other day."""
    noise = random.Random("garmin")
    intraday = {
        "HeartRateIntraday": ("HeartRate", timedelta(minutes=2), 45, 160),
        "StressIntraday": ("stressLevel", timedelta(minutes=3), 1, 90),
        "StepsIntraday": ("StepsCount", timedelta(minutes=15), 0, 1400),
        "HRV_Intraday": ("hrvValue", timedelta(minutes=15), 30, 90),
    }
    tables = []
    for name, (key, step, low, high) in intraday.items():
        instants = times(int(timedelta(days=_DAYS) / step), step)
        rows = [Row(at, _OF_WATCH, {key: noise.randint(low, high)}) for at in instants]
        tables.append(Table(name, sorted(_OF_WATCH), {key: "integer"}, rows))
    days = [Row(at, _OF_WATCH, _of_day(noise)) for at in times(_DAYS, timedelta(days=1), NOW.replace(hour=0))]
    nights = [row for night in range(_DAYS) for row in _night(noise, NOW - timedelta(days=night, minutes=20))]
    summaries, tracks = [], []
    for number in range(_DAYS // 2):
        start = NOW.replace(hour=16) - timedelta(days=_DAYS - 2 * number, minutes=noise.randint(1, 90))
        activity, kind = 18_200_334_112 + 7_311_907 * number, noise.choice(("running", "running", "cycling"))
        tags = {**_OF_WATCH, "ActivityID": str(activity), "ActivitySelector": f"{start:%Y%m%dT%H%M%SUTC}-{kind}"}
        ran = {"distance": round(noise.uniform(5000, 30_000), 1), "averageHR": float(noise.randint(120, 160))}
        summaries.append(Row(start, tags, {"Activity_ID": activity, "activityType": kind, "activityName": kind, **ran}))
        end: dict[str, Value] = {"Activity_ID": activity, "activityType": "No Activity", "activityName": "END"}
        summaries.append(Row(start + timedelta(seconds=2520), tags, end))
        tracks += [Row(start + timedelta(seconds=5 * second), tags, _position(noise, second)) for second in range(504)]
    activities = sorted({*_OF_WATCH, "ActivityID", "ActivitySelector"})
    return Dataset(
        [
            *tables,
            Table("DailyStats", sorted(_OF_WATCH), dict.fromkeys(days[0].fields, "integer"), days),
            Table("SleepIntraday", sorted(_OF_WATCH), _NIGHT, nights),
            Table(
                "ActivitySummary",
                activities,
                {"Activity_ID": "integer", "activityType": "string", "activityName": "string"}
                | {"distance": "float", "averageHR": "float"},
                summaries,
            ),
            Table("ActivityGPS", activities, dict.fromkeys(tracks[0].fields, "float"), tracks),
        ]
    )


def _of_day(noise: random.Random) -> dict[str, Value]:
    counts = ("totalSteps", "activeSeconds", "sedentarySeconds", "sleepingSeconds", "bodyBatteryHighestValue")
    rates = ("restingHeartRate", "minHeartRate", "maxHeartRate", "averageSpo2", "floorsAscended")
    return {key: noise.randint(*((2000, 30_000) if key in counts else (40, 99))) for key in (*counts, *rates)}


_NIGHT: Final = {"SleepStageLevel": "float", "SleepStageSeconds": "integer", "heartRate": "integer"} | {
    "respirationValue": "float"
}


def _night(noise: random.Random, end: datetime) -> Iterator[Row]:
    """A stage every 18 minutes, a pulse and a breath every two."""
    for number in range(26):
        stage: dict[str, Value] = {"SleepStageLevel": float(noise.randint(0, 3)), "SleepStageSeconds": 1080}
        yield Row(end - timedelta(minutes=18 * (26 - number), seconds=10), _OF_WATCH, stage)
    for at in times(234, timedelta(minutes=2), end):
        yield Row(at, _OF_WATCH, {"heartRate": noise.randint(42, 60)})
        breath = {"respirationValue": float(noise.randint(11, 17))}
        yield Row(at + timedelta(seconds=30), _OF_WATCH, dict(breath))


def _position(noise: random.Random, second: int) -> dict[str, Value]:
    return {
        "Latitude": 47.37 + second / 20_000,
        "Longitude": 8.54 + second / 30_000,
        "Altitude": noise.uniform(400, 480),
        "HeartRate": float(noise.randint(110, 170)),
        "Speed": noise.uniform(2, 8),
    }


# --- Ceph, mgr module influx -------------------------------------------------------------------------------------

_FSID: Final = "7d2c1f7e-91c5-11ee-8b3a-525400d6f1aa"
_OSDS: Final = {f"osd.{number}": f"ceph{number % 3 + 1}" for number in range(6)}
_POOLS: Final = {".mgr": "1", "rbd": "2", "cephfs_data": "3", "cephfs_metadata": "4"}
_OF_POOLS: Final = ("bytes_used", "dirty", "rd_bytes", "raw_bytes_used", "wr_bytes", "objects", "max_avail")
_OF_OSDS: Final = (
    *("osd.op", "osd.op_wip", "osd.op_in_bytes", "osd.op_out_bytes", "osd.op_r", "osd.op_w", "osd.op_rw"),
    *("osd.op_latency", "osd.op_process_latency", "osd.op_prepare_latency", "osd.op_r_latency", "osd.op_w_latency"),
    *("osd.op_r_process_latency", "osd.op_w_process_latency", "osd.numpg", "osd.numpg_primary", "osd.stat_bytes"),
    *("osd.stat_bytes_used", "osd.stat_bytes_avail", "bluestore.kv_commit_lat", "bluestore.txc", "rocksdb.get"),
)


def _ceph() -> Dataset:
    """A cluster of six OSDs whose module was enabled 8 hours ago, once a minute; three hours ago the other manager took
    over.
    """
    noise = random.Random("ceph")
    daemons, pools = [], []
    for at in times(480, _MINUTE):
        manager = "ceph1.nkqvzb" if at < NOW - timedelta(hours=3) else "ceph2.wplxod"
        for daemon, host in _OSDS.items():
            for counter in _OF_OSDS:
                tags = {"ceph_daemon": daemon, "fsid": _FSID, "host": host, "type_instance": counter}
                daemons.append(Row(at, tags, {"value": noise.randrange(10**9)}))
        for pool, number in _POOLS.items():
            for counter in _OF_POOLS:
                tags = {"fsid": _FSID, "mgr_id": manager, "pool_id": number, "pool_name": pool}
                pools.append(Row(at, {**tags, "type_instance": counter}, {"value": noise.randrange(10**12)}))
    value = {"value": "integer"}
    return Dataset(
        [
            Table("ceph_daemon_stats", sorted(daemons[0].tags), value, daemons),
            Table("ceph_pool_stats", sorted(pools[0].tags), value, pools),
        ],
        retention=YEAR,
    )


# --- Yanic -------------------------------------------------------------------------------------------------------

_OLD: Final = "2023.2.1+bremen1"
_NEW: Final = "2023.2.2+bremen1"
_UPDATED: Final = NOW - timedelta(hours=2)
_MODELS: Final = ("TP-Link Archer C7 v2", "AVM FRITZ!Box 4040", "Ubiquiti UniFi AC Mesh", "GL.iNet GL-AR150")
_OF_NODES: Final = {
    **dict.fromkeys(("clients.total", "clients.wifi", "clients.wifi24", "clients.wifi5"), 30),
    **dict.fromkeys(("memory.buffers", "memory.cached", "memory.free", "proc.running", "neighbours.total"), 60_000),
    **dict.fromkeys(("time.up", "time.idle", "traffic.rx.bytes", "traffic.tx.bytes", "traffic.forward.bytes"), 10**9),
}


def _yanic() -> Dataset:
    """60 routers of a community and the links between them, each minute for 5 hours. Two hours ago 24 of them took a
    new firmware.
    """
    noise = random.Random("yanic")
    mesh = [_router(noise, number) for number in range(60)]
    near = [(number, (number + step) % 60) for number in range(60) for step in ((1, 7) if number % 2 else (1,))]
    nodes, links, totals = [], [], []
    for at in times(300, _MINUTE):
        for number, router in enumerate(mesh):
            release = _NEW if number % 5 < 2 and at >= _UPDATED else _OLD
            fields: dict[str, Value] = {key: noise.randrange(most) for key, most in _OF_NODES.items()}
            nodes.append(Row(at, {**router, "firmware_release": release}, {**fields, "load": noise.uniform(0, 2)}))
        for one, other in near:
            links.append(Row(at, _link(mesh[one], mesh[other]), {"tq": round(noise.uniform(20, 100), 1)}))
        updated = 24 if at >= _UPDATED else 0
        counts = {_OLD: 60 - updated, _NEW: updated}
        totals += [Row(at, {"value": release}, {"count": count}) for release, count in counts.items() if count]
    community = [
        Row(at, {}, {"nodes": 60, "gateways": 3, "clients.total": noise.randint(200, 900)})
        for at in times(300, _MINUTE)
    ]
    return Dataset(
        [
            Table("node", sorted(nodes[0].tags), dict.fromkeys(_OF_NODES, "integer") | {"load": "float"}, nodes),
            Table("link", sorted(links[0].tags), {"tq": "float"}, links),
            Table("firmware", ("value",), {"count": "integer"}, totals),
            Table("global", (), dict.fromkeys(community[0].fields, "integer"), community),
        ],
        retention=YEAR,
    )


def _router(noise: random.Random, number: int) -> dict[str, str]:
    return {
        "nodeid": hex_id(12)(noise),
        "hostname": f"ff-{noise.choice(('neustadt', 'walle', 'findorff'))}-{number:02}",
        "owner": f"mail{number % 40}@example.net",
        "model": noise.choice(_MODELS),
        "firmware_base": "gluon-v2023.2.1",
        "autoupdater": "stable",
        "frequency24": "2412",
        "frequency5": noise.choice(("5180", "5220")),
    }


def _link(one: Mapping[str, str], other: Mapping[str, str]) -> dict[str, str]:
    tags: dict[str, str] = {}
    for side, router in (("source", one), ("target", other)):
        address = ":".join(router["nodeid"][place : place + 2] for place in range(0, 12, 2))
        tags |= {f"{side}.id": router["nodeid"], f"{side}.hostname": router["hostname"], f"{side}.addr": address}
    return tags


DATABASES: Final = (
    BlindDatabase(
        "rtl-433-roadside",
        "influxdb1",
        "https://github.com/merbanan/rtl_433/blob/master/src/output_influx.c",
        _rtl433,
        (
            Expected(
                Cause.ID_TAG,
                "[CFRST]*.id",
                Grade.HARMFUL,
                "The tires of each car that passes are a series for good: 14,912 in three days, of which at most 2,400"
                " are of neighbors, 4,200 new ones a day at 0.8 kB of heap; on inmem the default limit of 100,000"
                " values rejects new Schrader sensors after 49 days, without it 0.39 million and 0.3 GB in 90 days and"
                " 1.5 million and 1.3 GB in a year; whoever wants the weather turns these decoders off.",
            ),
            Expected(
                Cause.CHANGING_TAG,
                "Nexus-TH.id",
                Grade.HARMLESS,
                "A new battery gave one of the three sensors another ID: one more series, three or four a year.",
            ),
            Expected(
                Cause.DEPENDENT_TAG,
                "*.*",
                Grade.HARMLESS,
                "mic is always CRC, type always TPMS, and the channel follows the ID: 220 B for 14,920 series, 3 MB,"
                " which go with the tires.",
            ),
        ),
        yesterday=_rtl433_yesterday,
    ),
    BlindDatabase(
        "garmin-watch",
        "influxdb1",
        "https://github.com/arpanghosh8453/garmin-grafana/blob/main/src/garmin_grafana/garmin_fetch.py",
        _garmin,
        (
            Expected(
                Cause.ID_TAG,
                "Activity*.ActivityID",
                Grade.HARMLESS,
                "Each activity is a tag value, but one person has one every other day: 40 of 46 series in 40 days, 366"
                " a year, 0.4 MB of heap, and the dashboard chooses a track by it.",
            ),
            Expected(
                Cause.COMPOSITE,
                "Activity*.ActivitySelector",
                Grade.HARMLESS,
                "Start and kind in one text, made for a list to choose from; it follows ActivityID and adds no series.",
            ),
            Expected(
                Cause.DEPENDENT_TAG,
                "*.*",
                Grade.HARMLESS,
                "Device and Database_Name never change: 220 B for 46 series.",
            ),
            Expected(
                Cause.SPARSE,
                "SleepIntraday*",
                Grade.HARMLESS,
                "Stages, pulse, and breaths of the night are rows of their own, so that each of 4 fields is in 5 to 47"
                " % of them: an absent value costs 0 B.",
            ),
            Expected(
                Cause.RETENTION,
                "",
                Grade.HARMLESS,
                "Nothing is removed, as people want the years: 2,140 points a day at a few bytes are 3 MB a year.",
            ),
        ),
        quiet=True,
    ),
    BlindDatabase(
        "ceph-mgr-first-day",
        "influxdb1",
        "https://docs.ceph.com/en/reef/mgr/influx/",
        _ceph,
        (
            Expected(
                Cause.CHANGING_TAG,
                "ceph_pool_stats.mgr_id",
                Grade.HARMLESS,
                "The manager that reports is a tag: the takeover made 28 series once, of 188 in all, and a cluster has"
                " two or three managers, so there are at most 84.",
            ),
            Expected(
                Cause.DEPENDENT_TAG,
                "ceph_*.*",
                Grade.HARMLESS,
                "fsid never changes, host follows ceph_daemon, pool_id pool_name: 110 B each for 188 series, all 8"
                " hours old as the module is, and as many next year.",
            ),
            Expected(
                Cause.ROWS_LAYOUT,
                "ceph_*",
                Grade.HARMLESS,
                "A point for each counter, which type_instance names, where fields would do: 132 and 56 series, 0 B"
                " more a value on this engine.",
            ),
        ),
        quiet=True,
    ),
    BlindDatabase(
        "yanic-mesh",
        "influxdb1",
        "https://github.com/FreifunkBremen/yanic/blob/main/database/influxdb/node.go",
        _yanic,
        (
            Expected(
                Cause.CHANGING_TAG,
                "node.firmware_release",
                Grade.HARMLESS,
                "An update of 24 routers made 24 series once, of 84 of nodes; four releases a year make 240, 0.4 MB of"
                " heap, and one wants to see which release a router had.",
            ),
            Expected(
                Cause.DEPENDENT_TAG,
                "*.*",
                Grade.HARMLESS,
                "Name, owner, model, and channels follow nodeid, names and addresses the IDs of a link, firmware_base"
                " and autoupdater never change: at most 1.4 kB for 177 series, 0.3 MB, and 60 routers next year.",
            ),
        ),
        quiet=True,
    ),
)
