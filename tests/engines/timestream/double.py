"""A stand-in for Amazon Timestream for LiveAnalytics: the query and write services' JSON 1.0 protocol on one port.

Queries run on DuckDB, translated by sqlglot from Trino's SQL, after what Timestream does not document was refused. From
its API reference come the shapes of the answers, pages that may be empty while a query is at work, the counters of
bytes, ten megabytes charged for at least, and the errors. Rights are enforced as an IAM policy names them.
Not the service's own, and only used in tests on the loopback address.
"""

from __future__ import annotations

import fnmatch
import itertools
import json
import math
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa
from sqlglot import exp

from tests.databases import Dataset, Row, Table, Value
from tests.engines.timestream.sql import RefusedError, check_names, in_duckdb, parsed
from tests.serving import Handler

CALLS_PER_S: Final = 5
"""How often an account may list and describe in a region."""
AUDITOR: Final = "AKIATSAUDIT"
"""An access key with the rights of `sql/timestream/grants.md`, and no other."""
STRANGER: Final = "AKIASTRANGER"
"""An access key without rights."""

_ACCOUNT: Final = "arn:aws:timestream:eu-central-1:123456789012"
_TYPES: Final = {"float": pa.float64(), "integer": pa.int64(), "boolean": pa.bool_(), "time": pa.timestamp("ns")}
_NAMES: Final = {pa.float64(): "double", pa.int64(): "bigint", pa.bool_(): "boolean", pa.timestamp("ns"): "timestamp"}
_KINDS: Final = {bool: "boolean", int: "integer", float: "float", datetime: "time"}
_SINGLE: Final = "measure_value::"
_FOREVER_DAYS: Final = 73_000
_MEGABYTE: Final = 1_000_000
_LARGEST_PAGE: Final = 1 << 20
_CALLS_PER_TOKEN: Final = 5
_MEASURE_NAMES: Final = 8192
_DIMENSIONS: Final = 128
_DIMENSION_NAME_BYTES: Final = 60
_MEASURE_NAME_BYTES: Final = 256
_NAME: Final = r'"((?:[^"]|"")+)"'
_SHOW_MEASURES: Final = re.compile(rf"SHOW MEASURES FROM {_NAME}\.{_NAME}")
_SHOW_TABLES: Final = re.compile(rf"SHOW TABLES FROM {_NAME}")
_DESCRIBE: Final = re.compile(rf"DESCRIBE {_NAME}\.{_NAME}")
_numbers = itertools.count()


Policy = Mapping[str, Any]
"""Of IAM, as `sql/timestream/grants.md` has one."""


@dataclass(slots=True)
class _Stored:
    """One table: what the API tells of it, and where DuckDB keeps its rows."""

    described: dict[str, Any]
    physical: str = ""
    data: pa.Table | None = None
    """None while it is empty: then it has no columns at all."""
    dimensions: tuple[str, ...] = ()
    measures: list[dict[str, Any]] = field(default_factory=list)

    @property
    def columns(self) -> list[str]:
        return [] if self.data is None else self.data.column_names


@dataclass(slots=True)
class _Query:
    """A query that was begun, with the pages that are left of it."""

    statement: str
    answer: pa.Table
    bytes_scanned: int
    ready_at: float
    empty_pages: int
    token: str = ""
    calls: int = 0
    """With the token."""
    sent: int = 0
    progress: int = 0
    cancelled: bool = False


class Timestream:
    """One account in one region."""

    def __init__(self, *, empty_pages: int = 1, policy: Policy | None = None) -> None:
        self.empty_pages = empty_pages
        """Pages without rows before the first with some."""
        self.delay_s = 0.0
        """How long a query is at work."""
        self.patience_s = 0.1
        """How long one call waits for rows before it responds with an empty page; the service takes up to 60 s."""
        self.calls_per_s: float = math.inf
        """Of those that list or describe; `CALLS_PER_S` as the service has it, at which whoever calls has to wait."""
        self._calls: list[float] = []
        self.throttled = 0
        """How many of the next calls are refused."""
        self.failing = 0
        """How many of the next calls end with an error of the service's own."""
        self.statements: list[str] = []
        self.operations: list[str] = []
        """The calls that came, oldest first."""
        self.cancelled: list[str] = []
        self.scheduled_queries: list[dict[str, Any]] = []
        """As DescribeScheduledQuery returns them."""
        self.rights: dict[str, Policy] = {AUDITOR: policy or shipped_policy(), STRANGER: {"Statement": []}}
        self._databases: dict[str, dict[str, Any]] = {}
        self._tables: dict[str, dict[str, _Stored]] = {}
        self._queries: dict[str, _Query] = {}
        self._rows = duckdb.connect()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        self.address = f"http://127.0.0.1:{self._http.server_port}"
        self.url = f"timestream://eu-central-1?endpoint={self.address}"
        self.login: Mapping[str, str] = {}

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._rows.close()

    def write(self, dataset: Dataset) -> str:
        """The name of the database that holds it now; one of that name is replaced."""
        name = dataset.database or f"test_{next(_numbers)}"
        own = {"KmsKeyId": f"{_ACCOUNT.replace('timestream', 'kms')}:key/aws"} | dict(dataset.timestream)
        self.scheduled_queries = own.pop("ScheduledQueries", [])
        self._databases[name] = {"Arn": f"{_ACCOUNT}:database/{name}", "DatabaseName": name} | own
        self._tables[name] = {table.name: self._stored(name, table, dataset.retention) for table in dataset.tables}
        self._databases[name]["TableCount"] = len(dataset.tables)
        return name

    def _stored(self, database: str, table: Table, retention: timedelta | None) -> _Stored:
        days = min(_FOREVER_DAYS, math.ceil(retention / timedelta(days=1))) if retention else _FOREVER_DAYS
        described = {
            "Arn": f"{_ACCOUNT}:database/{database}/table/{table.name}",
            "TableName": table.name,
            "DatabaseName": database,
            "TableStatus": "ACTIVE",
            "RetentionProperties": {"MemoryStoreRetentionPeriodInHours": 6, "MagneticStoreRetentionPeriodInDays": days},
            "MagneticStoreWriteProperties": {"EnableMagneticStoreWrites": False},
            "Schema": {"CompositePartitionKey": [{"Type": "MEASURE"}]},
        } | dict(table.timestream)
        found = _Stored(described)
        data = _merged(table)
        _check_quotas(table)
        if data.num_rows:
            found.data, found.physical = data, f"t{next(_numbers)}"
            found.dimensions = tuple(tag for tag in table.tags if tag in data.column_names)
            found.measures = _measures(table, data)
            self._rows.register("written", data)
            self._rows.execute(f"CREATE TABLE {found.physical} AS SELECT * FROM written")
            self._rows.unregister("written")
        return found

    def create_table(self, database: str, name: str, described: Mapping[str, Any] | None = None) -> None:
        """Creates an empty table, as CreateTable does. `described`: its settings, as DescribeTable tells them."""
        assert name not in self._tables[database], name
        self._tables[database][name] = self._stored(database, Table(name, timestream=described or {}), None)
        self._databases[database]["TableCount"] = len(self._tables[database])

    def update_table(self, database: str, name: str, described: Mapping[str, Any]) -> None:
        """Changes the settings of a table, as UpdateTable does."""
        self._tables[database][name].described.update(described)

    def stored(self, database: str) -> dict[str, pa.Table]:
        """Table to its rows, of those that have some."""
        return {name: table.data for name, table in self._tables[database].items() if table.data is not None}

    # --- The operations ------------------------------------------------------------------------------------------

    def call(self, operation: str, asked: Mapping[str, Any], key: str) -> dict[str, Any]:
        """The answer to one call; RefusedError."""
        self.operations.append(operation)
        if operation.startswith(("List", "Describe")) and operation != "DescribeEndpoints":
            self._count_call()
        if self.throttled:
            self.throttled -= 1
            raise RefusedError("ThrottlingException", "Request rate limit exceeded", 429)
        if self.failing:
            self.failing -= 1
            raise RefusedError("InternalServerException", "The service failed.", 500)
        if key not in self.rights:
            raise RefusedError("UnrecognizedClientException", "The security token included in the request is invalid.")
        if operation not in _OPERATIONS:
            raise RefusedError("UnknownOperationException", operation)
        if operation in ("ListTables", "DescribeDatabase"):
            self._authorize(key, operation, f"{_ACCOUNT}:database/{asked['DatabaseName']}")
        elif operation != "Query":
            self._authorize(key, operation)
        return _OPERATIONS[operation](self, asked, key)

    def _count_call(self) -> None:
        """Refuse what comes more often than an account and region may list and describe."""
        now = time.monotonic()
        self._calls = [at for at in self._calls if at > now - 1] + [now]
        if len(self._calls) > self.calls_per_s:
            self._calls.pop()
            raise RefusedError("ThrottlingException", "Rate exceeded", 429)

    def _authorize(self, key: str, action: str, resource: str = "*") -> None:
        action = f"timestream:{action}"
        for part in self.rights[key]["Statement"]:
            if action in part["Action"] and any(fnmatch.fnmatchcase(resource, p) for p in _resources(part)):
                return
        user, on = f"User: arn:aws:iam::123456789012:user/{key.lower()}", f"on resource: {resource} "
        detail = f"{on if resource != '*' else ''}because no identity-based policy allows the {action} action"
        raise RefusedError("AccessDeniedException", f"{user} is not authorized to perform: {action} {detail}")

    def _describe_endpoints(self, asked: Mapping[str, Any], key: str) -> dict[str, Any]:
        return {"Endpoints": [{"Address": self.address, "CachePeriodInMinutes": 1440}]}

    def _list_databases(self, asked: Mapping[str, Any], key: str) -> dict[str, Any]:
        return _page("Databases", [self._databases[name] for name in sorted(self._databases)], asked)

    def _describe_database(self, asked: Mapping[str, Any], key: str) -> dict[str, Any]:
        if asked["DatabaseName"] not in self._databases:
            raise RefusedError("ResourceNotFoundException", "The database does not exist.", 404)
        return {"Database": self._databases[asked["DatabaseName"]]}

    def _list_tables(self, asked: Mapping[str, Any], key: str) -> dict[str, Any]:
        name = asked["DatabaseName"]
        if name not in self._tables:
            raise RefusedError("ResourceNotFoundException", f"The database {name} does not exist.", 404)
        return _page("Tables", [stored.described for _, stored in sorted(self._tables[name].items())], asked)

    def _list_scheduled_queries(self, asked: Mapping[str, Any], key: str) -> dict[str, Any]:
        listed = [{k: query[k] for k in ("Arn", "Name", "State")} for query in self.scheduled_queries]
        return _page("ScheduledQueries", listed, asked)

    def _describe_scheduled_query(self, asked: Mapping[str, Any], key: str) -> dict[str, Any]:
        for query in self.scheduled_queries:
            if query["Arn"] == asked["ScheduledQueryArn"]:
                return {"ScheduledQuery": query}
        raise RefusedError("ResourceNotFoundException", "The scheduled query does not exist.", 404)

    def _cancel(self, asked: Mapping[str, Any], key: str) -> dict[str, Any]:
        query = self._queries.get(asked["QueryId"])
        if query is None:
            raise RefusedError("ValidationException", f"Query with id {asked['QueryId']} does not exist")
        query.cancelled = True
        self.cancelled.append(asked["QueryId"])
        return {"CancellationMessage": f"Query {asked['QueryId']} was cancelled"}

    def _query(self, asked: Mapping[str, Any], key: str) -> dict[str, Any]:
        token, statement = asked.get("NextToken"), asked["QueryString"]
        if token is None:
            identifier = f"AEDA{next(_numbers):08}"
            self.statements.append(statement)
            answer, scanned = self._answer(statement, key)
            query = _Query(statement, answer, scanned, time.monotonic() + self.delay_s, self.empty_pages)
            self._queries[identifier] = query
        else:
            identifier = token.partition("-")[0]
            query = self._queries[identifier]
            if query.cancelled:
                raise RefusedError("ConflictException", "The query was cancelled", 409)
            query.calls = query.calls + 1 if token == query.token else _CALLS_PER_TOKEN + 1
            if query.calls > _CALLS_PER_TOKEN or statement != query.statement:
                raise RefusedError("ValidationException", "Invalid pagination token")
        return {"QueryId": identifier} | self._next_page(identifier, query, int(asked.get("MaxRows", 1000)))

    def _next_page(self, identifier: str, query: _Query, most: int) -> dict[str, Any]:
        wait = query.ready_at - time.monotonic()
        time.sleep(max(0.0, min(wait, self.patience_s)))
        at_work = wait > self.patience_s or query.empty_pages > 0
        query.progress = min(query.progress + 25, 75)
        answer: dict[str, Any] = {"ColumnInfo": _column_info(query.answer.schema), "Rows": []}
        if at_work:
            query.empty_pages -= 1
        else:
            rows = _page_of(_data(query.answer.slice(query.sent, most)))
            query.sent += len(rows)
            answer["Rows"] = rows
        last = not at_work and query.sent >= query.answer.num_rows
        if last:
            query.progress = 100
        else:
            query.token, query.calls = f"{identifier}-{next(_numbers)}", 0
            answer["NextToken"] = query.token
        scanned = query.bytes_scanned * query.progress // 100
        answer["QueryStatus"] = {
            "ProgressPercentage": float(query.progress),
            "CumulativeBytesScanned": scanned,
            "CumulativeBytesMetered": max(10, math.ceil(scanned / _MEGABYTE)) * _MEGABYTE,
        }
        return answer

    # --- SQL -----------------------------------------------------------------------------------------------------

    def answer(self, statement: str) -> pa.Table:
        """The whole answer to the auditor's statement; RefusedError."""
        return self._answer(statement, AUDITOR)[0]

    def _answer(self, statement: str, key: str) -> tuple[pa.Table, int]:
        """The whole answer, and the bytes read for it."""
        if found := _SHOW_MEASURES.fullmatch(statement):
            table = self._table(*map(_plain, found.groups()))
            self._authorize(key, "ListMeasures", table.described["Arn"])
            return _measure_table(table.measures), 0
        if found := _SHOW_TABLES.fullmatch(statement):
            database = _plain(found[1])
            self._authorize(key, "ListTables", f"{_ACCOUNT}:database/{database}")
            return pa.table({"Table": sorted(self._tables[database])}), 0
        if statement == "SHOW DATABASES":
            self._authorize(key, "ListDatabases")
            return pa.table({"Database": sorted(self._databases)}), 0
        if found := _DESCRIBE.fullmatch(statement):
            table = self._table(*map(_plain, found.groups()))
            self._authorize(key, "DescribeTable", table.described["Arn"])
            return _description(table), 0
        tree = parsed(statement)
        tables = [self._table(node.db, node.name) for node in _tables(tree)]
        for table in tables:
            self._authorize(key, "Select", table.described["Arn"])
        check_names(tree, {node.sql(): frozenset(self._table(node.db, node.name).columns) for node in _tables(tree)})
        used = {column.name for column in tree.find_all(exp.Column)}
        scanned = sum(t.data.select([c for c in t.columns if c in used]).nbytes for t in tables if t.data is not None)
        for node, table in zip(_tables(tree), tables, strict=True):
            node.replace(exp.to_table(table.physical))
        statement = in_duckdb(tree, {table.physical: self._types(table) for table in tables})
        try:
            return self._rows.cursor().sql(statement).to_arrow_table(), scanned
        except duckdb.Error as error:
            if "Division by zero" in str(error):
                raise RefusedError("QueryExecutionException", "Division by zero") from error
            raise RefusedError("ValidationException", f"line 1:1: {str(error).splitlines()[0]}") from error

    def _types(self, table: _Stored) -> dict[str, str]:
        """The columns' types as DuckDB calls them."""
        if table.data is None:
            return {}
        described = self._rows.cursor().execute(f"DESCRIBE {table.physical}").fetchall()
        return {name: kind for name, kind, *_ in described}

    def _table(self, database: str, name: str) -> _Stored:
        if database not in self._tables:
            raise RefusedError(
                "ValidationException", f"Requested database '{database}' not found for identifier {database}.{name}"
            )
        if name not in self._tables[database]:
            raise RefusedError("ValidationException", f"line 1:1: Table {database}.{name} does not exist")
        return self._tables[database][name]


_Operation = Callable[[Timestream, Mapping[str, Any], str], dict[str, Any]]
_OPERATIONS: Final[Mapping[str, _Operation]] = {
    "DescribeEndpoints": Timestream._describe_endpoints,
    "ListDatabases": Timestream._list_databases,
    "DescribeDatabase": Timestream._describe_database,
    "ListTables": Timestream._list_tables,
    "ListScheduledQueries": Timestream._list_scheduled_queries,
    "DescribeScheduledQuery": Timestream._describe_scheduled_query,
    "CancelQuery": Timestream._cancel,
    "Query": Timestream._query,
}


def _tables(tree: exp.Expression) -> list[exp.Table]:
    return list(tree.find_all(exp.Table))


def _plain(name: str) -> str:
    """A name as it is, of what stood between quotes."""
    return name.replace('""', '"')


def shipped_policy() -> Policy:
    """The IAM policy that tsaudit's users are told to give."""
    text = Path(__file__).parents[3].joinpath("sql/timestream/grants.md").read_text(encoding="utf-8")
    found = re.search(r"```json\n(.*?)```", text, re.DOTALL)
    assert found
    policy: Policy = json.loads(found[1])
    return policy


def _resources(part: Mapping[str, Any]) -> Sequence[str]:
    resource = part.get("Resource", "*")
    return [resource] if isinstance(resource, str) else resource


def _page(word: str, items: Sequence[dict[str, Any]], asked: Mapping[str, Any]) -> dict[str, Any]:
    most, begin = int(asked.get("MaxResults", 20)), int(asked.get("NextToken", 0))
    if not 1 <= most <= 20:
        raise RefusedError("ValidationException", "MaxResults must be between 1 and 20")
    answer: dict[str, Any] = {word: list(items[begin : begin + most])}
    return answer | ({"NextToken": str(begin + most)} if begin + most < len(items) else {})


# --- Rows --------------------------------------------------------------------------------------------------------


def _check_quotas(table: Table) -> None:
    """RefusedError for what the service would not have let in."""
    names = {row.measure_name for row in table.rows}
    if len(names) > _MEASURE_NAMES:
        raise RefusedError("RejectedRecordsException", f"{table.name}: more than {_MEASURE_NAMES} measure names", 419)
    if len(table.tags) > _DIMENSIONS:
        raise RefusedError("RejectedRecordsException", f"{table.name}: more than {_DIMENSIONS} dimensions", 419)
    long = [t for t in table.tags if len(t.encode()) > _DIMENSION_NAME_BYTES]
    long += [n for n in names if len(n.encode()) > _MEASURE_NAME_BYTES]
    if long:
        raise RefusedError("RejectedRecordsException", f"{table.name}: the name {long[0]} is too long", 419)


def _merged(table: Table) -> pa.Table:
    """The rows as the service keeps them: one per dimensions, measure name and time."""
    rows: dict[tuple[Any, ...], dict[str, Value]] = {}
    types = {key: kind for key, kind in table.fields.items() if kind != "any"}
    for row in table.rows:
        values = {key: row.fields[key] for key in table.fields if row.fields.get(key) is not None}
        brought = {key: types.setdefault(key, _KINDS.get(type(value), "string")) for key, value in values.items()}
        # A value of another type than its column's is rejected.
        fitting = all(
            table.fields[k] != "any" or _KINDS.get(type(values[k]), "string") == t for k, t in brought.items()
        )
        if values and fitting:
            rows.setdefault(_identity(table, row), {}).update(values)
    columns: dict[str, pa.Array] = {
        tag: pa.array([identity[i + 2] for identity in rows], pa.string()) for i, tag in enumerate(table.tags)
    }
    columns["measure_name"] = pa.array([identity[1] for identity in rows], pa.string())
    columns["time"] = pa.array([identity[0] for identity in rows], pa.int64()).cast(pa.timestamp("ns"))
    for key, kind in types.items():
        columns[key] = pa.array(
            [_kept(values.get(key), kind) for values in rows.values()], _TYPES.get(kind, pa.string())
        )
    # A column exists once something was written to it.
    return pa.table({name: column for name, column in columns.items() if column.null_count < len(column)})


def _identity(table: Table, row: Row) -> tuple[Any, ...]:
    nanoseconds = (row.time - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1) * 1000
    return (nanoseconds, row.measure_name, *(row.tags.get(tag) for tag in table.tags))


def _kept(value: Any, kind: str) -> Any:
    if value is None or kind in ("integer", "boolean"):
        return value
    if kind == "float":
        return float(value)
    if kind == "time":
        assert isinstance(value, datetime)
        return value.astimezone(UTC).replace(tzinfo=None)
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _measures(table: Table, data: pa.Table) -> list[dict[str, Any]]:
    """What SHOW MEASURES tells: each measure name with its type and the dimensions that it was written with."""
    found: dict[str, dict[str, Any]] = {}
    for row in data.to_pylist():
        measure = found.setdefault(row["measure_name"], {"data_type": "multi", "dimensions": set()})
        measure["dimensions"] |= {tag for tag in table.tags if row.get(tag) is not None}
        single = [c for c in row if c.startswith(_SINGLE) and row[c] is not None]
        measure["data_type"] = single[0].removeprefix(_SINGLE) if single else "multi"
    return [{"measure_name": name} | found[name] for name in sorted(found)]


def _measure_table(measures: Sequence[Mapping[str, Any]]) -> pa.Table:
    pair = pa.struct([("dimension_name", pa.string()), ("data_type", pa.string())])
    schema = pa.schema([("measure_name", pa.string()), ("data_type", pa.string()), ("dimensions", pa.list_(pair))])
    rows = [
        {**m, "dimensions": [{"dimension_name": d, "data_type": "varchar"} for d in sorted(m["dimensions"])]}
        for m in measures
    ]
    return pa.Table.from_pylist(rows, schema)


def _description(table: _Stored) -> pa.Table:
    rows = []
    for column in table.data.schema if table.data is not None else ():
        kind = _NAMES.get(column.type, "varchar")
        attribute = {"measure_name": "MEASURE_NAME", "time": "TIMESTAMP"}.get(column.name)
        attribute = attribute or ("DIMENSION" if column.name in table.dimensions else "")
        attribute = attribute or ("MEASURE_VALUE" if column.name.startswith(_SINGLE) else "MULTI")
        rows.append({"Column": column.name, "Type": kind, "Timestream attribute type": attribute})
    names = ("Column", "Type", "Timestream attribute type")
    return pa.Table.from_pylist(rows, pa.schema([(name, pa.string()) for name in names]))


# --- Typed values ------------------------------------------------------------------------------------------------


def _page_of(rows: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first of the rows, as many as fit into a page."""
    page, size = [], 0
    for row in rows:
        size += len(json.dumps(row))
        if size > _LARGEST_PAGE:
            if not page:
                raise RefusedError("ValidationException", "A row of the result is larger than 1 MB")
            break
        page.append(row)
    return page


def _column_info(schema: pa.Schema) -> list[dict[str, Any]]:
    # The API gives arrays no name of their own.
    return [
        {"Type": _type(column.type)} | ({} if pa.types.is_list(column.type) else {"Name": column.name})
        for column in schema
    ]


def _type(kind: pa.DataType) -> dict[str, Any]:
    if pa.types.is_list(kind):
        return {"ArrayColumnInfo": {"Type": _type(kind.value_type)}}
    if pa.types.is_struct(kind):
        return {"RowColumnInfo": [{"Name": f.name, "Type": _type(f.type)} for f in kind]}
    scalar = {pa.float64(): "DOUBLE", pa.bool_(): "BOOLEAN", pa.string(): "VARCHAR", pa.int32(): "INTEGER"}
    if pa.types.is_timestamp(kind):
        return {"ScalarType": "TIMESTAMP"}
    if pa.types.is_null(kind):
        return {"ScalarType": "UNKNOWN"}
    # A sum is a HUGEINT in DuckDB, which Arrow gets as a decimal.
    return {"ScalarType": scalar.get(kind, "BIGINT")}


def _data(table: pa.Table) -> Iterator[dict[str, Any]]:
    columns = [[_datum(v, f.type) for v in c.to_pylist()] for f, c in zip(table.schema, _exact(table), strict=True)]
    for row in zip(*columns, strict=True):
        yield {"Data": list(row)}


def _exact(table: pa.Table) -> Iterator[pa.ChunkedArray]:
    """The columns, times as nanoseconds: Python's own keep only microseconds."""
    for column in table.columns:
        is_time = pa.types.is_timestamp(column.type)
        yield column.cast(pa.timestamp("ns")).cast(pa.int64()) if is_time else column


def _datum(value: Any, kind: pa.DataType) -> dict[str, Any]:
    if value is None:
        return {"NullValue": True}
    if pa.types.is_list(kind):
        return {"ArrayValue": [_datum(one, kind.value_type) for one in value]}
    if pa.types.is_struct(kind):
        return {"RowValue": {"Data": [_datum(value[f.name], f.type) for f in kind]}}
    if pa.types.is_timestamp(kind):
        seconds, nanoseconds = divmod(value, 1_000_000_000)
        return {"ScalarValue": f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}.{nanoseconds:09}"}
    if isinstance(value, bool):
        return {"ScalarValue": str(value).lower()}
    return {"ScalarValue": repr(value) if isinstance(value, float) else str(value)}


# --- HTTP --------------------------------------------------------------------------------------------------------


def _handler(server: Timestream) -> type[BaseHTTPRequestHandler]:
    class Api(Handler):
        protocol_version = "HTTP/1.1"
        wbufsize = 1 << 16
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            version, _, operation = self.headers["X-Amz-Target"].partition(".")
            assert version == "Timestream_20181101"
            found = re.search(r"Credential=([^/]+)/\d{8}/eu-central-1/timestream/", self.headers["Authorization"])
            try:
                answer, status = server.call(operation, json.loads(body), found[1] if found else ""), 200
            except RefusedError as error:
                kind = f"com.amazonaws.timestream.v20181101#{error.kind}"
                answer, status = {"__type": kind, "message": str(error)}, error.status
            self.answer(status, json.dumps(answer).encode(), Content_Type="application/x-amz-json-1.0")

    return Api
