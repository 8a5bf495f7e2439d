"""Which indexes a database has, by its catalogue."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb

from tests.collecting import collected
from tests.databases import Dataset, Table, write
from tests.servers import Postgresql
from tsaudit.config.settings import Target
from tsaudit.model.profile import Measurement, Profile
from tsaudit.model.storage import Index

HOSTILE = "od\"d, 'x' (y)\\"
QUOTED = '"' + HOSTILE.replace('"', '""') + '"'


def _duckdb(path: Path, *statements: str) -> Profile:
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)
    return collected(Target(name="t", engine="duckdb", url=f"duckdb:///{path}"))


def _sqlite(path: Path, *statements: str) -> Profile:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return collected(Target(name="t", engine="sqlite", url=f"sqlite:///{path}"))


def _indexes(measurement: Measurement) -> dict[str, Index]:
    assert measurement.indexes is not None
    return {index.name: index for index in measurement.indexes}


def _plain(name: str, kind: str, *columns: str | None) -> Index:
    return Index(name, kind, columns, unique=False, constraint=False, partial=False)


def test_indexes_of_duckdb(tmp_path: Path) -> None:
    profile = _duckdb(
        tmp_path / "t.duckdb",
        "CREATE SCHEMA other",
        "CREATE TABLE other.t (x INTEGER PRIMARY KEY)",
        f"CREATE TABLE t (time TIMESTAMP, host VARCHAR, {QUOTED} VARCHAR, v DOUBLE, PRIMARY KEY (time, host))",
        f"CREATE INDEX {QUOTED} ON t (host, {QUOTED})",
        'CREATE INDEX named ON t ("time", v)',
        "CREATE INDEX lowered ON t ((lower(host) || ', \"v\"'), v)",
        "CREATE UNIQUE INDEX once ON t (v)",
        "CREATE TABLE u (a INTEGER, UNIQUE (a))",
        "CREATE TABLE bare (time TIMESTAMP)",
    )
    assert profile.gaps == ()
    bare, t, u, other = profile.measurements
    assert (bare.indexes, other.database) == ((), "other")
    assert _indexes(t) == {
        HOSTILE: _plain(HOSTILE, "art", "host", HOSTILE),
        "named": _plain("named", "art", "time", "v"),
        "lowered": _plain("lowered", "art", None, "v"),
        "once": Index("once", "art", ("v",), unique=True, constraint=False, partial=False),
        "t_time_host_pkey": Index("t_time_host_pkey", "art", ("time", "host"), True, True, partial=False),
    }
    assert [(i.columns, i.unique, i.constraint) for i in u.indexes or ()] == [(("a",), True, True)]
    assert [(i.columns, i.unique, i.constraint) for i in other.indexes or ()] == [(("x",), True, True)]


def test_indexes_of_sqlite(tmp_path: Path) -> None:
    profile = _sqlite(
        tmp_path / "t.db",
        f"CREATE TABLE t (time TIMESTAMP, host TEXT, {QUOTED} TEXT, v REAL, PRIMARY KEY (time, host))",
        f"CREATE INDEX {QUOTED} ON t (host, {QUOTED} DESC)",
        "CREATE INDEX lowered ON t (lower(host), v)",
        "CREATE INDEX high ON t (host) WHERE v > 90",
        "CREATE INDEX any_case ON t (host COLLATE NOCASE)",
        "CREATE UNIQUE INDEX once ON t (v)",
        "CREATE TABLE w (time TEXT, host TEXT, v REAL, PRIMARY KEY (host, time)) WITHOUT ROWID",
        "CREATE INDEX of_w ON w (v)",
        "CREATE TABLE numbered (id INTEGER PRIMARY KEY, time TIMESTAMP)",
        "CREATE TABLE backwards (id INTEGER PRIMARY KEY DESC, time TIMESTAMP)",  # which is not the row's number
        "CREATE TABLE bare (time TIMESTAMP)",
        "CREATE VIEW seen AS SELECT * FROM t",
    )
    assert profile.gaps == ()
    backwards, bare, numbered, t, w = profile.measurements
    assert (bare.indexes, [i.name for i in backwards.indexes or ()]) == ((), ["sqlite_autoindex_backwards_1"])
    assert numbered.indexes == (Index("rowid", "btree", ("id",), unique=True, constraint=True, partial=False),)
    assert _indexes(t) == {
        HOSTILE: _plain(HOSTILE, "btree", "host", HOSTILE),
        "lowered": _plain("lowered", "btree", None, "v"),
        "high": Index("high", "btree", ("host",), unique=False, constraint=False, partial=True),
        "any_case": _plain("any_case", "btree", None),
        "once": Index("once", "btree", ("v",), unique=True, constraint=False, partial=False),
        "sqlite_autoindex_t_1": Index("sqlite_autoindex_t_1", "btree", ("time", "host"), True, True, partial=False),
    }
    assert _indexes(w) == {
        "of_w": _plain("of_w", "btree", "v"),  # the key's columns that it points with are no part of it
        "sqlite_autoindex_w_1": Index("sqlite_autoindex_w_1", "btree", ("host", "time"), True, True, partial=False),
    }


def test_indexes_of_postgresql(postgresql: Postgresql) -> None:
    table = Table("t", ("host", HOSTILE), {"v": "float"}, (), key=("time", "host"))
    target = write(Dataset([table, Table("bare", (), {"v": "float"})]), "postgresql", postgresql)
    with postgresql.connect() as connection:
        connection.execute(f"SET search_path = {target.databases[0]}")
        for statement in (
            f"CREATE INDEX {QUOTED} ON t (host, {QUOTED} DESC)",
            "CREATE INDEX newest ON t (time DESC NULLS LAST)",
            "CREATE INDEX carrying ON t (host) INCLUDE (v)",
            "CREATE INDEX lowered ON t (lower(host), v)",
            "CREATE INDEX high ON t (host) WHERE v > 90",
            "CREATE INDEX by_pattern ON t (host text_pattern_ops, v)",
            'CREATE INDEX other_words ON t (host COLLATE "POSIX")',
            "CREATE INDEX pages ON t USING brin (time)",
            "CREATE UNIQUE INDEX once ON t (v)",
        ):
            connection.execute(statement.encode())
    profile = collected(target)
    assert profile.gaps == ()
    bare, t = profile.measurements
    assert bare.indexes == ()
    found = _indexes(t)
    counted = {(i.size_bytes is not None, i.scans, i.counted_since is not None) for i in found.values()}
    assert counted == {(True, 0, True)}, "since the server was made, if nobody has reset them"
    uncounted: dict[str, Any] = dict.fromkeys(("size_bytes", "scans", "scans_since", "counted_since", "rows_read"))
    assert {name: replace(i, **uncounted) for name, i in found.items()} == {
        HOSTILE: replace(_plain(HOSTILE, "btree", "host", HOSTILE), sorting=("", "desc")),
        "newest": replace(_plain("newest", "btree", "time"), sorting=("desc nulls last",)),
        "carrying": _plain("carrying", "btree", "host", None),
        "lowered": _plain("lowered", "btree", None, "v"),
        "high": Index("high", "btree", ("host",), unique=False, constraint=False, partial=True),
        "by_pattern": _plain("by_pattern", "btree", None, "v"),
        "other_words": _plain("other_words", "btree", None),
        "pages": _plain("pages", "brin", "time"),
        "once": Index("once", "btree", ("v",), unique=True, constraint=False, partial=False),
        "t_pkey": Index("t_pkey", "btree", ("time", "host"), unique=True, constraint=True, partial=False),
    }
