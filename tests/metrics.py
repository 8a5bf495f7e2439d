"""A small SQLite database with something to find, for tests of what starts an audit."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


def write_metrics(path: Path) -> None:
    """A table of 90 rows, one each half hour until now, from three hosts: its name and the type of `load` are findings.

    An audit of the day before finds the same: that is what a schedule of 6:00 asks for when it is started earlier.
    """
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("create table CPUUSE (time text, host text, usage real, load text)")
        rows = [(f"-{30 * i} minutes", f"h{i % 3}", i / 7, f"{(7 * i % 90) / 7:.2f}") for i in range(90)]
        connection.executemany("insert into CPUUSE values (datetime('now', ?), ?, ?, ?)", rows)
