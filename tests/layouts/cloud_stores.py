"""Layouts in GreptimeDB, Timestream and MongoDB."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any, Final

import bson

from tests.databases import Collection, Dataset, Greptime, Row, Table, times
from tests.engines.timestream.devops import partitioned_by
from tests.layouts.layout import Layout, Wanted
from tests.layouts.series import Noise, hex_id, kept, table

_CROCKFORD: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_NGINX: Final = ("/produkte", "/warenkorb", "/api/v2/suche", "/login")


# --- GreptimeDB: access logs by Vector --------------------------------------------------------------------------------


def _address(noise: Noise) -> str:
    return f"{noise.randint(11, 200)}.{noise.randint(0, 255)}.{noise.randint(0, 255)}.{noise.randint(1, 254)}"


def _access(dirty: bool) -> Dataset:
    source = {"service": ["shop", "blog"], "host": ["edge-fra-1", "edge-ams-1"]}
    values: dict[str, Any] = {
        "status": [200, 200, 200, 301, 404, 502],
        "bytes": (90, 900_000),
        "duration_ms": (0.4, 900.0),
        "user_agent": ["Mozilla/5.0 (X11; Linux x86_64)", "curl/8.5.0", "Googlebot/2.1"],
        "message": lambda n: (
            f"GET {n.choice(_NGINX)}?q={n.randint(1, 9_999)} finished with code {n.choice((200, 404))}"
        ),
    }
    where = {"client_ip": _address}
    many: dict[str, Any] = {"instants": 2_400, "step": timedelta(seconds=7), "time": "timestamp"}
    if dirty:
        stored = Greptime(options={"ttl": "14days"}, indexes={"message": "fulltext"})
        key = ("service", "host", "client_ip", "timestamp")
        return kept(table("access_log", [source | where], values, key=key, greptime=stored, **many))
    stored = Greptime(options={"append_mode": "true", "ttl": "14days"}, indexes={"message": "fulltext"})
    key = ("service", "host", "timestamp")
    return kept(table("access_log", [source], values | where, key=key, greptime=stored, **many))


# --- GreptimeDB: host_metrics of Vector with cgroups ------------------------------------------------------------------


def _cgroups(containers: int) -> Dataset:
    noise = Noise(101)
    hosts = [f"node-{n}" for n in range(4)]
    slices = [{"host": h, "cgroup": c} for h in hosts for c in ("system.slice", "user.slice", "init.scope")]
    short = [
        {"host": hosts[n % 4], "cgroup": f"system.slice/docker-{hex_id(64)(noise)}.scope"} for n in range(containers)
    ]
    used = {"cgroup_cpu_usage_seconds_total": (0.0, 9e5), "cgroup_memory_current_bytes": (1e6, 4e9)}
    key: dict[str, Any] = {"key": ("host", "cgroup", "ts"), "time": "ts", "instants": 120}
    stored = Greptime(options={"ttl": "30days"})
    parts = [table("host_cgroups", slices, used, greptime=stored, **key)]
    if containers:
        parts.append(table("host_cgroups", short, used, alive=24, greptime=stored, **key))
    rows = [row for part in parts for row in part.rows]
    one = parts[0]
    load = {"load1": (0.0, 9.0), "load5": (0.0, 9.0), "load15": (0.0, 9.0)}
    return kept(
        Table(one.name, one.tags, one.fields, rows, one.key, time="ts", greptime=stored),
        table("host_load", [{"host": h} for h in hosts], load, greptime=stored, **(key | {"key": ("host", "ts")})),
    )


# --- Timestream: a game -----------------------------------------------------------------------------------------------


def _ulid(noise: Noise) -> str:
    return "01HT" + "".join(noise.choice(_CROCKFORD) for _ in range(22))


def _named(made: Table, measure: str, key: str) -> Table:
    rows = [Row(row.time, row.tags, row.fields, measure) for row in made.rows]
    return Table(made.name, made.tags, made.fields, rows, made.key, timestream=partitioned_by(key))


def _game(dirty: bool) -> Dataset:
    servers = [
        {"fleet": f, "region": r, "server": f"{f}-{r}-{n}", "map": ["Nebelwald", "de_dust", "Hafen"]}
        for f in ("ranked", "casual")
        for r in ("eu-central-1", "us-east-1", "ap-northeast-1")
        for n in range(3)
    ]
    match: dict[str, Any] = {"match_id": _ulid}
    measured = {"players": (2, 64), "tick_ms": (7.0, 31.0), "bytes_out": (10**4, 10**8), "crashes": [0, 0, 0, 1]}
    made = table(
        "match_stats",
        [server | match for server in servers] if dirty else servers,
        measured if dirty else measured | match,
        instants=150,
        step=timedelta(minutes=3),
        apart=timedelta(seconds=4),
    )
    return kept(_named(made, "match", "server"), database="Telemetrie")


# --- Timestream: trackers by a rule of AWS IoT ------------------------------------------------------------------------


def _trackers(dirty: bool) -> Dataset:
    noise = Noise(102)
    phones = [
        {
            "imei": f"{86_640_004_000_000 + noise.randrange(10**6)}{n % 10}",
            "kunde": ("Nordfracht", "Spedition Maß")[n % 2],
        }
        for n in range(45)
    ]
    battery: dict[str, Any] = {"battery_mv": (lambda n: str(n.randint(3_301, 4_199))) if dirty else (3_301, 4_199)}
    measured = {"lat": (47.0, 54.9), "lon": (6.0, 14.9), "speed_kmh": (0.0, 96.0), "fix": [True, True, False]}
    made = table(
        "tracker_positions",
        [p | battery for p in phones] if dirty else phones,
        measured if dirty else measured | battery,
        instants=90,
        step=timedelta(minutes=10),
        apart=timedelta(seconds=5),
    )
    return kept(_named(made, "position", "imei"), database="fleet_iot")


# --- MongoDB: orders of a shop, and rooms of a chat -------------------------------------------------------------------


def _shop(dirty: bool) -> Dataset:
    noise = random.Random(103)
    orders: list[dict[str, Any]] = []
    for n, at in enumerate(times(2_500, timedelta(minutes=11))):
        number = f"2026-{n:06}"
        total: Any = round(noise.uniform(3, 900), 2)
        if dirty and n % 3 == 0:
            total = f"{total:.2f} €"
        lines = [
            {"ean": f"40{noise.randrange(10**10, 10**11)}", "qty": noise.randrange(1, 5), "name": "Gießkanne 5 l"}
            for _ in range(noise.randrange(1, 5))
        ]
        order = {"createdAt": at, "status": noise.choice(("paid", "shipped", "offen")), "total": total, "items": lines}
        own = {"_id": bson.ObjectId(f"{n + 10**9:024x}"), "orderNo": number} if dirty else {"_id": number}
        orders.append(own | order | {"customer": {"email": f"kunde{n % 700}@example.de", "tel": f"+49 30 {n:07}"}})
    people = [{"_id": f"kunde{n}@example.de", "newsletter": n % 2 == 0, "since": at} for n, at in enumerate(times(700))]
    unique = ("orderNo",) if dirty else ()
    return Dataset(collections=[Collection("orders", orders, unique), Collection("customers", people)])


def _chat(dirty: bool) -> Dataset:
    noise = random.Random(104)
    sent = [
        {"_id": bson.ObjectId(f"{n + 10**8:024x}"), "ts": at, "u": f"user{noise.randrange(60)}", "msg": f"Hallo {n} 👋"}
        for n, at in enumerate(times(9_000, timedelta(minutes=3)))
    ]
    names = ("allgemein", "support", "Ankündigungen", "dev", "off-topic")
    rooms: list[dict[str, Any]] = [{"_id": f"GENERAL{n}", "name": name, "t": "c"} for n, name in enumerate(names)]
    if dirty:
        for n, room in enumerate(rooms):
            room["messages"] = sent[n * 900 : (n + 1) * 900 + n * 900]
        return Dataset(collections=[Collection("rooms", rooms)])
    messages = [{**one, "rid": f"GENERAL{n % 5}"} for n, one in enumerate(sent)]
    return Dataset(
        collections=[Collection("rooms", rooms), Collection("messages", messages, expire={"ts": 31_536_000})]
    )


def _pair(name: str, engine: str, source: str, made: Any, *wanted: Wanted) -> Layout:
    return Layout(name, engine, source, dirty=lambda: made(True), clean=lambda: made(False), wanted=wanted)


LAYOUTS: Final = (
    _pair(
        "greptimedb-vector-access-log",
        "greptimedb",
        "https://vector.dev/docs/reference/configuration/sinks/greptimedb_logs/",
        _access,
        Wanted("TAG002|CAR004", "access_log.client_ip", "visitors are without end: no part of the key"),
        Wanted("STO006", "access_log", "lines are compared, and those of one instant lost: append_mode"),
    ),
    Layout(
        "greptimedb-vector-cgroups",
        "greptimedb",
        "https://vector.dev/docs/reference/configuration/sources/host_metrics/",
        lambda: _cgroups(1_300),
        lambda: _cgroups(0),
        (
            Wanted(
                "TAG002|TAG003|CAR004",
                "host_cgroups.cgroup",
                "each container is a series: exclude docker scopes",
            ),
        ),
    ),
    _pair(
        "timestream-game-servers",
        "timestream",
        "https://docs.aws.amazon.com/timestream/latest/developerguide/data-modeling.html",
        _game,
        Wanted("TAG002|CAR004", "match_stats.match_id", "a series of one record for each match: a measure"),
    ),
    _pair(
        "timestream-iot-rule",
        "timestream",
        "https://docs.aws.amazon.com/iot/latest/developerguide/timestream-rule-action.html",
        _trackers,
        Wanted("TAG002|TAG007", "tracker_positions.battery_mv", "what is measured is a measure"),
    ),
    _pair(
        "mongodb-shop-orders",
        "mongodb",
        "https://www.mongodb.com/docs/manual/core/document/",
        _shop,
        Wanted("DOC002", "orders*", "orderNo is the ID and has an index of its own: use it as _id"),
        Wanted("FLD003|DOC004", "orders*", "total is a number here and a text with a currency sign there"),
    ),
    _pair(
        "mongodb-chat-rooms",
        "mongodb",
        "https://www.mongodb.com/docs/manual/data-modeling/design-antipatterns/unbounded-arrays/",
        _chat,
        Wanted("DOC005", "rooms*", "messages in the document of their room: it reaches 16 MB"),
    ),
)
