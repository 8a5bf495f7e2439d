"""How the engine stores each measurement: bytes, options, indexes, partitions, files, all from its catalog."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from tsaudit.collect.draft import Draft, Found
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
"""In query order: some need the results of others."""


@dataclass(frozen=True, slots=True)
class Bytes(Found):
    """The bytes used by rows and indexes."""

    storage: Storage


@dataclass(frozen=True, slots=True)
class Options(Found):
    """The storage options in force."""

    options: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Indexes(Found):
    """The indexes, with their usage if it is counted."""

    indexes: tuple[Index, ...] | None


@dataclass(frozen=True, slots=True)
class Partitions(Found):
    """The partitioning of the rows."""

    partitioning: Partitioning


@dataclass(frozen=True, slots=True)
class Operations(Found):
    """How often it is read and written."""

    activity: Activity


@dataclass(frozen=True, slots=True)
class OwnRetention(Found):
    """Its retention."""

    retention: Retention


@dataclass(frozen=True, slots=True)
class Files(Found):
    """The rows in its files."""

    stored: StoredRows


def describe_storage(
    drafts: Sequence[Draft], answers: Mapping[str, Sequence[Row] | None], now: datetime
) -> list[Draft]:
    """The drafts of one database with their storage from the catalog.

    `answers`: each queried fact to its rows, None for a gap. `now`: the day on which they were queried.
    """
    described = list(drafts)
    for fact, rows in answers.items():
        if rows is not None:
            found_in, of_measurement = _FOUND_IN[fact], _by_measurement(rows)
            described = [draft.knowing(found_in(draft, of_measurement.get(draft.name, []))) for draft in described]
    return [draft.knowing(_uses_observed(draft, now)) for draft in described]


def _uses_observed(draft: Draft, now: datetime) -> Found:
    """Since when the audits have seen the same number of uses of each index."""
    before = {(i.name, i.columns): i for i in draft.previous.indexes or ()} if draft.previous else {}

    def observed(index: Index) -> Index:
        if index.scans is None:
            return index
        same = before.get((index.name, index.columns))
        since = same.scans_since if same and same.scans == index.scans else None
        return replace(index, scans_since=since or now)

    return Indexes(tuple(map(observed, draft.indexes))) if draft.indexes else Found()


def _by_measurement(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["measurement"], []).append(row)
    return found


def _storage(draft: Draft, rows: list[Row]) -> Found:
    del draft
    return Bytes(Storage(row["data_bytes"], row["index_bytes"])) if (row := _last(rows)) else Found()


def _options(draft: Draft, rows: list[Row]) -> Found:
    del draft
    return Options({row["option"]: row["value"] for row in sorted(rows, key=lambda row: str(row["option"]))})


def _effective_options(draft: Draft, rows: list[Row]) -> Found:
    if draft.options is None:
        return Found()
    return _options(draft, [*({"option": k, "value": v} for k, v in draft.options.items()), *rows])


def _indexes(draft: Draft, rows: list[Row]) -> Found:
    del draft
    ordered = sorted(rows, key=lambda row: (row["index"], row["position"]))
    return Indexes(tuple(_index(list(parts)) for _, parts in itertools.groupby(ordered, lambda row: row["index"])))


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


def _partitions(draft: Draft, rows: list[Row]) -> Found:
    del draft
    if not rows:
        return Found()
    parts = [Partition(row["partition"], row["bounds"], row["rows"], row["bytes"]) for row in rows]
    parts.sort(key=lambda part: (-(part.bytes or 0), -(part.rows or 0), part.name))
    # A few rows that match no other partition matter, however many partitions there are.
    rest = [part for part in parts[MAX_PARTITIONS:] if part.bounds == DEFAULT_PARTITION]
    key = tuple(rows[0]["key"].split(", ")) if rows[0]["key"] else ()
    return Partitions(Partitioning(key, len(parts), (*parts[: MAX_PARTITIONS - len(rest)], *rest)))


def _index_use(draft: Draft, rows: list[Row]) -> Found:
    found = {row["index"]: (row["scans"], _aware(row["counted_since"])) for row in rows}
    indexes = draft.indexes and tuple(
        replace(index, scans=found[index.name][0], counted_since=found[index.name][1]) if index.name in found else index
        for index in draft.indexes
    )
    return Indexes(indexes)


def _activity(draft: Draft, rows: list[Row]) -> Found:
    del draft
    return Operations(Activity(r["reads"], r["writes"], _aware(r["counted_since"]))) if (r := _last(rows)) else Found()


def _retention(draft: Draft, rows: list[Row]) -> Found:
    del draft
    known = _last([row for row in rows if row["duration_s"] is not None])
    if not known:
        return Found()
    return OwnRetention(Retention(known["policy"], known["duration_s"] or FOREVER, known["partition_s"], default=True))


def _stored(draft: Draft, rows: list[Row]) -> Found:
    if not (row := _last(rows)):
        return Found()
    first = _aware(row["first_time"])
    if first is None:
        raise ValueError(f"rows in files of {draft.name} have no first time")
    return Files(StoredRows(row["rows"], first))


def _last(rows: list[Row]) -> Row | None:
    return rows[-1] if rows else None


_FOUND_IN: Final[Mapping[str, Callable[[Draft, list[Row]], Found]]] = {
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
