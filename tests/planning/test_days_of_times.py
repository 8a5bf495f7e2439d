"""Copies that go by days: each row is copied once, however its time is kept."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.builders import NOW, a_measurement, a_profile
from tests.collecting import collected
from tests.planning.on_sql import SqlHand
from tests.planning.places import Statements
from tsaudit.config.settings import Target
from tsaudit.engines.rendering import Place
from tsaudit.engines.sql.dialect import a_day_of, of_no_day
from tsaudit.model.change import SplitMeasurement
from tsaudit.model.finding import Severity
from tsaudit.model.subject import Subject
from tsaudit.planning.merging import Wanted
from tsaudit.planning.plans import _plan


@pytest.mark.parametrize("kind", ["BIGINT", "DOUBLE", "double precision", "REAL", "NUMERIC(20,3)"])
def test_no_day_where_times_are_numbers(kind: str) -> None:
    """A database compares no number with a date, or says that none is after it."""
    profile = a_profile(a_measurement("t", time_column="at", time_type=kind))
    assert a_day_of(Place(profile, "main", profile.measurements[0])) == ("", None)


@pytest.mark.parametrize("kind", ["TIMESTAMP", "TIMESTAMPTZ", "TEXT", "DATE"])
def test_days_where_times_are_dates(kind: str) -> None:
    profile = a_profile(a_measurement("t", time_column="at", time_type=kind))
    place = Place(profile, "main", profile.measurements[0])
    assert a_day_of(place)[1] is not None
    assert of_no_day(place).startswith('"at" IS NULL')


@pytest.mark.parametrize("seconds", [True, False])
def test_rows_of_sqlite_are_copied_whatever_the_column_holds(seconds: bool, tmp_path: Path) -> None:
    """SQLite keeps numbers in a column of type TIMESTAMP; all rows have to be in the new table, each once."""
    file = tmp_path / "t.db"
    count = 300
    epoch = int(NOW.timestamp())

    def at(row: int) -> Any:
        return epoch - row * 600 if seconds else f"2026-03-{30 - row // 100:02} {row // 10 % 24:02}:{row % 60:02}:00"

    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE t (at TIMESTAMP, host TEXT, v REAL, w REAL)")
        rows = [(at(i) if i % 50 else None, f"h{i % 3}", i / 7, i / 3) for i in range(count)]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
    connection.close()
    target = Target(name="t", engine="sqlite", url=f"sqlite:///{file}")
    profile = collected(target)
    here, hand = profile.measurements[0], SqlHand(Statements("sqlite", file, target))
    assert here.time_column == "at"
    subject = Subject(here.database, here.name)
    split = Wanted(SplitMeasurement(subject, "events", ("w",)), "X", Severity.WARN)
    (done,) = hand.carry_out([_plan(profile, subject, here, [split])], NOW.replace(day=1), NOW)
    assert not done.refused
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT count(*), count(DISTINCT w) FROM events").fetchall() == [(count, count)]
    connection.close()
