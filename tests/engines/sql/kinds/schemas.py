"""A hospital, an ERP, vehicles, a forum, a bank, a feature store, mail, and sensors."""

from __future__ import annotations

import json
import random
from datetime import timedelta
from typing import Final

from tests.builders import NOW
from tests.engines.sql.kinds.making import Schema, at, each, some, text

_H = timedelta(hours=1)


def _hospital() -> Schema:
    noise = random.Random(31)
    patients = [
        (i, f"MRN{100000 + i}", f"Name {i % 90}", "FM"[i % 2], f"19{30 + i % 60}-03-07", text(at(noise, 28)))
        for i in range(400)
    ]
    admissions = []
    for i, begin in enumerate(some(noise, 600, 28)):
        end = begin + noise.uniform(5, 200) * _H
        gone = text(end) if end < NOW else None
        admissions.append((i, i % 400, i % 12, text(begin), gone, "discharged" if gone else "in", noise.choice("ABC")))
    vitals = [
        (p, text(t), 60 + noise.randrange(40), round(36 + 2 * noise.random(), 1), 90 + noise.randrange(10))
        for t in each(60, timedelta(minutes=15))
        for p in range(20)
    ]
    labs = [
        (i, i % 400, noise.choice(("HB", "CRP", "NA", "K")), round(noise.uniform(1, 150), 2), "mg/l", text(t), 1)
        for i, t in enumerate(some(noise, 900, 28))
    ]
    return Schema(
        "hospital",
        (
            """CREATE TABLE patients (id INTEGER PRIMARY KEY, mrn TEXT NOT NULL UNIQUE, name TEXT, sex TEXT,
                birth_date TEXT, registered_at TEXT)""",
            "CREATE TABLE wards (ward_id INTEGER PRIMARY KEY, name TEXT NOT NULL, beds INTEGER)",
            """CREATE TABLE admissions (id INTEGER PRIMARY KEY, patient_id INTEGER REFERENCES patients (id),
                ward_id INTEGER REFERENCES wards (ward_id), admitted_at TEXT NOT NULL, discharged_at TEXT, status TEXT,
                class TEXT)""",
            """CREATE TABLE vitals (patient_id INTEGER NOT NULL, taken_at TEXT NOT NULL, heart_rate INTEGER,
                temperature REAL, spo2 INTEGER, PRIMARY KEY (patient_id, taken_at))""",
            """CREATE TABLE lab_results (id INTEGER PRIMARY KEY, patient_id INTEGER REFERENCES patients (id), test TEXT,
                value REAL, unit TEXT, resulted_at TEXT, verified INTEGER)""",
        ),
        {
            "patients": patients,
            "wards": [(i, f"Ward {i}", 20 + i) for i in range(12)],
            "admissions": admissions,
            "vitals": vitals,
            "lab_results": labs,
        },
        {
            "patients": "entity|reference",
            "wards": "reference",
            "admissions": "entity",
            "vitals": "series",
            "lab_results": "events|attribute_value|series",
        },
        {"vitals": {"patient_id"}},
    )


def _erp() -> Schema:
    noise = random.Random(32)
    accounts = [(1000 + i, f"Account {i}", "asset") for i in range(80)]
    entries = [
        (i, i // 2, 1000 + noise.randrange(80), round(noise.uniform(-900, 900), 2), "EUR", f"Invoice {i}", text(t))
        for i, t in enumerate(some(noise, 3000, 28))
    ]
    stock = [
        (f"SKU-{s:04}", text(d)[:10], 100 + noise.randrange(50))  # type: ignore[index]
        for d in each(28, timedelta(days=1))
        for s in range(60)
    ]
    orders = []
    for i, t in enumerate(some(noise, 700, 28)):
        received = t + timedelta(days=noise.uniform(1, 20))
        done = text(received) if received < NOW else None
        orders.append((f"PO{i:06}", noise.randrange(60), text(t), done, "open" if done is None else "done", 3 * i))
    return Schema(
        "erp",
        (
            "CREATE TABLE gl_accounts (number INTEGER PRIMARY KEY, title TEXT, class TEXT)",
            """CREATE TABLE journal_lines (id INTEGER PRIMARY KEY, entry_id INTEGER, account INTEGER
                REFERENCES gl_accounts (number), amount NUMERIC, currency TEXT, memo TEXT, posted_at TEXT)""",
            "CREATE TABLE stock_levels (sku TEXT, day TEXT, on_hand INTEGER, PRIMARY KEY (sku, day))",
            """CREATE TABLE purchase_orders (po_no TEXT PRIMARY KEY, supplier INTEGER, ordered_at TEXT,
                received_at TEXT, state TEXT, total NUMERIC)""",
            "CREATE TABLE bill_of_materials (parent TEXT, part TEXT, needed REAL, PRIMARY KEY (parent, part))",
        ),
        {
            "gl_accounts": accounts,
            "journal_lines": entries,
            "stock_levels": stock,
            "purchase_orders": orders,
            "bill_of_materials": [(f"P{i // 5}", f"S{i}", 1 + i % 4) for i in range(500)],
        },
        {
            "gl_accounts": "reference",
            "journal_lines": "events",
            "stock_levels": "series",
            "purchase_orders": "entity",
            "bill_of_materials": "reference",
        },
        {"stock_levels": {"sku"}},
    )


def _vehicles() -> Schema:
    noise = random.Random(33)
    frames = [
        (f"V{v:02}", s, int(t.timestamp() * 1000), n, round(noise.uniform(0, 90), 3))
        for n, t in enumerate(each(80, timedelta(seconds=10)))
        for v in range(12)
        for s in range(3)
    ]
    fixes = [
        (f"V{n % 12:02}", n // 12, text(t), 48 + noise.random(), 11 + noise.random(), noise.uniform(0, 30))
        for n, t in enumerate(each(2400, timedelta(seconds=1)))
    ]
    trips = []
    for i, t in enumerate(some(noise, 500, 20)):
        trips.append(
            (i, f"V{i % 12:02}", text(t), text(t + noise.uniform(0.1, 3) * _H), round(noise.uniform(1, 90), 1))
        )
    return Schema(
        "vehicles",
        (
            "CREATE TABLE vehicles (vin TEXT PRIMARY KEY, model TEXT, built INTEGER)",
            """CREATE TABLE frames (vehicle TEXT, signal_id INTEGER, ts_ms INTEGER, seq INTEGER, value REAL,
                PRIMARY KEY (vehicle, signal_id, ts_ms, seq))""",
            """CREATE TABLE fixes (vehicle TEXT, seq INTEGER, recorded_at TEXT, lat REAL, lon REAL, speed REAL,
                PRIMARY KEY (vehicle, seq))""",
            """CREATE TABLE trips (id INTEGER PRIMARY KEY, vehicle TEXT, started_at TEXT, ended_at TEXT,
                distance_km REAL)""",
        ),
        {"vehicles": [(f"V{v:02}", "T4", 2020) for v in range(12)], "frames": frames, "fixes": fixes, "trips": trips},
        {"vehicles": "reference", "frames": "series", "fixes": "series", "trips": "entity|events"},
        {"frames": {"vehicle", "signal_id"}, "fixes": {"vehicle"}},
    )


def _forum() -> Schema:
    noise = random.Random(34)
    words = ("how", "pump", "leaks", "after", "winter", "thanks", "try", "the", "valve", "again")

    def said(n: int) -> str:
        return " ".join(noise.choice(words) for _ in range(n)) + f" {noise.randrange(10**6)}"

    users = [(i, f"user{i}", f"u{i}@example.org", text(t), text(NOW)) for i, t in enumerate(some(noise, 500, 28))]
    topics = [(i, i % 500, said(5), text(t), noise.randrange(90)) for i, t in enumerate(some(noise, 600, 28))]
    posts = []
    for i, t in enumerate(some(noise, 2500, 28)):
        edited = text(t + _H) if i % 20 == 0 else None
        posts.append((i, i % 600, noise.randrange(500), said(30), text(t), edited))
    votes = [(p, u, 1, text(at(noise, 28))) for p in range(300) for u in noise.sample(range(500), 4)]
    return Schema(
        "forum",
        (
            """CREATE TABLE users (id INTEGER PRIMARY KEY, login TEXT UNIQUE, email TEXT UNIQUE, created_at TEXT,
                last_login TEXT)""",
            """CREATE TABLE topics (id INTEGER PRIMARY KEY, user_id INTEGER REFERENCES users (id), title TEXT,
                created_at TEXT, views INTEGER)""",
            """CREATE TABLE posts (id INTEGER PRIMARY KEY, topic_id INTEGER REFERENCES topics (id), user_id INTEGER
                REFERENCES users (id), body TEXT, created_at TEXT, edited_at TEXT)""",
            """CREATE TABLE votes (post_id INTEGER, user_id INTEGER, value INTEGER, created_at TEXT,
                PRIMARY KEY (post_id, user_id))""",
        ),
        {"users": users, "topics": topics, "posts": posts, "votes": votes},
        {"users": "entity", "topics": "entity|events", "posts": "entity|events", "votes": "entity|events"},
    )


def _bank() -> Schema:
    noise = random.Random(35)
    accounts = [(f"DE{i:020}", i % 300, "EUR", text(t)) for i, t in enumerate(some(noise, 350, 28))]
    entries = [
        (i, f"DE{noise.randrange(350):020}", round(noise.uniform(-500, 500), 2), "EUR", f"REF{i}", text(t))
        for i, t in enumerate(some(noise, 3000, 28))
    ]
    balances = [
        (f"DE{a:020}", text(d)[:10], round(noise.uniform(0, 9000), 2)) for d in each(20, 24 * _H) for a in range(60)
    ]  # type: ignore[index]
    rates = [(text(t), c, round(noise.uniform(0.5, 2), 5)) for t in each(300, _H) for c in ("USD", "GBP", "CHF")]
    return Schema(
        "bank",
        (
            "CREATE TABLE accounts (iban TEXT PRIMARY KEY, customer_id INTEGER, currency TEXT, opened_at TEXT)",
            """CREATE TABLE ledger (id INTEGER PRIMARY KEY, iban TEXT REFERENCES accounts (iban), amount NUMERIC,
                currency TEXT, reference TEXT UNIQUE, booked_at TEXT)""",
            "CREATE TABLE balances (iban TEXT, day TEXT, balance NUMERIC, PRIMARY KEY (iban, day))",
            "CREATE TABLE fx_rates (quoted_at TEXT, currency TEXT, rate REAL)",
        ),
        {"accounts": accounts, "ledger": entries, "balances": balances, "fx_rates": rates},
        {"accounts": "entity|reference", "ledger": "events|entity", "balances": "series", "fx_rates": "series"},
        {"balances": {"iban"}, "fx_rates": {"currency"}},
    )


def _suppliers() -> Schema:
    noise = random.Random(36)
    rows = []
    for i in range(900):
        begin = NOW - timedelta(days=30 * (3 - i % 3) - noise.random())
        end = text(begin + timedelta(days=30)) if i % 3 < 2 else "9999-12-31 00:00:00"
        rows.append((i, f"S{i // 3:05}", f"Supplier {i // 3}", noise.choice(("Lyon", "Gent")), text(begin), end))
    return Schema(
        "suppliers",
        (
            """CREATE TABLE dim_supplier (supplier_key INTEGER PRIMARY KEY, supplier_no TEXT, name TEXT, city TEXT,
                valid_from TEXT, valid_to TEXT)""",
            """CREATE TABLE supplier_history (supplier_no TEXT, name TEXT, city TEXT, effective_from TEXT,
                effective_to TEXT)""",
        ),
        {"dim_supplier": rows, "supplier_history": [row[1:] for row in rows]},
        {"dim_supplier": "reference", "supplier_history": "reference"},
    )


def _features() -> Schema:
    noise = random.Random(37)
    names = ("orders_7d", "basket_avg", "last_country", "is_new")
    rows = [
        (
            f"user-{u}",
            names[k],
            noise.choice(("DE", "FR", "PL")) if k == 2 else str(round(noise.uniform(0, 9), 2)),
            text(t),
            text(t + timedelta(minutes=noise.uniform(1, 9))),
        )
        for t in each(10, 24 * _H)
        for u in range(40)
        for k in range(4)
    ]
    sets = [(f"set{i}", "users", text(t), json.dumps({"v": i})) for i, t in enumerate(some(noise, 30, 28))]
    return Schema(
        "features",
        (
            """CREATE TABLE feature_values (entity TEXT, feature TEXT, value TEXT, event_timestamp TEXT,
                ingested_at TEXT)""",
            "CREATE TABLE feature_sets (name TEXT PRIMARY KEY, entity TEXT, created_at TEXT, definition TEXT)",
        ),
        {"feature_values": rows, "feature_sets": sets},
        {"feature_values": "attribute_value", "feature_sets": "entity|reference"},
        {"feature_values": {"entity", "feature"}},
    )


def _mail() -> Schema:
    noise = random.Random(38)
    outbox = []
    for i, t in enumerate(some(noise, 800, 1)):
        tries = noise.randrange(3)
        taken = text(t + timedelta(seconds=20)) if tries else None
        next_at = text(t + timedelta(minutes=10 * tries))
        who = f"mx{i % 3}" if tries else None
        outbox.append(
            (i, f"r{i}@example.org", "Welcome", "Dear customer, " + "x" * 80, tries, next_at, who, taken, text(t))
        )
    tried = [
        (
            text(t),
            f"r{i}@example.org",
            noise.choice((250, 250, 421, 550)),
            "OK queued as " + f"{noise.getrandbits(48):x}",
            i % 3,
        )
        for i, t in enumerate(some(noise, 2000, 5))
    ]
    return Schema(
        "mail",
        (
            """CREATE TABLE outbox (id INTEGER PRIMARY KEY, recipient TEXT, subject TEXT, body TEXT, attempts INTEGER,
                next_attempt_at TEXT, locked_by TEXT, locked_at TEXT, created_at TEXT)""",
            "CREATE TABLE deliveries (at TEXT, recipient TEXT, code INTEGER, response TEXT, server INTEGER)",
            "CREATE TABLE suppressed (address TEXT PRIMARY KEY, reason TEXT, since TEXT)",
        ),
        {
            "outbox": outbox,
            "deliveries": tried,
            "suppressed": [(f"s{i}@example.org", "bounce", text(at(noise, 28))) for i in range(200)],
        },
        {"outbox": "queue", "deliveries": "events", "suppressed": "reference|entity"},
    )


def _sensors() -> Schema:
    noise = random.Random(39)
    narrow = []
    for t in each(50, timedelta(minutes=5)):
        for s in range(30):
            stored = text(t + timedelta(seconds=2))
            narrow.append((len(narrow) + 1, s, round(noise.uniform(10, 30), 2), text(t), stored, stored))
    alarms = []
    for i, t in enumerate(some(noise, 300, 20)):
        cleared = text(t + noise.uniform(0.1, 9) * _H) if i % 6 else None
        alarms.append((i, i % 30, "high", text(t), cleared, round(noise.uniform(30, 40), 1)))
    wide = [
        (int(t.timestamp()), *(round(noise.uniform(0, 50), 2) for _ in range(8)))
        for t in each(900, timedelta(minutes=1))
    ]
    seldom = [(i % 7, text(t), round(noise.uniform(0, 5), 2)) for i, t in enumerate(some(noise, 900, 25))]
    return Schema(
        "sensors",
        (
            "CREATE TABLE sensors (id INTEGER PRIMARY KEY, serial TEXT UNIQUE, room TEXT, installed_at TEXT)",
            """CREATE TABLE readings (id INTEGER PRIMARY KEY, sensor_id INTEGER REFERENCES sensors (id), value REAL,
                measured_at TEXT, created_at TEXT, updated_at TEXT)""",
            """CREATE TABLE alarms (id INTEGER PRIMARY KEY, sensor_id INTEGER REFERENCES sensors (id), severity TEXT,
                raised_at TEXT, cleared_at TEXT, value REAL)""",
            f"CREATE TABLE weather (ts INTEGER PRIMARY KEY, {', '.join(f'c{i} REAL' for i in range(8))})",
            "CREATE TABLE rain_gauge (gauge_id INTEGER, tipped_at TEXT, mm REAL)",
        ),
        {
            "sensors": [(i, f"SN{i:06}", f"Room {i}", text(at(noise, 20))) for i in range(30)],
            "readings": narrow,
            "alarms": alarms,
            "weather": wide,
            "rain_gauge": seldom,
        },
        {
            "sensors": "reference|entity",
            "readings": "series",
            "alarms": "entity",
            "weather": "series",
            "rain_gauge": "series",
        },
        {"readings": {"sensor_id"}, "weather": set(), "rain_gauge": {"gauge_id"}},
    )


SCHEMAS: Final = (
    *(_hospital(), _erp(), _vehicles(), _forum(), _bank(), _suppliers(), _features(), _mail(), _sensors()),
)
