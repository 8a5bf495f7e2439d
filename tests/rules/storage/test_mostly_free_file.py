"""STO020: files that are mostly left from deleted rows."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import duckdb
import pytest

from tests.builders import a_profile
from tests.collecting import collected
from tests.databases import Dataset, write
from tests.planning.places import file_of
from tests.rules.cases import hosts, run_rule, table
from tsaudit.model.finding import Finding, Severity
from tsaudit.model.storage import Storage
from tsaudit.rules.storage.mostly_free_file import mostly_free_file as rule

CASES = ()
"""No data set deletes rows; files are emptied below."""
GB = 1_000_000_000


def _found(storage: Storage | None, engine: str = "sqlite") -> Finding | None:
    findings = run_rule(rule, a_profile(engine=engine, storage=storage)).findings
    return findings[0] if findings else None


def test_file_of_which_most_is_free() -> None:
    found = _found(Storage(10 * GB, None, 8 * GB))
    assert found is not None
    assert (found.severity, found.message) == (
        Severity.WARNING,
        "80% of the file is free: it has 10 GB, of which 2 GB are used.",
    )
    assert "VACUUM" in found.fix
    small = _found(Storage(100_000_000, None, 90_000_000))
    assert small is not None
    assert small.severity is Severity.NOTE


@pytest.mark.parametrize("free", [None, 0, 6 * GB])
def test_silence_when_the_contents_may_just_have_been_written_anew(free: int | None) -> None:
    assert _found(Storage(10 * GB, None, free)) is None
    assert _found(None) is None


@pytest.mark.full
@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_rows_deleted_from_a_file(engine: str, tmp_path: Path) -> None:
    tables = [table("kept", hosts(2)), table("emptied", hosts(20), rows=5000)]
    target = write(Dataset(tables), engine, tmp_path / "a.db")
    before = collected(target).storage
    assert before is not None
    assert run_rule(rule, collected(target)).findings == ()
    if engine == "duckdb":
        with duckdb.connect(file_of(target)) as connection:
            connection.execute("DROP TABLE emptied")
            connection.execute("CHECKPOINT")
    else:
        with sqlite3.connect(file_of(target)) as lite:
            lite.execute("DELETE FROM emptied")
    after = collected(target)
    assert after.storage is not None
    assert after.storage.free_bytes is not None
    assert after.storage.data_bytes is not None
    assert after.storage.free_bytes > 0.6 * after.storage.data_bytes
    assert [f.subject.measurement for f in run_rule(rule, after).findings] == [""]
