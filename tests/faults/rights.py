"""What a user may lack, what `tsaudit check` says of it, and what an audit then cannot measure.

The cases are the table in `docs/reliability.md`; `test_rights` holds every engine to it.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Final

import pytest

from tests.databases import Collection, Dataset, Row, Table, influxql, line, times, write, write_lines
from tests.engines.greptimedb.double import GreptimeDB
from tests.engines.influxdb2.conversations import Answer, conversation
from tests.engines.influxdb3.double import READER, InfluxDB3
from tests.engines.mongodb.double import MongoDB, User
from tests.engines.timestream.double import AUDITOR, STRANGER, Timestream, shipped_policy
from tests.faults.http_engines import when_there
from tests.servers import ADMIN, PASSWORD, Influxd, Postgresql
from tsaudit.config.settings import Target

EVERYTHING: Final = "everything"
NAMES: Final = ("cpu", "disk", "secret")
DATABASE: Final = "{database}"
"""Stands for the database in what `check` says."""

Setup = Callable[[pytest.FixtureRequest], AbstractContextManager[Target]]
"""A target with three tables, of which the user may not read everything, for as long as the context lasts."""


@dataclass(frozen=True, slots=True)
class Case:
    """One row of the table."""

    engine: str
    lacking: str
    says: str
    """A part of what `check` prints: the statement or the setting that helps. Empty: nothing is missing."""
    lost: Mapping[str, str]
    """Table, empty for all of them or the target, to `EVERYTHING` or the facts that the audit cannot measure."""
    setup: Setup


def dataset(**settings: Any) -> Dataset:
    """Three tables."""
    rows = [Row(at, {"host": f"h{i % 5}"}, {"usage": i / 7}) for i, at in enumerate(times(60))]
    tables = [Table(name, ("host",), {"usage": "float"}, rows, key=("time", "host")) for name in NAMES]
    return Dataset(tables, **settings)


def as_user(target: Target, **login: str) -> Target:
    """The target with another login."""
    return Target(**target.model_dump() | login)


# --- PostgreSQL ------------------------------------------------------------------------------------------------------

_numbers: Final = itertools.count()


def _postgresql(
    *changes: str, after: Sequence[str] = (), tables: Callable[[], Dataset] = dataset, **settings: Any
) -> Setup:
    """`changes`: statements that take rights away, in which `{schema}` and the audit's `{role}` stand; `after` gives
    back what is not the schema's.
    """

    @contextmanager
    def setup(request: pytest.FixtureRequest) -> Iterator[Target]:
        server: Postgresql = request.getfixturevalue("postgresql")
        target = write(tables(), "postgresql", server, **settings)
        names = {"schema": target.databases[0], "role": f"auditor_{next(_numbers)}"}
        server.execute(f"CREATE ROLE {names['role']} LOGIN PASSWORD '{PASSWORD}' IN ROLE tsaudit")
        for statement in changes:
            server.execute(statement.format(**names))
        try:
            yield as_user(target, username=names["role"])
        finally:
            for statement in after:
                server.execute(statement.format(**names))

    return setup


def _divided() -> Dataset:
    """One of the tables has partitions."""
    *others, secret = dataset().tables
    rows = {"rows": secret.rows, "key": secret.key, "partition_by": "RANGE (time)", "partitions": ("DEFAULT",)}
    return Dataset([*others, Table("secret", ("host",), {"usage": "float"}, **rows)])


_ALL: Final = "REVOKE SELECT ON ALL TABLES IN SCHEMA {schema} FROM tsaudit"
_ONE: Final = "REVOKE SELECT ON {schema}.secret FROM tsaudit"
_POSTGRESQL: Final = (
    Case(
        "postgresql",
        "`SELECT` on all tables",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {DATABASE} TO",
        {"": EVERYTHING},
        _postgresql(_ALL),
    ),
    Case(
        "postgresql",
        "`USAGE` on the schema",
        f"GRANT USAGE ON SCHEMA {DATABASE} TO",
        {"": EVERYTHING},
        _postgresql("REVOKE USAGE ON SCHEMA {schema} FROM tsaudit"),
    ),
    Case(
        "postgresql",
        "`SELECT` on one table of three",
        f"GRANT SELECT ON {DATABASE}.secret TO",
        {"secret": EVERYTHING},
        _postgresql(_ONE),
    ),
    Case(
        "postgresql",
        "`SELECT` on one column of a table",
        f"GRANT SELECT ON {DATABASE}.secret TO",
        {"secret": EVERYTHING},
        _postgresql(_ONE, "GRANT SELECT (time, host) ON {schema}.secret TO tsaudit"),
    ),
    Case(
        "postgresql",
        "`BYPASSRLS`, where one table has row-level security",
        "ALTER ROLE auditor",
        {"secret": EVERYTHING},
        _postgresql("ALTER TABLE {schema}.secret ENABLE ROW LEVEL SECURITY"),
    ),
    Case(
        "postgresql",
        "`SELECT` on the partitions, but not on their table",
        "",
        {},
        _postgresql("REVOKE SELECT ON {schema}.secret_0 FROM tsaudit", tables=_divided),
    ),
    Case(
        "postgresql",
        "`SELECT` on a table, but not on its partitions",
        f"GRANT SELECT ON {DATABASE}.secret TO",
        {"secret": EVERYTHING},
        _postgresql(_ONE, tables=_divided),
    ),
    Case(
        "postgresql",
        "`SELECT` on `pg_stats`, where tables are too big to be read",
        "permission denied for view pg_stats",
        {"": "column_statistics, table_status"},
        _postgresql(
            "ANALYZE {schema}.cpu, {schema}.disk, {schema}.secret",
            "REVOKE SELECT ON pg_catalog.pg_stats FROM PUBLIC",
            after=["GRANT SELECT ON pg_catalog.pg_stats TO PUBLIC"],
            budget={"max_scan_rows": 10},
        ),
    ),
    Case(
        "postgresql",
        "`EXECUTE` on `pg_table_size`",
        "permission denied for function pg_table_size",
        {"": "storage"},
        _postgresql(
            "REVOKE EXECUTE ON FUNCTION pg_catalog.pg_table_size FROM PUBLIC",
            after=["GRANT EXECUTE ON FUNCTION pg_catalog.pg_table_size TO PUBLIC"],
        ),
    ),
    Case("postgresql", "membership in `pg_monitor`", "", {}, _postgresql()),
)

# --- InfluxDB --------------------------------------------------------------------------------------------------------


def _influxdb1(*grants: str) -> Setup:
    @contextmanager
    def setup(request: pytest.FixtureRequest) -> Iterator[Target]:
        server: Influxd = request.getfixturevalue("influxd_auth")
        name, secret = ADMIN
        login = {"u": name, "p": secret}
        number = next(_numbers)
        database, user = f"rights_{number}", f"reader_{number}"
        influxql(server.url, f"CREATE DATABASE {database}", **login)
        for table in dataset().tables:
            write_lines(server.url, database, (text for row in table.rows if (text := line(table, row))), **login)
        influxql(server.url, f"CREATE USER {user} WITH PASSWORD '{PASSWORD}'", **login)
        for on in grants:
            grant = f"GRANT READ ON {on.format(database=database)} TO {user}"
            when_there(functools.partial(influxql, server.url, grant, **login))
        about = {"username": user, "password": PASSWORD, "databases": (database,)}
        yield Target(name="test", engine="influxdb1", url=server.url, **about)

    return setup


@contextmanager
def _influxdb2(request: pytest.FixtureRequest) -> Iterator[Target]:
    """A server of which the token may read no bucket: it responds as if there were none."""
    del request

    def answer(path: str, body: bytes, true: Callable[[], Answer]) -> Answer:
        del body, true
        if path.startswith("/ping"):
            return Answer(204, {"X-Influxdb-Version": "v2.7.12", "X-Influxdb-Build": "OSS"}, b"")
        found: dict[str, Any] = {"/api/v2/buckets": {"buckets": []}, "/api/v2/dbrps": {"content": []}}
        content = next((said for start, said in found.items() if path.startswith(start)), {"code": "unauthorized"})
        status = 401 if "code" in content else 200
        return Answer(status, {"Content-Type": "application/json"}, json.dumps(content).encode())

    with conversation("double", scripted=True) as server:
        server.tampering = answer
        yield Target(name="test", engine="influxdb2", url=server.url, databases=("shop",), **server.login)


def _influxdb3(token: str) -> Setup:
    @contextmanager
    def setup(request: pytest.FixtureRequest) -> Iterator[Target]:
        del request
        server = InfluxDB3()
        try:
            yield as_user(write(dataset(), "influxdb3", server), password=token)
        finally:
            server.stop()

    return setup


_INFLUX: Final = (
    Case("influxdb1", "`READ` on the database", "grant READ on the database", {"": EVERYTHING}, _influxdb1()),
    Case(
        "influxdb1",
        "`READ` on `_internal`",
        'GRANT READ ON "_internal" TO',
        {"": "database_bytes, server_status"},
        _influxdb1(DATABASE),
    ),
    Case("influxdb1", "administration", "", {}, _influxdb1(DATABASE, '"_internal"')),
    Case("influxdb2", "`read` on the bucket", "the token has no permission to read it", {"": EVERYTHING}, _influxdb2),
    Case(
        "influxdb3",
        "an admin token",
        "admin token",
        {"": "retention"},
        _influxdb3(READER),
    ),
)

# --- GreptimeDB, MongoDB, and Timestream -----------------------------------------------------------------------------


@contextmanager
def _greptimedb(request: pytest.FixtureRequest) -> Iterator[Target]:
    del request
    server = GreptimeDB()
    try:
        target = write(dataset(), "greptimedb", server)
        server.hides_columns = True
        yield target
    finally:
        server.stop()


def _mongodb(*roles: tuple[str, str]) -> Setup:
    @contextmanager
    def setup(request: pytest.FixtureRequest) -> Iterator[Target]:
        del request
        server = MongoDB()
        try:
            series = {"timeseries": {"timeField": "at", "metaField": "meta"}}
            documents = [{"at": at, "meta": {"host": f"h{i % 3}"}, "v": i / 2} for i, at in enumerate(times(60))]
            collection = Collection("points", documents, options=series)
            whole = Dataset(dataset().tables, database="shop", collections=(collection,))
            target = write(whole, "mongodb", server.url)
            server.users = {"auditor": User(PASSWORD, roles)}
            yield as_user(target, username="auditor", password=PASSWORD)
        finally:
            server.stop()

    return setup


def _timestream(without: str = "", *, key: str = AUDITOR, only: str = "") -> Setup:
    """The shipped policy. `without`: an action; `only`: the table that may be described and read."""

    @contextmanager
    def setup(request: pytest.FixtureRequest) -> Iterator[Target]:
        request.getfixturevalue("aws_credentials")
        own, account = (dict(part) for part in shipped_policy()["Statement"])
        for part in (own, account):
            part["Action"] = [action for action in part["Action"] if action != f"timestream:{without}"]
        if only:
            named = "arn:aws:timestream:eu-central-1:123456789012:database/shop"
            own["Resource"] = [named, *(f"{named}/table/{name}" for name in NAMES if name in only)]
        server = Timestream(policy={"Statement": [own, account]})
        try:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("AWS_ACCESS_KEY_ID", key)
                yield write(dataset(database="shop"), "timestream", server)
        finally:
            server.stop()

    return setup


_ROWS: Final = "measure_name_counts, row_sample, series_listing"
_OTHERS: Final = (
    Case("greptimedb", "the columns of tables", "sql/greptimedb/grants.md", {"": EVERYTHING}, _greptimedb),
    Case("mongodb", "any role", "grant it read on the database", {"": EVERYTHING}, _mongodb()),
    Case(
        "mongodb",
        "`clusterMonitor`, with `readAnyDatabase`",
        "grant it clusterMonitor on admin",
        {"": "activity, index_use, server_status"},
        _mongodb(("readAnyDatabase", "*")),
    ),
    Case(
        "mongodb",
        "`clusterMonitor` and `readAnyDatabase`, with `read`",
        "grant it readAnyDatabase on admin",
        {"": "activity, index_use, server_status", "points": "buckets"},
        _mongodb(("read", "shop")),
    ),
    Case(
        "mongodb",
        "`read`, with `clusterMonitor`",
        "grant it read on the database",
        {"": EVERYTHING},
        _mongodb(("clusterMonitor", "admin")),
    ),
    Case(
        "mongodb",
        "`find` on one collection of three",
        "grant it read on the database",
        {"secret": EVERYTHING},
        _mongodb(
            ("clusterMonitor", "admin"),
            ("lister", "shop"),
            *(("read", f"shop.{name}") for name in ("cpu", "disk", "points", "system.buckets.points")),
        ),
    ),
    Case("timestream", "any policy", "ListTables", {"": EVERYTHING}, _timestream(key=STRANGER)),
    Case("timestream", "`ListDatabases`", "", {}, _timestream("ListDatabases")),
    Case("timestream", "`ListTables`", "timestream:ListTables", {"": EVERYTHING}, _timestream("ListTables")),
    Case("timestream", "`DescribeTable`", "timestream:DescribeTable", {"": EVERYTHING}, _timestream("DescribeTable")),
    Case("timestream", "`Select`", "timestream:Select", {"": EVERYTHING}, _timestream("Select")),
    Case(
        "timestream",
        "`ListMeasures`",
        "timestream:ListMeasures",
        dict.fromkeys(NAMES, "measure_names"),
        _timestream("ListMeasures"),
    ),
    Case(
        "timestream",
        "`ListScheduledQueries`",
        "timestream:ListScheduledQueries",
        {"": "scheduled_queries"},
        _timestream("ListScheduledQueries"),
    ),
    Case(
        "timestream",
        "all rights on one table of three",
        "database/shop/table/secret",
        {"secret": EVERYTHING},
        _timestream(only="cpu disk"),
    ),
)

CASES: Final = (*_POSTGRESQL, *_INFLUX, *_OTHERS)


def table() -> str:
    """The cases as Markdown."""
    lines = [
        "## What the user may not read",
        "",
        "What `tsaudit check` prints about a missing right (a part of it), and what the audit then cannot measure.",
        "",
        "| engine | lacks | `tsaudit check` | not measured |",
        "|---|---|---|---|",
    ]
    for case in CASES:
        says = f"`{case.says.replace(DATABASE, 'shop')}`" if case.says else "-"
        lines.append(f"| {case.engine} | {case.lacking} | {says} | {words(case.lost)} |")
    return "\n".join(lines) + "\n"


def words(lost: Mapping[str, str]) -> str:
    """What is lost, in words."""
    if not lost:
        return "-"
    by_facts: dict[str, list[str]] = {}
    for name, facts in lost.items():
        by_facts.setdefault(facts, []).append(name)
    parts = []
    for facts, names in by_facts.items():
        named = facts if facts == EVERYTHING else ", ".join(f"`{fact}`" for fact in facts.split(", "))
        parts.append(f"{named} of {', '.join(f'`{name}`' for name in names)}" if any(names) else named)
    return "; ".join(parts)
