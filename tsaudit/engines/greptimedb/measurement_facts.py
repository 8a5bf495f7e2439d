"""GreptimeDB's facts about a measurement, from the rows within the window."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from tsaudit.engines.connection import RowsOfSeveral
from tsaudit.engines.greptimedb import catalog, wire
from tsaudit.engines.greptimedb.catalog import Table
from tsaudit.engines.greptimedb.database_facts import CatalogQueries, statement
from tsaudit.engines.greptimedb.tables import METRIC_OF_ROW
from tsaudit.engines.sql import batching
from tsaudit.model.facts.given import OfMeasurement


@dataclass(frozen=True, slots=True)
class _Query:
    """A statement, with instructions for reading its response."""

    statement: str
    names: Sequence[str]
    kinds: Sequence[pa.DataType]
    longest: int | None = None
    """Maximum number of characters kept of a string."""


def answer(fact: str, asked: CatalogQueries, parameters: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
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
    queries = [_query(fact, asked, one.variables()) for one in given]
    rows.alone = {one.measurement: query.statement for one, query in zip(given, queries, strict=True)}
    if not queries:
        rows.statements = 0
        return
    first = queries[0]
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
