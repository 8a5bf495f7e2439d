"""Databases of platforms: job queues, monitoring, and events in PostgreSQL, SQLite, and DuckDB."""

from __future__ import annotations

import json
import math
import random
from datetime import UTC, timedelta
from typing import Any

from tests.builders import NOW
from tests.layouts.layout import Layout, Script, Wanted
from tests.layouts.making import ANALYZE, Tables, an_id, evenly, word


def _telegraf(queries: bool) -> Script:
    """Telegraf's output plugin for PostgreSQL, with tags as jsonb in tables of their own."""
    noise = random.Random(31)
    statements = [
        statement
        for name, fields in (
            ("cpu", "usage_user double precision, usage_system double precision, usage_idle double precision"),
            ("postgresql_queries", "calls bigint, total_time_ms double precision, rows bigint"),
        )
        for statement in (
            f"CREATE TABLE {name}_tag (tag_id bigint PRIMARY KEY, tags jsonb)",
            f"CREATE TABLE {name} (time timestamp without time zone, tag_id bigint, {fields})",
            f"CREATE INDEX {name}_tag_id_time ON {name} (tag_id, time DESC)",
            f"CREATE INDEX {name}_time ON {name} (time)",
        )
    ]
    cpu_tags = [(1_000 + 17 * i, json.dumps({"host": f"db{i // 5}", "cpu": f"cpu{i % 5}"})) for i in range(40)]
    cpu = [
        (at.astimezone(UTC).replace(tzinfo=None), cpu_tags[n % 40][0], round(noise.uniform(0, 90), 2), 3.5, 6.5)
        for n, at in enumerate(evenly(8_000, 3))
    ]
    known: dict[int, str] = {}
    calls = []
    for n, at in enumerate(evenly(6_000, 3)):
        host = f"db{n % 8}"
        text = (
            f"SELECT * FROM orders WHERE id = {noise.randrange(10**7)}"
            if queries
            else f"SELECT * FROM {word(n // 8 % 30)} WHERE id = $1"
        )
        tags = json.dumps({"host": host, "query": text})
        ident = hash_of(tags)
        known[ident] = tags
        calls.append((at.astimezone(UTC).replace(tzinfo=None), ident, n % 90, round(noise.uniform(0, 50), 3), n % 400))
    rows: Tables = {
        "cpu_tag": cpu_tags,
        "cpu": cpu,
        "postgresql_queries_tag": list(known.items()),
        "postgresql_queries": calls,
    }
    return Script(statements, rows, (ANALYZE,))


def hash_of(text: str) -> int:
    """The same in each run, unlike Python's own."""
    return random.Random(text).getrandbits(62)


def _keycloak(details_twice: bool) -> Script:
    """Keycloak's table of login events, whose time is in milliseconds."""
    noise = random.Random(32)
    statements = [
        """CREATE TABLE event_entity (id varchar(36) PRIMARY KEY, client_id varchar(255), details_json varchar(2550),
            error varchar(255), ip_address varchar(255), realm_id varchar(255), session_id varchar(255),
            event_time bigint, type varchar(255), user_id varchar(255), details_json_long_value text)""",
        "CREATE INDEX idx_event_time ON event_entity (realm_id, event_time)",
        """CREATE TABLE offline_user_session (user_session_id varchar(36) NOT NULL, user_id varchar(255) NOT NULL,
            realm_id varchar(36) NOT NULL, created_on integer NOT NULL, offline_flag varchar(4) NOT NULL, data text,
            last_session_refresh integer NOT NULL DEFAULT 0, PRIMARY KEY (user_session_id, offline_flag))""",
        "CREATE INDEX idx_offline_uss_preload ON offline_user_session (offline_flag, created_on, user_session_id)",
    ]
    if details_twice:
        statements += [f"CREATE INDEX idx_event_session{i} ON event_entity (session_id)" for i in ("", "_2")]
    realm, users = an_id(noise), [an_id(noise) for _ in range(1_200)]
    events, sessions = [], []
    for n, at in enumerate(evenly(16_000, 20)):
        kind = noise.choice(("LOGIN", "LOGIN", "CODE_TO_TOKEN", "REFRESH_TOKEN", "LOGOUT", "LOGIN_ERROR"))
        error = "invalid_user_credentials" if kind == "LOGIN_ERROR" else None
        details = json.dumps({"auth_method": "openid-connect", "code_id": an_id(noise), "username": f"u{n % 1_200}"})
        about = (details, error, f"10.3.{n % 200}.{n % 250}", realm, an_id(noise), int(at.timestamp() * 1_000))
        events.append(
            (an_id(noise), noise.choice(("portal", "account", "api")), *about, kind, noise.choice(users), None)
        )
        if n % 8 == 0:
            begun = int(at.timestamp())
            sessions.append(
                (an_id(noise), noise.choice(users), realm, begun, "0", '{"ipAddress":"10.3.0.1"}', begun + 600)
            )
    return Script(statements, {"event_entity": events, "offline_user_session": sessions}, (ANALYZE,))


def _sbfspot(as_text: bool) -> Script:
    """SBFspot: readings of solar inverters, with the time as whole seconds in `TimeStamp`."""
    number = "TEXT" if as_text else "INTEGER"
    statements = (
        """CREATE TABLE Inverters (Serial INT4 NOT NULL PRIMARY KEY, Name VARCHAR(32), Type VARCHAR(32),
            SW_Version VARCHAR(32),
            TimeStamp INT4, TotalPac INT, EToday INT8, ETotal INT8, OperatingTime FLOAT, FeedInTime FLOAT,
            Status VARCHAR(10), GridRelay VARCHAR(10), Temperature FLOAT)""",
        f"""CREATE TABLE SpotData (TimeStamp INT4 NOT NULL, Serial INT4 NOT NULL, Pdc1 {number}, Pdc2 INT,
            Idc1 FLOAT, Idc2 FLOAT,
            Udc1 FLOAT, Udc2 FLOAT, Pac1 {number}, Iac1 FLOAT, Uac1 FLOAT, EToday INT8, ETotal INT8, Frequency FLOAT,
            OperatingTime FLOAT, FeedInTime FLOAT, BT_Signal FLOAT, Status VARCHAR(10), GridRelay VARCHAR(10),
            Temperature FLOAT, PRIMARY KEY (TimeStamp, Serial))""",
        """CREATE TABLE DayData (TimeStamp INT4 NOT NULL, Serial INT4 NOT NULL, TotalYield INT8,
            Power INT8, PVoutput INT1,
            PRIMARY KEY (TimeStamp, Serial))""",
        "CREATE TABLE Config (Key VARCHAR(32) PRIMARY KEY, Value VARCHAR(200))",
    )
    serials = (2_110_281_733, 2_130_117_429)
    spot, day = [], []
    for n, at in enumerate(evenly(7_000, 24)):
        stamp, serial = int(at.timestamp()) // 10 * 10 + n % 2, serials[n % 2]
        power: Any = max(0, int(3_000 * math.sin((stamp % 86_400 - 21_600) / 43_200 * math.pi)))
        shown = str(power) if as_text else power
        electric = (
            power // 2,
            power / 380,
            power / 760,
            380.5,
            379.1,
            shown,
            power / 230,
            231.2,
            12_000,
            9_100_000 + n,
        )
        spot.append((stamp, serial, shown, *electric, 49.98, 9_000.5, 8_800.5, 0.0, "OK", "Closed", 30.5 + n % 9))
        if n % 5 == 0:
            day.append((stamp, serial, 9_100_000 + n, power, 1))
    made = [
        (
            s,
            f"SMA {s % 100}",
            "STP 5000",
            "03.01.02.R",
            spot[-1][0],
            100,
            12_000,
            9_107_000,
            9_000.5,
            8_800.5,
            "OK",
            "Closed",
            31.0,
        )
        for s in serials
    ]
    return Script(statements, {"Inverters": made, "SpotData": spot, "DayData": day, "Config": [("SchemaVersion", "1")]})


_WEATHER = (
    "outTemp",
    "inTemp",
    "outHumidity",
    "inHumidity",
    "barometer",
    "pressure",
    "windSpeed",
    "windDir",
    "windGust",
    "rain",
    "rainRate",
    "dewpoint",
)
_SPARE = (
    "hail",
    "hailRate",
    "heatingTemp",
    "leafTemp1",
    "leafTemp2",
    "leafWet1",
    "leafWet2",
    "soilMoist1",
    "soilMoist2",
    "soilTemp1",
    "soilTemp2",
    "snow",
)


def _weewx() -> Script:
    """WeeWX: a column for each sensor there could be, of which a station has half."""
    columns = ", ".join(f"`{name}` REAL" for name in (*_WEATHER, *_SPARE))
    statements = (
        f"""CREATE TABLE archive (`dateTime` INTEGER NOT NULL UNIQUE PRIMARY KEY, `usUnits` INTEGER NOT NULL,
            `interval` INTEGER NOT NULL, {columns})""",
        """CREATE TABLE archive_day_outTemp (dateTime INTEGER NOT NULL UNIQUE PRIMARY KEY, min REAL,
            mintime INTEGER, max REAL,
            maxtime INTEGER, sum REAL, count INTEGER, wsum REAL, sumtime INTEGER)""",
        "CREATE TABLE archive_day__metadata (name CHAR(20) NOT NULL UNIQUE PRIMARY KEY, value TEXT)",
    )
    noise = random.Random(33)
    end = int(NOW.timestamp()) // 300 * 300
    rows = []
    for n in range(7_200):
        values = [round(10 + i + 5 * math.sin(n / 140 + i) + noise.random(), 2) for i in range(len(_WEATHER))]
        rows.append((end - 300 * (7_199 - n), 1, 5, *values, *[None] * len(_SPARE)))
    days = []
    for d in range(25):
        day = end // 86_400 * 86_400 - 86_400 * (24 - d)
        days.append((day, 3.1, day + 18_000, 15.5, day + 50_000, 2_600.0, 288, 780_000.0, 86_400))
    return Script(
        statements, {"archive": rows, "archive_day_outTemp": days, "archive_day__metadata": [("Version", "4.0")]}
    )


def _oban(per_customer: bool) -> Script:
    """Oban's jobs, pruned after a day."""
    noise = random.Random(34)
    statements = (
        """CREATE TYPE oban_job_state AS ENUM ('available', 'scheduled', 'executing', 'retryable', 'completed',
            'discarded',
            'cancelled')""",
        """CREATE TABLE oban_jobs (id bigserial PRIMARY KEY, state oban_job_state NOT NULL DEFAULT 'available',
            queue text NOT NULL DEFAULT 'default', worker text NOT NULL, args jsonb NOT NULL DEFAULT '{}',
            errors jsonb[] NOT NULL DEFAULT '{}', attempt integer NOT NULL DEFAULT 0,
            max_attempts integer NOT NULL DEFAULT 20,
            inserted_at timestamp NOT NULL, scheduled_at timestamp NOT NULL, attempted_at timestamp,
            completed_at timestamp,
            attempted_by text[], discarded_at timestamp, priority integer NOT NULL DEFAULT 0,
            tags varchar(255)[] DEFAULT '{}',
            meta jsonb DEFAULT '{}', cancelled_at timestamp)""",
        """CREATE INDEX oban_jobs_state_queue_priority_scheduled_at_id_index ON oban_jobs (state, queue, priority,
            scheduled_at, id)""",
        "CREATE INDEX oban_jobs_args_index ON oban_jobs USING gin (args)",
        """CREATE UNLOGGED TABLE oban_peers (name text PRIMARY KEY, node text NOT NULL,
            started_at timestamp NOT NULL, expires_at timestamp NOT NULL)""",
    )
    rows: list[tuple[Any, ...]] = []
    for n, zoned in enumerate(evenly(8_000, 1), 1):
        at = zoned.astimezone(UTC).replace(tzinfo=None)
        queue = f"tenant_{an_id(noise)}" if per_customer and n % 2 else noise.choice(("mailers", "default", "media"))
        done = at + timedelta(seconds=noise.uniform(0.2, 20))
        worker = noise.choice(("Shop.Mailer", "Shop.Resize", "Shop.Sync"))
        head: tuple[Any, ...] = (
            n,
            "completed",
            queue,
            worker,
            json.dumps({"id": noise.randrange(10**6)}),
            [],
            1,
            20,
            at,
            at,
            at,
            done,
        )
        rows.append((*head, ["app@10.0.0.4"], None, 0, [], "{}", None))
    now = NOW.astimezone(UTC).replace(tzinfo=None)
    return Script(statements, {"oban_jobs": rows, "oban_peers": [("Oban", "app@10.0.0.4", now, now)]}, (ANALYZE,))


def _turbines(wide: bool) -> Script:
    """A wind farm: a column of each turbine's power, or a row."""
    if wide:
        columns = ", ".join(f"wtg{i:02}_power_kw DOUBLE, wtg{i:02}_wind_ms DOUBLE" for i in range(1, 41))
        values = ", ".join(f"1000 + 400 * sin(i / {90 + t}.0), 8 + 3 * sin(i / {90 + t}.0)" for t in range(40))
        made = (
            f"CREATE TABLE scada (logged TIMESTAMP, {columns})",
            f"""INSERT INTO scada SELECT TIMESTAMP '2026-03-31 05:50:00' - i * INTERVAL 10 MINUTE,
                {values} FROM generate_series(0, 3999) g(i)""",
        )
        return Script(made)
    return Script(
        (
            "CREATE TABLE scada (logged TIMESTAMP, turbine VARCHAR, power_kw DOUBLE, wind_ms DOUBLE)",
            """INSERT INTO scada SELECT TIMESTAMP '2026-03-31 05:50:00' - i // 40 * INTERVAL 10 MINUTE,
                'wtg' || lpad((1 + i % 40)::VARCHAR, 2, '0'), 1000 + 400 * sin(i / 3600.0), 8 + 3 * sin(i / 3600.0)
                FROM generate_series(0, 15999) g(i)""",
        )
    )


LAYOUTS = (
    Layout(
        name="telegraf-postgresql",
        engine="postgresql",
        source="https://github.com/influxdata/telegraf/blob/master/plugins/outputs/postgresql/README.md",
        clean=lambda: _telegraf(False),
        dirty=lambda: _telegraf(True),
        wanted=(
            Wanted(
                "TAG002|CAR004",
                "postgresql_queries*",
                "statements with their constants as a tag: each is a series",
            ),
        ),
    ),
    Layout(
        name="keycloak-events-postgresql",
        engine="postgresql",
        source="https://www.keycloak.org/docs/latest/server_admin/index.html#event-listener",
        clean=lambda: _keycloak(False),
        dirty=lambda: _keycloak(True),
        wanted=(Wanted("STO001", "event_entity*", "two indexes on session_id: each login pays for both"),),
    ),
    Layout(
        name="sbfspot-sqlite",
        engine="sqlite",
        source="https://github.com/SBFspot/SBFspot/blob/master/SBFspot/CreateSQLiteDB.sql",
        clean=lambda: _sbfspot(False),
        dirty=lambda: _sbfspot(True),
        wanted=(
            Wanted("FLD002", "SpotData.Pdc1", "power as text: it sorts and compares as text"),
            Wanted("FLD002", "SpotData.Pac1", "the same on the other side of the inverter"),
        ),
    ),
    Layout(
        name="weewx-sqlite",
        engine="sqlite",
        source="https://weewx.com/docs/latest/reference/weewx-options/data-bindings/",
        clean=_weewx,
    ),
    Layout(
        name="oban-postgresql",
        engine="postgresql",
        source="https://hexdocs.pm/oban/installation.html",
        clean=lambda: _oban(False),
        dirty=lambda: _oban(True),
        wanted=(
            Wanted(
                "TAG002|TAG003|CAR004",
                "oban_jobs.queue",
                "a queue of each tenant's import: nobody listens to it",
            ),
        ),
    ),
    Layout(
        name="wind-farm-duckdb",
        engine="duckdb",
        source="https://en.wikipedia.org/wiki/SCADA",
        clean=lambda: _turbines(False),
        dirty=lambda: _turbines(True),
        wanted=(Wanted("NAM005", "scada*", "turbines in the names of columns: no average over all of them"),),
    ),
)
