"""Connects to GreptimeDB with SQLAlchemy and PyMySQL. Facts about a database come from views that cover all databases
at once and are read once per audit, facts about a measurement from the rows within the window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pyarrow as pa

from tsaudit.engines import http_client, queries
from tsaudit.engines.connection import Access, FactError, FactQuery, FileLimit, Rows, RowsOfSeveral, fact_batch
from tsaudit.engines.greptimedb import catalog, wire
from tsaudit.engines.greptimedb.catalog import LEGACY_FORMAT, CreateTable, Row, Table
from tsaudit.engines.greptimedb.tables import METRIC_OF_ROW
from tsaudit.engines.sql import batching
from tsaudit.model.facts import FACTS, Given, OfMeasurement
from tsaudit.model.figures import Reason

_ENGINE: Final = "greptimedb"
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


@dataclass(frozen=True, slots=True)
class _Ask(FactQuery):
    """A query for one fact, which sends its statements before its deadline and records them in its rows."""

    transport: wire.Wire = field(kw_only=True)
    known: Known = field(kw_only=True)

    @property
    def database(self) -> str:
        return str(self.about["database"])

    @property
    def all_tables(self) -> dict[str, dict[str, Table]]:
        """Database to table name to table, for tables with rows of their own."""
        if self.known.tables is None:
            listed = self.once(_statement("measurements"))
            self.known.tables = catalog.tables(listed, self.once(_statement("columns")))
        return self.known.tables

    @property
    def tables(self) -> Mapping[str, Table]:
        """Table name to table, for the tables of the database to examine: all of them, or those that the query names,
        because each may need a statement of its own.
        """
        found, named = self.all_tables.get(self.database, {}), self.about.get("measurements")
        return found if named is None else {name: found[name] for name in named if name in found}

    @property
    def table(self) -> Table | None:
        """The table that the query is about."""
        return self.all_tables.get(self.database, {}).get(self.about["measurement"])

    @property
    def regions(self) -> Mapping[int, Sequence[Row]]:
        """Table ID to the table's regions."""
        return catalog.by_table(self.once(queries.render_file(_ENGINE, "_regions.sql")))

    @property
    def views(self) -> frozenset[str]:
        """The names of the server's metadata views."""
        return catalog.view_names(self.once(_statement("columns")))

    @property
    def key_rows(self) -> list[Row]:
        """The rows about indexes, of all databases; see `catalog.index_rows`."""
        view = "statistics" if "statistics" in self.views else "key_column_usage"
        return self.once(_statement("indexes", catalog=view))

    def keys(self) -> Callable[[str], Sequence[str]]:
        """A function that returns the columns of a table's primary key, in order."""
        if "statistics" not in self.views:
            return self._defined_key
        keys: dict[str, list[str]] = {}
        for row in sorted(self.key_rows, key=lambda row: row["seq_in_index"]):
            if row["table_schema"] == self.database and row["index_type"] == "PRIMARY":
                keys.setdefault(row["table_name"], []).append(row["column_name"])
        return lambda name: keys.get(name, ())

    def _defined_key(self, name: str) -> Sequence[str]:
        # Up to 1.0, no view contains the order of the key.
        definition = self.defined(name)
        internal = (METRIC_OF_ROW,) if definition and definition.engine == "metric" else ()
        return (*internal, *definition.key) if definition else ()

    def defined(self, name: str) -> CreateTable | None:
        """The definition of the table; None if it was dropped in the meantime."""
        try:
            (row,) = self.once(_statement("options", database=self.database, measurement=name))
        except FactError as error:
            if error.detail.startswith("(TableNotFound)"):
                return None
            raise
        return catalog.parse_definition(row["Create Table"])

    def stream(self, statement: str, names: Sequence[str], kinds: Sequence[pa.DataType]) -> Iterator[pa.RecordBatch]:
        """The response as it arrives, with these names and types."""
        self.rows.statement = statement
        longest = self.about.get("longest")
        try:
            for _, rows in self.transport.run(statement, self.deadline):
                columns = list(zip(*rows, strict=True)) or [()] * len(names)
                arrays = [wire.array(values, kind, longest) for values, kind in zip(columns, kinds, strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, names=list(names))
        except FactError as error:
            raise _with_grant(error) from error

    def once(self, statement: str) -> list[Row]:
        """The rows of a catalog statement, which is sent only once per audit."""
        # The first statement is recorded for the whole query; the others only add details.
        self.rows.statement = self.rows.statement or statement
        if statement not in self.known.answers:
            self.rows.statements += 1
            try:
                blocks = list(self.transport.run(statement, self.deadline))
            except FactError as error:
                raise _with_grant(error) from error
            self.known.answers[statement] = [
                dict(zip(names, values, strict=True)) for names, rows in blocks for values in rows
            ]
        return self.known.answers[statement]


def _with_grant(error: FactError) -> FactError:
    # TooManyFilesError is passed on unchanged.
    return FactError(error.reason, error.cause, _GRANT) if error.reason is Reason.DENIED else error


def _statement(fact: str, **parameters: Any) -> str:
    """The statement in the fact's query file, with its parameters filled in."""
    return queries.render(_ENGINE, fact, **parameters)


# --- Facts from the catalog -------------------------------------------------------------------------------------------


def _measurements(ask: _Ask) -> Iterator[Row]:
    yield from ({"measurement": name} for name in ask.tables)


def _columns(ask: _Ask) -> Iterator[Row]:
    ask.once(_statement("columns"))
    key_of = ask.keys()
    for table in ask.tables.values():
        # If the key has only one column, its order is known without a query.
        yield from catalog.column_rows(table, table.tags if len(table.tags) < 2 else key_of(table.name))


def _row_estimate(ask: _Ask) -> Iterator[Row]:
    regions = ask.regions
    for table in ask.tables.values():
        rows, _, _ = catalog.region_totals(regions.get(table.id, ()))
        yield {"measurement": table.name, "rows": rows}


def _storage(ask: _Ask) -> Iterator[Row]:
    regions = ask.regions
    for table in ask.tables.values():
        _, data, index = catalog.region_totals(regions.get(table.id, ()))
        yield {"measurement": table.name, "data_bytes": data, "index_bytes": index}


def _options(ask: _Ask) -> Iterator[Row]:
    for name, table in ask.tables.items():
        if (defined := ask.defined(name)) is not None:
            yield from catalog.option_rows(table, defined)


def _effective_options(ask: _Ask) -> Iterator[Row]:
    """The file format of each table."""
    views, formats = ask.views, dict[int, str]()
    if "region_info" in views:
        # While the format is being changed, files of both may exist: the old one, which comes last, limits what keys
        # may contain.
        formats = {row["table_id"]: row["sst_format"] for row in ask.once(_statement("effective_options"))}
    elif "ssts_manifest" in views:
        raise FactError(Reason.UNSUPPORTED, "the server does not report its file format; 1.1 and later do")
    for name, table in ask.tables.items():
        # Versions without those views have only one format.
        known = formats.get(table.id) if "region_info" in views else LEGACY_FORMAT
        if known is not None:
            yield {"measurement": name, "option": "sst_format", "value": known}


def _table_retention(ask: _Ask) -> Iterator[Row]:
    for name in ask.tables:
        if (defined := ask.defined(name)) is not None:
            yield catalog.retention_row(name, defined)


def _indexes(ask: _Ask) -> Iterator[Row]:
    known = ask.tables
    rows = (row for row in ask.key_rows if row["table_schema"] == ask.database and row["table_name"] in known)
    return catalog.index_rows(rows, ask.keys())


def _partitions(ask: _Ask) -> Iterator[Row]:
    found: dict[str, list[Row]] = {}
    for row in ask.once(_statement("partitions")):
        if row["table_schema"] == ask.database:
            found.setdefault(row["table_name"], []).append(row)
    regions = ask.regions
    for name, table in ask.tables.items():
        if name in found and (defined := ask.defined(name)) is not None:
            yield from catalog.partition_rows(table, defined, found[name], regions.get(table.id, ()))


def _stored_rows(ask: _Ask) -> Iterator[Row]:
    """Number of rows in files within the window, which is the same for all databases."""
    if "ssts_manifest" not in ask.views:
        raise FactError(Reason.UNSUPPORTED, "the server does not report its files; GreptimeDB 1.0 and later do")
    window = {"start": ask.about["start"], "end": ask.about["end"]}
    in_files = {row["table_id"]: row for row in ask.once(_statement("stored_rows", **window))}
    for table in ask.tables.values():
        if (row := in_files.get(table.id)) is not None:
            first = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=row["first_ns"] // 1000)
            yield {"measurement": table.name, "rows": int(row["row_count"]), "first_time": first}


_OF_CATALOG: Final[Mapping[str, Callable[[_Ask], Iterator[Row]]]] = {
    "measurements": _measurements,
    "columns": _columns,
    "row_estimate": _row_estimate,
    "storage": _storage,
    "options": _options,
    "effective_options": _effective_options,
    "indexes": _indexes,
    "partitions": _partitions,
    "stored_rows": _stored_rows,
    "table_retention": _table_retention,
}


def _answered_by_catalog(ask: _Ask) -> Iterator[pa.RecordBatch]:
    """The fact's rows for one database, in one batch."""
    further = ("role", "metrics") if ask.fact == "columns" else ()
    yield fact_batch(ask.fact, _OF_CATALOG[ask.fact](ask), *further)


_COUNTERS: Final = {
    "greptime_mito_write_reject_total": "writes_rejected",
    "greptime_mito_write_stall_total": "writes_delayed",
    "greptime_mito_flush_failure_total": "flushes_failed",
    "greptime_mito_compaction_failure_total": "compactions_failed",
    "greptime_mito_scan_requests_rejected_total": "queries_out_of_memory",
    "greptime_query_memory_pool_rejected_total": "queries_out_of_memory",
}
"""https://docs.greptime.com/user-guide/deployments-administration/monitoring/key-metrics/, and the source of 1.3."""


def _server_status(ask: _Ask) -> Iterator[pa.RecordBatch]:
    """The regions whose leader is down, if the server reports them, and the server's counters, if its metrics page can
    be read. The frontend of a cluster does not have the counters of its datanodes.
    """
    down = ask.once(_statement("server_status")) if "region_peers" in ask.views else []
    known = {table.id: (database, name) for database, own in ask.all_tables.items() for name, table in own.items()}
    found = [(row["region_id"] & _NUMBER, known.get(row["region_id"] >> 32, ("", "a table"))) for row in down]
    yield http_client.status_batch(
        ("failure", f"region {number} of {table}", database, 1.0) for number, (database, table) in found
    )
    if ask.known.metrics_url:
        with suppress(FactError):
            page = http_client.read_page(ask.known.metrics_url, {}, min(ask.timeout_s, _METRICS_S))
            yield http_client.status_batch(http_client.counted_metrics(page, _COUNTERS))


_METRICS_S: Final = 5.0
"""Time limit in seconds: a firewall may drop requests to a port that is not in use."""
_NUMBER: Final = (1 << 32) - 1
"""Mask of a region's number within its table, in the lower half of its ID; the upper half is the ID of the table."""


# --- Facts from the rows of a table -----------------------------------------------------------------------------------

_Query = tuple[str, Sequence[str], Sequence[pa.DataType]]
"""A statement, and the names and types of the columns of its response."""


def _answered_by_rows(ask: _Ask) -> Iterator[pa.RecordBatch]:
    """The fact's rows for one measurement, as they arrive."""
    batches = ask.stream(*_query(ask))
    if not _lists_metrics(ask):
        yield from batches
        return
    names = catalog.metric_names(ask.once(_statement("measurements")))
    place = ask.about["tags"].index(METRIC_OF_ROW)
    for batch in batches:
        # Rows of dropped tables remain for some time: only the IDs of their tables are known.
        metrics = [number and names.get(number, number) for number in batch.column(place).to_pylist()]
        yield batch.set_column(place, METRIC_OF_ROW, pa.array(metrics, pa.string()))


def _answered_together(ask: _Ask, given: Sequence[OfMeasurement], rows: RowsOfSeveral) -> Iterator[pa.RecordBatch]:
    """The same for several measurements, one per batch. All responses have as many columns, of the same types."""
    each = {one.measurement: replace(ask, about=one.variables()) for one in given}
    found = {name: _query(own) for name, own in each.items() if not _lists_metrics(own)}
    rows.alone = {name: statement for name, (statement, _, _) in found.items()}
    if not found:
        rows.statements = 0
        return
    first, (_, names, kinds) = next(iter(found.items()))
    united = batching.united(rows.alone.values())
    batches = each[first].stream(united, [batching.PLACE, *names], [pa.int64(), *kinds])
    yield from batching.divided(batches, [one for one in given if one.measurement in found], rows)


def _query(ask: _Ask) -> _Query:
    """The statement for the fact, with the bounds of the window rounded to the precision of the time column."""
    table, about = ask.table, dict(ask.about)
    if table is not None and table.time is not None:
        about |= {bound: wire.rounded_up(about[bound], table.time.data_type) for bound in ("start", "end")}
    return _QUERIES[ask.fact](about, table)


def _lists_metrics(ask: _Ask) -> bool:
    """Whether the response contains IDs of tables instead of the names of metrics."""
    if ask.fact != "series_listing":
        return False
    return ask.table is not None and ask.table.engine == "metric" and METRIC_OF_ROW in ask.about["tags"]


def _series_listing(parameters: Mapping[str, Any], _: Table | None) -> _Query:
    tags: Sequence[str] = parameters["tags"]
    return _statement("series_listing", **parameters), tags, [pa.string()] * len(tags)


def _null_counts(parameters: Mapping[str, Any], table: Table | None) -> _Query:
    time_type = wire.arrow_type(table.time.data_type if table and table.time else "bigint")
    counts = [f"count_{place}" for place in range(1, len(parameters["fields"]) + 1)]
    more = [*counts, "later"] if parameters.get("later") else counts
    names = ["rows", "first_time", "last_time", *more]
    kinds = [pa.int64(), time_type, time_type, *[pa.int64()] * len(more)]
    return _statement("null_counts", **parameters), names, kinds


def _row_sample(parameters: Mapping[str, Any], table: Table | None) -> _Query:
    types = {c.name: c.data_type for c in table.columns} if table else {}
    names: Sequence[str] = parameters["columns"]
    # Only plain strings can be shortened on the server: documents have their own storage format.
    texts = [name for name in names if types.get(name) == "string"]
    instants = [name for name in names if types.get(name, "").startswith("timestamp")]
    sample = _statement("row_sample", **{**parameters, "texts": texts, "instants": instants})
    return sample, names, [wire.arrow_type(types.get(name, "string")) for name in names]


_QUERIES: Final[Mapping[str, Callable[[Mapping[str, Any], Table | None], _Query]]] = {
    "series_listing": _series_listing,
    "null_counts": _null_counts,
    "row_sample": _row_sample,
}


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
        rows = Rows()
        ask = self._ask(fact, timeout_s, rows, given.variables())
        if fact == "databases":
            return rows.reading(ask.stream(_statement(fact), FACTS[fact].columns, [pa.string()]))
        if ask.about.get("measurement") is None:
            rows.statements = 0  # statements are counted when sent: most responses are already known from another fact
            return rows.reading(_server_status(ask) if fact == "server_status" else _answered_by_catalog(ask))

        def send(within: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
            return _answered_by_rows(replace(ask, about=within))

        return rows.reading(self._known.limit.read(rows, ask.about, send))

    def query_together(self, fact: str, timeout_s: float, given: Sequence[OfMeasurement]) -> RowsOfSeveral:
        """The same for several tables at once; see `connection.QueriesBatches`.

        If they have more files than the server reads for one statement, it refuses, and each table is queried
        separately.
        """
        rows = RowsOfSeveral("", {})
        given = [one for one in given if not self._known.limit.is_known(one.database, one.measurement)]
        return rows.reading(_answered_together(self._ask(fact, timeout_s, rows, {}), given, rows))

    def _ask(self, fact: str, timeout_s: float, rows: Rows, about: Mapping[str, Any]) -> _Ask:
        return _Ask(fact, about, rows, timeout_s, transport=self._transport, known=self._known)

    def reconnect(self) -> GreptimeConnection:
        """Another connection to the same server, which shares what this one knows about the catalog."""
        return GreptimeConnection(self._transport.again(), self.server_version, self._known)

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()

    def abort(self) -> None:
        """Shut the socket down."""
        self._transport.abort()
