"""Records of what happened: an audit log, requests to a web server, measurements with odd names for their epochs."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable

from tests.layouts.layout import Layout, Script, Wanted
from tests.layouts.making import ANALYZE, an_id, evenly, word


def _audit_log(rows_kept: int, twice: bool) -> Script:
    noise = random.Random(25)
    statements = [
        """CREATE TABLE audit_log (id uuid PRIMARY KEY, created_at timestamptz NOT NULL, actor_id bigint,
            actor_email text,
            action text NOT NULL, entity_type text NOT NULL, entity_id text NOT NULL, old_values jsonb,
            new_values jsonb,
            ip inet, request_id text NOT NULL)""",
        "CREATE INDEX audit_log_created_at ON audit_log (created_at)",
        "CREATE INDEX audit_log_entity ON audit_log (entity_type, entity_id)",
        "CREATE INDEX audit_log_request_id ON audit_log (request_id)",
    ]
    statements += ["CREATE INDEX idx_audit_log_request ON audit_log (request_id)"] if twice else []
    rows = []
    for at in evenly(rows_kept, 20):
        actor = noise.randrange(1, 300)
        old, new = json.dumps({"status": "open"}), json.dumps({"status": "closed", "by": actor})
        entity = noise.choice(("Invoice", "User", "Contract"))
        action = noise.choice(("update", "update", "create", "delete"))
        who = (actor, f"{word(actor)}@example.com", action, entity, str(noise.randrange(10**6)))
        rows.append((an_id(noise), at, *who, old, new, f"10.1.{actor % 9}.{actor % 250}", an_id(noise)))
    return Script(statements, {"audit_log": rows}, (ANALYZE,))


def _requests(templates: bool) -> Script:
    """Sums a minute of each URL, and the log that they come from."""
    noise = random.Random(26)
    sums, lines = [], []
    paths = ("/orders/{}", "/orders/{}/items", "/users/{}", "/login", "/search")
    for n, at in enumerate(evenly(9_000, 3)):
        path = paths[n % 5]
        url = path.format(":id" if templates else noise.randrange(10**7))
        bucket = int(at.timestamp()) // 60 * 60
        sums.append((bucket * 1_000 + n % 5, url, "GET", noise.randrange(1, 90), round(noise.uniform(1, 400), 1)))
        if n % 3 == 0:
            full = f"https://shop.example.com{path.format(noise.randrange(10**7))}?token={noise.getrandbits(128):032x}"
            lines.append(
                (
                    int(at.timestamp() * 1_000),
                    "GET",
                    full,
                    200,
                    noise.randrange(9_000),
                    f"{noise.getrandbits(160):040x}",
                    "curl/8.5.0",
                )
            )
    statements = (
        """CREATE TABLE http_sums (time_ms INTEGER NOT NULL, url TEXT NOT NULL, method TEXT NOT NULL,
            requests INTEGER NOT NULL, p95_ms REAL, PRIMARY KEY (url, method, time_ms))""",
        "CREATE INDEX http_sums_time ON http_sums (time_ms)",
        """CREATE TABLE access_log (time_ms INTEGER NOT NULL, method TEXT, url TEXT, status INTEGER, bytes INTEGER,
            session_token TEXT, user_agent TEXT)""",
        "CREATE INDEX access_log_time ON access_log (time_ms)",
    )
    return Script(statements, {"http_sums": sums, "access_log": lines})


_EPOCHS: dict[str, tuple[str, Callable[[float], float]]] = {
    "ts_ms": ("INTEGER", lambda s: int(s * 1e3)),
    "start_time": ("REAL", lambda s: round(s, 3)),
    "epoch": ("INTEGER", lambda s: int(s * 1e6)),
    "unixtime": ("INTEGER", lambda s: int(s) * 1_000_000_000),
}


def _epochs(runs: bool) -> Script:
    """The same readings four times. With `runs`: by the id of each run that wrote three of them.

    Without, such ids have ended a year ago: who takes the epochs for no time reports what nobody can change any more.
    """
    noise = random.Random(27)
    statements, rows = [], {}
    for column, (kind, convert) in _EPOCHS.items():
        table = f"readings_by_{column}"
        source = "run_id" if runs else "station"
        statements.append(
            f"CREATE TABLE {table} ({source} TEXT NOT NULL, value REAL, quality INTEGER, {column} {kind} NOT NULL)"
        )
        statements.append(f"CREATE INDEX {table}_{column} ON {table} ({column})")
        made: list[tuple[object, ...]] = []
        run = ""
        for n, at in enumerate(evenly(4_500, 10)):
            run = an_id(noise) if n % 3 == 0 else run
            who = run if runs else f"station-{n % 15:02}"
            made.append((who, round(12 + 4 * math.sin(n / 300), 3), 192, convert(at.timestamp())))
            if not runs and n % 2:
                made.append((an_id(noise), 12.5, 192, convert(at.timestamp() - 400 * 86_400)))
        rows[table] = made
    return Script(statements, rows)


LAYOUTS = (
    Layout(
        name="audit-log-postgresql",
        engine="postgresql",
        source="https://wiki.postgresql.org/wiki/Audit_trigger",
        clean=lambda: _audit_log(6_000, False),
        dirty=lambda: _audit_log(20_000, True),
        wanted=(Wanted("STO001", "audit_log*", "two indexes on request_id: each write pays for both"),),
    ),
    Layout(
        name="http-sums-sqlite",
        engine="sqlite",
        source="https://httpd.apache.org/docs/current/logs.html",
        clean=lambda: _requests(True),
        dirty=lambda: _requests(False),
        wanted=(Wanted("TAG002", "http_sums.url", "ids in the paths: sums of one request each"),),
    ),
    Layout(
        name="odd-epochs-sqlite",
        engine="sqlite",
        source="https://www.sqlite.org/datatype3.html#date_and_time_datatype",
        clean=lambda: _epochs(False),
        dirty=lambda: _epochs(True),
        wanted=tuple(
            Wanted(
                "TAG002",
                f"readings_by_{column}.run_id",
                "the readings are known by their runs, not by a station",
            )
            for column in _EPOCHS
        ),
    ),
)
