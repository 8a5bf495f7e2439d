"""Kinds of changes that only apply to document collections, and the size of documents by that of files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tsaudit.model.change import Change, Claim
from tsaudit.model.profile import Measurement


@dataclass(frozen=True, slots=True)
class UseAsId(Change):
    """Use a field that identifies documents as their `_id`."""

    field: str

    def claims(self) -> Mapping[Claim, str]:
        return {("_id", ""): self.field, ("name", self.field): "_id"}


@dataclass(frozen=True, slots=True)
class KeepCounts(Change):
    """Replace collections of past periods by their numbers of documents."""

    into: str
    """The collection that stores the counts."""
    collections: tuple[str, ...]
    """The collections in the order of their periods."""


@dataclass(frozen=True, slots=True)
class ItemsToDocuments(Change):
    """Turn the items of an array into documents."""

    field: str

    def claims(self) -> Mapping[Claim, str]:
        return {("form", self.field): "documents"}


@dataclass(frozen=True, slots=True)
class MakeTimeSeries(Change):
    """Move documents that have a time and a source to a time series collection."""

    time: str
    source: str
    """The field that identifies the source of a document."""

    def claims(self) -> Mapping[Claim, str]:
        return {("type", ""): "timeseries"}


@dataclass(frozen=True, slots=True)
class ConvertToDates(Change):
    """Convert the stored times of a field that are not dates."""

    column: str
    forms: tuple[str, ...]
    """As in `ValuesOfType`."""

    def claims(self) -> Mapping[Claim, str]:
        return {("type", self.column): "time"}


@dataclass(frozen=True, slots=True)
class LongerSpan(Change):
    """Let a bucket of a time series collection cover more time."""

    granularity: str

    def claims(self) -> Mapping[Claim, str]:
        return {("option", "granularity"): self.granularity}


def is_series(measurement: Measurement) -> bool:
    """Whether it is a time series collection; False also if its options are not known."""
    return (measurement.options or {}).get("type") == "timeseries"


_ROOM_BYTES: Final = 1_000_000
"""Minimum file size in bytes: smaller ones may be mostly unused space, preallocated or left by moved documents."""


def is_more_than_room(measurement: Measurement) -> bool:
    """Whether the files are large enough to grow with the documents in them."""
    kept = measurement.storage
    return kept is not None and (kept.data_bytes or 0) + (kept.index_bytes or 0) >= _ROOM_BYTES


def left_by_compression(measurement: Measurement, repeated: float) -> float:
    """How many of the bytes that each document repeats still take space after compression, over all documents.

    Compression saves repeated bytes first, so everything it saved is subtracted from them. 0 if there are no documents,
    or no size is known.
    """
    rows, documents, kept = measurement.rows, measurement.documents, measurement.storage
    if rows is None or not rows.value or documents is None or kept is None or kept.data_bytes is None:
        return 0.0
    saved = max(documents.mean_bytes - kept.data_bytes / rows.value, 0.0)
    return max(repeated - saved, 0.0) * rows.value
