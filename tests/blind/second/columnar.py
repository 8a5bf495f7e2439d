"""GreptimeDB and Timestream: what two more pipelines keep there, and what an expert expects to hear of each."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from random import Random
from typing import Final

from tests.blind.expected import BlindDatabase, Cause, Expected, Grade
from tests.builders import NOW
from tests.databases import Dataset, Greptime, Row, Table, Value

# --- Filebeat into GreptimeDB ------------------------------------------------------------------------------------

_AGENTS: Final = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/134.0.0.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_3 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.3",
    "Mozilla/5.0 (X11; Linux x86_64; rv:136.0) Gecko/20100101 Firefox/136.0",
    "okhttp/4.12.0",
)
_PATHS: Final = ("/api/v2/baskets", "/api/v2/articles", "/api/v2/articles/search", "/api/v2/orders", "/healthz")
_REQUEST: Final = (
    *("msec", "remote_addr", "request_method", "request_uri", "status", "body_bytes_sent", "http_referer"),
    *("http_user_agent", "request_time", "http_x_forwarded_for", "upstream_addr", "upstream_response_time"),
)
_REQUESTS: Final = 30_000
_LINES: Final = 8_000


def _filebeat() -> Dataset:
    """60,000 requests and 16,000 lines of a service a day, for 12 hours, as the pipeline `greptime_identity` makes."""
    random = Random(21)
    append = Greptime(options={"append_mode": "true"})
    return Dataset(
        [
            Table(
                "nginx_access",
                (),
                dict.fromkeys(_REQUEST, "string"),
                list(_requests(random)),
                time="greptime_timestamp",
                greptime=append,
            ),
            Table(
                "basket_service",
                (),
                {
                    "level": "integer",
                    "time": "integer",
                    "pid": "integer",
                    "hostname": "string",
                    "msg": "string",
                    "req.method": "string",
                    "req.url": "string",
                    "res.statusCode": "integer",
                    "responseTime": "float",
                },
                list(_lines(random)),
                time="greptime_timestamp",
                greptime=append,
            ),
        ]
    )


def _requests(random: Random) -> Iterator[Row]:
    """NGINX writes JSON with each value in quotes."""
    for i in range(_REQUESTS):
        at = NOW - timedelta(seconds=1.44 * (_REQUESTS - i)) + timedelta(milliseconds=random.randrange(900))
        took = random.expovariate(1 / 0.08) if random.random() < 0.98 else random.uniform(5, 14)
        upstream = f"{took:.3f}" if random.random() < 0.99 else f"2.000, {took:.3f}"
        values: tuple[str, ...] = (
            f"{at.timestamp() - 0.4:.3f}",
            f"10.42.{random.randrange(3)}.{random.randrange(2, 250)}",
            random.choice(("GET", "GET", "GET", "POST")),
            f"{random.choice(_PATHS)}?page={random.randrange(1, 40)}",
            random.choice(("200", "200", "200", "200", "201", "304", "404", "502")),
            str(random.randrange(90, 140_000)),
            random.choice(("", "https://shop.example.com/")),
            random.choice(_AGENTS),
            f"{took + 0.001:.3f}",
            f"198.51.100.{random.randrange(250)}",
            f"10.42.0.{random.randrange(11, 15)}:8080",
            upstream,
        )
        yield Row(at, {}, dict(zip(_REQUEST, values, strict=True)))


def _lines(random: Random) -> Iterator[Row]:
    """Of a service whose logger writes numbers as numbers."""
    for i in range(_LINES):
        at = NOW - timedelta(seconds=5.4 * (_LINES - i)) + timedelta(milliseconds=random.randrange(900))
        fields: dict[str, Value] = {
            "level": 30 if random.random() < 0.98 else 50,
            "time": round(at.timestamp() * 1000) - 350,
            "pid": 1,
            "hostname": f"basket-service-6c9f7d5b8-{'kqv2x' if i < _LINES // 2 else 'x7tfm'}",
            "msg": "request completed",
            "req.method": "POST",
            "req.url": f"/baskets/{random.randrange(90_000)}/items",
            "res.statusCode": 201 if random.random() < 0.97 else 409,
            "responseTime": round(random.expovariate(1 / 40), 2),
        }
        yield Row(at, {}, fields)


_FILEBEAT: Final = (
    Expected(
        Cause.NUMBER_AS_TEXT,
        "nginx_access.request_time",
        Grade.HARMFUL,
        "Seconds as text in each of 60,000 rows a day: a mean or percentile fails or needs a cast in each query, and "
        "as text '9.5' is more than '10.2', so the slowest of the requests, up to 14 s, are not found.",
    ),
    Expected(
        Cause.NUMBER_AS_TEXT,
        "nginx_access.body_bytes_sent",
        Grade.HARMFUL,
        "Bytes as text in each of 60,000 rows a day: traffic cannot be summed, and a comparison of text is wrong for "
        "numbers of 2 to 6 digits; a pipeline of one's own converts them.",
    ),
    Expected(
        Cause.NUMBER_AS_TEXT,
        "nginx_access.upstream_response_time",
        Grade.HARMFUL,
        "Seconds as text, of which 1 % are lists such as '2.000, 0.031' after another server was tried: a cast of the "
        "column fails at the first of them.",
    ),
    Expected(
        Cause.COMPOSITE,
        "nginx_access.upstream_response_time",
        Grade.HARMLESS,
        "1 % of the values are lists of two, one for each server that was tried; NGINX writes them so.",
    ),
    Expected(
        Cause.NUMBER_AS_TEXT,
        "nginx_access.status",
        Grade.HARMLESS,
        "A code of three digits sorts and compares as text as it does as a number; nobody sums it.",
    ),
    Expected(
        Cause.NUMBER_AS_TEXT,
        "nginx_access.msec",
        Grade.HARMLESS,
        "The time of the request as text, 0.4 s before the time index, which queries use.",
    ),
    Expected(
        Cause.REPEATED_BYTES,
        "*.*",
        Grade.HARMLESS,
        "Four user agents, two pods, and one message in all rows; a dictionary keeps each once.",
    ),
    Expected(
        Cause.DEPENDENT_TAG,
        "basket_service.*",
        Grade.HARMLESS,
        "`pid`, `msg`, and the method have one value, in 16,000 rows a day: nearly nothing in Parquet.",
    ),
    Expected(
        Cause.RETENTION,
        "*",
        Grade.HARMLESS,
        "Neither table has a time to live: 22 million requests a year of 186 B are 4 GB before compression, with no "
        "known disk limit.",
    ),
    Expected(
        Cause.NO_INDEX,
        "*",
        Grade.HARMLESS,
        "The pipeline makes no index: a search of a path or pod reads a day of 60,000 rows, which takes no time.",
    ),
)

# --- AWS IoT FleetWise into Timestream ---------------------------------------------------------------------------

_BUSES: Final = 60
_MINUTES: Final = 360
_SIGNALS: Final = {
    "Vehicle.Battery.StateOfCharge": 64.0,
    "Vehicle.Battery.PackCurrent": 118.0,
    "Vehicle.Battery.CellTemperatureMax": 29.5,
    "Vehicle.Speed": 22.0,
}
_CAMPAIGN: Final = "bus-battery-health"


def _fleetwise() -> Dataset:
    """60 buses on the road: a campaign sends four signals of each once a minute, another one hard braking."""
    random = Random(22)
    dimensions = ("eventId", "vehicleName", "campaignName", "VehicleVIN")

    def kept(hours: int) -> dict[str, dict[str, int]]:
        days = {"MemoryStoreRetentionPeriodInHours": hours, "MagneticStoreRetentionPeriodInDays": 730}
        return {"RetentionProperties": days}

    fields = {"measure_value::double": "float"}
    return Dataset(
        [
            Table("battery", dimensions, fields, list(_snapshots(random)), timestream=kept(720)),
            Table("braking", dimensions, fields, list(_braking(random)), timestream=kept(12)),
        ]
    )


def _bus(number: int, campaign: str, random: Random) -> dict[str, str]:
    return {
        "eventId": str(random.randrange(10**9, 4 * 10**9)),
        "vehicleName": f"bus-{number:03}",
        "campaignName": campaign,
        "VehicleVIN": f"WEB62808513{100_000 + number * 271}",
    }


def _snapshots(random: Random) -> Iterator[Row]:
    """Each signal has the time at which the bus had last seen it."""
    for minute in range(_MINUTES):
        for number in range(_BUSES):
            at = NOW - timedelta(minutes=_MINUTES - minute) + timedelta(milliseconds=930 * number)
            dimensions = _bus(number, _CAMPAIGN, random)
            for name, mean in _SIGNALS.items():
                value = round(mean * (0.8 + random.random() * 0.4), 2)
                seen = at - timedelta(milliseconds=random.randrange(900))
                yield Row(seen, dimensions, {"measure_value::double": value}, measure_name=name)


def _braking(random: Random) -> Iterator[Row]:
    for n in range(300):
        at = NOW - timedelta(seconds=72 * (300 - n) - random.randrange(60))
        dimensions = _bus(random.randrange(_BUSES), "bus-hard-braking", random)
        value = round(-3.5 - random.random() * 3, 2)
        yield Row(at, dimensions, {"measure_value::double": value}, measure_name="Vehicle.Acceleration.Longitudinal")


_FLEETWISE: Final = (
    Expected(
        Cause.MONEY,
        "battery",
        Grade.HARMFUL,
        "The memory store keeps 30 days, though buses are late by a second: 10.4 million records of 134 B are 1.39 GB "
        "at $0.036 a GB and hour, $36 a month; with one day it is $1.20, and the table `braking` has 12 hours.",
    ),
    Expected(
        Cause.ID_TAG,
        "*.eventId",
        Grade.HARMLESS,
        "A new number for each snapshot, 86,400 a day, is 17 of 134 B: $4.60 of the $36 a month, and FleetWise writes "
        "it always.",
    ),
    Expected(
        Cause.DEPENDENT_TAG,
        "*.campaignName",
        Grade.HARMLESS,
        "One campaign in each table, 30 of 134 B: $8 of the $36 a month, and cents once the memory store keeps a day.",
    ),
    Expected(
        Cause.DEPENDENT_TAG,
        "*.VehicleVIN",
        Grade.HARMLESS,
        "The number of the vehicle follows from its name, 27 of 134 B: $7 of the $36 a month.",
    ),
    Expected(
        Cause.ROWS_LAYOUT,
        "battery",
        Grade.HARMLESS,
        "Four records for each snapshot, but signals have a time of their own: 99.7 % of them share it with no other.",
    ),
)

DATABASES: Final = (
    BlindDatabase(
        name="greptimedb-filebeat-nginx",
        engine="greptimedb",
        source="https://docs.greptime.com/user-guide/ingest-data/for-observability/elasticsearch/",
        made=_filebeat,
        expected=_FILEBEAT,
    ),
    BlindDatabase(
        name="timestream-fleetwise-buses",
        engine="timestream",
        source="https://docs.aws.amazon.com/iot-fleetwise/latest/APIReference/API_TimestreamConfig.html",
        made=_fleetwise,
        expected=_FLEETWISE,
    ),
)
