"""InfluxDB 1.x as a cluster's job profiles, SQL servers, web servers' logs, and a firewall are written to it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from tests.blind.expected import BlindDatabase, Cause, Expected, Grade
from tests.builders import NOW
from tests.databases import Dataset, Row, Table, Value, times
from tests.layouts.series import YEAR, hex_id

_MINUTE: Final = timedelta(minutes=1)


# --- Slurm, acct_gather_profile/influxdb -------------------------------------------------------------------------

_NODES: Final = [f"node{number:02}" for number in range(1, 17)]
_OF_TASKS: Final = {
    "CPUFrequency": (1_200_000, 3_400_000),
    "CPUTime": (20, 60),
    "CPUUtilization": (30, 100),
    "RSS": (90_000, 24_000_000),
    "VMSize": (400_000, 40_000_000),
    "Pages": (0, 40),
    "ReadMB": (0, 900),
    "WriteMB": (0, 300),
}
_JOB_EVERY: Final = timedelta(seconds=144)


def _slurm() -> Dataset:
    """16 nodes, 300 jobs in 12 hours, each of one task or of four, for 3 to 22 minutes. A sample a minute."""
    noise = random.Random("slurm")
    rows: dict[str, list[Row]] = {name: [] for name in _OF_TASKS}
    for number in range(300):
        start = NOW - timedelta(hours=12) + _JOB_EVERY * number
        tasks = noise.choice((1, 1, 1, 4, 4))
        job = {"job": str(184_311 + number), "step": "-2" if tasks == 1 else "0", "host": noise.choice(_NODES)}
        samples = [start + _MINUTE * sample for sample in range(1, noise.randint(4, 23))]
        for task in range(tasks):
            for name, (low, high) in _OF_TASKS.items():
                rows[name] += [
                    Row(at, {**job, "task": str(task)}, {"value": float(noise.randint(low, high))})
                    for at in samples
                    if at < NOW
                ]
    tags = ("host", "job", "step", "task")
    return Dataset([Table(name, tags, {"value": "float"}, made) for name, made in rows.items()], retention=YEAR)


# --- Telegraf, sqlserver -----------------------------------------------------------------------------------------

_INSTANCES: Final = ("SQL01:ERP", "SQL02:WEB", "SQL03:BI")
_BASES: Final = {"SQL01:ERP": "erp", "SQL02:WEB": "shop", "SQL03:BI": "dwh"}
_PROGRAMS: Final = (".Net SqlClient Data Provider", "EntityFramework", "Microsoft JDBC Driver for SQL Server")
_TABLES: Final = ("Orders", "OrderLines", "Customers", "StockMoves", "Invoices", "Prices")
_COUNTERS: Final = (
    *("Batch Requests/sec", "SQL Compilations/sec", "Page life expectancy", "Buffer cache hit ratio", "Lock Waits/sec"),
    *("Transactions/sec", "Log Flushes/sec", "User Connections", "Free Memory (KB)", "Target Server Memory (KB)"),
)
_WAITS: Final = {
    "PAGEIOLATCH_SH": "Buffer IO",
    "PAGEIOLATCH_EX": "Buffer IO",
    "LCK_M_S": "Lock",
    "LCK_M_X": "Lock",
    "WRITELOG": "Tran Log IO",
    "CXPACKET": "Parallelism",
    "SOS_SCHEDULER_YIELD": "CPU",
    "ASYNC_NETWORK_IO": "Network IO",
}


def _sqlserver() -> Dataset:
    """Three instances, read once a minute for 12 hours, with what each of them runs at that moment."""
    noise = random.Random("sqlserver")
    instants = times(720, _MINUTE)
    prepared = [_statement(noise, f"@p{number}") for number in range(40)]
    requests = [
        Row(at + timedelta(milliseconds=place), tags, fields)
        for at in instants
        for instance in _INSTANCES
        for place, (tags, fields) in enumerate(_running(noise, instance, prepared))
    ]
    counters, waits = [], []
    for at in instants:
        for instance in _INSTANCES:
            of = {"host": "monitor", "sql_instance": instance}
            for name in _COUNTERS:
                kind = "SQLServer:Buffer Manager" if name.startswith(("Page", "Buffer")) else "SQLServer:SQL Statistics"
                tags = {**of, "counter": name, "object": kind, "counter_type": "65792"}
                counters.append(Row(at, tags, {"value": float(noise.randrange(100_000))}))
            for name, category in _WAITS.items():
                spent: dict[str, Value] = {key: noise.randrange(10**7) for key in ("wait_time_ms", "max_wait_time_ms")}
                tags = {**of, "wait_type": name, "wait_category": category}
                waits.append(Row(at, tags, spent | {"waiting_tasks_count": noise.randrange(10**5)}))
    return Dataset(
        [
            Table("sqlserver_requests", _tags(requests), _REQUEST, requests),
            Table("sqlserver_performance", _tags(counters), {"value": "float"}, counters),
            Table(
                "sqlserver_waitstats",
                _tags(waits),
                dict.fromkeys(("wait_time_ms", "max_wait_time_ms", "waiting_tasks_count"), "integer"),
                waits,
            ),
        ],
        retention=YEAR,
    )


def _tags(rows: Sequence[Row]) -> list[str]:
    return sorted({key for row in rows for key in row.tags})


_REQUEST: Final = dict.fromkeys(
    ("session_id", "cpu_time_ms", "total_elapsed_time_ms", "logical_reads", "writes", "open_transaction"), "integer"
)


def _running(
    noise: random.Random, instance: str, prepared: Sequence[str]
) -> Iterator[tuple[dict[str, str], dict[str, Value]]]:
    """One to six requests: two of five run a prepared statement, the others one with its values in the text. One in
    four waits for a row or a page.
    """
    for _ in range(noise.randint(1, 6)):
        number = noise.randrange(40)
        wait, resource = "", ""
        if noise.random() < 0.25:
            wait = noise.choice(("LCK_M_S", "LCK_M_X", "PAGEIOLATCH_SH"))
            page = f"7:1:{noise.randrange(4_000_000)}"
            resource = page if wait.startswith("PAGE") else f"KEY: 7:720575940{noise.randrange(90):02} ({_hash(noise)})"
        text = prepared[number] if noise.random() < 0.4 else _statement(noise, str(noise.randrange(10**7)))
        tags = {
            "host": "monitor",
            "sql_instance": instance,
            "database_name": "master",
            "session_db_name": _BASES[instance],
            "status": "suspended" if wait else "running",
            "command": "SELECT",
            "program_name": noise.choice(_PROGRAMS),
            "host_name": f"APP{noise.randint(1, 4):02}",
            "transaction_isolation_level": "2-Read Committed",
            "statement_text": text,
            "query_hash": f"0x{number:016X}",
            **({"wait_type": wait, "wait_resource": resource} if wait else {}),
        }
        yield tags, {key: noise.randint(51, 90_000) for key in _REQUEST}


_hash: Final = hex_id(12)


def _statement(noise: random.Random, value: str) -> str:
    table, other = noise.sample(_TABLES, 2)
    return (
        f"SELECT TOP 50 h.Id, h.Number, h.CreatedAt, h.Amount, l.Sku, l.Quantity FROM dbo.{table} AS h"
        f" INNER JOIN dbo.{other} AS l ON l.ParentId = h.Id WHERE h.CustomerId = {value} AND h.Deleted = 0"
        f" ORDER BY h.CreatedAt DESC"
    )


# --- Vector, influxdb_logs ---------------------------------------------------------------------------------------

_AGENTS: Final = (
    "Mozilla/5.0 (X11; Linux x86_64; rv:124.0) Gecko/20100101 Firefox/124.0",
    "okhttp/4.12.0",
    "curl/8.5.0",
)
_PATHS: Final = ("/", "/cart", "/search", "/login", "/api/v2/stock", "/api/v2/prices", "/static/app.css")
_ANSWERS: Final = (("GET", "200"),) * 14 + (("POST", "201"),) * 3 + (("GET", "304"), ("GET", "404"), ("POST", "500"))


def _vector() -> Dataset:
    """Two web servers, 5 requests a second each, for two hours. NGINX logs whole seconds, thus each point has one."""
    noise = random.Random("vector")
    rows = []
    for host in ("web1", "web2"):
        for _ in range(36_000):
            at = NOW - timedelta(seconds=noise.randint(1, 7200))
            method, status = noise.choice(_ANSWERS)
            tags = {"host": host, "method": method, "status": status, "metric_type": "logs", "source_type": "file"}
            fields: dict[str, Value] = {
                "agent": noise.choice(_AGENTS),
                "client": f"198.51.{noise.randrange(100, 108)}.{noise.randrange(1, 255)}",
                "path": noise.choice(_PATHS),
                "protocol": "HTTP/1.1",
                "size": noise.randint(200, 90_000),
            }
            rows.append(Row(at, tags, fields))
    rows.sort(key=lambda row: row.time)
    texts = dict.fromkeys(("agent", "client", "path", "protocol"), "string")
    tags_of = ("host", "method", "metric_type", "source_type", "status")
    return Dataset([Table("nginx-access", tags_of, {**texts, "size": "integer"}, rows)], retention=YEAR)


# --- pfSense with pfBlockerNG, read by Telegraf ------------------------------------------------------------------

_FEEDS: Final = ("CINS_army_v4", "ET_Block_v4", "Spamhaus_Drop_v4", "ISC_Block_v4")
_COUNTRIES: Final = ("US", "CN", "NL", "RU", "BG", "HK", "DE", "GB", "SG", "BR", "IN", "Unk")
_BLOCKED: Final = [
    f"{word}.{end}" for word in ("ads", "track", "pixel", "metrics", "cdn-ads") for end in ("com", "net")
]
_BLOCK_TEXTS: Final = (
    *("timestamp", "interface", "friendlyname", "action", "protocol", "dest_ip", "direction"),
    *("ip_alias_name", "ip_evaluated", "resolvedhostname", "clienthostname", "asn", "duplicateeventstatus"),
)
_DNS_TEXTS: Final = ("blocktype", "timestamp", "domain", "req_agent", "blockmethod", "blocklist", "feed_name")


def _pfblocker() -> Dataset:
    """An office for a day: 10,000 blocked packets, of which 384 without ports, and 8,000 names that are not resolved.

    300 scanners come back all the time, whoever else knocks does it up to four times.
    """
    noise = random.Random("pfblocker")
    regular = [_stranger(noise) for _ in range(300)]
    blocks: list[Row] = []
    while len(blocks) < 10_000:
        known = noise.random() < 0.45
        source, knocks = (noise.choice(regular), 1) if known else (_stranger(noise), noise.randint(1, 4))
        first = noise.uniform(0, 86_000)
        for knock in range(knocks):
            at = NOW - timedelta(seconds=first - knock * 0.5 + 300)
            blocks.append(Row(at, source, _blocked(noise, at, source["src_ip"])))
    blocks.sort(key=lambda row: row.time)
    bare = [Row(row.time, row.tags, {**row.fields, **_ICMP}) for row in blocks[26::26]]
    ported = [row for number, row in enumerate(blocks) if number % 26 or not number]
    tags = ("feed_name", "geoip_code", "host", "path", "src_ip")
    texts = dict.fromkeys(_BLOCK_TEXTS, "string") | dict.fromkeys(("rulenum", "ip_version", "protocolid"), "integer")
    return Dataset(
        [
            Table("tail_ipblock", tags, texts | dict.fromkeys(_PORTS, "integer"), ported),
            Table("tail_dnsbl", ("host", "path", "src_ip", "tld"), dict.fromkeys(_DNS_TEXTS, "string"), _names(noise)),
            Table(
                "gateways",
                ("gateway_name", "host", "interface"),
                {"delay": "float", "loss": "float", "stddev": "float", "status": "string"},
                _gateways(noise),
            ),
        ],
        retention=YEAR,
        rejected=[Table("tail_ipblock", tags, texts | dict.fromkeys(_PORTS, "string"), bare)],
    )


_PORTS: Final = ("src_port", "dest_port")
_ICMP: Final[dict[str, Value]] = {"protocolid": 1, "protocol": "ICMP", **dict.fromkeys(_PORTS, "")}
"""It has no ports: two columns without a value, which the CSV parser takes for text."""


def _stranger(noise: random.Random) -> dict[str, str]:
    address = ".".join(str(noise.randint(1, 223)) for _ in range(4))
    feed, country = noise.choice(_FEEDS), noise.choice(_COUNTRIES)
    path = "/var/log/pfblockerng/ip_block.log"
    return {"feed_name": feed, "geoip_code": country, "host": "pfsense", "path": path, "src_ip": address}


def _blocked(noise: random.Random, at: datetime, source: str) -> dict[str, Value]:
    net, part = source.split(".")[:2]
    tcp = noise.random() < 0.8
    return {
        "timestamp": f"{at:%b %d %H:%M:%S}",
        "rulenum": 1_770_009_183,
        "interface": "igb0",
        "friendlyname": "WAN",
        "action": "block",
        "ip_version": 4,
        "protocolid": 6 if tcp else 17,
        "protocol": "TCP-S" if tcp else "UDP",
        "dest_ip": "203.0.113.17",
        "src_port": noise.randint(32_768, 60_999),
        "dest_port": noise.choice((22, 23, 80, 443, 3389, 5060, 8080, noise.randrange(65_536))),
        "direction": "in",
        "ip_alias_name": "pfB_PRI1_v4",
        "ip_evaluated": f"{net}.{part}.0.0/16",
        "resolvedhostname": "Unknown",
        "clienthostname": "Unknown",
        "asn": f"AS{int(net) * 256 + int(part)}",
        "duplicateeventstatus": "+",
    }


def _names(noise: random.Random) -> list[Row]:
    rows = []
    for at in times(8_000, timedelta(seconds=10.8)):
        name = noise.choice(_BLOCKED)
        path = "/var/log/pfblockerng/dnsbl.log"
        tags = {"host": "pfsense", "path": path, "src_ip": f"192.168.10.{noise.randint(20, 49)}", "tld": name}
        fields: dict[str, Value] = {
            "blocktype": "DNSBL-python",
            "timestamp": f"{at:%b %d %H:%M:%S}",
            "domain": f"{noise.choice('abcdefgh')}{noise.randrange(40)}.{name}",
            "req_agent": "Unknown",
            "blockmethod": "DNSBL_A",
            "blocklist": "DNSBL_ADs",
            "feed_name": "StevenBlack_ADs",
        }
        rows.append(Row(at, tags, fields))
    return rows


def _gateways(noise: random.Random) -> list[Row]:
    return [
        Row(
            at,
            {"gateway_name": name, "host": "pfsense", "interface": interface},
            {"delay": noise.uniform(4, 30), "loss": 0.0, "stddev": noise.uniform(0, 4), "status": "none"},
        )
        for at in times(1_440, _MINUTE)
        for name, interface in (("WAN_DHCP", "igb0"), ("LTE_DHCP", "ue0"))
    ]


DATABASES: Final = (
    BlindDatabase(
        "slurm-job-profiles",
        "influxdb1",
        "https://slurm.schedmd.com/acct_gather_profile_plugins.html",
        _slurm,
        (
            Expected(
                Cause.ID_TAG,
                "*.job",
                Grade.HARMFUL,
                "Every job is a new tag value in each of 8 measurements, for each of its tasks: 600 jobs a day make"
                " 10,400 series of 12 points, at 0.9 kB of heap on inmem 5 MB now, 0.94 million and 0.9 GB in 90 days,"
                " past the default limit of 1,000,000 after 96, and 3.8 million and 3.5 GB within the year that is"
                " kept; profiles of a few weeks would do.",
            ),
            Expected(
                Cause.DEPENDENT_TAG,
                "*.*",
                Grade.HARMLESS,
                "A job has one host and one step: the two add no series, 110 B each for 5,184 of them, 1 MB, and go"
                " with the jobs.",
            ),
        ),
    ),
    BlindDatabase(
        "telegraf-sqlserver-requests",
        "influxdb1",
        "https://github.com/influxdata/telegraf/issues/6678",
        _sqlserver,
        (
            Expected(
                Cause.TEXT_TAG,
                "sqlserver_requests.statement_text",
                Grade.HARMFUL,
                "The text of what runs is a tag, with the values in it where the program does not bind them: 4,645"
                " texts of 216 characters in 12 hours, 9,200 new ones a day; on inmem the default limit of 100,000"
                " values rejects further ones after 10 days, without it 0.83 million texts at 3 kB, 2.5 GB of heap, in"
                " 90 days and 3.4 million within the year that is kept.",
            ),
            Expected(
                Cause.ID_TAG,
                "sqlserver_requests.wait_resource",
                Grade.HARMFUL,
                "The row or page that a request waits for is a tag: 1,902 values in 1,902 waits of 12 hours, 3,800 a"
                " day, and also without the statements 0.34 million series at 2 kB, 0.7 GB of heap, in 90 days, past"
                " the default limit of 100,000 values on inmem after 26.",
            ),
            Expected(
                Cause.DEPENDENT_TAG,
                "sqlserver_*.*",
                Grade.HARMLESS,
                "host, database_name, command, isolation level, and counter_type never change, session_db_name follows"
                " sql_instance, wait_category wait_type, query_hash the text: 110 B each for 6,500 series, 4 MB, which"
                " go when the texts do.",
            ),
        ),
    ),
    BlindDatabase(
        "vector-nginx-access",
        "influxdb1",
        "https://vector.dev/docs/reference/configuration/sinks/influxdb_logs/",
        _vector,
        (
            Expected(
                Cause.LOST,
                "nginx-access",
                Grade.HARMFUL,
                "Times are whole seconds and only host, method, and status are tags that differ, so requests of one"
                " second overwrite each other: of 72,000 that were written in two hours 31,027 are left, 57 % or"
                " 490,000 a day are lost, and each count of requests is wrong.",
            ),
            Expected(
                Cause.DEPENDENT_TAG,
                "nginx-access.*",
                Grade.HARMLESS,
                "metric_type and source_type never change, method follows status: 10 series, now and in a year.",
            ),
            Expected(
                Cause.REPEATED_BYTES,
                "nginx-access.*",
                Grade.HARMLESS,
                "Agents, paths, and the protocol are the same texts again and again: 5 B for the three of them in"
                " 370,000 points a day, 0.7 GB in the year kept, and clients are fields as they should be.",
            ),
        ),
    ),
    BlindDatabase(
        "pfsense-pfblockerng",
        "influxdb1",
        "https://github.com/VictorRobellini/pfSense-Dashboard/blob/master/config/additional_config.conf",
        _pfblocker,
        (
            Expected(
                Cause.ID_TAG,
                "tail_ipblock.src_ip",
                Grade.HARMFUL,
                "Whoever knocks is a series: 3,255 addresses in a day, of which 300 come back, 2,955 new ones a day at"
                " 1.2 kB of heap; on inmem the default limit of 100,000 values rejects the packets of new ones after"
                " 33 days, without it 0.3 GB in 90 days and 1.1 million series, 1.3 GB, within the year that is kept.",
            ),
            Expected(
                Cause.LOST,
                "*",
                Grade.HARMFUL,
                "Packets without ports come with empty text where a shard has integers (src_port, dest_port), and the"
                " server drops the whole point: 384 of 10,001 in this day, 140,000 a year, as its counters of dropped"
                " points show.",
            ),
            Expected(
                Cause.DEPENDENT_TAG,
                "tail_*.*",
                Grade.HARMLESS,
                "Feed and country follow the address, host and path never change: 1.6 MB for 3,555 series.",
            ),
            Expected(
                Cause.NUMBER_AS_TEXT,
                "tail_*.timestamp",
                Grade.HARMLESS,
                "The time of the log's line as text beside the point's own time: 5 B for 17,600 points a day, 32 MB a"
                " year, and nothing computes with it.",
            ),
            Expected(
                Cause.REPEATED_BYTES,
                "tail_*.*",
                Grade.HARMLESS,
                "Nine columns of a blocked packet and five of a name are always the same text: 0.7 B each, 32 MB a"
                " year.",
            ),
        ),
    ),
)
