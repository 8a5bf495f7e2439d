"""STO002: big tables without an index on the time."""

from __future__ import annotations

import dataclasses
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.builders import DAY, NOW, a_count, a_measurement, a_profile
from tests.collecting import collected
from tests.databases import Dataset, write
from tests.planning.places import split
from tests.rules.cases import Case, dataset, hosts, planned, run_rule, table, text_of
from tests.rules.storage.test_unused_or_redundant_index import an_index
from tests.servers import Postgresql
from tsaudit.config.settings import Harm, Target
from tsaudit.evaluation import evaluate
from tsaudit.model.figures import Subject, TableKind
from tsaudit.model.finding import Currency, Finding, Outcome, Severity
from tsaudit.model.plan import StepKind
from tsaudit.model.profile import Measurement, Profile
from tsaudit.model.server import TableStatus
from tsaudit.model.storage import Index, Partitioning, Storage
from tsaudit.model.timeline import Timeline
from tsaudit.policy import LimitPolicy
from tsaudit.rules.storage.missing_index import missing_index as rule

ANY_SIZE = {"missing-index.min_rows": 1.0}
FEW_READS = Harm(min_reads=1_000_000)


def _readings(*indexes: tuple[str, ...], key: bool = False) -> Dataset:
    return dataset(table("readings", hosts(2), key=key, indexes=indexes))


CASES = (
    Case(
        breaks=_readings(("host",)),
        keeps=_readings(("time",)),
        subject=Subject("", "readings"),
        main_contributor="time",
        limits=ANY_SIZE,
    ),
    Case(
        breaks=_readings(("host", "time")),
        keeps=_readings(key=True),
        subject=Subject("", "readings"),
        limits=ANY_SIZE,
    ),
)


def _table(*indexes: Index, **changes: Any) -> Measurement:
    return a_measurement(**{"indexes": indexes, "rows": a_count(100_000)} | changes)


def _message(measurement: Measurement, limits: dict[str, float] | None = None) -> str:
    result = run_rule(rule, a_profile(measurement, engine="sqlite"), limits)
    assert all(finding.impact is None for finding in result.findings)
    return result.findings[0].message if result.findings else ""


BEHIND = "No index starts with time, so a time range over all sources needs a full scan."
NONE = "time is in no index, so every time range needs a full scan."
PARTIAL = "Only i, a partial index, starts with time: a time range outside of its condition needs a full scan."


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (an_index("i", "time", "host"), ""),
        (an_index("i", "host", "time"), BEHIND),
        (an_index("i", "host", "time", kind="brin"), ""),
        (an_index("i", "time", partial=True), PARTIAL),
        (an_index("i", "host", "time", partial=True), BEHIND),
        (an_index("i", None, "host"), NONE),
        (an_index("i", "time", valid=False), NONE),
    ],
    ids=["leads", "behind", "brin", "partial", "partial behind", "expression", "unfinished"],
)
def test_message_when_there_is_one_index(index: Index, message: str) -> None:
    assert _message(_table(index)) == message


def test_silence_when_the_table_is_not_big() -> None:
    assert not _message(_table(rows=a_count(99_999)))
    assert _message(_table(rows=a_count(99_999)), {"min_rows": 10}) == NONE
    assert not _message(_table(rows=a_count(10), storage=Storage(99_999_999, 0)))
    assert _message(_table(rows=None, storage=Storage(100_000_000, None))) == NONE
    assert not _message(_table(rows=None, storage=Storage(None, None)))


def test_silence_when_there_is_no_time_or_it_decides_the_partition() -> None:
    assert not _message(_table(time_column=None))
    assert not _message(_table(partitioning=Partitioning(("time",), 3, ())))
    assert _message(_table(partitioning=Partitioning(("host", "time"), 3, ()))) == NONE


def test_silence_when_indexes_were_not_measured() -> None:
    assert run_rule(rule, a_profile(_table(indexes=None), engine="sqlite")).outcome is Outcome.PASS


def test_reason_when_the_engine_needs_no_index() -> None:
    result = run_rule(rule, a_profile(_table(), engine="duckdb"))
    assert result.outcome is Outcome.NOT_APPLICABLE
    assert "smallest and largest time" in result.reason


def test_statement_when_run_on_sqlite(tmp_path: Path) -> None:
    target = write(dataset(table('or"der', hosts(2), key=False)), "sqlite", tmp_path / "t.db")
    text = text_of(StepKind.SCHEMA, rule, collected(target), {"min_rows": 1})
    connection = sqlite3.connect(tmp_path / "t.db")
    connection.executescript(text)
    connection.close()
    assert run_rule(rule, collected(target), {"min_rows": 1}).outcome is Outcome.PASS


@pytest.mark.parametrize("by", ["", "HASH (host)"], ids=["whole", "partitioned"])
def test_statement_when_run_on_postgresql(postgresql: Postgresql, by: str) -> None:
    parts = ["FOR VALUES WITH (MODULUS 1, REMAINDER 0)"] if by else []
    data = dataset(table('or"der', hosts(2), key=False, partition_by=by, partitions=parts))
    target = write(data, "postgresql", postgresql)
    for statement in split(text_of(StepKind.SCHEMA, rule, collected(target), {"min_rows": 1})):
        postgresql.execute(statement)
    assert run_rule(rule, collected(target), {"min_rows": 1}).outcome is Outcome.PASS


def test_silence_when_the_time_is_the_row_number(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "t.db")
    connection.execute("CREATE TABLE t (ts INTEGER PRIMARY KEY, host TEXT, v REAL)")
    connection.executemany("INSERT INTO t VALUES (?, 'a', 1.5)", [(1_774_900_000 + 60 * i,) for i in range(30)])
    connection.commit()
    connection.close()
    profile = collected(Target(name="t", engine="sqlite", url=f"sqlite:///{tmp_path}/t.db"))
    assert profile.measurements[0].time_column == "ts"
    assert run_rule(rule, profile, {"min_rows": 1}).outcome is Outcome.PASS


# --- What is read in vain --------------------------------------------------------------------------------------------

BIG = 2_000_000


def _status(
    scanned: float, order: dict[str, float] | None = None, since: timedelta = timedelta(days=10)
) -> TableStatus:
    counters = {"rows_scanned": scanned}
    return TableStatus(counters, {"live_rows": BIG}, order or {}, NOW - since)


def _read(scanned: float, *indexes: Index, days_ago: int = 0, **changes: Any) -> Profile:
    """A table of 2,000,000 rows of 30 days, of which so many rows were read in full scans."""
    settings = {"rows": a_count(BIG), "status": _status(scanned)} | changes
    collected_at = NOW - timedelta(days=days_ago)
    made = a_profile(a_measurement(indexes=indexes, **settings), engine="postgresql", collected_at=collected_at)
    return dataclasses.replace(made, day=DAY - timedelta(days=days_ago))


def _found(profile: Profile, before: Profile | None = None) -> Finding:
    (finding,) = run_rule(rule, profile, timeline=Timeline(previous=before)).findings
    return finding


@pytest.mark.parametrize(
    ("scans_a_day", "severity"),
    [(0, Severity.NOTE), (10, Severity.NOTE), (250, Severity.NOTE), (260, Severity.WARNING), (5_000, Severity.WARNING)],
)
def test_rows_read_in_vain_since_the_counters_began(scans_a_day: float, severity: Severity) -> None:
    finding = _found(_read(scans_a_day * BIG * 10))
    assert finding.severity is severity
    if scans_a_day >= 10:
        assert finding.impact is not None
        assert finding.impact.currency is Currency.READS
        # A range of one day has to read a thirtieth of them.
        assert finding.impact.now == pytest.approx(scans_a_day * BIG * 29 / 30)
        assert (
            f"{scans_a_day:,} times the table"
            in {e.label: e.value for e in finding.evidence}["rows read in full scans"]
        )


def test_note_says_in_how_long_its_rows_were_counted() -> None:
    status = _status(80 * BIG, since=timedelta(minutes=20))
    finding = _found(_read(0, status=status))
    assert finding.severity is Severity.NOTE
    assert finding.severity_reason.endswith(" in 20 minutes; a warning from 500,000,000 a day on")
    whole_days = _found(_read(30 * 10 * BIG))
    assert whole_days.severity_reason.endswith(" a day; a warning from 500,000,000 a day on")
    assert "a warning" not in _found(_read(300 * 10 * BIG)).severity_reason


@pytest.mark.parametrize(
    ("total", "expected"),
    [(9 * BIG, "18,000,000; 2,000,000 of them within the window"), (BIG, "2,000,000"), (None, "2,000,000")],
)
def test_rows_beside_the_bytes_of_a_table_are_all_its_rows(total: int | None, expected: str) -> None:
    finding = _found(_read(0, rows_total=None if total is None else a_count(total)))
    assert {one.label: one.value for one in finding.evidence}["rows"] == expected
    assert finding.observed == (total or BIG)


def test_rows_read_in_vain_since_the_audit_before() -> None:
    """What was read in a past that is over is not read in vain today."""
    before = _read(10**12, days_ago=1)
    assert _found(_read(10**12 + 5 * BIG), before).severity is Severity.NOTE
    finding = _found(_read(10**12 + 500 * BIG), before)
    assert finding.severity is Severity.WARNING
    assert finding.impact is not None
    assert finding.impact.now == pytest.approx(500 * BIG * 29 / 30)


def test_what_audits_read_is_not_read_in_vain() -> None:
    """Nine searches a day, and three by the audit, are not twelve searches."""
    by_audit = dict.fromkeys(("null_counts", "row_sample", "series_listing", "columns"), "SELECT 1")
    before = _read(10**12, days_ago=1, statements=by_audit)
    assert _found(_read(10**12 + 12 * BIG), before).impact is None
    finding = _found(_read(10**12 + 15 * BIG), before)
    assert finding.impact is not None
    assert finding.impact.now == pytest.approx(12 * BIG * 29 / 30)
    assert _found(_read(10**12 + 2 * BIG), before).impact is None


@pytest.mark.parametrize(("hours", "is_known"), [(3, False), (24, True)])
def test_what_commands_of_tsaudit_read_on_a_day_of_trying_out(hours: int, is_known: bool) -> None:
    finding = _found(_read(0, status=_status(45 * BIG, since=timedelta(hours=hours))))
    assert (finding.impact is not None) is is_known
    said = {e.label: e.value for e in finding.evidence}["rows read in full scans"]
    assert ("tsaudit may have read most of them" in said) is not is_known


def test_counters_that_began_after_the_audit_before() -> None:
    before = _read(10**12, days_ago=1)
    # A crash: the counters have a later beginning, and are already above what they were or not.
    again = _read(500 * BIG, status=_status(500 * BIG, since=timedelta(hours=3)))
    finding = _found(again, before)
    assert finding.impact is not None
    assert finding.impact.now == pytest.approx(450 * BIG * 29 / 30), "three hours count as a day"
    assert finding.severity_reason == "870,000,000 rows read unnecessarily in 3 hours"
    assert finding.consequence.startswith("Each day, about 870,000,000 rows")
    assert any(e.value.startswith("900,000,000 in 3 hours since 2026-03-31, 450") for e in finding.evidence)
    past = _read(BIG, days_ago=1, status=_status(BIG, since=timedelta(days=30)))
    assert _found(again, past).impact is not None


def test_counters_of_unknown_beginning_need_an_audit_before() -> None:
    unknown = TableStatus({"rows_scanned": 10**12}, {"live_rows": BIG})
    profile = _read(0, status=unknown)
    assert _found(profile).impact is None
    more = dataclasses.replace(unknown, counters={"rows_scanned": 10**12 + 300 * BIG})
    before = dataclasses.replace(profile, day=DAY - timedelta(days=1), collected_at=NOW - timedelta(days=1))
    assert _found(_read(0, status=more), before).severity is Severity.WARNING


def test_tables_of_which_a_day_is_all_are_read_for_a_reason() -> None:
    young = _read(10**12, first_time=NOW - timedelta(hours=20))
    assert _found(young).severity is Severity.NOTE
    # Where nobody knows how much a day is, more full scans than reports make are counted.
    assert _found(_read(10**12, first_time=None, last_time=None)).severity is Severity.WARNING


def _brin(column: str, read: int = 0) -> Index:
    return an_index("i", column, kind="brin", rows_read=read)


def test_brin_where_rows_lie_in_order() -> None:
    for order in ({"time": 0.5}, {"time": 0.98}, {}):
        assert run_rule(rule, _read(0, _brin("time"), status=_status(0, order))).outcome is Outcome.PASS


def test_brin_on_a_time_in_whose_order_rows_do_not_lie() -> None:
    profile = _read(0, _brin("time", 4_000 * BIG), status=_status(0, {"time": 0.03}))
    finding = _found(profile)
    assert finding.severity is Severity.WARNING, "its pages count, not only full scans"
    assert finding.message == (
        "BRIN index i does not help: rows do not lie in the order of time (correlation 0.03), so every time range "
        "needs a full scan."
    )
    text = planned(rule, profile)
    assert 'ON "main"."cpu" ("time")' in text
    assert "USING brin" not in text
    assert 'DROP INDEX CONCURRENTLY "main"."i"' in text


def test_brin_on_another_column_in_whose_order_rows_do_not_lie() -> None:
    key = an_index("cpu_time", "time")
    profile = _read(0, key, _brin("id"), status=_status(4_000 * BIG, {"id": 0.0, "time": 1.0}))
    finding = _found(profile)
    assert (finding.severity, finding.main_contributor) == (Severity.WARNING, "id")
    assert finding.message.endswith("so a search by id reads nearly all of the table.")
    assert 'ON "main"."cpu" ("id")' in planned(rule, profile)
    small = _read(400 * BIG, key, _brin("id"), status=_status(0, {"id": 0.0}), storage=Storage(10_000_000, 0))
    assert run_rule(rule, small).outcome is Outcome.PASS
    by_id = an_index("by_id", "id", "time")
    served = _read(0, key, by_id, _brin("id"), status=_status(0, {"id": 0.0}))
    assert _found(served).severity is Severity.NOTE
    assert "CREATE" not in planned(rule, served)


def test_no_brin_is_proposed_for_rows_in_another_order() -> None:
    assert "USING brin" in planned(rule, _read(0, status=_status(0, {"time": 0.97})))
    assert "USING brin" in planned(rule, _read(0, status=_status(0)))
    assert "USING brin" not in planned(rule, _read(0, status=_status(0, {"time": 0.4})))


_ROWS = """INSERT INTO {name}
  SELECT (random() * 1e15)::BIGINT, now() - INTERVAL '1 min' * {minutes}, 'sensor ' || i % 50, i / 7.0
  FROM generate_series(1, 200000) AS i"""
_COLUMNS = "(id BIGINT, ts TIMESTAMPTZ NOT NULL, sensor TEXT, value FLOAT)"


@pytest.mark.full
def test_reads_that_a_server_counted(postgresql: Postgresql) -> None:
    """What 62 searches cost without an index, with one, with a BRIN that helps, and with those that do not: of so few
    minutes, the last 50 may have been audits.
    """
    made = {"bare": "", "indexed": "(ts)", "ordered": "USING brin (ts)", "mixed": "USING brin (ts)"}
    made["by_id"] = "USING brin (id)"
    statements = []
    for name, index in made.items():
        minutes = "floor(random() * 57600)" if name == "mixed" else "((200000 - i) / 3.5)"
        statements += [f"CREATE TABLE {name} {_COLUMNS}", _ROWS.format(name=name, minutes=minutes)]
        statements += [f"CREATE INDEX ON {name} {index}"] if index else []
    # Its rows have an index on the time, too.
    statements += ["CREATE INDEX ON by_id (ts)", "ANALYZE"]
    for name in made:
        condition = "id = 5 * 10^14" if name == "by_id" else "ts > now() - INTERVAL '1 hour'"
        statements += [f"SELECT avg(value) FROM {name} WHERE {condition}"] * 62
    schema = postgresql.new_schema(*statements)
    now = datetime.now(UTC) + timedelta(minutes=1)
    target = Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,))
    profile = collected(target, now=now, day=now.date())
    assert profile.gaps == ()
    (result,) = evaluate(profile, None, LimitPolicy(), [rule], harm=FEW_READS).results
    found = {f.subject.measurement: f for f in result.findings}
    assert {name: f.severity for name, f in found.items()} == {
        "bare": Severity.WARNING,
        "mixed": Severity.WARNING,
        "by_id": Severity.WARNING,
    }
    for name, finding in found.items():
        assert finding.impact is not None
        # 12 searches, and the making of indexes. Of a day's range, a thirtieth is needed.
        assert 11 * 200_000 < finding.impact.now < 16 * 200_000, name


# --- Whatever a table contains ---------------------------------------------------------------------------------------

SCANNED = "Queries read the whole table all the time: no index finds what they select."


@pytest.mark.parametrize("kind", [*TableKind, None])
@pytest.mark.parametrize(
    ("scans_a_day", "rows", "severity"),
    [(249, BIG, None), (251, BIG, Severity.WARNING), (5_000, 100_000, Severity.WARNING), (5_010, 99_999, None)],
)
def test_full_scans_of_a_table_whose_time_has_an_index(
    scans_a_day: float, rows: int, severity: Severity | None, kind: TableKind | None
) -> None:
    status = TableStatus({"rows_scanned": scans_a_day * rows * 10}, {"live_rows": rows}, {}, NOW - timedelta(days=10))
    indexes = (an_index("cpu_pkey", "id", constraint=True, unique=True), an_index("cpu_time", "time"))
    profile = _read(0, *indexes, status=status, kind=kind, rows=a_count(rows))
    findings = run_rule(rule, profile).findings
    assert [(f.message, f.severity, f.main_contributor) for f in findings] == [(SCANNED, severity, None)] * bool(
        severity
    )
    assert all("pg_stat_statements" in f.fix and not f.changes for f in findings)
    # Without a time, or where the time is not what rows are read by, nobody knows the column either.
    timeless = _read(0, *indexes[:1], status=status, kind=kind, time_column=None, rows=a_count(rows))
    assert len(run_rule(rule, timeless).findings) == bool(severity)


@pytest.mark.parametrize("kind", [*TableKind, None])
def test_full_scans_of_a_smaller_table_whose_time_has_no_index(kind: TableKind | None) -> None:
    status = TableStatus({"rows_scanned": 20 * 300_000}, {"live_rows": 300_000}, {}, NOW - timedelta(days=1))
    profile = _read(0, status=status, kind=kind, rows=a_count(300_000))
    (result,) = evaluate(profile, None, LimitPolicy(), [rule], harm=FEW_READS).results
    by_time = {TableKind.SERIES, TableKind.EVENTS, TableKind.QUEUE, TableKind.ATTRIBUTE_VALUE, TableKind.OTHER, None}
    assert [f.main_contributor for f in result.findings] == ["time"] * (kind in by_time)
