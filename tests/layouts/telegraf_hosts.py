"""Telegraf's plugins for hosts, containers, and devices, written to InfluxDB 1.x: kept well, and gone wrong."""

from __future__ import annotations

from typing import Any, Final

from tests.databases import Dataset
from tests.layouts.layout import Layout, Wanted
from tests.layouts.series import Noise, kept, table

_DOCS: Final = "https://docs.influxdata.com/telegraf/v1/input-plugins/"
_HOSTS: Final = [{"host": f"web{i:02}"} for i in range(8)]
_NUMBER: Final = (1, 10**9)
_SHARE: Final = (0.0, 100.0)


def _on(*tags: dict[str, Any]) -> list[dict[str, Any]]:
    """Each host with each of the tag sets."""
    return [{**host, **one} for host in _HOSTS for one in tags]


# --- A host as it is monitored by default: names such as `name`, `free` and `user` are the plugins' own ---------------


def _system() -> Dataset:
    cpu = [f"usage_{what}" for what in ("user", "system", "idle", "iowait", "nice", "irq", "softirq", "steal", "guest")]
    root: dict[str, Any] = {"device": "sda1", "fstype": "ext4", "mode": "rw", "path": "/"}
    data: dict[str, Any] = {"device": "sdb1", "fstype": "xfs", "mode": "rw", "path": "/var/lib/data"}
    memory = dict.fromkeys(("total", "available", "used", "free", "cached", "buffered", "active", "inactive"), _NUMBER)
    io = dict.fromkeys(("reads", "writes", "read_bytes", "write_bytes", "read_time", "write_time", "io_time"), _NUMBER)
    net = dict.fromkeys(("bytes_sent", "bytes_recv", "packets_sent", "packets_recv", "err_in", "drop_in"), _NUMBER)
    states = dict.fromkeys(("blocked", "running", "sleeping", "stopped", "zombies", "total", "unknown"), (0, 200))
    disk = dict.fromkeys(("total", "free", "used", "inodes_total", "inodes_free", "inodes_used"), _NUMBER)
    load: dict[str, Any] = {
        "load1": (0.0, 8.0),
        "load5": (0.0, 8.0),
        "load15": (0.0, 8.0),
        "n_cpus": 8,
        "n_users": (0, 3),
    }
    load |= {
        "uptime": _NUMBER,
        "uptime_format": lambda noise: f"{noise.randint(2, 90)} days, {noise.randint(1, 23)}:07",
    }
    swap = {"total": 2_147_479_552, "used": (0, 10**6), "free": _NUMBER, "used_percent": _SHARE}
    return kept(
        table("cpu", _on({"cpu": "cpu-total"}, {"cpu": "cpu0"}, {"cpu": "cpu1"}), dict.fromkeys(cpu, _SHARE)),
        table("mem", _HOSTS, memory | {"used_percent": _SHARE, "available_percent": _SHARE}),
        table("disk", _on(root, data), disk | {"used_percent": _SHARE}),
        table("diskio", _on({"name": "sda"}, {"name": "sdb"}, {"name": "dm-0"}), io),
        table("net", _on({"interface": "eth0"}, {"interface": "lo"}, {"interface": "docker0"}), net),
        table("processes", _HOSTS, states),
        table("swap", _HOSTS, swap),
        table("system", _HOSTS, load),
    )


# --- docker ----------------------------------------------------------------------------------------------------------


def _docker(containers: list[dict[str, Any]], alive: int | None) -> Dataset:
    engine = {"engine_host": "runner01", "host": "runner01", "server_version": "24.0.7", "container_version": "unknown"}
    sources = [{**engine, **container, "container_status": "running"} for container in containers]
    memory = {"usage": _NUMBER, "max_usage": _NUMBER, "limit": 8_589_934_592, "usage_percent": _SHARE}
    cpu = {"usage_total": _NUMBER, "usage_in_usermode": _NUMBER, "usage_percent": _SHARE}
    each = {"container_id": lambda noise: f"{noise.choice(range(40)):064x}"}
    many: dict[str, Any] = {"alive": alive, "instants": 40}
    return kept(
        table("docker_container_mem", sources, memory | each, **many),
        table("docker_container_cpu", [{**s, "cpu": "cpu-total"} for s in sources], cpu | each, **many),
        table("docker", [engine], {"n_containers": (5, 60), "n_images": (20, 40), "n_goroutines": (50, 90)}),
    )


def _docker_dirty() -> Dataset:
    # GitLab's runner names a container for each job.
    names = Noise(1)
    jobs = [
        {
            "container_name": f"runner-{names.getrandbits(32):08x}-project-{i % 9}-concurrent-{i % 4}-"
            f"{names.getrandbits(64):016x}-build",
            "container_image": f"registry.example.com/ci/{('go', 'node', 'python')[i % 3]}",
        }
        for i in range(1_400)
    ]
    return _docker(jobs, 36)


def _docker_clean() -> Dataset:
    services = ("api", "web", "worker", "postgres", "redis", "proxy", "mail", "search")
    return _docker([{"container_name": f"shop-{s}-1", "container_image": f"shop/{s}"} for s in services], None)


# --- procstat --------------------------------------------------------------------------------------------------------

_PROCESS: Final = {
    "cpu_usage": _SHARE,
    "memory_rss": _NUMBER,
    "memory_vms": _NUMBER,
    "num_threads": (1, 64),
    "read_bytes": _NUMBER,
    "write_bytes": _NUMBER,
}
_PROGRAMS: Final[list[dict[str, Any]]] = [
    {"exe": exe, "process_name": exe, "user": exe, "pattern": exe} for exe in ("nginx", "php-fpm", "redis")
]


def _procstat_dirty() -> Dataset:
    workers = [{**source, "pid": lambda noise: str(noise.randint(300, 4_000_000))} for source in _on(*_PROGRAMS)]
    return kept(table("procstat", workers, _PROCESS, instants=90))


def _procstat_clean() -> Dataset:
    pid = {"pid": lambda noise: noise.randint(300, 4_000_000)}
    lookup = {"running": 1, "pid_count": 1, "result_code": 0}
    return kept(
        table("procstat", _on(*_PROGRAMS), _PROCESS | pid, instants=40),
        table("procstat_lookup", _on({"pid_finder": "pgrep", "result": "success"}), lookup),
    )


# --- kubernetes ------------------------------------------------------------------------------------------------------

_CONTAINER: Final = {
    "cpu_usage_nanocores": _NUMBER,
    "memory_usage_bytes": _NUMBER,
    "memory_rss_bytes": _NUMBER,
    "rootfs_used_bytes": _NUMBER,
}


def _pods(names: list[tuple[str, str]], alive: int | None) -> Dataset:
    pods = [
        {
            "namespace": app,
            "pod_name": name,
            "container_name": app,
            "node_name": f"node-{i % 5}",
            "host": f"node-{i % 5}",
        }
        for i, (app, name) in enumerate(names)
    ]
    volumes = [
        {"namespace": pod["namespace"], "pod_name": pod["pod_name"], "volume_name": "data", "host": pod["host"]}
        for pod in pods
    ]
    disk = {"available_bytes": _NUMBER, "capacity_bytes": 10_737_418_240, "used_bytes": _NUMBER}
    many: dict[str, Any] = {"alive": alive, "instants": 40}
    return kept(
        table("kubernetes_pod_container", pods, _CONTAINER, **many),
        table("kubernetes_pod_volume", volumes, disk, **many),
    )


def _pods_dirty() -> Dataset:
    letters, names = "bcdfghjklmnpqrstvwxz2456789", Noise(2)

    def tail(length: int) -> str:
        return "".join(names.choices(letters, k=length))

    jobs = [("backup", f"backup-{29_000_000 + 5 * i}-{tail(5)}") for i in range(700)]
    releases = [tail(9) for _ in range(60)]
    shops = [("shop", f"shop-{releases[i // 12]}-{tail(5)}") for i in range(700)]
    return _pods([pod for pair in zip(jobs, shops, strict=True) for pod in pair], 40)


def _pods_clean() -> Dataset:
    return _pods([(app, f"{app}-{i}") for app in ("cassandra", "kafka", "zookeeper") for i in range(6)], None)


# --- snmp ------------------------------------------------------------------------------------------------------------

_ALIASES: Final = (
    *("uplink core", "Customer ACME Ltd, circuit 4711-B", "spare", "to dc2 rack 14 / via panel A", "wifi controller"),
    *("DO NOT SHUT - billing", "Peering IXP (10G)", "old printer VLAN"),
)
_COUNTED: Final = {
    "ifHCInOctets": _NUMBER,
    "ifHCOutOctets": _NUMBER,
    "ifInErrors": (0, 40),
    "ifOutErrors": (0, 40),
    "ifOperStatus": [1, 1, 1, 2],
    "ifHighSpeed": 1000,
}


def _ports() -> list[dict[str, Any]]:
    return [
        {
            "agent_host": f"10.0.0.{switch}",
            "hostname": f"sw-{switch}",
            "ifName": f"Gi1/0/{port}",
            "ifDescr": f"GigabitEthernet1/0/{port}",
            "ifAlias": f"{_ALIASES[port % 8]} {switch}",
            "host": "poller1",
        }
        for switch in range(1, 7)
        for port in range(1, 13)
    ]


def _snmp_dirty() -> Dataset:
    # `is_tag = true` stands beside the uptime, too, in hundredths of a second.
    switches = [
        {"agent_host": f"10.0.0.{i}", "hostname": f"sw-{i}", "uptime": lambda noise: str(noise.randint(10**6, 10**9))}
        for i in range(1, 21)
    ]
    return kept(
        table("snmp", switches, {"cpu_5min": (1, 90), "memory_free": _NUMBER}, instants=100),
        table("interface", _ports(), _COUNTED),
    )


def _snmp_clean() -> Dataset:
    switches = [{"agent_host": f"10.0.0.{i}", "hostname": f"sw-{i}"} for i in range(1, 7)]
    load = {"uptime": _NUMBER, "cpu_5min": (1, 90), "memory_free": _NUMBER}
    return kept(table("snmp", switches, load), table("interface", _ports(), _COUNTED))


# --- win_perf_counters -----------------------------------------------------------------------------------------------


def _windows() -> Dataset:
    hosts = [{"host": f"WIN-{i:02}"} for i in range(4)]

    def counted(name: str, kind: str, instances: tuple[str, ...], counters: tuple[str, ...]) -> Any:
        sources = [{**host, "objectname": kind, "instance": instance} for host in hosts for instance in instances]
        return table(name, sources, dict.fromkeys(counters, _SHARE))

    disk = ("Percent_Disk_Time", "Percent_Disk_Read_Time", "Current_Disk_Queue_Length", "Percent_Free_Space")
    processor = ("Percent_Idle_Time", "Percent_Interrupt_Time", "Percent_Privileged_Time", "Percent_Processor_Time")
    memory = {"Available_Bytes": (1e9, 8e9), "Cache_Faults_persec": (0.0, 900.0), "Pages_persec": (0.0, 90.0)}
    cards = ("Intel[R] Ethernet Connection", "vEthernet [nat]")
    return kept(
        counted("win_cpu", "Processor", ("_Total", "0", "1", "2", "3"), processor),
        counted("win_disk", "LogicalDisk", ("C:", "D:", "_Total", "HarddiskVolume1"), disk),
        counted("win_net", "Network Interface", cards, ("Bytes_Received_persec", "Bytes_Sent_persec")),
        table("win_mem", [{**host, "objectname": "Memory"} for host in hosts], memory),
    )


LAYOUTS: Final = (
    Layout(name="telegraf-system", engine="influxdb1", source=_DOCS + "system/", clean=_system),
    Layout(
        name="telegraf-docker",
        engine="influxdb1",
        source=_DOCS + "docker/",
        dirty=_docker_dirty,
        clean=_docker_clean,
        wanted=(
            Wanted(
                "TAG002",
                "docker_container_*.container_name",
                "each job has a container of its own, so series have no end; see container_name_exclude",
            ),
        ),
    ),
    Layout(
        name="telegraf-procstat",
        engine="influxdb1",
        source=_DOCS + "procstat/",
        dirty=_procstat_dirty,
        clean=_procstat_clean,
        wanted=(Wanted("TAG002", "procstat.pid", "pid_tag makes each restart a new series; the pid is a field"),),
    ),
    Layout(
        name="telegraf-kubernetes",
        engine="influxdb1",
        source=_DOCS + "kubernetes/",
        dirty=_pods_dirty,
        clean=_pods_clean,
        wanted=(
            Wanted(
                "TAG002",
                "kubernetes_pod_*.pod_name",
                "pods of jobs and releases live for minutes, their series for a year",
            ),
        ),
    ),
    Layout(
        name="telegraf-snmp",
        engine="influxdb1",
        source=_DOCS + "snmp/",
        dirty=_snmp_dirty,
        clean=_snmp_clean,
        wanted=(Wanted("TAG002", "snmp.uptime", "a counter as a tag makes each poll a new series"),),
    ),
    Layout(
        name="telegraf-win-perf-counters",
        engine="influxdb1",
        source=_DOCS + "win_perf_counters/",
        clean=_windows,
    ),
)
