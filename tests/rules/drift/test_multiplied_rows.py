"""DRF002: one value brings most of the new rows, or the values of a column have become larger."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pytest

from tests.builders import DAY, NOW, a_count, a_measurement, a_profile, a_source
from tests.collecting import audited_twice, collected
from tests.databases import Row, Table
from tests.rules.cases import Case, dataset, run_rule
from tests.servers import Postgresql
from tsaudit.collect.row_bytes import size_step
from tsaudit.config.settings import Target
from tsaudit.model.figures import Subject, TableKind
from tsaudit.model.finding import Currency, Finding, Severity
from tsaudit.model.profile import Profile
from tsaudit.model.rows import ExcessRows, LargerColumn, RowBytes
from tsaudit.model.server import TableStatus
from tsaudit.model.storage import Storage
from tsaudit.rules.drift.multiplied_rows import multiplied_rows as rule

A_DAY: Final = timedelta(days=1)
USUAL: Final = timedelta(minutes=30)


def _rows(host: str, every: timedelta, first: float, last: float = 0.0) -> Iterator[Row]:
    """From so many days ago to so many days ago."""
    for n in range(1, int((first - last) * A_DAY / every) + 1):
        yield Row(NOW - last * A_DAY - n * every, {"host": host}, {"usage": 20.5 + n % 17})


def _table(*rows: Iterator[Row]) -> Table:
    written = {(row.time, row.tags["host"]): row for part in rows for row in part}
    return Table("cpu", ["host"], {"usage": "float"}, list(written.values()), key=("time", "host"))


def _hosts(last: float = 0.0) -> list[Iterator[Row]]:
    return [_rows(host, USUAL, 12, last) for host in ("alpha", "beta", "gamma", "delta")]


CASES: Final = (
    Case(
        breaks=dataset(_table(*_hosts(), _rows("alpha", timedelta(minutes=1), 1.2))),
        keeps=dataset(_table(*_hosts(), *(_rows(f"new {c}", USUAL, 1.2) for c in "abcdefghijklmnopqrst"))),
        before=dataset(_table(*_hosts(1.2))),
        subject=Subject("", "cpu", "host"),
        main_contributor="host",
    ),
)


def _found(held: int | None, **changes: Any) -> Finding:
    known: dict[str, Any] = {
        "before_per_day": 5_100,
        "per_day": 91_512,
        "since": NOW - 2 * A_DAY,
        "column": "reading",
        "value": "power_now",
        "share_before": 0.06,
        "share": 0.94,
        "also": (("device", "meter"),),
        "source": a_source(),
    }
    storage = Storage(held, 0) if held is not None else None
    measurement = a_measurement(
        rows=a_count(300_000), rows_total=a_count(300_000), storage=storage, excess=ExcessRows(**known | changes)
    )
    (finding,) = run_rule(rule, a_profile(measurement, engine="postgresql")).findings
    return finding


def test_what_it_says() -> None:
    finding = _found(30_000_000)
    assert finding.message == (
        "Rows rose from about 5,100 to 91,500 a day since 2026-03-29: 94% of those since then are of reading=power_now "
        "(device=meter), which had 6% before; about 8.57 MB more a day."
    )
    assert finding.severity is Severity.WARNING
    assert finding.since == date(2026, 3, 29)
    assert finding.impact is not None
    assert finding.impact.currency is Currency.BYTES
    assert finding.impact.per_day == pytest.approx(100 * (0.94 * 91_512 - 0.06 * 5_100))
    assert finding.impact.now == pytest.approx(2 * finding.impact.per_day)
    assert "at what writes reading=power_now (device=meter): the interval" in finding.fix
    # A value may be redacted, and then be another one's.
    assert "DELETE" not in finding.fix


@pytest.mark.parametrize(("held", "severity"), [(10_000_000, "warning"), (9_000_000, "note"), (None, "note")])
def test_severity_follows_the_bytes_of_a_year(held: int | None, severity: str) -> None:
    assert _found(held).severity == severity


def _with_larger(*larger: LargerColumn, **changes: Any) -> Profile:
    columns = {"prompt": 900.0, "answer": 300.0, "note": 20.0, "time": 8.0}
    settings: dict[str, Any] = {
        "rows": a_count(200_000),
        "storage": Storage(200_000 * 1_500, 0),
        "row_bytes": RowBytes(columns, (), 4_000, a_source(), larger=larger),
        "first_time": NOW - 20 * A_DAY,
    }
    return a_profile(a_measurement(**settings | changes), engine="postgresql")


PROMPT: Final = LargerColumn("prompt", 10.0, 3_000.0, NOW - 5 * A_DAY, is_confirmed=True)


def test_values_that_have_become_larger_are_one_finding_a_day() -> None:
    answer = replace(PROMPT, column="answer", now=770.0)
    note = replace(PROMPT, column="note", before=2.0, now=90.0, since=NOW - 2 * A_DAY)
    both, later = run_rule(rule, _with_larger(note, answer, PROMPT)).findings
    assert both.message == (
        "prompt and answer take 3.77 kB a row since 2026-03-26, 20 B before: about 37.5 MB more a day, 92% of what is "
        "added."
    )
    assert both.impact is not None
    # 10,000 rows a day for five days, with 3,750 bytes each; the others of a row take 300.
    assert (both.impact.now, both.impact.per_day) == (pytest.approx(187_500_000), pytest.approx(37_500_000))
    assert both.impact.added_share == pytest.approx(3_750 / (1_500 + 3_770 - 1_200))
    assert (both.severity, both.since) == (Severity.WARNING, date(2026, 3, 26))
    # 0.9 MB a day.
    assert (later.subject.column, later.severity) == ("note", Severity.NOTE)


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, 1),
        ({"kind": TableKind.EVENTS}, 1),
        ({"kind": TableKind.QUEUE}, 0),
        ({"kind": TableKind.ENTITY}, 0),
        # Nothing is written anymore.
        ({"last_time": NOW - 8 * A_DAY}, 0),
    ],
)
def test_larger_values_count_where_rows_keep_coming(changes: dict[str, Any], found: int) -> None:
    assert len(run_rule(rule, _with_larger(PROMPT, **changes)).findings) == found


def test_larger_values_are_reported_once_two_audits_agree_on_their_beginning() -> None:
    assert not run_rule(rule, _with_larger(replace(PROMPT, is_confirmed=False))).findings


def test_larger_values_of_rows_that_are_deleted_level_off() -> None:
    counters = {"rows_inserted": 200_000.0, "rows_deleted": 199_000.0}
    status = TableStatus(counters=counters)
    (finding,) = run_rule(rule, _with_larger(PROMPT, status=status)).findings
    assert finding.impact is not None
    assert finding.impact.kept_days == pytest.approx(20)


def _sizes(seed: int, days: float, since: float) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Ages and bytes of 4,000 rows: payloads of any size, fewer on two days of the week, and larger since then."""
    noise = np.random.default_rng(seed)
    ages = noise.uniform(0, days, 4_000)
    quiet = np.where(ages.astype(int) % 7 < 2, 0.3, 1.0)
    return ages, noise.lognormal(4, 1, 4_000) * quiet * np.where(ages < since, 50, 1)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("days", [10, 14, 30, 90])
def test_step_in_sizes_is_dated_and_noise_is_none(seed: int, days: int) -> None:
    assert size_step(*_sizes(seed, days, 0)) is None
    step = size_step(*_sizes(seed, days, 1.6))
    assert step is not None
    assert step[0] == pytest.approx(1.6, abs=0.5)
    assert step[2] / step[1] == pytest.approx(50, rel=0.9)


def test_sizes_since_then_are_larger_whatever_few_rows_have() -> None:
    """On days with few rows, one value may be larger than all others together."""
    noise = np.random.default_rng(7)
    for _ in range(300):
        days = noise.integers(10, 60)
        ages = np.abs(noise.normal(0, days / 3, 1_500)) % days
        step = size_step(ages, noise.pareto(1, 1_500) * np.where(ages < noise.uniform(1, 9), 40, 1))
        assert step is None or step[2] >= 3 * step[1]


def test_one_value_of_any_size_is_no_step() -> None:
    ages, sizes = _sizes(3, 10, 0)
    sizes[ages < 0.4] = np.where(np.arange(int((ages < 0.4).sum())) == 0, 1e9, sizes[ages < 0.4])
    assert size_step(ages, sizes) is None


@pytest.mark.parametrize(
    ("days", "since"),
    [
        # Less than a week before it, less than a day since, and more than a month.
        (8, 1.6),
        (14, 0.5),
        (90, 40),
    ],
)
def test_no_step_in_sizes_without_a_week_before_and_a_day_since(days: int, since: float) -> None:
    assert size_step(*_sizes(1, days, since)) is None


PAYLOADS: Final = """INSERT INTO calls SELECT TIMESTAMPTZ '2026-03-11 06:00+00' + i * INTERVAL '2 min', i % 9, i / 7.0,
  CASE WHEN i > 12300 THEN (SELECT string_agg(md5(i || ' ' || n), ' ') FROM generate_series(1, 60) AS n) ELSE '{}' END
  FROM generate_series(1, 14400) AS i"""


def test_payloads_that_are_stored_since_a_day_when_read_from_postgresql(postgresql: Postgresql) -> None:
    schema = postgresql.new_schema(
        "CREATE TABLE calls (at TIMESTAMPTZ, model INT, took FLOAT, payload TEXT)", PAYLOADS, "ANALYZE calls"
    )
    target = Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,))
    _stored_since(target, 720 * 1_979)


def test_payloads_that_are_stored_since_a_day_when_read_from_sqlite(tmp_path: Path) -> None:
    noise = random.Random(4)
    with sqlite3.connect(tmp_path / "t.db") as connection:
        connection.execute("CREATE TABLE calls (at TEXT, model INT, took FLOAT, payload TEXT)")
        made = (
            (
                f"{NOW - timedelta(minutes=2 * (14_400 - i)):%F %T}",
                i % 9,
                i / 7.0,
                f"{noise.getrandbits(7_900):01979x}" if i > 12_300 else "{}",
            )
            for i in range(1, 14_401)
        )
        connection.executemany("INSERT INTO calls VALUES (?, ?, ?, ?)", made)
    connection.close()
    _stored_since(Target(name="t", engine="sqlite", url=f"sqlite:///{tmp_path}/t.db"), 720 * 1_977)


def test_payloads_that_are_emptied_after_some_days_have_not_become_larger(tmp_path: Path) -> None:
    """Nor is one that a job fills on one day of the week: when it began moves on with each audit."""
    noise = random.Random(4)
    with sqlite3.connect(tmp_path / "t.db") as connection:
        connection.execute("CREATE TABLE calls (at TEXT, model INT, payload TEXT)")
        made = (
            (f"{NOW - timedelta(minutes=2 * i):%F %T}", i % 9, f"{noise.getrandbits(7_900):01979x}")
            for i in range(14_400)
        )
        connection.executemany("INSERT INTO calls VALUES (?, ?, ?)", made)

        def emptied(until: datetime) -> None:
            connection.execute("UPDATE calls SET payload = NULL WHERE at < ?", (f"{until:%F %T}",))
            connection.commit()

        target = Target(name="t", engine="sqlite", url=f"sqlite:///{tmp_path}/t.db")
        emptied(NOW - 4 * A_DAY)
        before = collected(target, day=DAY - A_DAY, now=NOW - A_DAY)
        emptied(NOW - 3 * A_DAY)
        now = collected(target, previous=before)
    connection.close()
    for profile in (before, now):
        (calls,) = profile.measurements
        assert calls.row_bytes is not None
        assert [one.is_confirmed for one in calls.row_bytes.larger] == [False]
    assert not run_rule(rule, now).findings


def test_column_of_which_no_row_that_is_read_has_a_value(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "t.db") as connection:
        connection.execute("CREATE TABLE calls (at TEXT, model INT, payload TEXT)")
        made = (
            (f"{NOW - timedelta(seconds=40 * i):%F %T}", i % 9, "x" * 2_000 if i < 2 else None) for i in range(60_000)
        )
        connection.executemany("INSERT INTO calls VALUES (?, ?, ?)", made)
    connection.close()
    profile = collected(Target(name="t", engine="sqlite", url=f"sqlite:///{tmp_path}/t.db"))
    assert profile.gaps == ()
    (calls,) = profile.measurements
    assert calls.row_bytes is not None
    assert calls.row_bytes.columns["payload"] < 1


def _stored_since(target: Target, per_day: int) -> None:
    profile = audited_twice(target)
    (finding,) = run_rule(rule, profile).findings
    assert finding.subject.column == "payload"
    assert finding.since == date(2026, 3, 28)
    assert finding.impact is not None
    assert finding.impact.per_day == pytest.approx(per_day, rel=0.1)
