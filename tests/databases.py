"""Data sets said once and written to any engine that tests can run: what the end-to-end tests audit.

dataset = Dataset([Table("http", tags=("host",), fields={"ms": "float"},
                         rows=[Row(at, {"host": "a"}, {"ms": 1.0})], key=("time", "host"))])
target = write(dataset, "duckdb", tmp_path / "shop.duckdb")
target = write(dataset, "influxdb1", influxd.url)          # the fixture of tests.servers
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal, NoReturn, Protocol, runtime_checkable
from urllib.parse import urlencode

import urllib3

from tests.builders import NOW
from tsaudit.config.settings import Target
from tsaudit.engines.registry import ENGINES

Value = float | int | str | bool | datetime | None
TimeAs = Literal["text", "seconds", "milliseconds"]

_BATCH: Final = 50_000
_HERE: Final = "tests/databases.py"


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
    expire: Mapping[str, int] = field(default_factory=dict)
    """Fields that hold a time, to how many seconds later their documents are removed: a TTL index each."""
    indexes: Sequence[Sequence[str]] = ()
    """The fields of each further index, all ascending."""
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
    rejected: Sequence[Table] = ()
    """Tables whose points the server rejects, by a field that has another type; InfluxDB 1.x only."""
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


@dataclass(frozen=True, slots=True)
class Written:
    """Where a data set is now. What the module `writing` in an engine's folder of the tests returns."""

    url: str
    databases: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of a target that may read it."""


class Writing(Protocol):
    """What `tests/engines/<engine>/writing.py` defines. An engine that extends another may take over the other's."""

    def place(self, request: Any, folder: Path) -> Any:
        """Where the tests find a database of the engine: a file in the folder, or what a fixture starts."""
        ...

    def written(self, dataset: Dataset, where: Any) -> Written:
        """Write the data set there, in place of databases of the same name."""
        ...

    def server(self, where: Any, target: Target) -> Any:
        """What runs the statements of plans there, a `tests.planning.places.Server`; None if nothing does."""
        ...


def writing_of(engine: str) -> Writing:
    """The engine's module; without it, or one of its functions, the test fails with one line."""
    path = f"tests/engines/{engine}/writing.py"
    if not (Path(__file__).parents[1] / path).is_file():
        _fail(f"there is no {path}: copy tests/engines/sqlite/writing.py; `Writing` in {_HERE} says what it needs")
    found: Any = importlib.import_module(f"tests.engines.{engine}.writing")
    if missing := [name for name in ("place", "written", "server") if not callable(getattr(found, name, None))]:
        _fail(f"{path} has no function `{missing[0]}`: add it, as `Writing` in {_HERE} says")
    module: Writing = found
    return module


def _fail(line: str) -> NoReturn:
    import pytest

    pytest.fail(line, pytrace=False)


def write(dataset: Dataset, engine: str, where: str | Path | Server | Sql, **settings: Any) -> Target:
    """Write the data set and return a target for it.

    `where`: a file for DuckDB and SQLite, a server's URL for InfluxDB 1.x and MongoDB, a conversation for InfluxDB 2.x,
    a stand-in for InfluxDB 3, GreptimeDB or Timestream, a server for PostgreSQL, whose audit role is granted what
    `grants.md` says.
    `settings`: further settings of the target, such as `budget` or `window`.
    """
    found = writing_of(engine).written(dataset, where)
    about = {"name": "test", "engine": engine, "url": found.url, "databases": found.databases}
    return Target(**about | dict(found.settings) | settings)


def write_to_server(dataset: Dataset, where: Server) -> Written:
    """Into databases of a server that knows itself how it is written to."""
    return Written(where.url, tuple(where.write(one) for one in (dataset, *dataset.beside)), where.login)


def new_name() -> str:
    """The name of a database that no other test has."""
    return f"test_{next(_numbers)}"


def times(count: int, step: timedelta = timedelta(minutes=1), end: datetime = NOW) -> list[datetime]:
    """`count` instants, oldest first, the last one `step` before `end`."""
    return [end - step * (count - i) for i in range(count)]


# --- SQL ---------------------------------------------------------------------------------------------------------


def create_table(table: Table, types: Mapping[str, str], time_type: str) -> str:
    """The statement that makes the table. `types`: by the kinds of `Table.fields`."""

    def quoted(name: str) -> str:
        return ENGINES["duckdb"].language.identifier(name)

    columns = [f"{quoted(table.time)} {time_type}"]
    columns += [f"{quoted(tag)} {types['string']}" for tag in table.tags]
    columns += [f"{quoted(key)} {types[kind]}" for key, kind in table.fields.items()]
    if table.key is not None:
        nullable = any(row.tags.get(tag) is None for tag in table.key if tag in table.tags for row in table.rows)
        members = ", ".join(map(quoted, table.key))
        columns.append(f"{'UNIQUE' if nullable else 'PRIMARY KEY'} ({members})")
    return f"CREATE TABLE {quoted(table.name)} ({', '.join(columns)})"


def create_indexes(table: Table, engine: str) -> Iterator[str]:
    """The statements that make the table's further indexes."""
    for columns in table.indexes:
        name, *members = (
            ENGINES[engine].language.identifier(n) for n in ("_".join((table.name, *columns, "idx")), *columns)
        )
        yield f"CREATE INDEX {name} ON {ENGINES[engine].language.identifier(table.name)} ({', '.join(members)})"


def columns_of(table: Table, rows: Sequence[Row]) -> dict[str, list[Value]]:
    """Column to its values, in the order of the table."""
    columns: dict[str, list[Value]] = {table.time: [row.time for row in rows]}
    columns |= {tag: [row.tags.get(tag) for row in rows] for tag in table.tags}
    return columns | {key: [row.fields.get(key) for row in rows] for key in table.fields}


# --- InfluxDB 1.x ------------------------------------------------------------------------------------------------


def without_use(text: str, database: str) -> str:
    """An InfluxQL statement of a plan without the shell's command before it, which the server does not know."""
    use = f'USE "{database}"\n'
    assert text.startswith(use) or not text.startswith("DROP"), "pasted into the shell, it would need a database"
    return text.removeprefix(use)


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


def write_lines(
    url: str, database: str, lines: Iterator[str], policy: str = "", status: int = 204, **parameters: str
) -> None:
    """Write line protocol with times in nanoseconds, in batches. `status`: what the server must answer."""
    query = {"db": database, "precision": "ns", "rp": policy} | parameters
    address = f"{url}/write?" + urlencode({k: v for k, v in query.items() if v})
    while batch := list(itertools.islice(lines, _BATCH)):
        response = urllib3.request("POST", address, body="\n".join(batch).encode(), timeout=120)
        assert response.status == status, response.data


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
