"""STO001: indexes that nothing needs."""

from __future__ import annotations

import dataclasses
import itertools
import sqlite3
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

from tests.builders import NOW, a_count, a_field, a_measurement, a_profile, a_source, a_tag
from tests.collecting import collected
from tests.databases import Collection, Dataset, Greptime, times, write
from tests.rules.cases import Case, dataset, hosts, planned, run_rule, table, text_of
from tests.servers import Postgresql
from tsaudit.config.settings import Target
from tsaudit.model.change import DropIndex
from tsaudit.model.figures import Count, Subject
from tsaudit.model.finding import Currency, Finding, Impact, Outcome, Severity
from tsaudit.model.plan import StepKind
from tsaudit.model.profile import Profile
from tsaudit.model.rows import RowBytes
from tsaudit.model.server import TableStatus
from tsaudit.model.storage import Index, Partitioning, Retention, Storage
from tsaudit.model.timeline import Point, Timeline
from tsaudit.rules.storage.unused_or_redundant_index import unused_or_redundant_index as rule

POSTGRESQL = frozenset({"postgresql"})
DUCKDB = frozenset({"duckdb"})
GREPTIMEDB = frozenset({"greptimedb"})
MONGODB = frozenset({"mongodb"})
ORDERED = rule.engines - POSTGRESQL - DUCKDB - GREPTIMEDB - MONGODB
"""Engines whose indexes are sorted, and whose uses are not counted."""


def _cpu(*indexes: tuple[str, ...]) -> Any:
    return dataset(table("cpu", hosts(2, region="eu"), indexes=indexes))


def _riders(*indexes: tuple[str, ...]) -> Dataset:
    documents = [{"rider": f"r{n % 20}", "at": at, "km": n / 7} for n, at in enumerate(times(400))]
    return Dataset(collections=[Collection("trips", documents, indexes=indexes)])


def _greptime(**indexes: str) -> Any:
    return dataset(table("cpu", hosts(2, region="eu"), greptime=Greptime(indexes=indexes)))


ANY_SIZE = {"unused-or-redundant-index.min_bytes": 0.0}

CASES = (
    Case(
        breaks=_cpu(("host",), ("host", "time")),
        keeps=_cpu(("host", "time")),
        subject=Subject("", "cpu"),
        limits=ANY_SIZE,
        engines=ORDERED,
    ),
    Case(
        breaks=_riders(("rider",), ("rider", "at")),
        keeps=_riders(("rider", "at"), ("at",)),
        subject=Subject("", "trips"),
        limits=ANY_SIZE,
        engines=MONGODB,
    ),
    Case(  # the key starts with the time
        breaks=_cpu(("time",)),
        keeps=_cpu(("region",)),
        subject=Subject("", "cpu"),
        limits=ANY_SIZE,
        engines=ORDERED | DUCKDB,
    ),
    Case(  # it counts: nobody used either, and the second is the wider
        breaks=_cpu(("host",), ("host", "time")),
        keeps=_cpu(),
        subject=Subject("", "cpu"),
        limits=ANY_SIZE,
        engines=POSTGRESQL,
    ),
    Case(
        breaks=_cpu(("host", "region")),
        keeps=_cpu(("host",)),
        subject=Subject("", "cpu"),
        limits=ANY_SIZE,
        engines=DUCKDB,
    ),
    Case(
        breaks=_greptime(host="inverted", region="inverted"),
        keeps=_greptime(region="inverted"),
        subject=Subject("", "cpu"),
        engines=GREPTIMEDB,
    ),
    Case(
        breaks=_greptime(time="skipping"),
        keeps=_greptime(region="skipping"),
        subject=Subject("", "cpu"),
        engines=GREPTIMEDB,
    ),
)

KEY = Index("cpu_pkey", "btree", ("time", "host"), unique=True, constraint=True, partial=False)
SINCE = NOW - timedelta(days=30)


def an_index(name: str, *columns: str | None, **changes: Any) -> Index:
    settings = {"kind": "btree", "unique": False, "constraint": False, "partial": False} | changes
    return Index(name=name, columns=columns, **settings)


READ = a_measurement("read", indexes=(Index("key", "btree", ("id",), True, True, False, scans=7),))
"""A table that queries read, so that the counters of the server count."""


def _profile(*indexes: Index, engine: str = "sqlite", **changes: Any) -> Profile:
    return a_profile(a_measurement(indexes=indexes, **changes), READ, engine=engine, collected_at=NOW)


def _seen(profile: Profile, ago: timedelta = timedelta(days=1)) -> Timeline:
    """The audit before, which saw the same."""
    return Timeline(previous=dataclasses.replace(profile, collected_at=profile.collected_at - ago))


def _message(*indexes: Index, engine: str = "sqlite") -> str:
    findings = run_rule(rule, _profile(*indexes, engine=engine)).findings
    return findings[0].message if findings else ""


def test_columns_that_another_index_leads_with() -> None:
    (finding,) = run_rule(rule, _profile(KEY, an_index("i", "time", size_bytes=12_300_000))).findings
    assert finding.message == (
        "Index i on (time) is not needed: cpu_pkey (time, host) starts with the same column; it takes 12.3 MB."
    )
    assert (finding.observed, finding.unit) == (1, "redundant or unused index")
    assert (
        text_of(StepKind.SCHEMA, rule, _profile(KEY, an_index("i", "time", size_bytes=12_300_000))) == 'DROP INDEX "i";'
    )


@pytest.mark.parametrize(
    "index",
    [
        an_index("i", "host"),
        an_index("i", "time", "region"),
        an_index("i", "time", "host", "region"),
        an_index("i", "time", kind="brin"),
        an_index("i", "time", partial=True),
        an_index("i", "time", unique=True),
        an_index("i", None),
        an_index("i", "time", None),
    ],
    ids=["other column", "other second column", "longer", "other kind", "partial", "unique", "expression", "included"],
)
def test_silence_when_the_key_does_not_serve(index: Index) -> None:
    assert run_rule(rule, _profile(KEY, index)).outcome is Outcome.PASS


def test_silence_when_what_leads_with_it_is_partial_or_expressions() -> None:
    host = an_index("i", "host")
    assert not _message(host, an_index("j", "host", "time", partial=True))
    assert not _message(host, an_index("j", None, "host"))
    assert "j (host, an expression) starts with the same column" in _message(host, an_index("j", "host", None))


def test_duplicates_when_one_can_go() -> None:
    same = [an_index(name, "host", "region") for name in ("b", "a", "c")]
    assert _message(*same) == "2 indexes are not needed: b and c."
    unique = an_index("z", "host", "region", unique=True)
    assert (
        _message(same[0], unique) == "Index b on (host, region) is not needed: z (host, region) has the same columns."
    )
    assert _message(unique, dataclasses.replace(unique, name="y")).startswith("Index z on")
    copy = an_index("a", "time", "host", unique=True)
    assert "Index a on (time, host) is not needed: cpu_pkey" in _message(copy, KEY)
    both = (KEY, dataclasses.replace(KEY, name="again"))
    assert not _message(*both), "constraints are left alone"


def test_duplicates_of_a_kind_without_order() -> None:
    gin = [an_index(name, *columns, kind="gin") for name, columns in (("a", ("x",)), ("b", ("x", "y")), ("c", ("x",)))]
    assert _message(*gin).startswith("Index c on (x)")


def test_unused_when_the_counters_are_old_enough() -> None:
    unused = an_index("i", "region", scans=0, counted_since=SINCE, size_bytes=5_000_000)
    profile = _profile(unused)
    assert _impact(profile) is None, "it may have been made today"
    (finding,) = run_rule(rule, profile, timeline=_seen(profile)).findings
    assert _bytes_of(finding) == 5_000_000
    assert "not used once since 2026-03-01, or since it was created; it takes 5 MB" in finding.message
    renamed = _seen(_profile(dataclasses.replace(unused, name="old")))
    assert _impact(profile, renamed) is None
    assert run_rule(rule, profile, {"min_days": 31}, _seen(profile)).outcome is Outcome.PASS


@pytest.mark.parametrize("columns", [("region",), ("region", "host"), ("host", "region")])
def test_unused_index_of_a_foreign_key_stays(columns: tuple[str, ...]) -> None:
    """Nobody has deleted a region yet: with the first one, PostgreSQL looks for the rows that refer to it."""
    unused = an_index("i", *columns, scans=0, counted_since=SINCE, size_bytes=5_000_000)
    refers = a_field("region", ("TEXT",), refers_to="regions")
    profile = _profile(unused, fields=(refers,))
    found = run_rule(rule, profile, timeline=_seen(profile)).findings
    assert len(found) == (columns[0] != "region")
    # The server looks for them through no such index.
    partial = _profile(dataclasses.replace(unused, partial=True), fields=(refers,))
    assert len(run_rule(rule, partial, timeline=_seen(partial)).findings) == 1


@pytest.mark.parametrize(
    "changes",
    [{"scans": 1}, {"scans": None}, {"unique": True}, {"constraint": True, "unique": True}],
    ids=["used", "not counted", "unique", "constraint"],
)
def test_silence_when_not_known_to_be_unused(changes: dict[str, Any]) -> None:
    index = an_index("i", "region", **{"scans": 0, "counted_since": SINCE} | changes)
    profile = _profile(index)
    assert run_rule(rule, profile, timeline=_seen(profile)).outcome is Outcome.PASS


@pytest.mark.parametrize(("own", "other", "found"), [(0, 9, 0), (3, 0, 1), (None, 0, 0), (None, 9, 1)])
def test_counters_of_what_nobody_reads_prove_nothing(own: int | None, other: int, found: int) -> None:
    """Not even the key was used; a table without a key is compared with the others."""
    key = Index("_id_", "btree", ("_id",), True, True, False, scans=own)
    seen = {"scans": 0, "counted_since": SINCE, "size_bytes": 5_000_000, "is_as_old": True}
    visits = a_measurement("visits", indexes=(*([] if own is None else [key]), an_index("i", "patient", **seen)))
    wards = a_measurement("wards", indexes=(dataclasses.replace(key, scans=other),))
    result = run_rule(rule, a_profile(visits, wards, engine="mongodb", collected_at=NOW))
    assert len(result.findings) == found
    assert ("visits" in result.not_evaluated) == (not found)
    assert ("wards" in result.not_evaluated) == (not other)


def test_unused_needs_observed_days_if_the_engine_does_not_say_since_when_it_counts() -> None:
    unknown = _profile(an_index("i", "region", scans=0, size_bytes=5_000_000))
    assert run_rule(rule, unknown, timeline=_seen(unknown)).outcome is Outcome.PASS
    for days, outcome in ((29, Outcome.PASS), (30, Outcome.FAIL)):
        since = NOW - timedelta(days=days)
        observed = _profile(an_index("i", "region", scans=0, size_bytes=5_000_000, scans_since=since))
        result = run_rule(rule, observed, timeline=_seen(observed))
        assert result.outcome is outcome
    (finding,) = result.findings
    assert _bytes_of(finding) == 5_000_000
    # Yesterday, audited minutes ago, knew no index earlier than today does.
    (finding,) = run_rule(rule, observed, timeline=_seen(observed, timedelta(minutes=9))).findings
    assert finding.impact is None
    assert "not used once since 2026-03-01; it takes 5 MB" in finding.message


def _impact(profile: Profile, timeline: Timeline | None = None) -> Impact | None:
    (finding,) = run_rule(rule, profile, timeline=timeline).findings
    return finding.impact


def _bytes_of(finding: Finding) -> float:
    assert finding.impact is not None
    assert finding.impact.currency is Currency.BYTES
    return finding.impact.now


MB = 1_000_000


@pytest.mark.parametrize(
    ("index_mb", "table_mb", "first_day", "last_day", "severity"),
    [
        # Umami: 7.3 MB in 17 days are 164 MB in a year and 17 days.
        (7.3, 100, 17, 0, "warning"),
        (4.0, 100, 17, 0, "note"),
        # On its first day: 0.3 MB in 17 hours.
        (0.3, 4, 0.7, 0, "warning"),
        # The same size, but nothing is written anymore; and one that is already too big.
        (7.3, 100, 28, 11, "note"),
        (99, 500, 28, 11, "note"),
        (100, 500, 28, 11, "warning"),
        # Less than a twentieth of the table.
        (100, 2001, 28, 0, "note"),
    ],
)
def test_bytes_at_the_horizon(index_mb: float, table_mb: int, first_day: float, last_day: float, severity: str) -> None:
    profile = _profile(
        KEY,
        an_index("i", "time", size_bytes=int(index_mb * MB)),
        engine="postgresql",
        first_time=NOW - timedelta(days=first_day),
        last_time=NOW - timedelta(days=last_day),
        storage=Storage(table_mb * MB, 0),
    )
    (finding,) = run_rule(rule, profile).findings
    assert finding.severity == severity
    assert _bytes_of(finding) == index_mb * MB


def test_an_old_table_grows_by_the_rows_of_the_window_only() -> None:
    """30 days of three years: 40 MB of index grow by 13 MB a year, and not by 480."""
    old = _profile(
        KEY,
        an_index("i", "time", size_bytes=40 * MB),
        engine="postgresql",
        rows=a_count(1000),
        rows_total=a_count(36_000),
    )
    (finding,) = run_rule(rule, old).findings
    assert finding.severity is Severity.NOTE
    assert finding.impact is not None
    assert finding.impact.after(365) == pytest.approx(40 * MB * (1 + 365 / 30 / 36))


def test_rows_that_are_dropped_after_a_month() -> None:
    kept = Retention("drop_after", 30 * 86_400, None, default=True)
    changes: dict[str, Any] = {"engine": "postgresql", "first_time": NOW - timedelta(days=3)}
    index = an_index("i", "time", size_bytes=9 * MB)
    assert run_rule(rule, _profile(KEY, index, **changes)).findings[0].severity is Severity.WARNING
    assert run_rule(rule, _profile(KEY, index, retention=kept, **changes)).findings[0].severity is Severity.NOTE


@pytest.mark.parametrize(("rows", "severity"), [(2_960_000, "note"), (2_990_000, "warning")])
def test_rows_at_a_price_where_no_bytes_are_reported(rows: int, severity: str) -> None:
    """16.8 B a row, and twice as many rows in another 30 days: nobody has counted what comes."""
    index = an_index("i", "time")
    counted: dict[str, Any] = {"rows": a_count(rows)}
    (finding,) = run_rule(rule, _profile(KEY, index, **counted)).findings
    assert _bytes_of(finding) == pytest.approx(rows * 16.8)
    assert finding.severity == severity
    closed: dict[str, Any] = {"first_time": NOW - timedelta(days=28), "last_time": NOW - timedelta(days=8)}
    assert run_rule(rule, _profile(KEY, index, **counted, **closed)).findings[0].severity is Severity.NOTE
    on_time = dataclasses.replace(index, kind="art")
    (finding,) = run_rule(rule, _profile(on_time, engine="duckdb", **counted)).findings
    assert _bytes_of(finding) == rows * 64


def test_no_price_where_nobody_measured_one() -> None:
    key = an_index("PRIMARY", "host", "region", kind="primary", constraint=True)
    inverted = an_index("i", "host", kind="inverted")
    assert _impact(_profile(key, inverted, engine="greptimedb", rows=a_count(10**9))) is None
    # Of two indexes beside the key, a half.
    other = an_index("j", "usage", kind="fulltext")
    held = Storage(900 * MB, 300 * MB)
    impact = _impact(_profile(key, inverted, other, engine="greptimedb", storage=held))
    assert impact is not None
    assert (impact.now, impact.whole) == (150 * MB, 1_200 * MB)


def test_start_of_a_wider_index_is_priced_by_its_own_bytes() -> None:
    narrow = an_index("narrow", "host", size_bytes=200 * MB)
    for bytes_ in (400 * MB, 4_000 * MB):
        (finding,) = run_rule(rule, _profile(narrow, an_index("wide", "host", "time", size_bytes=bytes_))).findings
        assert _bytes_of(finding) == 200 * MB


def test_wide_values_take_more_where_no_bytes_are_reported() -> None:
    columns = {"url": 120.0, "time": 20.0, "v": 8.0}
    indexes = an_index("i", "url", sorting=("desc",)), an_index("wide", "url", "time")
    read = RowBytes(columns, (), 1000, a_source())
    (finding,) = run_rule(rule, _profile(*indexes, rows=a_count(400_000), row_bytes=read)).findings
    assert _bytes_of(finding) == pytest.approx(400_000 * 1.12 * (8 + 1 + 120))
    assert finding.severity is Severity.WARNING
    assert finding.impact is not None
    assert finding.impact.whole == 400_000 * 148
    short = dataclasses.replace(read, columns={**columns, "url": 1.0})
    (finding,) = run_rule(rule, _profile(*indexes, rows=a_count(400_000), row_bytes=short)).findings
    assert _bytes_of(finding) == pytest.approx(400_000 * 11.2)


def test_unused_on_the_first_audit_if_it_was_written_with_all_rows() -> None:
    unused = an_index("i", "region", scans=0, counted_since=SINCE, size_bytes=5_000_000, is_as_old=True)
    assert _bytes_of(run_rule(rule, _profile(unused)).findings[0]) == 5_000_000


@pytest.mark.parametrize(
    ("share", "changes", "found"),
    [
        (0.9995, {}, 1),
        (1.0, {}, 1),
        (0.998, {}, 0),
        (0.9995, {"partial": True}, 0),
        (0.9995, {"unique": True}, 0),
        (0.9995, {"kind": "brin"}, 0),
        (0.9995, {"columns": ("host", "time")}, 0),
        (0.9995, {"scans": 1}, 0),
        (0.9995, {"scans": None}, 0),
        (0.9995, {"live": 9_999.0}, 0),
    ],
)
def test_index_on_a_column_that_has_one_value(share: float, changes: dict[str, Any], found: int) -> None:
    status = TableStatus(figures={"live_rows": changes.pop("live", 1e6)}, common={"host": share})
    index = dataclasses.replace(an_index("i", "host", scans=0, size_bytes=200 * MB), **changes)
    findings = run_rule(rule, _profile(index, engine="postgresql", status=status)).findings
    assert len(findings) == found
    for finding in findings:
        assert _bytes_of(finding) == pytest.approx(200 * MB * share)
        assert finding.severity is Severity.WARNING
        assert not finding.changes
        assert 'CREATE INDEX ON "main"."cpu" ("host") WHERE "host" <>' in finding.fix


def test_figures_of_indexes_when_read_from_postgresql(postgresql: Postgresql) -> None:
    schema = postgresql.new_schema(
        "CREATE TABLE reading (at TIMESTAMPTZ, state TEXT, gone INT, v FLOAT)",
        "CREATE INDEX early ON reading (state)",
        "INSERT INTO reading SELECT now() - i * INTERVAL '1 s', CASE WHEN i % 2500 = 0 THEN 'bad' ELSE 'ok' END, "
        "NULL, i FROM generate_series(1, 5000) AS i",
        "CREATE INDEX late ON reading (gone)",
        "SELECT pg_stat_force_next_flush()",
        "ANALYZE reading",
    )
    target = Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,))
    profile = collected(target)
    assert profile.gaps == ()
    (measurement,) = profile.measurements
    assert measurement.status is not None
    assert measurement.status.common["state"] == pytest.approx(0.9996)
    assert measurement.status.common["gone"] == 1.0
    assert {index.name: index.is_as_old for index in measurement.indexes or ()} == {"early": True, "late": False}


def test_few_values_when_the_table_is_large() -> None:
    def message(
        values: int, rows: int = 100_000, engine: str = "sqlite", at_least: bool = False, **changes: Any
    ) -> str:
        kind = "art" if engine == "duckdb" else "btree"
        tags = (dataclasses.replace(a_tag("region"), values=Count(values, a_source(is_at_least=at_least))),)
        profile = _profile(
            an_index("i", "region", **{"kind": kind} | changes), engine=engine, tags=tags, rows=a_count(rows)
        )
        findings = run_rule(rule, profile).findings
        assert all(f.impact is None for f in findings)
        return findings[0].message if findings else ""

    assert message(9) == (
        "Index i on (region) is not needed: region has only 9 values, so a search for one reads much of the table."
    )
    assert not message(10)
    assert not message(9, rows=99_999)
    assert not message(9, at_least=True)
    assert not message(9, unique=True)
    assert not message(9, partial=True)
    assert not message(9, kind="brin")
    assert message(999, engine="duckdb")
    assert not message(1_000, engine="duckdb")


def test_duckdb_when_no_query_uses_the_index() -> None:
    assert "several columns" in _message(an_index("i", "host", "region", kind="art"), engine="duckdb")
    assert "finds a time range by" in _message(an_index("i", "time", kind="art"), engine="duckdb")
    assert not _message(an_index("i", "host", kind="art"), engine="duckdb")
    assert not _message(an_index("i", "host", "time", kind="art", unique=True), engine="duckdb")
    # A key on several columns does not serve its first one.
    key = an_index("key", "host", "time", kind="art", unique=True, constraint=True)
    assert not _message(key, an_index("i", "host", kind="art"), engine="duckdb")


def test_greptimedb_when_rows_are_in_that_order_anyway() -> None:
    key = an_index("PRIMARY", "host", "region", kind="primary", constraint=True)
    inverted = [an_index(f"INVERTED_INDEX_{c}", c, kind="inverted") for c in ("host", "region", "time")]
    (finding,) = run_rule(rule, _profile(key, *inverted, engine="greptimedb")).findings
    assert {e.label: e.value for e in finding.evidence} == {
        "indexes": "4",
        "INVERTED_INDEX_host": "(host): rows are sorted by this column, the first of the key",
        "INVERTED_INDEX_time": "(time): rows are stored by time anyway",
    }
    assert text_of(StepKind.SCHEMA, rule, _profile(key, *inverted, engine="greptimedb")).splitlines() == [
        'ALTER TABLE "main"."cpu" MODIFY COLUMN "host" UNSET INVERTED INDEX;',
        'ALTER TABLE "main"."cpu" MODIFY COLUMN "time" UNSET INVERTED INDEX;',
    ]


def test_postgresql_when_the_index_can_be_dropped_beside_the_writers() -> None:
    same = [an_index('or"der', "host"), an_index("a", "host")]
    text = text_of(StepKind.SCHEMA, rule, _profile(*same, engine="postgresql"))
    assert text == 'DROP INDEX CONCURRENTLY "main"."or""der";'
    cut = Partitioning(("time",), 0, ())
    text = text_of(StepKind.SCHEMA, rule, _profile(*same, engine="postgresql", partitioning=cut))
    assert text == 'DROP INDEX "main"."or""der";'


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_statement_when_run(engine: str, tmp_path: Path) -> None:
    target = write(dataset(table('or"der', hosts(2), indexes=[("time",)])), engine, tmp_path / "main.db")
    text = text_of(StepKind.SCHEMA, rule, collected(target), {"min_bytes": 0.0})
    connection: Any = (duckdb if engine == "duckdb" else sqlite3).connect(str(tmp_path / "main.db"))
    connection.execute(text)
    connection.close()
    assert run_rule(rule, collected(target)).outcome is Outcome.PASS


def test_statement_when_run_on_postgresql(postgresql: Postgresql) -> None:
    data = dataset(table('or"der', hosts(2), indexes=[("time",), ("host",)]))
    target = write(data, "postgresql", postgresql)
    assert 'or"der' in run_rule(rule, _after_a_month(collected(target))).not_evaluated
    (schema,) = target.databases
    with postgresql.connect() as connection:
        connection.execute("SET enable_seqscan = off")
        connection.execute(f'SELECT FROM "{schema}"."or""der" ORDER BY time, host LIMIT 1')
    # The one that the key starts with, and then the one that is not used.
    for name in ('or""der_time_idx', 'or""der_host_idx'):
        statement = text_of(StepKind.SCHEMA, rule, _after_a_month(collected(target)), {"min_bytes": 0.0})
        assert statement.endswith(f'."{name}";')
        postgresql.execute(statement)
    assert run_rule(rule, _after_a_month(collected(target))).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("engine", "size_bytes", "rows", "found"),
    [
        ("postgresql", 16_384, 300, 0),
        ("postgresql", 40_960, 300, 1),
        ("duckdb", None, 300, 0),
        ("duckdb", None, 400, 1),
        # How many rows there are outside of the window, it does not say.
        ("sqlite", None, None, 1),
    ],
)
def test_index_of_a_page_or_two_is_left_alone(
    engine: str, size_bytes: int | None, rows: int | None, found: int
) -> None:
    twice = [an_index(f"site{n}", "site", kind="art" if engine == "duckdb" else "btree") for n in (1, 2)]
    indexes = tuple(dataclasses.replace(index, size_bytes=size_bytes) for index in twice)
    measurement = a_measurement(indexes=indexes, rows_total=None if rows is None else a_count(rows))
    assert len(run_rule(rule, a_profile(measurement, engine=engine)).findings) == found


def _after_a_month(profile: Profile) -> Profile:
    """As if the uses were counted for so long."""

    def old(index: Index) -> Index:
        since = profile.collected_at - timedelta(days=31)
        return dataclasses.replace(index, counted_since=since if index.scans is not None else None)

    measurements = (
        dataclasses.replace(m, indexes=None if m.indexes is None else tuple(map(old, m.indexes)))
        for m in profile.measurements
    )
    return dataclasses.replace(profile, measurements=tuple(measurements))


def test_duckdb_when_asked_for_a_range_or_by_several_columns(tmp_path: Path) -> None:
    """What the rule says of DuckDB, by its own plans."""
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT i AS time, i % 100000 AS a, i % 7 AS b FROM range(200000) r(i)")

        def goes_by_index(condition: str) -> bool:
            (plan,) = connection.execute(f"EXPLAIN ANALYZE SELECT * FROM t WHERE {condition}").fetchall()
            return "Index Scan" in plan[1]

        connection.execute("CREATE INDEX several ON t (a, b)")
        assert not goes_by_index("a = 5")
        assert not goes_by_index("a = 5 AND b = 3")
        connection.execute("CREATE INDEX on_time ON t (time)")
        assert not goes_by_index("time BETWEEN 5 AND 6")
        assert goes_by_index("time = 5")


def test_index_that_was_never_finished() -> None:
    unfinished = an_index("i", "region", "host", valid=False, size_bytes=5_000)
    (finding,) = run_rule(rule, _profile(unfinished, engine="postgresql")).findings
    assert finding.impact is not None
    assert (finding.impact.currency, finding.severity) == (Currency.MECHANISM, Severity.WARNING)
    assert finding.message.startswith(
        "Index i on (region, host) is not valid: building it failed, and no query uses it; it takes 5 kB."
    )
    assert "slow queries" not in planned(rule, _profile(unfinished, engine="postgresql")), "no query used it"
    assert _message(an_index("j", "region"), unfinished).startswith("Index i on"), "it serves nothing in j's place"


def test_index_that_was_not_finished_on_a_server(postgresql: Postgresql) -> None:
    target = write(dataset(table("cpu", hosts(2))), "postgresql", postgresql)
    (database,) = {m.database for m in collected(target).measurements}
    with pytest.raises(psycopg.errors.UniqueViolation):
        postgresql.execute(f'CREATE UNIQUE INDEX CONCURRENTLY halfway ON "{database}"."cpu" (host)')
    (finding,) = run_rule(rule, collected(target)).findings
    assert finding.message.startswith("Index halfway on (host) is not valid: building it failed")
    assert finding.severity is Severity.WARNING
    assert finding.fix.endswith(
        "halfway is to keep (host) unique, and does not: remove the rows that are equal there, and create it again "
        "after it is dropped."
    )


def test_of_an_index_and_the_start_of_it_the_one_that_is_used_stays() -> None:
    narrow = an_index("narrow", "host", scans=1000, counted_since=SINCE, size_bytes=5_000_000)
    wide = an_index("wide", "host", "region", scans=0, counted_since=SINCE, size_bytes=5_000_000)
    profile = _profile(narrow, wide, engine="postgresql")
    (finding,) = run_rule(rule, profile, timeline=_seen(profile)).findings
    assert finding.message.startswith("Index wide on (host, region) is not needed: not used once since 2026-03-01")
    assert text_of(StepKind.SCHEMA, rule, profile) == 'DROP INDEX CONCURRENTLY "main"."wide";'
    unused = _profile(dataclasses.replace(narrow, scans=0), wide, engine="postgresql")
    (finding,) = run_rule(rule, unused, timeline=_seen(unused)).findings
    assert finding.message.endswith("; it takes 5 MB; wide may not be needed either.")
    assert text_of(StepKind.SCHEMA, rule, unused) == 'DROP INDEX CONCURRENTLY "main"."narrow";'


@pytest.mark.parametrize("scans", list(itertools.product((0, 1000), repeat=4)))
def test_what_queries_use_stays_or_is_replaced_by_what_stays(scans: tuple[int, ...]) -> None:
    seen = {"counted_since": SINCE, "is_as_old": True, "size_bytes": 5_000_000}
    columns = {"a": ("host",), "b": ("host", "region"), "b2": ("host", "region"), "c": ("host", "region", "usage")}
    chain = [an_index(name, *of, scans=n, **seen) for (name, of), n in zip(columns.items(), scans, strict=True)]
    profile = _profile(*chain, an_index("other", "usage", scans=1, **seen), engine="postgresql")
    changes = [change for finding in run_rule(rule, profile).findings for change in finding.changes]
    dropped = {change.index: change.instead for change in changes if isinstance(change, DropIndex)}
    for index in chain:
        if index.scans and index.name in dropped:
            stays = dropped[index.name]
            assert stays not in dropped
            assert columns[stays][: len(index.columns)] == index.columns
    # The longest of three that nothing uses waits until the two that it could replace are gone.
    assert len(dropped) == (2 if scans == (1000, 0, 0, 0) else 3)


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_what_a_chain_of_indexes_relies_on_stays(order: tuple[int, ...]) -> None:
    seen = {"scans": 0, "counted_since": SINCE, "is_as_old": True, "size_bytes": 5_000_000}
    chain = [
        an_index("a", "host", **seen),
        an_index("b", "host", "region", **seen),
        an_index("b2", "host", "region", **seen),
        an_index("c", "host", "region", "usage", **seen),
    ]
    profile = _profile(*(chain[n] for n in order), an_index("other", "usage", **seen), engine="postgresql")
    (finding,) = run_rule(rule, profile).findings
    dropped = {change.index: change.instead for change in finding.changes if isinstance(change, DropIndex)}
    assert dropped == {"a": "c", "b": "c", "b2": "c", "other": ""}
    assert finding.message.endswith("; c may not be needed either.")


def test_one_of_several_unused_indexes_by_time_stays() -> None:
    seen = {"scans": 0, "counted_since": SINCE, "is_as_old": True, "size_bytes": 5_000_000}
    indexes = an_index("by_host", "time", "host", **seen), an_index("by_region", "time", "region", **seen)
    (finding,) = run_rule(rule, _profile(*indexes, engine="postgresql")).findings
    assert finding.message.startswith("Index by_region on (time, region) is not needed: not used once")


def test_doubtful_ones_wait_for_the_sure_ones() -> None:
    since = {"scans": 0, "counted_since": SINCE, "size_bytes": 5_000_000}
    indexes = [
        an_index("a", "host", **since),
        an_index("b", "host", "region", **since),
        an_index("c", "usage", **since),
    ]
    (finding,) = run_rule(rule, _profile(*indexes, engine="postgresql")).findings
    assert _bytes_of(finding) == 5_000_000
    assert finding.message == (
        "Index a on (host) is not needed: b (host, region) starts with the same column; it takes 5 MB; "
        "b and c may not be needed either."
    )
    assert finding.observed == 1
    text = text_of(StepKind.SCHEMA, rule, _profile(*indexes, engine="postgresql"))
    assert text == 'DROP INDEX CONCURRENTLY "main"."a";'
    assert {e.label for e in finding.evidence} == {"indexes", "a", "b", "c"}


@pytest.mark.parametrize("sorting", [(), ("", "desc"), ("desc", "desc"), ("desc nulls last", "nulls first")])
def test_direction_makes_no_difference(sorting: tuple[str, ...]) -> None:
    """Hdbpp: (att_conf_id, data_time) beside (att_conf_id, data_time DESC)."""
    wide = an_index("wide", "host", "time", "region", sorting=("", "desc", ""))
    assert _message(an_index("own", "host", "time", sorting=sorting), wide, engine="postgresql").startswith(
        "Index own on ("
    )
    same = an_index("same", "host", "time", sorting=("", "desc"))
    message = _message(an_index("twin", "host", "time", sorting=sorting), same, engine="postgresql")
    assert message.endswith("is not needed: same (host, time desc) has the same columns.")


def test_the_only_index_by_time_is_kept_though_unused() -> None:
    """Without it, missing-index would ask for it again: the two would take turns."""
    on_time = an_index("by_time", "time", scans=0, counted_since=SINCE, size_bytes=5_000_000)
    assert run_rule(rule, _profile(on_time, engine="postgresql")).outcome is Outcome.PASS
    other = an_index("by_time_too", "time", "host", scans=3, counted_since=SINCE)
    (finding,) = run_rule(rule, _profile(on_time, other, engine="postgresql")).findings
    assert finding.message.startswith("Index by_time on (time) is not needed")


def test_index_by_which_documents_expire_is_needed() -> None:
    """It may be the start of another one, and is not used once: it removes documents."""
    own = Index("at_1", "btree", ("at",), unique=False, constraint=False, partial=False, scans=0, size_bytes=90_000)
    wider = dataclasses.replace(own, name="at_1_km_1", columns=("at", "km"), scans=7)
    for expires_s, outcome in ((None, Outcome.FAIL), (0, Outcome.PASS)):
        index = dataclasses.replace(own, expires_s=expires_s, counted_since=NOW - timedelta(days=90))
        measurement = a_measurement("trips", tags=(), indexes=(index, wider))
        assert run_rule(rule, a_profile(measurement, engine="mongodb")).outcome is outcome


def test_start_of_another_index_is_priced_at_the_rate_of_its_documents() -> None:
    """4 MB in three days are 490 MB in a year, once a week of history shows that they go on."""
    narrow = Index("rider_1", "btree", ("rider",), unique=False, constraint=False, partial=False, size_bytes=4_000_000)
    wider = dataclasses.replace(narrow, name="rider_1_at_1", columns=("rider", "at"), size_bytes=6_000_000)
    measurement = a_measurement(
        "trips",
        tags=(),
        indexes=(narrow, wider),
        rows=a_count(200_000),
        storage=Storage(20_000_000, 10_000_000),
        first_time=NOW - timedelta(days=3),
        last_time=NOW,
    )
    profile = a_profile(measurement, engine="mongodb")
    (finding,) = run_rule(rule, profile).findings
    assert finding.severity is Severity.NOTE
    assert finding.impact is not None
    assert finding.impact.after(365) == pytest.approx(4e6 * 2)
    assert finding.consequence == "It grows to 8 MB of avoidable storage in 3 days."
    counted = (Point(profile.day - timedelta(days=7), 1.0),)
    known = Timeline(points={("rows", Subject("main", "trips")): counted})
    (finding,) = run_rule(rule, profile, timeline=known).findings
    assert finding.severity is Severity.WARNING
    assert finding.impact is not None
    assert finding.impact.after(365) == pytest.approx(4e6 * (1 + 365 / 3))
