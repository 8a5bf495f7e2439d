"""What programs keep in MongoDB: time series, buckets, sessions, files, queues, tenants."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any, Final

import bson

from tests.builders import NOW
from tests.databases import Collection, Dataset, times
from tests.layouts.layout import Layout, Wanted

_MANUAL: Final = "https://www.mongodb.com/docs/manual/"
_SENSORS: Final = [f"sensor-{i:02}" for i in range(12)]
_WEEK: Final = 604_800


# --- Time series collections -----------------------------------------------------------------------------------------

_OPTIONS: Final = {"timeField": "timestamp", "metaField": "metadata", "granularity": "minutes"}


def _weather(metadata: Any, count: int) -> Dataset:
    noise = random.Random(1)
    documents = [
        {"timestamp": at, "metadata": metadata(sensor, noise), "temp": round(noise.uniform(5, 30), 2)}
        for at in times(count, timedelta(minutes=10))
        for sensor in _SENSORS
    ]
    options = {"timeseries": _OPTIONS, "expireAfterSeconds": 52 * _WEEK}
    return Dataset(collections=[Collection("weather", documents, options=options)])


def _weather_clean() -> Dataset:
    return _weather(lambda sensor, _: {"sensorId": sensor, "type": "temperature"}, 100)


def _weather_dirty() -> Dataset:
    return _weather(lambda sensor, noise: {"sensorId": sensor, "messageId": f"{noise.getrandbits(128):032x}"}, 150)


# --- Buckets by hand -------------------------------------------------------------------------------------------------


def _buckets_clean() -> Dataset:
    noise = random.Random(2)
    documents = [
        {
            "sensor_id": sensor,
            "start_date": NOW - timedelta(hours=hour),
            "end_date": NOW - timedelta(hours=hour - 1, seconds=1),
            "transaction_count": 60,
            "sum_temperature": round(noise.uniform(1200, 1800), 1),
            "measurements": [
                {"timestamp": NOW - timedelta(hours=hour, minutes=-i), "temperature": round(noise.uniform(20, 30), 1)}
                for i in range(60)
            ],
        }
        for hour in range(30, 0, -1)
        for sensor in _SENSORS[:4]
    ]
    return Dataset(collections=[Collection("readings", documents)])


def _buckets_dirty() -> Dataset:
    # Updated with $push and no limit: two documents already hold thousands.
    noise = random.Random(3)
    documents = [
        {
            "_id": sensor,
            "measurements": [
                {"timestamp": at, "temperature": round(noise.uniform(20, 30), 1)}
                for at in times(400 * (i + 1), timedelta(minutes=1))
            ],
        }
        for i, sensor in enumerate(_SENSORS)
    ]
    return Dataset(collections=[Collection("sensors", documents)])


# --- Sessions, files, queues -----------------------------------------------------------------------------------------


def _sessions() -> Dataset:
    noise = random.Random(4)
    documents = [
        {
            "_id": f"{noise.getrandbits(160):040x}",
            "expires": NOW + timedelta(minutes=noise.randint(1, 20_000)),
            "session": f'{{"cookie":{{"originalMaxAge":1209600000,"path":"/"}},"views":{noise.randint(1, 90)}}}',
        }
        for _ in range(600)
    ]
    return Dataset(collections=[Collection("sessions", documents, expire={"expires": 0})])


def _gridfs() -> Dataset:
    noise = random.Random(5)
    files, chunks = [], []
    for number, at in enumerate(times(60, timedelta(hours=3))):
        file, parts = bson.ObjectId(f"{number:024x}"), noise.randint(1, 4)
        metadata = {"contentType": "application/pdf"}
        about = {"_id": file, "length": parts * 2_000, "chunkSize": 261_120, "uploadDate": at, "metadata": metadata}
        files.append(about | {"filename": f"invoice-{number}.pdf"})
        chunks += [
            {
                "_id": bson.ObjectId(f"{number:016x}{part:08x}"),
                "files_id": file,
                "n": part,
                "data": noise.randbytes(2_000),
            }
            for part in range(parts)
        ]
    return Dataset(collections=[Collection("fs.files", files), Collection("fs.chunks", chunks)])


def _queue() -> Dataset:
    """Agenda's jobs: what a job has of these fields depends on how far it is."""
    noise = random.Random(6)
    documents = []
    for number, at in enumerate(times(400, timedelta(minutes=5))):
        job: dict[str, Any] = {
            "name": noise.choice(("send mail", "resize image", "charge card")),
            "data": {"userId": number, "template": "welcome"},
            "priority": noise.choice((0, 10, -10)),
            "type": "normal",
            "nextRunAt": None if number < 380 else at,
            "lastModifiedBy": None,
        }
        if number < 380:
            job |= {"lockedAt": None, "lastRunAt": at, "lastFinishedAt": at + timedelta(seconds=noise.randint(1, 50))}
        if noise.random() < 0.05:
            job |= {"failCount": 1, "failReason": "connect ECONNREFUSED 10.0.0.4:25", "failedAt": at}
        documents.append(job)
    return Dataset(collections=[Collection("agendaJobs", documents)])


# --- Data in the names of fields -------------------------------------------------------------------------------------


def _events_dirty() -> Dataset:
    noise = random.Random(7)
    documents = [
        {
            "page": f"page-{number}",
            "updated": at,
            "visits": {f"2026-03-{day:02}": noise.randint(1, 900) for day in noise.sample(range(1, 31), 12)},
        }
        for number, at in enumerate(times(200))
    ]
    return Dataset(collections=[Collection("stats", documents)])


def _events_clean() -> Dataset:
    noise = random.Random(8)
    documents = [
        {"page": f"page-{number % 40}", "day": at, "visits": noise.randint(1, 900)}
        for number, at in enumerate(times(600, timedelta(hours=1)))
    ]
    return Dataset(collections=[Collection("stats", documents)])


# --- Tenants ---------------------------------------------------------------------------------------------------------

_TENANTS: Final = (
    *(
        "acme",
        "globex",
        "initech",
        "umbrella",
        "hooli",
        "stark",
        "wayne",
        "wonka",
        "tyrell",
        "cyberdyne",
        "soylent",
        "oscorp",
    ),
    *(
        "aperture",
        "gringotts",
        "monarch",
        "vandelay",
        "duff",
        "pied",
        "massive",
        "virtucon",
        "nakatomi",
        "weyland",
        "zorin",
    ),
)


def _orders(tenants: tuple[str, ...], count: int) -> list[dict[str, Any]]:
    noise = random.Random(9)
    return [
        {
            "tenantId": noise.choice(tenants),
            "createdAt": at,
            "total": round(noise.uniform(5, 900), 2),
            "status": noise.choice(("paid", "open", "sent")),
        }
        for at in times(count, timedelta(minutes=20))
    ]


def _tenants_dirty() -> Dataset:
    return Dataset(collections=[Collection(f"orders_{tenant}", _orders((tenant,), 30)) for tenant in _TENANTS])


def _tenants_clean() -> Dataset:
    return Dataset(collections=[Collection("orders", _orders(_TENANTS, 800))])


LAYOUTS: Final = (
    Layout(
        name="mongodb-time-series",
        engine="mongodb",
        source=_MANUAL + "core/timeseries-collections/",
        dirty=_weather_dirty,
        clean=_weather_clean,
        wanted=(
            Wanted(
                "DOC006|TAG002",
                "weather*",
                "a message's id in the metaField: each document has a bucket of its own",
            ),
        ),
    ),
    Layout(
        name="mongodb-buckets",
        engine="mongodb",
        source=_MANUAL + "data-modeling/design-patterns/group-data/bucket-pattern/",
        dirty=_buckets_dirty,
        clean=_buckets_clean,
        wanted=(
            Wanted(
                "DOC005",
                "sensors*",
                "one document per sensor gains an element a minute, up to 16 MB, where writes fail",
            ),
        ),
    ),
    Layout(
        name="mongodb-sessions",
        engine="mongodb",
        source="https://github.com/jdesboeufs/connect-mongo",
        clean=_sessions,
    ),
    Layout(
        name="mongodb-gridfs",
        engine="mongodb",
        source=_MANUAL + "core/gridfs/",
        clean=_gridfs,
    ),
    Layout(
        name="mongodb-queue",
        engine="mongodb",
        source="https://github.com/agenda/agenda",
        clean=_queue,
    ),
    Layout(
        name="mongodb-dates-in-field-names",
        engine="mongodb",
        source=_MANUAL + "data-modeling/design-patterns/group-data/attribute-pattern/",
        dirty=_events_dirty,
        clean=_events_clean,
        wanted=(Wanted("NAM005", "stats*", "days in names of fields: no index serves them, and each day adds one"),),
    ),
    Layout(
        name="mongodb-collection-per-tenant",
        engine="mongodb",
        source="https://www.mongodb.com/docs/atlas/build-multi-tenant-arch/",
        dirty=_tenants_dirty,
        clean=_tenants_clean,
        wanted=(
            Wanted("NAM002|LAY008", "*", "a collection per tenant: one with tenantId serves all, and has one index"),
        ),
    ),
)
