"""Virtual machines, devices and benchmarks in InfluxDB 1.x."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from tests.databases import Dataset
from tests.layouts.layout import Layout, Wanted
from tests.layouts.series import Noise, kept, table

_NUMBER: Final = (1, 10**10)


def _proxmox() -> Dataset:
    nodes = ("pve1", "pve2", "pve3")
    guests = [
        {"host": name, "nodename": nodes[i % 3], "object": "qemu", "vmid": str(100 + i)}
        for i, name in enumerate(("mail", "web", "db", "backup", "git", "wiki", "ci", "proxy", "dns", "ldap"))
    ]
    hosts = [{"host": node, "object": "nodes"} for node in nodes]
    storages = [
        {"host": s, "nodename": n, "object": "storages", "type": s} for n in nodes for s in ("local", "zfspool")
    ]
    guest = dict.fromkeys(
        ("cpus", "disk", "diskread", "diskwrite", "maxdisk", "maxmem", "mem", "netin", "netout"), _NUMBER
    )
    cpu = dict.fromkeys(
        ("avg1", "avg5", "avg15", "cpu", "idle", "iowait", "system", "user", "used", "wait"), (0.0, 99.0)
    )
    space = dict.fromkeys(("active", "avail", "content", "enabled", "shared", "total", "used"), _NUMBER)
    return kept(
        table("system", guests, guest | {"uptime": _NUMBER, "cpu": (0.0, 1.0), "name": "guest"}),
        table("cpustat", hosts, cpu | {"cpus": 32}),
        table("memory", hosts, dict.fromkeys(("memfree", "memshared", "memtotal", "memused", "swapfree"), _NUMBER)),
        table(
            "nics",
            [{**h, "instance": i} for h in hosts for i in ("eno1", "vmbr0")],
            {"receive": _NUMBER, "transmit": _NUMBER},
        ),
        table("storage", storages, space),
    )


_TSBS: Final = {
    "cpu": tuple(
        f"usage_{x}" for x in ("user", "system", "idle", "nice", "iowait", "irq", "softirq", "steal", "guest")
    ),
    "diskio": ("reads", "writes", "read_bytes", "write_bytes", "read_time", "write_time", "io_time"),
    "disk": ("total", "free", "used", "used_percent", "inodes_total", "inodes_free", "inodes_used"),
    "kernel": ("boot_time", "interrupts", "context_switches", "processes_forked", "disk_pages_in", "disk_pages_out"),
    "mem": ("total", "available", "used", "free", "cached", "buffered", "used_percent"),
    "net": ("bytes_sent", "bytes_recv", "packets_sent", "packets_recv", "err_in", "err_out", "drop_in", "drop_out"),
    "nginx": ("accepts", "active", "handled", "reading", "requests", "waiting", "writing"),
    "postgresl": ("numbackends", "xact_commit", "xact_rollback", "blks_read", "blks_hit", "tup_returned", "deadlocks"),
    "redis": ("uptime_in_seconds", "total_connections_received", "expired_keys", "evicted_keys", "keyspace_hits"),
}


def _tsbs() -> Dataset:
    def host(number: int) -> dict[str, Any]:
        region = ("eu-central-1", "us-west-1", "ap-northeast-1")[number % 3]
        return {
            "hostname": f"host_{number}",
            "region": region,
            "datacenter": f"{region}{'ab'[number % 2]}",
            "rack": str(number * 37 % 100),
            "os": ("Ubuntu16.10", "Ubuntu15.10", "Ubuntu16.04LTS")[number % 3],
            "arch": ("x64", "x86")[number % 2],
            "team": ("SF", "NYC", "LON", "CHI")[number % 4],
            "service": str(number * 7 % 20),
            "service_version": str(number % 2),
            "service_environment": ("production", "staging", "test")[number % 3],
        }

    hosts = [host(number) for number in range(12)]
    of_kind = {
        "disk": {"path": "/dev/sda1", "fstype": "ext4"},
        "diskio": {"serial": "694-511-162"},
        "net": {"interface": "eth0"},
    }
    of_kind |= {"nginx": {"port": "12552", "server": "nginx_65466"}, "redis": {"port": "6379", "server": "redis_42"}}
    return kept(
        *(
            table(
                name,
                [h | of_kind.get(name, {}) for h in hosts],
                dict.fromkeys(fields, (0, 100)),
                step=timedelta(seconds=10),
            )
            for name, fields in _TSBS.items()
        )
    )


def _chirpstack() -> Dataset:
    """A fleet of 250 sensors by their serials, each with a few uplinks: as many in a year from now."""
    noise = Noise(8)
    sensors = [
        {
            "application_name": ("meters", "parking")[i % 2],
            "dev_eui": f"70b3d57ed0{noise.getrandbits(24):06x}",
            "device_name": f"{('meter', 'bay')[i % 2]}-{i:03}",
        }
        for i in range(250)
    ]
    radio = [s | {"dr": ("0", "3", "5")[i % 3], "frequency": "868100000"} for i, s in enumerate(sensors)]
    payload = [s | {"f_port": "2"} for s in sensors]
    hours: dict[str, Any] = {"instants": 6, "step": timedelta(hours=4), "apart": timedelta(seconds=31)}
    received = {"f_cnt": (1, 9_000), "rssi": (-120, -60), "snr": (-12.0, 9.0), "value": 1}
    return kept(
        table("device_uplink", radio, received, **hours),
        table("device_frmpayload_data_temperature", payload, {"value": (5.0, 30.0)}, **hours),
        table("device_frmpayload_data_battery", payload, {"value": (2.9, 3.6)}, **hours),
    )


def _dated() -> Dataset:
    months = [f"{year}m{month:02}" for year in (2024, 2025) for month in range(1, 13)] + [
        "2026m01",
        "2026m02",
        "2026m03",
    ]
    signs = [{"kind": kind} for kind in ("login", "logout", "purchase")]
    return kept(
        *(
            table(
                f"events_{month}",
                signs,
                {"duration": (1.0, 90.0), "ok": [True, False]},
                instants=12,
                step=timedelta(hours=2),
            )
            for month in months
        )
    )


def _one_of_all_months() -> Dataset:
    signs = [{"kind": kind} for kind in ("login", "logout", "purchase")]
    return kept(table("events", signs, {"duration": (1.0, 90.0), "ok": [True, False]}, instants=300))


LAYOUTS: Final = (
    Layout(
        name="proxmox",
        engine="influxdb1",
        source="https://pve.proxmox.com/wiki/External_Metric_Server",
        clean=_proxmox,
    ),
    Layout(
        name="tsbs-devops",
        engine="influxdb1",
        source="https://github.com/timescale/tsbs",
        clean=_tsbs,
    ),
    Layout(
        name="chirpstack",
        engine="influxdb1",
        source="https://www.chirpstack.io/application-server/integrations/influxdb/",
        clean=_chirpstack,
    ),
    Layout(
        name="dated-measurements",
        engine="influxdb1",
        source="https://docs.influxdata.com/influxdb/v2/write-data/best-practices/schema-design/",
        dirty=_dated,
        clean=_one_of_all_months,
        wanted=(Wanted("NAM002", "*", "a measurement for each month: retention drops old months without it"),),
    ),
)
