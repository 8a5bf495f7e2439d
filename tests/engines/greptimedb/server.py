"""A GreptimeDB to connect to, with a table that has a bit of everything."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pymysql

from tests.databases import Dataset, Greptime, Row, Table, times, write
from tests.engines.greptimedb.double import ADMIN, GreptimeDB
from tsaudit.config.settings import Target


@contextlib.contextmanager
def running(version: str = "1.1.4", **settings: Any) -> Iterator[GreptimeDB]:
    server = GreptimeDB(version, **settings)
    try:
        yield server
    finally:
        server.stop()


def a_table(rows: int = 60, **settings: Any) -> Table:
    written = [
        Row(
            at,
            {"host": f"h{i % 6}", "region": None if i % 6 == 0 else "eu"},
            {"ms": float(i), "error": None if i % 9 else "x", "up": i % 2 == 0, "n": i},
        )
        for i, at in enumerate(times(rows, timedelta(hours=1)))
    ]
    return Table(
        "http",
        ("region", "host"),
        {"ms": "float", "error": "string", "up": "boolean", "n": "integer"},
        written,
        key=("host", "region", "ts"),
        time="ts",
        greptime=Greptime(**settings),
    )


DATA = Dataset(
    [
        a_table(
            options={"append_mode": "true", "ttl": "30days", "comment": "it's a\n'b' = \"c\""},
            indexes={"region": "inverted skipping", "error": "fulltext"},
            partition_by=("host",),
            partitions=("host < 'h2'", "host >= 'h2'"),
        )
    ],
    database="shop",
)


def a_target(server: GreptimeDB, dataset: Dataset = DATA, **settings: Any) -> Target:
    return write(dataset, "greptimedb", server, **settings)


def sent(server: GreptimeDB, *words: str) -> list[str]:
    """The statements that were sent with all of these words."""
    return [s for s in server.statements if all(word in s for word in words)]


def asked(server: GreptimeDB, statement: str, user: tuple[str, str] = ADMIN) -> list[tuple[Any, ...]]:
    """What a plain client gets."""
    if not server.statements:
        server.write(DATA)
    port = int(server.url.rpartition(":")[2])
    with (
        pymysql.connect(host="127.0.0.1", port=port, user=user[0], password=user[1]) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)
        return [tuple(row) for row in cursor.fetchall()]
