"""Finds measurements that contain points of the same sources at the same times, by comparing a few points of each.

From each measurement, the points with the lowest hash of (tag set, time) are kept: a bottom-k sketch (Cohen and Kaplan,
"Summarizing data using bottom-k sketches", PODC 2007). Two measurements with the same points keep the same ones, so the
overlap of the hashes below both their maximums estimates the overlap of all points, their Jaccard index.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

import numpy as np
import numpy.typing as npt

from tsaudit.analysis.values.value_hashes import mixed

SIZE: Final = 64
"""Number of points kept per measurement: two measurements that share half of their points appear to share 90% in only
one of 10^11 pairs.
"""


@dataclass(frozen=True, slots=True)
class Signature:
    """A few points of a measurement: those with the lowest hashes."""

    points: Mapping[int, int]
    """32-bit hash to the time of the point, in whole seconds since 1970; ascending by hash."""
    complete: bool
    """Whether these are all points from `start` to `end`."""
    start: int
    """Start of the period from which all points were read, in seconds since 1970, inclusive."""
    end: int
    """End of that period, in seconds since 1970, exclusive."""


def signature(
    tags: Mapping[str, tuple[Sequence[str], Sequence[int]]],
    sources: int,
    series: npt.NDArray[np.int64],
    times: npt.NDArray[np.int64],
    *,
    start: int,
    end: int,
) -> Signature:
    """The signature of the given points.

    `tags`: the values of each tag, and for each of the `sources` the position of its value among them, -1 if it has no
    value. `series`: the source of each point. `times`: in microseconds since 1970.
    """
    hashed = _hashes(tags, sources)
    hashes = mixed(hashed[series] ^ mixed(times.astype(np.uint64))) >> np.uint64(32)
    inside = times >= start * 1_000_000
    found, first = np.unique(hashes[inside], return_index=True)
    seconds = times[inside][first] // 1_000_000
    points = dict(zip(found[:SIZE].tolist(), seconds[:SIZE].tolist(), strict=True))
    return Signature(points, len(found) <= SIZE, start, end)


def _hashes(tags: Mapping[str, tuple[Sequence[str], Sequence[int]]], sources: int) -> npt.NDArray[np.uint64]:
    """64-bit hashes of the tag sets, the same in every run and version. Lengths are hashed, too, so no value can be
    mistaken for a separator.
    """
    parts = []
    for key, (values, places) in sorted(tags.items()):
        written = [*(f"{len(key)}:{key}{len(value)}:{value}" for value in values), ""]
        parts.append([written[place] for place in places])
    texts = map("".join, zip(*parts, strict=True)) if parts else [""] * sources
    digests = b"".join(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, "<u8").astype(np.uint64)


@dataclass(frozen=True, slots=True)
class Overlap:
    """The overlap of two measurements, as far as they can be compared."""

    points: int
    """Number of compared points that are in at least one of the measurements."""
    common: int
    """Number of compared points that are in both."""
    instants: int
    """Number of distinct seconds among the points that are in both."""

    @property
    def share(self) -> float:
        """Share of the points that are in both, from 0 to 1; 0 if nothing can be compared."""
        return self.common / self.points if self.points else 0.0


def overlap(a: Signature, b: Signature) -> Overlap:
    """Compares the points with hashes below the maximums of both, in the period that both cover."""
    start, end = max(a.start, b.start), min(a.end, b.end)
    highest = min((max(s.points) for s in (a, b) if not s.complete), default=1 << 32)
    first, second = (
        {point for point, time in s.points.items() if point <= highest and start <= time < end} for s in (a, b)
    )
    both = first & second
    return Overlap(len(first | second), len(both), len({a.points[point] for point in both}))


@dataclass(frozen=True, slots=True)
class ColumnGroup:
    """Measurements with the same points."""

    members: tuple[str, ...]
    """Sorted."""
    share: float
    """Smallest share of points that the first member has in common with any other, 0 to 1."""
    points: int
    """Fewest points compared between the first member and any other."""
    instants: int
    """Fewest distinct times that the first member has in common with any other."""


def groups(signatures: Mapping[str, Signature], *, min_share: float, min_instants: float) -> tuple[ColumnGroup, ...]:
    """Groups of at least two measurements; each shares its points with the first member by name. Sorted."""
    members: dict[str, list[str]] = {}
    overlaps: dict[str, list[Overlap]] = defaultdict(list)
    known: dict[int, list[str]] = defaultdict(list)
    for name in sorted(signatures):
        own = signatures[name]
        for first in _likely(own.points, known):
            found = overlap(signatures[first], own)
            if found.share >= min_share and found.instants >= min_instants:
                members[first].append(name)
                overlaps[first].append(found)
                break
        else:
            members[name] = [name]
            for point in own.points:
                known[point].append(name)
    return tuple(
        ColumnGroup(
            tuple(members[first]),
            min(o.share for o in found),
            min(o.points for o in found),
            min(o.instants for o in found),
        )
        for first, found in sorted(overlaps.items())
    )


def _likely(points: Iterable[int], known: Mapping[int, list[str]]) -> list[str]:
    """The measurements that have points in common with these, most in common first: the others need not be compared."""
    shared = Counter(name for point in points for name in known.get(point, ()))
    return sorted(shared, key=lambda name: (-shared[name], name))
