"""Files of other kinds: one line that says what it is, and what to do."""

from __future__ import annotations

import bz2
import csv
import gzip
import itertools
import json
import lzma
import os
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
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


def dump(path: Path) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t (x)")
        path.write_text("\n".join(connection.iterdump()))


def journal(path: Path) -> None:
    """The write-ahead log that SQLite leaves while a connection is open."""
    base = path.with_suffix(".db")
    connection = sqlite3.connect(base)
    connection.execute("PRAGMA journal_mode = wal")
    connection.execute("CREATE TABLE t (x)")
    path.write_bytes(Path(f"{base}-wal").read_bytes())
    connection.close()


def rows(path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=";").writerows([["zeit", "größe"], ["2026-01-01", "1"]])


def zipped(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.db", "x")


KINDS: dict[str, tuple[Callable[[Path], object], str]] = {
    "parquet": (
        lambda p: pyarrow.parquet.write_table(TABLE, p),
        "is a Parquet file, not a {engine} database; load it",
    ),
    "feather": (lambda p: pyarrow.feather.write_feather(TABLE, str(p)), "is an Arrow file"),
    "orc": (lambda p: pyarrow.orc.write_table(TABLE, str(p)), "is an ORC file"),
    "gzip": (
        lambda p: p.write_bytes(gzip.compress(b"x" * 99)),
        "is compressed by gzip, not a {engine} database; unpack",
    ),
    "bzip2": (lambda p: p.write_bytes(bz2.compress(b"x" * 99)), "is compressed by bzip2"),
    "xz": (lambda p: p.write_bytes(lzma.compress(b"x" * 99)), "is compressed by xz"),
    "zip": (zipped, "is a ZIP archive"),
    "csv": (rows, "is a CSV file"),
    "json": (lambda p: p.write_text(json.dumps([{"a": 1}])), "is a JSON file"),
    "sql": (dump, "is a text file with SQL, not a {engine} database; run it"),
    "text": (lambda p: p.write_text("buy milk\n" * 300), "is a text file"),
    "log": (journal, "is the write-ahead log of a SQLite database"),
    "random": (lambda p: p.write_bytes(b"\x01" + os.urandom(4000)), "is not a {engine} database; check the path"),
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
        (Extended(), b"PAR1", "is a Parquet file, not a acmedb database"),
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
