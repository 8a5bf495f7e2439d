"""What audits say on each day of a column that is filled, or not anymore, in a table without an index on its time that
has far more rows than are read.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest
from pydantic import SecretStr

from tests.histories import at, clock_at
from tsaudit import run
from tsaudit.collect import reading
from tsaudit.config.settings import Budget, Incidents, Settings, Target
from tsaudit.history.incidents import ChangeKind
from tsaudit.history.store import Store
from tsaudit.model.finding import Severity

DAYS: Final = range(4, 10)
"""Those audited, at 6 in the morning, from a Thursday on."""
_SINCE: Final = -8
_AT_H: Final = 6
_READ: Final = 400
"""Of 1,152 rows a day, so those of the last 8 hours."""


@dataclass(frozen=True)
class Column:
    """How column `flow` is written, and the days on which an expert wants to be told of it."""

    name: str
    flow: str = "power"
    """In SQL: its value in a row, `h` hours after the start of the first day, a Sunday."""
    changes: Mapping[int, str] = field(default_factory=dict)
    """What is run right before the audit of a day."""
    into: str = "flow"
    """The column that rows are written into after the first change."""
    warned: Sequence[int] = ()
    resolved: Sequence[int] = ()


_ENDS: Final = f"CASE WHEN h < {5 * 24 + 4} THEN power END"
_EMPTIED: Final = "UPDATE readings SET flow = NULL"
_RENAMED: Final = "ALTER TABLE readings RENAME COLUMN flow TO flow_rate; ALTER TABLE readings ADD COLUMN flow REAL"
_FILLED: Final = "UPDATE readings SET flow = power WHERE at < (SELECT date(max(at), '3 hours') FROM readings)"
COLUMNS: Final = (
    Column("ends among the rows read", _ENDS, warned=range(6, 10)),
    Column("ends before them", f"CASE WHEN h < {5 * 24 + 10} THEN power END", warned=range(7, 10)),
    Column(
        "ends, and is filled again", "CASE WHEN h NOT BETWEEN 124 AND 188 THEN power END", warned=(6, 7), resolved=(8,)
    ),
    Column("ends, and is dropped", _ENDS, {8: "ALTER TABLE readings DROP COLUMN flow"}, "power", (6, 7), (8,)),
    Column("emptied", "CASE WHEN h < 6 * 24 THEN power END", {6: _EMPTIED}, warned=range(6, 10)),
    Column("emptied, and filled again", "power", {6: _EMPTIED}, warned=(6,), resolved=(7,)),
    Column("renamed and added again", "power", {6: _RENAMED}, "flow_rate", range(6, 10)),
    Column("filled on weekdays", "CASE WHEN h / 24 % 7 BETWEEN 1 AND 5 THEN power END"),
    Column("filled at daytime", "CASE WHEN h % 24 BETWEEN 8 AND 20 THEN power END"),
    Column("filled at night by a job", "NULL", dict.fromkeys(DAYS, _FILLED)),
    Column("seldom filled", "CASE WHEN n % 907 = 0 THEN power END"),
    Column("never filled", "NULL"),
)


_FIRST_TIER: Final = ("ends before them", "ends, and is dropped", "renamed and added again", "filled on weekdays")


@pytest.mark.parametrize(
    "column",
    [pytest.param(one, id=one.name, marks=() if one.name in _FIRST_TIER else pytest.mark.full) for one in COLUMNS],
)
def test_column_is_reported_while_it_is_empty(column: Column, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_CHEAP_ROWS", 1_000)
    monkeypatch.setattr(run, "_report", lambda *_: (None, None))
    path, warned, resolved = tmp_path / "readings.db", [], []
    target = Target(name="t", engine="sqlite", url=f"sqlite:///{path}", budget=Budget(max_rows=_READ))
    settings = Settings(
        history=SecretStr("sqlite:///unused.db"), incidents=Incidents(open_after=1, resolve_after=1), targets=(target,)
    )
    with closing(sqlite3.connect(path)) as written, Store.open(f"sqlite:///{tmp_path}/history.db") as store:
        written.execute("CREATE TABLE readings (at TEXT NOT NULL, meter TEXT NOT NULL, power REAL, flow REAL)")
        written.execute("CREATE INDEX by_meter ON readings (meter, at)")
        start, into = _SINCE * 24, "flow"
        for day in DAYS:
            end = day * 24 + _AT_H
            _write(written, column.flow, into, start, end)
            if day in column.changes:
                written.executescript(column.changes[day])
                into = column.into
            start, now = end, at(day) + timedelta(hours=_AT_H)
            with clock_at(now):
                done = run.audit_target(target, settings, store, day=now.date())
            assert done.result is not None, done.error
            found = [f for r, f in done.result.findings() if (r.code, f.subject.column) == ("LAY003", "flow")]
            warned += [day for finding in found if finding.severity is Severity.WARNING]
            resolved += [
                day
                for change in done.changes
                if change.kind is ChangeKind.RESOLVED and change.incident.finding.subject.column == "flow"
            ]
            if column.into == "flow_rate" and found:
                assert "where flow_rate begins" in found[0].message
    assert warned == list(column.warned)
    assert resolved == list(column.resolved)


def _write(written: sqlite3.Connection, flow: str, into: str, start: int, end: int) -> None:
    """Rows of four meters every five minutes, from `start` to `end` in hours."""
    written.execute(
        f"""INSERT INTO readings (at, meter, power, {into})
        WITH RECURSIVE n(n) AS (SELECT {start} * 12 UNION ALL SELECT n + 1 FROM n WHERE n + 1 < {end} * 12),
        meters(meter) AS (VALUES (0), (1), (2), (3)),
        rows AS (SELECT n, n / 12 AS h, meter, (n * 7 + meter) % 90 / 4 + 0.1 AS power FROM n, meters)
        SELECT datetime({int(at(0).timestamp())} + n * 300, 'unixepoch'), 'm' || meter, power, {flow} FROM rows"""
    )
    written.commit()
