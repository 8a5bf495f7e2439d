"""MongoDB: what five programs keep in it, and what an expert expects to hear about each."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final

from bson import Int64, ObjectId

from tests.blind.expected import BlindDatabase, Cause, Expected, Grade
from tests.builders import NOW
from tests.databases import Collection, Dataset

Document = dict[str, Any]

_LETTERS: Final = "23456789ABCDEFGHJKLMNPQRSTWXYZabcdefghijkmnopqrstuvwxyz"


def _object_id(at: datetime, number: int) -> ObjectId:
    """As a driver makes it: the second, then a counter."""
    return ObjectId(f"{int(at.timestamp()):08x}a1b2c3d4e5{number % 0x1000000:06x}")


def _key(random: Random, length: int) -> str:
    return "".join(random.choices(_LETTERS, k=length))


def _uuid(random: Random) -> str:
    return str(uuid.UUID(int=random.getrandbits(128), version=4))


def _milliseconds(at: datetime) -> datetime:
    """What BSON keeps of it."""
    return at.replace(microsecond=at.microsecond // 1000 * 1000)


# --- Parse Server ------------------------------------------------------------------------------------------------

_PARSE: Final = (
    Expected(
        Cause.ARRAY,
        "Vehicle.track",
        Grade.HARMFUL,
        "A vehicle's array gets 5,760 points of 65 B a day (one every 5 s for 8 h): three documents are 3.0 MB after 8 "
        "days, each append writes all of it again, and the 16 MiB that a document may have are full 37 days from now.",
    ),
    Expected(
        Cause.INDEX,
        "*_p_courier_1",
        Grade.HARMFUL,
        "`_p_courier` alone is the start of `_p_courier, _created_at`: 90,000 entries a day, 33 million in a year, of "
        "12 to 35 B each, so 400 MB to 1.1 GB and a write per scan for nothing.",
    ),
    Expected(
        Cause.RETENTION,
        "Scan",
        Grade.HARMLESS,
        "33 million scans a year of 164 B are 5.4 GB; they prove deliveries, so how long they are kept is for the "
        "business to say.",
    ),
    Expected(
        Cause.RETENTION,
        "_Session",
        Grade.HARMLESS,
        "Parse leaves expired sessions where they are: 20 new ones a day of 300 B are 2 MB a year.",
    ),
    Expected(
        Cause.REPEATED_BYTES,
        "Scan._updated_at",
        Grade.HARMLESS,
        "It equals `_created_at` in each scan, but Parse Server writes both and cannot do without.",
    ),
)


def _parse() -> Dataset:
    random = Random(1)
    couriers = [_key(random, 10) for _ in range(300)]
    return Dataset(
        collections=(
            Collection("_SCHEMA", _parse_schema()),
            Collection("_User", _parse_users(couriers), unique=("username", "email")),
            Collection("_Session", _parse_sessions(random, couriers), indexes=(("_session_token",), ("_p_user",))),
            Collection("_Role", [_parse_object("rOleAdmin1", NOW - timedelta(days=9), name="admin")], unique=("name",)),
            Collection("_Idempotency", _parse_requests(random), unique=("reqId",), expire={"expire": 0}),
            Collection("Vehicle", list(_parse_vehicles(random, couriers))),
            Collection(
                "Scan",
                list(_parse_scans(random, couriers)),
                indexes=(("_p_courier",), ("_p_courier", "_created_at"), ("code",)),
            ),
        )
    )


def _parse_object(key: str, at: datetime, **fields: Any) -> Document:
    return {"_id": key, **fields, "_created_at": at, "_updated_at": at}


def _parse_schema() -> list[Document]:
    dates = {"objectId": "string", "createdAt": "date", "updatedAt": "date"}
    return [
        {"_id": "Vehicle", **dates, "plate": "string", "courier": "*_User", "track": "array"},
        {"_id": "Scan", **dates, "courier": "*_User", "code": "string", "result": "string", "weight": "number"},
    ]


def _parse_users(couriers: list[str]) -> list[Document]:
    return [
        _parse_object(
            key,
            NOW - timedelta(days=8, minutes=7 * i),
            username=f"courier{i:03}",
            email=f"courier{i:03}@parcels.example",
            _hashed_password="$2y$10$Q7Jb0r1bHc9vX2dM4kZsUe3nT5wL8yPqAoRgFhIjKlMnOpQrStUv",
            _wperm=[key],
            _rperm=["*", key],
            _acl={key: {"w": True, "r": True}, "*": {"r": True}},
        )
        for i, key in enumerate(couriers)
    ]


def _parse_sessions(random: Random, couriers: list[str]) -> list[Document]:
    return [
        _parse_object(
            _key(random, 10),
            at,
            _session_token=f"r:{random.getrandbits(128):032x}",
            _p_user=f"_User${random.choice(couriers)}",
            createdWith={"action": "login", "authProvider": "password"},
            restricted=False,
            installationId=_uuid(random),
            expiresAt=at + timedelta(days=365),
        )
        for at in (NOW - timedelta(minutes=72 * (160 - i)) for i in range(160))
    ]


def _parse_requests(random: Random) -> list[Document]:
    """Of the last five minutes."""
    return [
        _parse_object(_key(random, 10), at, reqId=_uuid(random), expire=at + timedelta(minutes=5))
        for at in (NOW - timedelta(seconds=300 - i) for i in range(300))
    ]


def _parse_vehicles(random: Random, couriers: list[str]) -> Iterator[Document]:
    """Three of them with a tracker; the others without one yet."""
    for number in range(40):
        started = NOW - timedelta(days=8, minutes=number)
        vehicle = _parse_object(
            _key(random, 10), started, plate=f"KA-{number:03}-PX", _p_courier=f"_User${couriers[number]}", track=[]
        )
        if number < 3:
            vehicle["track"] = list(_parse_track(random))
            vehicle["_updated_at"] = NOW - timedelta(seconds=5 + number)
        yield vehicle


def _parse_track(random: Random) -> Iterator[Document]:
    """Eight working days of eight hours, the last point just now."""
    for day in range(8):
        end = NOW - timedelta(days=7 - day)
        for i in range(5_760):
            yield {
                "at": end - timedelta(seconds=5 * (5_760 - i)),
                "lat": 49.0 + random.random() / 10,
                "lng": 8.4 + random.random() / 10,
                "speed": random.random() * 14,
            }


def _parse_scans(random: Random, couriers: list[str]) -> Iterator[Document]:
    """15,000 in four hours."""
    for i in range(15_000):
        at = _milliseconds(NOW - timedelta(seconds=0.96 * (15_000 - i)))
        yield _parse_object(
            _key(random, 10),
            at,
            _p_courier=f"_User${random.choice(couriers)}",
            code=f"JD0146{random.randrange(10**10):010}",
            result=random.choice(("loaded", "delivered", "delivered", "absent")),
            weight=round(random.random() * 20, 2),
        )


# --- FIWARE STH-Comet --------------------------------------------------------------------------------------------

_SHIPMENTS_A_DAY: Final = 60
_COMET_DAYS: Final = 14

_COMET: Final = (
    Expected(
        Cause.NAMES,
        "*",
        Grade.HARMFUL,
        "Two collections for each shipment, 120 new ones a day: 1,680 collections and 3,360 files in 14 days, the "
        "10,000 collections that a replica set bears in 70 days, 45,000 in a year.",
    ),
    Expected(
        Cause.NUMBER_AS_TEXT,
        "sth_*.attrValue",
        Grade.HARMLESS,
        "STH-Comet keeps each value as text, `21.4`; it compares and adds up by itself, and text costs 2 B a value.",
    ),
    Expected(
        Cause.RETENTION,
        "*",
        Grade.HARMLESS,
        "Nothing removes what was measured two weeks ago, but 930 readings and 340 sums a day are 86 MB a year.",
    ),
)


def _comet(until: datetime = NOW) -> Dataset:
    """`until`: what had been received by then."""
    random = Random(2)
    collections: list[Collection] = []
    for number in range(_SHIPMENTS_A_DAY * _COMET_DAYS):
        start = NOW - timedelta(days=_COMET_DAYS) + timedelta(minutes=24 * number)
        raw = [d for d in _comet_readings(random, start) if d["recvTime"] < until]
        if not raw:
            continue
        name = f"sth_x002fcoldchainxffffShipment:{20_000 + number}xffffShipment"
        collections += [Collection(name, raw), Collection(f"{name}.aggr", list(_comet_aggregates(raw)))]
    return Dataset(collections=collections)


def _comet_yesterday() -> Dataset:
    return _comet(NOW - timedelta(days=1))


def _comet_readings(random: Random, start: datetime) -> Iterator[Document]:
    """A shipment is on the road for a day and tells of itself every three hours; the newest ones since a while."""
    for i in range(8):
        at = start + timedelta(hours=3 * i, minutes=1)
        for n, (attribute, value) in enumerate(
            (("temperature", 2 + random.random() * 5), ("humidity", 60 + random.random() * 20))
        ):
            yield {
                "_id": _object_id(at, 2 * i + n),
                "recvTime": at,
                "attrName": attribute,
                "attrType": "Number",
                "attrValue": f"{value:.1f}",
            }


def _comet_aggregates(raw: list[Document]) -> Iterator[Document]:
    groups: dict[tuple[str, str, datetime], dict[int, list[float]]] = {}
    for reading in raw:
        at: datetime = reading["recvTime"]
        day = at.replace(hour=0, minute=0, second=0, microsecond=0)
        for resolution, origin, offset in (("hour", day, at.hour), ("day", day.replace(day=1), at.day)):
            points = groups.setdefault((reading["attrName"], resolution, origin), {})
            points.setdefault(offset, []).append(float(reading["attrValue"]))
    for (attribute, resolution, origin), points in groups.items():
        yield {
            "_id": {"attrName": attribute, "attrType": "Number", "origin": origin, "resolution": resolution},
            "points": [
                {
                    "offset": offset,
                    "samples": len(values),
                    "sum": sum(values),
                    "sum2": sum(v * v for v in values),
                    "min": min(values),
                    "max": max(values),
                }
                for offset, values in points.items()
            ],
        }


# --- EMQX --------------------------------------------------------------------------------------------------------

_EMQX_KEPT: Final = timedelta(days=2)

_EMQX: Final = (
    Expected(
        Cause.BUCKETS,
        "uplinks*",
        Grade.HARMFUL,
        "The metaField holds the message's id, so each of 72,000 documents a day has a bucket of its own: 2.2 million "
        "buckets of about 650 B, 1.4 GB, in the 30 days kept, where the 50 clients alone need 1,200 buckets a day.",
    ),
    Expected(
        Cause.RETENTION,
        "client_events*",
        Grade.HARMFUL,
        "The TTL index of two days removes nothing, as `timestamp` is a number of milliseconds, no date: 8,000 of the "
        "10,000 documents are older, and 365,000 a year with addresses of clients stay for good, 105 MB with indexes.",
    ),
    Expected(
        Cause.COMPOSITE,
        "client_events.peername",
        Grade.HARMLESS,
        "EMQX gives address and port as one text, of 17 B; nobody looks for ports.",
    ),
    Expected(
        Cause.DEPENDENT_TAG,
        "uplinks.meta*",
        Grade.HARMLESS,
        "The topic follows from the client: 34 B in 72,000 documents a day are 73 MB in the 30 days kept, and nothing "
        "once buckets are full, which have it once.",
    ),
)


def _emqx() -> Dataset:
    random = Random(3)
    clients = [f"meter-{random.randrange(16**6):06x}" for _ in range(50)]
    return Dataset(
        collections=(
            Collection(
                "uplinks",
                list(_emqx_uplinks(random, clients)),
                options={
                    "timeseries": {"timeField": "ts", "metaField": "meta", "granularity": "seconds"},
                    "expireAfterSeconds": 30 * 86_400,
                },
            ),
            Collection(
                "client_events",
                list(_emqx_events(random, clients)),
                expire={"timestamp": int(_EMQX_KEPT.total_seconds())},
                indexes=(("clientid",),),
            ),
            Collection("device_state", list(_emqx_states(random, clients)), unique=("clientid",)),
        )
    )


def _emqx_uplinks(random: Random, clients: list[str]) -> Iterator[Document]:
    """Each client once a minute for three hours."""
    for minute in range(180):
        for n, client in enumerate(clients):
            at = _milliseconds(NOW - timedelta(minutes=180 - minute) + timedelta(seconds=1.2 * n))
            yield {
                "_id": _object_id(at, minute * 50 + n),
                "ts": at,
                "meta": {
                    "clientid": client,
                    "topic": f"meters/{client}/up",
                    "mid": f"0006{random.getrandbits(112):028X}",
                },
                "qos": 1,
                "payload": {
                    "voltage": round(229 + random.random() * 3, 1),
                    "current": round(random.random() * 16, 2),
                    "energy": round(4_000 + minute * 0.05 + n, 2),
                },
            }


def _emqx_events(random: Random, clients: list[str]) -> Iterator[Document]:
    """1,000 a day for ten days."""
    for i in range(10_000):
        at = NOW - timedelta(seconds=86.4 * (10_000 - i))
        connected = i % 2 == 0
        event: Document = {
            "_id": _object_id(at, i),
            "event": "client.connected" if connected else "client.disconnected",
            "clientid": random.choice(clients),
            "username": "meters",
            "peername": f"10.20.{random.randrange(4)}.{random.randrange(250)}:{random.randrange(30_000, 61_000)}",
            "proto_name": "MQTT",
            "proto_ver": 5,
            "node": "emqx@10.20.0.11",
            "timestamp": Int64(at.timestamp() * 1000),
        }
        if connected:
            event |= {"keepalive": 60, "clean_start": True, "expiry_interval": 0}
        else:
            event |= {"reason": random.choice(("keepalive_timeout", "tcp_closed", "normal"))}
        yield event


def _emqx_states(random: Random, clients: list[str]) -> Iterator[Document]:
    for n, client in enumerate(clients):
        seen = NOW - timedelta(seconds=60 - n)
        yield {
            "_id": _object_id(NOW - timedelta(days=10, minutes=n), n),
            "clientid": client,
            "firmware": random.choice(("2.4.1", "2.4.2")),
            "last_seen": seen,
        }


# --- Rocket.Chat -------------------------------------------------------------------------------------------------

_CHAT_DAYS: Final = 20

_CHAT: Final = (
    Expected(
        Cause.REPEATED_BYTES,
        "rocketchat_sessions.device*",
        Grade.HARMLESS,
        "Each session has its browser and system again, 145 B in 400 documents a day; after 45 days they go, so it is "
        "3 MB at most.",
    ),
    Expected(
        Cause.REPEATED_BYTES,
        "rocketchat_message.md*",
        Grade.HARMLESS,
        "Rocket.Chat keeps a message as text and parsed: 160 B in 200 messages a day are 12 MB a year.",
    ),
    Expected(
        Cause.COLUMN_NAMES,
        "rocketchat_message.reactions*",
        Grade.HARMLESS,
        "Reactions are named by their emoji: a handful of names in a tenth of the messages, without a limit near.",
    ),
    Expected(
        Cause.ROWS_LAYOUT,
        "rocketchat_sessions",
        Grade.HARMLESS,
        "Sessions and daily sums of users are in one collection, told apart by `type`, as Rocket.Chat reads them.",
    ),
    Expected(
        Cause.RETENTION,
        "rocketchat_message",
        Grade.HARMLESS,
        "No policy prunes messages, as people look for old ones: 200 a day of 450 B are 33 MB a year.",
    ),
)


def _chat() -> Dataset:
    random = Random(4)
    users = [(_key(random, 17), f"user.{n:03}") for n in range(240)]
    return Dataset(
        collections=(
            Collection(
                "rocketchat_sessions",
                [*_chat_sessions(random, users), *_chat_days(random, users)],
                expire={"_computedAt": 45 * 86_400},
                indexes=(
                    ("createdAt",),
                    ("loginAt",),
                    ("ip", "loginAt"),
                    ("userId", "sessionId"),
                    ("type", "year", "month", "day"),
                    ("sessionId", "instanceId", "year", "month", "day"),
                ),
            ),
            Collection(
                "rocketchat_message",
                list(_chat_messages(random, users)),
                indexes=(("rid", "ts", "_updatedAt"), ("ts",), ("u._id",)),
            ),
            Collection("usersSessions", list(_chat_connections(random, users))),
            Collection("rocketchat_statistics", list(_chat_statistics()), indexes=(("createdAt",),)),
            Collection("users", list(_chat_users(users)), unique=("username",)),
        )
    )


_BROWSERS: Final = (
    ("Chrome", "122.0.6261.112", "Windows", "10"),
    ("Firefox", "123.0", "Linux", "x86_64"),
    ("Chrome", "121.0.6167.184", "Mac OS", "10.15.7"),
    ("Mobile Safari", "17.3.1", "iOS", "17.3.1"),
)
_INSTANCE: Final = "pZ4kXw9nQ2sVt7bLd"


def _chat_device(random: Random) -> Document:
    name, version, system, of_system = random.choice(_BROWSERS)
    return {
        "type": "browser",
        "name": name,
        "longVersion": version,
        "os": {"name": system, "version": of_system},
        "version": ".".join(version.split(".")[:3]),
    }


def _chat_sessions(random: Random, users: list[tuple[str, str]]) -> Iterator[Document]:
    """400 a day; those of finished days have been computed, so they have a time at which they go."""
    for i in range(400 * _CHAT_DAYS):
        at = _milliseconds(NOW - timedelta(seconds=216 * (400 * _CHAT_DAYS - i)))
        user, name = random.choice(users)
        address = f"192.168.{random.randrange(8)}.{random.randrange(2, 250)}"
        session: Document = {
            "_id": _key(random, 17),
            "sessionId": _key(random, 17),
            "instanceId": _INSTANCE,
            "year": at.year,
            "month": at.month,
            "day": at.day,
            "userId": user,
            "roles": ["user"],
            "mostImportantRole": "user",
            "type": "session",
            "loginAt": at,
            "loginToken": f"{_key(random, 43)}=",
            "ip": address,
            "host": "chat.example.org",
            "searchTerm": f"{name} {address}",
            "device": _chat_device(random),
            "createdAt": at,
            "_updatedAt": at,
        }
        if at.date() < NOW.date():
            computed = at.replace(hour=2, minute=0, second=0, microsecond=0) + timedelta(days=1)
            closed = min(at + timedelta(minutes=random.randrange(3, 400)), computed)
            session |= {
                "type": "computed-session",
                "closedAt": closed,
                "lastActivityAt": closed,
                "_computedAt": computed,
                "_updatedAt": computed,
            }
        yield session


def _chat_days(random: Random, users: list[tuple[str, str]]) -> Iterator[Document]:
    for back in range(_CHAT_DAYS, 0, -1):
        day = (NOW - timedelta(days=back)).replace(hour=0, minute=0, second=0, microsecond=0)
        computed = day + timedelta(days=1, hours=2)
        for user, _ in random.sample(users, 200):
            time = random.randrange(600, 30_000)
            yield {
                "_id": f"{user}-{day.year}-{day.month}-{day.day}",
                "type": "user_daily",
                "userId": user,
                "roles": ["user"],
                "mostImportantRole": "user",
                "year": day.year,
                "month": day.month,
                "day": day.day,
                "devices": [{"sessions": 2, "time": time, "device": _chat_device(random)}],
                "sessions": 2,
                "time": time,
                "createdAt": computed,
                "_computedAt": computed,
                "_updatedAt": computed,
            }


_WORDS: Final = (
    *("the", "build", "is", "green", "again", "who", "can", "look", "at", "printer"),
    *("on", "second", "floor", "please", "thanks", "lunch", "now", "later"),
)


def _chat_messages(random: Random, users: list[tuple[str, str]]) -> Iterator[Document]:
    rooms = [_key(random, 17) for _ in range(60)]
    for i in range(200 * _CHAT_DAYS):
        at = _milliseconds(NOW - timedelta(seconds=432 * (200 * _CHAT_DAYS - i)))
        user, name = random.choice(users)
        text = " ".join(random.choices(_WORDS, k=random.randrange(2, 24)))
        message: Document = {
            "_id": _key(random, 17),
            "rid": random.choice(rooms),
            "msg": text,
            "ts": at,
            "u": {"_id": user, "username": name, "name": name.title()},
            "mentions": [],
            "channels": [],
            "urls": [],
            "md": [{"type": "PARAGRAPH", "value": [{"type": "PLAIN_TEXT", "value": text}]}],
            "_updatedAt": at,
        }
        if i % 10 == 0:
            names = [n for _, n in random.sample(users, random.randrange(1, 5))]
            message["reactions"] = {random.choice((":thumbsup:", ":joy:", ":tada:", ":eyes:")): {"usernames": names}}
        yield message


def _chat_connections(random: Random, users: list[tuple[str, str]]) -> Iterator[Document]:
    """Only those that are open, so one or two for a user."""
    for n, (user, _) in enumerate(users):
        at = NOW - timedelta(minutes=n)
        yield {
            "_id": user,
            "connections": [
                {
                    "id": _key(random, 17),
                    "instanceId": _INSTANCE,
                    "status": "online",
                    "_createdAt": at,
                    "_updatedAt": at,
                }
                for _ in range(n % 3)
            ],
        }


def _chat_statistics() -> Iterator[Document]:
    """One a day, of a few dozen numbers."""
    for back in range(_CHAT_DAYS, 0, -1):
        at = NOW - timedelta(days=back - 1, hours=4)
        yield {
            "_id": f"statistics{back:07}",
            "uniqueId": "vD5mKq8zRw3xYb6nT",
            "version": "6.6.3",
            "totalUsers": 240,
            "activeUsers": 238,
            "totalRooms": 60,
            "totalMessages": 200 * (_CHAT_DAYS - back),
            "os": {
                "type": "Linux",
                "platform": "linux",
                "arch": "x64",
                "totalmem": 8_201_000_000,
                "loadavg": [0.4, 0.3],
            },
            "process": {"nodeVersion": "v14.21.4", "uptime": 86_400.0 * (_CHAT_DAYS - back + 1)},
            "migration": {"_id": "control", "version": 304, "locked": False},
            "createdAt": at,
            "_updatedAt": at,
        }


def _chat_users(users: list[tuple[str, str]]) -> Iterator[Document]:
    for n, (user, name) in enumerate(users):
        at = NOW - timedelta(days=_CHAT_DAYS, minutes=n)
        yield {
            "_id": user,
            "username": name,
            "name": name.title(),
            "emails": [{"address": f"{name}@example.org", "verified": True}],
            "type": "user",
            "status": "online",
            "active": True,
            "roles": ["user"],
            "createdAt": at,
            "_updatedAt": NOW - timedelta(minutes=n),
        }


# --- Axon --------------------------------------------------------------------------------------------------------

_AXON_DAYS: Final = 20

_AXON: Final = (
    Expected(
        Cause.NUMBER_AS_TEXT,
        "domainevents.timestamp",
        Grade.HARMLESS,
        "Axon keeps the time as ISO text and sorts by it; 21 B more than a date in 150 events a day are 1 MB a year.",
    ),
    Expected(
        Cause.REPEATED_BYTES,
        "domainevents.*",
        Grade.HARMLESS,
        "Class names and metadata are the same text in each event: 230 B in 150 events a day are 12 MB a year.",
    ),
    Expected(
        Cause.RETENTION,
        "domainevents",
        Grade.HARMLESS,
        "An event store keeps everything, and 150 events a day of 800 B are 44 MB a year.",
    ),
    Expected(
        Cause.SPARSE,
        "domainevents.payloadRevision",
        Grade.HARMLESS,
        "It is null in each event; a null costs 17 B, 1 MB a year.",
    ),
)

_ORDER: Final = ("OrderPlaced", "PaymentAuthorized", "OrderConfirmed", "ItemPicked", "OrderShipped", "OrderDelivered")


def _axon() -> Dataset:
    random = Random(5)
    events = sorted(_axon_events(random), key=lambda event: str(event["timestamp"]))
    return Dataset(
        collections=(
            Collection(
                "domainevents",
                events,
                indexes=(("aggregateIdentifier", "sequenceNumber"), ("timestamp", "sequenceNumber")),
            ),
            Collection("snapshotevents", indexes=(("aggregateIdentifier", "sequenceNumber"),)),
            Collection("sagas", list(_axon_sagas(random, events)), unique=("sagaIdentifier",)),
            Collection("trackingtokens", list(_axon_tokens()), indexes=(("processorName", "segment"),)),
        )
    )


def _axon_events(random: Random) -> Iterator[Document]:
    """25 orders a day, each with six events within twelve hours."""
    for number in range(25 * _AXON_DAYS):
        placed = NOW - timedelta(hours=12) - timedelta(minutes=57.6 * (25 * _AXON_DAYS - number - 1))
        order, customer = _uuid(random), _uuid(random)
        trace = _uuid(random)
        for sequence, event in enumerate(_ORDER):
            at = _milliseconds(placed + timedelta(minutes=140 * sequence, seconds=random.random() * 600))
            name = f"com.example.shop.orders.events.{event}Event"
            yield {
                "_id": _object_id(at, 6 * number + sequence),
                "aggregateIdentifier": order,
                "type": "Order",
                "sequenceNumber": Int64(sequence),
                "serializedPayload": f"<{name}><orderId>{order}</orderId><customerId>{customer}</customerId>"
                f"<total>{random.randrange(500, 20_000) / 100}</total><currency>EUR</currency></{name}>",
                "timestamp": f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z",
                "payloadType": name,
                "payloadRevision": None,
                "serializedMetaData": "<meta-data><entry><string>traceId</string><string>"
                f"{trace}</string></entry><entry><string>source</string><string>shop-api</string></entry></meta-data>",
                "eventIdentifier": _uuid(random),
            }


def _axon_sagas(random: Random, events: list[Document]) -> Iterator[Document]:
    """Of the orders that are under way; a saga goes when its order is delivered."""
    for n, order in enumerate(sorted({e["aggregateIdentifier"] for e in events[-150:]})[:20]):
        yield {
            "_id": _object_id(NOW - timedelta(hours=12 - n / 2), n),
            "sagaType": "com.example.shop.orders.OrderSaga",
            "sagaIdentifier": _uuid(random),
            "serializedSaga": b"<OrderSaga><state>PAID</state><attempts>1</attempts></OrderSaga>",
            "associationValues": [{"associationValueKey": "orderId", "associationValueValue": order}],
        }


def _axon_tokens() -> Iterator[Document]:
    for n, processor in enumerate(("orders.projection", "mail", "OrderSagaProcessor")):
        yield {
            "_id": _object_id(NOW - timedelta(days=_AXON_DAYS), n),
            "processorName": processor,
            "segment": 0,
            "owner": "1@shop-api-0",
            "timestamp": int(NOW.timestamp() * 1000) - 400 * n,
            "tokenType": "org.axonframework.extensions.mongo.eventsourcing.eventstore.MongoTrackingToken",
            "token": b"<token><timestamp>1774936799000</timestamp></token>",
        }


DATABASES: Final = (
    BlindDatabase(
        name="parse-parcels",
        engine="mongodb",
        source="https://docs.parseplatform.org/js/guide/#one-to-many",
        made=_parse,
        expected=_PARSE,
    ),
    BlindDatabase(
        name="fiware-sth-comet-shipments",
        engine="mongodb",
        source="https://github.com/telefonicaid/fiware-sth-comet/blob/master/doc/manuals/data-models-schemas.md",
        made=_comet,
        expected=_COMET,
        yesterday=_comet_yesterday,
    ),
    BlindDatabase(
        name="emqx-meters",
        engine="mongodb",
        source="https://docs.emqx.com/en/emqx/latest/data-integration/data-bridge-mongodb.html",
        made=_emqx,
        expected=_EMQX,
    ),
    BlindDatabase(
        name="rocketchat-office",
        engine="mongodb",
        source="https://github.com/RocketChat/Rocket.Chat/blob/develop/packages/models/src/models/Sessions.ts",
        made=_chat,
        expected=_CHAT,
        quiet=True,
    ),
    BlindDatabase(
        name="axon-shop",
        engine="mongodb",
        source="https://github.com/AxonFramework/extension-mongo/blob/master/mongo/src/main/java/org/axonframework/"
        "extensions/mongo/eventsourcing/eventstore/AbstractMongoEventStorageStrategy.java",
        made=_axon,
        expected=_AXON,
        quiet=True,
    ),
)
