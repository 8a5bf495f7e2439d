"""Kinds of changes that only apply to Timestream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tsaudit.model.change import Change, Claim


@dataclass(frozen=True, slots=True)
class PartitionBy(Change):
    """Replace a table with one that is partitioned by a dimension."""

    dimension: str

    def claims(self) -> Mapping[Claim, str]:
        # A measure cannot be a partition key.
        return {("partition key", ""): self.dimension, ("role", self.dimension): "tag"}


@dataclass(frozen=True, slots=True)
class EnforceKey(Change):
    """Reject records without the dimension by which the table is partitioned."""

    dimension: str

    def claims(self) -> Mapping[Claim, str]:
        return {("partition key", ""): self.dimension, ("role", self.dimension): "tag"}


@dataclass(frozen=True, slots=True)
class EncryptRejected(Change):
    """Encrypt rejected records with the key of the database."""

    key: str

    def claims(self) -> Mapping[Claim, str]:
        return {("option", "encryption of rejected records"): self.key}


@dataclass(frozen=True, slots=True)
class KeepInMemory(Change):
    """Move records to the magnetic store after this many hours."""

    hours: int
    days: int
    """Days until records are deleted, which do not change."""

    def claims(self) -> Mapping[Claim, str]:
        return {("retention", "in memory"): str(self.hours)}


@dataclass(frozen=True, slots=True)
class OneRecord(Change):
    """Write measures that share their times as one multi-measure record."""

    names: tuple[str, ...]
    """Measure names, those with the most rows first."""
