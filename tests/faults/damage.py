"""Responses that are well-formed and cannot be true, on any engine: made of the true ones on their way to the audit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

from tsaudit.collect import plausibility
from tsaudit.engines.connection import Connection, FactError, Rows, RowsOfSeveral
from tsaudit.model.facts import FACTS, STRUCTURE, Given, OfMeasurement, Scope
from tsaudit.model.figures import Reason

Damage = Callable[[str, pa.RecordBatch], pa.RecordBatch]
"""(fact, batch) to what arrives; the same batch if there is nothing to damage in it. May raise FactError."""

_DESCRIBE: Final = frozenset({"columns", "tag_keys", "field_types"})
_COUNTED: Final = frozenset({"null_counts", "measure_name_counts", "row_estimate", "database_series"})
_TIMES_TOO_MANY: Final = 10


class Damaged:
    """A connection whose responses are damaged; `act` is called when one is."""

    def __init__(self, connection: Connection, damage: Damage, act: Callable[[], None] = lambda: None) -> None:
        self._connection, self._damage, self._act = connection, damage, act
        self.server_version = connection.server_version

    def query(self, fact: str, timeout_s: float, given: Given) -> Rows:
        rows = self._connection.query(fact, timeout_s, given)
        return rows.reading(self._damaged(fact, iter(rows)))

    def _damaged(self, fact: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            for batch in batches:
                # One without columns says that the server is at work.
                found = batch
                if batch.num_columns:
                    try:
                        found = self._damage(fact, batch)
                    except FactError:
                        self._act()
                        raise
                if found is not batch:
                    self._act()
                yield found
        finally:
            if close := getattr(batches, "close", None):
                close()

    def query_together(self, fact: str, timeout_s: float, given: Sequence[OfMeasurement]) -> RowsOfSeveral:
        """Nothing: each is queried alone, and damaged."""
        del fact, timeout_s, given
        rows = RowsOfSeveral("", {})
        rows.statements = 0
        return rows

    def reconnect(self) -> Connection:
        return Damaged(self._connection.reconnect(), self._damage, self._act)

    def close(self) -> None:
        self._connection.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def replaced(batch: pa.RecordBatch, name: str, column: pa.Array) -> pa.RecordBatch:
    """The batch with another column of this name."""
    at = batch.schema.names.index(name)
    columns = [*batch.columns[:at], column, *batch.columns[at + 1 :]]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _counts(fact: str, batch: pa.RecordBatch) -> list[str]:
    if fact in STRUCTURE or not FACTS[fact].columns or not batch.num_rows:
        return []
    return [n for n in batch.schema.names if n in plausibility._COUNTS and batch.column(n).null_count < batch.num_rows]


def _with_counts(value: float) -> Damage:
    def damage(fact: str, batch: pa.RecordBatch) -> pa.RecordBatch:
        for name in _counts(fact, batch):
            batch = replaced(batch, name, pa.array([value] * batch.num_rows))
        return batch

    return damage


def _twice(fact: str, batch: pa.RecordBatch) -> pa.RecordBatch:
    if fact != "measurements" or not batch.num_rows:
        return batch
    return pa.Table.from_batches([batch, batch]).combine_chunks().to_batches()[0]


def _without_columns(fact: str, batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.slice(0, 0) if fact in _DESCRIBE and batch.num_rows else batch


def _parts_above(fact: str, batch: pa.RecordBatch) -> pa.RecordBatch:
    if not batch.num_rows:
        return batch
    names = set(batch.schema.names)
    for part, whole in plausibility._PARTS:
        if {part, whole} <= names and batch.column(whole).null_count < batch.num_rows:
            batch = replaced(batch, part, pa.array([(n or 0) + 1 for n in batch.column(whole).to_pylist()]))
    if fact in ("null_counts", "measure_name_counts"):
        above = pa.array([n + 1 for n in batch.column("rows").to_pylist()])
        first = FACTS[fact].columns.index("*")
        for name in batch.schema.names[first : first + 1]:
            batch = replaced(batch, name, above)
    return batch


def _unreadable(fact: str, batch: pa.RecordBatch) -> pa.RecordBatch:
    if FACTS[fact].scope is Scope.MEASUREMENT:
        raise FactError(Reason.DENIED, "permission denied")
    return batch


def _disputed(fact: str, batch: pa.RecordBatch) -> pa.RecordBatch:
    name = "series" if fact == "database_series" else "rows"
    if fact not in _COUNTED or not batch.num_rows or batch.column(name).null_count:
        return batch
    return replaced(batch, name, pa.array([_TIMES_TOO_MANY * n + 20 for n in batch.column(name).to_pylist()]))


KINDS: Final[dict[str, Damage]] = {
    "twice": _twice,
    "undescribed": _without_columns,
    "nan": _with_counts(math.nan),
    "negative": _with_counts(-6),
    "above": _parts_above,
    "unreadable-rows": _unreadable,
    "disputed": _disputed,
}
"""Those of the matrix, by the names of its faults."""
