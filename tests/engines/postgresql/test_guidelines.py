"""A PostgreSQL database that breaks every guideline that matters there, and its twin that keeps them.

Both are written as their owners would: plain SQL, read by a role with the shipped grants. What the audit finds is
listed here, finding by finding.
"""

from __future__ import annotations

import dataclasses
import itertools
from datetime import timedelta

import pytest

from tests.builders import DAY, NOW
from tests.collecting import collected
from tests.planning.places import split
from tests.servers import Postgresql
from tsaudit.config.settings import Target
from tsaudit.evaluation import evaluate
from tsaudit.guidelines import GUIDELINES
from tsaudit.model.figures import Subject
from tsaudit.model.finding import AuditResult, Outcome, Severity
from tsaudit.model.profile import Profile
from tsaudit.model.timeline import Point, Timeline, stored_bytes
from tsaudit.policy import LimitPolicy
from tsaudit.rules import all_rules

AT = "'2026-03-31 05:00+00'::TIMESTAMPTZ - {} * '1 min'::INTERVAL"
LIMITS = {
    # A small database: the limits are as small.
    "high-series-cardinality.max_series": 1_000,
    "missing-index.min_rows": 1_000,
    "unbounded-retention.min_bytes": 400_000,
    "growing-storage.max_bytes": 100_000_000,
}


def _rows(series: int, rows: int = 2) -> str:
    """`s` numbers the series, `r` the rows of each, `ts` is their time."""
    return (
        f"(SELECT {AT.format('r')} AS ts, s, r FROM generate_series(0, {series - 1}) AS s, "
        f"generate_series(1, {rows}) AS r) AS made"
    )


def _table(name: str, columns: str, select: str, series: int, rows: int = 2) -> list[str]:
    """A table with a key of the time and the columns that say NOT NULL."""
    members = [c.split()[0] for c in columns.split(", ") if c.endswith("NOT NULL")]
    return [
        f"CREATE TABLE {name} (ts TIMESTAMPTZ, {columns}, PRIMARY KEY ({', '.join(['ts', *members])}))",
        f"INSERT INTO {name} SELECT ts, {select} FROM {_rows(series, rows)}",
    ]


def _list(pattern: str, count: int) -> str:
    return ", ".join(pattern.format(i) for i in range(count))


QUANTITIES = ["".join(parts) for parts in itertools.product(("ba", "ko", "ru", "ti", "me", "so"), repeat=3)][:200]
"""Names of columns that no rule can find a pattern in."""
CPU = "host TEXT NOT NULL, region TEXT NOT NULL, usage FLOAT"
BROKEN = [
    # A1, A2, A4, A6, A8: an id for each session multiplies the series, and they grow.
    *_table(
        "sessions",
        "session TEXT NOT NULL, host TEXT NOT NULL, ms FLOAT",
        "md5(s::TEXT)::UUID, 'h' || s % 3, r / 7.0",
        1200,
    ),
    # A3: the host tells the region.
    *_table("cpu", CPU, "'h' || s, 'r' || s % 2, s + r / 7.0", 12),
    # A5
    *_table(
        "app_log",
        "message TEXT NOT NULL, seen FLOAT",
        "'request ' || s * 7919 || ' failed after ' || s || ' ms: connection reset', r / 7.0",
        40,
    ),
    # A7: a table for each of very many sensors.
    *(
        statement
        for i in range(60)
        for statement in _table(f"sensor_{i:03}", "site TEXT NOT NULL, v FLOAT", "'a', r / 7.0", 1)
    ),
    # B1, B3, B5
    *_table(
        "home",
        f"{'sensor'} TEXT NOT NULL, t FLOAT",
        "'loc-' || chr(97 + s) || '.model-A' || s || '.id-17' || s, r / 7.0",
        6,
    ),
    *_table(
        "orders",
        '"group" TEXT NOT NULL, a_name_of_far_too_many_parts_to_say_it_in_one_go FLOAT',
        "'g' || s, r / 7.0",
        2,
    ),
    # C1, C2, C3
    *_table(
        "air",
        "site TEXT NOT NULL, sensor_name TEXT, t FLOAT",
        "'a' || s, 'thermometer at the inlet of the north hall, TLM' || s, r / 7.0",
        4,
        50,
    ),
    *_table(
        "rooms",
        "room TEXT NOT NULL, temperature TEXT NOT NULL, on_s FLOAT",
        "'r' || s, round((20 + s + r / 7.0)::NUMERIC, 1)::TEXT, r / 7.0",
        4,
        40,
    ),
    *_table("meters", "meter TEXT NOT NULL, reading TEXT", "'m' || s, (r * 1.5)::TEXT", 2, 40),
    # D1, D3, D4, D5
    *_table(
        "machine",
        "host TEXT NOT NULL, " + ", ".join(f"{name} FLOAT" for name in QUANTITIES),
        "'h' || s, " + _list("{0} + r / 7.0", 200),
        2,
    ),
    # A2: any two of its tags are independent, so that there could be 65,536 series.
    *_table(
        "tagged",
        _list("t{0} TEXT NOT NULL", 16) + ", v FLOAT",
        _list("'v' || ascii(md5(s || '-{0}')) % 2", 16) + ", r / 7.0",
        64,
    ),
    *_table(
        "crypto",
        "host TEXT NOT NULL, a FLOAT, b FLOAT, c FLOAT, d FLOAT",
        "'h' || s, r / 7.0, " + _list("CASE WHEN r % 10 = 0 THEN r / 7.0 END", 3),
        2,
        60,
    ),
    *_table(
        "mixed",
        "source TEXT NOT NULL, code FLOAT, price FLOAT, cost FLOAT, volume FLOAT",
        "'s' || s, " + ", ".join(f"CASE WHEN s {half} THEN r / 7.0 END" for half in ("< 2", "< 2", "> 1", "> 1")),
        4,
        10,
    ),
    *_table(
        "halves",
        "source TEXT NOT NULL, a FLOAT, b FLOAT",
        "'s' || s, CASE WHEN r % 2 = 0 THEN r / 7.0 END, CASE WHEN r % 2 = 1 THEN r / 7.0 END",
        2,
        40,
    ),
    # E8: one index too many, and none on the time.
    *_table("indexed", CPU, "'h' || s / 2, 'r' || s % 2, s + r / 7.0", 12, 500),
    "CREATE INDEX indexed_host ON indexed (host)",
    "CREATE INDEX indexed_host_ts ON indexed (host, ts)",
    "CREATE TABLE unindexed (ts TIMESTAMPTZ, host TEXT, usage FLOAT)",
    f"INSERT INTO unindexed SELECT ts, 'h' || s, r / 7.0 FROM {_rows(2, 1500)}",
    # E12: nearly all rows are in one partition.
    "CREATE TABLE parted (ts TIMESTAMPTZ, host TEXT, usage FLOAT, PRIMARY KEY (ts, host)) PARTITION BY HASH (host)",
    *(f"CREATE TABLE parted_{i} PARTITION OF parted FOR VALUES WITH (MODULUS 3, REMAINDER {i})" for i in range(3)),
    f"INSERT INTO parted SELECT ts, 'h' || s, r / 7.0 FROM {_rows(10, 60)}",
    f"INSERT INTO parted SELECT ts - s * '1 s'::INTERVAL, 'busy', r / 7.0 FROM {_rows(50, 120)}",
]
KEPT = [
    *_table(
        "requests", "endpoint TEXT NOT NULL, host TEXT NOT NULL, ms FLOAT", "'e' || s % 5, 'h' || s / 5, r / 7.0", 15
    ),
    *_table("cpu", CPU, "'h' || s / 2, 'r' || s % 2, s + r / 7.0", 12),
    *_table(
        "air", "site TEXT NOT NULL, sensor_name TEXT NOT NULL, t FLOAT", "'a' || s % 2, 'TLM' || s / 2, r / 7.0", 8, 50
    ),
    "CREATE TABLE parted (ts TIMESTAMPTZ, host TEXT, usage FLOAT, PRIMARY KEY (ts, host)) PARTITION BY RANGE (ts)",
    "CREATE TABLE parted_03 PARTITION OF parted FOR VALUES FROM ('2026-03-01') TO ('2026-04-01')",
    "CREATE TABLE parted_04 PARTITION OF parted FOR VALUES FROM ('2026-04-01') TO ('2026-05-01')",
    f"INSERT INTO parted SELECT ts, 'h' || s, r / 7.0 FROM {_rows(20, 100)}",
]
CHANGE = "ALTER TABLE cpu ADD COLUMN debug TEXT"
"""F3: what a writer added since the day before."""


def _audited(server: Postgresql, schema: str, statements: list[str], change: str, factors: list[float]) -> AuditResult:
    """The audit of a new schema, the day after a first one; its figures grew by the factors before."""
    with server.connect() as connection:
        for statement in (f"DROP SCHEMA IF EXISTS {schema} CASCADE", f"CREATE SCHEMA {schema}"):
            connection.execute(statement.encode())
        connection.execute(f"SET search_path = {schema}".encode())
        for statement in statements:
            connection.execute(statement.encode())
        connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO tsaudit".encode())
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO tsaudit".encode())
        connection.execute("SELECT pg_stat_force_next_flush()")
        connection.execute("VACUUM ANALYZE")
        target = Target(name="t", engine="postgresql", url=server.audit_url, databases=(schema,))
        before = collected(target, now=NOW - timedelta(days=1), day=DAY - timedelta(days=1))
        if change:
            connection.execute(change.encode())
    profile = collected(target, previous=before)
    assert profile.gaps == ()
    timeline = dataclasses.replace(_grown(profile, factors), previous=before)
    return evaluate(profile, timeline, LimitPolicy(target=LIMITS))


def _grown(profile: Profile, factors: list[float]) -> Timeline:
    """Days on which series and bytes were `factors` of today's."""
    days = [DAY - timedelta(days=len(factors) - i) for i in range(len(factors))]
    points = {}
    for m in profile.measurements:
        subject = Subject(m.database, m.name)
        if m.series:
            points["series", subject] = tuple(Point(d, m.series.value * f) for d, f in zip(days, factors, strict=True))
        if m.storage and m.storage.data_bytes:
            held = m.storage.data_bytes
            points["data_bytes", subject] = tuple(Point(d, held * f) for d, f in zip(days, factors, strict=True))
    held = stored_bytes(profile) or 0
    points["stored_bytes", Subject()] = tuple(Point(d, held * f) for d, f in zip(days, factors, strict=True))
    return Timeline(points=points)


FOUND = (
    ("A1", "CAR001", "sessions", ""),
    ("A4", "CAR004", "sessions", ""),
    ("A7", "NAM002", "sensor_{n}", ""),
    ("F3", "DRF001", "cpu", "debug"),
    ("C1", "FLD005", "air", "sensor_name"),
    ("C3", "FLD002", "meters", "reading"),
    ("D3", "LAY003", "crypto", ""),
    ("D4", "LAY004", "mixed", ""),
    ("D5", "LAY005", "halves", ""),
    ("B1", "NAM001", "orders", ""),
    ("B4", "NAM005", "tagged", "t{n}"),
    ("F1", "RET001", "parted", ""),
    ("H5", "RET002", "", ""),
    ("E8", "STO001", "indexed", ""),
    ("E8", "STO002", "unindexed", ""),
    ("E12", "STO003", "parted", ""),
    ("A5", "TAG002", "app_log", "message"),
    ("A6", "TAG002", "sessions", "session"),
    ("B3", "TAG003", "home", "sensor"),
    ("C2", "TAG002", "rooms", "temperature"),
)
"""Guideline, rule, table, column; how severe each is depends on the size of the data."""
FOLLOWS = {"D1": "SRV003"}
"""What such a small database cannot break by itself: no limit on columns is near."""


@pytest.fixture(scope="module")
def broken(postgresql: Postgresql) -> AuditResult:
    return _audited(postgresql, "broken", BROKEN, CHANGE, [1.1 ** (i - 40) for i in range(40)])


@pytest.mark.full
def test_database_that_breaks_every_guideline(broken: AuditResult) -> None:
    found = {(r.code, f.subject.measurement, f.subject.column) for r, f in broken.findings()}
    assert {tuple(line) for _, *line in FOUND} - found == set()
    # All tables grow, and nothing is deleted from any of them.
    assert {code for code, *_ in found} == {code for _, code, *_ in FOUND}


def test_proposed_statements_when_run(postgresql: Postgresql, broken: AuditResult) -> None:
    """All plans one after the other, by somebody whose session searches other schemas."""
    ran: set[str] = set()
    with postgresql.connect() as connection, connection.transaction(force_rollback=True):
        for plan in broken.plans:
            for statement in (one for step in plan.steps if step.language == "sql" for one in split(step.text)):
                # The server takes these outside of transactions only.
                connection.execute(statement.replace(" CONCURRENTLY", "").encode())
                ran.update(rule for asked in plan.changes for rule in asked.rules)
    # Notes have no plan.
    assert sorted(ran) == ["CAR001", "FLD002", "TAG002"]


def test_every_guideline_that_a_rule_checks_is_broken() -> None:
    checked, broken = (
        {g for rule in all_rules() if "postgresql" in rule.engines and rule.code in codes for g in rule.guidelines}
        for codes in ({rule.code for rule in all_rules()}, {code for _, code, *_ in FOUND} | set(FOLLOWS.values()))
    )
    matter = {g.id for g in GUIDELINES if not g.why_not_on("postgresql")}
    assert checked & matter == broken & matter


def test_twin_that_keeps_them(postgresql: Postgresql) -> None:
    result = _audited(postgresql, "kept", KEPT, "", [1.0] * 40)
    assert [(r.code, f.subject, f.message) for r, f in result.findings() if f.severity is not Severity.NOTE] == []
    assert {r.code for r in result.results if r.outcome in (Outcome.ERROR, Outcome.OPEN)} == set()
