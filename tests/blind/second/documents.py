"""MongoDB of a laboratory that trains models, of an API gateway, and of a person with diabetes."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final

from bson import Int64, ObjectId

from tests.blind.expected import BlindDatabase, Cause, Expected, Grade
from tests.builders import NOW
from tests.databases import Collection, Dataset, times

Document = dict[str, Any]


def _object_id(at: datetime, number: int) -> ObjectId:
    """As a driver makes it: the second, then a counter."""
    return ObjectId(f"{int(at.timestamp()):08x}5c0e7a91b2{number % 0x1000000:06x}")


def _iso(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z"


# --- Sacred ------------------------------------------------------------------------------------------------------

_RUNS: Final = 40
_SINCE: Final = NOW - timedelta(days=3)
"""When the run under way was started, which logs every two seconds."""

_SACRED: Final = (
    Expected(
        Cause.ARRAY,
        "metrics*",
        Grade.HARMFUL,
        "A metric is one document with three arrays, and a run that has logged every 2 s for three days has 129,600 "
        "entries in each: two documents of 5.4 MB, copied by each of 8,640 appends a day, grow by 1.9 MB a day to the "
        "16 MiB at which the server rejects them and the run's observer stops, 6 days from now.",
    ),
    Expected(
        Cause.ARRAY,
        "runs.captured_out",
        Grade.HARMLESS,
        "What a run prints is a text that is written again with each heartbeat, but 71 kB in three days are full in "
        "two years, and runs end.",
    ),
    Expected(
        Cause.NO_INDEX,
        "metrics*",
        Grade.HARMLESS,
        "Sacred looks a metric up by run_id and name and makes no index for it: 82 documents are read in no time, and "
        "so are the 1,500 of a year.",
    ),
    Expected(
        Cause.RETENTION,
        "*",
        Grade.HARMLESS,
        "Runs are kept for good, that is their point: two a day of 47 kB are 34 MB a year.",
    ),
)


def _sacred(until: datetime = NOW) -> Dataset:
    """`until`: what had been logged by then."""
    random = Random("sacred")
    runs = [_run(random, number, until) for number in range(1, _RUNS + 2)]
    sources = _sources()
    return Dataset(
        collections=(
            Collection("runs", runs),
            Collection("metrics", [metric for run in runs for metric in _metrics(run)]),
            Collection("fs.files", [file for file, _ in sources], indexes=(("filename", "uploadDate"),)),
            Collection("fs.chunks", [chunk for _, chunk in sources], indexes=(("files_id", "n"),)),
        )
    )


def _sacred_yesterday() -> Dataset:
    return _sacred(NOW - timedelta(days=1))


def _run(random: Random, number: int, until: datetime) -> Document:
    """One every 12 hours, of 20 to 90 minutes; the last one goes on."""
    last = number == _RUNS + 1
    start = _SINCE - timedelta(hours=12 * (_RUNS + 1 - number))
    stop = until if last else start + timedelta(minutes=random.randint(20, 90))
    printed = (until - start) // timedelta(seconds=130) if last else 60
    lines = (f"INFO - dqn - step {step}: return {random.uniform(-21, 21):.1f}\n" for step in range(printed))
    run = {
        "_id": number,
        "experiment": {
            "name": "dqn",
            "base_dir": "/home/lab/dqn",
            "sources": [["train.py", _object_id(NOW - timedelta(days=24), 1)]],
            "dependencies": ["numpy==1.26.4", "sacred==0.8.5", "torch==2.2.1"],
            "repositories": [],
            "mainfile": "train.py",
        },
        "format": "MongoObserver-0.7.0",
        "command": "main",
        "host": {"hostname": "gpu1", "os": ["Linux", "Linux-6.1"], "cpu": "AMD EPYC 7402", "python_version": "3.11.7"},
        "start_time": start,
        "config": {"env": "Pong", "lr": random.choice((1e-4, 3e-4)), "gamma": 0.99, "seed": random.randrange(10**9)},
        "meta": {"command": "main", "options": {"--mongo_db": "lab"}},
        "status": "RUNNING" if last else random.choice(("COMPLETED", "COMPLETED", "COMPLETED", "INTERRUPTED")),
        "resources": [],
        "artifacts": [],
        "captured_out": "".join(lines),
        "info": {},
        "heartbeat": stop,
        "result": None if last else round(random.uniform(-21, 21), 1),
    }
    return run if last else {**run, "stop_time": stop}


def _metrics(run: Document) -> Iterator[Document]:
    """Two of each run, with an entry for each time that it was logged."""
    start: datetime = run["start_time"]
    for place, name in enumerate(("train.loss", "train.return")):
        random = Random(f"{name} of {run['_id']}")
        step = timedelta(seconds=2 if run["status"] == "RUNNING" else 10)
        count = (run["heartbeat"] - start) // step
        yield {
            "_id": _object_id(start, 10 * run["_id"] + place),
            "run_id": run["_id"],
            "name": name,
            "steps": list(range(count)),
            "timestamps": [start + step * number for number in range(count)],
            "values": [random.random() for _ in range(count)],
        }


def _sources() -> list[tuple[Document, Document]]:
    made = []
    for number, name in enumerate(("train.py", "model.py", "replay.py"), 1):
        at = NOW - timedelta(days=24)
        text = f"# {name}\n".encode() * 300
        file = {"filename": f"/home/lab/dqn/{name}", "uploadDate": at, "length": Int64(len(text)), "chunkSize": 261_120}
        key = _object_id(at, number)
        made.append(({"_id": key, **file}, {"_id": _object_id(at, 50 + number), "files_id": key, "n": 0, "data": text}))
    return made


# --- Tyk ---------------------------------------------------------------------------------------------------------

_ORG: Final = "5e9d9544a1dcd60001d0ed20"
_APIS: Final = {f"{number:032x}": name for number, name in enumerate(("orders", "stock", "prices", "tracking"), 0xA7)}
_HUNDRED_YEARS: Final = timedelta(days=36_500)
_REQUESTS: Final = 10_000

_TYK: Final = (
    Expected(
        Cause.RETENTION,
        "tyk_analytics*",
        Grade.HARMFUL,
        "The TTL index on expireAt removes nothing before 2126, as no expiry is set for analytics and Tyk then takes "
        "100 years: 120,000 requests a day of 2.2 kB, 57 % of it their recorded text, are 22 MB after two hours, 24 GB "
        "in 90 days, and 96 GB in a year before compression.",
    ),
    Expected(
        Cause.COLUMN_NAMES,
        "z_tyk_analyticz_aggregate_*",
        Grade.HARMLESS,
        "A document an hour has a field named by each API key: 300 keys make 142 kB, 0.8 % of what a document may "
        "have, and it does not grow with requests.",
    ),
    Expected(
        Cause.RETENTION,
        "z_tyk_analyticz_aggregate_*",
        Grade.HARMLESS,
        "Sums do not expire either, 24 a day of 142 kB, 1.2 GB a year; they are what one wants to keep.",
    ),
    Expected(
        Cause.INDEX,
        "*orgid_1",
        Grade.HARMLESS,
        "With one organization its index finds nothing: an entry a request, 44 million a year of some 10 B, 0.4 GB "
        "beside 96, and it goes with the requests; Tyk creates it.",
    ),
    Expected(
        Cause.REPEATED_BYTES,
        "tyk_analytics.*",
        Grade.HARMLESS,
        "rawpath is path, day to hour are the timestamp, tags are the key, organization, and API again: 232 B of "
        "2,189, as Tyk writes it.",
    ),
)


def _tyk() -> Dataset:
    """A gateway that was installed two hours ago, 5,000 requests an hour, recorded in detail."""
    random = Random("tyk")
    keys = [f"{_ORG}{random.getrandbits(128):032x}" for _ in range(300)]
    records = list(_records(random, keys))
    return Dataset(
        collections=(
            Collection(
                "tyk_analytics",
                records,
                expire={"expireAt": 0},
                indexes=(("orgid",), ("apiid",), ("timestamp", "orgid", "apiid", "apikey", "responsecode")),
            ),
            Collection(
                f"z_tyk_analyticz_aggregate_{_ORG}",
                list(_hours(records)),
                expire={"expireAt": 0},
                indexes=(("timestamp",), ("orgid",)),
            ),
            Collection(
                "tyk_apis", [{"api_definition": {"api_id": k, "name": n, "active": True}} for k, n in _APIS.items()]
            ),
            Collection("tyk_organizations", [{"owner_name": "Example", "cname_enabled": True, "apis": []}]),
        )
    )


def _records(random: Random, keys: list[str]) -> Iterator[Document]:
    for number, at in enumerate(times(_REQUESTS, timedelta(hours=2) / _REQUESTS)):
        api = random.choice(list(_APIS))
        path = f"/v1/{_APIS[api]}/{random.randrange(10**6)}"
        key = random.choice(keys)
        body = ",".join(f'{{"sku":"{random.getrandbits(40):010x}","qty":{random.randrange(50)}}}' for _ in range(24))
        yield {
            "_id": _object_id(at, number),
            "method": random.choice(("GET", "GET", "GET", "POST")),
            "host": "gateway.example.com",
            "path": path,
            "rawpath": path,
            "contentlength": Int64(0),
            "useragent": "okhttp/4.12.0",
            "day": at.day,
            "month": at.month,
            "year": at.year,
            "hour": at.hour,
            "responsecode": random.choice((200, 200, 200, 201, 404, 500)),
            "apikey": key,
            "timestamp": at.replace(microsecond=at.microsecond // 1000 * 1000),
            "apiversion": "Non Versioned",
            "apiname": _APIS[api],
            "apiid": api,
            "orgid": _ORG,
            "oauthid": "",
            "requesttime": Int64(random.randrange(3, 900)),
            "rawrequest": _base64(f"GET {path} HTTP/1.1\r\nHost: gateway.example.com\r\nAuthorization: {key}\r\n\r\n"),
            "rawresponse": _base64(f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n[{body}]"),
            "ipaddress": f"203.0.113.{random.randrange(1, 255)}",
            "geo": {"country": {"isocode": "DE"}, "city": {"geonameid": 0, "names": {}}, "location": {"timezone": ""}},
            "network": {"openconnections": Int64(0), "bytesin": Int64(0), "bytesout": Int64(0)},
            "latency": {"total": Int64(random.randrange(3, 900)), "upstream": Int64(random.randrange(3, 800))},
            "tags": [f"key-{key}", f"org-{_ORG}", f"api-{api}"],
            "alias": "",
            "trackpath": False,
            "expireAt": at.replace(microsecond=0) + _HUNDRED_YEARS,
        }


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _hours(records: list[Document]) -> Iterator[Document]:
    """What the aggregate pump keeps: a document an hour, with a counter for each API, key, and code."""
    for hour in sorted({record["timestamp"].replace(minute=0, second=0, microsecond=0) for record in records}):
        of_hour = [r for r in records if r["timestamp"].replace(minute=0, second=0, microsecond=0) == hour]
        counters = {
            name: {
                value: _counter([r for r in of_hour if str(r[key]) == value])
                for value in {str(r[key]) for r in of_hour}
            }
            for name, key in (("apiid", "apiid"), ("apikeys", "apikey"), ("errors", "responsecode"))
        }
        yield {
            "_id": _object_id(hour, 0),
            "orgid": _ORG,
            "timestamp": hour,
            "expireAt": hour + _HUNDRED_YEARS,
            "timeid": {"year": hour.year, "month": hour.month, "day": hour.day, "hour": hour.hour},
            "total": _counter(of_hour),
            **counters,
            "lists": {name: list(found.values()) for name, found in counters.items()},
        }


def _counter(records: list[Document]) -> Document:
    spent = sum(record["requesttime"] for record in records)
    errors = sum(record["responsecode"] >= 400 for record in records)
    return {
        "hits": len(records),
        "success": len(records) - errors,
        "error": errors,
        "requesttime": spent / len(records),
        "totalrequesttime": float(spent),
        "lasttime": records[-1]["timestamp"],
        "identifier": records[-1]["apikey"],
        "humanidentifier": "",
    }


# --- Nightscout --------------------------------------------------------------------------------------------------

_SENSOR_DAYS: Final = 30
_FIVE_MINUTES: Final = timedelta(minutes=5)

_NIGHTSCOUT: Final = (
    Expected(
        Cause.INDEX,
        "*_1",
        Grade.HARMLESS,
        "date, type, and eventType begin longer indexes, mbg, identifier, notes, and others are of fields that this "
        "person has not: 12 of 34 indexes, which Nightscout creates, of 105,000 entries a year at most, 2 MB each.",
    ),
    Expected(
        Cause.NUMBER_AS_TEXT,
        "*.*",
        Grade.HARMLESS,
        "Times are ISO text (dateString, sysTime, created_at, clock), which sorts as it should: 21 B more than a date "
        "in 105,000 documents a year, 2 MB each.",
    ),
    Expected(
        Cause.REPEATED_BYTES,
        "entries.*",
        Grade.HARMLESS,
        "sysTime is dateString again and date says it as a number: 38 B in 105,000 documents a year are 4 MB.",
    ),
    Expected(
        Cause.RETENTION,
        "*",
        Grade.HARMLESS,
        "No TTL index, as Nightscout prunes the loop's status after 60 days by itself, 24 MB of it; readings are 28 MB "
        "a year, and one keeps them.",
    ),
)


def _nightscout() -> Dataset:
    """One person with a glucose sensor and a pump, for 30 days; it reads every five minutes."""
    random = Random("nightscout")
    instants = times(288 * _SENSOR_DAYS, _FIVE_MINUTES)
    return Dataset(
        collections=(
            Collection(
                "entries",
                list(_entries(random, instants)),
                indexes=(
                    *((key,) for key in ("date", "type", "sgv", "mbg", "sysTime", "dateString", "identifier")),
                    ("type", "date", "dateString"),
                    ("date", "identifier", "created_at"),
                ),
            ),
            Collection("devicestatus", list(_statuses(random, instants)), indexes=(("created_at",), ("NSCLIENT_ID",))),
            Collection(
                "treatments",
                list(_treatments(random)),
                indexes=(
                    *((key,) for key in ("created_at", "eventType", "insulin", "carbs", "glucose", "enteredBy")),
                    *((key,) for key in ("boluscalc.foods._id", "notes", "NSCLIENT_ID", "percent", "absolute")),
                    *(("duration",), ("identifier",), ("eventType", "duration", "created_at")),
                ),
            ),
            Collection("profile", [_profile()], indexes=(("startDate",),)),
            Collection("food", indexes=(("type",), ("position",), ("hidden",))),
        )
    )


def _entries(random: Random, instants: list[datetime]) -> Iterator[Document]:
    level = 120
    for number, at in enumerate(instants):
        level = min(max(level + random.randint(-9, 9), 55), 280)
        yield {
            "_id": _object_id(at, number),
            "device": "xDrip-DexcomG6",
            "date": Int64(at.timestamp() * 1000),
            "dateString": _iso(at),
            "sgv": level,
            "delta": round(random.uniform(-9, 9), 3),
            "direction": random.choice(("Flat", "Flat", "FortyFiveUp", "FortyFiveDown")),
            "type": "sgv",
            "filtered": level * 1000,
            "unfiltered": level * 1000,
            "rssi": 100,
            "noise": 1,
            "sysTime": _iso(at),
            "utcOffset": 60,
        }


def _statuses(random: Random, instants: list[datetime]) -> Iterator[Document]:
    """What the loop thinks, with a forecast of three hours."""
    for number, at in enumerate(instants):
        later = at + timedelta(seconds=70)
        yield {
            "_id": _object_id(later, number),
            "device": "openaps://AAPS",
            "pump": {"clock": _iso(at), "reservoir": random.randint(20, 300), "battery": {"percent": 75}},
            "openaps": {
                "suggested": {
                    "temp": "absolute",
                    "bg": random.randint(60, 250),
                    "eventualBG": random.randint(60, 250),
                    "timestamp": _iso(at),
                    "reason": f"COB: 0, Dev: {random.randint(-20, 20)}, BGI: -1.2, ISF: 45, CR: 9, Target: 100",
                    "rate": round(random.uniform(0, 3), 2),
                    "duration": 30,
                    "predBGs": {name: [random.randint(60, 250) for _ in range(36)] for name in ("IOB", "ZT", "UAM")},
                },
                "iob": {"iob": round(random.uniform(0, 6), 3), "basaliob": 0.4, "activity": 0.02, "time": _iso(at)},
            },
            "uploaderBattery": random.randint(20, 100),
            "created_at": _iso(later),
            "utcOffset": 0,
        }


def _treatments(random: Random) -> Iterator[Document]:
    """A basal rate every half an hour, and six meals and corrections a day."""
    for number, at in enumerate(times(48 * _SENSOR_DAYS, timedelta(minutes=30))):
        rate = round(random.uniform(0, 3), 2)
        basal = {"eventType": "Temp Basal", "duration": 30, "absolute": rate, "rate": rate}
        yield {"_id": _object_id(at, number), "enteredBy": "openaps://AAPS", **basal, "created_at": _iso(at)}
    for number, at in enumerate(times(6 * _SENSOR_DAYS, timedelta(hours=4)), 5000):
        insulin = round(random.uniform(0.5, 8), 1)
        meal: Document = {"eventType": "Meal Bolus", "insulin": insulin, "carbs": random.randint(10, 90)}
        dose = meal if number % 2 else {"eventType": "Correction Bolus", "insulin": insulin}
        yield {"_id": _object_id(at, number), "enteredBy": "openaps://AAPS", **dose, "created_at": _iso(at)}


def _profile() -> Document:
    start = NOW - timedelta(days=_SENSOR_DAYS)
    hours = [{"time": f"{hour:02}:00", "timeAsSeconds": 3600 * hour, "value": 0.8} for hour in range(0, 24, 4)]
    ratios = {"carbratio": hours[:2], "sens": hours[:2], "target_low": hours[:1], "target_high": hours[:1]}
    store = {"Default": {"dia": 5, "basal": hours, **ratios, "timezone": "Europe/Berlin", "units": "mg/dl"}}
    return {"_id": _object_id(start, 1), "defaultProfile": "Default", "startDate": _iso(start), "store": store}


DATABASES: Final = (
    BlindDatabase(
        name="sacred-training",
        engine="mongodb",
        source="https://github.com/IDSIA/sacred/blob/master/sacred/observers/mongo.py",
        made=_sacred,
        expected=_SACRED,
        yesterday=_sacred_yesterday,
    ),
    BlindDatabase(
        name="tyk-gateway",
        engine="mongodb",
        source="https://github.com/TykTechnologies/tyk-pump/blob/master/analytics/analytics.go",
        made=_tyk,
        expected=_TYK,
    ),
    BlindDatabase(
        name="nightscout-person",
        engine="mongodb",
        source="https://github.com/nightscout/cgm-remote-monitor/blob/master/lib/server/entries.js",
        made=_nightscout,
        expected=_NIGHTSCOUT,
        quiet=True,
    ),
)
