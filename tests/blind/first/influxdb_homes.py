"""InfluxDB 1.x as programs for homes write it: meters, weather, a media server, solar power, internet speed."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from tests.blind.expected import BlindDatabase, Cause, Expected, Grade
from tests.builders import NOW
from tests.databases import Dataset, Row, Table, Value, times
from tests.layouts.series import YEAR, hex_id

_MINUTE: Final = timedelta(minutes=1)


# --- SMA energy meter --------------------------------------------------------------------------------------------

_DAYS: Final = 14
_SERIALS: Final = ("1901701531", "3004512277")
_INTEGER_DAYS: Final = frozenset({1, 2, 4, 7, 8, 10, 12})
"""Days, from the first on, at whose first minute the inverter was asleep: a zero without a decimal point came first."""
_PHASES: Final = ("p1consume", "p2consume", "p3consume", "p1supply", "p2supply", "p3supply")
_METER_FIELDS: Final = ("pconsume", "psupply", *_PHASES)


def _sma() -> Dataset:
    """Two meters that report each minute, in shards of a day. Only what the server took: in a shard whose first
    `pvpower` was an integer it rejects each point with a decimal one, and the other way round.
    """
    fields = dict.fromkeys(_METER_FIELDS, "float") | {"pvpower": "any", "pusage": "float"}
    rows = [row for row, taken in _sent_by_sma() if taken]
    return Dataset([Table("SMAEM", ("serial",), fields, rows)], retention=YEAR, partition=timedelta(days=1))


def _sent_by_sma() -> Iterator[tuple[Row, bool]]:
    """Each point, and whether it has the type of its shard."""
    noise = random.Random("sma")
    midnight = NOW.replace(hour=0)
    for at in times(_DAYS * 1440, _MINUTE):
        day = _DAYS - (midnight - at.replace(hour=0, minute=0)).days
        daylight = (
            math.sin(math.pi * (at.hour + at.minute / 60 - 5.5) / 12.5) if 5.5 < at.hour + at.minute / 60 < 18 else 0
        )
        asleep = daylight == 0 and noise.random() < 0.6
        power: float | int = 0 if asleep else round(8000 * daylight * noise.uniform(0.4, 1), 1)
        if (at.hour, at.minute) == (0, 0):
            power = 0 if day in _INTEGER_DAYS else 0.0
        for serial in _SERIALS:
            phases = {name: round(noise.uniform(0, 900), 1) for name in _PHASES}
            consume = round(sum(phases[name] for name in _PHASES[:3]), 1)
            supply = round(sum(phases[name] for name in _PHASES[3:]), 1)
            of_pv = {"pvpower": power, "pusage": float(round(power + consume - supply, 1))}
            row = Row(at, {"serial": serial}, {"pconsume": consume, "psupply": supply, **phases, **of_pv})
            yield row, isinstance(power, int) == (day in _INTEGER_DAYS)


# --- WeeWX -------------------------------------------------------------------------------------------------------

_WEATHER: Final = {
    "outTemp_C": (4.0, 14.0),
    "inTemp_C": (19.0, 22.0),
    "outHumidity": (45.0, 95.0),
    "inHumidity": (35.0, 50.0),
    "barometer_mbar": (1005.0, 1025.0),
    "pressure_mbar": (980.0, 1000.0),
    "altimeter_mbar": (1005.0, 1025.0),
    "windSpeed_kph": (0.0, 30.0),
    "windGust_kph": (0.0, 50.0),
    "windDir": (0.0, 360.0),
    "dewpoint_C": (1.0, 9.0),
    "windchill_C": (0.0, 14.0),
    "heatindex_C": (4.0, 14.0),
    "rain_mm": (0.0, 0.4),
    "rainRate_mm_per_hour": (0.0, 4.0),
    "radiation_Wpm2": (0.0, 600.0),
}


def _weewx() -> Dataset:
    """One station that reports each minute for 25 days, in shards of an hour, which are kept forever."""
    noise = random.Random("weewx")
    rows = [
        Row(at, {"station": "roof"}, {name: round(noise.uniform(*bounds), 2) for name, bounds in _WEATHER.items()})
        for at in times(25 * 1440, _MINUTE)
    ]
    fields = dict.fromkeys(_WEATHER, "float")
    return Dataset([Table("record", ("station",), fields, rows)], partition=timedelta(hours=1))


# --- Varken ------------------------------------------------------------------------------------------------------

_CITIES: Final = {
    "Bayern - Munich": ("48.1374", "11.5755", "BY"),
    "Bayern - Augsburg": ("48.3716", "10.8983", "BY"),
    "Berlin - Berlin": ("52.5244", "13.4105", "BE"),
    "Hessen - Frankfurt am Main": ("50.1155", "8.6842", "HE"),
}
_PLAYERS: Final = {"Roku": "11.0.0", "Chrome": "4.125.1", "Android": "10.9.1", "tvOS": "8.33"}
_TITLES: Final = [
    f"Show {show} - Season {season} Episode {part}" for show in "ABCDEFGH" for season in (1, 2) for part in range(1, 13)
]


def _varken() -> Dataset:
    """A media server with 120 sessions a day, asked each minute for three days. Progress and state are tags."""
    noise = random.Random("varken")
    sessions = [row for _ in range(360) for row in _session(noise)]
    counts = [
        Row(
            at,
            {"server": "1", "type": "current_stream_stats"},
            {"stream_count": noise.randint(0, 12), "lan_bandwidth": 0},
        )
        for at in times(3 * 1440, _MINUTE)
    ]
    tags = sorted({tag for row in (sessions[0], counts[0]) for tag in row.tags})
    fields = {"hash": "string", "stream_count": "integer", "lan_bandwidth": "integer"}
    return Dataset(
        [Table("Tautulli", tags, fields, sessions + counts)],
        retention=YEAR,
    )


def _session(noise: random.Random) -> Iterator[Row]:
    user = noise.randrange(60)
    place = list(_CITIES)[user % len(_CITIES)]
    latitude, longitude, region = _CITIES[place]
    platform = list(_PLAYERS)[user % len(_PLAYERS)]
    tags = {
        "type": "Session",
        "server": "1",
        "session_id": hex_id(24)(noise),
        "username": f"user{user}",
        "friendly_name": f"User {user}",
        "title": noise.choice(_TITLES),
        "platform": platform,
        "device_type": platform,
        "product_version": _PLAYERS[platform],
        "quality": noise.choice(["720p", "1080p", "4K"]),
        "video_decision": noise.choice(["Direct Play", "Transcode"]),
        "media_type": "Episode",
        "full_location": place,
        "location": place.partition(" - ")[2],
        "region_code": region,
        "latitude": latitude,
        "longitude": longitude,
    }
    fields: dict[str, Value] = {"hash": hex_id(64)(noise)}
    minutes = noise.randint(60, 90)
    start = NOW - timedelta(days=3) + _MINUTE * noise.randrange(3 * 1440 - minutes)
    paused = range(noise.randrange(minutes), minutes) if noise.random() < 0.05 else range(0)
    for minute in range(minutes):
        state = "1" if minute in paused[:5] else "0"
        progress = {"progress_percent": str(minute * 100 // minutes), "player_state": state}
        yield Row(start + _MINUTE * minute, tags | progress, fields)


# --- Powerwall-Dashboard -----------------------------------------------------------------------------------------

_FLOWS: Final = ("home", "solar", "from_pw", "to_pw", "from_grid", "to_grid")


def _powerwall() -> Dataset:
    """What its continuous queries keep forever: a row a minute, grouped by tags for the month and the year."""
    noise = random.Random("powerwall")
    rows = []
    for at in times(40 * 1440, _MINUTE):
        local = at - timedelta(hours=8)
        powers: dict[str, Value] = {name: round(noise.uniform(0, 5000), 2) for name in _FLOWS}
        tags = {"month": f"{local:%b}", "year": f"{local:%Y}"}
        rows.append(Row(at, tags, powers | {"percentage": round(noise.uniform(20, 100), 2)}))
    fields = dict.fromkeys((*_FLOWS, "percentage"), "float")
    return Dataset([Table("http", ("month", "year"), fields, rows)])


# --- Speedtest ---------------------------------------------------------------------------------------------------

_SERVERS: Final = {
    "4997": ("Munich", "M-net", "48.1371", "11.5753"),
    "8040": ("Frankfurt", "23media", "50.1109", "8.6821"),
    "17137": ("Nuremberg", "Vodafone", "49.4521", "11.0767"),
    "28622": ("Zurich", "Init7", "47.3769", "8.5417"),
    "31448": ("Vienna", "A1", "48.2082", "16.3738"),
    "44081": ("Stuttgart", "wilhelm.tel", "48.7758", "9.1829"),
}


def _speedtest() -> Dataset:
    """A test every 20 minutes for 60 days, with the nearest of six servers at the time. The provider gives the line
    another address every nine days.
    """
    noise = random.Random("speedtest")
    tags = ["host", "isp_ip", "isp_lat", "isp_lon", "isp_name", "server_id", "server_lat", "server_lon"]
    rows = [Row(at, _line(at) | _server(noise), _speeds(noise)) for at in times(60 * 72, timedelta(minutes=20))]
    fields = dict.fromkeys(("download", "upload", "ping"), "float")
    tags += ["server_name", "server_name_sponsor"]
    return Dataset([Table("speedtests", tags, fields, rows)], retention=timedelta(days=730))


def _line(at: datetime) -> dict[str, str]:
    days = (NOW - at).days
    address = f"203.0.113.{17 + 23 * (days // 9)}"
    return {"host": "nas", "isp_name": "Example Telecom", "isp_ip": address, "isp_lat": "48.1", "isp_lon": "11.6"}


def _server(noise: random.Random) -> dict[str, str]:
    number = noise.choice(list(_SERVERS))
    name, sponsor, latitude, longitude = _SERVERS[number]
    place = {"server_name": name, "server_lat": latitude, "server_lon": longitude}
    return {"server_id": number, "server_name_sponsor": sponsor, **place}


def _speeds(noise: random.Random) -> dict[str, float]:
    speeds = {"download": noise.uniform(80e6, 250e6), "upload": noise.uniform(20e6, 40e6), "ping": noise.uniform(8, 30)}
    return {name: round(value, 3) for name, value in speeds.items()}


DATABASES: Final = (
    BlindDatabase(
        "sma-energy-meter",
        "influxdb1",
        "https://github.com/datenschuft/SMA-EM/issues/52",
        _sma,
        (
            Expected(
                Cause.TYPE_CONFLICT,
                "SMAEM.pvpower",
                Grade.HARMFUL,
                "The daemon writes 0 while the inverter sleeps and 537.0 otherwise, and the first point of a day"
                " decides the type of its shard: 7 of 15 shards hold integers, the last of them that of two days ago,"
                " and 8 hold decimals, today's among them; of 40,320 points in 14 days 20,136 were rejected with all"
                " their fields, among them all the daylight of 7 days, 525,000 within a year.",
            ),
            Expected(
                Cause.PARTITIONS,
                "",
                Grade.HARMLESS,
                "Shards of a day for a year: 15 now and 365 in the end, on tsi1 3,650 files and 0.18 GB of heap, where"
                " the default of 7 days would make 53.",
            ),
        ),
    ),
    BlindDatabase(
        "weewx-hourly-shards",
        "influxdb1",
        "https://github.com/matthewwall/weewx-influx",
        _weewx,
        (
            Expected(
                Cause.PARTITIONS,
                "",
                Grade.HARMFUL,
                "SHARD DURATION 1h without an end: 600 shards for 36,000 points of one series, on tsi1 6,000 open"
                " files, 0.29 GB of heap and 27 MB of disk for 5 MB of data; 24 more a day stop a server with 65,536"
                " files from taking data in about 245 days, and would be 4.6 GB of heap in a year.",
            ),
            Expected(
                Cause.RETENTION,
                "",
                Grade.HARMLESS,
                "Nothing removes old data, which is what one wants of a weather station: 525,600 points of 16 decimals"
                " are 68 MB a year; the files are the fault of the shard duration.",
            ),
        ),
    ),
    BlindDatabase(
        "varken-media-server",
        "influxdb1",
        "https://github.com/Boerderij/Varken/blob/master/varken/tautulli.py",
        _varken,
        (
            Expected(
                Cause.VALUE_TAG,
                "Tautulli.progress_percent",
                Grade.HARMFUL,
                "The progress is a tag, so each minute of a session is a series of its own: 26,804 series for 360"
                " sessions in three days, 9,000 more a day at about 4 kB of heap on inmem, 0.1 GB now, 804,000 and 3.2"
                " GB in 90 days, 3.3 million within the year that is kept, for a list of who watched what.",
            ),
            Expected(
                Cause.ID_TAG,
                "Tautulli.session_id",
                Grade.HARMFUL,
                "120 new sessions a day, each used for 60 to 90 minutes: 360 values now, and also with the progress as"
                " a field 10,800 series in 90 days and 43,800 in a year, where the user as a tag, and the session, its"
                " title, and its quality as fields, would make 60.",
            ),
            Expected(
                Cause.CHANGING_TAG,
                "Tautulli.player_state",
                Grade.HARMLESS,
                "A pause makes a second series of a session: none as long as the progress is a tag, and 20 of 380 when"
                " it is none, 600 in 90 days and 2,400 within a year.",
            ),
            Expected(
                Cause.TEXT_TAG,
                "Tautulli.title",
                Grade.HARMLESS,
                "A title is text, but 169 episodes of a library that seldom grows are watched again and again, and a"
                " session has one: it adds no series to the session_id.",
            ),
            Expected(
                Cause.DEPENDENT_TAG,
                "Tautulli.*",
                Grade.HARMLESS,
                "device_type is platform, friendly_name follows username, and latitude, longitude, location, and"
                " region_code follow full_location: 110 B each, 0.7 kB for each of 26,804 series, 18 MB, which go when"
                " the progress does.",
            ),
            Expected(
                Cause.REPEATED_BYTES,
                "Tautulli.hash",
                Grade.HARMLESS,
                "The same 64 characters in each point of a session: at most 83 B for each of 9,000 points a day, 0.3"
                " GB within a year.",
            ),
        ),
    ),
    BlindDatabase(
        "powerwall-dashboard",
        "influxdb1",
        "https://github.com/jasonacox/Powerwall-Dashboard/blob/main/influxdb/influxdb.sql",
        _powerwall,
        (
            Expected(
                Cause.VALUE_TAG,
                "http.month",
                Grade.HARMLESS,
                "A part of the time as a tag, so that InfluxQL can group by it: 2 series now, 12 more a year, 10 kB of"
                " heap.",
            ),
            Expected(
                Cause.VALUE_TAG,
                "http.year",
                Grade.HARMLESS,
                "As the month: one value now, one more a year, which with 12 months are 12 series.",
            ),
            Expected(
                Cause.RETENTION,
                "",
                Grade.HARMLESS,
                "The averages of a minute are kept forever on purpose: 525,600 rows of 7 decimals are 30 MB a year, in"
                " 52 shards of a week.",
            ),
        ),
    ),
    BlindDatabase(
        "speedtest-every-20-minutes",
        "influxdb1",
        "https://github.com/Caroga/speedtest-to-influxdb",
        _speedtest,
        (
            Expected(
                Cause.CHANGING_TAG,
                "speedtests.isp_ip",
                Grade.HARMLESS,
                "Every nine days the provider gives another address, and the 6 servers make 6 series of it: 42 series"
                " in 60 days, 250 a year, 0.4 MB of heap.",
            ),
            Expected(
                Cause.DEPENDENT_TAG,
                "speedtests.*",
                Grade.HARMLESS,
                "Name, sponsor, and place of the server follow server_id, host and the provider's name and place are"
                " always the same: 8 tags of 110 B, 0.9 kB for each of 42 series, 0.2 MB within a year.",
            ),
        ),
    ),
)
