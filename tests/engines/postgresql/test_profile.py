"""What PostgreSQL needs on top: its types and times, partitions, rights, locks, and what an audit costs the server."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from tests.builders import NOW
from tests.collecting import collected
from tests.query_parameters import filled
from tests.rules.cases import run_rule
from tests.servers import PASSWORD, Postgresql
from tsaudit.collect.probing import database_names
from tsaudit.config.settings import Target
from tsaudit.engines.opening import open_connection
from tsaudit.model.figures import FOREVER, Reason
from tsaudit.model.profile import Measurement, Profile
from tsaudit.model.storage import Index
from tsaudit.rules.names.data_in_measurement_name import data_in_measurement_name

Made = Callable[..., Target]


@pytest.fixture
def made(postgresql: Postgresql) -> Made:
    """Runs statements in a new schema, which the audit's role may read; a target for it."""

    def make(*statements: str, grant: bool = True, **settings: Any) -> Target:
        schema = postgresql.new_schema(*statements, grant=grant)
        about = {"name": "t", "engine": "postgresql", "url": postgresql.audit_url, "databases": (schema,)}
        return Target(**about | settings)

    return make


def _table(profile: Profile, name: str) -> Measurement:
    return next(m for m in profile.measurements if m.name == name)


def _roles(measurement: Measurement) -> tuple[str | None, set[str], set[str]]:
    return measurement.time_column, {t.key for t in measurement.tags}, {f.key for f in measurement.fields}


KINDS = {
    "a_bool": ("BOOLEAN", "TRUE", "true"),
    "a_smallint": ("SMALLINT", "-3", "-3"),
    "a_bigint": ("BIGINT", "9223372036854775807", "9223372036854775807"),
    "a_real": ("REAL", "1.5", "1.5"),
    "a_nan": ("DOUBLE PRECISION", "'NaN'", "nan"),
    "an_infinite": ("DOUBLE PRECISION", "'-Infinity'", "-inf"),
    "a_numeric": (
        "NUMERIC(40, 2)",
        "12345678901234567890123456789012345678.25",
        "12345678901234567890123456789012345678.25",
    ),
    "a_money": ("MONEY", "1.25", "$1.25"),
    "a_json": ("JSON", """'{"k": 1}'""", '{"k": 1}'),
    "a_jsonb": ("JSONB", """'{"k":1}'""", '{"k": 1}'),
    "an_array": ("INTEGER[]", "'{1,2,NULL}'", "{1,2,NULL}"),
    "a_bytea": ("BYTEA", "'\\xff00'", "\\xff00"),
    "an_interval": ("INTERVAL", "'1 month 2 hours'", "P1MT2H"),
    "an_inet": ("INET", "'10.0.0.1/8'", "10.0.0.1/8"),
    "a_range": ("INT4RANGE", "'[1,5)'", "[1,5)"),
    "a_composite": ("pair", "'(1,x)'", "(1,x)"),
    "a_point": ("POINT", "'(1,2)'", "(1,2)"),
    "a_bit": ("BIT(3)", "B'101'", "101"),
    "an_xml": ("XML", "'<a/>'", "<a/>"),
    "a_vector": ("TSVECTOR", "'cat'", "'cat'"),
    "a_forever": ("TIMESTAMPTZ", "'infinity'", "infinity"),
    "a_long_ago": ("TIMESTAMP", "'0044-03-15 BC'", "0044-03-15 00:00:00 BC"),
    "a_far_future": ("DATE", "'12345-06-07'", "12345-06-07"),
    "a_time": ("TIME WITH TIME ZONE", "'12:00+02'", "12:00:00+02"),
    "a_generated": ("INTEGER GENERATED ALWAYS AS (a_smallint * 2) STORED", None, "-6"),
}
TAGS = {
    "a_text": ("TEXT", "'größe ☃'", "größe ☃"),
    "a_char": ("CHAR(4)", "'ab'", "ab"),
    "an_enum": ("mood", "'good'", "good"),
    "a_domain": ("region", "'eu'", "eu"),
    "a_uuid": ("UUID", "'00000000-0000-0000-0000-000000000001'", "00000000-0000-0000-0000-000000000001"),
}


def test_types_of_every_kind(made: Made, postgresql: Postgresql) -> None:
    # The one in the wheel keeps no XML; Debian's does.
    ((keeps_xml,),) = postgresql.rows("SELECT setting LIKE '%with-libxml%' FROM pg_config WHERE name = 'CONFIGURE'")
    kinds = {name: kind for name, kind in KINDS.items() if keeps_xml or name != "an_xml"}
    written = {k: v for k, v in (kinds | TAGS).items() if v[1] is not None}
    columns = ", ".join(f"{name} {kind}" for name, (kind, _, _) in (kinds | TAGS).items())
    names, values = ", ".join(written), ", ".join(str(value) for _, value, _ in written.values())
    profile = collected(
        made(
            "CREATE TYPE mood AS ENUM ('good', 'bad')",
            "CREATE TYPE pair AS (a INT, b TEXT)",
            "CREATE DOMAIN region AS TEXT CHECK (value <> '')",
            f"CREATE TABLE t (time TIMESTAMPTZ, {columns})",
            f"INSERT INTO t (time, {names}) SELECT '2026-03-30'::DATE + i * '1 s'::INTERVAL, {values} "
            "FROM generate_series(1, 3) AS i",
            "INSERT INTO t (time) VALUES ('2026-03-29')",
        )
    )
    assert profile.gaps == ()
    (t,) = profile.measurements
    assert t.time_column == "time"
    assert {tag.key: tag.sample for tag in t.tags} == {name: (shown,) for name, (_, _, shown) in TAGS.items()}
    assert {f.key: f.sample for f in t.fields} == {name: (shown,) for name, (_, _, shown) in kinds.items()}
    types = {tag.key: tag.data_type for tag in t.tags} | {f.key: f.types[0] for f in t.fields}
    assert types["a_numeric"] == "numeric(40,2)"
    assert types["an_enum"].startswith("enum made_")
    assert (types["a_domain"], types["an_array"]) == ("text", "integer[]")
    assert {f.null_ratio.value for f in t.fields if f.null_ratio} == {0.25}
    assert (t.series and t.series.value, t.rows and t.rows.value) == (2, 4)


@pytest.mark.parametrize(
    "generated",
    ["BIGINT GENERATED ALWAYS AS IDENTITY", "BIGSERIAL", "UUID DEFAULT gen_random_uuid()"],
    ids=["identity", "sequence", "random ID"],
)
def test_number_that_partitions_force_into_the_key_is_no_tag(made: Made, generated: str) -> None:
    profile = collected(
        made(
            f"CREATE TABLE t (id {generated}, time TIMESTAMPTZ, host TEXT, v DOUBLE PRECISION, PRIMARY KEY (id, time))"
            " PARTITION BY RANGE (time)",
            "CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM ('2026-01-01') TO ('2027-01-01')",
            "INSERT INTO t (time, host, v) SELECT '2026-03-30'::DATE + i * '1 min'::INTERVAL, 'h' || i % 3, i / 7.0 "
            "FROM generate_series(1, 90) AS i",
        )
    )
    (t,) = profile.measurements
    assert ([tag.key for tag in t.tags], [field.key for field in t.fields]) == (["host"], ["id", "v"])


@pytest.mark.parametrize("with_time", [True, False])
def test_enumeration_named_like_a_time(made: Made, with_time: bool) -> None:
    """Nothing compares it with a text that it does not list."""
    time, of_rows = (", at TIMESTAMPTZ", ", '2026-03-30'::DATE + i * '1 min'::INTERVAL") if with_time else ("", "")
    profile = collected(
        made(
            "CREATE TYPE boolenum AS ENUM ('n', 'y')",
            f"CREATE TABLE t (name TEXT, required boolenum, event_type boolenum, created BIGINT{time})",
            f"INSERT INTO t SELECT 'a' || i, 'n', 'y', 1{of_rows} FROM generate_series(1, 90) AS i",
        )
    )
    assert profile.gaps == ()
    assert profile.measurements[0].time_column == ("at" if with_time else None)


@pytest.mark.parametrize(
    ("kind", "inside", "outside"),
    [
        ("TIMESTAMPTZ", ["2026-03-01 08:00+02", "2026-03-31 05:59:59.999999+00"], ["2026-03-31 06:00+00", "infinity"]),
        ("TIMESTAMP", ["2026-03-01 06:00", "2026-03-31 05:59:59.999999"], ["2026-03-31 06:00", "-infinity"]),
        ("DATE", ["2026-03-02", "2026-03-31"], ["2026-03-01", "2026-04-01", "infinity", "0044-03-15 BC"]),
        ("BIGINT", [1772344800, 1774936799], [1772344799, 1774936800]),
        ("BIGINT", [1772344800000000, 1774936799999999], [1772344799999999, 1774936800000000]),
        (
            "TEXT",
            ["2026-03-01T06:00:00Z", "2026-03-31 07:59:59.999+02:00", "2026-03-31"],
            ["2026-03-01 05:59:59", "2026-03-31T06:00:00Z"],
        ),
    ],
)
def test_window_whatever_keeps_the_time(made: Made, kind: str, inside: list[Any], outside: list[Any]) -> None:
    rows = [f"('{at}', 'in{i}', 1)" for i, at in enumerate(inside)] + [f"('{at}', 'out', 1)" for at in outside]
    target = made(f"CREATE TABLE t (ts {kind}, host TEXT, v REAL)", f"INSERT INTO t VALUES {', '.join(rows)}")
    profile = collected(target)
    assert profile.gaps == ()
    (t,) = profile.measurements
    assert t.time_column == "ts"
    assert t.tags[0].sample == tuple(f"in{i}" for i in range(len(inside)))
    assert t.rows is not None
    assert t.rows.value == len(inside)
    if kind not in ("DATE", "TEXT"):
        first, last = datetime(2026, 3, 1, 6, tzinfo=UTC), NOW
        assert t.first_time == first
        assert t.last_time is not None
        assert last - timedelta(seconds=1) <= t.last_time < last


def test_partitioned_table_is_one_measurement(made: Made, postgresql: Postgresql) -> None:
    target = made(
        "CREATE TABLE m (ts TIMESTAMPTZ NOT NULL, host TEXT, v REAL, PRIMARY KEY (host, ts)) PARTITION BY RANGE (ts)",
        "CREATE INDEX m_ts ON m (ts) WHERE v > 0",
        "CREATE TABLE m_02 PARTITION OF m FOR VALUES FROM ('2026-02-01') TO ('2026-03-01')",
        "CREATE TABLE m_03 PARTITION OF m FOR VALUES FROM ('2026-03-01') TO ('2026-04-01') PARTITION BY LIST (host)",
        "CREATE TABLE m_03_a PARTITION OF m_03 FOR VALUES IN ('a')",
        "CREATE TABLE m_03_rest PARTITION OF m_03 DEFAULT",
        'CREATE TABLE odd ("o, d" TEXT, v REAL) PARTITION BY HASH (lower("o, d"))',
        "INSERT INTO m SELECT '2026-03-30'::TIMESTAMPTZ + i * '1 s'::INTERVAL, chr(97 + i % 2), 1 "
        "FROM generate_series(1, 1000) AS i",
        "CREATE VIEW looked AS SELECT * FROM m",
        "CREATE MATERIALIZED VIEW kept AS SELECT * FROM m",
    )
    postgresql.execute(f"ANALYZE {target.databases[0]}.m_03_a")
    profile = collected(target)
    assert profile.gaps == ()
    assert [m.name for m in profile.measurements] == ["m", "odd"]
    m, odd = profile.measurements
    assert _roles(m) == ("ts", {"host"}, {"v"})
    assert m.partitioning is not None
    assert (m.partitioning.key, m.partitioning.count) == (("ts",), 2)
    parts = {p.name: p for p in m.partitioning.partitions}
    assert parts["m_03"].rows == 1000
    assert parts["m_03"].bounds.startswith("FOR VALUES FROM ('2026-03-01 00:00:00+00')")
    assert (parts["m_02"].rows, parts["m_02"].bytes is not None) == (0, True)
    assert m.storage is not None
    assert m.storage.data_bytes == sum(p.bytes or 0 for p in parts.values())
    assert (m.storage.index_bytes or 0) > 8192
    key, by_time = m.indexes or ()
    assert (key.columns, key.unique, key.constraint, key.partial) == (("host", "ts"), True, True, False)
    assert (by_time.columns, by_time.unique, by_time.constraint, by_time.partial) == (("ts",), False, False, True)
    assert (key.size_bytes or 0) + (by_time.size_bytes or 0) == m.storage.index_bytes
    assert odd.partitioning is None
    assert odd.storage is not None


def test_indexes_of_every_kind(made: Made) -> None:
    target = made(
        "CREATE TABLE other (id INT)",
        "CREATE TABLE t (ts TIMESTAMPTZ, host TEXT, id INT NOT NULL, v REAL)",
        "ALTER TABLE t ADD EXCLUDE USING btree (host WITH =, ts WITH =)",
        "CREATE UNIQUE INDEX t_id ON t (id)",
        "ALTER TABLE other ADD FOREIGN KEY (id) REFERENCES t (id)",
        "CREATE INDEX t_lower ON t (lower(host), ts DESC) INCLUDE (v)",
        "CREATE INDEX t_brin ON t USING brin (ts)",
        "CREATE INDEX t_hash ON t USING hash (host) WHERE v IS NOT NULL",
    )
    indexes = {i.name: i for i in _table(collected(target), "t").indexes or ()}

    def shape(index: Index) -> tuple[Any, ...]:
        return index.kind, index.columns, index.unique, index.constraint, index.partial

    assert shape(indexes["t_id"]) == ("btree", ("id",), True, True, False), "a foreign key needs it"
    assert shape(indexes["t_lower"]) == ("btree", (None, "ts", None), False, False, False)
    assert shape(indexes["t_brin"]) == ("brin", ("ts",), False, False, False)
    assert shape(indexes["t_hash"]) == ("hash", ("host",), False, False, True)
    assert shape(indexes["t_host_ts_excl"]) == ("btree", ("host", "ts"), False, True, False)
    assert {i.scans for i in indexes.values()} == {0}
    assert all(i.size_bytes for i in indexes.values() if i.kind != "btree")


def test_tables_without_rows_columns_or_rights(made: Made, postgresql: Postgresql) -> None:
    target = made(
        "CREATE TABLE empty (ts TIMESTAMPTZ, host TEXT, v REAL, PRIMARY KEY (ts, host))",
        "CREATE TABLE bare ()",
        "CREATE TABLE secret (ts TIMESTAMPTZ, host TEXT, v REAL)",
        "INSERT INTO secret VALUES ('2026-03-30', 'a', 1)",
        "CREATE TABLE half (ts TIMESTAMPTZ, host TEXT, v REAL)",
    )
    (schema,) = target.databases
    postgresql.execute(f"REVOKE ALL ON {schema}.secret, {schema}.half FROM tsaudit")
    postgresql.execute(f"GRANT SELECT (ts, host) ON {schema}.half TO tsaudit")
    profile = collected(target)
    assert {(g.measurement, g.reason) for g in profile.gaps} == {
        ("secret", Reason.DENIED),
        ("half", Reason.DENIED),
        ("bare", Reason.FAILED),
    }
    assert {"series_listing", "null_counts", "row_sample"} <= {
        g.fact for g in profile.gaps if g.measurement == "secret"
    }
    assert {g.detail for g in profile.gaps if g.measurement == "secret" and g.fact != "columns"} == {
        f"permission denied for table secret; GRANT SELECT ON {schema}.secret TO tsaudit"
    }
    empty = _table(profile, "empty")
    assert (empty.series and empty.series.value, empty.rows and empty.rows.value) == (0, 0)
    assert _table(profile, "bare").columns == ()
    assert _table(profile, "secret").storage is not None, "the catalogue is open to all"


def test_schema_may_not_be_used(made: Made) -> None:
    profile = collected(made("CREATE TABLE t (ts TIMESTAMPTZ, v REAL)", grant=False))
    assert {g.reason for g in profile.gaps} == {Reason.DENIED}
    assert "permission denied for schema" in profile.gaps[0].detail


def test_reader_of_all_data_needs_no_other_grant(made: Made, postgresql: Postgresql) -> None:
    target = made(
        "CREATE TABLE t (ts TIMESTAMPTZ, host TEXT, v REAL)", "INSERT INTO t VALUES ('2026-03-30', 'a', 1)", grant=False
    )
    postgresql.execute(f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'; GRANT pg_read_all_data TO reader")
    profile = collected(target.model_copy(update={"username": "reader"}))
    assert profile.gaps == ()
    assert profile.measurements[0].rows is not None


def test_schemas_of_the_system_are_left_out(made: Made) -> None:
    target = made("CREATE TABLE t (ts TIMESTAMPTZ, v REAL)").model_copy(update={"databases": ()})
    with open_connection(target) as connection:
        names = database_names(target, connection)
    assert "public" in names
    assert not [name for name in names if name.startswith("pg_") or name == "information_schema"]


@pytest.mark.wall_clock
def test_locked_table_is_a_gap_in_bounded_time(made: Made, postgresql: Postgresql) -> None:
    target = made(
        *(
            f"CREATE TABLE {name} (ts TIMESTAMPTZ, host TEXT, v REAL, PRIMARY KEY (ts, host))"
            for name in ("held", "free")
        ),
        "INSERT INTO free VALUES ('2026-03-30', 'a', 1)",
    )
    (schema,) = target.databases
    with postgresql.connect() as other, other.transaction():
        other.execute(f"ALTER TABLE {schema}.held ADD COLUMN w REAL".encode())
        began = time.monotonic()
        profile = collected(target)
    assert time.monotonic() - began < 20
    assert {g.measurement for g in profile.gaps} == {"held"}
    assert {g.fact for g in profile.gaps if g.reason is not Reason.TIMED_OUT} == {"storage"}
    assert "locked by another session for more than 2 s" in {g.detail for g in profile.gaps}
    free = _table(profile, "free")
    assert (free.series and free.series.value, free.rows and free.rows.value) == (1, 1)
    assert free.storage is not None
    assert free.storage.data_bytes is not None
    held = _table(profile, "held")
    assert held.rows is None
    assert held.storage is not None
    assert held.storage.data_bytes is None
    assert held.indexes is not None


def test_table_has_moved_since(made: Made, postgresql: Postgresql) -> None:
    now = datetime.now(UTC)
    target = made(
        "CREATE TABLE t (ts TIMESTAMPTZ, host TEXT, v REAL, PRIMARY KEY (ts, host))",
        "INSERT INTO t SELECT now() - i * '1 s'::INTERVAL, 'a', i FROM generate_series(1, 9) AS i",
    )
    before = collected(target, now=now, day=now.date())
    later = now + timedelta(hours=1)
    assert collected(target, now=later, day=now.date(), previous=before).reused == 1
    # As many rows as before, and others.
    (schema,) = target.databases
    # Counters are otherwise written when the process ends, which may be after the next audit.
    postgresql.execute(f"UPDATE {schema}.t SET host = 'b' WHERE v = 3; SELECT pg_stat_force_next_flush()")
    assert collected(target, now=later, day=now.date(), previous=before).reused == 0


def test_cost_is_what_the_server_counted(made: Made, postgresql: Postgresql) -> None:
    target = made(
        "CREATE TABLE t (ts TIMESTAMPTZ, host TEXT, v REAL, PRIMARY KEY (ts, host))",
        "INSERT INTO t SELECT '2026-03-30'::TIMESTAMPTZ + i * '1 s'::INTERVAL, 'h' || i % 9, i "
        "FROM generate_series(1, 2000) AS i",
    )
    postgresql.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements; SELECT pg_stat_statements_reset()")
    profile = collected(target)
    counted = postgresql.rows("SELECT query, calls, rows FROM pg_stat_statements WHERE userid = 'tsaudit'::regrole")
    opened = sum(calls for query, calls, _ in counted if query.startswith(("COPY", "EXPLAIN")))
    fetched = sum(rows for query, _, rows in counted if query.startswith("COPY"))
    assert opened == sum(c.statements for c in profile.costs)
    assert fetched == sum(c.rows for c in profile.costs)
    # Besides these it set the timeouts and said hello; nothing writes.
    kinds = {query.split()[0].upper() for query, *_ in counted}
    assert kinds <= {"COPY", "EXPLAIN", "BEGIN", "ROLLBACK", "SELECT", "SHOW"}
    selected = {query for query, *_ in counted if query.upper().startswith("SELECT")}
    hello = r"(?i)SELECT (pg_catalog|current_schema|typname|(DISTINCT )?n\.nspname)"
    assert all(re.match(hello, query) for query in selected), selected


@pytest.mark.parametrize(("deleted", "policy"), [(0, ""), (9, ""), (10, None)])
def test_lifetime_when_rows_are_deleted(made: Made, deleted: int, policy: str | None) -> None:
    target = made(
        "CREATE TABLE t (ts TIMESTAMPTZ, v REAL) PARTITION BY RANGE (ts)",
        "CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM ('2026-01-01') TO ('2027-01-01')",
        "INSERT INTO t SELECT TIMESTAMPTZ '2026-03-01' + i * INTERVAL '1 hour', i FROM generate_series(1, 100) AS i",
        f"DELETE FROM t WHERE v <= {deleted}",
        "SELECT pg_stat_force_next_flush()",
    )
    kept = _table(collected(target), "t").retention
    assert (kept and (kept.policy, kept.duration_s)) == (None if policy is None else (policy, FOREVER))


def test_rows_that_a_policy_hides_are_a_gap(made: Made) -> None:
    target = made(
        *(f"CREATE TABLE {name} (ts TIMESTAMPTZ, tenant TEXT, v REAL)" for name in ("hidden", "open")),
        *(f"INSERT INTO {name} VALUES ('2026-03-30', 'a', 1)" for name in ("hidden", "open")),
        "ALTER TABLE hidden ENABLE ROW LEVEL SECURITY",
        "CREATE POLICY own ON hidden USING (tenant = current_user)",
    )
    profile = collected(target)
    assert {(g.measurement, g.reason) for g in profile.gaps} == {("hidden", Reason.DENIED)}
    assert "row-level security" in profile.gaps[-1].detail
    assert _table(profile, "hidden").rows is None
    assert _table(profile, "open").rows is not None


def test_lists_and_types_of_extensions(made: Made, postgresql: Postgresql) -> None:
    postgresql.execute("CREATE EXTENSION IF NOT EXISTS citext SCHEMA public")
    target = made(
        "CREATE TYPE place AS (street TEXT, town TEXT)",
        "CREATE TABLE t (seen TIMESTAMPTZ[], ts TIMESTAMPTZ, host citext, labels TEXT[], sensor_id INT[], at place, "
        "v REAL)",
        "INSERT INTO t SELECT ARRAY[now()], '2026-03-30'::TIMESTAMPTZ + i * '1 s'::INTERVAL, 'H' || i % 3, '{a,b}', "
        "'{1}'::INT[], ROW(repeat('x', 5000), 'y')::place, i / 7.0 FROM generate_series(1, 60) AS i",
    )
    profile = collected(target)
    assert profile.gaps == ()
    (t,) = profile.measurements
    assert _roles(t) == ("ts", {"host"}, {"seen", "labels", "sensor_id", "at", "v"})
    assert 'left(CAST("at" AS TEXT), 1000)' in t.statements["row_sample"]


def test_counters_that_are_reset_are_no_restart(made: Made, postgresql: Postgresql) -> None:
    target = made("CREATE TABLE m (ts TIMESTAMPTZ, v REAL)")
    before, _ = collected(target).server, postgresql.execute("SELECT pg_stat_reset()")
    after = collected(target).server
    assert before is not None
    assert after is not None
    assert after.is_same_start(before)


def test_partitions_are_only_asked_for_where_there_are_some(made: Made) -> None:
    def sent(target: Target) -> int:
        return next(cost.statements for cost in collected(target).costs if cost.fact == "partitions")

    table = "CREATE TABLE m (ts TIMESTAMPTZ, v FLOAT8)"
    assert sent(made(table)) == 0
    assert sent(made(f"{table} PARTITION BY RANGE (ts)", "CREATE TABLE m_rest PARTITION OF m DEFAULT")) == 1


def test_partition_that_was_made_ahead_and_never_analysed(made: Made, postgresql: Postgresql) -> None:
    target = made(
        "CREATE TABLE m (ts TIMESTAMPTZ, v REAL) PARTITION BY RANGE (ts)",
        "CREATE TABLE m_03 PARTITION OF m FOR VALUES FROM ('2026-03-01') TO ('2026-04-01')",
        "CREATE TABLE m_04 PARTITION OF m FOR VALUES FROM ('2026-04-01') TO ('2026-05-01')",
        "CREATE TABLE bare (ts TIMESTAMPTZ, v REAL)",
        "INSERT INTO m SELECT '2026-03-30'::TIMESTAMPTZ + i * '1 s'::INTERVAL, 1 FROM generate_series(1, 1000) AS i",
    )
    postgresql.execute(f"ANALYZE {target.databases[0]}.m_03")
    with open_connection(target) as connection:
        (batch,) = connection.query("row_estimate", 60, filled("row_estimate", database=target.databases[0]))
    assert {row["measurement"]: row["rows"] for row in batch.to_pylist()} == {"m": 1000, "bare": 0}
    cut = _table(collected(target), "m").partitioning
    assert cut is not None
    assert {p.name: p.rows for p in cut.partitions} == {"m_03": 1000, "m_04": 0}


@pytest.mark.full
def test_lock_that_several_wait_for(made: Made, postgresql: Postgresql) -> None:
    """Each of them is in the server's list of locks."""
    target = made(
        "CREATE TABLE m (ts TIMESTAMPTZ, v REAL) PARTITION BY RANGE (ts)",
        "CREATE TABLE m_03 PARTITION OF m FOR VALUES FROM ('2026-03-01') TO ('2026-04-01')",
        "CREATE TABLE m_04 PARTITION OF m FOR VALUES FROM ('2026-04-01') TO ('2026-05-01')",
        "CREATE INDEX m_ts ON m (ts)",
        "INSERT INTO m SELECT '2026-03-30'::TIMESTAMPTZ + i * '1 s'::INTERVAL, 1 FROM generate_series(1, 1000) AS i",
    )
    (schema,) = target.databases
    postgresql.execute(f"ANALYZE {schema}.m_03")
    waiting = f"SELECT count(*) FROM pg_locks WHERE relation = '{schema}.m_03'::REGCLASS AND NOT granted"
    with postgresql.connect() as one, one.transaction(), postgresql.connect() as two:
        one.execute(f"LOCK TABLE {schema}.m_03 IN ACCESS EXCLUSIVE MODE".encode())
        thread = threading.Thread(target=_fails, args=(two, f"TRUNCATE {schema}.m_03".encode()))
        thread.start()
        while postgresql.rows(waiting) != [(1,)]:
            assert thread.is_alive()
            time.sleep(0.01)
        profile = collected(target)
        two.cancel_safe()
        thread.join()
    m = _table(profile, "m")
    assert m.partitioning is not None
    assert {p.name: p.rows for p in m.partitioning.partitions} == {"m_03": 1000, "m_04": 0}
    assert [i.size_bytes for i in m.indexes or ()] == [None], "of one of two partitions alone it would be too low"


def _fails(connection: psycopg.Connection[Any], statement: bytes) -> None:
    with pytest.raises(psycopg.errors.QueryCanceled):
        connection.execute(statement)


def test_index_that_was_never_finished(made: Made, postgresql: Postgresql) -> None:
    target = made(
        "CREATE TABLE t (ts TIMESTAMPTZ, host TEXT, v REAL)",
        "INSERT INTO t SELECT '2026-03-30', 'a', 1 FROM generate_series(1, 2)",
        "CREATE INDEX t_host ON t (host)",
    )
    (schema,) = target.databases
    with pytest.raises(psycopg.errors.UniqueViolation):
        postgresql.execute(f"CREATE UNIQUE INDEX CONCURRENTLY t_once ON {schema}.t (host, ts)")
    t = _table(collected(target), "t")
    assert {i.name: i.valid for i in t.indexes or ()} == {"t_host": True, "t_once": False}


def test_database_that_is_named_where_a_schema_is_meant(made: Made) -> None:
    profile = collected(made("CREATE TABLE t (ts TIMESTAMPTZ, v REAL)").model_copy(update={"databases": ("postgres",)}))
    (detail,) = {g.detail for g in profile.gaps}
    assert detail.startswith("the server lists no schema postgres; found ")
    assert detail.endswith("; on this engine, `databases` lists schemas")


@pytest.mark.parametrize(("children", "count", "found"), [(True, 52, 0), (False, 52, 1), (True, 6, 0), (False, 6, 1)])
def test_tables_that_a_parent_reads_are_no_family_to_merge(made: Made, children: bool, count: int, found: int) -> None:
    """A table for each sensor, made by a trigger as a child of one for all: queries of that one read them all already,
    so there is nothing to merge. Without a parent, it takes a query for each.
    """
    columns = "at TIMESTAMPTZ NOT NULL, celsius FLOAT8, pascal FLOAT8"
    like = "() INHERITS (weather)" if children else f"({columns})"
    target = made(
        f"CREATE TABLE weather ({columns})",
        *(f"CREATE TABLE weather_sensor_{n} {like}" for n in range(count)),
        *(
            f"INSERT INTO weather_sensor_{n} SELECT '{NOW}'::TIMESTAMPTZ - i * INTERVAL '1 min', 20.5 + i, 99.25 * i "
            "FROM generate_series(1, 30) AS i"
            for n in range(count)
        ),
    )
    profile = collected(target)
    options = _table(profile, "weather_sensor_1").options
    assert (options or {}).get("inherits") == ("weather" if children else None)
    assert len(run_rule(data_in_measurement_name, profile).findings) == found
