"""LAY009: rows that are stored twice."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from pathlib import Path

import pytest

from tests.builders import NOW, a_measurement, a_profile, a_source
from tests.collecting import collected, file_with
from tests.databases import Dataset, Row
from tests.rules.cases import Case, dataset, hosts, run_rule, table
from tests.servers import Postgresql
from tsaudit.config.settings import Budget, Target
from tsaudit.model.change import DropRepeats
from tsaudit.model.figures import How, Subject, TableKind
from tsaudit.model.finding import Severity
from tsaudit.model.profile import Profile
from tsaudit.model.rows import Copies
from tsaudit.rules.layout.repeated_rows import repeated_rows as rule


def _readings(twice: int) -> Dataset:
    """120 readings of two hosts; so many of them are written again."""
    made = table("readings", hosts(2), {"watts": "float"}, lambda s, r: {"watts": s + r / 7}, rows=60, key=False)
    rows: list[Row] = list(made.rows)
    return dataset(dataclasses.replace(made, rows=[*rows, *rows[:twice]]))


CASES = (Case(breaks=_readings(30), keeps=_readings(10), subject=Subject("", "readings")),)


def _profile(rows: int, copies: int, in_bulk: int = 0, **changes: object) -> Profile:
    ends = (NOW - timedelta(hours=1), NOW) if in_bulk else (None, None)
    found = Copies(rows, copies, in_bulk, *ends, (), a_source())
    return a_profile(a_measurement("readings", **{"copies": found} | changes), engine="postgresql")


_SALES = """
    INSERT INTO sales SELECT TIMESTAMP '{day}' - i // 2 * INTERVAL 2 MINUTE, 700000 + i // 2, i % 2, hash(i) % 97 / 7.0
    FROM range(60_000) AS t(i);
    INSERT INTO sales SELECT * FROM sales WHERE sold BETWEEN TIMESTAMP '{day}' - INTERVAL 30 DAY
        AND TIMESTAMP '{day}' - INTERVAL 20 DAY;
"""


@pytest.mark.parametrize(
    ("most", "which"), [(1_000_000, "with some of the values of "), (50_000, "at 8 places until ")]
)
def test_an_older_part_of_rows_that_two_columns_identify_was_loaded_twice(
    tmp_path: Path, most: int, which: str
) -> None:
    """A ticket has several lines, each of them once."""
    target = file_with(
        "duckdb",
        tmp_path / "sales.duckdb",
        "CREATE TABLE sales (sold TIMESTAMP, ticket_no BIGINT, line_no SMALLINT, amount DOUBLE)",
        _SALES.format(day=f"{NOW:%Y-%m-%d %H:%M:%S}"),
        budget=Budget(max_scan_rows=most),
    )
    (finding,) = run_rule(rule, collected(target)).findings
    assert finding.severity is Severity.WARNING
    assert finding.source is not None
    assert f" rows {which}" in finding.source.scope


@pytest.mark.parametrize(("rows", "copies", "found"), [(2_000, 20, 1), (2_000, 19, 0), (9_000, 89, 0), (100, 19, 0)])
def test_at_the_limit_and_just_below_it(rows: int, copies: int, found: int) -> None:
    findings = run_rule(rule, _profile(rows, copies)).findings
    assert [f.severity for f in findings] == [Severity.NOTE] * found
    if found:
        assert findings[0].message.startswith(
            f"1% of the {rows:,} rows read are copies of another one, the same in all columns"
        )
        assert "(time, host)" in findings[0].fix


def test_copies_in_rows_read_here_and_there_are_at_least_as_many() -> None:
    """A copy far from its row is missed, so the share is a minimum; all rows, or all that have one, are not."""
    profile = _profile(2_000, 900)
    (measurement,) = profile.measurements
    assert measurement.copies is not None
    sample = dataclasses.replace(measurement.copies, source=a_source(How.SAMPLED))
    (finding,) = run_rule(
        rule, dataclasses.replace(profile, measurements=(dataclasses.replace(measurement, copies=sample),))
    ).findings
    assert finding.message.startswith("at least 45% of the 2,000 rows read")


@pytest.mark.parametrize("kind", [None, TableKind.QUEUE, TableKind.REFERENCE, TableKind.OTHER])
@pytest.mark.parametrize(("in_bulk", "severity"), [(20, Severity.WARNING), (19, Severity.NOTE)])
def test_copies_in_bulk_are_a_warning_in_any_table(kind: TableKind | None, in_bulk: int, severity: Severity) -> None:
    (finding,) = run_rule(rule, _profile(2_000, 900, in_bulk, kind=kind, tags=())).findings
    assert finding.severity is severity


def test_copies_of_an_id_are_a_warning_with_a_plan() -> None:
    profile = _profile(2_000, 400)
    (measurement,) = profile.measurements
    assert measurement.copies is not None
    more = {"key": ("reading_id",), "column": "host", "values": ("a", "b"), "rows_there": 800, "since": NOW}
    known = dataclasses.replace(measurement, copies=dataclasses.replace(measurement.copies, **more))
    (finding,) = run_rule(rule, dataclasses.replace(profile, measurements=(known,))).findings
    assert finding.severity is Severity.WARNING
    assert "all with host=a and b, the same in all columns, even in reading_id" in finding.message
    assert finding.impact is not None
    assert finding.impact.consequence.startswith(f"Sums and counts of the rows with host=a and b since {NOW:%Y-%m-%d}")
    (change,) = finding.changes
    assert isinstance(change, DropRepeats)
    assert (change.key, change.identifies_rows) == (("reading_id", "time"), True)


@pytest.mark.parametrize(("within", "is_unique"), [("host", True), ("action", False)])
def test_only_a_source_is_part_of_a_unique_key(within: str, is_unique: bool) -> None:
    """Actions of one object may be the same at the same time, and still be two."""
    profile = _profile(2_000, 400)
    (measurement,) = profile.measurements
    assert measurement.copies is not None
    copies = dataclasses.replace(measurement.copies, key=(within, "object_id"))
    known = dataclasses.replace(measurement, copies=copies)
    (finding,) = run_rule(rule, dataclasses.replace(profile, measurements=(known,))).findings
    (change,) = finding.changes
    assert isinstance(change, DropRepeats)
    assert (change.key, change.identifies_rows) == ((within, "object_id", "time"), is_unique)


def test_the_key_of_a_plan_leaves_out_when_a_row_came() -> None:
    """Another load brings another time, which no unique index with it would reject."""
    profile = _profile(2_000, 400)
    (measurement,) = profile.measurements
    assert measurement.copies is not None
    copies = dataclasses.replace(measurement.copies, key=("reading_id",), left_out=("time",))
    known = dataclasses.replace(measurement, copies=copies)
    (finding,) = run_rule(rule, dataclasses.replace(profile, measurements=(known,))).findings
    (change,) = finding.changes
    assert isinstance(change, DropRepeats)
    assert (change.key, change.ignored) == (("reading_id",), ("time",))


def test_equal_events_of_a_coarse_time_are_a_note(tmp_path: Path) -> None:
    """Whoever clicks twice within a second clicks on the same page. What numbers a user does not number a click."""
    target = file_with(
        "duckdb",
        tmp_path / "clicks.duckdb",
        "CREATE TABLE clicks (clicked TIMESTAMP, user_id INT, page_id INT, millis INT)",
        f"""INSERT INTO clicks SELECT TIMESTAMP '{NOW:%Y-%m-%d}' - i * INTERVAL 7 second, hash(i) % 900,
          hash(i, 1) % 50, 1000 + i FROM range(3000) AS a(i), range(2) AS b(n) WHERE n = 0 OR hash(i, 2) % 9 = 0""",
    )
    (finding,) = run_rule(rule, collected(target)).findings
    assert finding.severity is Severity.NOTE
    assert not finding.changes


_COPIES = """INSERT INTO trades (at, market, price)
  SELECT TIMESTAMP '2026-03-20' + i * INTERVAL '1 min', 'm' || i % 3, i / 7.0
  FROM (SELECT generate_series(1, 300) AS i UNION ALL SELECT generate_series(1, {})) AS numbers"""


def test_rows_under_an_id_of_their_own_in_postgresql(postgresql: Postgresql) -> None:
    for number_of_column, found in (("SERIAL PRIMARY KEY", 1), ("INT", 1), ("FLOAT DEFAULT random()", 0)):
        columns = f"n {number_of_column}, at TIMESTAMP, market TEXT, price FLOAT"
        schema = postgresql.new_schema(f"CREATE TABLE trades ({columns})", _COPIES.format(40))
        target = Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,))
        assert len(run_rule(rule, collected(target)).findings) == found, number_of_column


def test_rows_that_were_loaded_again_have_another_stamp(tmp_path: Path) -> None:
    loads = ("etl_tstamp", "load_batch_id"), ("_airbyte_extracted_at", "_airbyte_raw_id"), ("note", "remark")
    for (at, number_of_load), severities in zip(loads, ([Severity.WARNING], [Severity.WARNING], []), strict=True):
        path = tmp_path / f"{at}.duckdb"
        target = file_with(
            "duckdb",
            path,
            f"CREATE TABLE invoices (nr INT, issued TIMESTAMP, total DOUBLE, {at} TIMESTAMP, {number_of_load} VARCHAR)",
            f"""INSERT INTO invoices SELECT i, TIMESTAMP '{NOW:%Y-%m-%d}' - i * INTERVAL 7 second, i % 90 + 0.5,
              TIMESTAMP '{NOW:%Y-%m-%d}' - n * INTERVAL 1 hour, 'run ' || (n * 10000 + i)
              FROM range(3000) AS a(i), range(2) AS b(n) WHERE n = 0 OR i < 1500""",
        )
        profile = collected(target)
        assert profile.measurements[0].time_column == "issued"
        assert [finding.severity for finding in run_rule(rule, profile).findings] == severities, at


def test_loads_that_overlap_have_brought_the_newest_rows_once(tmp_path: Path) -> None:
    """Each night brings the last ten nights again, 1,500 sales each; it says so in a column, as loaders do."""
    for nights, severities in ((10, [Severity.WARNING]), (1, [])):
        target = file_with(
            "duckdb",
            tmp_path / f"{nights}.duckdb",
            "CREATE TABLE sales (sold TIMESTAMP, till INT, total DOUBLE, ingested_at TIMESTAMP)",
            f"""INSERT INTO sales SELECT TIMESTAMP '{NOW:%Y-%m-%d}' - day * INTERVAL 1 day - i * INTERVAL 50 second,
              i % 7, hash(day, i) % 9000 / 100, TIMESTAMP '{NOW:%Y-%m-%d}' - (day - n) * INTERVAL 1 day
              FROM range(28) AS a(day), range(1500) AS b(i), range({nights}) AS c(n) WHERE n <= day""",
        )
        findings = run_rule(rule, collected(target)).findings
        assert [finding.severity for finding in findings] == severities
        assert all("let loads merge by a unique key of what identifies a row, instead" in f.fix for f in findings)


_PAYMENTS = """INSERT INTO payments SELECT TIMESTAMP '{day:%Y-%m-%d}' - i * INTERVAL '2 min', i, i % 97 / 7.0
  FROM generate_series(1, 60000) AS numbers (i);
  INSERT INTO payments SELECT * FROM payments WHERE number BETWEEN 30000 AND 39000;
  CREATE INDEX ON payments (paid)"""


def test_an_older_part_of_a_table_too_big_to_be_read(postgresql: Postgresql) -> None:
    """The window alone has more rows than may be read; an index finds those of other times."""
    table = "CREATE TABLE payments (paid TIMESTAMP, number BIGINT, amount FLOAT)"
    schema = postgresql.new_schema(table, *_PAYMENTS.format(day=NOW).split(";"), "ANALYZE")
    budget = Budget(max_scan_rows=15_000)
    target = Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,), budget=budget)
    (finding,) = run_rule(rule, collected(target)).findings
    assert finding.severity is Severity.WARNING
    assert finding.source is not None
    assert " rows at 8 places until " in finding.source.scope


_RIDES = """INSERT INTO rides SELECT {ride}, TIMESTAMP '{day:%Y-%m-%d}' - i * INTERVAL '5 min', i % 90 / 7.0
  FROM range(42000) AS a(i), range({times}) AS b(n) WHERE n = 0 OR i BETWEEN 24000 AND 25000"""


@pytest.mark.parametrize(
    ("ride", "times", "found"),
    [("hash(i)::VARCHAR", 2, 1), ("hash(i)::VARCHAR", 1, 0), ("(i % 30)::VARCHAR", 2, 1), ("(i % 30)::VARCHAR", 1, 0)],
    ids=["loaded twice", "once", "loaded twice without an ID", "once without an ID"],
)
def test_an_older_part_that_was_loaded_twice(tmp_path: Path, ride: str, times: int, found: int) -> None:
    """The 10,000 newest rows of five months came once, as all others but those of three days."""
    target = file_with(
        "duckdb",
        tmp_path / "rides.duckdb",
        "CREATE TABLE rides (ride_id VARCHAR, started TIMESTAMP, km DOUBLE)",
        _RIDES.format(ride=ride, day=NOW, times=times),
    )
    findings = run_rule(rule, collected(target)).findings
    assert [finding.severity for finding in findings] == [Severity.WARNING] * found
    for finding in findings:
        assert finding.message.startswith("about 2% of the ")
        assert finding.source is not None
        assert " rows with some of the values of " in finding.source.scope
        assert finding.impact is not None
        assert finding.impact.consequence.startswith(
            "Sums and counts are too high, at least of the rows from 2026-01-03"
        )
        evidence = {f"{one.label}: {one.value}" for one in finding.evidence}
        assert ("a row is identified by: ride_id" in evidence) is ride.startswith("hash")


_WITHIN = """INSERT INTO rides (started, station, km) SELECT {time}, 's' || (i % 30), i % 90 / 7.0 FROM
  (WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < 42000) SELECT i FROM numbers)
  AS a, (SELECT 0 AS n UNION ALL SELECT 1) AS b WHERE n = 0 OR i BETWEEN 24000 AND 25000"""


def test_an_older_part_that_was_loaded_twice_in_servers_without_a_hash_of_values(
    tmp_path: Path, postgresql: Postgresql
) -> None:
    """As in DuckDB: a row counts as a copy wherever it is, whatever the server calculates hashes with."""
    columns = "CREATE TABLE rides (n {}, started TIMESTAMP, station TEXT, km FLOAT)"
    file = file_with(
        "sqlite",
        tmp_path / "rides.db",
        columns.format("INTEGER PRIMARY KEY"),
        _WITHIN.format(time=f"datetime('{NOW:%Y-%m-%d}', '-' || (i * 5) || ' minutes')"),
    )
    schema = postgresql.new_schema(
        columns.format("SERIAL PRIMARY KEY"),
        _WITHIN.format(time=f"TIMESTAMP '{NOW:%Y-%m-%d}' - i * INTERVAL '5 min'"),
    )
    server = Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,))
    for target in (file, server):
        (finding,) = run_rule(rule, collected(target)).findings
        assert finding.severity is Severity.WARNING
        assert finding.message.startswith("about 2% of the ")


_SOLD = """WITH RECURSIVE numbers (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM numbers WHERE i < {rows})
  INSERT INTO sales SELECT datetime('{day:%Y-%m-%d}', '-' || i || ' minutes'), 700000 + i, i % 97 / 7.0,
  CASE WHEN i < 30000 THEN i % 5 END FROM numbers"""


def test_an_older_part_without_values_in_a_column_that_later_rows_fill(tmp_path: Path) -> None:
    """SQLite has no type of a column without values."""
    target = file_with(
        "sqlite",
        tmp_path / "sales.sqlite",
        "CREATE TABLE sales (sold TIMESTAMP, ticket_no BIGINT, amount DOUBLE, discount SMALLINT)",
        "CREATE INDEX by_time ON sales (sold)",
        _SOLD.format(rows=60_000, day=NOW),
        "INSERT INTO sales SELECT * FROM sales WHERE ticket_no BETWEEN 740000 AND 750000",
        budget=Budget(max_scan_rows=50_000),
    )
    profile = collected(target)
    assert profile.gaps == ()
    (finding,) = run_rule(rule, profile).findings
    assert finding.severity is Severity.WARNING
    assert finding.source is not None
    assert " rows at 8 places until " in finding.source.scope
