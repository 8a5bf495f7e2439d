"""InfluxDB 1.x of fleets that are kept well although they look suspicious: each source reports again and again."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from tests.blind.expected import BlindDatabase, Cause, Expected, Grade
from tests.builders import NOW
from tests.databases import Dataset, Row, Table, Value, times
from tests.layouts.series import YEAR

_FIVE_MINUTES: Final = timedelta(minutes=5)


def _uuid(noise: random.Random) -> str:
    return str(uuid.UUID(int=noise.getrandbits(128), version=4))


# --- Nagflux -----------------------------------------------------------------------------------------------------

_CHECKS: Final = (
    ("PING", "check-host-alive", {"rta": (0.2, 40.0), "pl": (0.0, 1.0)}, ("warn", "crit")),
    ("Load", "check_load", {"load1": (0.0, 8.0), "load5": (0.0, 8.0), "load15": (0.0, 8.0)}, ("warn", "crit")),
    ("Disk usage", "check_disk", {"/": (4e9, 4e10), "/var": (4e9, 9e10)}, ("warn", "crit", "max")),
)
_SITES: Final = ("frankfurt-dc1", "frankfurt-dc2", "amsterdam-colo")
_MONITORED: Final = [f"srv-{number:04}.{_SITES[number % 3]}.infra.example.net" for number in range(48)]
_TEXTS: Final = (
    "WARNING:<br> DISK WARNING - free space: /var 4113 MB (9% inode=87%)",
    "CRITICAL:<br> PING CRITICAL - Packet loss = 100%",
    "OK:<br> load average: 1.02, 0.97, 0.93",
    "checked with the network team, ticket follows",
)


def _nagflux() -> Dataset:
    """48 hosts with three checks, every 5 minutes for 4 hours, each value with its thresholds; and messages as text."""
    noise = random.Random("nagflux")
    rows = [
        Row(at + timedelta(seconds=6 * place), {"host": host, **tags}, {"value": value})
        for at in times(48, _FIVE_MINUTES)
        for place, host in enumerate(_MONITORED)
        for tags, value in _checked(noise)
    ]
    messages = []
    for at in times(60, timedelta(minutes=4)):
        tags = {"host": noise.choice(_MONITORED), "service": noise.choice(_CHECKS)[0], "author": "naemon"}
        kind = noise.choice(["service_notification", "comment", "downtime"])
        messages.append(Row(at, tags | {"type": kind}, {"value": noise.choice(_TEXTS)}))
    columns = ("command", "host", "performanceLabel", "performanceType", "service", "unit")
    return Dataset(
        [
            Table("metrics", columns, {"value": "float"}, rows),
            Table("messages", ("author", "host", "service", "type"), {"value": "string"}, messages),
        ],
        retention=YEAR,
    )


def _checked(noise: random.Random) -> Iterator[tuple[dict[str, str], float]]:
    """Tags and value of each result of all checks of a host."""
    for service, command, labels, limits in _CHECKS:
        for label, (low, high) in labels.items():
            tags = {"service": service, "command": command, "performanceLabel": label}
            if service == "Disk usage":
                tags["unit"] = "B"
            yield tags | {"performanceType": "value"}, round(noise.uniform(low, high), 3)
            for place, limit in enumerate(limits):
                yield tags | {"performanceType": limit}, high * (1 + place / 2)


# --- NetApp Harvest ----------------------------------------------------------------------------------------------

_COUNTERS: Final = {
    "read_ops": 2000.0,
    "write_ops": 1500.0,
    "other_ops": 400.0,
    "read_data": 2e8,
    "write_data": 1e8,
    "read_latency": 4000.0,
    "write_latency": 2000.0,
    "avg_latency": 3000.0,
}


def _harvest() -> Dataset:
    """480 volumes of a cluster, 300 of them made by Kubernetes and named by a UUID, every 3 minutes for 5 hours. Six
    were moved to another aggregate.
    """
    noise = random.Random("harvest")
    volumes = [_volume(number, noise) for number in range(480)]
    moved = {number: f"aggr{4 - number % 4}_node{number % 4 + 1}" for number in range(5, 305, 50)}
    rows, ports = [], []
    for number, at in enumerate(times(100, timedelta(minutes=3))):
        for place, volume in enumerate(volumes):
            tags = volume | {"aggr": moved[place]} if place in moved and number >= 50 else volume
            rows.append(Row(at, tags, {name: round(noise.uniform(0, high), 2) for name, high in _COUNTERS.items()}))
        for node in range(1, 5):
            for port in "abcdefgh":
                tags = {"datacenter": "fra1", "cluster": "cdot-prod-01", "node": f"cdot-prod-01-{node:02}"}
                bytes_per_s = {"rx_bytes": noise.uniform(0, 1e9), "tx_bytes": noise.uniform(0, 1e9)}
                nic = {"nic": f"e0{port}", "type": "nic_ixgbe"}
                ports.append(Row(at, tags | nic, {name: round(value) * 1.0 for name, value in bytes_per_s.items()}))
    return Dataset(
        [
            Table("volume", sorted(volumes[0]), dict.fromkeys(_COUNTERS, "float"), rows),
            Table("nic_common", sorted(ports[0].tags), {"rx_bytes": "float", "tx_bytes": "float"}, ports),
        ],
        retention=YEAR,
    )


def _volume(number: int, noise: random.Random) -> dict[str, str]:
    node = number % 4 + 1
    name = (
        f"trident_pvc_{_uuid(noise).replace('-', '_')}" if number < 300 else f"vol_oracle_prod_finance_data_{number:04}"
    )
    return {
        "datacenter": "fra1",
        "cluster": "cdot-prod-01",
        "node": f"cdot-prod-01-{node:02}",
        "svm": "svm_kubernetes_production" if number < 300 else "svm_oracle_production",
        "aggr": f"aggr{number % 2 + 1}_node{node}",
        "volume": name,
        "style": "flexvol",
    }


# --- Telegraf, vsphere -------------------------------------------------------------------------------------------

_OF_MACHINES: Final[dict[str, dict[str, float]]] = {
    "vsphere_vm_cpu": {"usage_average": 100.0, "ready_summation": 900.0},
    "vsphere_vm_mem": {"usage_average": 100.0, "granted_average": 3e7},
    "vsphere_vm_net": {"bytesRx_average": 9e4, "bytesTx_average": 9e4},
    "vsphere_vm_virtualDisk": {"read_average": 5e4, "write_average": 5e4},
}
_OF_HOSTS: Final[dict[str, dict[str, float]]] = {
    "vsphere_host_cpu": {"usage_average": 100.0},
    "vsphere_host_mem": {"usage_average": 100.0},
}


def _vsphere() -> Dataset:
    """200 machines on 8 hosts, every 5 minutes for 5 hours. Two hours ago four of the hosts were updated, and their
    machines moved to the others, once.
    """
    noise = random.Random("vsphere")
    at_home = {"vcenter": "vcenter.example.net", "dcname": "FRA", "clustername": "prod", "host": "telegraf"}
    machines = []
    for number in range(200):
        name = f"{noise.choice(['app', 'db', 'web', 'batch'])}-{number:03}"
        identity = {"vmname": name, "source": name, "moid": f"vm-{1000 + number}", "uuid": _uuid(noise)}
        machines.append(at_home | identity | {"guest": noise.choice(["ubuntu64Guest", "windows2019srv_64Guest"])})
    rows: dict[str, list[Row]] = {name: [] for name in (*_OF_MACHINES, *_OF_HOSTS)}
    for at in times(60, _FIVE_MINUTES):
        for number, machine in enumerate(machines):
            host = number % 8 + 1
            if host <= 4 and at >= NOW - timedelta(hours=2):
                host += 4
            tags = machine | {"esxhostname": f"esx{host:02}.example.net"}
            for name, fields in _OF_MACHINES.items():
                rows[name].append(
                    Row(at, tags, {key: round(noise.uniform(0, high), 2) for key, high in fields.items()})
                )
        for host in range(1, 9):
            esx = f"esx{host:02}.example.net"
            for name, fields in _OF_HOSTS.items():
                tags = at_home | {"esxhostname": esx, "source": esx, "moid": f"host-{host}"}
                rows[name].append(
                    Row(at, tags, {key: round(noise.uniform(0, high), 2) for key, high in fields.items()})
                )
    names = {**_OF_MACHINES, **_OF_HOSTS}
    return Dataset(
        [Table(name, sorted(made[0].tags), dict.fromkeys(names[name], "float"), made) for name, made in rows.items()],
        retention=YEAR,
    )


# --- Telegraf, prometheus: etcd ----------------------------------------------------------------------------------

_MEMBERS: Final = {"10.0.1.11": "8e9e05c52164694d", "10.0.1.12": "91bc3c398fb3c146", "10.0.1.13": "fd422379fda50e48"}
_DISK_BOUNDS: Final = [f"{0.001 * 2**power:g}" for power in range(14)] + ["+Inf"]
_PEER_BOUNDS: Final = [f"{0.0001 * 2**power:g}" for power in range(16)] + ["+Inf"]
_CODES: Final = (
    *("OK", "Canceled", "Unknown", "InvalidArgument", "DeadlineExceeded", "NotFound", "AlreadyExists", "Aborted"),
    *("PermissionDenied", "ResourceExhausted", "FailedPrecondition", "OutOfRange", "Unimplemented", "Internal"),
    *("Unavailable", "DataLoss", "Unauthenticated"),
)
_METHODS: Final = {
    "KV": ("Range", "Put", "DeleteRange", "Txn", "Compact"),
    "Lease": ("LeaseGrant", "LeaseRevoke", "LeaseTimeToLive", "LeaseLeases"),
    "Cluster": ("MemberAdd", "MemberRemove", "MemberUpdate", "MemberList", "MemberPromote"),
}
_ETCD_TAGS: Final = ("To", "grpc_code", "grpc_method", "grpc_service", "grpc_type", "host", "le", "quantile")
_ETCD_FIELDS: Final = (
    "etcd_disk_backend_commit_duration_seconds_bucket",
    "etcd_disk_wal_fsync_duration_seconds_bucket",
    "etcd_mvcc_db_total_size_in_bytes",
    "etcd_network_peer_round_trip_time_seconds_bucket",
    "etcd_network_peer_round_trip_time_seconds_count",
    "etcd_network_peer_round_trip_time_seconds_sum",
    "etcd_server_has_leader",
    "etcd_server_leader_changes_seen_total",
    "etcd_server_proposals_committed_total",
    "etcd_server_version",
    "go_gc_duration_seconds",
    "go_goroutines",
    "grpc_server_handled_total",
    "process_resident_memory_bytes",
)


def _etcd() -> Dataset:
    """Three members, read every 5 minutes for 5 hours as one measurement: labels are tags, names are fields. Two hours
    ago they were updated, and their counters began again.
    """
    noise = random.Random("etcd")
    rows = []
    for number, at in enumerate(times(60, _FIVE_MINUTES)):
        updated = at >= NOW - timedelta(hours=2)
        since = number - 36 if updated else number + 4000
        for address in _MEMBERS:
            tags = {"host": "monitor", "url": f"https://{address}:2379/metrics"}
            version = {"server_version": "3.5.12" if updated else "3.5.9"}
            rows += [
                Row(at, tags | more, {name: float(value) for name, value in fields.items()})
                for more, fields in _scraped(address, version, since, noise)
            ]
    columns = (*_ETCD_TAGS, "server_version", "url")
    return Dataset([Table("prometheus", columns, dict.fromkeys(_ETCD_FIELDS, "float"), rows)], retention=YEAR)


def _scraped(
    address: str, version: dict[str, str], since: int, noise: random.Random
) -> Iterator[tuple[dict[str, str], dict[str, float]]]:
    for place, bound in enumerate(_DISK_BOUNDS):
        count = since * 3000 * min(place + 1, 8) / 8
        disk = ("etcd_disk_backend_commit_duration_seconds_bucket", "etcd_disk_wal_fsync_duration_seconds_bucket")
        yield {"le": bound}, dict.fromkeys(disk, count)
    for other, peer in _MEMBERS.items():
        if other == address:
            continue
        for place, bound in enumerate(_PEER_BOUNDS):
            count = since * 60 * min(place + 1, 10) / 10
            yield {"To": peer, "le": bound}, {"etcd_network_peer_round_trip_time_seconds_bucket": count}
        together = {"etcd_network_peer_round_trip_time_seconds_count": since * 60.0}
        yield {"To": peer}, together | {"etcd_network_peer_round_trip_time_seconds_sum": round(since * 0.07, 3)}
    for service, methods in _METHODS.items():
        for method in methods:
            grpc = {"grpc_service": f"etcdserverpb.{service}", "grpc_method": method, "grpc_type": "unary"}
            for code in _CODES:
                count = since * (len(method) * 11.0 if code == "OK" else 0.0)
                yield grpc | {"grpc_code": code}, {"grpc_server_handled_total": count}
    for quantile in ("0", "0.25", "0.5", "0.75", "1"):
        yield {"quantile": quantile}, {"go_gc_duration_seconds": round(noise.uniform(1e-5, 1e-3), 6)}
    yield version, {"etcd_server_version": 1.0}
    state = {"etcd_server_has_leader": 1.0, "etcd_server_leader_changes_seen_total": 3.0}
    state |= {"etcd_server_proposals_committed_total": since * 4100.0, "go_goroutines": float(noise.randint(300, 420))}
    state["etcd_mvcc_db_total_size_in_bytes"] = float(noise.randint(60_000_000, 90_000_000))
    yield {}, state | {"process_resident_memory_bytes": float(noise.randint(1, 2) * 10**8)}


# --- RuuviCollector ----------------------------------------------------------------------------------------------

_FLEET: Final = 400
_PILOTS: Final = 12
_EVERY: Final = timedelta(minutes=12)
_RUUVI: Final = {
    "temperature": (2.0, 8.0),
    "humidity": (40.0, 80.0),
    "pressure": (98_000.0, 102_000.0),
    "batteryVoltage": (2.7, 3.1),
    "accelerationX": (-1.0, 1.0),
    "accelerationY": (-1.0, 1.0),
    "accelerationZ": (-1.0, 1.0),
    "dewPoint": (0.0, 5.0),
    "rssi": (-95.0, -50.0),
}


def _ruuvi() -> Dataset:
    """Twelve sensors since 30 hours ago; 388 more were switched on between 20 and 14 hours ago, and none since. Each
    reports every 12 minutes.
    """
    return _ruuvi_until(NOW)


def _ruuvi_yesterday() -> Dataset:
    return _ruuvi_until(NOW - timedelta(days=1))


def _ruuvi_until(end: datetime) -> Dataset:
    noise = random.Random("ruuvi")
    rows = []
    for number in range(_FLEET):
        hours = 30 if number < _PILOTS else 20 - 6 * (number - _PILOTS) / (_FLEET - _PILOTS)
        mac = f"{noise.getrandbits(48):012X}"
        tags = {"mac": mac, "dataFormat": "5", "name": f"Cold room {number // 10:02}, shelf {number % 10}"}
        at = NOW - timedelta(seconds=round(hours * 3600))
        sequence = noise.randrange(5000)
        while at < NOW:
            fields: dict[str, Value] = {name: round(noise.uniform(*bounds), 2) for name, bounds in _RUUVI.items()}
            if at < end:
                rows.append(Row(at, tags, fields | {"measurementSequenceNumber": sequence}))
            sequence += 560
            at += _EVERY
    kinds = dict.fromkeys(_RUUVI, "float") | {"measurementSequenceNumber": "integer"}
    tables = [Table("ruuvi_measurements", ("dataFormat", "mac", "name"), kinds, rows)]
    return Dataset(tables, retention=YEAR, database="cold_chain")


DATABASES: Final = (
    BlindDatabase(
        "nagflux-naemon",
        "influxdb1",
        "https://github.com/Griesbacher/nagflux",
        _nagflux,
        (
            Expected(
                Cause.DEPENDENT_TAG,
                "metrics.*",
                Grade.HARMLESS,
                "command and unit follow service: 110 B each for 1,104 series, 0.2 MB, and 48 hosts have as many next"
                " year.",
            ),
        ),
        quiet=True,
    ),
    BlindDatabase(
        "netapp-harvest",
        "influxdb1",
        "https://github.com/NetApp/harvest/blob/main/docs/influxdb-exporter.md",
        _harvest,
        (
            Expected(
                Cause.DEPENDENT_TAG,
                "*.*",
                Grade.HARMLESS,
                "datacenter, cluster, style, and the type of a port are always the same, node follows aggr, and svm"
                " and aggr follow volume but for six moves: 518 series at 1.5 kB, 0.8 MB, as long as the cluster has"
                " 480 volumes; the UUIDs name volumes that report all the time.",
            ),
        ),
        quiet=True,
    ),
    BlindDatabase(
        "telegraf-vsphere",
        "influxdb1",
        "https://github.com/influxdata/telegraf/blob/master/plugins/inputs/vsphere/README.md",
        _vsphere,
        (
            Expected(
                Cause.CHANGING_TAG,
                "vsphere_vm_*.esxhostname",
                Grade.HARMLESS,
                "The host of a machine is a tag: the update of four hosts made 400 series once, of 1,216 in all, 0.6"
                " MB of heap; four updates a year make 1,600, and the question which host a machine was on needs the"
                " tag.",
            ),
            Expected(
                Cause.DEPENDENT_TAG,
                "vsphere_*.*",
                Grade.HARMLESS,
                "source, moid, uuid, and guest follow vmname, the data center and three more are always the same: at"
                " most 1.5 kB for 1,216 series, 2 MB; the UUID is that of a machine that lives for years.",
            ),
        ),
        quiet=True,
    ),
    BlindDatabase(
        "telegraf-prometheus-etcd",
        "influxdb1",
        "https://docs.influxdata.com/influxdb/v2/reference/prometheus-metrics/",
        _etcd,
        (
            Expected(
                Cause.ROWS_LAYOUT,
                "prometheus",
                Grade.HARMLESS,
                "Rows of seven kinds in one measurement, with 14 fields of which a row has 1 to 6: an absent value"
                " costs 0 B on this engine, and le has 31 bounds, as it will next year, in 891 series.",
            ),
            Expected(
                Cause.SPARSE,
                "prometheus",
                Grade.HARMLESS,
                "The same seen from the columns: 92 % of the values of 14 fields are absent, at 0 B.",
            ),
        ),
        quiet=True,
    ),
    BlindDatabase(
        "ruuvi-cold-chain-first-day",
        "influxdb1",
        "https://github.com/Scrin/RuuviCollector/blob/master/MEASUREMENTS.md",
        _ruuvi,
        (
            Expected(
                Cause.DEPENDENT_TAG,
                "ruuvi_measurements.*",
                Grade.HARMLESS,
                "name follows mac and dataFormat is always 5: 410 B for 400 sensors, 0.2 MB; 388 of them are a day"
                " old, but none came in the last 14 hours and each reports every 12 minutes, so there are 400 next"
                " year, too.",
            ),
        ),
        quiet=True,
        yesterday=_ruuvi_yesterday,
    ),
)
