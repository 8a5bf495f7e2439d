"""GreptimeDB through SQLAlchemy and PyMySQL: text statements; the catalogue is read once and put together here."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import pyarrow as pa

from tsaudit import queries
from tsaudit.connector import FactError, Rows
from tsaudit.facts import FACTS
from tsaudit.greptime import catalogue, create_table, typed, wire
from tsaudit.greptime.asked import Asked, Known
from tsaudit.greptime.catalogue import METRIC_OF_ROW, Row, Table
from tsaudit.greptime.create_table import CreateTable
from tsaudit.profile import Reason

_ENGINE: Final = "greptimedb"
_NUMBERS: Final = frozenset(
    {
        "key_position",
        "position",
        "rows",
        "bytes",
        "data_bytes",
        "index_bytes",
        "size_bytes",
        "duration_s",
        "partition_s",
    }
)
_FLAGS: Final = frozenset({"is_unique", "is_constraint", "is_partial"})


@contextmanager
def connect(
    url: str, *, username: str | None, password: str | None, options: Mapping[str, Any]
) -> Iterator[GreptimeConnection]:
    """A connection to the server, which has answered. ConnectorError."""
    address = wire.address(url, username, password)
    timeout_s = float(options.get("connect_timeout_s", 10.0))
    way = wire.Wire.to(address, timeout_s)
    connection = GreptimeConnection(way, wire.server_version(way, f"{address.host}:{address.port}", timeout_s))
    try:
        yield connection
    finally:
        connection.close()


class GreptimeConnection:
    """Statements on one wire, and the catalogue as far as it was read."""

    def __init__(self, way: wire.Wire, server_version: str, known: Known | None = None) -> None:
        self.server_version = server_version
        self._way = way
        self._known = known or Known()

    def query(self, fact: str, timeout_s: float, **parameters: Any) -> Rows:
        """Run `sql/greptimedb/<fact>.sql`, or put its answer together; see `connector.Connection`."""
        rows = Rows("", iter(()))
        asked = Asked(self._way, self._known, rows, time.monotonic() + timeout_s)
        if fact == "databases":
            return rows.reading(asked.stream(queries.render(_ENGINE, fact), FACTS[fact].columns, [pa.string()]))
        if parameters.get("measurement") is None:
            rows.statements = 0  # each is counted when it is sent: most answers are known from another fact
            if fact == "stored_rows":
                return rows.reading(_stored_rows(asked, parameters))
            return rows.reading(_whole(fact, asked, parameters["database"]))

        def send(within: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
            return _OF_MEASUREMENT[fact](asked, _bounded(asked, within))

        return rows.reading(self._known.limit.read(rows, parameters, send))

    def reconnect(self) -> GreptimeConnection:
        """A further connection to the same server, which knows what this one knows."""
        return GreptimeConnection(self._way.again(), self.server_version, self._known)

    def close(self) -> None:
        """Release it."""
        self._way.close()


# --- About a database: out of views that tell of all of them -----------------------------------------------------


def _whole(fact: str, asked: Asked, database: str) -> Iterator[pa.RecordBatch]:
    rows = list(_OF_DATABASE[fact](asked, database))
    names = (*FACTS[fact].columns, *(("role",) if fact == "columns" else ()))
    kinds = [pa.int64() if name in _NUMBERS else pa.bool_() if name in _FLAGS else pa.string() for name in names]
    arrays = [pa.array([row[name] for row in rows], kind) for name, kind in zip(names, kinds, strict=True)]
    yield pa.RecordBatch.from_arrays(arrays, names=list(names))


def _measurements(asked: Asked, database: str) -> Iterator[Row]:
    yield from ({"measurement": name} for name in _tables(asked)(database))


def _columns(asked: Asked, database: str) -> Iterator[Row]:
    asked.once(_statement("columns"))
    key_of = _keys(asked, database)
    for table in _tables(asked)(database).values():
        # The place in a key of one column needs no asking.
        yield from catalogue.column_rows(table, table.tags if len(table.tags) < 2 else key_of(table.name))


def _row_estimate(asked: Asked, database: str) -> Iterator[Row]:
    regions = _regions(asked)
    for table in _tables(asked)(database).values():
        rows, _, _ = catalogue.region_totals(regions(table))
        yield {"measurement": table.name, "rows": rows}


def _storage(asked: Asked, database: str) -> Iterator[Row]:
    regions = _regions(asked)
    for table in _tables(asked)(database).values():
        _, data, index = catalogue.region_totals(regions(table))
        yield {"measurement": table.name, "data_bytes": data, "index_bytes": index}


def _options(asked: Asked, database: str) -> Iterator[Row]:
    formats: dict[int, list[str]] = {}
    definitions = {name: _defined(asked, database, name) for name in _tables(asked)(database)}
    if "region_info" in _views(asked):
        for row in asked.once(_shared("_formats")):
            formats.setdefault(row["table_id"], []).append(row["sst_format"])
    for table in _tables(asked)(database).values():
        if (defined := definitions[table.name]) is not None:
            yield from catalogue.option_rows(table, defined, formats.get(table.id, ()))


def _table_retention(asked: Asked, database: str) -> Iterator[Row]:
    for name in _tables(asked)(database):
        if (defined := _defined(asked, database, name)) is not None:
            yield catalogue.retention_row(name, defined)


def _indexes(asked: Asked, database: str) -> Iterator[Row]:
    known = _tables(asked)(database)
    rows = [row for row in _key_rows(asked) if row["table_schema"] == database and row["table_name"] in known]
    return catalogue.index_rows(catalogue.index_members(rows, _keys(asked, database)))


def _partitions(asked: Asked, database: str) -> Iterator[Row]:
    found: dict[str, list[Row]] = {}
    for row in asked.once(_statement("partitions")):
        if row["table_schema"] == database:
            found.setdefault(row["table_name"], []).append(row)
    regions = _regions(asked)
    for name, table in _tables(asked)(database).items():
        if name in found and (defined := _defined(asked, database, name)) is not None:
            yield from catalogue.partition_rows(table, defined, found[name], regions(table))


def _stored_rows(asked: Asked, parameters: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    """Of the window, which is the same for all databases."""
    if "ssts_manifest" not in _views(asked):
        raise FactError(Reason.UNSUPPORTED, "the server does not tell of its files; GreptimeDB 1.0 and later do")
    window = {"start": parameters["start"], "end": parameters["end"]}
    in_files = {row["table_id"]: row for row in asked.once(_statement("stored_rows", **window))}
    tables = [t for t in _tables(asked)(parameters["database"]).values() if t.id in in_files]
    yield pa.RecordBatch.from_arrays(
        [
            pa.array([t.name for t in tables], pa.string()),
            pa.array([int(in_files[t.id]["row_count"]) for t in tables], pa.int64()),
            pa.array([in_files[t.id]["first_ns"] // 1000 for t in tables], pa.timestamp("us", "UTC")),
        ],
        names=list(FACTS["stored_rows"].columns),
    )


_OF_DATABASE: Final[Mapping[str, Callable[[Asked, str], Iterable[Row]]]] = {
    "measurements": _measurements,
    "columns": _columns,
    "row_estimate": _row_estimate,
    "storage": _storage,
    "options": _options,
    "indexes": _indexes,
    "partitions": _partitions,
    "table_retention": _table_retention,
}


def _statement(fact: str, **parameters: Any) -> str:
    return queries.render(_ENGINE, fact, **parameters)


def _shared(part: str) -> str:
    return queries.render_file(queries.root() / _ENGINE / f"{part}.sql")


def _tables(asked: Asked) -> Callable[[str], Mapping[str, Table]]:
    """Database to its tables."""
    if asked.known.tables is None:
        listed = asked.once(_statement("measurements"))
        asked.known.tables = catalogue.tables(listed, asked.once(_statement("columns")))
    found = asked.known.tables
    return lambda database: found.get(database, {})


def _regions(asked: Asked) -> Callable[[Table], Sequence[Row]]:
    """Table to its regions."""
    found = catalogue.by_table(asked.once(_shared("_regions")))
    return lambda table: found.get(table.id, ())


def _views(asked: Asked) -> frozenset[str]:
    return catalogue.view_names(asked.once(_statement("columns")))


def _key_rows(asked: Asked) -> list[Row]:
    view = "statistics" if "statistics" in _views(asked) else "key_column_usage"
    return asked.once(_statement("indexes", catalog=view))


def _keys(asked: Asked, database: str) -> Callable[[str], Sequence[str]]:
    """Table to the columns of its primary key in their order."""
    if "statistics" not in _views(asked):
        # No view knows the order up to 1.0.
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


def _defined(asked: Asked, database: str, name: str) -> CreateTable | None:
    """How the table is defined; None when it is gone meanwhile."""
    try:
        (row,) = asked.once(_statement("options", database=database, measurement=name))
    except FactError as error:
        if error.detail.startswith("(TableNotFound)"):
            return None
        raise
    return create_table.parse(row["Create Table"])


# --- About a measurement: out of its rows ------------------------------------------------------------------------


def _bounded(asked: Asked, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parameters with bounds of the window that are instants of the time column."""
    table = _table(asked, parameters)
    if table is None or table.time is None:
        return parameters
    data_type = table.time.data_type
    return {**parameters, **{b: typed.rounded_up(parameters[b], data_type) for b in ("start", "end")}}


def _series_listing(asked: Asked, parameters: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    tags: Sequence[str] = parameters["tags"]
    batches = asked.stream(_statement("series_listing", **parameters), tags, [pa.string()] * len(tags))
    table = _table(asked, parameters)
    if table is None or table.engine != "metric" or METRIC_OF_ROW not in tags:
        yield from batches
        return
    names = catalogue.metric_names(asked.once(_statement("measurements")))
    place = tags.index(METRIC_OF_ROW)
    for batch in batches:
        # Rows of dropped tables stay for a while: their numbers are all that is left to say.
        metrics = [number and names.get(number, number) for number in batch.column(place).to_pylist()]
        yield batch.set_column(place, METRIC_OF_ROW, pa.array(metrics, pa.string()))


def _null_counts(asked: Asked, parameters: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    table = _table(asked, parameters)
    time_type = typed.arrow_type(table.time.data_type if table and table.time else "bigint")
    counts = [f"count_{place}" for place in range(1, len(parameters["fields"]) + 1)]
    names = ["rows", "first_time", "last_time", *counts]
    kinds = [pa.int64(), time_type, time_type, *[pa.int64()] * len(counts)]
    yield from asked.stream(_statement("null_counts", **parameters), names, kinds)


def _row_sample(asked: Asked, parameters: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    table = _table(asked, parameters)
    types = {c.name: c.data_type for c in table.columns} if table else {}
    names: Sequence[str] = parameters["columns"]
    # Only plain texts can be cut off there: a document is kept in a form of its own.
    texts = [name for name in names if types.get(name) == "string"]
    instants = [name for name in names if types.get(name, "").startswith("timestamp")]
    statement = _statement("row_sample", **{**parameters, "texts": texts, "instants": instants})
    kinds = [typed.arrow_type(types.get(name, "string")) for name in names]
    yield from asked.stream(statement, names, kinds, parameters["longest"])


_OF_MEASUREMENT: Final[Mapping[str, Callable[[Asked, Mapping[str, Any]], Iterator[pa.RecordBatch]]]] = {
    "series_listing": _series_listing,
    "null_counts": _null_counts,
    "row_sample": _row_sample,
}


def _table(asked: Asked, parameters: Mapping[str, Any]) -> Table | None:
    return _tables(asked)(parameters["database"]).get(parameters["measurement"])
