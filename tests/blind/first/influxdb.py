"""InfluxDB 1.x as log shippers, job engines, and monitors of servers and networks write it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from tests.blind.expected import BlindDatabase, Cause, Expected, Grade
from tests.builders import NOW
from tests.databases import Dataset, Row, Table, Value, times
from tests.layouts.series import YEAR, hex_id

_MINUTE: Final = timedelta(minutes=1)
_id: Final = hex_id(32)


# --- Fluent Bit --------------------------------------------------------------------------------------------------

_WEB_HOSTS: Final = [f"web-{number}" for number in range(1, 7)]
_CLIENTS: Final = [f"10.20.{net}.{host}" for net in (1, 2) for host in range(10, 30)]
_AGENTS: Final = ["okhttp/4.12.0", "python-requests/2.31.0", "Go-http-client/1.1", "axios/1.6.8", "curl/8.5.0"]


def _fluent_bit() -> Dataset:
    """Six agents, up for 12 hours. Each numbers all its records, whatever their tag: 11 requests and one sample of
    the processor each minute.
    """
    noise = random.Random("fluent-bit")
    requests: list[Row] = []
    processors: list[Row] = []
    for host in _WEB_HOSTS:
        number = 0
        for minute in times(720, _MINUTE):
            for _ in range(11):
                at = minute + timedelta(microseconds=noise.randrange(60_000_000))
                requests.append(Row(at, {"_seq": str(number), "host": host, **_request(noise)}, _answer(noise)))
                number += 1
            used = {"cpu_p": noise.uniform(5, 60), "user_p": noise.uniform(3, 40), "system_p": noise.uniform(1, 15)}
            tags = {"_seq": str(number), "host": host}
            processors.append(Row(minute, tags, {key: round(value, 2) for key, value in used.items()}))
            number += 1
    access = ("_seq", "agent", "host", "method", "path", "remote")
    return Dataset(
        [
            Table("nginx.access", access, {"code": "float", "size": "float"}, requests),
            Table("cpu.local", ("_seq", "host"), dict.fromkeys(("cpu_p", "user_p", "system_p"), "float"), processors),
        ],
        retention=YEAR,
    )


def _request(noise: random.Random) -> dict[str, str]:
    order, customer = noise.randrange(10_000_000), noise.randrange(400_000)
    path = noise.choice([f"/api/orders/{order}?customer={customer}", f"/api/search?q=sku-{order}&for={customer}"])
    method = noise.choice(["GET", "GET", "GET", "POST"])
    return {"path": path, "method": method, "remote": noise.choice(_CLIENTS), "agent": noise.choice(_AGENTS)}


def _answer(noise: random.Random) -> dict[str, float]:
    return {"code": float(noise.choice([200] * 9 + [404, 500])), "size": float(noise.randint(120, 40_000))}


# --- Apache Flink ------------------------------------------------------------------------------------------------

_REPORTS: Final = timedelta(minutes=3)
_TASKS: Final = ["Source: files", "Join -> Map", "Sink: warehouse"]
_TASK_IDS: Final = {name: _id(random.Random(name)) for name in _TASKS}
_OPERATOR_IDS: Final = {name: _id(random.Random("operator " + name)) for name in _TASKS}
_MANAGERS: Final = [f"10.0.4.{n}:41{n}-{_id(random.Random(n))[:6]}" for n in range(21, 25)]
_OF_TASKS: Final = {
    "taskmanager_job_task_numRecordsIn": "count",
    "taskmanager_job_task_numBytesOut": "count",
    "taskmanager_job_task_buffers_inPoolUsage": "value",
    "taskmanager_job_task_operator_numRecordsOut": "count",
}
_OF_JOBS: Final = {"jobmanager_job_uptime": "value", "jobmanager_job_fullRestarts": "value"}
_OF_MANAGERS: Final = {
    f"taskmanager_Status_JVM_{name}": "value"
    for name in ("CPU_Load", "Memory_Heap_Used", "Memory_NonHeap_Used", "Threads_Count", "Memory_Direct_Count")
}


def _flink() -> Dataset:
    """A session cluster: 20 batch jobs an hour that run for 15 minutes each, and one job that streams all the time."""
    noise = random.Random("flink")
    rows: dict[str, list[Row]] = {name: [] for name in (*_OF_TASKS, *_OF_JOBS, *_OF_MANAGERS)}
    instants = times(240, _REPORTS)
    for number in range(240):
        started = NOW - timedelta(hours=12) + _REPORTS * number
        name = f"load_{noise.choice(['orders', 'stock', 'prices', 'clicks'])}"
        _job(
            rows, noise, name, [started + _REPORTS * report for report in range(5) if started + _REPORTS * report < NOW]
        )
    _job(rows, noise, "fraud_detection", instants)
    for manager in _MANAGERS:
        for at in instants:
            for name in _OF_MANAGERS:
                tags = {"host": manager.partition(":")[0], "tm_id": manager}
                rows[name].append(Row(at, tags, {"value": round(noise.uniform(0, 100), 2)}))
    fields = {**_OF_TASKS, **_OF_JOBS, **_OF_MANAGERS}
    return Dataset(
        [
            Table(name, list(made[0].tags), {fields[name]: "integer" if fields[name] == "count" else "float"}, made)
            for name, made in rows.items()
        ],
        retention=YEAR,
    )


def _job(rows: dict[str, list[Row]], noise: random.Random, name: str, instants: list[datetime]) -> None:
    job = {"job_id": _id(noise), "job_name": name}
    for at in instants:
        uptime = (at - instants[0]).total_seconds() * 1000
        rows["jobmanager_job_uptime"].append(Row(at, {"host": "10.0.4.20", **job}, {"value": uptime}))
        rows["jobmanager_job_fullRestarts"].append(Row(at, {"host": "10.0.4.20", **job}, {"value": 0.0}))
    for task in _TASKS:
        for subtask in range(2):
            manager = noise.choice(_MANAGERS)
            tags = {"host": manager.partition(":")[0], "tm_id": manager, **job, "subtask_index": str(subtask)}
            tags |= {"task_attempt_id": _id(noise), "task_attempt_num": "0"}
            tags |= {"task_id": _TASK_IDS[task], "task_name": task}
            count = 0
            for at in instants:
                count += noise.randint(10_000, 90_000)
                for metric, field in _OF_TASKS.items():
                    operator = (
                        {"operator_id": _OPERATOR_IDS[task], "operator_name": task} if "operator" in metric else {}
                    )
                    value = count if field == "count" else round(noise.random(), 3)
                    rows[metric].append(Row(at, tags | operator, {field: value}))


# --- Riemann -----------------------------------------------------------------------------------------------------

_BUILDERS: Final = [f"build{number:02}.example.net" for number in range(1, 11)]
_MOUNT: Final = "disk /var/lib/docker/devicemapper/mnt/"


def _riemann() -> Dataset:
    """Ten hosts that build in containers, seen every 5 minutes for two days. 30 containers start each hour; the file
    system of each is there for 20 minutes.
    """
    noise = random.Random("riemann")
    instants = times(576, timedelta(minutes=5))
    services = ("cpu", "load", "memory", "disk /", "disk /boot", "disk /var")
    tables = [_service(service, [(host, instants) for host in _BUILDERS], noise) for service in services]
    for number in range(1440):
        first = NOW - timedelta(hours=48) + 2 * _MINUTE * number
        seen = [at for at in (first + timedelta(minutes=5) * tick for tick in range(4)) if at < NOW]
        tables.append(_service(_MOUNT + hex_id(64)(noise), [(noise.choice(_BUILDERS), seen)], noise))
    return Dataset(tables, retention=YEAR)


def _service(name: str, seen: list[tuple[str, list[datetime]]], noise: random.Random) -> Table:
    rows = []
    for host, instants in seen:
        for at in instants:
            used = noise.randint(3, 80)
            fields: dict[str, Value] = {"description": f"{used}% used", "state": "ok", "value": used / 100}
            rows.append(Row(at, {"host": host}, fields))
    return Table(name, ("host",), {"description": "string", "state": "string", "value": "float"}, rows)


# --- Telegraf, netflow -------------------------------------------------------------------------------------------

_FLOW_TEXTS: Final = ("dst", "engine_id", "engine_type", "next_hop", "protocol", "src", "src_tos", "tcp_flags")
_FLOW_NUMBERS: Final = ("dst_port", "flows", "in_bytes", "in_packets", "in_snmp", "out_snmp", "seq_number", "src_port")


def _netflow() -> Dataset:
    """Two routers that export a packet of 12 to 28 flows every 30 seconds, for 12 hours. All flows of a packet have its
    time, to the microsecond, and the same tags.
    """
    return Dataset(
        [
            Table(
                "netflow",
                ("host", "source", "version"),
                {**dict.fromkeys(_FLOW_TEXTS, "string"), **dict.fromkeys(_FLOW_NUMBERS, "integer")},
                list(_flows(random.Random("netflow"))),
            )
        ],
        retention=YEAR,
    )


def _flows(noise: random.Random) -> Iterator[Row]:
    for source in ("192.0.2.1", "192.0.2.2"):
        tags = {"host": "collector", "source": source, "version": "NetFlowV5"}
        sequence = noise.randrange(1_000_000)
        for slot in times(1440, timedelta(seconds=30)):
            at = slot + timedelta(microseconds=noise.randrange(29_000_000))
            count = noise.randint(12, 28)
            for _ in range(count):
                yield Row(at, tags, {"flows": count, "seq_number": sequence, **_flow(noise)})
            sequence += count


def _flow(noise: random.Random) -> dict[str, str | int]:
    return {
        "src": f"10.1.{noise.randrange(8)}.{noise.randrange(1, 255)}",
        "src_port": noise.randint(32_768, 60_999),
        "dst": f"198.51.100.{noise.randrange(1, 255)}",
        "dst_port": noise.choice([53, 80, 123, 443, 443, 443, 8443]),
        "protocol": noise.choice(["tcp", "tcp", "udp"]),
        "in_bytes": noise.randint(52, 900_000),
        "in_packets": noise.randint(1, 900),
        "in_snmp": noise.randint(1, 4),
        "out_snmp": noise.randint(1, 4),
        "tcp_flags": noise.choice(["...PA...", "....A..F", "......S."]),
        "engine_type": "0",
        "engine_id": "0x00",
        "next_hop": "203.0.113.1",
        "src_tos": "0x00",
    }


# --- pgwatch2 ----------------------------------------------------------------------------------------------------

_SOURCES: Final = ["shop_primary", "shop_replica"]
_RELATIONS: Final = [f"{noun}_{kind}" for noun in ("order", "customer", "stock") for kind in ("head", "line", "log")]


def _pgwatch() -> Dataset:
    """Two databases, read every 5 minutes for 12 hours: 90 normalized statements and 9 tables each."""
    noise = random.Random("pgwatch2")
    statements = [(str(noise.getrandbits(63)), _statement(number)) for number in range(90)]
    instants = times(144, timedelta(minutes=5))
    calls = {(source, query): noise.randrange(50_000) for source in _SOURCES for query, _ in statements}
    queries, tables, totals = [], [], []
    for at in instants:
        for source in _SOURCES:
            for query, text in statements:
                calls[source, query] += noise.randint(1, 400)
                tags = {"dbname": source, "queryid": query, "query": text}
                fields = {"calls": calls[source, query], "total_time": round(noise.uniform(1, 9000), 3)}
                queries.append(Row(at, tags, {**fields, "shared_blks_hit": noise.randrange(10**9)}))
            for relation in _RELATIONS:
                tags = {"dbname": source, "schema": "public", "table_name": relation}
                tags["table_full_name"] = "public." + relation
                fields = {"table_size_b": noise.randrange(10**10), "n_tup_ins": noise.randrange(10**8)}
                tables.append(Row(at, tags, {**fields, "seq_scan": noise.randrange(10**5)}))
            backends = {"numbackends": noise.randint(5, 90), "xact_commit": noise.randrange(10**9)}
            totals.append(Row(at, {"dbname": source}, backends))
    return Dataset(
        [
            Table(
                "stat_statements",
                ("dbname", "query", "queryid"),
                {"calls": "integer", "total_time": "float", "shared_blks_hit": "integer"},
                queries,
            ),
            Table(
                "table_stats",
                ("dbname", "schema", "table_full_name", "table_name"),
                dict.fromkeys(("table_size_b", "n_tup_ins", "seq_scan"), "integer"),
                tables,
            ),
            Table("db_stats", ("dbname",), {"numbackends": "integer", "xact_commit": "integer"}, totals),
        ],
        retention=YEAR,
    )


def _statement(number: int) -> str:
    relation = _RELATIONS[number % len(_RELATIONS)]
    columns = ", ".join(f"t.{word}" for word in ("id", "created_at", "updated_at", "state", "amount")[: 2 + number % 4])
    joins = " ".join(
        f"JOIN {other} j{place} ON j{place}.{relation}_id = t.id"
        for place, other in enumerate(_RELATIONS[: number % 5])
    )
    text = f"SELECT {columns} FROM {relation} t {joins} WHERE t.tenant_id = $1 AND t.state = ANY ($2)"
    return f"{text} AND t.id > $3 ORDER BY t.id LIMIT ${4 + number // len(_RELATIONS)}"


DATABASES: Final = (
    BlindDatabase(
        "fluent-bit-access-log",
        "influxdb1",
        "https://docs.fluentbit.io/manual/v/2.0/pipeline/outputs/influxdb",
        _fluent_bit,
        (
            Expected(
                Cause.VALUE_TAG,
                "*._seq",
                Grade.HARMFUL,
                "Sequence_Tag numbers every record of an agent, so each of the 51,840 points of 12 hours is a series"
                " of its own, 103,680 more a day at about 2 kB of heap on inmem: 0.1 GB now, 600,000 series and 1.2 GB"
                " in 6 days, when the six counters are at their end of 99,999; without it and the path 2,406 series"
                " would do.",
            ),
            Expected(
                Cause.TEXT_TAG,
                "nginx.access.path",
                Grade.HARMFUL,
                "Auto_Tags makes a tag of the URL with its order and customer: 47,520 requests, 47,520 paths, 95,040"
                " new series a day also without the sequence number, 8.6 million and 17 GB of heap in 90 days, 34.7"
                " million within the year that is kept; on inmem the default limit of 1,000,000 series rejects further"
                " ones after 10 days.",
            ),
        ),
    ),
    BlindDatabase(
        "flink-session-cluster",
        "influxdb1",
        "https://github.com/apache/flink/blob/master/docs/content/docs/ops/metrics.md",
        _flink,
        (
            Expected(
                Cause.ID_TAG,
                "*_job_*.*_id",
                Grade.HARMFUL,
                "Each of 20 batch jobs an hour brings a new job_id and six task_attempt_id, thus 26 series that get 5"
                " points: 6,240 of 6,286 series in 12 hours, 12,480 more a day at about 3 kB of heap on inmem, 1.1"
                " million and 3.4 GB in 90 days, past the default limit of 1,000,000 after 80, and 4.6 million within"
                " the year that is kept.",
            ),
            Expected(
                Cause.DEPENDENT_TAG,
                "taskmanager_*.*",
                Grade.HARMLESS,
                "host follows tm_id, task_id task_name and operator_id operator_name, and task_attempt_num is always"
                " 0: 110 B each for 5,784 series, 2.5 MB, and nothing once the IDs of runs are excluded.",
            ),
        ),
    ),
    BlindDatabase(
        "riemann-build-hosts",
        "influxdb1",
        "https://github.com/riemann/riemann/blob/main/src/riemann/influxdb.clj",
        _riemann,
        (
            Expected(
                Cause.NAMES,
                "disk /var/lib/docker/devicemapper/mnt/*",
                Grade.HARMFUL,
                "The service is the measurement, and the file system of each container is a service: 1,440 of 1,446"
                " measurements in two days, 720 more a day, 64,800 in 90 days and 262,800 within the year that is"
                " kept, at 2.5 kB with their series 4 MB now, 160 MB, and 0.7 GB; no query can group by a path that is"
                " in the name.",
            ),
        ),
    ),
    BlindDatabase(
        "telegraf-netflow",
        "influxdb1",
        "https://github.com/influxdata/telegraf/blob/master/plugins/inputs/netflow/README.md",
        _netflow,
        (
            Expected(
                Cause.LOST,
                "netflow",
                Grade.HARMFUL,
                "All flows of a packet have its time and only the tags host, source, and version, so the last one"
                " overwrites the others: of 57,377 flows in 12 hours 2,880 are left, 19 of 20 are lost, 109,000 a day,"
                " as seq_number shows, which goes on by 20 from point to point.",
            ),
            Expected(
                Cause.DEPENDENT_TAG,
                "netflow.*",
                Grade.HARMLESS,
                "host and version are the same in both series: 220 B each, and it does not grow.",
            ),
        ),
    ),
    BlindDatabase(
        "pgwatch2-statements",
        "influxdb1",
        "https://gist.github.com/kmoppel/71a89b3b32cb32a4c38c7233551e4973",
        _pgwatch,
        (
            Expected(
                Cause.TEXT_TAG,
                "stat_statements.query",
                Grade.HARMLESS,
                "The text of a normalized statement is a tag, but the same 90 come again in each of 144 readings, and"
                " none is new: 180 series with 240 characters each, 0.3 MB of heap, as much within a year.",
            ),
            Expected(
                Cause.DEPENDENT_TAG,
                "stat_statements.*",
                Grade.HARMLESS,
                "query follows queryid: it adds no series, 300 B each for 180 series.",
            ),
            Expected(
                Cause.DEPENDENT_TAG,
                "table_stats.*",
                Grade.HARMLESS,
                "table_full_name is schema and table_name, schema is always public: 18 series, 4 kB.",
            ),
        ),
    ),
)
