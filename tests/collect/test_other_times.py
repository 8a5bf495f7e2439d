"""Time columns in which some values have another form: SQLite accepts any value in any column."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from tests.builders import NOW
from tests.collecting import collected, file_with
from tests.rules.cases import run_rule
from tsaudit.config.settings import Target
from tsaudit.model.figures import Reason
from tsaudit.model.finding import Severity
from tsaudit.rules.fields.mistyped_field import mistyped_field

_ROWS = 2_000
_TIMES = [NOW - timedelta(minutes=i + 1) for i in range(_ROWS)]


def _target(folder: Path, values: list[object], declared: str = "DATETIME") -> Target:
    path = folder / "orders.db"
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE orders (id INTEGER PRIMARY KEY, placed_at {declared}, amount REAL)")
        rows = ((value, 1.5 * i) for i, value in enumerate(values))
        connection.executemany("INSERT INTO orders (placed_at, amount) VALUES (?, ?)", rows)
    return Target(name="t", engine="sqlite", url=f"sqlite:///{path}")


_TEXTS: list[object] = [f"{time:%Y-%m-%d %H:%M:%S}" for time in _TIMES]
_SECONDS: list[object] = [int(time.timestamp()) for time in _TIMES]
_MILLISECONDS: list[object] = [1_000 * int(time.timestamp()) for time in _TIMES]


@pytest.mark.parametrize(
    ("usual", "odd", "count", "declared", "severity"),
    [
        (_TEXTS, 1_774_000_000_000, 60, "DATETIME", Severity.WARNING),
        (_TEXTS, "03/20/2026 10:00", 60, "TEXT", Severity.WARNING),
        (_TEXTS, 1_774_000_000, 3, "DATETIME", Severity.NOTE),
        (_SECONDS, "2026-03-20 10:00:00", 60, "INTEGER", Severity.WARNING),
        (_SECONDS, 1_774_000_000_000, 60, "INTEGER", Severity.WARNING),
        (_SECONDS, 1_774_000_000_000, 3, "INTEGER", Severity.NOTE),
        (_MILLISECONDS, 1_774_000_000, 60, "INTEGER", Severity.WARNING),
    ],
)
def test_a_few_values_in_another_form_are_reported_and_change_nothing_else(
    tmp_path: Path, usual: list[object], odd: object, count: int, declared: str, severity: Severity
) -> None:
    (alike,) = collected(_target(tmp_path, usual, declared)).measurements
    profile = collected(_target(tmp_path, [*usual, *[odd] * count], declared))
    (found,) = profile.measurements
    assert found.time_column == alike.time_column == "placed_at"
    assert (found.kind, found.rows, found.last_time) == (alike.kind, alike.rows, alike.last_time)
    assert alike.other_times == ()
    (finding,) = run_rule(mistyped_field, profile).findings
    assert finding.severity is severity
    assert finding.message.startswith(f"{count} of {_ROWS + count:,} values of placed_at (")
    assert finding.samples == (str(odd), str(max(usual)))


@pytest.mark.parametrize("none", [0, -1, 99_999_999_999_999_999])
def test_a_number_that_stands_for_no_time_hides_no_other(tmp_path: Path, none: int) -> None:
    (alike,) = collected(_target(tmp_path, _SECONDS, "INTEGER")).measurements
    (found,) = collected(_target(tmp_path, [*_SECONDS, none], "INTEGER")).measurements
    assert (found.time_column, found.kind, found.rows) == (alike.time_column, alike.kind, alike.rows)


def test_fractions_of_a_second_are_no_times(tmp_path: Path) -> None:
    """Most nanoseconds of a second are as many seconds as there were since 1970 in some year after 1980."""
    target = file_with(
        "duckdb",
        tmp_path / "history.duckdb",
        f"""CREATE TABLE history AS SELECT i % 9 AS itemid, CAST({int(NOW.timestamp())} - i * 60 AS BIGINT) AS clock,
          i % 70 / 3.0 AS value, CAST(hash(i) % 1000000000 AS INT) AS ns FROM range(3000) AS a(i)""",
    )
    profile = collected(target)
    assert profile.measurements[0].time_column == "clock"
    assert run_rule(mistyped_field, profile).findings == ()


_NUMBERS = """INSERT INTO events
  SELECT CASE WHEN i % 20 = 0 THEN 1000 ELSE 1 END * ({now} - CAST(i AS BIGINT) * 60), 'a' || i % 7, i % 9
  FROM generate_series(1, 30000) AS numbers (i)"""


@pytest.mark.parametrize("engine", ["duckdb", "postgresql"])
def test_milliseconds_among_seconds_in_servers_with_types(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    statements = ("CREATE TABLE events (ts BIGINT, app TEXT, n INT)", _NUMBERS.format(now=int(NOW.timestamp())))
    if engine == "duckdb":
        target = file_with(engine, tmp_path / "events.duckdb", *statements)
    else:
        server = request.getfixturevalue("postgresql")
        schema = server.new_schema(*statements, "ANALYZE")
        target = Target(name="t", engine=engine, url=server.audit_url, databases=(schema,))
    profile = collected(target)
    assert profile.measurements[0].time_column == "ts"
    (finding,) = run_rule(mistyped_field, profile).findings
    assert finding.severity is Severity.WARNING
    assert finding.message.startswith("1,500 of 30,000 values of ts (5%) are milliseconds since 1970, not seconds:")


def test_an_empty_text_is_no_value(tmp_path: Path) -> None:
    (found,) = collected(_target(tmp_path, [*_TEXTS, *[""] * 60])).measurements
    assert found.time_column == "placed_at"
    assert found.other_times == ()


def test_a_time_column_that_is_none_anymore_leaves_a_gap(tmp_path: Path) -> None:
    before = collected(_target(tmp_path, _TEXTS, "TEXT"))
    unclear = collected(_target(tmp_path, [f"on {text}" for text in _TEXTS], "TEXT"), previous=before)
    (gap,) = unclear.gaps
    assert (gap.fact, gap.reason, gap.measurement) == ("columns", Reason.INCONSISTENT, "orders")
    assert "placed_at" in gap.detail


@pytest.mark.parametrize(("other", "found"), [("strftime(day, '%m/%d/%Y')", True), ("'n/a'", False), ("'0'", False)])
@pytest.mark.parametrize("share", [3, 30])
def test_texts_with_dates_in_two_formats(tmp_path: Path, share: int, other: str, found: bool) -> None:
    target = file_with(
        "duckdb",
        tmp_path / "visits.duckdb",
        f"""CREATE TABLE visits AS SELECT i AS nr, CASE WHEN i % 100 < {share} THEN {other}
          ELSE CAST(day AS VARCHAR) END AS visit_date, i % 70 / 3.0 AS fee
          FROM (SELECT i, DATE '{NOW:%Y-%m-%d}' - CAST(i // 40 AS INT) AS day FROM range(3000) AS a(i))""",
    )
    profile = collected(target)
    findings = [one for one in run_rule(mistyped_field, profile).findings if one.severity is Severity.WARNING]
    assert [one.subject.column for one in findings] == ["visit_date"] * found
    if found:
        assert findings[0].message.startswith(
            f"{30 * share} of 3,000 values of visit_date ({share}%) have another form"
        )
