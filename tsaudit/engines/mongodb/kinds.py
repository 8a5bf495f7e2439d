"""Kinds of changes that only apply to document collections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tsaudit.model.change import Change, Claim


@dataclass(frozen=True, slots=True)
class UseAsId(Change):
    """Use a field that identifies documents as their `_id`."""

    field: str
    index: str
    """The unique index on the field, which is dropped."""
    collections: tuple[str, ...]
    """The collections in the order of their periods; only one if it is not part of a family."""

    def claims(self) -> Mapping[Claim, str]:
        return {("_id", ""): self.field, ("name", self.field): "_id", ("values", "_id"): self.field}


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
class Validate(Change):
    """Have the server validate documents against a schema."""

    schema: str
    """The validator as JSON."""

    def claims(self) -> Mapping[Claim, str]:
        return {("validator", ""): self.schema}


@dataclass(frozen=True, slots=True)
class MakeTimeSeries(Change):
    """Move documents that have a time and a source to a time series collection."""

    time: str
    source: str
    """The field that identifies the source of a document."""

    def claims(self) -> Mapping[Claim, str]:
        return {("type", ""): "timeseries"}


@dataclass(frozen=True, slots=True)
class LongerSpan(Change):
    """Let a bucket of a time series collection cover more time."""

    granularity: str

    def claims(self) -> Mapping[Claim, str]:
        return {("option", "granularity"): self.granularity}
