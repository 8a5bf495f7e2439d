"""Schemas that were written beside the classifier and first run when it was done: builds, energy, web analytics."""

from __future__ import annotations

import json
import random
from datetime import timedelta
from typing import Final

from tests.builders import NOW
from tests.engines.sql.kinds.making import Schema, at, each, some, text


def _builds() -> Schema:
    noise = random.Random(41)
    builds, tests = [], []
    for i, t in enumerate(some(noise, 400, 20)):
        begun = t + timedelta(seconds=noise.uniform(1, 90))
        done = begun + timedelta(seconds=noise.uniform(60, 4000))
        over = text(done) if done < NOW else None
        sha = f"{noise.getrandbits(160):040x}"
        builds.append(
            (
                i,
                i % 25,
                sha,
                noise.choice(("main", f"feature/{i}")),
                "passed" if over else "running",
                text(t),
                text(begun),
                over,
            )
        )
        tests += [
            (i, f"test_{k}", noise.choice(("ok", "ok", "failed")), round(noise.uniform(0, 9), 3)) for k in range(6)
        ]
    usage = [
        (text(t), f"agent-{a}", round(noise.uniform(0, 100), 1), noise.randrange(10**9))
        for t in each(120, timedelta(minutes=1))
        for a in range(8)
    ]
    return Schema(
        "builds",
        (
            "CREATE TABLE projects (id INTEGER PRIMARY KEY, slug TEXT UNIQUE, settings TEXT)",
            """CREATE TABLE builds (id INTEGER PRIMARY KEY, project_id INTEGER REFERENCES projects (id), commit_sha
                TEXT, branch TEXT, status TEXT, queued_at TEXT, started_at TEXT, finished_at TEXT)""",
            """CREATE TABLE test_results (build_id INTEGER REFERENCES builds (id), name TEXT, outcome TEXT,
                seconds REAL, PRIMARY KEY (build_id, name))""",
            "CREATE TABLE agent_usage (sampled_at TEXT, agent TEXT, cpu REAL, memory INTEGER)",
        ),
        {
            "projects": [(i, f"team/app-{i}", json.dumps({"a": i})) for i in range(25)],
            "builds": builds,
            "test_results": tests,
            "agent_usage": usage,
        },
        {
            "projects": "reference",
            "builds": "entity|queue",
            "test_results": "reference|entity",
            "agent_usage": "series",
        },
        {"agent_usage": {"agent"}},
    )


def _energy() -> Schema:
    noise = random.Random(42)
    step = timedelta(minutes=15)
    intervals = [
        (f"MSB{m:08}", text(t), text(t + step), round(noise.uniform(0, 3), 4), "measured")
        for t in each(96, step)
        for m in range(25)
    ]
    invoices = []
    for i in range(300):
        issued = at(noise, 28)
        paid = text(issued + timedelta(days=noise.uniform(1, 20)))
        invoices.append(
            (f"INV-{i:06}", i % 250, text(issued), paid if i % 3 else None, round(noise.uniform(20, 300), 2))
        )
    return Schema(
        "energy",
        (
            "CREATE TABLE meters (meter_no TEXT PRIMARY KEY, address TEXT, installed_on TEXT)",
            """CREATE TABLE load_profile (meter_no TEXT REFERENCES meters (meter_no), start_time TEXT, end_time TEXT,
                kwh REAL, quality TEXT)""",
            "CREATE TABLE tariffs (code TEXT, price_per_kwh REAL, valid_from TEXT, valid_until TEXT)",
            """CREATE TABLE invoices (invoice_no TEXT PRIMARY KEY, contract_id INTEGER, issued_at TEXT, paid_at TEXT,
                total NUMERIC)""",
        ),
        {
            "meters": [(f"MSB{m:08}", f"Street {m}", text(at(noise, 20))) for m in range(25)],
            "load_profile": intervals,
            "tariffs": [
                (f"T{i}", 0.3, text(NOW - timedelta(days=400 - i)), text(NOW + timedelta(days=i))) for i in range(30)
            ],
            "invoices": invoices,
        },
        {"meters": "reference|entity", "load_profile": "series", "tariffs": "reference", "invoices": "entity"},
        {"load_profile": {"meter_no", "quality"}},
    )


def _web() -> Schema:
    noise = random.Random(43)
    sessions, views = [], []
    for i, t in enumerate(some(noise, 900, 14)):
        sid = f"{noise.getrandbits(128):032x}"
        seen = t + timedelta(minutes=noise.uniform(0, 40))
        sessions.append(
            (
                sid,
                f"v{noise.randrange(500)}",
                noise.choice(("DE", "FR", "US")),
                "Mozilla/5.0",
                text(t),
                text(seen),
                i % 7,
            )
        )
        views += [
            (
                len(views) + k,
                sid,
                f"/p/{noise.randrange(2000)}",
                noise.choice(("", "google")),
                text(t),
                noise.randrange(3000),
            )
            for k in range(3)
        ]
    hourly = [
        (text(t), p, noise.randrange(900), noise.randrange(300))
        for t in each(100, timedelta(hours=1))
        for p in ("/", "/shop", "/blog")
    ]
    return Schema(
        "web",
        (
            """CREATE TABLE sessions (session_id TEXT PRIMARY KEY, visitor TEXT, country TEXT, user_agent TEXT,
                first_seen TEXT, last_seen TEXT, pages INTEGER)""",
            """CREATE TABLE page_views (id INTEGER, session_id TEXT, path TEXT, referrer TEXT, viewed_at TEXT,
                load_ms INTEGER)""",
            "CREATE TABLE page_hourly (hour TEXT, page TEXT, hits INTEGER, visitors INTEGER, PRIMARY KEY (page, hour))",
        ),
        {"sessions": sessions, "page_views": views, "page_hourly": hourly},
        {"sessions": "entity", "page_views": "events", "page_hourly": "series"},
        {"page_hourly": {"page"}},
    )


SCHEMAS: Final = (_builds(), _energy(), _web())
