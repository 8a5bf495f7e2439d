"""GreptimeDB's facts about a measurement, from its rows within the window."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from tsaudit.engines.greptimedb import catalogue, typed
from tsaudit.engines.greptimedb.asked import Asked
from tsaudit.engines.greptimedb.catalogue import Table
from tsaudit.engines.greptimedb.database_facts import statement, tables_of
from tsaudit.engines.greptimedb.tables import METRIC_OF_ROW


def answer(fact: str, asked: Asked, parameters: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    """The fact's rows for one measurement, as they arrive."""
    return _ANSWERS[fact](asked, _bounded(asked, parameters))


def _bounded(asked: Asked, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parameters with the bounds of the window in the precision of the time column."""
    table = _table(asked, parameters)
    if table is None or table.time is None:
        return parameters
    data_type = table.time.data_type
    return {**parameters, **{b: typed.rounded_up(parameters[b], data_type) for b in ("start", "end")}}


def _series_listing(asked: Asked, parameters: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    tags: Sequence[str] = parameters["tags"]
    batches = asked.stream(statement("series_listing", **parameters), tags, [pa.string()] * len(tags))
    table = _table(asked, parameters)
    if table is None or table.engine != "metric" or METRIC_OF_ROW not in tags:
        yield from batches
        return
    names = catalogue.metric_names(asked.once(statement("measurements")))
    place = tags.index(METRIC_OF_ROW)
    for batch in batches:
        # Rows of dropped tables remain for a while: only the IDs of the tables are known.
        metrics = [number and names.get(number, number) for number in batch.column(place).to_pylist()]
        yield batch.set_column(place, METRIC_OF_ROW, pa.array(metrics, pa.string()))


def _null_counts(asked: Asked, parameters: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    table = _table(asked, parameters)
    time_type = typed.arrow_type(table.time.data_type if table and table.time else "bigint")
    counts = [f"count_{place}" for place in range(1, len(parameters["fields"]) + 1)]
    more = [*counts, "later"] if parameters.get("later") else counts
    names = ["rows", "first_time", "last_time", *more]
    kinds = [pa.int64(), time_type, time_type, *[pa.int64()] * len(more)]
    yield from asked.stream(statement("null_counts", **parameters), names, kinds)


def _row_sample(asked: Asked, parameters: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    table = _table(asked, parameters)
    types = {c.name: c.data_type for c in table.columns} if table else {}
    names: Sequence[str] = parameters["columns"]
    # Only plain strings can be cut there: documents have a storage format of their own.
    texts = [name for name in names if types.get(name) == "string"]
    instants = [name for name in names if types.get(name, "").startswith("timestamp")]
    sample = statement("row_sample", **{**parameters, "texts": texts, "instants": instants})
    kinds = [typed.arrow_type(types.get(name, "string")) for name in names]
    yield from asked.stream(sample, names, kinds, parameters["longest"])


_ANSWERS: Final[Mapping[str, Callable[[Asked, Mapping[str, Any]], Iterator[pa.RecordBatch]]]] = {
    "series_listing": _series_listing,
    "null_counts": _null_counts,
    "row_sample": _row_sample,
}


def _table(asked: Asked, parameters: Mapping[str, Any]) -> Table | None:
    return tables_of(asked)(parameters["database"]).get(parameters["measurement"])
