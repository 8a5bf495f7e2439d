"""What one statement returns about several tables is what a statement about each returns."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import duckdb
import psycopg
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import NOW
from tests.collecting import apart, collected, figures, statements
from tests.servers import Postgresql
from tsaudit.config.settings import Budget, Target
from tsaudit.engines.connection import RowsOfSeveral
from tsaudit.engines.registry import ENGINES
from tsaudit.engines.sql import batching
from tsaudit.model.facts import OfNullCounts

Made = Callable[..., Target]
_NINE = "generate_series(1, 9) AS i"
_RECENT = "TIMESTAMP '2026-03-30 12:00' - i * INTERVAL '1 minute'"


def table(name: str, columns: str, values: str, rows: int) -> list[str]:
    """The statements for a table with that many rows. `values`: expressions in which `i` is the row."""
    made = f"INSERT INTO {name} SELECT {values} FROM generate_series(1, {rows}) AS each_row(i)"
    return [f"CREATE TABLE {name} ({columns})", *([made] if rows else [])]


ALIKE = [
    statement
    for n in range(230)
    for statement in table(
        f"t{n:03}",
        f"ts TIMESTAMP, host VARCHAR, place INTEGER, v{n} DOUBLE PRECISION",
        f"{_RECENT}, 'h' || i % 3, i % {n + 1}, i / 7.0",
        5 + n % 3,
    )
]
ODD = [
    statement
    for part in (
        table("no_rows", "ts TIMESTAMP, host VARCHAR, place INTEGER, v0 DOUBLE PRECISION", "", 0),
        table("no_rows_either", "ts TIMESTAMP, host VARCHAR, place INTEGER, v0 DOUBLE PRECISION", "", 0),
        table(
            "old",
            "ts TIMESTAMP, host VARCHAR, place INTEGER, v0 DOUBLE PRECISION",
            f"{_RECENT} - INTERVAL '900 days', 'h', 1, i",
            7,
        ),
        table("many_rows", "ts TIMESTAMP, host VARCHAR, v DOUBLE PRECISION", f"{_RECENT}, 'h' || i % 150, i", 300),
        table("as_many", "ts TIMESTAMP, host VARCHAR, v DOUBLE PRECISION", f"{_RECENT}, 'h' || i % 7, NULL", 300),
        table("no_time", "host VARCHAR, v DOUBLE PRECISION", "'h' || i, i", 4),
        table("no_time_either", "host VARCHAR, v DOUBLE PRECISION", "'g', NULL", 4),
        table("two_times", "made TIMESTAMP, changed TIMESTAMP, host VARCHAR", f"{_RECENT}, {_RECENT}, 'h' || i", 4),
        table("two_more", "made TIMESTAMP, changed TIMESTAMP, host VARCHAR", f"NULL, {_RECENT}, 'h' || i", 4),
        table('"new\nline"', "ts BIGINT, host VARCHAR, v REAL", "1774872000 - i, 'h' || i, i", 6),
        table('"a""b; --c %q"', "ts BIGINT, host VARCHAR, v REAL", "1774872000 - i, 'g', 0.1", 6),
        table("in_text", 'ts VARCHAR, "rows" VARCHAR, v REAL', f"CAST({_RECENT} AS VARCHAR), 'h', i", 6),
        table("in_text_too", 'ts VARCHAR, "later" VARCHAR, w REAL', f"CAST({_RECENT} AS VARCHAR), 'g', i", 6),
        table("long_text", "ts TIMESTAMP, note VARCHAR, v DOUBLE PRECISION", f"{_RECENT}, repeat('x', 3000), i", 6),
        table("a_date", "day DATE, host VARCHAR, ok BOOLEAN", "DATE '2026-03-29', 'h' || i, i % 2 = 0", 6),
        table("another_date", "day DATE, host VARCHAR, ok BOOLEAN", "DATE '2026-03-28', NULL, NULL", 6),
    )
    for statement in part
]


@pytest.fixture(params=["duckdb", "postgresql"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Made:
    """Runs statements in a new database; a target for it."""

    def make(made: Sequence[str], **budget: int) -> Target:
        if request.param == "duckdb":
            with closing(duckdb.connect(str(tmp_path / "a.duckdb"))) as connection:
                for statement in made:
                    connection.execute(statement)
            where = {"url": f"duckdb:///{tmp_path}/a.duckdb"}
        else:
            server: Postgresql = request.getfixturevalue("postgresql")
            where = {"url": server.audit_url, "databases": (server.new_schema(*made),)}
        return Target(name="t", engine=request.param, budget=Budget(**budget), **where)

    return make


@pytest.mark.full
@pytest.mark.parametrize(("made_of", "fewer"), [(ALIKE, 20), (ODD, 1.2)])
def test_profile_is_the_same_as_with_a_statement_for_each(
    made: Made, made_of: list[str], fewer: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = made(made_of, max_rows=100, concurrency=2)
    together, alone = collected(target), apart(target, monkeypatch)
    assert not together.gaps
    assert len(together.measurements) > 15
    assert figures(together) == figures(alone)
    facts = ENGINES[target.engine].batched_facts
    assert statements(together, *facts) * fewer < statements(alone, *facts)


def test_table_of_many_rows_is_asked_alone(made: Made) -> None:
    columns, values = "ts TIMESTAMP, host VARCHAR, v DOUBLE PRECISION", f"{_RECENT}, 'h' || i % 9, i"
    tables = [("a", 10), ("b", 10), ("c", 60_000), ("d", 60_000), ("big", 100_001)]
    profile = collected(made([s for name, rows in tables for s in table(name, columns, values, rows)]))
    # a, b, and c; d; the big one.
    assert [statements(profile, fact) for fact in ("series_listing", "null_counts")] == [3, 3]
    assert all(m.rows and m.rows.value for m in profile.measurements)


def test_failure_of_a_statement_about_several_is_no_gap(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    target = made(ALIKE[:20])
    whole = collected(target)
    monkeypatch.setattr(batching, "united", lambda _: "SELECT nothing")
    broken = collected(target)
    assert figures(broken) == figures(whole)


SPOILED = {
    "may not be read": "REVOKE SELECT ON {0} FROM tsaudit",
    "has hidden rows": "ALTER TABLE {0} ENABLE ROW LEVEL SECURITY",
    "is locked": "",
}


@pytest.mark.parametrize(
    "spoiled", [pytest.param(one, marks=() if SPOILED[one] else pytest.mark.full) for one in SPOILED]
)
def test_one_table_spoils_one_statement_and_no_figure(
    postgresql: Postgresql, spoiled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its neighbors are queried by themselves at most once, and together without it from then on."""
    schema = postgresql.new_schema(*ALIKE[:80])
    postgresql.execute(SPOILED[spoiled].format(f"{schema}.t003") or "SELECT")
    target = Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,))
    with postgresql.connect() as other, other.transaction():
        if spoiled == "is locked":
            other.execute(f"LOCK TABLE {schema}.t003 IN ACCESS EXCLUSIVE MODE".encode())
        together, alone = collected(target), apart(target, monkeypatch)
    assert {gap.measurement for gap in together.gaps} == {"t003"}
    assert figures(together) == figures(alone)
    assert {m.name for m in together.measurements if m.rows} == {f"t{n:03}" for n in range(40) if n != 3}
    spent = [statements(together, fact) for fact in ("row_sample", "series_listing", "null_counts")]
    # What the catalog shows to be unreadable is not queried. A lock only shows itself in one statement that fails, and
    # in one for each; then one, and the one that fails again.
    assert spent == ([41, 2, 2] if spoiled == "is locked" else [1, 1, 1])


@pytest.mark.wall_clock
def test_audit_that_waits_for_a_lock_keeps_nobody_waiting(postgresql: Postgresql) -> None:
    """Who holds the last table and wants the first gets it in less time than a server takes to see a deadlock."""
    schema = postgresql.new_schema(*ALIKE[:80])
    target = Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,))
    waits: list[float] = []
    errors: list[psycopg.Error] = []
    audited = threading.Event()

    def migrate() -> None:
        with postgresql.connect() as other:
            while not audited.is_set():
                try:
                    with other.transaction():
                        other.execute(f"LOCK TABLE {schema}.t039 IN ACCESS EXCLUSIVE MODE".encode())
                        time.sleep(0.03)
                        began = time.monotonic()
                        other.execute(f"LOCK TABLE {schema}.t000 IN ACCESS EXCLUSIVE MODE".encode())
                        waits.append(time.monotonic() - began)
                except psycopg.Error as error:
                    errors.append(error)

    migration = threading.Thread(target=migrate)
    migration.start()
    try:
        for _ in range(3):
            collected(target)
    finally:
        audited.set()
        migration.join()
    assert not errors
    assert max(waits) < 0.9


def test_tables_with_partitions_are_asked_alone(postgresql: Postgresql) -> None:
    """The server locks all of their partitions, and the indexes of these, until the statement ends."""
    parts = [
        f"CREATE TABLE p{n}_{day} PARTITION OF p{n} FOR VALUES FROM ('2026-03-{day}') TO ('2026-03-{day + 1}')"
        for n in range(3)
        for day in range(10, 30)
    ]
    schema = postgresql.new_schema(
        *(f"CREATE TABLE p{n} (ts TIMESTAMP, host VARCHAR, v REAL) PARTITION BY RANGE (ts)" for n in range(3)),
        *parts,
        *(f"INSERT INTO p{n} SELECT {_RECENT} - INTERVAL '2 days', 'h', i FROM {_NINE}" for n in range(3)),
        *ALIKE[:10],
    )
    profile = collected(Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,)))
    assert not profile.gaps
    assert [m.rows.value for m in profile.measurements if m.rows and m.name.startswith("p")] == [9, 9, 9]
    assert [statements(profile, fact) for fact in ("row_sample", "series_listing", "null_counts")] == [4, 4, 4]


@pytest.mark.parametrize("number", [1, 2, 3, 100, 101])
def test_statements_are_united_in_their_order_and_nested_evenly(number: int) -> None:
    whole = batching.united([f"SELECT {place} AS n WHERE {place} <> 1" for place in range(number)])
    depth = deepest = 0
    for sign in whole:
        depth += (sign == "(") - (sign == ")")
        deepest = max(deepest, depth)
    assert deepest <= 8
    with closing(duckdb.connect()) as connection:
        assert connection.execute(whole).fetchall() == [(place, place) for place in range(number) if place != 1]


@given(st.lists(st.lists(st.sampled_from(["a", "b", None]), max_size=4), min_size=1, max_size=6), st.integers(1, 3))
def test_response_is_taken_apart_by_table(tables: list[list[str | None]], size: int) -> None:
    columns = {"place": [], "name": []}
    for place, values in enumerate(tables):
        columns["place"] += [place] * len(values)
        columns["name"] += values
    whole = pa.record_batch(columns, pa.schema([("place", pa.int32()), ("name", pa.string())]))
    cut = [whole.slice(start, size) for start in range(0, whole.num_rows, size)] or [whole]
    given_ = [
        OfNullCounts(
            database="d",
            measurement=str(place),
            tags=(),
            fields=(),
            time=None,
            time_kind=None,
            policies=(),
            start=NOW,
            end=NOW,
            later=None,
        )
        for place in range(len(tables))
    ]
    rows = RowsOfSeveral("", {})
    found: dict[str, list[str | None]] = {}
    for batch in batching.divided(iter(cut), given_, rows):
        assert batch.schema.names == ["name"]
        found.setdefault(rows.measurement, []).extend(batch.column(0).to_pylist())
    assert found == {str(place): values for place, values in enumerate(tables)}
