"""Layouts on InfluxDB 1.x: gateways, proxies, builds, cameras, networks."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, timedelta
from typing import Any, Final

from tests.databases import Dataset, Row, Table
from tests.layouts.layout import Layout, Wanted
from tests.layouts.series import Noise, hex_id, kept, table

LEAK: Final = "TAG002|TAG003|CAR001|CAR004"
TELEGRAF: Final = "https://docs.influxdata.com/telegraf/v1/input-plugins/"


def joined(*parts: Table) -> Table:
    """One table of several of its name."""
    tags = list(dict.fromkeys(tag for part in parts for tag in part.tags))
    fields = {key: kind for part in parts for key, kind in part.fields.items()}
    return Table(parts[0].name, tags, fields, [row for part in parts for row in part.rows], ("time", *tags))


# --- Telegraf's modbus: the meters of an apartment house --------------------------------------------------------------

_METER: Final = {
    **{f"U_L{n}": (226.0, 238.0) for n in (1, 2, 3)},
    **{f"I_L{n}": (0.0, 16.0) for n in (1, 2, 3)},
    "P_sum": (0.0, 9_000.0),
    "E_Bezug_kWh": (900.0, 42_000.0),
}


def _flats() -> list[dict[str, Any]]:
    return [
        {"name": f"Zähler WE{n:03}", "slave_id": str(n), "type": "holding_register", "host": "keller-gw1"}
        for n in range(1, 73)
    ]


def _modbus_dirty() -> Dataset:
    # The block of the configuration is copied for each meter, with a name_override of its own.
    return kept(
        *(table(f"modbus_Zaehler_WE{n:03}", [one], _METER, instants=24) for n, one in enumerate(_flats(), 1)),
        table("modbus_Heizung", [_flats()[0] | {"name": "Wärmepumpe"}], {"Vorlauf": (28.0, 55.0), "COP": (1.0, 5.0)}),
    )


def _modbus_clean() -> Dataset:
    heating = [{"name": "Wärmepumpe", "slave_id": "200", "type": "input_register", "host": "keller-gw1"}]
    return kept(
        table("modbus", _flats(), _METER, instants=24),
        table("modbus_Heizung", heating, {"Vorlauf": (28.0, 55.0), "COP": (1.0, 5.0)}, instants=144),
    )


# --- Traefik ----------------------------------------------------------------------------------------------------------

_SHOP: Final = ("shop-web-80", "shop-api-8080", "billing-api-8080", "auth-keycloak-8443", "docs-nginx-80")
_PERCENTILES: Final = dict.fromkeys(("p50", "p90", "p95", "p99"), (0.002, 3.5))


def _asked(services: Iterable[str]) -> list[dict[str, Any]]:
    answers = (("GET", "200"), ("GET", "404"), ("POST", "201"), ("POST", "500"))
    return [
        {"service": f"{name}@kubernetes", "protocol": "http", "method": method, "code": code}
        for name in services
        for method, code in answers
    ]


def _traefik(previews: int) -> Dataset:
    noise = Noise(71)
    names = [f"pr-{4100 + 3 * n}-{hex_id(8)(noise)}-shop-web-80" for n in range(previews)]
    usual, short = _asked(_SHOP), _asked(names)
    entry = [{"entrypoint": name, "protocol": p, "method": "GET"} for name in ("web", "websecure") for p in ("http",)]
    counted, took = {"count": (1.0, 900.0)}, "traefik.service.request.duration"
    requests = [table("traefik.service.requests.total", usual, counted, instants=60)]
    lasting = [table(took, usual, _PERCENTILES, instants=60)]
    if previews:
        requests.append(table("traefik.service.requests.total", short, counted, alive=60, instants=60))
        lasting.append(table(took, short, _PERCENTILES, alive=60, instants=60))
    return kept(
        joined(*requests),
        joined(*lasting),
        table("traefik.entrypoint.open.connections", entry, {"value": (0.0, 90.0)}, instants=60),
        table("traefik.config.reload.total", [{}], {"count": (0.0, 2.0)}, instants=60),
    )


# --- Jenkins ----------------------------------------------------------------------------------------------------------

_JOBS: Final = ["checkout", "search-service", "Mobile App (iOS)", "infra/terraform", "data_platform", "docs"]


def _build(**more: Any) -> dict[str, Any]:
    return {
        "build_number": (100, 4_000),
        "build_time": (9_000, 2_400_000),
        "build_result_ordinal": [0, 0, 0, 0, 1, 2],
        "build_successful": [True, True, True, False],
        "build_agent_name": ["agent-1", "agent-2", "agent-3", "macmini"],
        "tests_failed": (0, 9),
        "project_build_health": (0, 100),
        **more,
    }


def _job(**more: Any) -> dict[str, Any]:
    return {"project_name": _JOBS, "build_result": ["SUCCESS", "SUCCESS", "SUCCESS", "UNSTABLE", "FAILURE"], **more}


def _branch(noise: Noise) -> str:
    return noise.choice(("main", "main", "develop", f"PR-{noise.randrange(700, 4_000)}"))


def _jenkins(commit_as_tag: bool) -> Dataset:
    commit = {"git_commit": hex_id(40)}
    of_tag, of_field = ({**commit, "branch": _branch}, {}) if commit_as_tag else ({}, {**commit, "branch": _branch})
    step: dict[str, Any] = {"instants": 2_400, "step": timedelta(minutes=9)}
    return kept(
        table("jenkins_data", [_job(prefix="prod", **of_tag)], _build(**of_field), **step),
        table("agent_data", [{"agent_name": f"agent-{n}"} for n in (1, 2, 3)], {"executors_busy": (0, 4)}, instants=90),
    )


# --- Node-RED and Shelly ----------------------------------------------------------------------------------------------

_ROOMS: Final = ("Küche", "Wohnzimmer", "Bad OG", "Garage", "Büro", "Kinderzimmer 2")


def _shelly(text: bool) -> Dataset:
    noise = Noise(72)
    plugs = [{"device": f"shellyplus1pm-a8032a{noise.getrandbits(24):06x}", "room": r, "channel": "0"} for r in _ROOMS]

    def said(low: float, high: float) -> Any:
        return (lambda n: f"{n.uniform(low, high):.1f}") if text else (low, high)

    values = {
        "apower": said(0.0, 2_300.0),
        "voltage": said(226.0, 238.0),
        "current": said(0.0, 10.0),
        "temperature_tC": said(24.0, 61.0),
        "output": [True, False],
    }
    doors = [{"device": f"shellydw2-{noise.getrandbits(24):06X}", "room": r} for r in _ROOMS[:3]]
    return kept(
        table("shelly", plugs, values, instants=300, step=timedelta(minutes=1)),
        table("door", doors, {"state": ["open", "close"], "lux": (0, 900), "bat": (40, 100)}, instants=48),
    )


# --- Icinga 2 ---------------------------------------------------------------------------------------------------------

_HOSTS: Final = [f"{kind}{n:02}.example.net" for kind in ("web", "db", "mail") for n in range(1, 6)]
_PERFDATA: Final = {"value": (0.0, 4e10), "warn": 3.2e10, "crit": 3.6e10, "min": 0.0, "max": 4e10}


def _icinga(mounts: int) -> Dataset:
    noise = Noise(73)
    disks = [{"hostname": h, "service": "disk", "metric": m} for h in _HOSTS for m in ("/", "/boot", "/var")]
    layers = [
        {
            "hostname": f"web0{1 + n % 5}.example.net",
            "service": "disk",
            "metric": f"/var/lib/docker/overlay2/{i}/merged",
        }
        for n, i in enumerate(hex_id(64)(noise) for _ in range(mounts))
    ]
    disk = [table("disk", disks, _PERFDATA, instants=72)]
    if mounts:
        disk.append(table("disk", layers, _PERFDATA, alive=40, instants=72))
    pings = [{"hostname": h, "metric": "rta"} for h in _HOSTS]
    loads = [{"hostname": h, "service": "load", "metric": m} for h in _HOSTS for m in ("load1", "load5", "load15")]
    return kept(
        joined(*disk),
        table("hostalive", pings, {"value": (0.0002, 0.04), "warn": 3.0, "crit": 5.0, "min": 0.0}, instants=72),
        table("load", loads, {"value": (0.0, 8.0), "warn": 10.0, "crit": 20.0}, instants=72),
    )


# --- wmbusmeters ------------------------------------------------------------------------------------------------------


def _wmbus(stamped: bool) -> Dataset:
    noise = Noise(74)
    kinds = (("multical21", "cold water"), ("iperl", "cold water"), ("qcaloric", "heat cost allocation"))
    meters = [
        {"id": f"{noise.randrange(10**7, 10**8)}", "name": f"Top{n:02}", "meter": kind, "media": media}
        for n in range(1, 31)
        for kind, media in (kinds[n % 3],)
    ]
    values = {"total_m3": (10.0, 900.0), "target_m3": (10.0, 900.0), "rssi_dbm": (-104, -51), "status": ["OK", "DRY"]}
    made = table("wmbusmeters", meters, values, instants=96, step=timedelta(minutes=15), apart=timedelta(seconds=7))
    if not stamped:
        return kept(made)
    rows = [
        Row(r.time, {**r.tags, "timestamp": r.time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}, r.fields)
        for r in made.rows
    ]
    return kept(Table(made.name, (*made.tags, "timestamp"), made.fields, rows, ("time", *made.tags, "timestamp")))


# --- Frigate ----------------------------------------------------------------------------------------------------------


def _event(noise: Noise) -> str:
    tail = "".join(noise.choice("abcdefghijklmnopqrstuvwxyz0123456789") for _ in range(6))
    return f"{1_774_000_000 + noise.randrange(900_000)}.{noise.randrange(10**6):06}-{tail}"


def _frigate(id_as_tag: bool) -> Dataset:
    seen = {"camera": ["hof", "einfahrt", "garten_nord"], "label": ["person", "car", "cat", "bird"], "type": "end"}
    values = {"top_score": (0.55, 0.99), "score": (0.4, 0.99), "area": (900, 90_000), "stationary": [True, False]}
    of_tag, of_field = ({"id": _event}, {}) if id_as_tag else ({}, {"id": _event})
    cameras = [{"camera": c} for c in ("hof", "einfahrt", "garten_nord")]
    rates = {"camera_fps": (4.8, 5.2), "detection_fps": (0.0, 9.0), "process_fps": (4.8, 5.2), "skipped_fps": 0.0}
    return kept(
        table("frigate_events", [seen | of_tag], values | of_field, instants=2_500, step=timedelta(minutes=4)),
        table("frigate_stats", cameras, rates, instants=240, step=timedelta(minutes=1)),
    )


LAYOUTS: Final = (
    Layout(
        "telegraf-modbus",
        "influxdb1",
        TELEGRAF + "modbus/",
        _modbus_dirty,
        _modbus_clean,
        (Wanted("NAM002", "*", "a measurement for each of 72 meters: one, with the meter as a tag"),),
    ),
    Layout(
        "traefik",
        "influxdb1",
        "https://doc.traefik.io/traefik/v2.11/observability/metrics/influxdb/",
        lambda: _traefik(400),
        lambda: _traefik(0),
        (Wanted(LEAK, "traefik.service.*service", "each preview of a merge request is a service, hence series"),),
    ),
    Layout(
        "jenkins",
        "influxdb1",
        "https://plugins.jenkins.io/influxdb/",
        lambda: _jenkins(True),
        lambda: _jenkins(False),
        (
            Wanted(LEAK, "jenkins_data.git_commit", "a series for each build: a field"),
            Wanted(LEAK, "jenkins_data.branch", "pull requests are without end: a field, or only long-lived branches"),
        ),
    ),
    Layout(
        "node-red-shelly",
        "influxdb1",
        "https://flows.nodered.org/node/node-red-contrib-influxdb",
        lambda: _shelly(True),
        lambda: _shelly(False),
        (Wanted("FLD002", "shelly*", "numbers written as text: mean() and every graph fail"),),
    ),
    Layout(
        "icinga2",
        "influxdb1",
        "https://icinga.com/docs/icinga-2/latest/doc/14-features/#influxdb-1x-writer",
        lambda: _icinga(1_400),
        lambda: _icinga(0),
        (Wanted(LEAK, "disk.metric", "mounts of containers that come and go: check_disk -X overlay"),),
    ),
    Layout(
        "wmbusmeters",
        "influxdb1",
        "https://github.com/wmbusmeters/wmbusmeters",
        lambda: _wmbus(True),
        lambda: _wmbus(False),
        (Wanted(LEAK, "wmbusmeters.timestamp", "the time of the telegram in a tag"),),
    ),
    Layout(
        "frigate",
        "influxdb1",
        "https://docs.frigate.video/integrations/mqtt/",
        lambda: _frigate(True),
        lambda: _frigate(False),
        (Wanted(LEAK, "frigate_events.id", "a series for each thing seen: a field"),),
    ),
)
