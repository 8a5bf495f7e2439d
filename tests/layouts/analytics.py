"""Layouts in DuckDB, GreptimeDB, Timestream and MongoDB that no rule was tuned for: expectations came first."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any, Final

import bson

from tests.databases import Collection, Dataset, Greptime, Row, Table, times
from tests.engines.timestream.devops import partitioned_by
from tests.layouts.layout import Layout, Script, Wanted
from tests.layouts.making import an_id, word
from tests.layouts.series import Noise, kept, table

# --- DuckDB: connections that Zeek saw, and trades at an exchange -----------------------------------------------------


def _zeek(dirty: bool) -> Script:
    def of(kind: str) -> str:
        return "VARCHAR" if dirty else kind

    unset = "'-'" if dirty else "NULL"
    return Script(
        (
            f"""CREATE TABLE conn (ts TIMESTAMP, uid VARCHAR, id_orig_h VARCHAR, id_orig_p INTEGER, id_resp_h VARCHAR,
                id_resp_p INTEGER, proto VARCHAR, service VARCHAR, duration {of("DOUBLE")}, orig_bytes {of("BIGINT")},
                resp_bytes {of("BIGINT")}, conn_state VARCHAR, local_orig BOOLEAN, history VARCHAR,
                orig_pkts INTEGER)""",
            f"""INSERT INTO conn SELECT TIMESTAMP '2026-03-31 05:59:57' - (29999 - i) * INTERVAL '2 seconds',
                'C' || substr(md5(i::VARCHAR), 1, 17), '192.168.' || hash(i) % 4 || '.' || 2 + hash(i + 1) % 90,
                (1024 + hash(i + 2) % 60000)::INTEGER, '93.184.' || hash(i + 3) % 4 || '.' || hash(i + 4) % 200,
                [443, 53, 80, 22][1 + i % 4], ['tcp', 'udp', 'tcp', 'tcp'][1 + i % 4],
                ['ssl', 'dns', 'http', NULL][1 + i % 4],
                CASE WHEN i % 9 = 0 THEN {unset} ELSE (round(hash(i + 5) % 90000 / 1e3, 6))::{of("DOUBLE")} END,
                CASE WHEN i % 9 = 0 THEN {unset} ELSE (hash(i + 6) % 90000)::{of("BIGINT")} END,
                CASE WHEN i % 9 = 0 THEN {unset} ELSE (hash(i + 7) % 9000000)::{of("BIGINT")} END,
                ['SF', 'S0', 'REJ', 'RSTO'][1 + (hash(i + 8) % 4)::BIGINT], true, 'ShADadFf',
                (1 + hash(i) % 90)::INTEGER
                FROM generate_series(0, 29999) g(i)""",
            """CREATE TABLE notice AS SELECT ts, uid, 'SSH::Password_Guessing' AS note, id_orig_h AS src,
                'appears to be guessing SSH passwords (seen in 30 connections).' AS msg FROM conn
                WHERE hash(uid) % 150 = 0""",
        )
    )


_SYMBOLS: Final = [
    "aapl",
    "msft",
    "amzn",
    "googl",
    "meta",
    "nvda",
    "tsla",
    "brk_b",
    "jpm",
    "v",
    "unh",
    "xom",
    "jnj",
    "pg",
    "ma",
    "hd",
    "cvx",
    "mrk",
    "abbv",
    "ko",
    "pep",
    "bac",
    "avgo",
    "cost",
    "wmt",
    "mcd",
    "csco",
    "crm",
    "acn",
    "adbe",
]


def _trades(dirty: bool) -> Script:
    def of(symbol: str, number: int) -> str:
        return f"""SELECT TIMESTAMP '2026-03-30 20:00:00' - (399 - i) * INTERVAL '58.5 seconds' AS sip_timestamp,
            {"" if dirty else f"'{symbol.upper()}' AS ticker,"} {100 + 13 * number} + (hash(i + {number}) % 900) / 100.0
            AS price, (1 + hash(i * {number + 3}) % 900)::INTEGER AS size, [4, 7, 10,
            11][1 + i % 4]::TINYINT AS exchange,
            ((i + 1) * 37)::BIGINT AS sequence_number, (hash(i * 30 + {number}) % 10**8)::VARCHAR AS id,
            CASE WHEN i % 3 = 0 THEN [12, 37] END AS conditions FROM generate_series(0, 399) g(i)"""

    parts = [of(symbol, n) for n, symbol in enumerate(_SYMBOLS)]
    if dirty:
        return Script([f"CREATE TABLE {name}_trades AS {part}" for name, part in zip(_SYMBOLS, parts, strict=True)])
    names = ", ".join(f"('{symbol.upper()}', '{word(n).title()} Inc.')" for n, symbol in enumerate(_SYMBOLS))
    return Script(
        (
            f"CREATE TABLE trades AS {' UNION ALL '.join(parts)}",
            f"CREATE TABLE tickers AS SELECT * FROM (VALUES {names}) t(ticker, name)",
        )
    )


# --- GreptimeDB: batteries of electric buses --------------------------------------------------------------------------


def _buses(dirty: bool) -> Dataset:
    buses = [{"vin": f"WEB628{n * 7_919 % 10**4:04}{n:07}", "depot": ("Ost", "Süd", "Hbf")[n % 3]} for n in range(40)]
    driven: dict[str, Any] = {
        "odometer_km": (lambda n: f"{n.uniform(40_000, 190_000):.1f}") if dirty else (40_000.0, 190_000.0)
    }
    values: dict[str, Any] = {"soc_pct": (12.0, 99.0), "soh_pct": (85.0, 99.0), "cell_temp_max_c": (8.0, 41.0)}
    stored = Greptime(options={"ttl": "1y"}, time_digits=3)
    key = ("vin", "depot", "odometer_km", "ts") if dirty else ("vin", "depot", "ts")
    cells = [{"vin": b["vin"], "module": str(m)} for b in buses[:12] for m in range(6)]
    kind: dict[str, Any] = {"time": "ts", "greptime": stored}
    sources = [b | driven for b in buses] if dirty else buses
    return kept(
        table(
            "bus_battery",
            sources,
            values if dirty else values | driven,
            instants=90,
            key=key,
            apart=timedelta(seconds=2),
            **kind,
        ),
        table("bus_module", cells, {"volt": (40.0, 60.0), "temp_c": (8.0, 41.0)}, key=("vin", "module", "ts"), **kind),
    )


# --- Timestream: canaries that walk through a shop --------------------------------------------------------------------


def _canaries(dirty: bool) -> Dataset:
    def run(noise: Noise) -> str:
        return an_id(noise)

    canaries = [
        {"canary": name, "region": region, "step": step}
        for name in ("shop-checkout", "shop-login", "api-health")
        for region in ("eu-central-1", "us-east-1", "ap-southeast-2")
        for step in ("open", "submit", "verify")
    ]
    measured: dict[str, Any] = {"duration_ms": (90.0, 9_000.0), "success": [True, True, True, False], "retries": (0, 2)}
    made = table(
        "canary_runs",
        [c | {"run_id": run} for c in canaries] if dirty else canaries,
        measured if dirty else measured | {"run_id": run},
        instants=140,
        step=timedelta(minutes=5),
        apart=timedelta(seconds=3),
    )
    rows = [Row(row.time, row.tags, row.fields, "run") for row in made.rows]
    kept_in = Table(made.name, made.tags, made.fields, rows, made.key, timestream=partitioned_by("canary"))
    return kept(kept_in, database="synthetics")


# --- MongoDB: conversations with language models, as LibreChat keeps them ---------------------------------------------


def _librechat(dirty: bool) -> Dataset:
    noise = random.Random(211)
    people = [bson.ObjectId(f"65f0{n * 7_919:020x}") for n in range(40)]
    users = [
        {"_id": p, "email": f"nutzer{n}@example.org", "name": f"Nutzer {n}", "role": "USER", "createdAt": at}
        for n, (p, at) in enumerate(zip(people, times(40, timedelta(days=4)), strict=True))
    ]
    talks, messages = [], []
    for n, at in enumerate(times(400, timedelta(hours=1))):
        user, ident = str(noise.choice(people)), an_id(noise)
        talk: dict[str, Any] = {"conversationId": ident, "title": f"Frage {n} zu Python", "user": user}
        talk |= {"endpoint": noise.choice(("openAI", "anthropic")), "createdAt": at, "updatedAt": at}
        if dirty:
            readers = noise.sample(people, noise.randrange(1, 5))
            talk["readBy"] = {str(reader): at + timedelta(minutes=noise.randrange(60)) for reader in readers}
        talks.append(talk)
        parent = "00000000-0000-0000-0000-000000000000"
        for turn in range(noise.randrange(2, 14)):
            count: Any = noise.randrange(4, 1_900)
            if dirty and noise.random() < 0.3:
                count = str(count)
            said: dict[str, Any] = {"messageId": an_id(noise), "conversationId": ident, "parentMessageId": parent}
            said |= {"user": user, "sender": "User" if turn % 2 == 0 else "GPT-4o", "isCreatedByUser": turn % 2 == 0}
            said |= {"text": f"Wie sortiere ich {turn + n} Listen?", "tokenCount": count, "unfinished": False}
            messages.append(said | {"createdAt": at + timedelta(seconds=20 * turn)})
            parent = said["messageId"]
    sessions = [
        {
            "refreshTokenHash": f"{noise.getrandbits(256):064x}",
            "user": noise.choice(people),
            "expiration": at + timedelta(days=7),
        }
        for at in times(120, timedelta(hours=1))
    ]
    return Dataset(
        collections=[
            Collection("users", users, unique=("email",)),
            Collection("conversations", talks, unique=("conversationId",)),
            Collection("messages", messages, unique=("messageId",)),
            Collection("sessions", sessions, expire={"expiration": 0}),
        ]
    )


def _pair(name: str, engine: str, source: str, made: Any, *wanted: Wanted, fine: tuple[Wanted, ...] = ()) -> Layout:
    return Layout(name, engine, source, lambda: made(True), lambda: made(False), wanted, fine)


LAYOUTS: Final = (
    _pair(
        "zeek-duckdb",
        "duckdb",
        "https://docs.zeek.org/en/master/logs/conn.html",
        _zeek,
        Wanted("FLD002", "conn.duration", "read as text for the sake of `-`: nullstr makes it null"),
        Wanted("FLD002", "conn.orig_bytes", "the same: bytes do not add up"),
        Wanted("FLD002", "conn.resp_bytes", "the same"),
    ),
    _pair(
        "table-per-ticker-duckdb",
        "duckdb",
        "https://polygon.io/docs/flat-files/stocks/trades",
        _trades,
        Wanted("NAM002", "*", "30 tables of one schema that differ in a ticker: a column"),
    ),
    _pair(
        "greptimedb-buses",
        "greptimedb",
        "https://docs.greptime.com/user-guide/deployments-administration/performance-tuning/design-table/",
        _buses,
        Wanted("TAG002|CAR004", "bus_battery.odometer_km", "a measured value in the primary key"),
    ),
    _pair(
        "timestream-canaries",
        "timestream",
        "https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Synthetics_Canaries.html",
        _canaries,
        Wanted("TAG002|CAR004", "canary_runs.run_id", "a series of one record for each run: a measure"),
    ),
    _pair(
        "mongodb-librechat",
        "mongodb",
        "https://www.librechat.ai/docs/configuration/mongodb/mongodb_community",
        _librechat,
        Wanted("FLD003|DOC004", "messages*", "tokenCount is a text in a third of the messages: sums leave it out"),
        Wanted("NAM005", "conversations*", "IDs of people as names of fields: no index finds who read what"),
        fine=(
            Wanted("DOC002", "messages*", "messageId beside _id, as the program has it"),
            Wanted("DOC004", "conversations*", "a consequence of readBy"),
        ),
    ),
)
