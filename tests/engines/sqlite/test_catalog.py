"""What SQLite lists that is no table of rows."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.collecting import collected
from tsaudit.config.settings import Target


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
