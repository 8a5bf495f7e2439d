"""Changes that only collections of documents know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tsaudit.model.change import Change, Claim


@dataclass(frozen=True, slots=True)
class UseAsId(Change):
    """A field that identifies documents becomes their `_id`."""

    field: str
    index: str
    """The unique index on it, which goes."""
    collections: tuple[str, ...]
    """In the order of their periods; one, where the collection is of no family."""

    def claims(self) -> Mapping[Claim, str]:
        return {("_id", ""): self.field}


@dataclass(frozen=True, slots=True)
class KeepCounts(Change):
    """Collections of periods that are over are replaced by the number of their documents."""

    into: str
    """The collection of counts."""
    collections: tuple[str, ...]
    """In the order of their periods."""


@dataclass(frozen=True, slots=True)
class OneCollection(Change):
    """The documents of all periods are kept in one collection, each with its period."""

    into: str


@dataclass(frozen=True, slots=True)
class NamesToValues(Change):
    """Data in the names of fields becomes values, in an array of names and values."""

    above: str
    """The document that has the fields; empty for the top of the document."""
    name: str
    """Of the array."""
    example: str
    """One of the field names."""

    def claims(self) -> Mapping[Claim, str]:
        return {("form", self.above): "array"}


@dataclass(frozen=True, slots=True)
class ItemsToDocuments(Change):
    """Items of an array become documents of their own."""

    field: str

    def claims(self) -> Mapping[Claim, str]:
        return {("form", self.field): "documents"}


@dataclass(frozen=True, slots=True)
class Validate(Change):
    """The server holds documents to a schema."""

    schema: str
    """The validator as JSON."""

    def claims(self) -> Mapping[Claim, str]:
        return {("validator", ""): self.schema}


@dataclass(frozen=True, slots=True)
class MakeTimeSeries(Change):
    """Documents with a time and a source move to a time series collection."""

    time: str
    source: str
    """The field that names the source of a document."""

    def claims(self) -> Mapping[Claim, str]:
        return {("type", ""): "timeseries"}


@dataclass(frozen=True, slots=True)
class LongerSpan(Change):
    """A bucket of a time series collection covers more time."""

    granularity: str

    def claims(self) -> Mapping[Claim, str]:
        return {("option", "granularity"): self.granularity}
