"""GreptimeDB, Timestream and InfluxDB 3: what five pipelines keep there, and what an expert expects to hear of each."""

from __future__ import annotations

import hashlib
import itertools
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final

from tests.blind.expected import BlindDatabase, Cause, Expected, Grade
from tests.builders import NOW
from tests.databases import Dataset, Greptime, Row, Table, Value


def _uuid(random: Random) -> str:
    return str(uuid.UUID(int=random.getrandbits(128), version=4))


# --- OpenTelemetry into GreptimeDB -------------------------------------------------------------------------------

_TRACES: Final = (
    Expected(
        Cause.SPARSE,
        "opentelemetry_traces.span_attributes.*",
        Grade.HARMLESS,
        "Attributes are a column each, empty in spans of another kind; a run of nulls costs nearly nothing in Parquet.",
    ),
    Expected(
        Cause.COLUMN_NAMES,
        "opentelemetry_traces*",
        Grade.HARMLESS,
        "Columns are named by attributes, but by those of the semantic conventions: 20 of them, none new for hours.",
    ),
    Expected(
        Cause.PARTITIONS,
        "opentelemetry_traces",
        Grade.HARMLESS,
        "16 partitions are many for 43,000 spans a day, but they are the default and cost 16 regions of one table.",
    ),
    Expected(
        Cause.REPEATED_BYTES,
        "opentelemetry_*",
        Grade.HARMLESS,
        "Attributes of the resource and names of the SDK are the same in each row; a dictionary keeps them once.",
    ),
)

_SERVICES: Final = ("checkout", "cart", "catalog", "payment", "frontend")
_OPERATIONS: Final = (
    ("GET /products", "SPAN_KIND_SERVER"),
    ("POST /orders", "SPAN_KIND_SERVER"),
    ("SELECT shop.products", "SPAN_KIND_CLIENT"),
    ("GET", "SPAN_KIND_CLIENT"),
)
_HTTP: Final = {
    "span_attributes.http.request.method": "string",
    "span_attributes.http.response.status_code": "integer",
    "span_attributes.http.route": "string",
    "span_attributes.url.scheme": "string",
    "span_attributes.url.path": "string",
    "span_attributes.url.full": "string",
    "span_attributes.server.address": "string",
    "span_attributes.server.port": "integer",
    "span_attributes.client.address": "string",
    "span_attributes.client.port": "integer",
    "span_attributes.network.protocol.version": "string",
    "span_attributes.user_agent.original": "string",
    "span_attributes.db.system": "string",
    "span_attributes.db.name": "string",
    "span_attributes.db.statement": "string",
    "resource_attributes.telemetry.sdk.language": "string",
    "resource_attributes.telemetry.sdk.name": "string",
    "resource_attributes.telemetry.sdk.version": "string",
    "resource_attributes.service.version": "string",
    "resource_attributes.host.name": "string",
}
_AGES_AWAY: Final = datetime(2100, 1, 1, tzinfo=UTC)


def _hexadecimal_partitions() -> tuple[str, ...]:
    """As GreptimeDB makes them for traces."""
    digits = "123456789abcdef"
    between = (f"trace_id >= '{a}' AND trace_id < '{b}'" for a, b in itertools.pairwise(digits))
    return ("trace_id < '1'", *between, "trace_id >= 'f'")


def _telemetry() -> Dataset:
    random = Random(11)
    traces = [(NOW - timedelta(seconds=8 * (2_700 - i)), f"{random.getrandbits(128):032x}") for i in range(2_700)]
    append = {"append_mode": "true", "ttl": "7d"}
    kept = Greptime(options={"append_mode": "false"})
    return Dataset(
        [
            Table(
                "opentelemetry_traces",
                ("service_name",),
                {
                    "timestamp_end": "time",
                    "duration_nano": "integer",
                    "trace_id": "string",
                    "span_id": "string",
                    "parent_span_id": "string",
                    "span_kind": "string",
                    "span_name": "string",
                    "span_status_code": "string",
                    "span_status_message": "string",
                    "trace_state": "string",
                    "scope_name": "string",
                    "scope_version": "string",
                    **_HTTP,
                    "span_events": "json",
                    "span_links": "json",
                },
                list(_spans(random, traces)),
                time="timestamp",
                greptime=Greptime(
                    options=append | {"table_data_model": "greptime_trace_v1"},
                    indexes={"service_name": "skipping", "trace_id": "skipping", "parent_span_id": "skipping"},
                    partition_by=("trace_id",),
                    partitions=_hexadecimal_partitions(),
                ),
            ),
            Table(
                "opentelemetry_traces_services",
                ("service_name",),
                {},
                [Row(_AGES_AWAY, {"service_name": s}) for s in _SERVICES],
                time="timestamp",
                greptime=kept,
            ),
            Table(
                "opentelemetry_traces_operations",
                ("service_name", "span_name", "span_kind"),
                {},
                [
                    Row(_AGES_AWAY, {"service_name": s, "span_name": name, "span_kind": kind})
                    for s in _SERVICES
                    for name, kind in _OPERATIONS
                ],
                time="timestamp",
                greptime=kept,
            ),
            Table(
                "opentelemetry_logs",
                ("scope_name",),
                {
                    "trace_id": "string",
                    "span_id": "string",
                    "severity_text": "string",
                    "severity_number": "integer",
                    "body": "string",
                    "log_attributes": "json",
                    "trace_flags": "integer",
                    "scope_version": "string",
                    "scope_attributes": "json",
                    "scope_schema_url": "string",
                    "resource_attributes": "json",
                    "resource_schema_url": "string",
                },
                list(_logs(random, traces)),
                time="timestamp",
                greptime=Greptime(options=append, indexes={"body": "fulltext", "trace_id": "skipping"}),
            ),
        ]
    )


def _spans(random: Random, traces: list[tuple[datetime, str]]) -> Iterator[Row]:
    """Four of each trace: a request, what it asks of a database, and of another service."""
    for n, (start, trace) in enumerate(traces):
        service = _SERVICES[n % len(_SERVICES)]
        parent = ""
        for step, (name, kind) in enumerate(_OPERATIONS):
            at = start + timedelta(microseconds=1_000 * step + random.randrange(900))
            duration = random.randrange(200_000, 80_000_000)
            span = f"{random.getrandbits(64):016x}"
            fields: dict[str, Value] = {
                "timestamp_end": at + timedelta(microseconds=duration // 1000),
                "duration_nano": duration,
                "trace_id": trace,
                "span_id": span,
                "parent_span_id": parent,
                "span_kind": kind,
                "span_name": name,
                "span_status_code": "STATUS_CODE_UNSET",
                "span_status_message": "",
                "trace_state": "",
                "scope_name": "opentelemetry.instrumentation.flask",
                "scope_version": "0.51b0",
                "resource_attributes.telemetry.sdk.language": "python",
                "resource_attributes.telemetry.sdk.name": "opentelemetry",
                "resource_attributes.telemetry.sdk.version": "1.30.0",
                "resource_attributes.service.version": "4.7.0",
                "resource_attributes.host.name": f"{service}-{n % 3}",
                "span_events": "[]",
                "span_links": "[]",
            }
            if kind == "SPAN_KIND_SERVER":
                method, path = name.split()
                fields |= {
                    "span_attributes.http.request.method": method,
                    "span_attributes.http.response.status_code": 200 if random.random() < 0.97 else 500,
                    "span_attributes.http.route": path,
                    "span_attributes.url.scheme": "http",
                    "span_attributes.url.path": path,
                    "span_attributes.server.address": f"{service}:8000",
                    "span_attributes.server.port": 8000,
                    "span_attributes.client.address": f"10.89.0.{random.randrange(2, 40)}",
                    "span_attributes.client.port": random.randrange(32_768, 60_999),
                    "span_attributes.network.protocol.version": "1.1",
                    "span_attributes.user_agent.original": "python-requests/2.32.3",
                }
            elif name == "GET":
                fields |= {
                    "span_attributes.http.request.method": "GET",
                    "span_attributes.http.response.status_code": 200,
                    "span_attributes.url.full": f"http://catalog:8000/products/{random.randrange(900)}",
                    "span_attributes.server.address": "catalog",
                    "span_attributes.server.port": 8000,
                }
            else:
                fields |= {
                    "span_attributes.db.system": "postgresql",
                    "span_attributes.db.name": "shop",
                    "span_attributes.db.statement": "SELECT id, name, price FROM products WHERE id = %s",
                }
            yield Row(at, {"service_name": service}, fields)
            parent = parent or span


def _logs(random: Random, traces: list[tuple[datetime, str]]) -> Iterator[Row]:
    for n, (start, trace) in enumerate(traces):
        service = _SERVICES[n % len(_SERVICES)]
        for step in range(2):
            yield Row(
                start + timedelta(milliseconds=2 + 3 * step, microseconds=random.randrange(900)),
                {"scope_name": f"{service}.views" if step else "werkzeug"},
                {
                    "trace_id": trace,
                    "span_id": f"{random.getrandbits(64):016x}",
                    "severity_text": "INFO",
                    "severity_number": 9,
                    "body": f"order {random.randrange(90_000)} has {random.randrange(1, 9)} items"
                    if step
                    else "200 OK",
                    "log_attributes": '{"code.lineno": 41}',
                    "trace_flags": 1,
                    "scope_version": "",
                    "scope_attributes": "{}",
                    "scope_schema_url": "",
                    "resource_attributes": f'{{"service.name": "{service}", "telemetry.sdk.language": "python"}}',
                    "resource_schema_url": "",
                },
            )


# --- Vector into GreptimeDB --------------------------------------------------------------------------------------

_VECTOR: Final = (
    Expected(
        Cause.ID_TAG,
        "api_requests.request_id",
        Grade.HARMFUL,
        "Each request is a key of its own: 48,000 new ones a day, 672,000 in the 14 days kept, where services alone "
        "are 6; the table merges by them in the format for few keys, so each flush and scan sorts all of them.",
    ),
    Expected(
        Cause.LOST,
        "nginx_access",
        Grade.HARMFUL,
        "The log has whole seconds and the key only three load balancers and the status, without append mode: of 8,000 "
        "requests in 4 hours 5,800 have key and time of another, and the server keeps the last one only.",
    ),
    Expected(
        Cause.INDEX,
        "api_requests.request_id",
        Grade.HARMLESS,
        "An inverted index of a unique value: 50 B a row, 34 MB in the 14 days kept; a skipping index would do.",
    ),
    Expected(
        Cause.OPTIONS,
        "api_requests",
        Grade.HARMLESS,
        "It merges by a unique id to drop what Kafka delivers twice, which costs time in scans, and is meant.",
    ),
    Expected(
        Cause.DEPENDENT_TAG,
        "host_cpu_seconds_total.*",
        Grade.HARMLESS,
        "Two of the four tags have one value, as Vector writes them for each host; there are 4 series.",
    ),
)

_AGENTS: Final = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/122.0.0.0 Safari/537.36",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.3 Safari/605",
    "Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:123.0) Gecko/20100101 Firefox/123.0",
)
_ASSETS: Final = ("/", "/app.css", "/app.js", "/logo.svg", "/api/session", "/api/items")


def _vector() -> Dataset:
    random = Random(12)
    return Dataset(
        [
            Table(
                "api_requests",
                ("service", "request_id"),
                {
                    "method": "string",
                    "path": "string",
                    "status": "integer",
                    "duration_ms": "float",
                    "bytes": "integer",
                },
                list(_api_requests(random)),
                time="ts",
                greptime=Greptime(
                    options={"ttl": "14d", "merge_mode": "last_row", "sst_format": "primary_key"},
                    indexes={"request_id": "inverted"},
                    time_digits=3,
                ),
            ),
            Table(
                "nginx_access",
                ("ip_address", "status_code"),
                {
                    "http_method": "string",
                    "request_line": "string",
                    "response_size": "integer",
                    "user_agent": "string",
                },
                list(_nginx(random)),
                time="timestamp",
                greptime=Greptime(
                    options={"ttl": "30d"},
                    indexes={"request_line": "fulltext", "user_agent": "fulltext"},
                    tag_types={"status_code": "integer"},
                ),
            ),
            Table(
                "host_cpu_seconds_total",
                ("host", "collector", "cpu", "mode"),
                {"val": "float"},
                list(_host_cpu()),
                time="ts",
                greptime=Greptime(options={"ttl": "30d", "merge_mode": "last_non_null"}),
            ),
        ]
    )


def _api_requests(random: Random) -> Iterator[Row]:
    """10,000 in five hours."""
    services = ("accounts", "billing", "catalog", "media", "orders", "search")
    for i in range(10_000):
        at = NOW - timedelta(milliseconds=1_800 * (10_000 - i))
        yield Row(
            at,
            {"service": random.choice(services), "request_id": _uuid(random)},
            {
                "method": random.choice(("GET", "GET", "GET", "POST")),
                "path": random.choice(("/v1/items", "/v1/items/search", "/v1/users/me", "/v1/orders")),
                "status": random.choice((200, 200, 200, 201, 404, 500)),
                "duration_ms": round(random.expovariate(1 / 40), 3),
                "bytes": random.randrange(120, 48_000),
            },
        )


def _nginx(random: Random) -> Iterator[Row]:
    """Pages of eight requests each, which a browser asks for within a second or two; the log has whole seconds."""
    for page in range(1_000):
        start = NOW - timedelta(seconds=round(14.4 * (1_000 - page)))
        balancer = f"10.0.0.{11 + random.randrange(3)}"
        agent = random.choice(_AGENTS)
        for n in range(8):
            yield Row(
                start + timedelta(seconds=n // 6),
                {"ip_address": balancer, "status_code": "404" if random.random() < 0.03 else "200"},
                {
                    "http_method": "GET",
                    "request_line": f"{_ASSETS[n % 6]}?v={random.randrange(10_000)} HTTP/1.1",
                    "response_size": random.randrange(200, 90_000),
                    "user_agent": agent,
                },
            )


def _host_cpu() -> Iterator[Row]:
    for minute in range(240):
        at = NOW - timedelta(minutes=240 - minute)
        for host in ("edge-1", "edge-2"):
            for mode, share in (("idle", 0.8), ("user", 0.15)):
                tags = {"host": host, "collector": "cpu", "cpu": "0", "mode": mode}
                yield Row(at, tags, {"val": round(80_000 + 60 * share * minute, 2)})


# --- AWS IoT into Timestream -------------------------------------------------------------------------------------

_TURBINES: Final = 50
_MESSAGES: Final = 50

_IOT: Final = (
    Expected(
        Cause.MONEY,
        "telemetry",
        Grade.HARMFUL,
        "The memory store keeps 30 days, though devices are never late by more than minutes: 17 million records of 114 "
        "B are 2.0 GB at $0.036 a GB and hour, $52 a month; with one day it is $2.",
    ),
    Expected(
        Cause.ID_TAG,
        "telemetry.message_id",
        Grade.HARMFUL,
        "A new UUID per message, 72,000 a day, is 46 of the 114 B in each of 17 million records a month: $21 of $52 in "
        "the memory store.",
    ),
    Expected(
        Cause.ROWS_LAYOUT,
        "telemetry",
        Grade.HARMFUL,
        "Eight measures of a message are eight records, each with all dimensions again: 910 B where one record of all "
        "eight has 250 B, so 72 % of $52 a month.",
    ),
    Expected(
        Cause.DEPENDENT_TAG,
        "telemetry.site",
        Grade.HARMLESS,
        "The site follows from the device: 9 B of 114 B are $4 a month, and queries filter by it.",
    ),
    Expected(
        Cause.DEPENDENT_TAG,
        "telemetry.firmware",
        Grade.HARMLESS,
        "The firmware follows from the device, until an update: 13 B of 114 B are $6 a month.",
    ),
)

_MEASURES: Final = {
    "rotor_speed": 12.4,
    "wind_speed": 8.1,
    "power_output": 1_420.0,
    "nacelle_temp": 31.5,
    "gearbox_temp": 58.2,
    "blade_pitch": 4.3,
    "yaw_angle": 182.0,
    "vibration": 0.02,
}


def _iot() -> Dataset:
    return Dataset(
        [
            Table(
                "telemetry",
                ("device_id", "site", "firmware", "message_id"),
                {"measure_value::double": "float"},
                list(_turbines(Random(13))),
                timestream={
                    "RetentionProperties": {
                        "MemoryStoreRetentionPeriodInHours": 720,
                        "MagneticStoreRetentionPeriodInDays": 365,
                    }
                },
            )
        ]
    )


def _turbines(random: Random) -> Iterator[Row]:
    """Each turbine once a minute; the rule writes a record for each attribute of the message."""
    for minute in range(_MESSAGES):
        for device in range(_TURBINES):
            at = NOW - timedelta(minutes=_MESSAGES - minute) + timedelta(milliseconds=1_150 * device)
            dimensions = {
                "device_id": f"turbine-{device:02}",
                "site": f"wf-{device % 5:02}",
                "firmware": ("3.1.4", "3.2.0")[device % 2],
                "message_id": _uuid(random),
            }
            for name, mean in _MEASURES.items():
                value = round(mean * (0.9 + random.random() / 5), 3)
                yield Row(at, dimensions, {"measure_value::double": value}, measure_name=name)


# --- Telegraf into InfluxDB 3 ------------------------------------------------------------------------------------

_TELEGRAF: Final = (
    Expected(
        Cause.ID_TAG,
        "docker_container_*.container_name",
        Grade.HARMLESS,
        "A job of the runner is a container of a new name, 1,440 a day; InfluxDB 3 has no index of series, so they "
        "cost a dictionary entry each.",
    ),
    Expected(
        Cause.DEPENDENT_TAG,
        "docker*",
        Grade.HARMLESS,
        "Image, version and server follow from the container and the host; in Parquet that is nearly nothing.",
    ),
    Expected(
        Cause.REPEATED_BYTES,
        "docker_container_*.container_id",
        Grade.HARMLESS,
        "64 characters in each row, but a dictionary keeps each once: some 10 MB in the 30 days kept.",
    ),
)

_MEMORY: Final = (
    *("active_anon", "active_file", "cache", "inactive_anon", "inactive_file", "limit", "mapped_file"),
    *("max_usage", "pgfault", "pgmajfault", "unevictable", "usage"),
)
_CPU: Final = (
    *("throttling_periods", "throttling_throttled_periods", "throttling_throttled_time"),
    *("usage_in_kernelmode", "usage_in_usermode", "usage_system", "usage_total"),
)
_NETWORK: Final = (
    *("rx_bytes", "rx_dropped", "rx_errors", "rx_packets", "tx_bytes", "tx_dropped", "tx_errors", "tx_packets"),
)
_CONTAINER: Final = (
    *("container_image", "container_name", "container_status", "container_version"),
    *("engine_host", "host", "server_version"),
)
_LIVING: Final = ("gitea", "postgres", "traefik", "registry")


def _telegraf() -> Dataset:
    rows: dict[str, list[Row]] = {"docker_container_cpu": [], "docker_container_mem": [], "docker_container_net": []}
    engine: list[Row] = []
    random = Random(14)
    for minute in range(410):
        at = NOW - timedelta(minutes=410 - minute)
        for number in range(3):
            host = f"runner-{number}"
            tags = {"engine_host": host, "host": host, "server_version": "25.0.3"}
            counts = {"n_containers": 5, "n_containers_running": 5, "n_images": 40 + number, "n_goroutines": 90}
            engine.append(Row(at, tags, counts))
            job = f"runner-t1-project-{number}-concurrent-0-{minute // 3:08x}"
            for container in (*_LIVING, job):
                about = tags | {
                    "container_image": container if container in _LIVING else "node",
                    "container_name": container,
                    "container_status": "running",
                    "container_version": "20" if container == job else "latest",
                }
                identity = hashlib.sha256(f"{host} {container}".encode()).hexdigest()
                for table, names, extra in (
                    ("docker_container_cpu", _CPU, {"cpu": "cpu-total"}),
                    ("docker_container_mem", _MEMORY, {}),
                    ("docker_container_net", _NETWORK, {"network": "eth0"}),
                ):
                    fields: dict[str, Value] = {
                        n: 0 if "errors" in n or "dropped" in n else minute * 1_000 for n in names
                    }
                    fields |= {names[-1]: random.randrange(10**9), "container_id": identity}
                    if table == "docker_container_cpu":
                        fields["usage_percent"] = round(random.random() * 60, 4)
                    rows[table].append(Row(at, about | extra, fields))
    identity_of: dict[str, str] = {"container_id": "string"}
    return Dataset(
        [
            Table(
                "docker_container_cpu",
                (*_CONTAINER, "cpu"),
                dict.fromkeys(_CPU, "integer") | {"usage_percent": "float"} | identity_of,
                rows["docker_container_cpu"],
            ),
            Table(
                "docker_container_mem",
                _CONTAINER,
                dict.fromkeys(_MEMORY, "integer") | identity_of,
                rows["docker_container_mem"],
            ),
            Table(
                "docker_container_net",
                (*_CONTAINER, "network"),
                dict.fromkeys(_NETWORK, "integer") | identity_of,
                rows["docker_container_net"],
            ),
            Table(
                "docker",
                ("engine_host", "host", "server_version"),
                dict.fromkeys(("n_containers", "n_containers_running", "n_images", "n_goroutines"), "integer"),
                engine,
            ),
        ],
        retention=timedelta(days=30),
    )


# --- Home Assistant into InfluxDB 3 ------------------------------------------------------------------------------

_SEEN_A_DAY: Final = 10
_HOME_DAYS: Final = 30

_HOME: Final = (
    Expected(
        Cause.LIMIT,
        "state*",
        Grade.HARMFUL,
        "The table has 456 of the 500 columns that it may have and gets 10 new ones a day: in 4 days the server "
        "rejects points with an attribute it has not seen.",
    ),
    Expected(
        Cause.COLUMN_NAMES,
        "state*",
        Grade.HARMFUL,
        "300 of its columns are addresses of Bluetooth devices that passed the house, one for each, seen for a day; "
        "the address belongs in a tag, which is one column.",
    ),
    Expected(
        Cause.SPARSE,
        "state*",
        Grade.HARMLESS,
        "Attributes of all kinds of entities share the table, so a row fills 6 to 32 of 456; nulls cost little.",
    ),
    Expected(
        Cause.DEPENDENT_TAG,
        "*.domain",
        Grade.HARMLESS,
        "`domain` follows from `entity_id`, and `source` is constant: a dictionary entry, in 450 rows a day.",
    ),
    Expected(
        Cause.DEPENDENT_TAG,
        "*.source",
        Grade.HARMLESS,
        "It is `hass` in each row, for a second instance to come: a dictionary entry.",
    ),
    Expected(
        Cause.NAMES,
        "*",
        Grade.HARMLESS,
        "Tables are named by the unit, such as `°C`; there are 4, and few units to come.",
    ),
    Expected(
        Cause.RETENTION,
        "",
        Grade.HARMLESS,
        "Nothing removes old data, but 450 rows a day are some 10 MB a year, and the owner compares winters.",
    ),
)

_ATTRIBUTES: Final = {
    "light.living_room": (
        *("brightness", "color_temp_kelvin", "min_color_temp_kelvin", "max_color_temp_kelvin", "supported_features"),
        *("color_mode_str", "effect_str", "effect_list_str", "hs_color_str", "rgb_color_str", "xy_color_str"),
        *("supported_color_modes_str", "friendly_name_str", "icon_str", "transition", "dynamics_str", "mode_str"),
    ),
    "media_player.tv": (
        *("volume_level", "is_volume_muted", "media_position", "media_duration", "media_track", "media_season_str"),
        *("media_title_str", "media_artist_str", "media_album_name_str", "media_content_id_str", "app_id_str"),
        *("media_content_type_str", "media_position_updated_at_str", "source_str", "source_list_str", "shuffle"),
        *(
            "sound_mode_str",
            "sound_mode_list_str",
            "app_name_str",
            "entity_picture_str",
            "repeat_str",
            "group_members_str",
        ),
        *(
            "device_class_str",
            "entity_picture_local_str",
            "media_album_artist_str",
            "media_channel_str",
            "media_episode_str",
        ),
    ),
    "climate.bedroom": (
        *("current_temperature", "temperature", "target_temp_high", "target_temp_low", "min_temp", "max_temp"),
        *("target_temp_step", "current_humidity", "humidity", "hvac_action_str", "hvac_modes_str", "preset_mode_str"),
        *("preset_modes_str", "fan_mode_str", "fan_modes_str", "swing_mode_str", "swing_modes_str", "valve_position"),
        *("window_open_str", "schedule_str", "boost_remaining", "away_mode_str"),
    ),
    "weather.home": (
        *("dew_point", "cloud_coverage", "uv_index", "pressure", "wind_bearing", "wind_speed", "wind_gust_speed"),
        *("visibility", "ozone", "apparent_temperature", "temperature_unit_str", "pressure_unit_str"),
        *("wind_speed_unit_str", "visibility_unit_str", "precipitation_unit_str", "attribution_str"),
    ),
    "sun.sun": (
        *("azimuth", "elevation", "rising", "next_dawn_str", "next_dusk_str", "next_midnight_str"),
        *("next_noon_str", "next_rising_str", "next_setting_str"),
    ),
    "vacuum.robot": (
        *("battery_level", "battery_icon_str", "fan_speed_str", "fan_speed_list_str", "status_str", "cleaned_area"),
        *("cleaning_time", "main_brush_left", "side_brush_left", "filter_left", "error_str", "map_str"),
        *("do_not_disturb_str", "cleaning_count", "total_cleaned_area", "total_cleaning_time", "last_run_stats_str"),
    ),
    "device_tracker.phone": (
        *("latitude", "longitude", "gps_accuracy", "altitude", "course", "speed", "vertical_accuracy"),
        *("source_type_str", "ip_str", "mac_str", "host_name_str", "in_zones_str"),
    ),
    "camera.door": (
        *("access_token_str", "brand_str", "model_name_str", "motion_detection_str", "frontend_stream_type_str"),
        *("detections", "last_detection_str", "recording_str"),
    ),
    "fan.bath": ("percentage", "percentage_step", "direction_str", "oscillating", "preset_str"),
    "cover.garage": ("current_position", "current_tilt_position", "obstruction_str", "last_opened_str"),
    "lock.front": ("changed_by_str", "code_format_str", "jammed", "lock_battery"),
    "update.core": (
        *("installed_version_str", "latest_version_str", "in_progress", "release_summary_str", "release_url_str"),
        *("auto_update", "skipped_version_str", "title_str", "update_percentage", "display_precision"),
    ),
}
_ID_TAGS: Final = ("domain", "entity_id", "source")


def _home(until: datetime = NOW) -> Dataset:
    """`until`: what had been written by then."""
    random = Random(15)
    rows = [row for row in _states(random) if row.time < until]
    seen = {key for row in rows for key in row.fields}
    kinds: dict[str, str] = {"state": "string", "value": "float"}
    for names in _ATTRIBUTES.values():
        kinds |= {name: "string" if name.endswith("_str") else "float" for name in names}
    kinds |= {_address(n): "float" for n in range(_SEEN_A_DAY * _HOME_DAYS)}
    units = (("°C", "temperature", 20.0), ("%", "humidity", 50.0), ("W", "power", 300.0))
    return Dataset(
        [
            Table("state", _ID_TAGS, {key: kind for key, kind in kinds.items() if key in seen}, rows),
            *(
                Table(
                    unit,
                    _ID_TAGS,
                    {"value": "float", "friendly_name_str": "string", "device_class_str": "string"},
                    [row for row in _sensors(random, name, mean) if row.time < until],
                )
                for unit, name, mean in units
            ),
        ]
    )


def _home_yesterday() -> Dataset:
    return _home(NOW - timedelta(days=1))


def _address(number: int) -> str:
    """Of a Bluetooth device, as a phone makes one up."""
    digits = hashlib.sha256(f"device {number}".encode()).hexdigest()
    return ":".join(digits[i : i + 2].upper() for i in range(0, 12, 2))


def _tags(entity: str) -> dict[str, str]:
    domain, name = entity.split(".")
    return {"domain": domain, "entity_id": name, "source": "hass"}


def _states(random: Random) -> Iterator[Row]:
    """Entities without a unit: each several times an hour or a day, with its attributes."""
    for hour in range(24 * _HOME_DAYS):
        start = NOW - timedelta(days=_HOME_DAYS) + timedelta(hours=hour)
        for n, (entity, names) in enumerate(_ATTRIBUTES.items()):
            fields: dict[str, Value] = {
                name: f"{name[:-4]} {random.randrange(6)}" if name.endswith("_str") else float(random.randrange(100))
                for name in names
            }
            yield Row(
                start + timedelta(minutes=3 + 4 * n), _tags(entity), {"state": random.choice(("on", "off"))} | fields
            )
        day = hour // 24
        near: dict[str, Value] = {
            _address(_SEEN_A_DAY * day + n): -40.0 - random.randrange(50) for n in range(min(hour % 24 // 2 + 1, 10))
        }
        yield Row(start + timedelta(minutes=55), _tags("sensor.nearby_bluetooth"), {"state": str(len(near)), **near})


def _sensors(random: Random, name: str, mean: float) -> Iterator[Row]:
    for half_hour in range(48 * _HOME_DAYS):
        at = NOW - timedelta(minutes=30 * (48 * _HOME_DAYS - half_hour) - 7)
        yield Row(
            at,
            _tags(f"sensor.living_room_{name}"),
            {
                "value": round(mean * (0.9 + random.random() / 5), 1),
                "friendly_name_str": f"Living room {name}",
                "device_class_str": name,
            },
        )


DATABASES: Final = (
    BlindDatabase(
        name="greptimedb-opentelemetry-shop",
        engine="greptimedb",
        source="https://docs.greptime.com/user-guide/traces/data-model/",
        made=_telemetry,
        expected=_TRACES,
        quiet=True,
    ),
    BlindDatabase(
        name="greptimedb-vector-requests",
        engine="greptimedb",
        source="https://docs.greptime.com/user-guide/logs/use-custom-pipelines/",
        made=_vector,
        expected=_VECTOR,
    ),
    BlindDatabase(
        name="timestream-aws-iot-turbines",
        engine="timestream",
        source="https://docs.aws.amazon.com/iot/latest/developerguide/timestream-rule-action.html",
        made=_iot,
        expected=_IOT,
    ),
    BlindDatabase(
        name="influxdb3-telegraf-docker",
        engine="influxdb3",
        source="https://github.com/influxdata/telegraf/blob/master/plugins/inputs/docker/README.md",
        made=_telegraf,
        expected=_TELEGRAF,
        quiet=True,
    ),
    BlindDatabase(
        name="influxdb3-home-assistant",
        engine="influxdb3",
        source="https://www.home-assistant.io/integrations/influxdb/",
        made=_home,
        expected=_HOME,
        yesterday=_home_yesterday,
    ),
)
