"""A database, bucket, schema, or retention policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from tsaudit.model.profile.figures import Count
from tsaudit.model.profile.server import KeptPoints
from tsaudit.model.profile.storage import DatabaseStorage, DeclaredColumn, Retention

POLICY_SEPARATOR: Final = "/"
"""Separates a database from its retention policy, in the name of an audited policy (`shop/raw`)."""


@dataclass(frozen=True, slots=True)
class Database:
    """A database, bucket, or schema within the target."""

    name: str
    series: Count | None = None
    """Distinct tag sets, as everywhere in a profile. If retention policies are audited separately (`policy_of`), the
    number covers all of them: the server counts a series once, however many policies contain it.
    """
    retention: tuple[Retention, ...] | None = None
    """None: not measured, or the engine has no retention (then there is no gap)."""
    series_with_fields: Count | None = None
    """Distinct pairs of a tag set and a field, if the product counts those (InfluxDB Cloud); never compared with
    `series`, and stored under a separate name in the history.
    """
    storage: DatabaseStorage | None = None
    declared: tuple[DeclaredColumn, ...] | None = None
    """Every column that may be written, if the server enforces a schema (an explicit bucket of InfluxDB Cloud). None:
    it enforces none, or it was not queried.
    """
    own_series: Count | None = None
    """The part of `series` in this database's own policy. None: no other policy has data, or it is not known."""
    kept: KeptPoints | None = None
    """How many of the accepted points are left; None: not known."""
    policy_of: str = ""
    """The database that this retention policy belongs to (InfluxDB 1.x: `shop` for `shop/raw`); empty for a database
    and its default policy.
    """
    statements: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Fact name to the statement that was sent, for facts about the database."""

    @property
    def server_name(self) -> str:
        """The server's name for the database."""
        return self.policy_of or self.name

    @property
    def own_name(self) -> str:
        """The name chosen by a user: of a database, or of the retention policy that is audited as one."""
        return self.name.removeprefix(f"{self.policy_of}{POLICY_SEPARATOR}") if self.policy_of else self.name
