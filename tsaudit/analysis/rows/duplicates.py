"""Rows that are copies of another one, equal in all columns that say what a row is about: how many, what proves it, and
where they are. Rows with the same time: the tags that distinguish them, how many would overwrite another one without
some of the tags, how many were lost where times are whole seconds, and how many are left if rows of one value each are
merged. And measurements that contain points of the same sources at the same times.

Measurements are compared by a few points of each: those with the lowest hash of (tag set, time), a bottom-k sketch
(Cohen and Kaplan, "Summarizing data using bottom-k sketches", PODC 2007). Two measurements with the same points keep
the same ones, so the overlap of the hashes below both their maximums estimates the overlap of all points, their Jaccard
index.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Final

import numpy as np
import numpy.typing as npt

from tsaudit.analysis.codes import Codes, changes, combined, count_distinct, order_by
from tsaudit.analysis.significance import CHANCE, ENOUGH, NEARLY_ALL
from tsaudit.analysis.values.hashes import mixed
from tsaudit.model.figures import Source
from tsaudit.model.rows import PointSample, SampledPoint

Numbers = npt.NDArray[np.int64]

Integers = npt.NDArray[np.integer]
Bits = npt.NDArray[np.uint64]

MOST_NEIGHBORS: Final = 2_048
"""Rows with the same time that each row is compared with. Work grows with it only if this many share a time."""
MOST_SETS: Final = 64
_MOST_COMPARED: Final = 20_000_000
"""Values compared, all tags together: a few tenths of a second."""
_WORD: Final = 64


def distinguishing_tags(tags: Mapping[str, Integers], times: Integers) -> tuple[list[frozenset[str]], bool]:
    """The smallest sets of tags that alone distinguish two rows with the same time; fewest tags first.

    `tags`: a number per row, the same for equal values, including one for an absent tag. `times`: a number per time.
    Rows that are equal in all tags and the time are left out, because no tag distinguishes them. Also returns whether
    all rows of each time were compared and all sets are included: then, if the dropped tags include none of these sets
    completely, no two rows become equal.
    """
    columns = np.array(list(tags.values()), np.int64).reshape(len(tags), len(times))
    rows, neighbors = _instants_that_differ(columns, times)
    values, moments = columns[:, rows], times[rows]
    found = _Found()
    complete, compared = True, 0
    for distance in range(1, int(neighbors.max(initial=0)) + 1):
        # Those of the biggest instants come first, so all that have a neighbor that far lie together.
        end = int(np.searchsorted(-neighbors, -distance, side="right"))
        compared += end * len(values)
        if distance > MOST_NEIGHBORS or compared > _MOST_COMPARED:
            complete = False
            break
        sets = _columns_that_differ(values[:, : end - distance], values[:, distance:end])
        sets[:, moments[: end - distance] != moments[distance:end]] = 0
        found.note(sets)
    names = list(tags)
    smallest = [frozenset(names[n] for n in numbers) for numbers in found.smallest()]
    smallest.sort(key=lambda one: (len(one), sorted(one)))
    return smallest[:MOST_SETS], complete and len(smallest) <= MOST_SETS


def overwritten(
    tags: Mapping[str, Integers], times: Integers, sets: Iterable[frozenset[str]]
) -> dict[frozenset[str], int]:
    """For each set of tags, how many rows would overwrite another one without them.

    `tags`, `times`: as above. Rows that are equal in all tags and the time today count as one.
    """
    random = np.random.default_rng(0)
    # A row is the sum of random numbers, one for each value; without a tag, its number is subtracted.
    numbers = {tag: _random_numbers(random, column) for tag, column in tags.items()}
    whole = sum(numbers.values(), _random_numbers(random, times))
    now = count_distinct(whole)
    return {names: now - count_distinct(whole - sum((numbers[n] for n in names), np.uint64(0))) for names in sets}


def _random_numbers(random: np.random.Generator, column: Integers) -> Bits:
    codes = combined([column], len(column))
    found: Bits = random.integers(0, 2**64, int(codes.max(initial=0)) + 1, np.uint64)[codes]
    return found


class _Found:
    """The sets of columns in which two rows of one instant differ, unless a smaller set is known."""

    def __init__(self) -> None:
        self._known: list[bytes] = []

    def note(self, sets: Bits) -> None:
        """`sets`: shape (words, rows), see `_columns_that_differ`."""
        for key in self._known:
            sets = self._without(key, sets)
        while len(left := np.flatnonzero(sets.any(axis=0))):
            new = np.ascontiguousarray(sets[:, left].T)
            size = np.unpackbits(new.view(np.uint8), axis=1).sum(axis=1, dtype=np.int64)
            self._known.append(new[size.argmin()].tobytes())
            sets = self._without(self._known[-1], sets)

    def _without(self, key: bytes, sets: Bits) -> Bits:
        """What differs in this set and more is of no interest."""
        one = np.frombuffer(key, np.uint64)[:, None]
        sets[:, ((sets & one) == one).all(axis=0)] = 0
        return sets

    def smallest(self) -> list[frozenset[int]]:
        """The sets that contain no other set."""
        numbered = [_numbered(key) for key in self._known]
        return [numbers for numbers in numbered if not any(other < numbers for other in numbered)]


def _columns_that_differ(here: Integers, there: Integers) -> Bits:
    """Shape (words, rows): in which columns each row differs from its neighbor, as bits, 64 columns to a word."""
    words = np.zeros((-(-len(here) // _WORD), here.shape[1]), np.uint64)
    for number, (one, other) in enumerate(zip(here, there, strict=True)):
        words[number // _WORD] |= (one != other).astype(np.uint64) << np.uint64(number % _WORD)
    return words


def _numbered(key: bytes) -> frozenset[int]:
    """The numbers of the columns of a set."""
    return frozenset(np.flatnonzero(np.unpackbits(np.frombuffer(key, np.uint8), bitorder="little")).tolist())


def _instants_that_differ(columns: Integers, times: Integers) -> tuple[Integers, Integers]:
    """The rows of one instant for all that have the same series, biggest first, and how many other rows each one's
    instant has.

    Where all hosts report every minute, one minute tells what all tell.
    """
    series = combined(list(columns), columns.shape[1])
    order = order_by(times, series)
    moments = times[order]
    starts = np.flatnonzero(changes(moments))
    if not len(starts):
        return order, order
    # A sum of random numbers, one per series, stands for all series of an instant, however many times each is there.
    random = np.random.default_rng(0).integers(1, 2**63, int(series.max()) + 1)
    sums = np.add.reduceat(random[series[order]], starts)
    _, first = np.unique(sums, return_index=True)
    sizes = np.diff(np.append(starts, len(moments)))[first]
    biggest = np.argsort(-sizes, kind="stable")
    rows = np.concatenate(
        [order[starts[n] : starts[n] + size] for n, size in zip(first[biggest], sizes[biggest], strict=True)]
    )
    return rows, np.repeat(sizes[biggest] - 1, sizes[biggest])


TIME_BYTES: Final = 8
_MOSTLY: Final = 0.5


@dataclass(frozen=True, slots=True)
class MergedInstants:
    """The result of merging rows, for the names of values that usually occur together."""

    names: Numbers
    """Those names, sorted."""
    rows: int
    instants: int
    """Distinct pairs of tag set and time among the rows: the number of rows after merging."""
    bytes_now: int
    bytes_merged: int


def merged_instants(
    instants: Numbers, names: Numbers, tag_bytes: Numbers, name_bytes: Numbers, value_bytes: Numbers
) -> MergedInstants:
    """What merging saves, for the names that share their instant with another name in more than half of their rows.

    One entry per row: a number for its tag set and time, a number for the name of its value, and the bytes of its tags
    (names and values), of the name, and of the value. A row takes all of these plus TIME_BYTES; a merged row takes tags
    and time once, a name of average length, and each name and value.
    """
    _, group, count = np.unique(instants, return_inverse=True, return_counts=True)
    shares = count[group] > 1
    every, of_name = np.unique(names, return_inverse=True)
    together = np.bincount(of_name, shares, len(every)) > _MOSTLY * np.bincount(of_name, minlength=len(every))
    kept = together[of_name]
    _, first = np.unique(instants[kept], return_index=True)
    tags, own, values = tag_bytes[kept], name_bytes[kept], value_bytes[kept]
    left = len(first)
    mean_name = round(float(own.mean())) if len(own) else 0
    return MergedInstants(
        every[together],
        int(kept.sum()),
        left,
        int((tags + own + values).sum()) + TIME_BYTES * len(tags),
        int(tags[first].sum() + (own + values).sum()) + (TIME_BYTES + mean_name) * left,
    )


_SECOND: Final = 1_000_000
_FEWEST: Final = 200
"""Seconds with a row: with fewer, neighbors are chance."""
_AT_RANDOM: Final = 0.8
"""Of the neighbors that random arrivals have: a clock that ticks more seldom than every second has none."""


def lost_ratio(series: npt.NDArray[np.int64], times_us: npt.NDArray[np.int64]) -> float | None:
    """The share of the rows written that others of the same second overwrote, 0 to 1, as if they came at random.

    If a share p of all seconds has a row, -ln(1 - p) rows came in each second on average (Poisson), of which p are
    left. Events come in bursts rather, so it is the least; but for a clock it is wrong. None if times are finer than
    seconds, if rows come in steps of more than one, or there are too few. One entry per row; no pair occurs twice.
    """
    if len(times_us) < _FEWEST or (times_us % _SECOND).any():
        return None
    order = order_by(series, times_us)
    owner, seconds = series[order], times_us[order] // _SECOND
    steps, inside = np.diff(seconds), owner[1:] == owner[:-1]
    rows = np.bincount(owner)
    slots = np.bincount(owner[1:][inside], steps[inside], len(rows)) + 1
    neighbors = np.bincount(owner[1:][inside], steps[inside] == 1, len(rows))
    known = rows > 1
    if rows[known].sum() < _FEWEST:
        return None
    # Where each second is taken, there may have been any number of rows: half a second without one is the least.
    taken = np.minimum(rows[known] / slots[known], 1 - 0.5 / slots[known])
    if neighbors[known].sum() < _AT_RANDOM * (taken * rows[known]).sum():
        return None
    written = -np.log1p(-taken) * slots[known]
    return float(max(1 - rows[known].sum() / written.sum(), 0.0))


_NEARLY_ALL_APART: Final = 0.8
"""As `NEARLY_ALL`, among rows of single pages: the copy of a row at the edge of a page may be on the next page."""
_TIMES_CHANCE: Final = 3
"""Rows of one instant are more alike than rows of any two, so that many more are equal by chance."""


@dataclass(frozen=True, slots=True)
class CopiedRows:
    """Which rows are copies."""

    copies: int
    """Number of rows that equal an earlier one; 0 if that many are equal by chance."""
    in_bulk: int
    """Number of copies in the longest run of blocks of `ENOUGH` rows, in the order of time, of which nearly all have a
    copy, and equally many.
    """
    bulk: tuple[int, int] | None
    """The first and the last row of that period, in the order of time; None if there is none, or no times."""


def copied_rows(columns: Sequence[Codes], times: Codes | None, rows: int, *, is_of_pages: bool = False) -> CopiedRows:
    """The copies among the rows. `columns`, `times`: a number per row, the same for equal values; times in their order.
    `is_of_pages`: whether the rows are those of pages between which others were not read.

    Without times, rows are in any order: then rows are copies if nearly all that have an equal one have equally many.
    """
    said = combined(columns, rows)
    whole = said if times is None else combined([times, said], rows)
    alike = np.bincount(whole)
    copies, pairs = int((alike - 1).sum()), _pairs(alike)
    if times is None:
        by_chance = rows * (rows - 1) / 2 * _share_by_chance(columns)
    else:
        by_chance = _pairs_of_instants(columns, said, whole, times)
    if not copies or pairs < _TIMES_CHANCE * by_chance or (times is None and not _is_even(alike)):
        return CopiedRows(0, 0, None)
    if times is None:
        return CopiedRows(copies, 0, None)
    order = order_by(times, whole)
    blocks = rows // ENOUGH
    times_stored = alike[whole[order]][: blocks * ENOUGH].reshape(blocks, ENOUGH)
    usual = np.median(times_stored, axis=1)
    shares = (times_stored == usual[:, None]).mean(axis=1)
    # What is usual at an instant fills blocks, too, but not equally often.
    least = _NEARLY_ALL_APART if is_of_pages else NEARLY_ALL
    found = _longest_run(np.where(shares >= least, usual, 1))
    if not len(found):
        return CopiedRows(copies, 0, None)
    is_copy = ~changes(whole[order])
    in_bulk = int(is_copy[: blocks * ENOUGH].reshape(blocks, ENOUGH)[found].sum())
    ends = int(order[found[0] * ENOUGH]), int(order[found[-1] * ENOUGH + ENOUGH - 1])
    return CopiedRows(copies, in_bulk, ends)


def _longest_run(numbers: npt.NDArray[np.float64]) -> Codes:
    """The places of the longest run of one number above 1; empty if there is none."""
    runs = np.split(np.arange(len(numbers)), np.flatnonzero(np.diff(numbers)) + 1)
    return max((run[numbers[run] > 1] for run in runs), key=len)


def _pairs(alike: Codes) -> float:
    """How many pairs of equal rows there are. `alike`: how many rows have each value."""
    return float((alike * (alike - 1.0)).sum()) / 2


def _share_of_pairs(numbers: Codes) -> float:
    """The share of the pairs of rows that have the same number."""
    total = len(numbers) * (len(numbers) - 1.0) / 2
    return _pairs(np.bincount(numbers - numbers.min())) / total if total else 0.0


def _pairs_of_instants(columns: Sequence[Codes], said: Codes, whole: Codes, times: Codes) -> float:
    """How many equal pairs rows of the same instants would make if the instant said nothing about their values. What
    values are usual is taken from different rows, so that copies do not count as usual; and from each column alone,
    because all rows of a single instant are different if equal ones count once.
    """
    _, first = np.unique(whole, return_index=True)
    return _pairs(np.bincount(times)) * max(_share_of_pairs(said[first]), _share_by_chance(columns))


def _share_by_chance(columns: Sequence[Codes]) -> float:
    """The share of the pairs of rows that would be equal if no column said anything about another one."""
    return float(np.prod([_share_of_pairs(column) for column in columns]))


def _is_even(alike: Codes) -> bool:
    """Whether nearly all rows that have an equal one have equally many, as after a table was loaded again."""
    several = alike[alike > 1]
    return bool(np.bincount(several).max() >= NEARLY_ALL * len(several))


def identifying(ids: Mapping[str, Codes], others: Mapping[str, Codes], whole: Codes) -> tuple[str, ...]:
    """The column whose values differ in nearly all rows that are not equal, so that equal rows are no coincidence;
    after the column within which they do, if they do not in the whole table. Empty if there is none. Of the rows that
    share such a value, most must be equal: otherwise they are different things, such as two payments of one order.

    `ids`: the columns that may be one, by name; `others`: those within which they may differ. Each has a number per
    row, the same for equal values, -1 for none. `whole`: a number per row, the same for equal rows.
    """
    _, first = np.unique(whole, return_index=True)
    copies = len(whole) - len(first)

    def differ(*columns: Codes) -> bool:
        kept = [column[first] for column in columns]
        are_filled = all((column >= 0).all() for column in kept)
        if not are_filled:
            return False
        shared = len(first) - count_distinct(combined(kept, len(first)))
        return shared <= min((1 - NEARLY_ALL) * len(first), copies / _TIMES_CHANCE)

    for name, values in ids.items():
        if differ(values):
            return (name,)
        for other, groups in others.items():
            if count_distinct(groups) * ENOUGH <= len(groups) and differ(groups, values):
                return (other, name)
    return ()


@dataclass(frozen=True, slots=True)
class CopyPlace:
    """The values of one column that all copies have, and that only some of the rows have."""

    column: str
    rows: tuple[int, ...]
    """A row with each of these values, most copies first."""
    total: int
    """Number of rows with these values."""


def place_of(columns: Mapping[str, Codes], is_copy: npt.NDArray[np.bool_]) -> CopyPlace | None:
    """The place with the fewest rows; None if copies are everywhere. Values of so few rows that they may have no copy
    by chance count as if they had some.
    """
    found: CopyPlace | None = None
    least = -math.log(CHANCE) / float(is_copy.mean())
    for name, values in columns.items():
        if count_distinct(values) * ENOUGH > len(values):
            continue
        _, first, code = np.unique(values, return_index=True, return_inverse=True)
        rows, copies = np.bincount(code), np.bincount(code, is_copy)
        without = (copies == 0) & (rows > least)
        total = int(rows[~without].sum())
        # Where most values have copies, the others have none by chance.
        is_place = without.any() and 2 * np.count_nonzero(copies) <= len(copies)
        if is_place and (found is None or total < found.total):
            order = np.argsort(-copies, kind="stable")
            found = CopyPlace(name, tuple(int(first[n]) for n in order if copies[n]), total)
    return found


_LATE: Final = 3


def begins_late(is_copy: npt.NDArray[np.bool_]) -> int | None:
    """Which row is the first copy, if far more rows are before it than between any two later copies; otherwise None,
    because then there may be older copies. `is_copy`: in the order of time.
    """
    at = np.flatnonzero(is_copy)
    # The rows after the last copy tell nothing: copies may have ended.
    longest = int(np.diff(at).max(initial=1))
    return int(at[0]) if len(at) and at[0] > max(_LATE * longest, ENOUGH) else None


POINTS_KEPT: Final = 64
"""Number of points kept per measurement: two measurements that share half of their points appear to share 90% in only
one of 10^11 pairs.
"""


def point_sample(
    tags: Mapping[str, tuple[Sequence[str], Sequence[int]]],
    sources: int,
    series: npt.NDArray[np.int64],
    times: npt.NDArray[np.int64],
    *,
    start: int,
    end: int,
    source: Source,
) -> PointSample:
    """The given points with the lowest hashes.

    `tags`: the values of each tag, and for each of the `sources` the position of its value among them, -1 if it has no
    value. `series`: the source of each point. `times`: in microseconds since 1970. `start`, `end`: of the period from
    which all points were read, in seconds since 1970, the end exclusive.
    """
    hashed = _hashes(tags, sources)
    hashes = mixed(hashed[series] ^ mixed(times.astype(np.uint64))) >> np.uint64(32)
    inside = times >= start * 1_000_000
    found, first = np.unique(hashes[inside], return_index=True)
    seconds = times[inside][first] // 1_000_000
    points = tuple(map(SampledPoint, found[:POINTS_KEPT].tolist(), seconds[:POINTS_KEPT].tolist()))
    begin, until = (datetime.fromtimestamp(second, UTC) for second in (start, end))
    return PointSample(points, len(found) <= POINTS_KEPT, begin, until, source)


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


def overlap(a: PointSample, b: PointSample) -> Overlap:
    """Compares the points with hashes below the maximums of both, in the period that both cover."""
    start, end = max(a.start, b.start).timestamp(), min(a.end, b.end).timestamp()
    highest = min((s.points[-1].hash for s in (a, b) if not s.complete), default=1 << 32)
    first, second = (
        {point.hash: point.time_s for point in s.points if point.hash <= highest and start <= point.time_s < end}
        for s in (a, b)
    )
    both = first.keys() & second.keys()
    return Overlap(len(first.keys() | second.keys()), len(both), len({first[point] for point in both}))


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


def same_points(
    samples: Mapping[str, PointSample], *, min_share: float, min_instants: float
) -> tuple[ColumnGroup, ...]:
    """Groups of at least two measurements; each shares its points with the first member by name. Sorted."""
    members: dict[str, list[str]] = {}
    overlaps: dict[str, list[Overlap]] = defaultdict(list)
    known: dict[int, list[str]] = defaultdict(list)
    for name in sorted(samples):
        own = samples[name]
        points = [point.hash for point in own.points]
        for first in _likely(points, known):
            found = overlap(samples[first], own)
            if found.share >= min_share and found.instants >= min_instants:
                members[first].append(name)
                overlaps[first].append(found)
                break
        else:
            members[name] = [name]
            for point in points:
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
