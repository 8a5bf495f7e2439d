"""How the engine keeps each measurement: bytes, options, indexes, partitions, files, all from its catalogue."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from tsaudit.collect.draft import Draft
from tsaudit.model.profile import (
    DEFAULT_PARTITION,
    FOREVER,
    MAX_PARTITIONS,
    Activity,
    Index,
    Partition,
    Partitioning,
    Retention,
    Storage,
    StoredRows,
)

Row = Mapping[str, Any]

STORAGE_FACTS: Final[tuple[str, ...]] = (
    "storage",
    "options",
    "effective_options",
    "indexes",
    "index_use",
    "partitions",
    "activity",
    "table_retention",
    "stored_rows",
)
"""In the order in which they are asked for: some need what another one told."""


def describe_storage(drafts: Sequence[Draft], answers: Mapping[str, Sequence[Row] | None]) -> None:
    """Fill in the drafts of one database. `answers`: each fact that was asked for to its rows, None for a gap."""
    for fact, rows in answers.items():
        if rows is not None:
            fill_in, of_measurement = _FILL_IN[fact], _by_measurement(rows)
            for draft in drafts:
                fill_in(draft, of_measurement.get(draft.name, []))


def _by_measurement(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["measurement"], []).append(row)
    return found


def _storage(draft: Draft, rows: list[Row]) -> None:
    for row in rows:
        draft.storage = Storage(row["data_bytes"], row["index_bytes"])


def _options(draft: Draft, rows: list[Row]) -> None:
    draft.options = {row["option"]: row["value"] for row in sorted(rows, key=lambda row: str(row["option"]))}


def _effective_options(draft: Draft, rows: list[Row]) -> None:
    if draft.options is not None:
        _options(draft, [*({"option": k, "value": v} for k, v in draft.options.items()), *rows])


def _indexes(draft: Draft, rows: list[Row]) -> None:
    ordered = sorted(rows, key=lambda row: (row["index"], row["position"]))
    draft.indexes = tuple(_index(list(parts)) for _, parts in itertools.groupby(ordered, lambda row: row["index"]))


def _index(parts: list[Row]) -> Index:
    row, sorting = parts[0], tuple(part.get("sorting") or "" for part in parts)
    return Index(
        name=row["index"],
        kind=row["kind"],
        columns=tuple(part["column"] for part in parts),
        unique=bool(row["is_unique"]),
        constraint=bool(row["is_constraint"]),
        partial=bool(row["is_partial"]),
        size_bytes=row["size_bytes"],
        scans=row["scans"],
        counted_since=_aware(row["counted_since"]),
        valid=row.get("is_valid", True),
        sorting=sorting if any(sorting) else (),
    )


def _aware(time: datetime | None) -> datetime | None:
    return time if time is None or time.tzinfo else time.replace(tzinfo=UTC)


def _partitions(draft: Draft, rows: list[Row]) -> None:
    if not rows:
        return
    parts = [Partition(row["partition"], row["bounds"], row["rows"], row["bytes"]) for row in rows]
    parts.sort(key=lambda part: (-(part.bytes or 0), -(part.rows or 0), part.name))
    # A few rows that fit no other partition say something however many there are.
    rest = [part for part in parts[MAX_PARTITIONS:] if part.bounds == DEFAULT_PARTITION]
    key = tuple(rows[0]["key"].split(", ")) if rows[0]["key"] else ()
    draft.partitioning = Partitioning(key, len(parts), (*parts[: MAX_PARTITIONS - len(rest)], *rest))


def _index_use(draft: Draft, rows: list[Row]) -> None:
    found = {row["index"]: (row["scans"], _aware(row["counted_since"])) for row in rows}
    draft.indexes = draft.indexes and tuple(
        replace(index, scans=found[index.name][0], counted_since=found[index.name][1]) if index.name in found else index
        for index in draft.indexes
    )


def _activity(draft: Draft, rows: list[Row]) -> None:
    for row in rows:
        draft.activity = Activity(row["reads"], row["writes"], _aware(row["counted_since"]))


def _retention(draft: Draft, rows: list[Row]) -> None:
    for row in rows:
        if (seconds := row["duration_s"]) is not None:
            draft.retention = Retention(row["policy"], seconds or FOREVER, row["partition_s"], default=True)


def _stored(draft: Draft, rows: list[Row]) -> None:
    for row in rows:
        first = _aware(row["first_time"])
        if first is None:
            raise ValueError(f"rows in files of {draft.name} have no first time")
        draft.stored = StoredRows(row["rows"], first)


_FILL_IN: Final[Mapping[str, Callable[[Draft, list[Row]], None]]] = {
    "storage": _storage,
    "options": _options,
    "effective_options": _effective_options,
    "indexes": _indexes,
    "index_use": _index_use,
    "activity": _activity,
    "partitions": _partitions,
    "table_retention": _retention,
    "stored_rows": _stored,
}
