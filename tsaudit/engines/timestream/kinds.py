"""Changes that only Timestream knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tsaudit.model.change import Change, Claim


@dataclass(frozen=True, slots=True)
class PartitionBy(Change):
    """A table that is partitioned by a dimension takes the place of this one."""

    dimension: str

    def claims(self) -> Mapping[Claim, str]:
        # A measure cannot be a partition key.
        return {("partition key", ""): self.dimension, ("role", self.dimension): "tag"}


@dataclass(frozen=True, slots=True)
class EnforceKey(Change):
    """Records without the dimension by which the table is partitioned are rejected."""

    dimension: str

    def claims(self) -> Mapping[Claim, str]:
        return {("partition key", ""): self.dimension, ("role", self.dimension): "tag"}


@dataclass(frozen=True, slots=True)
class EncryptRejected(Change):
    """Rejected records are encrypted with the key of the database."""

    key: str

    def claims(self) -> Mapping[Claim, str]:
        return {("option", "encryption of rejected records"): self.key}


@dataclass(frozen=True, slots=True)
class OneRecord(Change):
    """Measures that share their instants are written as one multi-measure record."""

    names: tuple[str, ...]
    """Measure names, those with most rows first."""
