"""Retention policies (InfluxDB 1.x) that are audited as separate databases: which ones, and their numbers of series."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from tsaudit.collect.asking import Asker
from tsaudit.collect.draft import Draft
from tsaudit.model.facts.given import OfDatabase
from tsaudit.model.profile import POLICY_MARK, Count, Database, Gap, Reason, how_summed


@dataclass(frozen=True, slots=True)
class Audited:
    """A database to audit, or one of its retention policies."""

    name: str
    policy: str = ""
    """The retention policy; empty if the engine has none, or if it is not known."""
    policy_of: str = ""
    """See `profile.Database`."""
    is_divided: bool = False
    """Other retention policies of the database are audited, too."""
    unknown: Gap | None = None
    """Why its contents are unknown, so that nothing can be queried."""

    @property
    def path(self) -> tuple[str, ...]:
        """See `profile.Measurement`."""
        return (self.policy_of or self.name, self.policy) if self.policy else ()


def to_audit(asker: Asker, wanted: Sequence[str], listed: Set[str] | None) -> dict[str, Audited]:
    """What to audit for the wanted databases, each of which may name one retention policy: `database/policy`.

    `listed`: those that the server lists; None if they are not known.
    """
    found: dict[str, Audited] = {}
    divided: dict[str, list[Audited]] = {}
    for name in wanted:
        whole = _database_in(name, listed)
        if whole is None:
            found[name] = Audited(name)
            continue
        if whole not in divided:
            divided[whole] = _policies(asker, whole)
        policy = name.removeprefix(whole).removeprefix(POLICY_MARK)
        chosen = [part for part in divided[whole] if not policy or part.unknown or part.policy == policy]
        found |= {part.name: part for part in chosen or [_missing(asker, name, divided[whole])]}
    return dict(sorted(found.items()))


def _database_in(name: str, listed: Set[str] | None) -> str | None:
    """The database of a configured name, which may include a policy; None if the server does not list it."""
    if listed is None:
        return name.partition(POLICY_MARK)[0]
    ends = [i for i, letter in enumerate(name) if letter == POLICY_MARK]
    return next((name[:end] for end in [len(name), *reversed(ends)] if name[:end] in listed), None)


def _policies(asker: Asker, database: str) -> list[Audited]:
    rows: list[dict[str, str]] = []
    if asker.ask("policies", lambda batch: rows.extend(batch.to_pylist()), OfDatabase(database=database)) is None:
        return [Audited(database, unknown=asker.gaps[-1])]
    several = len(rows) > 1
    return [Audited(row["database"], row["policy"], row["policy_of"], several) for row in rows]


def _missing(asker: Asker, name: str, parts: Sequence[Audited]) -> Audited:
    """A configured retention policy that contains no data; leaves a gap."""
    holding = ", ".join(f"{part.name} ({part.policy})" for part in parts if part.policy)
    detail = f"no retention policy of this name contains data; available: {holding}"
    asker.gap("policies", Reason.FAILED, detail, name)
    return Audited(name, unknown=asker.gaps[-1])


def with_own_series(asker: Asker, databases: Sequence[Database], drafts: Sequence[Draft]) -> Iterator[Database]:
    """The databases, with separate series counts for each policy if several contain data. Others are returned
    unchanged.
    """
    divided = {database.policy_of for database in databases} - {""}
    left_out = {gap.database for gap in asker.gaps if gap.fact == "measurements" and gap.measurement is None}
    for database in databases:
        is_known = database.name not in left_out
        if database.policy_of:
            yield dataclasses.replace(database, series=_summed(asker, database, drafts) if is_known else None)
        elif database.name in divided:
            scope = "all retention policies together; a series in several of them counts once"
            whole = database.series and dataclasses.replace(
                database.series, source=dataclasses.replace(database.series.source, scope=scope)
            )
            own = _summed(asker, database, drafts) if is_known else None
            yield dataclasses.replace(database, series=whole, own_series=own)
        else:
            yield database


def _summed(asker: Asker, database: Database, drafts: Sequence[Draft]) -> Count | None:
    """The sum over the measurements; None if one of them is not known."""
    inside = [draft.measurement.series for draft in drafts if draft.database == database.name]
    known = [count for count in inside if count is not None]
    if len(known) < len(inside):
        return None
    how, error = how_summed(known)
    source = asker.source("series_listing", how, "the sum over the measurements")
    return Count(sum(count.value for count in known), source, error)
