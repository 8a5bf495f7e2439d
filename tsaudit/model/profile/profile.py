"""The profile of a target."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Final

from tsaudit.model.coverage import POLICY_SEPARATOR, Cost, Gap, Listed, Selection, UnusedSetting, Window
from tsaudit.model.profile.database import Database, ServerStatus
from tsaudit.model.profile.measurement import Measurement
from tsaudit.model.profile.storage import Storage, StoredQuery

SCHEMA_VERSION: Final = 1
"""Increased if tsaudit can no longer read stored profiles of the previous version."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Everything measured about one target on one day."""

    target: str
    engine: str
    server_version: str
    day: date
    """The audited day: a second audit of the same day replaces the first."""
    collected_at: datetime
    window: Window
    facts: tuple[str, ...]
    """Facts that the engine offers, whether or not they were queried."""
    databases: tuple[Database, ...]
    measurements: tuple[Measurement, ...]
    gaps: tuple[Gap, ...]
    costs: tuple[Cost, ...]
    statements: Mapping[str, str] = field(default_factory=dict)
    """Fact name to the statement that was sent, for facts about the whole target."""
    reused: int = 0
    """Number of measurements whose expensive facts were reused from the previous snapshot."""
    selection: Selection = field(default_factory=Selection)
    listed: tuple[Listed, ...] = ()
    """Databases whose measurements could be listed, with the number of measurements in each."""
    unused_settings: tuple[UnusedSetting, ...] = ()
    """Settings for this target that have no effect. Also empty if the server did not report what exists."""
    stored_queries: tuple[StoredQuery, ...] | None = None
    """Enabled scheduled queries, by name. None: not measured, or the engine has none."""
    storage: Storage | None = None
    """Storage of all databases together, if they are one file. None: they are not, or it was not measured."""
    server: ServerStatus | None = None
    """Limits and counters of the server; None if the engine has none, or the user may not read them."""
    schema_version: int = SCHEMA_VERSION

    def gaps_for(self, fact: str, measurement: Measurement | None = None) -> Iterator[Gap]:
        """Gaps that leave `fact` unmeasured, for one measurement or anywhere."""
        for gap in self.gaps:
            if gap.fact != fact:
                continue
            if measurement is None or (
                gap.database in (None, measurement.database) and gap.measurement in (None, measurement.name)
            ):
                yield gap

    def all_listed(self, database: str | None = None) -> bool:
        """Whether the profile contains every measurement of the database, or of the target, that is in scope."""
        gaps = (g for g in self.gaps if g.fact == "measurements" and g.measurement is None)
        return not any(database is None or g.database in (None, database) for g in gaps)

    @property
    def wholes(self) -> tuple[Database, ...]:
        """The databases that are not a retention policy of another one here: each series is in exactly one of them."""
        names = {database.name for database in self.databases}
        return tuple(database for database in self.databases if database.policy_of not in names)

    def policies_beside(self, database: Database) -> tuple[Database, ...]:
        """Other retention policies of the database, which are audited as separate databases."""
        return tuple(other for other in self.databases if other.policy_of == database.name)

    def is_within(self, database: str, other: str) -> bool:
        """Whether `database` is `other` or a retention policy of it; an empty `other` stands for the whole target."""
        if other in ("", database):
            return True
        is_named_so = database.startswith(f"{other}{POLICY_SEPARATOR}")
        return is_named_so and any(d.name == database and d.policy_of == other for d in self.databases)

    def inside(self, database: Database) -> tuple[Measurement, ...]:
        """All measurements of the database, including those in its other retention policies."""
        names = {database.name, *(policy.name for policy in self.policies_beside(database))}
        return tuple(m for m in self.measurements if m.database in names)

    @property
    def edition(self) -> str:
        """The engine's product edition, such as `Core` or `Cloud Serverless`; empty if the engine has none."""
        named = re.match(r"[A-Za-z ]*", self.server_version)
        return named[0].strip() if named else ""

    @property
    def series(self) -> int | None:
        """Series of the whole target: each database's own count, or the sum over all its measurements.

        None if any of these is not known: a part must not look like the whole.
        """
        if not self.databases and not self.all_listed():
            return None
        total = 0
        for database in self.wholes:
            if database.series is not None:
                total += database.series.value
                continue
            if self.policies_beside(database):
                # A series may be in several measurements, so the database's count is not the sum over them.
                return None
            counts = [m.series for m in self.measurements if m.database == database.name and m.has_series]
            known = [c.value for c in counts if c is not None and not c.is_lower_bound]
            if len(known) != len(counts) or not self.all_listed(database.name):
                return None
            total += sum(known)
        return total
