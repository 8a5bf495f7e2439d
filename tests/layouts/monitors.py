"""Layouts on InfluxDB 1.x and 3 that no rule was tuned for: expectations written before the first audit."""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import Any, Final

from tests.databases import Dataset
from tests.layouts.layout import Layout, Wanted
from tests.layouts.series import Noise, hex_id, kept, table

# --- Airflow, which names a metric after each task it runs ------------------------------------------------------------

_DAGS: Final = {
    "crm_sync": ("extract_leads", "dedupe", "load_contacts", "notify"),
    "umsatz_taeglich": ("extract", "währung_umrechnen", "load", "report_mail"),
    "dbt_nightly": ("seed", "run_staging", "run_marts", "test"),
    "ml_churn": ("features", "train", "score", "publish"),
    "sftp_import": ("list_files", "download", "validate", "archive"),
    "gdpr_cleanup": ("find_expired", "anonymise", "audit", "mail_dpo"),
}
_TIMED: Final = {"mean": (10.0, 90_000.0), "upper": (90.0, 99_000.0), "stddev": (0.1, 900.0), "count": (1, 9)}


def _airflow(dirty: bool) -> Dataset:
    server = {"host": "airflow-scheduler-0"}
    tasks = [(dag, task) for dag, names in _DAGS.items() for task in names]
    queues = [server | {"pool": pool} for pool in ("default_pool", "sap_rfc", "gpu")]
    always = (
        table("airflow_scheduler_heartbeat", [server | {"metric_type": "counter"}], {"value": (1, 12)}, instants=90),
        table("airflow_pool", queues, {"open_slots": (0, 128), "queued_slots": (0, 9)}, instants=90),
    )
    if dirty:
        # airflow.dag.<dag_id>.<task_id>.duration, with no template to take it apart
        names = [f"airflow_dag_{dag}_{task}_{what}" for dag, task in tasks for what in ("duration", "queued_duration")]
        return kept(*always, *(table(name, [server], _TIMED, instants=40) for name in names))
    tagged = [server | {"dag_id": dag, "task_id": task} for dag, task in tasks]
    return kept(
        *always,
        table("airflow_task_duration", tagged, _TIMED, instants=40),
        table("airflow_task_queued_duration", tagged, _TIMED, instants=40),
    )


# --- Burrow: how far the consumers of Kafka are behind ----------------------------------------------------------------

_GROUPS: Final = (
    "billing",
    "mailer",
    "connect-s3-sink",
    "connect-es-sink",
    "fraud-v2",
    "audit",
    "dwh_loader",
    "search",
)
_TOPICS: Final = ("orders.v1", "payments.v3", "Kundenstamm")
_STATUS: Final[dict[str, Any]] = {"status": ["OK", "OK", "OK", "WARN"], "status_code": [1, 1, 1, 2]}


def _burrow(dirty: bool) -> Dataset:
    cluster = {"cluster": "kafka-prod-eu", "host": "burrow-01"}
    behind: dict[str, Any] = {"lag": (0, 90_000), "offset": (10**6, 10**9)}
    seen = {"timestamp": (1_774_900_000_000, 1_774_936_000_000)}
    groups = [cluster | {"group": g} for g in _GROUPS]
    parts = [
        g | {"topic": t, "partition": str(p), "owner": f"/10.20.{n}.{11 + p}"}
        for n, g in enumerate(groups)
        for t in _TOPICS
        for p in range(4)
    ]
    total = _STATUS | {"total_lag": (0, 900_000), "partition_count": [12]} | behind | seen
    topics = [cluster | {"topic": t, "partition": str(p)} for t in _TOPICS for p in range(4)]
    made = [
        table("burrow_topic", topics, {"offset": (10**6, 10**9)}, instants=40),
        table("burrow_partition", parts, _STATUS | behind | seen, instants=40),
    ]
    if dirty:
        # Developers look into topics with the console consumer, which makes up a group each time.
        groups = [cluster | {"group": f"console-consumer-{n * 7_919 % 99_991}"} for n in range(3_200)]
        return kept(*made, table("burrow_group", groups, total, instants=160, alive=90, step=timedelta(minutes=30)))
    return kept(*made, table("burrow_group", groups, total, instants=160, step=timedelta(minutes=30)))


# --- Plugs with Tasmota, by Telegraf's MQTT consumer ------------------------------------------------------------------

_PLUGS: Final = [
    {"topic": f"tasmota_{n * 1_048_583 % 16**6:06X}", "room": room}
    for n, room in enumerate(("Küche", "Büro", "Keller", "Bad", "Werkstatt", "Flur", "Gäste-WC", "Garage") * 4, 11)
]


def _tasmota(dirty: bool) -> Dataset:
    seconds = itertools.count(3 * 86_400)

    def uptime(_: Noise) -> str:
        now = next(seconds) * 19
        return f"{now // 86_400}T{now // 3_600 % 24:02}:{now // 60 % 60:02}:{now % 60:02}"

    state: dict[str, Any] = {"Wifi_RSSI": (20, 100), "Wifi_LinkCount": (1, 3), "Heap": (20, 30), "LoadAvg": (10, 30)}
    energy = {"ENERGY_Power": (0, 2_300), "ENERGY_Voltage": (225, 240), "ENERGY_Today": (0.0, 9.0)}
    ssid = {"Wifi_SSId": "HeimNetz 2.4"}
    sources = [p | ssid | ({"Uptime": uptime} if dirty else {}) for p in _PLUGS]
    values = state | ({} if dirty else {"Uptime": uptime})
    return kept(
        table("tasmota_state", sources, values, instants=120, step=timedelta(minutes=5), apart=timedelta(seconds=1)),
        table("tasmota_sensor", _PLUGS, energy, instants=120, step=timedelta(minutes=5), apart=timedelta(seconds=1)),
    )


# --- Speedtest Tracker ------------------------------------------------------------------------------------------------

_SERVERS: Final = (
    ("31448", "wilhelm.tel", "Norderstedt", "speedtest.wtnet.de:8080"),
    ("18667", "Deutsche Glasfaser", "Düsseldorf", "ookla.dg.net:8080"),
    ("4087", "Stadtwerke München", "München", "speedtest.swm.de:8080"),
)


def _speed(dirty: bool) -> Dataset:
    results = itertools.count(48_211)
    row: dict[str, Any] = {"result_id": lambda _: str(next(results))}
    servers = [
        {
            "service": "ookla",
            "isp": "Vodafone Kabel",
            "server_id": number,
            "server_name": name,
            "server_location": place,
            "server_host": host,
        }
        for number, name, place, host in _SERVERS
    ]
    measured = {
        "download": (20_000_000, 118_000_000),
        "upload": (2_000_000, 6_000_000),
        "ping": (9.0, 40.0),
        "download_jitter": (0.1, 9.0),
        "packet_loss": [0.0, 0.0, 0.0, 0.4],
        "log": lambda n: f"https://www.speedtest.net/result/c/{n.getrandbits(128):032x}",
    }
    sources = [s | row for s in servers] if dirty else servers
    values = measured if dirty else measured | row
    many: dict[str, Any] = {"instants": 1_100, "step": timedelta(minutes=60), "apart": timedelta(minutes=15)}
    return kept(table("speedtest", sources, values, **many))


# --- VMware ----------------------------------------------------------------------------------------------------------


def _vmware(dirty: bool) -> Dataset:
    noise = Noise(207)
    place = {"vcenter": "vc01.rz.example.de", "dcname": "RZ-Süd", "host": "telegraf-vc"}
    hosts = [
        place | {"clustername": f"CL-{'VDI' if n > 3 else 'SRV'}", "esxhostname": f"esx{n:02}.rz.example.de"}
        for n in range(6)
    ]

    def machine(number: int, name: str, guest: str) -> dict[str, Any]:
        ident = f"{noise.getrandbits(128):032x}"
        uuid = f"{ident[:8]}-{ident[8:12]}-{ident[12:16]}-{ident[16:20]}-{ident[20:]}"
        on = hosts[(4 + number % 2) if guest.startswith("windows11") else number % 4]
        return on | {"vmname": name, "moid": f"vm-{10_000 + number}", "uuid": uuid, "guest": guest, "source": name}

    kinds = ("rhel9_64Guest", "ubuntu64Guest", "windows2019srv_64Guest")
    machines = [machine(n, f"{('app', 'db', 'SAP-', 'web')[n % 4]}{n:03}", kinds[n % 3]) for n in range(48)]
    alive = None
    if dirty:
        # Instant clones: a desktop is made for each login and deleted after it.
        machines = [machine(3_000 + n, f"VDI-W11-{n:05}", "windows11_64Guest") for n in range(2_800)]
        alive = 90
    many: dict[str, Any] = {"instants": 72, "alive": alive, "step": timedelta(minutes=20)}
    cpu = {"usage_average": (0.5, 99.0), "ready_summation": (0, 9_000), "usagemhz_average": (100, 9_000)}
    mem = {"active_average": (10**5, 10**7), "vmmemctl_average": (0, 100), "swapped_average": (0, 10)}
    return kept(
        table("vsphere_vm_cpu", [m | {"cpu": "instance-total"} for m in machines], cpu, **many),
        table("vsphere_vm_mem", machines, mem, **many),
        table("vsphere_host_cpu", [h | {"cpu": "instance-total"} for h in hosts], cpu, instants=72),
    )


# --- InfluxDB 3: BACnet points of buildings, and a content delivery network -------------------------------------------

_POINTS: Final = (
    *(("analogInput", n, f"Vorlauf HK {n} Temp", "degreesCelsius") for n in range(14)),
    *(("analogOutput", n, f"Ventil HK {n} Stellung", "percent") for n in range(9)),
    *(("analogValue", n, f"Sollwert Raum 1.{n:02}", "degreesCelsius") for n in range(12)),
)


def _bacnet(dirty: bool) -> Dataset:
    devices = [{"device_instance": str(1_201 + 100 * n), "building": ("Haus A", "Haus B")[n % 2]} for n in range(5)]
    if dirty:
        named: dict[str, Any] = {f"{kind}_{n}_presentValue": (5.0, 80.0) for kind, n, _, _ in _POINTS}
        return kept(table("bacnet", devices, named, instants=150, step=timedelta(minutes=5)))
    points = [
        d | {"object_type": kind, "object_instance": str(n), "object_name": name, "units": unit}
        for d in devices
        for kind, n, name, unit in _POINTS
    ]
    read: dict[str, Any] = {"present_value": (5.0, 80.0), "out_of_service": [False, False, True], "reliability": [0]}
    return kept(table("bacnet", points, read, instants=40, step=timedelta(minutes=5)))


_POPS: Final = [
    "fra1",
    "ams3",
    "cdg2",
    "lhr5",
    "iad12",
    "sjc4",
    "gru1",
    "nrt7",
    "sin2",
    "syd1",
    "jnb1",
    "bom3",
    "waw1",
    "mad2",
    "arn1",
    "mxp1",
]


def _cdn(dirty: bool) -> Dataset:
    asked = {"cache_status": ["HIT", "HIT", "MISS", "STALE", "BYPASS"], "vhost": ["static.example.org", "img.example"]}
    size: dict[str, Any] = {"bytes_sent": (lambda n: str(n.randint(200, 9_000_000))) if dirty else (200, 9_000_000)}
    values = size | {
        "status": [200, 200, 206, 304, 404, 503],
        "ttfb_ms": (0.3, 900.0),
        "url": lambda n: f"/assets/{n.getrandbits(64):016x}/größe-{n.randint(1, 9)}.webp",
        "client_ip": lambda n: f"2a02:810{n.randint(0, 9)}:{n.getrandbits(16):x}::{n.getrandbits(16):x}",
        "request_id": hex_id(32),
    }
    step = timedelta(seconds=41)
    if dirty:
        return kept(*(table(f"cdn_{pop}", [asked], values, instants=160, step=step) for pop in _POPS))
    return kept(table("cdn_requests", [asked | {"pop": p} for p in _POPS], values, instants=300, step=step))


def _pair(name: str, engine: str, source: str, made: Any, *wanted: Wanted, fine: tuple[Wanted, ...] = ()) -> Layout:
    return Layout(name, engine, source, lambda: made(True), lambda: made(False), wanted, fine)


LAYOUTS: Final = (
    _pair(
        "airflow-statsd",
        "influxdb1",
        "https://airflow.apache.org/docs/apache-airflow/stable/administration-and-deployment/logging-monitoring/metrics.html",
        _airflow,
        Wanted("NAM002", "*", "DAG and task in 48 names: templates that make tags of them"),
    ),
    _pair(
        "telegraf-burrow",
        "influxdb1",
        "https://github.com/influxdata/telegraf/blob/master/plugins/inputs/burrow/README.md",
        _burrow,
        Wanted("TAG002|TAG003|CAR004", "burrow_group.group", "console consumers: groups_exclude leaves them out"),
    ),
    _pair(
        "tasmota-mqtt",
        "influxdb1",
        "https://tasmota.github.io/docs/MQTT/",
        _tasmota,
        Wanted("TAG002|CAR004", "tasmota_state.Uptime", "how long a plug is up is measured: a field"),
    ),
    _pair(
        "speedtest-tracker",
        "influxdb1",
        "https://docs.speedtest-tracker.dev/settings/data-integrations/influxdb",
        _speed,
        Wanted("TAG002|CAR004", "speedtest.result_id", "a series for each test: a field"),
    ),
    _pair(
        "telegraf-vsphere",
        "influxdb1",
        "https://github.com/influxdata/telegraf/blob/master/plugins/inputs/vsphere/README.md",
        _vmware,
        Wanted("TAG002|CAR004", "vsphere_vm_*", "desktops that live an hour: vm_exclude, or a short retention"),
    ),
    _pair(
        "influxdb3-bacnet",
        "influxdb3",
        "https://bacnet.org/developer-resources/",
        _bacnet,
        Wanted("NAM005|SRV003|LAY003", "bacnet*", "the object's number in 35 names of columns: tags"),
    ),
    _pair(
        "influxdb3-cdn-logs",
        "influxdb3",
        "https://docs.influxdata.com/influxdb3/core/write-data/best-practices/schema-design/",
        _cdn,
        Wanted("NAM002", "*", "a table for each of 16 places: a tag"),
        Wanted("FLD002", "cdn_*bytes_sent", "bytes as text do not add up"),
    ),
)
