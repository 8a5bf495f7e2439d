"""Collections made anew for each period, with what each holds: known for some of a family, worked out for the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from tsaudit.dialect import DOCUMENT_ID
from tsaudit.profile import Measurement, Profile

if TYPE_CHECKING:
    from tsaudit.analysis.periods import PeriodFamily


@dataclass(frozen=True, slots=True)
class Member:
    """One collection of a family."""

    name: str
    start: datetime
    end: datetime
    measurement: Measurement
    documents: int
    data_bytes: float
    index_bytes: float

    @property
    def bytes(self) -> float:
        return self.data_bytes + self.index_bytes

    @property
    def measured(self) -> bool:
        """Whether its bytes were measured, and not worked out by those of its neighbours."""
        return self.measurement.storage is not None


@dataclass(frozen=True, slots=True)
class CollectionFamily:
    """Collections of one database that differ in nothing but the period in their names."""

    database: str
    template: str
    unit: str
    stem: str
    members: tuple[Member, ...]
    """Oldest first."""

    @property
    def documents(self) -> int:
        return sum(member.documents for member in self.members)

    @property
    def data_bytes(self) -> float:
        return sum(member.data_bytes for member in self.members)

    @property
    def index_bytes(self) -> float:
        return sum(member.index_bytes for member in self.members)

    @property
    def measured(self) -> tuple[Measurement, ...]:
        return tuple(member.measurement for member in self.members if member.measured)

    @property
    def how(self) -> str:
        """How the bytes were had, in words."""
        measured = len(self.measured)
        if measured == len(self.members):
            return "measured"
        return f"{measured:,} of {len(self.members):,} collections measured, the others by their number of documents"


def collection_families(profile: Profile) -> list[CollectionFamily]:
    """The families of all databases, whose members are of one kind. Empty where nothing of their bytes is known."""
    from tsaudit.analysis.periods import period_families

    found = []
    for database in profile.databases:
        inside = {m.name: m for m in profile.measurements if m.database == database.name}
        for family in period_families(list(inside)):
            measurements = [inside[period.name] for period in family.members]
            if any(m.storage is not None for m in measurements) and _of_one_kind(measurements):
                members = _members(family, measurements)
                found.append(CollectionFamily(database.name, family.template, family.unit, family.stem, members))
    return found


def families_by_member(profile: Profile) -> dict[tuple[str, str], CollectionFamily]:
    """(database, collection) to its family."""
    return {(f.database, member.name): f for f in collection_families(profile) for member in f.members}


def _of_one_kind(measurements: Sequence[Measurement]) -> bool:
    """Whether the collections that were read have a field in common, if they have any besides `_id`."""
    fields = [{f.key.partition(".")[0] for f in m.fields} - {DOCUMENT_ID} for m in measurements if m.documents]
    known = [names for names in fields if names]
    return not known or bool(set.intersection(*known))


def _members(family: PeriodFamily, measurements: Sequence[Measurement]) -> tuple[Member, ...]:
    documents = [m.rows.value if m.rows else 0 for m in measurements]
    data = _estimated(measurements, documents, lambda m: m.storage.data_bytes if m.storage else None)
    index = _estimated(measurements, documents, lambda m: m.storage.index_bytes if m.storage else None)
    return tuple(
        Member(p.name, p.start, p.end, m, n, d, i)
        for p, m, n, d, i in zip(family.members, measurements, documents, data, index, strict=True)
    )


def _estimated(
    measurements: Sequence[Measurement], documents: Sequence[int], bytes_of: Callable[[Measurement], int | None]
) -> Iterator[float]:
    """Bytes of each: as measured, else its documents times what one takes in the neighbours that were measured."""
    from tsaudit.analysis.periods import interpolated

    known = {i: float(b) for i, m in enumerate(measurements) if (b := bytes_of(m)) is not None}
    each = {i: b / documents[i] for i, b in known.items() if documents[i]}
    rates = interpolated(each, len(documents)) if each else [0.0] * len(documents)
    return (known.get(i, n * rate) for i, (n, rate) in enumerate(zip(documents, rates, strict=True)))
