"""Files of other kinds: one line that says what it is, and what to do."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.collecting import file_with
from tests.engines.traits import ARE_FILES, HAVE_FILES_OF_THEIR_OWN, url_of
from tsaudit.engines.connection import Access, ConnectorError
from tsaudit.engines.engine import Engine
from tsaudit.engines.opening import open_connection
from tsaudit.engines.registry import ENGINES
from tsaudit.engines.sql import FileEngine
from tsaudit.engines.sql.connector import what_else
from tsaudit.engines.sqlite import Sqlite

TABLE = pa.table({"time": [1, 2], "host": ["a", "b"]})
TABLE_MADE = "CREATE TABLE t (x INTEGER)"


KINDS: dict[str, tuple[Callable[[Path], object], str]] = {
    "parquet": (lambda p: pyarrow.parquet.write_table(TABLE, p), "is not a {engine} database; check the path. Load"),
    "text": (lambda p: p.write_text("buy milk\n" * 300), "is not a {engine} database; check the path."),
    "random": (lambda p: p.write_bytes(b"\x01" + os.urandom(4000)), "is not a {engine} database; check the path."),
    "folder": (lambda p: p.mkdir(), "is a directory"),
}


def refusal(path: Path, engine: str) -> str:
    with (
        pytest.raises(ConnectorError) as caught,
        ENGINES[engine].connect(Access(url_of(engine, path))),
    ):
        raise AssertionError("it was opened")
    return str(caught.value)


@pytest.mark.parametrize("engine", sorted(ARE_FILES))
@pytest.mark.parametrize("kind", KINDS)
def test_file_of_another_kind_is_named(kind: str, engine: str, tmp_path: Path) -> None:
    """Whatever its name says."""
    make, expected = KINDS[kind]
    path = tmp_path / f"metrics.{engine}"
    make(path)
    said = refusal(path, engine)
    assert said.startswith(f"{path} {expected.format(engine=engine)}")
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize(("engine", "other"), list(itertools.permutations(sorted(HAVE_FILES_OF_THEIR_OWN), 2)))
def test_database_of_another_engine_names_it(engine: str, other: str, tmp_path: Path) -> None:
    file_with(other, tmp_path / "x.db", TABLE_MADE)
    assert f"x.db is a {other} database; set `engine: {other}`" in refusal(tmp_path / "x.db", engine)


@pytest.mark.parametrize("engine", sorted(ARE_FILES))
def test_database_of_the_engine_is_opened(engine: str, tmp_path: Path) -> None:
    """Whatever its name says."""
    target = file_with(engine, tmp_path / "data.csv", TABLE_MADE)
    with open_connection(target) as connection:
        assert connection.server_version


class Extended(Sqlite):
    """An engine of another package that reads SQLite's files."""

    name = "acmedb"
    file_magic = (0, b"ACME")


class Unmarked(FileEngine):
    """One that does not say how its files begin."""

    name = "acmedb"


@pytest.mark.parametrize(
    ("engine", "head", "expected"),
    [
        (Extended(), b"ACME 1", ""),
        (Extended(), b"SQLite format 3\0", ""),
        (Extended(), b"12345678DUCK", "is a duckdb database"),
        (Extended(), b"PAR1", "is not a acmedb database"),
        (Unmarked(), b"SQLite format 3\0", ""),
        (Unmarked(), b"PAR1", ""),
    ],
)
def test_files_of_an_engine_of_another_package(
    engine: Engine, head: bytes, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ENGINES._plug_ins(), "acmedb", engine)
    said = what_else(head, "acmedb")
    assert said.startswith(expected)
    assert bool(said) == bool(expected)


@given(st.binary(max_size=600))
def test_any_bytes_are_one_line(head: bytes) -> None:
    said = what_else(head[:512], "sqlite")
    assert said.startswith("is ") or not head or head.startswith(b"SQLite format 3\0")
    assert said.isprintable()
