"""A table for each period, under the names that people and programs give them; and partitions, as it should be."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any

from tests.builders import DAY, NOW
from tests.layouts.layout import Layout, Script, Wanted
from tests.layouts.making import ANALYZE, evenly, stamp

_TOO_MANY = 54
_LINE = "{} GET /api/items/{} 200 {} ms"


def _months() -> list[date]:
    """The newest 54, oldest first."""
    return [date((DAY.year * 12 + DAY.month - 1 - i) // 12, (DAY.month - 1 - i) % 12 + 1, 1) for i in range(_TOO_MANY)][
        ::-1
    ]


def _days() -> list[date]:
    return [DAY - timedelta(days=i) for i in range(_TOO_MANY)][::-1]


def _within(begin: date, days: int, count: int = 24) -> list[datetime]:
    """Instants from the day on, none after now."""
    start = datetime(begin.year, begin.month, begin.day, tzinfo=NOW.tzinfo)
    end = min(start + timedelta(days=days), NOW)
    return list(evenly(count, (end - start) / timedelta(days=1), end))


def _sqlite(periods: Callable[[], list[date]], name: str, days: int) -> Script:
    """A table a period, each with the same columns."""
    statements, rows = [], {}
    for period in periods():
        table = period.strftime(name)
        statements.append(f'CREATE TABLE "{table}" (ts TEXT NOT NULL, host TEXT NOT NULL, level TEXT, message TEXT)')
        rows[table] = [
            (stamp(at), f"web{n % 3}", "info", _LINE.format(n % 7, n * 31, n % 90))
            for n, at in enumerate(_within(period, days))
        ]
    return Script(statements, rows)


def _sqlite_one() -> Script:
    rows = [
        (stamp(at), f"web{n % 3}", "info", _LINE.format(n % 7, n * 31, n % 90))
        for n, at in enumerate(evenly(4_000, 54))
    ]
    statements = (
        "CREATE TABLE events (ts TEXT NOT NULL, host TEXT NOT NULL, level TEXT, message TEXT)",
        "CREATE INDEX events_ts ON events (ts)",
    )
    return Script(statements, {"events": rows})


def _duckdb(periods: Callable[[], list[date]], name: str, days: int) -> Script:
    statements = []
    for period in periods():
        table = period.strftime(name)
        last = _within(period, days)[-1].strftime("%Y-%m-%d %H:%M:%S")
        statements += [
            f'CREATE TABLE "{table}" (ts TIMESTAMP, shop VARCHAR, amount DOUBLE, items INTEGER)',
            f"""INSERT INTO "{table}" SELECT TIMESTAMP '{last}' - i * INTERVAL 1 HOUR, 'shop-' || i % 5,
                hash(i) % 9999 / 100, 1 + i % 4 FROM generate_series(0, 23) g(i)""",
        ]
    return Script(statements)


def _duckdb_one() -> Script:
    statement = """INSERT INTO orders SELECT TIMESTAMP '2026-03-31 05:59:00' - i * INTERVAL 1 HOUR, 'shop-' || i % 5,
        hash(i) % 9999 / 100, 1 + i % 4 FROM generate_series(0, 3999) g(i)"""
    return Script(("CREATE TABLE orders (ts TIMESTAMP, shop VARCHAR, amount DOUBLE, items INTEGER)", statement))


def _postgresql() -> Script:
    statements = [
        f"""CREATE TABLE {month:events_y%Ym%m} (ts timestamptz NOT NULL, kind text NOT NULL, user_id bigint,
            payload jsonb)"""
        for month in _months()
    ]
    rows = {
        f"{month:events_y%Ym%m}": [
            (at, ("view", "click", "buy")[n % 3], n * 7, "{}") for n, at in enumerate(_within(month, 28))
        ]
        for month in _months()
    }
    return Script(statements, rows, (ANALYZE,))


def _partitioned(days: int, age: int = 0, default: bool = False) -> Script:
    """A partition a day for so many days until `age` days ago; the oldest ones are dropped."""
    noise = random.Random(14)
    last = DAY - timedelta(days=age)
    statements = [
        """CREATE TABLE logs (logged_at timestamptz NOT NULL, service text NOT NULL, level text NOT NULL,
            message text NOT NULL, trace_id uuid, context jsonb) PARTITION BY RANGE (logged_at)""",
        "CREATE INDEX logs_logged_at_idx ON logs (logged_at)",
        "CREATE INDEX logs_service_logged_at_idx ON logs (service, logged_at)",
    ]
    ahead = 0 if default else 3
    for offset in range(-ahead, days):
        day = last - timedelta(days=offset)
        if default and offset < 6:  # nobody made these
            continue
        statements.append(
            f"""CREATE TABLE {day:logs_p%Y%m%d} PARTITION OF logs FOR VALUES FROM ('{day} 00:00+00')
                TO ('{day + timedelta(days=1)} 00:00+00')"""
        )
    if default:
        statements.append("CREATE TABLE logs_default PARTITION OF logs DEFAULT")
    rows: list[tuple[Any, ...]] = []
    for n, at in enumerate(evenly(days * 500, days - 0.8, NOW - timedelta(days=age))):
        trace = f"{noise.getrandbits(128):032x}"
        text = f"Request {trace[:8]} took {noise.randrange(900)} ms for user {noise.randrange(10**5)}"
        rows.append((at, f"svc-{n % 6}", noise.choice(("INFO", "INFO", "WARN")), text, trace, '{"pod": "a"}'))
    return Script(statements, {"logs": rows}, (ANALYZE,))


_FAMILY = "a table of each period: every query over two of them is a UNION; partitions or one table do the same"


def _family(
    name: str, engine: str, dirty: Callable[[], Script], clean: Callable[[], Script] | None, source: str
) -> Layout:
    return Layout(name, engine, source, dirty, clean, (Wanted("NAM002", "*", _FAMILY),))


LAYOUTS = (
    Layout(
        name="daily-partitions-postgresql",
        engine="postgresql",
        source="https://www.postgresql.org/docs/current/ddl-partitioning.html",
        clean=lambda: _partitioned(14),
        dirty=lambda: _partitioned(14, default=True),
        wanted=(Wanted("STO003", "logs", "partitions are no longer made ahead: rows pile up in the default one"),),
    ),
    Layout(
        name="dropped-partitions-postgresql",
        engine="postgresql",
        source="https://github.com/pgpartman/pg_partman/blob/development/doc/pg_partman.md",
        dirty=lambda: _partitioned(10),
        yesterday=lambda: _partitioned(10, age=1),
    ),
    _family(
        "monthly-tables-sqlite",
        "sqlite",
        lambda: _sqlite(_months, "events_%Y_%m", 28),
        _sqlite_one,
        "https://wiki.postgresql.org/wiki/Table_partitioning",
    ),
    _family(
        "monthly-tables-postgresql",
        "postgresql",
        _postgresql,
        None,
        "https://www.postgresql.org/docs/current/ddl-partitioning.html#DDL-PARTITIONING-DECLARATIVE-EXAMPLE",
    ),
    _family(
        "daily-tables-sqlite",
        "sqlite",
        lambda: _sqlite(_days, "log_%d%m%Y", 1),
        None,
        "https://www.sqlite.org/whentouse.html",
    ),
    _family(
        "short-months-duckdb",
        "duckdb",
        lambda: _duckdb(_months, "orders_%y%m", 28),
        _duckdb_one,
        "https://duckdb.org/docs/stable/data/partitioning/partitioned_writes",
    ),
    _family(
        "data-stream-names-duckdb",
        "duckdb",
        lambda: _duckdb(_days, ".ds-orders-prod-%Y.%m.%d-000001", 1),
        None,
        "https://www.elastic.co/docs/manage-data/data-store/data-streams",
    ),
)
