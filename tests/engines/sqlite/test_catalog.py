"""What SQLite lists that is no table of rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.builders import NOW
from tests.collecting import collected, collected_with
from tsaudit.config.settings import Budget, Target
from tsaudit.model.columns import NumbersBy


def test_virtual_tables_are_left_out_whether_their_module_is_here_or_not(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "m.db")) as database:
        database.execute("CREATE TABLE readings (time TEXT, host TEXT, v REAL)")
        database.execute("CREATE VIRTUAL TABLE search USING fts5(words)")
        database.execute("PRAGMA writable_schema = ON")
        database.execute(
            "INSERT INTO sqlite_master VALUES ('table', 'of_another', 'of_another', 0, "
            "'CREATE VIRTUAL TABLE of_another USING missing_module(x)')"
        )
        database.commit()
    profile = collected(Target(name="t", engine="sqlite", url=f"sqlite:///{tmp_path}/m.db"))
    assert [m.name for m in profile.measurements] == ["readings"]
    assert profile.gaps == ()


def test_texts_in_a_column_of_numbers_are_counted_with_who_writes_them(tmp_path: Path) -> None:
    """SQLite stores what is no number as it comes: one gateway of four writes a comma for the point."""
    begin = NOW - timedelta(days=1)
    with closing(sqlite3.connect(tmp_path / "m.db")) as database:
        database.execute("CREATE TABLE log (ts TEXT, device TEXT, sensor TEXT, value REAL, total INTEGER)")
        rows = [
            ((begin + timedelta(seconds=n)).isoformat(), f"gw{n % 4}", f"s{n % 3}", n / 7, 2**53 + n)
            for n in range(4_000)
        ]
        database.executemany(
            "INSERT INTO log VALUES (?, ?, ?, ?, ?)",
            [(t, d, s, f"{v:.2f}".replace(".", ",") if d == "gw3" else v, n) for t, d, s, v, n in rows],
        )
        database.execute("CREATE INDEX log_ts ON log (ts)")
        database.commit()
    profile = collected(Target(name="t", engine="sqlite", url=f"sqlite:///{tmp_path}/m.db"))
    fields = {f.key: f for f in profile.measurements[0].fields}
    found = fields["value"].texts
    assert found is not None
    assert (found.rows, found.filled) == (1_000, 4_000)
    assert "," in found.example
    assert found.by == NumbersBy("device", ("gw0", "gw1", "gw2"), ("gw3",))
    assert fields["total"].texts is None


def test_rows_are_found_by_rowid_only_where_it_is_the_row_s_own_number(tmp_path: Path) -> None:
    numbers = "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
    with closing(sqlite3.connect(tmp_path / "m.db")) as database:
        for name, columns, key in (
            ("berths", "ship TEXT, quay TEXT, id INTEGER PRIMARY KEY", ""),
            ("calls", "ship TEXT, quay TEXT, ROWID TEXT", ""),
            ("computed", "ship TEXT, quay TEXT, id INTEGER, rowid INTEGER AS (id % 2)", ""),
            ("docks", "ship TEXT, quay TEXT, id INTEGER PRIMARY KEY", "WITHOUT ROWID"),
        ):
            database.execute(f"CREATE TABLE {name} ({columns}) {key}")
            database.execute(
                f"INSERT INTO {name} {numbers} "
                "SELECT 'the ferry number ' || (i % 9), 'the quay number ' || (i % 3), i FROM n"
            )
        database.commit()
    spread = []

    def noted(fact: str, given: Mapping[str, Any]) -> None:
        if fact == "row_sample" and given["partial_scan"]:
            spread.append(given["measurement"])

    target = Target(
        name="t", engine="sqlite", url=f"sqlite:///{tmp_path}/m.db", budget=Budget.model_validate({"max_rows": 1000})
    )
    profile = collected_with(target, noted)
    assert len(profile.measurements) == 4
    assert (spread, profile.gaps) == (["berths"], ())
