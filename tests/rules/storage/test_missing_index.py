"""STO002: big tables without an index on the time."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.builders import a_count, a_measurement, a_profile
from tests.collecting import collected
from tests.databases import Dataset, write
from tests.planning.places import split
from tests.rules.cases import Case, dataset, hosts, run_rule, table, text_of
from tests.rules.storage.test_unused_or_redundant_index import an_index
from tests.servers import Postgresql
from tsaudit.config.settings import Target
from tsaudit.model.finding import Outcome
from tsaudit.model.plan import StepKind
from tsaudit.model.profile import Index, Measurement, Partitioning, Storage
from tsaudit.model.subject import Subject
from tsaudit.rules.storage.missing_index import missing_index as rule

ANY_SIZE = {"missing-index.min_rows": 1.0}


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
    return a_measurement(**{"indexes": indexes, "rows": a_count(1_000_000)} | changes)


def _message(measurement: Measurement, limits: dict[str, float] | None = None) -> str:
    result = run_rule(rule, a_profile(measurement, engine="sqlite"), limits)
    assert all(finding.impact is None for finding in result.findings)
    return result.findings[0].message if result.findings else ""


BEHIND = "No index starts with time, so a time range over all sources needs a full scan."
NONE = "time is in no index, so every time range needs a full scan."


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (an_index("i", "time", "host"), ""),
        (an_index("i", "host", "time"), BEHIND),
        (an_index("i", "host", "time", kind="brin"), ""),
        (an_index("i", "time", partial=True), NONE),
        (an_index("i", None, "host"), NONE),
        (an_index("i", "time", valid=False), NONE),
    ],
    ids=["leads", "behind", "brin", "partial", "expression", "unfinished"],
)
def test_message_when_there_is_one_index(index: Index, message: str) -> None:
    assert _message(_table(index)) == message


def test_silence_when_the_table_is_not_big() -> None:
    assert not _message(_table(rows=a_count(999_999)))
    assert _message(_table(rows=a_count(999_999)), {"min_rows": 10}) == NONE
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
    connection.execute("INSERT INTO t VALUES (1774900000, 'a', 1.5)")
    connection.commit()
    connection.close()
    profile = collected(Target(name="t", engine="sqlite", url=f"sqlite:///{tmp_path}/t.db"))
    assert profile.measurements[0].time_column == "ts"
    assert run_rule(rule, profile, {"min_rows": 1}).outcome is Outcome.PASS
