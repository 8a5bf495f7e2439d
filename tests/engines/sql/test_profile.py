"""What SQL tables need on top: roles from keys and values, times in several guises, types of every kind."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from tests.builders import NOW
from tests.collecting import Writer, collected, collected_with, file_with
from tests.databases import Dataset, Row, Table, TimeAs, times
from tests.planning.places import file_of
from tests.query_parameters import filled
from tsaudit.config.settings import Columns, Target
from tsaudit.engines.connection import FactError, Rows
from tsaudit.engines.opening import open_connection
from tsaudit.engines.queries import query_name
from tsaudit.model.facts import FACTS
from tsaudit.model.figures import How, Reason, TableKind
from tsaudit.model.profile import Measurement, Profile
from tsaudit.model.timeline import figures, stored_bytes


def _roles(measurement: Measurement) -> tuple[str | None, set[str], set[str]]:
    return measurement.time_column, {t.key for t in measurement.tags}, {f.key for f in measurement.fields}


def _logs(key: tuple[str, ...] | None, name: str = "logs", **columns: Any) -> Table:
    rows = [
        Row(
            time,
            {"host": f"h{i % 3}", "request_id": f"{i:08x}-{i * 7919 % 65536:04x}"},
            {"message": f"GET /cart/{i} took a while " + "and then some more " * 5, "size": str(i * 1.5), "ms": i},
        )
        for i, time in enumerate(times(40))
    ]
    fields = {"message": "string", "size": "string", "ms": "integer"}
    return Table(name, ("host", "request_id"), fields, rows, key=key, **columns)


def test_roles_without_a_key(written_sql: Writer) -> None:
    (logs,) = collected(written_sql(Dataset([_logs(None)]))).measurements
    # Almost every request has an id of its own: that is the runaway tag, not a field.
    assert _roles(logs) == ("time", {"host", "request_id"}, {"message", "size", "ms"})
    reasons = {f.key: f.role_reason for f in logs.fields} | {t.key: t.role_reason for t in logs.tags}
    assert reasons["message"].startswith("long text")
    assert reasons["size"].startswith("numbers stored as text (100%")
    assert "short values" in reasons["request_id"]


def test_roles_with_a_key(written_sql: Writer) -> None:
    (logs,) = collected(written_sql(Dataset([_logs(("time", "host"))]))).measurements
    assert _roles(logs) == ("time", {"host"}, {"request_id", "message", "size", "ms"})
    assert logs.tags[0].role_reason == "part of the table's key, with the time"


def test_table_without_rows_is_no_series(tmp_path: Path) -> None:
    """Neither with tags nor without; of a table with rows but no tags, all rows are from one source."""
    with closing(sqlite3.connect(tmp_path / "one.db")) as connection, connection:
        for table in ("follows (created_at TIMESTAMP, since REAL)", "pictures (created_at TIMESTAMP, hash TEXT)"):
            connection.execute(f"CREATE TABLE {table}")
        connection.execute("CREATE TABLE outdoors (time TIMESTAMP, celsius REAL)")
        rows = [(f"{NOW - timedelta(minutes=n):%F %T}", n / 7) for n in range(60)]
        connection.executemany("INSERT INTO outdoors VALUES (?, ?)", rows)
    profile = collected(Target(name="one", engine="sqlite", url=f"sqlite:///{tmp_path}/one.db"))
    series = {m.name: m.series.value for m in profile.measurements if m.series}
    assert series == {"follows": 0, "outdoors": 1, "pictures": 0}


def test_roles_by_configuration(written_sql: Writer) -> None:
    chosen = {"logs": Columns(time="when", tags=("ms",), fields=("request_id",))}
    target = written_sql(Dataset([_logs(("when", "host"), time="when")]), columns=chosen)
    (logs,) = collected(target).measurements
    assert _roles(logs) == ("when", {"host", "ms"}, {"request_id", "message", "size"})
    assert {t.key: t.role_reason for t in logs.tags}["ms"] == "set in tsaudit.yaml"


def test_configuration_names_no_column(written_sql: Writer) -> None:
    profile = collected(written_sql(Dataset([_logs(None)]), columns={"logs": Columns(tags=("hots",))}))
    (gap,) = profile.gaps
    assert (gap.fact, gap.reason, gap.measurement) == ("columns", Reason.FAILED, "logs")
    assert "names a column hots" in gap.detail


def test_rows_to_judge_by_cannot_be_read(written_sql: Writer) -> None:
    target = written_sql(Dataset([_logs(None)]))

    def tampering(name: str, parameters: Mapping[str, Any]) -> Rows | None:
        if name == "row_sample":
            raise FactError(Reason.TIMED_OUT, "canceled after 1 s")
        return None

    profile = collected_with(target, tampering)
    (gap,) = [g for g in profile.gaps if g.fact == "columns"]
    assert (gap.reason, gap.measurement) == (Reason.TIMED_OUT, "logs")
    assert "message, " in gap.detail or ", message" in gap.detail
    # What can be had without is had.
    (logs,) = profile.measurements
    assert logs.rows is not None
    assert logs.series is not None


@pytest.mark.parametrize("fact", ["series_listing", "null_counts", "row_sample", "columns", "measurements"])
def test_answer_makes_no_sense(written_sql: Writer, fact: str) -> None:
    target = written_sql(Dataset([_logs(("time", "host")), _logs(("time", "host"), name="more")]))

    def tampering(name: str, parameters: Mapping[str, Any]) -> Rows | None:
        if name == fact and parameters.get("measurement") in ("logs", None):
            return Rows("x", iter([pa.record_batch({"odd": pa.array([b"\xff"])})]))
        return None

    profile = collected_with(target, tampering)
    assert fact in {g.fact for g in profile.gaps}
    assert {g.reason for g in profile.gaps} == {Reason.FAILED}
    if fact not in ("columns", "measurements"):
        _, more = profile.measurements
        assert (more.series and more.series.value, more.rows and more.rows.value) == (3, 40)
        assert {g.measurement for g in profile.gaps} == {"logs"}


@pytest.mark.parametrize("value", [-6.0, float("nan"), float("inf")])
def test_count_that_cannot_be_is_a_gap(tmp_path: Path, value: float) -> None:
    target = file_with("duckdb", tmp_path / "a.db", "CREATE TABLE t (time TIMESTAMP, host TEXT, v DOUBLE)")

    def tampering(name: str, parameters: Mapping[str, Any]) -> Rows | None:
        if name == "row_estimate":
            return Rows("x", iter([pa.record_batch({"measurement": ["t"], "rows": [value], "state": ["s"]})]))
        return None

    profile = collected_with(target, tampering)
    (gap,) = profile.gaps
    assert (gap.fact, gap.reason) == ("row_estimate", Reason.FAILED)
    assert f"rows is {value:g}" in gap.detail
    assert profile.measurements[0].rows_total is None


@pytest.mark.parametrize("fact", ["null_counts", "series_listing"])
def test_statement_is_denied(written_sql: Writer, fact: str) -> None:
    target = written_sql(Dataset([_logs(("time", "host"))]))

    def tampering(name: str, parameters: Mapping[str, Any]) -> Rows | None:
        if name == fact:
            raise FactError(Reason.DENIED, "no")
        return None

    profile = collected_with(target, tampering)
    assert [(g.fact, g.reason, g.measurement) for g in profile.gaps] == [(fact, Reason.DENIED, "logs")]
    (logs,) = profile.measurements
    assert (logs.rows is None) == (fact == "null_counts")
    assert (logs.series is None) == (fact == "series_listing")


def test_roles_stay_as_they_were(written_sql: Writer) -> None:
    target = written_sql(Dataset([_logs(None)]))
    before = collected(target)
    (logs,) = before.measurements
    assert _roles(logs)[1] == {"host", "request_id"}
    # A day on which nothing was read that would tell what the columns are for.
    earlier = NOW - timedelta(days=400)
    (empty,) = collected(target, now=earlier).measurements
    assert _roles(empty)[1] == {"host", "request_id", "message", "size"}
    (sticky,) = collected(target, now=earlier, previous=before).measurements
    assert _roles(sticky) == _roles(logs)


@pytest.mark.parametrize("time_as", ["seconds", "milliseconds", "text"])
def test_sqlite_keeps_time_as_number_or_text(time_as: TimeAs, tmp_path: Path) -> None:
    from tests.databases import write

    rows = [Row(NOW - timedelta(days=d), {"host": f"h{d}"}, {"v": float(d)}) for d in (1, 29, 30, 31, 0, -1)]
    dataset = Dataset([Table("t", ("host",), {"v": "float"}, rows, key=("time", "host"), time_as=time_as)])
    profile = collected(write(dataset, "sqlite", tmp_path / "t.db"))
    assert profile.gaps == ()
    (t,) = profile.measurements
    assert t.tags[0].sample == ("h1", "h29", "h30")
    assert (t.first_time, t.last_time) == (NOW - timedelta(days=30), NOW - timedelta(days=1))


def test_sqlite_text_times_in_all_iso_forms(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "t.db")
    connection.execute("CREATE TABLE t (ts TEXT, host TEXT, v REAL)")
    inside = ["2026-03-01T06:00:00Z", "2026-03-01 08:00:00+02:00", "2026-03-31T07:59:59.999+02:00", "2026-03-31"]
    outside = ["2026-03-01T05:59:59Z", "2026-03-01 07:59:59+02:00", "2026-03-31 06:00", "2026-03-31T01:00:00-05:00"]
    rows = [(time, f"in{i}", 1.0) for i, time in enumerate(inside)]
    rows += [(time, f"out{i}", 1.0) for i, time in enumerate(outside)]
    connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    connection.commit()
    connection.close()
    (t,) = collected(Target(name="t", engine="sqlite", url=f"sqlite:///{tmp_path}/t.db")).measurements
    assert t.time_column == "ts"
    assert t.tags[0].sample == ("in0", "in1", "in2", "in3")


def test_table_without_time_is_read_whole(written_sql: Writer, tmp_path: Path) -> None:
    statements = ("CREATE TABLE t (host VARCHAR, v DOUBLE)", "INSERT INTO t VALUES ('a', 1.5), ('b', NULL)")
    series = {"t": Columns(kind=TableKind.SERIES)}
    (t,) = collected(file_with(written_sql.engine, tmp_path / "x.db", *statements, columns=series)).measurements
    assert t.time_column is None
    assert t.series is not None
    assert (t.series.value, t.series.source.scope) == (2, "all rows: the table has no time column")
    assert t.fields[0].null_ratio is not None
    assert t.fields[0].null_ratio.value == 0.5
    assert (t.first_time, t.last_time) == (None, None)


def test_documents_are_not_read_whole(written_sql: Writer) -> None:
    rows = [Row(t, {"host": "a"}, {"body": f"{i}" + "x" * 50_000}) for i, t in enumerate(times(20))]
    target = written_sql(Dataset([Table("t", ("host",), {"body": "string"}, rows)]))
    seen: list[pa.RecordBatch] = []

    def tampering(name: str, parameters: Mapping[str, Any]) -> Rows | None:
        if name == "row_sample":
            with open_connection(target) as connection:
                seen.extend(connection.query(name, 60, filled(name, **parameters)))
        return None

    (t,) = collected_with(target, tampering).measurements
    (body,) = (f for f in t.fields if f.key == "body")
    assert body.distinct is not None
    assert body.distinct.value == 20
    assert 0 < sum(batch.nbytes for batch in seen) < 20 * 2000 * 2


def test_table_is_empty(written_sql: Writer) -> None:
    table = Table("t", ("host",), {"v": "float"}, [], key=("time", "host"))
    profile = collected(written_sql(Dataset([table])))
    assert profile.gaps == ()
    (t,) = profile.measurements
    assert _roles(t) == ("time", {"host"}, {"v"})
    assert (t.series and t.series.value, t.rows and t.rows.value) == (0, 0)
    assert t.fields[0].null_ratio is None


def test_sample_is_cut_off_but_nulls_are_counted_exactly(written_sql: Writer) -> None:
    rows = [Row(t, {"host": "a"}, {"v": None if i < 100 else float(i)}) for i, t in enumerate(times(400))]
    target = written_sql(Dataset([Table("t", ("host",), {"v": "float"}, rows, key=("time", "host"))]))
    budget = target.budget.model_copy(update={"max_rows": 100})
    (t,) = collected(target.model_copy(update={"budget": budget})).measurements
    v = t.fields[0]
    assert v.null_ratio is not None
    assert (v.null_ratio.value, v.null_ratio.source.how) == (0.25, How.EXACT)
    assert v.distinct is not None
    assert (v.distinct.value, v.distinct.source.how) == (100, How.SAMPLED)
    assert v.distinct.source.scope.startswith("the newest 100 rows from 2026-03-01 06:00")
    assert min(float(x) for x in v.sample) == 300


def test_duckdb_types_of_every_kind(tmp_path: Path) -> None:
    path = tmp_path / "types.duckdb"
    columns = {
        "a_blob": ("BLOB", "'\\xFF\\x00'::BLOB"),
        "a_list": ("INTEGER[]", "[1, 2]"),
        "a_struct": ("STRUCT(x INTEGER)", "{'x': 1}"),
        "a_map": ("MAP(VARCHAR, INTEGER)", "MAP {'k': 1}"),
        "a_uuid": ("UUID", "'00000000-0000-0000-0000-000000000001'::UUID"),
        "an_enum": ("ENUM('on', 'off')", "'on'"),
        "a_huge": ("HUGEINT", "170141183460469231731687303715884105727"),
        "a_decimal": ("DECIMAL(18, 3)", "1.250"),
        "an_interval": ("INTERVAL", "INTERVAL 3 MONTH"),
        "a_time": ("TIME", "TIME '12:00:00'"),
        "a_date": ("DATE", "DATE '2026-03-01'"),
        "a_bit": ("BIT", "'101'::BIT"),
        "a_float": ("FLOAT", "1.5"),
        "a_bool": ("BOOLEAN", "TRUE"),
        "an_ns": ("TIMESTAMP_NS", "TIMESTAMP_NS '2026-03-30 00:00:00.123456789'"),
        "an_unsigned": ("UBIGINT", "18446744073709551615"),
    }
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE SCHEMA other")
        definition = ", ".join(f"{name} {kind}" for name, (kind, _) in columns.items())
        connection.execute(f"CREATE TABLE other.t (time TIMESTAMPTZ, {definition})")
        values = ", ".join(value for _, value in columns.values())
        nulls = ", ".join("NULL" for _ in columns)
        for hour in ("05:00:00+00", "07:30:00+02", "08:00:00+02", "06:00:00+00"):
            connection.execute(f"INSERT INTO other.t VALUES ('2026-03-31 {hour}', {values})")
        connection.execute(f"INSERT INTO other.t VALUES ('2026-03-30 00:00:00+00', {nulls})")
        connection.execute("CREATE VIEW other.v AS SELECT * FROM other.t")
    profile = collected(Target(name="t", engine="duckdb", url=f"duckdb:///{path}"))
    assert profile.gaps == ()
    assert [d.name for d in profile.databases] == ["main", "other"]
    (t,) = profile.measurements
    assert (t.database, t.name, t.time_column) == ("other", "t", "time")
    assert t.rows is not None
    assert t.rows.value == 3
    assert t.last_time == datetime(2026, 3, 31, 5, 30, tzinfo=UTC)
    assert {x.key for x in t.tags} == {"a_uuid", "an_enum"}
    assert t.series is not None
    assert t.series.value == 2
    for item in t.fields:
        assert item.null_ratio is not None
        assert item.null_ratio.value == pytest.approx(1 / 3)
        assert item.distinct is not None
        assert (item.distinct.value, len(item.sample)) == (1, 1)


def test_duckdb_nanosecond_time_column(tmp_path: Path) -> None:
    path = tmp_path / "ns.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t (ts TIMESTAMP_NS, v DOUBLE)")
        connection.execute("INSERT INTO t VALUES ('2026-03-30 00:00:00.123456789', 1.0), ('2025-03-30', 2.0)")
    profile = collected(Target(name="t", engine="duckdb", url=f"duckdb:///{path}"))
    assert profile.gaps == ()
    (t,) = profile.measurements
    assert t.rows is not None
    assert t.rows.value == 1
    assert t.last_time == datetime(2026, 3, 30, 0, 0, 0, 123456, tzinfo=UTC)


def test_key_is_a_unique_index(written_sql: Writer, tmp_path: Path) -> None:
    statements = (
        "CREATE TABLE t (id INTEGER PRIMARY KEY, time TIMESTAMP, sensor INTEGER, unit VARCHAR, v DOUBLE)",
        'CREATE UNIQUE INDEX i ON t (sensor, "time")',
        "INSERT INTO t VALUES (1, '2026-03-30 00:00:00', 7, 'C', 1.5), (2, '2026-03-30 00:01:00', 7, 'C', 1.5)",
    )
    (t,) = collected(file_with(written_sql.engine, tmp_path / "x.db", *statements)).measurements
    assert _roles(t) == ("time", {"sensor"}, {"id", "unit", "v"})


def test_sqlite_values_of_mixed_types(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "t.db")
    connection.execute("CREATE TABLE t (time INTEGER, host, v)")
    at = int(NOW.timestamp())
    mixed = [("a", 1), ("b", 2.5), (3, "three"), (None, b"\xff\x00"), (b"\xfe", None)]
    connection.executemany("INSERT INTO t VALUES (?, ?, ?)", [(at - i, *pair) for i, pair in enumerate(mixed, 1)])
    # Text that is no UTF-8.
    connection.execute("INSERT INTO t VALUES (?, CAST(x'61FF' AS TEXT), 1)", (at - 9,))
    connection.commit()
    connection.close()
    profile = collected(Target(name="t", engine="sqlite", url=f"sqlite:///{tmp_path}/t.db"))
    assert profile.gaps == ()
    (t,) = profile.measurements
    by_key = {tag.key: tag.sample for tag in t.tags} | {field.key: field.sample for field in t.fields}
    assert set(by_key["host"]) >= {"3", "a", "b"}
    assert {"1", "2.5", "three"} < set(by_key["v"])


def test_profiles_of_ten_days_follow_the_growth(written_sql: Writer) -> None:
    new = [(d, i) for d in range(10) for i in range(20 - d)]
    rows = [Row(NOW - timedelta(days=d, minutes=1), {"id": f"u{d}-{i}"}, {"v": 1.0}) for d, i in new]
    target = written_sql(Dataset([Table("t", ("id",), {"v": "float"}, rows, key=("time", "id"))]))
    previous: Profile | None = None
    seen = []
    for d in range(9, -1, -1):
        previous = collected(target, now=NOW - timedelta(days=d), previous=previous)
        series = previous.measurements[0].series
        assert series is not None
        seen.append(series.value)
        # The catalogue shows the present: it cannot tell that nothing moved on a day long past.
        assert previous.reused == 0
    assert seen == [sum(20 - d for d in range(9, n - 1, -1)) for n in range(9, -1, -1)]


def test_bytes_are_those_of_the_file(written_sql: Writer, tmp_path: Path) -> None:
    target = written_sql(Dataset([Table("t", ("id",), {"v": "float"}, _many(20_000))]))
    path = Path(file_of(target))
    if written_sql.engine == "duckdb":
        with duckdb.connect(str(path)) as connection:
            connection.execute("CREATE SCHEMA more")
            connection.execute("CREATE TABLE more.t AS SELECT now() AS time, 1.5 AS v")
    profile = collected(target)
    assert profile.gaps == ()
    # DuckDB's file begins with three headers of 4 kB.
    headers = 3 * 4096 if written_sql.engine == "duckdb" else 0
    assert profile.storage is not None
    assert profile.storage.data_bytes == path.stat().st_size - headers
    # However many schemas share the file, it is one.
    assert len(profile.databases) == (2 if written_sql.engine == "duckdb" else 1)
    assert stored_bytes(profile) == profile.storage.data_bytes
    assert [f.value for f in figures(profile) if f.name == "stored_bytes"] == [profile.storage.data_bytes]


def _many(count: int) -> list[Row]:
    return [
        Row(time, {"id": f"i{i % 50}"}, {"v": i * 1.7}) for i, time in enumerate(times(count, timedelta(seconds=1)))
    ]


def test_answer_about_storage_that_makes_no_sense_is_a_gap(written_sql: Writer) -> None:
    target = written_sql(Dataset([_logs(None)]))

    def tampering(fact: str, parameters: Mapping[str, Any]) -> Rows | None:
        del parameters
        if fact != "indexes":
            return None
        rows = [dict.fromkeys(FACTS[fact].columns) | {"measurement": "logs", "position": p} for p in (1, "first")]
        return Rows("SELECT", iter(pa.RecordBatch.from_pylist([row]) for row in rows))

    profile = collected_with(target, tampering)
    (gap,) = profile.gaps
    assert (gap.fact, gap.reason) == ("indexes", Reason.FAILED)
    name = query_name(target.engine, "indexes")
    assert gap.detail.startswith(f"the response to {name} cannot be right: index is null")
    assert profile.measurements[0].rows is not None
