"""Connects to GreptimeDB with SQLAlchemy and PyMySQL. Facts about a database come from views that cover all databases
at once and are read once per audit, facts about a measurement from the rows within the window.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from tsaudit.engines import http_client, queries
from tsaudit.engines.connection import Access, FactError, FileLimit, Rows, RowsOfSeveral
from tsaudit.engines.greptimedb import catalog, wire
from tsaudit.engines.greptimedb.catalog import LEGACY_FORMAT, CreateTable, Row, Table
from tsaudit.engines.greptimedb.tables import METRIC_OF_ROW
from tsaudit.engines.sql import batching
from tsaudit.model.facts import FACTS, Given, OfMeasurement
from tsaudit.model.profile import Reason

_GRANT: Final = "a read-only user is enough, see sql/greptimedb/grants.md"


@dataclass(slots=True)
class Known:
    """What all connections of one audit know about the catalog."""

    answers: dict[str, list[Row]] = field(default_factory=dict)
    """Statement to its rows, for statements about the catalog."""
    tables: dict[str, dict[str, Table]] | None = None
    """Database to table name to table; None before the tables were queried."""
    limit: FileLimit = field(default_factory=FileLimit)
    metrics_url: str = ""
    """The address of the server's metrics page; empty if it is not known."""


class CatalogQueries:
    """Sends the statements for one query before its deadline, and records them in `rows`."""

    def __init__(self, transport: wire.Wire, known: Known, rows: Rows, deadline: float) -> None:
        self.known = known
        self._transport = transport
        self._rows = rows
        self._deadline = deadline

    @property
    def tables(self) -> dict[str, dict[str, Table]]:
        """Database to table name to table, for tables with rows of their own."""
        if self.known.tables is None:
            listed = self.once(statement("measurements"))
            self.known.tables = catalog.tables(listed, self.once(statement("columns")))
        return self.known.tables

    def stream(
        self, statement: str, names: Sequence[str], kinds: Sequence[pa.DataType], longest: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The response as it arrives, with these names and types. `longest`: maximum number of characters kept of a
        string.
        """
        self._rows.statement = statement
        try:
            for block in self._transport.run(statement, self._deadline):
                columns = list(zip(*block.rows, strict=True)) or [()] * len(names)
                arrays = [wire.array(values, kind, longest) for values, kind in zip(columns, kinds, strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, names=list(names))
        except FactError as error:
            raise _with_grant(error) from error

    def once(self, statement: str) -> list[Row]:
        """The rows of a catalog statement, which is sent only once per audit."""
        # The first statement is recorded for the whole query; the others only add details.
        self._rows.statement = self._rows.statement or statement
        if statement not in self.known.answers:
            self._rows.statements += 1
            try:
                blocks = list(self._transport.run(statement, self._deadline))
            except FactError as error:
                raise _with_grant(error) from error
            self.known.answers[statement] = [
                dict(zip(block.names, values, strict=True)) for block in blocks for values in block.rows
            ]
        return self.known.answers[statement]


def _with_grant(error: FactError) -> FactError:
    # TooManyFilesError is passed on unchanged.
    return FactError(error.reason, f"{error.detail}; {_GRANT}") if error.reason is Reason.DENIED else error


_ENGINE: Final = "greptimedb"
_NUMBERS: Final = (
    *("key_position", "position", "rows", "bytes", "data_bytes", "index_bytes", "size_bytes"),
    *("duration_s", "partition_s"),
)
_FLAGS: Final = ("is_unique", "is_constraint", "is_partial")
_KINDS: Final[Mapping[str, pa.DataType]] = {
    **dict.fromkeys(_NUMBERS, pa.int64()),
    **dict.fromkeys(_FLAGS, pa.bool_()),
    "metrics": pa.list_(pa.string()),
}


@dataclass(frozen=True, slots=True)
class _Question:
    """A query about the tables of one database."""

    asked: CatalogQueries
    database: str
    named: Sequence[str] | None
    """The tables to examine, because each may need a statement of its own; None for all."""

    @property
    def tables(self) -> Mapping[str, Table]:
        """Table name to table, for the tables to examine."""
        found = self.asked.tables.get(self.database, {})
        return found if self.named is None else {name: found[name] for name in self.named if name in found}


def answer_by_catalog(fact: str, asked: CatalogQueries, parameters: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    """The fact's rows for one database, in one batch."""
    if fact == "stored_rows":
        yield from _stored_rows(asked, parameters)
        return
    rows = list(_ANSWERS[fact](_Question(asked, parameters["database"], parameters.get("measurements"))))
    names = (*FACTS[fact].columns, *(("role", "metrics") if fact == "columns" else ()))
    kinds = [_KINDS.get(name, pa.string()) for name in names]
    arrays = [pa.array([row[name] for row in rows], kind) for name, kind in zip(names, kinds, strict=True)]
    yield pa.RecordBatch.from_arrays(arrays, names=list(names))


def _measurements(question: _Question) -> Iterator[Row]:
    yield from ({"measurement": name} for name in question.tables)


def _columns(question: _Question) -> Iterator[Row]:
    question.asked.once(statement("columns"))
    key_of = _keys(question.asked, question.database)
    for table in question.tables.values():
        # If the key has only one column, its order is known without a query.
        yield from catalog.column_rows(table, table.tags if len(table.tags) < 2 else key_of(table.name))


def _row_estimate(question: _Question) -> Iterator[Row]:
    regions = _regions(question.asked)
    for table in question.tables.values():
        rows, _, _ = catalog.region_totals(regions.get(table.id, ()))
        yield {"measurement": table.name, "rows": rows}


def _storage(question: _Question) -> Iterator[Row]:
    regions = _regions(question.asked)
    for table in question.tables.values():
        _, data, index = catalog.region_totals(regions.get(table.id, ()))
        yield {"measurement": table.name, "data_bytes": data, "index_bytes": index}


def _options(question: _Question) -> Iterator[Row]:
    for name, table in question.tables.items():
        if (defined := _defined(question.asked, question.database, name)) is not None:
            yield from catalog.option_rows(table, defined)


def _effective_options(question: _Question) -> Iterator[Row]:
    """The file format of each table."""
    views, formats = _views(question.asked), dict[int, str]()
    if "region_info" in views:
        # While the format is being changed, files of both may exist: the old one, which comes last, limits what keys
        # may contain.
        formats = {row["table_id"]: row["sst_format"] for row in question.asked.once(statement("effective_options"))}
    elif "ssts_manifest" in views:
        raise FactError(Reason.UNSUPPORTED, "the server does not report its file format; 1.1 and later do")
    for name, table in question.tables.items():
        # Versions without those views have only one format.
        known = formats.get(table.id) if "region_info" in views else LEGACY_FORMAT
        if known is not None:
            yield {"measurement": name, "option": "sst_format", "value": known}


def _table_retention(question: _Question) -> Iterator[Row]:
    for name in question.tables:
        if (defined := _defined(question.asked, question.database, name)) is not None:
            yield catalog.retention_row(name, defined)


def _indexes(question: _Question) -> Iterator[Row]:
    known = question.tables
    rows = [
        row
        for row in _key_rows(question.asked)
        if row["table_schema"] == question.database and row["table_name"] in known
    ]
    return catalog.index_rows(rows, _keys(question.asked, question.database))


def _partitions(question: _Question) -> Iterator[Row]:
    found: dict[str, list[Row]] = {}
    for row in question.asked.once(statement("partitions")):
        if row["table_schema"] == question.database:
            found.setdefault(row["table_name"], []).append(row)
    regions = _regions(question.asked)
    for name, table in question.tables.items():
        if name in found and (defined := _defined(question.asked, question.database, name)) is not None:
            yield from catalog.partition_rows(table, defined, found[name], regions.get(table.id, ()))


def _stored_rows(asked: CatalogQueries, parameters: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    """Number of rows in files within the window, which is the same for all databases."""
    if "ssts_manifest" not in _views(asked):
        raise FactError(Reason.UNSUPPORTED, "the server does not report its files; GreptimeDB 1.0 and later do")
    window = {"start": parameters["start"], "end": parameters["end"]}
    in_files = {row["table_id"]: row for row in asked.once(statement("stored_rows", **window))}
    tables = [t for t in asked.tables.get(parameters["database"], {}).values() if t.id in in_files]
    yield pa.RecordBatch.from_arrays(
        [
            pa.array([t.name for t in tables], pa.string()),
            pa.array([int(in_files[t.id]["row_count"]) for t in tables], pa.int64()),
            pa.array([in_files[t.id]["first_ns"] // 1000 for t in tables], pa.timestamp("us", "UTC")),
        ],
        names=list(FACTS["stored_rows"].columns),
    )


_COUNTERS: Final = {
    "greptime_mito_write_reject_total": "writes_rejected",
    "greptime_mito_write_stall_total": "writes_delayed",
    "greptime_mito_flush_failure_total": "flushes_failed",
    "greptime_mito_compaction_failure_total": "compactions_failed",
    "greptime_mito_scan_requests_rejected_total": "queries_out_of_memory",
    "greptime_query_memory_pool_rejected_total": "queries_out_of_memory",
}
"""https://docs.greptime.com/user-guide/deployments-administration/monitoring/key-metrics/, and the source of 1.3."""


def server_status(asked: CatalogQueries, timeout_s: float) -> Iterator[pa.RecordBatch]:
    """The regions whose leader is down, if the server reports them, and the server's counters, if its metrics page can
    be read. The frontend of a cluster does not have the counters of its datanodes.
    """
    down = asked.once(statement("server_status")) if "region_peers" in _views(asked) else []
    known = {table.id: (database, name) for database, own in asked.tables.items() for name, table in own.items()}
    found = [(row["region_id"] & _NUMBER, known.get(row["region_id"] >> 32, ("", "a table"))) for row in down]
    yield http_client.status_batch(
        ("failure", f"region {number} of {table}", database, 1.0) for number, (database, table) in found
    )
    if asked.known.metrics_url:
        with suppress(FactError):
            page = http_client.read_page(asked.known.metrics_url, {}, min(timeout_s, _METRICS_S))
            yield http_client.status_batch(http_client.counted_metrics(page, _COUNTERS))


_METRICS_S: Final = 5.0
"""Time limit in seconds: a firewall may drop requests to a port that is not in use."""
_NUMBER: Final = (1 << 32) - 1
"""Mask of a region's number within its table, in the lower half of its ID; the upper half is the ID of the table."""


_ANSWERS: Final[Mapping[str, Callable[[_Question], Iterable[Row]]]] = {
    "measurements": _measurements,
    "columns": _columns,
    "row_estimate": _row_estimate,
    "storage": _storage,
    "options": _options,
    "effective_options": _effective_options,
    "indexes": _indexes,
    "partitions": _partitions,
    "table_retention": _table_retention,
}


def statement(fact: str, **parameters: Any) -> str:
    """The statement in the fact's query file, with its parameters filled in."""
    return queries.render(_ENGINE, fact, **parameters)


def _shared(part: str) -> str:
    return queries.render_file(_ENGINE, f"{part}.sql")


def _regions(asked: CatalogQueries) -> Mapping[int, Sequence[Row]]:
    """Table ID to the table's regions."""
    return catalog.by_table(asked.once(_shared("_regions")))


def _views(asked: CatalogQueries) -> frozenset[str]:
    return catalog.view_names(asked.once(statement("columns")))


def _key_rows(asked: CatalogQueries) -> list[Row]:
    view = "statistics" if "statistics" in _views(asked) else "key_column_usage"
    return asked.once(statement("indexes", catalog=view))


def _keys(asked: CatalogQueries, database: str) -> Callable[[str], Sequence[str]]:
    """A function that returns the columns of a table's primary key, in order."""
    if "statistics" not in _views(asked):
        # Up to 1.0, no view contains the order of the key.
        def defined(name: str) -> Sequence[str]:
            definition = _defined(asked, database, name)
            internal = (METRIC_OF_ROW,) if definition and definition.engine == "metric" else ()
            return (*internal, *definition.key) if definition else ()

        return defined
    members = [
        (row["table_name"], row["seq_in_index"], row["column_name"])
        for row in _key_rows(asked)
        if row["table_schema"] == database and row["index_type"] == "PRIMARY"
    ]
    keys = {name: [m[2] for m in own] for name, own in itertools.groupby(sorted(members), lambda m: m[0])}
    return lambda name: keys.get(name, ())


def _defined(asked: CatalogQueries, database: str, name: str) -> CreateTable | None:
    """The definition of the table; None if it was dropped in the meantime."""
    try:
        (row,) = asked.once(statement("options", database=database, measurement=name))
    except FactError as error:
        if error.detail.startswith("(TableNotFound)"):
            return None
        raise
    return catalog.parse_definition(row["Create Table"])


@dataclass(frozen=True, slots=True)
class _Query:
    """A statement, with instructions for reading its response."""

    statement: str
    names: Sequence[str]
    kinds: Sequence[pa.DataType]
    longest: int | None = None
    """Maximum number of characters kept of a string."""


def answer_by_rows(fact: str, asked: CatalogQueries, parameters: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    """The fact's rows for one measurement, as they arrive."""
    query = _query(fact, asked, parameters)
    batches = asked.stream(query.statement, query.names, query.kinds, query.longest)
    if not _lists_metrics(fact, asked, parameters):
        yield from batches
        return
    names = catalog.metric_names(asked.once(statement("measurements")))
    place = parameters["tags"].index(METRIC_OF_ROW)
    for batch in batches:
        # Rows of dropped tables remain for some time: only the IDs of their tables are known.
        metrics = [number and names.get(number, number) for number in batch.column(place).to_pylist()]
        yield batch.set_column(place, METRIC_OF_ROW, pa.array(metrics, pa.string()))


def answer_together(
    fact: str, asked: CatalogQueries, given: Sequence[OfMeasurement], rows: RowsOfSeveral
) -> Iterator[pa.RecordBatch]:
    """The same for several measurements; each batch is about one of them. All responses have the same number and types
    of columns.
    """
    given = [one for one in given if not _lists_metrics(fact, asked, one.variables())]
    each = [_query(fact, asked, one.variables()) for one in given]
    rows.alone = {one.measurement: query.statement for one, query in zip(given, each, strict=True)}
    if not each:
        rows.statements = 0
        return
    first = each[0]
    names, kinds = [batching.PLACE, *first.names], [pa.int64(), *first.kinds]
    batches = asked.stream(batching.united(rows.alone.values()), names, kinds, first.longest)
    yield from batching.divided(batches, given, rows)


def _query(fact: str, asked: CatalogQueries, parameters: Mapping[str, Any]) -> _Query:
    return _QUERIES[fact](_bounded(asked, parameters), _table(asked, parameters))


def _bounded(asked: CatalogQueries, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parameters, with the bounds of the window rounded to the precision of the time column."""
    table = _table(asked, parameters)
    if table is None or table.time is None:
        return parameters
    data_type = table.time.data_type
    return {**parameters, **{b: wire.rounded_up(parameters[b], data_type) for b in ("start", "end")}}


def _lists_metrics(fact: str, asked: CatalogQueries, parameters: Mapping[str, Any]) -> bool:
    """Whether the response contains IDs of tables instead of the names of metrics."""
    table = _table(asked, parameters)
    is_of_metrics = table is not None and table.engine == "metric" and METRIC_OF_ROW in parameters["tags"]
    return fact == "series_listing" and is_of_metrics


def _series_listing(parameters: Mapping[str, Any], _: Table | None) -> _Query:
    tags: Sequence[str] = parameters["tags"]
    return _Query(statement("series_listing", **parameters), tags, [pa.string()] * len(tags))


def _null_counts(parameters: Mapping[str, Any], table: Table | None) -> _Query:
    time_type = wire.arrow_type(table.time.data_type if table and table.time else "bigint")
    counts = [f"count_{place}" for place in range(1, len(parameters["fields"]) + 1)]
    more = [*counts, "later"] if parameters.get("later") else counts
    names = ["rows", "first_time", "last_time", *more]
    kinds = [pa.int64(), time_type, time_type, *[pa.int64()] * len(more)]
    return _Query(statement("null_counts", **parameters), names, kinds)


def _row_sample(parameters: Mapping[str, Any], table: Table | None) -> _Query:
    types = {c.name: c.data_type for c in table.columns} if table else {}
    names: Sequence[str] = parameters["columns"]
    # Only plain strings can be shortened on the server: documents have their own storage format.
    texts = [name for name in names if types.get(name) == "string"]
    instants = [name for name in names if types.get(name, "").startswith("timestamp")]
    sample = statement("row_sample", **{**parameters, "texts": texts, "instants": instants})
    kinds = [wire.arrow_type(types.get(name, "string")) for name in names]
    return _Query(sample, names, kinds, parameters["longest"])


_QUERIES: Final[Mapping[str, Callable[[Mapping[str, Any], Table | None], _Query]]] = {
    "series_listing": _series_listing,
    "null_counts": _null_counts,
    "row_sample": _row_sample,
}


def _table(asked: CatalogQueries, parameters: Mapping[str, Any]) -> Table | None:
    return asked.tables.get(parameters["database"], {}).get(parameters["measurement"])


@contextmanager
def connect(access: Access) -> Iterator[GreptimeConnection]:
    """An open connection to the server, which has responded. Raises ConnectorError."""
    address = wire.address(access.url, access.username, access.password)
    timeout_s = access.connect_timeout_s
    transport = wire.Wire.to(address, timeout_s)
    try:
        known = Known(metrics_url=wire.metrics_url(address))
        yield GreptimeConnection(transport, wire.server_version(transport, address, timeout_s), known)
    finally:
        transport.close()


class GreptimeConnection:
    """One connection, with the parts of the catalog read so far."""

    def __init__(self, transport: wire.Wire, server_version: str, known: Known) -> None:
        self.server_version = server_version
        self._transport = transport
        self._known = known

    def query(self, fact: str, timeout_s: float, given: Given) -> Rows:
        """Run `sql/greptimedb/<fact>.sql`, or assemble the response from the catalog; see `connection.Connection`."""
        parameters = given.variables()
        rows = Rows()
        asked = CatalogQueries(self._transport, self._known, rows, time.monotonic() + timeout_s)
        if fact == "databases":
            return rows.reading(asked.stream(queries.render("greptimedb", fact), FACTS[fact].columns, [pa.string()]))
        if fact == "server_status":
            rows.statements = 0
            return rows.reading(server_status(asked, timeout_s))
        if parameters.get("measurement") is None:
            rows.statements = 0  # statements are counted when sent: most responses are already known from another fact
            return rows.reading(answer_by_catalog(fact, asked, parameters))

        def send(within: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
            return answer_by_rows(fact, asked, within)

        return rows.reading(self._known.limit.read(rows, parameters, send))

    def query_together(self, fact: str, timeout_s: float, given: Sequence[OfMeasurement]) -> RowsOfSeveral:
        """The same for several tables at once; see `connection.QueriesBatches`.

        If they have more files than the server reads for one statement, it refuses, and each table is queried
        separately.
        """
        rows = RowsOfSeveral("", {})
        given = [one for one in given if not self._known.limit.is_known(one.database, one.measurement)]
        asked = CatalogQueries(self._transport, self._known, rows, time.monotonic() + timeout_s)
        return rows.reading(answer_together(fact, asked, given, rows))

    def reconnect(self) -> GreptimeConnection:
        """Another connection to the same server, which shares what this one knows about the catalog."""
        return GreptimeConnection(self._transport.again(), self.server_version, self._known)

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()

    def abort(self) -> None:
        """Shut the socket down."""
        self._transport.abort()
