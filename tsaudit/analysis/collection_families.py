"""Families of collections that are created per period, with their contents: a few collections, spread over the family,
are measured, and the others are estimated from these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tsaudit.analysis.shapes.periods import PeriodFamily, period_families
from tsaudit.engines.engine import Engine
from tsaudit.engines.registry import ENGINES
from tsaudit.model.profile import Measurement, Profile
from tsaudit.text import many, number


@dataclass(frozen=True, slots=True)
class Member:
    """One collection of a family."""

    name: str
    start: datetime
    end: datetime
    measurement: Measurement
    documents: int | None
    """Number of documents; None if it is not known, such as for a time series that was not examined."""
    data_bytes: float | None
    """Size of its data; None if no member of the family has a known size. `index_bytes` likewise."""
    index_bytes: float | None

    @property
    def bytes(self) -> float | None:
        return None if self.data_bytes is None or self.index_bytes is None else self.data_bytes + self.index_bytes

    @property
    def measured(self) -> bool:
        """Whether its bytes were measured, rather than estimated from its neighbors."""
        return self.measurement.storage is not None


@dataclass(frozen=True, slots=True)
class CollectionFamily:
    """Collections of one database whose names differ only in the period."""

    database: str
    template: str
    unit: str
    stem: str
    members: tuple[Member, ...]
    """Oldest first."""

    @property
    def documents(self) -> int | None:
        """Number of documents; None if it is not known for one of the collections."""
        return documents_of(self.members)

    @property
    def bytes(self) -> float | None:
        """Total size of data and indexes; None if no member has a known size."""
        return total(member.bytes for member in self.members)

    @property
    def measured(self) -> tuple[Measurement, ...]:
        return tuple(member.measurement for member in self.members if member.measured)

    @property
    def how(self) -> str:
        """How the bytes were determined, in words."""
        measured = len(self.measured)
        if measured == len(self.members):
            return "measured"
        by = "their number of documents" if all(m.measurement.rows for m in self.members) else "their neighbors"
        return f"{number(measured)} of {many(len(self.members), 'collection')} measured, the others estimated from {by}"


def documents_of(members: Sequence[Member]) -> int | None:
    """Number of documents in all members; None if it is not known for one of them."""
    documents = total(member.documents for member in members)
    return None if documents is None else int(documents)


def total(values: Iterable[float | None]) -> float | None:
    """The sum of the values; None if one of them is not known."""
    known = list(values)
    return None if None in known else sum(value for value in known if value is not None)


def collection_families(profile: Profile) -> list[CollectionFamily]:
    """The families of all databases whose members contain the same kind of documents."""
    found = []
    for database in profile.databases:
        inside = {m.name: m for m in profile.measurements if m.database == database.name}
        for family in period_families(list(inside), now=profile.window.end):
            measurements = [inside[period.name] for period in family.members]
            if _of_one_kind(measurements, ENGINES[profile.engine]):
                members = _members(family, measurements)
                found.append(CollectionFamily(database.name, family.template, family.unit, family.stem, members))
    return found


def families_by_member(profile: Profile) -> dict[tuple[str, str], CollectionFamily]:
    """(database, collection) to its family."""
    return {(f.database, member.name): f for f in collection_families(profile) for member in f.members}


def _of_one_kind(measurements: Sequence[Measurement], engine: Engine) -> bool:
    """Whether most of the collections read have a field in common. Fields named by the engine are ignored; if there are
    no others, the result is True.

    A field may have been renamed over the years, so it need not be in all of them.
    """
    fields = [
        {name for f in m.fields if not engine.names_itself(name := f.key.partition(".")[0])}
        for m in measurements
        if m.documents
    ]
    known = [names for names in fields if names]
    common = Counter(name for names in known for name in names).most_common(1)
    return not known or 2 * common[0][1] > len(known)


def _members(family: PeriodFamily, measurements: Sequence[Measurement]) -> tuple[Member, ...]:
    counts = [m.rows.value if m.rows else None for m in measurements]
    data = _estimated(measurements, counts, lambda m: m.storage.data_bytes if m.storage else None)
    index = _estimated(measurements, counts, lambda m: m.storage.index_bytes if m.storage else None)
    return tuple(
        Member(p.name, p.start, p.end, m, n, d, i)
        for p, m, n, d, i in zip(family.members, measurements, counts, data, index, strict=True)
    )


def _estimated(
    measurements: Sequence[Measurement], counts: Sequence[int | None], bytes_of: Callable[[Measurement], int | None]
) -> Iterator[float | None]:
    """Size of each collection in bytes: measured, or its number of documents times the mean document size of its
    measured neighbors.

    If its number of documents is not known, its neighbors' size is used. None if no size was measured.
    """
    known = {i: float(b) for i, m in enumerate(measurements) if (b := bytes_of(m)) is not None}
    if not known:
        return iter([None] * len(counts))
    by_document = {i: b / n for i, b in known.items() if (n := counts[i])}
    rates = interpolated(by_document, len(counts)) if by_document else [0.0] * len(counts)
    whole = interpolated(known, len(counts))
    estimates = (whole[i] if n is None else n * rates[i] for i, n in enumerate(counts))
    return (known.get(i, estimate) for i, estimate in enumerate(estimates))


def spread(count: int, most: int) -> list[int]:
    """Up to `most` of the positions 0 to `count` - 1, evenly spread, including the first and the last."""
    if count <= most:
        return list(range(count))
    return sorted({i * (count - 1) // (most - 1) for i in range(most)})


def interpolated(known: Mapping[int, float], count: int) -> list[float]:
    """A value for each position from 0 to `count` - 1: linear between known positions, constant beyond them."""
    places = sorted(known)
    import numpy as np  # Only here: rules are loaded to list them.

    found: list[float] = np.interp(range(count), places, [known[place] for place in places]).tolist()
    return found
