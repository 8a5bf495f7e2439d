"""Collectd, and Graphite's dotted names with and without templates, in InfluxDB 1.x."""

from __future__ import annotations

from typing import Any, Final

from tests.databases import Dataset
from tests.layouts.layout import Layout, Wanted
from tests.layouts.series import kept, table

_HOSTS: Final = [f"web{i:02}" for i in range(5)]
_METRICS: Final = [f"{a}.{b}" for a in ("cpu", "memory", "df-root") for b in ("used", "free", "system", "user")]


def _dotted() -> Dataset:
    names = [f"servers.{host}.{metric}" for host in _HOSTS for metric in _METRICS]
    return kept(*(table(name, [{}], {"value": (0.0, 100.0)}, instants=10) for name in names))


def _templated() -> Dataset:
    # `templates = ["servers.* .host.measurement.field"]`.
    hosts = [{"host": host} for host in _HOSTS]
    values = dict.fromkeys(("used", "free", "system", "user"), (0.0, 100.0))
    return kept(*(table(name, hosts, values) for name in ("cpu", "memory", "df-root")))


def _collectd() -> Dataset:
    def typed(name: str, kind: str, instances: tuple[str, ...], types: tuple[str, ...]) -> Any:
        sources = [
            {"host": host, "type": kind, **({"instance": i} if i else {}), **({"type_instance": t} if t else {})}
            for host in _HOSTS
            for i in instances
            for t in types
        ]
        return table(name, sources, {"value": (0.0, 1e6)}, instants=12)

    return kept(
        typed("cpu_value", "cpu", ("0", "1", "2", "3"), ("idle", "user", "system", "wait", "nice", "interrupt")),
        typed("memory_value", "memory", ("",), ("used", "free", "cached", "buffered")),
        typed("df_value", "df_complex", ("root", "boot", "var-lib"), ("free", "used", "reserved")),
        *(typed(f"interface_{way}", "if_octets", ("eth0", "lo"), ("",)) for way in ("rx", "tx")),
        *(typed(f"load_{term}", "load", ("",), ("",)) for term in ("shortterm", "midterm", "longterm")),
    )


LAYOUTS: Final = (
    Layout(
        name="graphite-dotted-names",
        engine="influxdb1",
        source="https://docs.influxdata.com/influxdb/v1/supported_protocols/graphite/",
        dirty=_dotted,
        clean=_templated,
        wanted=(
            Wanted(
                "NAM002",
                "*",
                "hosts and fields in sixty names: one template makes measurements and tags of them",
            ),
        ),
    ),
    Layout(
        name="collectd",
        engine="influxdb1",
        source="https://docs.influxdata.com/influxdb/v1/supported_protocols/collectd/",
        clean=_collectd,
    ),
)
