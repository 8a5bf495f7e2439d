"""Data sets said once and written to any engine that tests can run: what the end-to-end tests audit.

dataset = Dataset([Table("http", tags=("host",), fields={"ms": "float"},
                         rows=[Row(at, {"host": "a"}, {"ms": 1.0})], key=("time", "host"))])
target = write(dataset, "duckdb", tmp_path / "shop.duckdb")
target = write(dataset, "influxdb1", influxd.url)          # the fixture of tests.servers
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal, Protocol, runtime_checkable
from urllib.parse import urlencode

import pytest
import urllib3

from tests.builders import NOW
from tsaudit.config.settings import Target
from tsaudit.engines.quoting import quote_identifier

Value = float | int | str | bool | datetime | None
TimeAs = Literal["text", "seconds", "milliseconds"]

DUCKDB_TYPES: Final = {
    "float": "DOUBLE",
    "integer": "BIGINT",
    "string": "VARCHAR",
    "boolean": "BOOLEAN",
    "time": "TIMESTAMP",
    "uuid": "UUID",
}
POSTGRESQL_TYPES: Final = {
    "float": "DOUBLE PRECISION",
    "integer": "BIGINT",
    "string": "TEXT",
    "boolean": "BOOLEAN",
    "time": "TIMESTAMPTZ",
    "uuid": "UUID",
}
SQLITE_TYPES: Final = {
    "float": "REAL",
    "integer": "INTEGER",
    "string": "TEXT",
    "boolean": "BOOLEAN",
    "time": "TIMESTAMP",
    "uuid": "TEXT",
}
_BATCH: Final = 50_000


@dataclass(frozen=True, slots=True)
class Row:
    """One row, or point. What is left out, or None, is null; in InfluxDB it is not written."""

    time: datetime
    tags: Mapping[str, str | None] = field(default_factory=dict)
    fields: Mapping[str, Value] = field(default_factory=dict)
    measure_name: str = "metrics"
    """Timestream only. A field `measure_value::double` makes it a record of a single value."""


@dataclass(frozen=True, slots=True)
class Greptime:
    """What GreptimeDB is told of a table besides its columns."""

    options: Mapping[str, str] = field(default_factory=dict)
    """Of the block WITH: `append_mode`, `merge_mode`, `ttl`, `sst_format`, ..."""
    indexes: Mapping[str, str] = field(default_factory=dict)
    """Column to the kinds of index on it, with spaces between: `inverted`, `skipping`, `fulltext`."""
    partition_by: Sequence[str] = ()
    partitions: Sequence[str] = ()
    """The conditions that bound them, one for each."""
    tag_types: Mapping[str, str] = field(default_factory=dict)
    """Tags that are no text, to `float`, `integer` or `time`."""
    time_digits: int = 9
    """Of the time index: 0, 3, 6 or 9 for seconds to nanoseconds."""
    physical: str = ""
    """For the metric engine: the table that keeps the rows of this one. Empty: a table of its own."""


@dataclass(frozen=True, slots=True)
class Table:
    """A measurement. Rows may be any iterable that can be walked more than once."""

    name: str
    tags: Sequence[str] = ()
    fields: Mapping[str, str] = field(default_factory=dict)
    """Name to `float`, `integer`, `string`, `boolean`, `time`, `uuid` (SQL only), `json` (GreptimeDB only), or `any`:
    as each value is."""
    rows: Sequence[Row] = ()
    key: Sequence[str] | None = None
    """Primary key (a unique constraint where a member is null in some row); SQL only. None: no key."""
    indexes: Sequence[Sequence[str]] = ()
    """The columns of each further index; SQL only. It is named after the table and them."""
    partition_by: str = ""
    """PostgreSQL only: what follows PARTITION BY, such as `HASH (host)`."""
    partitions: Sequence[str] = ()
    """The bounds of each, such as `DEFAULT` or `FOR VALUES FROM ('2026-03-01') TO ('2026-04-01')`."""
    time: str = "time"
    """Name of the time column; SQL only."""
    time_as: TimeAs = "text"
    """How SQLite keeps the time."""
    greptime: Greptime = field(default_factory=Greptime)
    timestream: Mapping[str, Any] = field(default_factory=dict)
    """What Timestream's API tells of the table, where it differs from the default."""


@dataclass(frozen=True, slots=True)
class Collection:
    """A collection of documents, as they are; MongoDB only."""

    name: str
    documents: Sequence[Mapping[str, Any]] = ()
    unique: Sequence[str] = ()
    """Fields with a unique index each."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of `create`: validator, timeseries, ..."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """What one database holds."""

    tables: Sequence[Table] = ()
    retention: timedelta | None = None
    """Of InfluxDB's default policy; None keeps forever. Rows older than this cannot be written."""
    partition: timedelta | None = None
    """InfluxDB's shard group duration; None leaves it to the server."""
    database: str | None = None
    """Of InfluxDB, GreptimeDB, MongoDB and Timestream, or the schema of PostgreSQL, replaced when it is there; None
    makes up a new name, so that tests do not meet."""
    collections: Sequence[Collection] = ()
    """Beside the tables, each of which is a collection too; MongoDB only."""
    beside: Sequence[Dataset] = ()
    """Further databases on the server, each with its name; not of engines whose databases are files."""
    timestream: Mapping[str, Any] = field(default_factory=dict)
    """What Timestream's API tells of the database, and the `ScheduledQueries` of the account."""


_numbers = itertools.count()


@runtime_checkable
class Sql(Protocol):
    """A PostgreSQL that data sets can be written to."""

    audit_url: str

    def connect(self) -> Any:
        """A psycopg connection that may do anything."""
        ...


@runtime_checkable
class Server(Protocol):
    """An InfluxDB 2.x or 3, a GreptimeDB or a Timestream that data sets can be written to."""

    url: str
    login: Mapping[str, str]
    """Settings of a target that may read it."""

    def write(self, dataset: Dataset) -> str:
        """The name of the bucket or database that holds it now."""
        ...


def write(dataset: Dataset, engine: str, where: str | Path | Server | Sql, **settings: Any) -> Target:
    """Write the data set and return a target for it.

    `where`: a file for DuckDB and SQLite, a server's URL for InfluxDB 1.x and MongoDB, a conversation for InfluxDB 2.x,
    a stand-in for InfluxDB 3, GreptimeDB or Timestream, a server for PostgreSQL, whose audit role is granted what
    `grants.md` says.
    `settings`: further settings of the target, such as `budget` or `window`.
    """
    databases: tuple[str, ...] = ()
    all_of_it = (dataset, *dataset.beside)
    if engine == "influxdb1":
        url = str(where)
        databases = tuple(_write_influxdb(one, url) for one in all_of_it)
    elif engine == "mongodb":
        url = str(where)
        databases = tuple(_write_mongodb(one, url) for one in all_of_it)
    elif isinstance(where, Server):
        url = where.url
        databases = tuple(where.write(one) for one in all_of_it)
        settings = {**where.login} | settings
    elif isinstance(where, Sql):
        url = where.audit_url
        databases = tuple(_write_postgresql(one, where) for one in all_of_it)
    elif dataset.beside:
        raise ValueError(f"{engine} has no databases beside each other")
    elif engine == "duckdb":
        url = f"duckdb:///{where}"
        _write_duckdb(dataset, str(where))
    elif engine == "sqlite":
        url = f"sqlite:///{where}"
        _write_sqlite(dataset, str(where))
    else:
        raise ValueError(f"no writer for {engine}")
    return Target(**{"name": "test", "engine": engine, "url": url, "databases": databases} | settings)


def times(count: int, step: timedelta = timedelta(minutes=1), end: datetime = NOW) -> list[datetime]:
    """`count` instants, oldest first, the last one `step` before `end`."""
    return [end - step * (count - i) for i in range(count)]


# --- SQL ---------------------------------------------------------------------------------------------------------


def _create(table: Table, types: Mapping[str, str], time_type: str) -> str:
    def quoted(name: str) -> str:
        return quote_identifier("duckdb", name)

    columns = [f"{quoted(table.time)} {time_type}"]
    columns += [f"{quoted(tag)} {types['string']}" for tag in table.tags]
    columns += [f"{quoted(key)} {types.get(kind, '')}" for key, kind in table.fields.items()]
    if table.key is not None:
        nullable = any(row.tags.get(tag) is None for tag in table.key if tag in table.tags for row in table.rows)
        members = ", ".join(map(quoted, table.key))
        columns.append(f"{'UNIQUE' if nullable else 'PRIMARY KEY'} ({members})")
    return f"CREATE TABLE {quoted(table.name)} ({', '.join(columns)})"


def create_indexes(table: Table, engine: str) -> Iterator[str]:
    """The statements that make the table's further indexes."""
    for columns in table.indexes:
        name, *members = (quote_identifier(engine, n) for n in ("_".join((table.name, *columns, "idx")), *columns))
        yield f"CREATE INDEX {name} ON {quote_identifier(engine, table.name)} ({', '.join(members)})"


def _columns(table: Table, rows: Sequence[Row]) -> dict[str, list[Value]]:
    columns: dict[str, list[Value]] = {table.time: [row.time for row in rows]}
    columns |= {tag: [row.tags.get(tag) for row in rows] for tag in table.tags}
    return columns | {key: [row.fields.get(key) for row in rows] for key in table.fields}


def _write_duckdb(dataset: Dataset, where: str | Path) -> None:
    import duckdb
    import pyarrow as pa

    arrow = {"float": pa.float64(), "integer": pa.int64(), "boolean": pa.bool_(), "time": pa.timestamp("us")}
    with duckdb.connect(str(where)) as connection:
        for table in dataset.tables:
            connection.execute(_create(table, DUCKDB_TYPES, "TIMESTAMP"))
            types = {table.time: pa.timestamp("us")} | {k: arrow.get(v, pa.string()) for k, v in table.fields.items()}
            arrays = {
                f"c{i}": pa.array([_naive(v) for v in values], types.get(name, pa.string()))
                for i, (name, values) in enumerate(_columns(table, table.rows).items())
            }
            connection.register("written", pa.table(arrays))
            connection.execute(f"INSERT INTO {quote_identifier('duckdb', table.name)} SELECT * FROM written")
            connection.unregister("written")
            for statement in create_indexes(table, "duckdb"):
                connection.execute(statement)


def _write_postgresql(dataset: Dataset, where: Sql) -> str:
    schema = dataset.database or f"test_{next(_numbers)}"
    quoted = quote_identifier("postgresql", schema)
    with where.connect() as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {quoted} CASCADE")
        connection.execute(f"CREATE SCHEMA {quoted}")
        connection.execute(f"SET search_path = {quoted}")
        for table in dataset.tables:
            by = f" PARTITION BY {table.partition_by}" if table.partition_by else ""
            connection.execute(_create(table, POSTGRESQL_TYPES, POSTGRESQL_TYPES["time"]) + by)
            name = quote_identifier("postgresql", table.name)
            for i, bounds in enumerate(table.partitions):
                part = quote_identifier("postgresql", f"{table.name}_{i}")
                connection.execute(f"CREATE TABLE {part} PARTITION OF {name} {bounds}")
            with connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
                for row in zip(*_columns(table, table.rows).values(), strict=True):
                    copy.write_row(row)
            for statement in create_indexes(table, "postgresql"):
                connection.execute(statement)
        connection.execute(f"GRANT USAGE ON SCHEMA {quoted} TO tsaudit")
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {quoted} TO tsaudit")
    return schema


def _write_sqlite(dataset: Dataset, where: str | Path) -> None:
    import sqlite3

    connection = sqlite3.connect(str(where))
    with connection:
        for table in dataset.tables:
            time_type = SQLITE_TYPES["time"] if table.time_as == "text" else "INTEGER"
            connection.execute(_create(table, SQLITE_TYPES, time_type))
            columns = _columns(table, table.rows)
            columns[table.time] = [_sqlite_time(row.time, table.time_as) for row in table.rows]
            places = ", ".join("?" * len(columns))
            rows = zip(*([_sqlite_value(v) for v in values] for values in columns.values()), strict=True)
            connection.executemany(f"INSERT INTO {quote_identifier('sqlite', table.name)} VALUES ({places})", rows)
            for statement in create_indexes(table, "sqlite"):
                connection.execute(statement)
    connection.close()


def _naive(value: Value) -> Value:
    return value.astimezone(UTC).replace(tzinfo=None) if isinstance(value, datetime) else value


def _sqlite_value(value: Value) -> Any:
    return _sqlite_time(value, "text") if isinstance(value, datetime) else value


def _sqlite_time(time: datetime, time_as: TimeAs) -> str | int:
    if time_as == "text":
        return time.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
    return round(time.timestamp() * (1 if time_as == "seconds" else 1000))


# --- MongoDB -----------------------------------------------------------------------------------------------------


def _write_mongodb(dataset: Dataset, url: str) -> str:
    """The name of the database that holds it now; one of that name is replaced.

    What FerretDB cannot keep, for want of time series, validators or quoting, skips the test.
    """
    import pymongo

    name = dataset.database or f"test_{next(_numbers)}"
    with pymongo.MongoClient[dict[str, Any]](url) as client:
        client.drop_database(name)
        for collection in (*map(_as_collection, dataset.tables), *dataset.collections):
            try:
                _write_collection(client[name], collection)
            except pymongo.errors.OperationFailure as error:
                if "ferretdbVersion" in client.admin.command("buildInfo"):
                    pytest.skip(f"FerretDB does not keep it: {error}")
                raise
    return name


def _write_collection(database: Any, collection: Collection) -> None:
    kept = database.create_collection(collection.name, **collection.options)
    for key in collection.unique:
        kept.create_index(key, unique=True)
    for first in range(0, len(collection.documents), _BATCH):
        # Copied: the driver puts the `_id` it makes into the document it is given.
        kept.insert_many([dict(d) for d in collection.documents[first : first + _BATCH]])


def _as_collection(table: Table) -> Collection:
    """A document for each row, what is null left out."""
    return Collection(
        table.name,
        [
            {table.time: row.time}
            | {k: row.tags[k] for k in table.tags if row.tags.get(k) is not None}
            | {k: row.fields[k] for k in table.fields if row.fields.get(k) is not None}
            for row in table.rows
        ],
    )


# --- InfluxDB 1.x ------------------------------------------------------------------------------------------------


def influxql(url: str, statement: str, **parameters: str) -> Any:
    """Run a statement; the decoded answer. AssertionError when the server refuses it.

    `parameters` are InfluxDB's own: `db`, `u` and `p` (a login), `rp`.
    """
    body = urlencode({"q": statement})
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    address = f"{url}/query?{urlencode(parameters)}"
    answer = urllib3.request("POST", address, body=body, headers=headers, timeout=120).json()
    errors = [answer, *answer.get("results", [])]
    assert not any("error" in e for e in errors), answer
    return answer


def write_lines(url: str, database: str, lines: Iterator[str], policy: str = "", **parameters: str) -> None:
    """Write line protocol with times in nanoseconds, in batches."""
    query = {"db": database, "precision": "ns", "rp": policy} | parameters
    address = f"{url}/write?" + urlencode({k: v for k, v in query.items() if v})
    while batch := list(itertools.islice(lines, _BATCH)):
        response = urllib3.request("POST", address, body="\n".join(batch).encode(), timeout=120)
        assert response.status == 204, response.data


def line(table: Table, row: Row) -> str | None:
    """The row as line protocol; None when it has no field, as InfluxDB keeps no such points."""
    tags = "".join(f",{_escape(k)}={_escape(tag)}" for k in table.tags if (tag := row.tags.get(k)) is not None)
    values = [
        f"{_escape(k)}={_influx_value(value, kind)}"
        for k, kind in table.fields.items()
        if (value := row.fields.get(k)) is not None
    ]
    if not values:
        return None
    nanoseconds = round(row.time.timestamp() * 1_000_000) * 1000
    return f"{_escape(table.name, ', ')}{tags} {','.join(values)} {nanoseconds}"


def _write_influxdb(dataset: Dataset, url: str) -> str:
    database = dataset.database or f"test_{next(_numbers)}"
    policy = ""
    if dataset.retention:
        policy += f" DURATION {_seconds(dataset.retention)}"
    if dataset.partition:
        policy += f" SHARD DURATION {_seconds(dataset.partition)}"
    name = quote_identifier("influxdb1", database)
    influxql(url, f"CREATE DATABASE {name}" + (f" WITH{policy} NAME kept" if policy else ""))
    for table in dataset.tables:
        write_lines(url, database, (text for row in table.rows if (text := line(table, row)) is not None))
    return database


def _seconds(duration: timedelta) -> str:
    return f"{round(duration.total_seconds())}s"


def _escape(text: str, special: str = ", =") -> str:
    return "".join("\\" + c if c in special else c for c in text)


def _influx_value(value: Value, kind: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value}" if kind == "float" else f"{value}i"
    if isinstance(value, float):
        return repr(value)
    text = value.isoformat() if isinstance(value, datetime) else str(value)
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


CROWDED_SERIES: Final = 100_000
CROWDED_WEEKS: Final = 4


def write_crowded(url: str, weeks: int = CROWDED_WEEKS) -> Target:
    """100,000 series in one measurement `hits` of `crowded`, a point of each in each of four weekly shards.

    Every user has one host and every host one region: tags `host` and `region` depend on `user_id`. Field `ms` is
    always there, `error` in every tenth point. The newest points are a minute before NOW.
    """
    database = "crowded"
    influxql(url, f"CREATE DATABASE {database} WITH SHARD DURATION 7d")

    def lines() -> Iterator[str]:
        for week in range(weeks):
            nanoseconds = round((NOW - timedelta(minutes=1, weeks=week)).timestamp()) * 1_000_000_000
            for user in range(CROWDED_SERIES):
                host = user % 50
                error = ',error="timeout"' if user % 10 == week else ""
                yield f"hits,host=h{host},region=r{host % 5},user_id=u{user} ms={user % 7}.5{error} {nanoseconds}"

    write_lines(url, database, lines())
    return Target(name="crowded", engine="influxdb1", url=url, databases=(database,))
