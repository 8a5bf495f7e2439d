"""Zabbix: values of items by type, with the time as whole seconds in `clock`."""

from __future__ import annotations

import random
from typing import Any

from tests.layouts.layout import Layout, Script, Wanted
from tests.layouts.making import ANALYZE, Tables, evenly

_STATEMENTS = (
    """CREATE TABLE hosts (hostid bigint PRIMARY KEY, proxyid bigint, host varchar(128) DEFAULT '' NOT NULL,
        status integer DEFAULT 0 NOT NULL, ipmi_authtype integer DEFAULT -1 NOT NULL,
        ipmi_privilege integer DEFAULT 2 NOT NULL, ipmi_username varchar(16) DEFAULT '' NOT NULL,
        maintenance_status integer DEFAULT 0 NOT NULL, maintenance_from integer DEFAULT 0 NOT NULL,
        name varchar(128) DEFAULT '' NOT NULL, flags integer DEFAULT 0 NOT NULL, description text DEFAULT '' NOT NULL,
        tls_connect integer DEFAULT 1 NOT NULL, uuid varchar(32) DEFAULT '' NOT NULL)""",
    "CREATE INDEX hosts_1 ON hosts (host)",
    "CREATE INDEX hosts_2 ON hosts (status)",
    """CREATE TABLE items (itemid bigint PRIMARY KEY, type integer DEFAULT 0 NOT NULL,
        hostid bigint NOT NULL REFERENCES hosts, name varchar(255) DEFAULT '' NOT NULL,
        key_ varchar(2048) DEFAULT '' NOT NULL, delay varchar(1024) DEFAULT '0' NOT NULL,
        history varchar(255) DEFAULT '31d' NOT NULL, trends varchar(255) DEFAULT '365d' NOT NULL,
        status integer DEFAULT 0 NOT NULL, value_type integer DEFAULT 0 NOT NULL,
        units varchar(255) DEFAULT '' NOT NULL, params text DEFAULT '' NOT NULL,
        uuid varchar(32) DEFAULT '' NOT NULL)""",
    "CREATE INDEX items_1 ON items (hostid, key_)",
    """CREATE TABLE history (itemid bigint NOT NULL, clock integer DEFAULT 0 NOT NULL,
        value double precision DEFAULT 0.0 NOT NULL, ns integer DEFAULT 0 NOT NULL, PRIMARY KEY (itemid, clock, ns))""",
    """CREATE TABLE history_uint (itemid bigint NOT NULL, clock integer DEFAULT 0 NOT NULL,
        value numeric(20) DEFAULT 0 NOT NULL, ns integer DEFAULT 0 NOT NULL, PRIMARY KEY (itemid, clock, ns))""",
    """CREATE TABLE history_str (itemid bigint NOT NULL, clock integer DEFAULT 0 NOT NULL,
        value varchar(255) DEFAULT '' NOT NULL, ns integer DEFAULT 0 NOT NULL, PRIMARY KEY (itemid, clock, ns))""",
    """CREATE TABLE history_log (itemid bigint NOT NULL, clock integer DEFAULT 0 NOT NULL,
        timestamp integer DEFAULT 0 NOT NULL, source varchar(64) DEFAULT '' NOT NULL,
        severity integer DEFAULT 0 NOT NULL, value text DEFAULT '' NOT NULL, logeventid integer DEFAULT 0 NOT NULL,
        ns integer DEFAULT 0 NOT NULL, PRIMARY KEY (itemid, clock, ns))""",
    """CREATE TABLE trends (itemid bigint NOT NULL, clock integer DEFAULT 0 NOT NULL, num integer DEFAULT 0 NOT NULL,
        value_min double precision DEFAULT 0.0 NOT NULL, value_avg double precision DEFAULT 0.0 NOT NULL,
        value_max double precision DEFAULT 0.0 NOT NULL, PRIMARY KEY (itemid, clock))""",
)
_KEYS = ("system.cpu.util[,idle]", "system.cpu.load[all,avg1]", "vm.memory.size[available]", "net.if.in[eth0]")


def _made(containers: int, numbers_as_text: bool) -> Script:
    noise = random.Random(11)
    hosts = [
        (10084 + i, None, f"web{i:02}.example.com", 0, -1, 2, "", 0, 0, f"Web server {i}", 0, "", 1, "")
        for i in range(12)
    ]
    items = [
        (23000 + n, 0, host[0], key.split("[")[0], key, "1m", "31d", "365d", 0, 0, "", "", "")
        for n, (host, key) in enumerate((h, k) for h in hosts for k in _KEYS)
    ]
    regular = [item[0] for item in items]
    history: list[tuple[Any, ...]] = []
    for number, at in enumerate(evenly(9_600, 8)):
        item = regular[number % len(regular)]
        history.append((item, int(at.timestamp()), round(noise.uniform(0, 100), 4), noise.randrange(10**9)))
    for number in range(containers):
        item = 40_000 + number
        short = f"{noise.getrandbits(48):012x}"
        key = f'docker.container_stats.cpu_usage["/job-{short}"]'
        name = f"Container /job-{short}: CPU usage"
        items.append((item, 0, 10084 + number % 12, name, key, "1m", "31d", "365d", 0, 0, "%", "", ""))
        begin = int(next(evenly(1, noise.uniform(0.1, 8))).timestamp())
        history += [(item, begin + 60 * m, round(noise.uniform(0, 9), 4), noise.randrange(10**9)) for m in range(3)]
    uint = [(r[0] + 500, r[1], noise.randrange(10**7), r[3]) for r in history[:6_000]]
    told = [
        str(noise.randrange(200, 900) / 10) if numbers_as_text else noise.choice(("7.0.3", "6.4.12", "Up (1)", "nginx"))
        for _ in range(2_000)
    ]
    text = [(24_000 + n % 24, r[1], v, r[3]) for n, (r, v) in enumerate(zip(history, told, strict=False))]
    log = [
        (25_000 + n % 6, r[1], r[1], "sshd", 0, f"Failed password for root from 10.0.{n % 200}.7 port {n}", 0, r[3])
        for n, r in enumerate(history[:1_500])
    ]
    hours = int(next(evenly(1, 8)).timestamp()) // 3600 * 3600
    trends = [(item, hours + 3600 * h, 60, 1.5, 40.2 + h % 7, 97.0) for item in regular for h in range(180)]
    rows: Tables = {"hosts": hosts, "items": items, "history": history, "history_uint": uint, "history_str": text}
    return Script(_STATEMENTS, rows | {"history_log": log, "trends": trends}, (ANALYZE,))


LAYOUTS = (
    Layout(
        name="zabbix-postgresql",
        engine="postgresql",
        source="https://git.zabbix.com/projects/ZBX/repos/zabbix/browse/create/src/schema.tmpl",
        clean=lambda: _made(0, False),
        dirty=lambda: _made(3_000, True),
        wanted=(
            Wanted("TAG002|CAR004", "history.itemid", "discovery makes an item of each short-lived container"),
            Wanted("FLD002", "history_str.value", "numbers collected as characters: no trends, no graphs"),
        ),
        fine=(
            Wanted("TAG002|CAR004", "items*", "the same containers, where the items are listed"),
            Wanted("TAG002|CAR004", "history_uint.itemid", "the same items, in the other table"),
        ),
    ),
)
