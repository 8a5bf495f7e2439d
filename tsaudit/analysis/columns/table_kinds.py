"""What kind of rows a SQL table has, and what some of its rows show about that. Runs no queries.

A SQL database may contain customers, orders, queues, and logs as well as readings. Rules about series only apply to
readings. The kind is decided by evidence: the key, foreign keys, times that change during the life of a row, and how
often and how regularly the same sources write. No single property decides, and the table's name is not used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from tsaudit.analysis.codes import combined, count_distinct
from tsaudit.analysis.columns import columns as column_types
from tsaudit.analysis.columns.columns import (
    ATTEMPTS,
    ATTRIBUTE,
    BEGINS,
    CHANGED,
    DUE,
    ENDS,
    HAPPENED,
    MONEY,
    OTHER,
    QUEUE_NAMES,
    STATE,
    TAKEN,
    VALID,
    VALUE,
    WRITTEN,
    Column,
    words_of,
)
from tsaudit.analysis.rows.over_time import spacing
from tsaudit.analysis.significance import ALIKE
from tsaudit.model.figures import CLASSIFIED, SERIES_KINDS, TableKind
from tsaudit.text import percent

if TYPE_CHECKING:
    Times = npt.NDArray[np.float64]
    """Microseconds since 1970; NaN where there is no time."""

MIN_SCORE: Final = 3
"""The lowest score of a table of series."""
SMALL: Final = 1_000
"""A table with fewer rows and without a time is a list, whatever its key."""
_APART: Final = 0.95
"""A column in which at least this share of the rows have different values names the row, not a source."""
_OWN_IDS: Final = frozenset({"id", "_id", "uid", "uuid", "guid", "pk", "row_id", "rowid", "record_id", "log_id"})
_MOSTLY: Final = 0.5
_COVERED: Final = 0.7
"""Sources recur if at least this share of further rows is expected to come from sources already read."""

_ROUNDS: Final = 3
"""A value that has not recurred within this many instants does not name a source."""
_NARROW: Final = 8
"""A table of attributes and values has at most this many columns besides its time."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What the values read show about one column."""

    distinct: int | None = None
    """Number of distinct values; None if they were not counted."""
    is_text: bool = False
    """Whether the values are short or long texts, whatever the type."""
    is_integer: bool = False
    is_measure: bool = False
    """Whether the values are numbers that are neither IDs nor codes, whatever the type."""
    number_share: float = 0.0
    """Share of the texts that consist of one or several numbers, 0 to 1."""
    is_unique: bool = False
    """Whether nearly every row has a different value, as far as the rows read can prove it."""
    is_random: bool = False
    """Whether the texts have the shape of random IDs."""
    is_document: bool = False
    """Whether the values are JSON or another structure, but no label sets."""
    is_label_set: bool = False
    is_prose: bool = False
    """Whether the values are long texts, log messages, or addresses with paths."""


@dataclass(frozen=True, slots=True)
class Life:
    """A column with times other than the time column."""

    name: str
    changes: bool
    """Whether it is set later than the row is written, which shows that rows are updated."""
    may_be_end: bool = False
    """Whether it is in every row and named like the end of something: a row that is written after that has it at
    once.
    """


@dataclass(frozen=True, slots=True)
class KindEvidence:
    """What the catalog and some rows show about a table."""

    columns: Sequence[Column]
    time: str | None
    """The time column; None if there is none."""
    referred_to: bool = False
    """Whether foreign keys of other tables refer to it."""
    refers: frozenset[str] = frozenset()
    """Columns that refer to another table, by a foreign key or by their names."""
    seen: Mapping[str, Seen] = field(default_factory=dict)
    """What the rows read show about each column; empty without rows."""
    lives: Sequence[Life] = ()
    """The other columns that contain times, compared with the time column."""
    rows: int = 0
    """Number of rows read."""
    instants: int | None = None
    """Number of distinct times of the rows read; None if they were not compared."""
    is_whole: bool = False
    """Whether the rows read are all rows of the table."""
    regular_share: float | None = None
    """Share of the rows read whose sources write at regular intervals, by the columns that show it best; None if no
    column has values that recur.
    """
    coverage: float | None = None
    """The probability that the next row is from a source already read, that is, has a known combination of the values
    that could name a source; None without such columns.
    """
    sequences: frozenset[str] = frozenset()
    """Columns of the key that only number the rows of an instant, or all rows."""
    is_never_updated: bool = False
    """Whether the server has counted all rows that were written, and no row that was updated."""


Decided = tuple[TableKind, str]
"""The kind of a table and the reason, which is part of a sentence."""


def decide(evidence: KindEvidence, previous: TableKind | None = None) -> Decided | None:
    """The kind of the table; None if nothing shows it. `previous`: the kind in the previous profile, which is kept if
    the evidence is close.
    """
    if evidence.time is None:
        return _without_time(evidence)
    if found := _by_versions(evidence) or _as_queue(evidence):
        return found
    weighed = list(_weighed(evidence))
    score = sum(points for points, _ in weighed)
    least = MIN_SCORE - (previous is not None and previous.has_series) + (previous in _OTHERS)
    may_be = _measures(evidence) or _time_in_key(evidence) or not evidence.seen
    if may_be and score >= least:
        said = ", ".join(words for points, words in weighed if points > 0 and words)
        kind = TableKind.ATTRIBUTE_VALUE if _attribute_of(evidence) else TableKind.SERIES
        return kind, said or "rows with a time and values"
    if evidence.rows < ALIKE and score > -MIN_SCORE + 1:
        return None
    return _other(evidence, [words for points, words in weighed if points < 0 and words])


_OTHERS: Final = CLASSIFIED - SERIES_KINDS


def never_source(evidence: KindEvidence) -> dict[str, str]:
    """Columns that cannot name the source of a row, with the reason."""
    found = dict.fromkeys(evidence.sequences, "it only numbers the rows")
    found |= {life.name: "a further time" for life in evidence.lives}
    attribute = _attribute_of(evidence)
    for name, seen in evidence.seen.items():
        if seen.is_text and seen.is_measure and not _in_key(evidence, name):
            found[name] = f"numbers stored as text ({percent(seen.number_share)} of the values read)"
        elif _is_id_of_row(evidence, name, seen):
            found[name] = "an ID of the row: it is different in nearly all rows read"
        elif attribute and _is_value(name) and name != attribute:
            found[name] = f"the value of the attribute that {attribute} names"
    return found


def ids_of_rows(key: Sequence[str], time: str, seen: Mapping[str, Seen], rows: int) -> frozenset[str]:
    """The column that alone identifies each row although the key also contains the time, as partitioning by time
    requires; empty if there is none.
    """
    found = frozenset(key) - {time}
    if len(found) != 1 or time not in key or rows < SMALL:
        return frozenset()
    return frozenset(n for n in found if n.lower() in _OWN_IDS and (seen[n].distinct or 0) >= _APART * rows)


def _is_id_of_row(evidence: KindEvidence, name: str, seen: Seen) -> bool:
    """Whether the column is an ID of the row itself. Only generic names count: a `request_id` identifies a request, and
    may recur.
    """
    is_apart = evidence.rows >= SMALL and (seen.distinct or 0) >= _APART * evidence.rows
    return is_apart and name.lower() in _OWN_IDS and not _in_key(evidence, name)


def _in_key(evidence: KindEvidence, name: str) -> bool:
    return any(c.name == name and c.key_position is not None for c in evidence.columns)


def _without_time(evidence: KindEvidence) -> Decided | None:
    unique = [c.name for c in evidence.columns if c.is_unique]
    key = [c.name for c in evidence.columns if c.key_position is not None]
    # Numbers and texts show only in rows that they are times.
    without = "without a time" if evidence.rows else "and no row was read that shows a time"
    if unique:
        return TableKind.REFERENCE, f"one row for each {unique[-1]}, {without}"
    if key:
        return TableKind.REFERENCE, f"one row for each combination of {_listed(key)}, {without}"
    if not evidence.is_whole or not evidence.rows or _measures(evidence):
        # A table of readings whose time was not recognized looks the same.
        return None
    if evidence.rows < SMALL:
        return TableKind.REFERENCE, f"a list of {evidence.rows} rows without a time"
    apart = [name for name, seen in evidence.seen.items() if seen.is_unique and _names_thing(evidence, name)]
    return (TableKind.REFERENCE, f"{apart[0]} is different in every row, without a time") if apart else None


def _by_versions(evidence: KindEvidence) -> Decided | None:
    """Recognizes a table with a row per version of an entity by the first and the last day of validity."""
    begins, ends = [], []
    for name in (evidence.time or "", *(life.name for life in evidence.lives)):
        words = words_of(name)
        if words & VALID or name.lower() in BEGINS | ENDS:
            begins += [name] if words & BEGINS else []
            ends += [name] if words & ENDS else []
    if not begins or not ends or set(begins) == set(ends):
        return None
    return TableKind.REFERENCE, f"one row per version of a thing, valid from {begins[0]} until {ends[-1]}"


def _as_queue(evidence: KindEvidence) -> Decided | None:
    found: dict[str, str] = {}
    for column in evidence.columns:
        words = words_of(column.name)
        for what, known in (
            ("attempts", ATTEMPTS),
            ("who took it", TAKEN),
            ("when it is due", DUE),
            ("the work", QUEUE_NAMES),
            ("its state", STATE),
        ):
            is_time = column.name == evidence.time or column.name in {life.name for life in evidence.lives}
            if words & known and not (known is DUE and not is_time):
                found.setdefault(what, column.name)
    work = found.keys() & {"attempts", "who took it", "when it is due"}
    if len(work) < 2 or "attempts" not in found or len(found) < 3 or _time_in_key(evidence):
        return None
    return TableKind.QUEUE, f"jobs that workers take: {_listed(list(found.values()))}"


def _weighed(evidence: KindEvidence) -> Iterator[tuple[int, str]]:
    """The evidence for and against series, as points and words."""
    yield from _by_key(evidence)
    yield from _by_values(evidence)
    yield from _by_sources(evidence)
    yield from _by_life(evidence)


def _by_key(evidence: KindEvidence) -> Iterator[tuple[int, str]]:
    key = [c.name for c in evidence.columns if c.key_position is not None]
    if not key:
        yield 1, ""
        return
    if _time_in_key(evidence):
        others = [name for name in key if name != evidence.time and name not in evidence.sequences]
        yield 4, f"the key is {_listed([*others, evidence.time or ''])}"
    elif _numbers_rows(evidence):
        yield 0, ""
    elif len(key) > 1 and evidence.sequences:
        others = [name for name in key if name not in evidence.sequences]
        yield 4, f"the key numbers the rows of each {_listed(others)}"
    elif len(key) > 1:
        yield -3, f"one row for each combination of {_listed(key)}"
    elif _is_named_key(evidence, key[0]):
        yield -2, f"one row for each {key[0]}"
    if further := _further_keys(evidence):
        yield -2, f"{further[0]} is unique"
    if evidence.referred_to:
        yield -3, "other tables refer to its rows"


def _by_values(evidence: KindEvidence) -> Iterator[tuple[int, str]]:
    measured = _measures(evidence)
    exact = [name for name in measured if not evidence.seen[name].is_integer]
    if exact:
        yield 2, f"measured values ({_listed(exact)})"
    elif measured:
        yield 1, f"numbers ({_listed(measured)})"
    money = [name for name in _numbers(evidence) if words_of(name) & MONEY]
    if money:
        yield -2, f"amounts of single transactions ({_listed(money)})"
    described = list(_description(evidence))
    if described:
        yield -2 * min(len(described), 3), f"details of a single event ({_listed(described)})"


def _by_sources(evidence: KindEvidence) -> Iterator[tuple[int, str]]:
    if evidence.regular_share is not None and evidence.regular_share >= _MOSTLY and _measures(evidence):
        yield 3, f"{percent(evidence.regular_share)} of the rows arrive at regular intervals"
    if evidence.coverage is not None and evidence.coverage >= _COVERED:
        yield 1, "the same sources recur"
    # With rows of a few instants only, no source has reported again.
    again = evidence.rows >= ALIKE and (evidence.instants or 0) >= _ROUNDS and not _time_in_key(evidence)
    if again and (own := [n for n in evidence.refers if n in evidence.seen and evidence.seen[n].is_unique]):
        yield -4, f"one row for each {min(own)}, which is in another table"


def _by_life(evidence: KindEvidence) -> Iterator[tuple[int, str]]:
    if changes := _changed(evidence):
        yield -4, f"rows change later ({_listed(changes)})"
    elif ends := [life.name for life in evidence.lives if life.changes]:
        yield -4, f"each row has a begin and an end ({_listed(ends)})"
    states = [c.name for c in evidence.columns if words_of(c.name) & STATE and _is_category(evidence, c.name)]
    if states and not _time_in_key(evidence):
        yield -1, f"a state of each row ({states[0]})"


def _changed(evidence: KindEvidence) -> list[str]:
    """The columns that show that rows are updated. In a copy that is loaded again and again, none is, although rows
    differ from those before: there, what may be missing, or is called updated, still shows it.
    """
    return [
        life.name for life in evidence.lives if life.changes and not (evidence.is_never_updated and life.may_be_end)
    ]


def _other(evidence: KindEvidence, against: Sequence[str]) -> Decided:
    """The kind of a table that has a time but no series."""
    key = [c.name for c in evidence.columns if c.key_position is not None]
    changes = bool(_changed(evidence))
    is_thing = len(key) == 1 and key[0] != evidence.time and _is_named_key(evidence, key[0])
    is_pair = len(key) > 1 and evidence.time not in key and not list(_description(evidence))
    if changes or is_thing or is_pair or evidence.referred_to or _further_keys(evidence):
        return TableKind.ENTITY, "; ".join(against) or "one row per thing"
    return TableKind.EVENTS, "; ".join(against) or "each row stands for itself, without measured values"


def _further_keys(evidence: KindEvidence) -> list[str]:
    """Further unique columns that name the entity. A random ID does not: it only prevents writing the same
    row twice.
    """
    key = {evidence.time, *(c.name for c in evidence.columns if c.key_position is not None)}
    named = [c.name for c in evidence.columns if c.is_unique and c.name not in key]
    return [name for name in named if _is_named_key(evidence, name)]


def _time_in_key(evidence: KindEvidence) -> bool:
    """Whether the key identifies the source of a row and its time. A key of the time alone does if no other column
    could name a source; a key of the time and a number of the row does not.
    """
    if evidence.time is None or not _in_key(evidence, evidence.time):
        return False
    others = {c.name for c in evidence.columns if c.key_position is not None} - {evidence.time}
    return bool(others - evidence.sequences) or (not others and evidence.coverage is None)


def _numbers_rows(evidence: KindEvidence) -> bool:
    """Whether the key contains the time, but nothing that names a source."""
    key = {c.name for c in evidence.columns if c.key_position is not None}
    return evidence.time in key and not key - evidence.sequences - {evidence.time}


def _is_named_key(evidence: KindEvidence, name: str) -> bool:
    """Whether a key column names the entity, and is not just a number or a random ID of the row."""
    column = next(c for c in evidence.columns if c.name == name)
    seen = evidence.seen.get(name)
    is_random = column.data_type.upper().startswith("UUID") or (seen is not None and seen.is_random)
    return not column_types.is_integer(column.data_type) and not is_random


def _names_thing(evidence: KindEvidence, name: str) -> bool:
    seen = evidence.seen[name]
    return seen.is_integer or seen.is_text


def _numbers(evidence: KindEvidence) -> list[str]:
    """Columns with numbers that are neither times nor IDs nor codes."""
    times = {evidence.time, *(life.name for life in evidence.lives)}
    refers = {c.name for c in evidence.columns if c.refers_to or c.is_unique}
    return [n for n, s in evidence.seen.items() if s.is_measure and n not in times | refers | evidence.sequences]


def _measures(evidence: KindEvidence) -> list[str]:
    """Columns with measured values."""
    return [name for name in _numbers(evidence) if not words_of(name) & MONEY]


def _description(evidence: KindEvidence) -> Iterator[str]:
    """Columns that describe a single event: documents, long texts, addresses, and texts that hardly recur.

    Random IDs next to measured values are no evidence: IDs written as tags are the most frequent mistake in series.
    """
    measured = any(not evidence.seen[name].is_integer for name in _measures(evidence))
    # With rows of a few instants only, each source is unique because it has not reported again.
    at_once = evidence.instants is not None and evidence.instants < _ROUNDS
    key = {c.name for c in evidence.columns if c.key_position is not None} if _time_in_key(evidence) else set()
    unique = {c.name for c in evidence.columns if c.is_unique}
    for name, seen in evidence.seen.items() if evidence.rows >= ALIKE else ():
        if name in key or name in unique or name == evidence.time or seen.is_label_set:
            continue
        if seen.is_random and measured:
            continue
        by_name = bool(words_of(name) & HAPPENED) and (seen.is_text or seen.is_document) and not _few(evidence, name)
        never_again = seen.is_text and seen.is_unique and not seen.is_measure and not at_once
        if by_name or seen.is_document or seen.is_prose or never_again:
            yield name


def _is_category(evidence: KindEvidence, name: str) -> bool:
    seen = evidence.seen.get(name)
    return seen is not None and seen.is_text and not seen.is_measure and (seen.distinct or 0) <= 30


def _attribute_of(evidence: KindEvidence) -> str | None:
    """The column that names the attribute; None if the table does not consist of attributes and their values."""
    columns = [c for c in evidence.columns if c.name != evidence.time]
    values = [c.name for c in columns if _is_value(c.name)]
    if len(values) > 1:
        # A table of attributes has the name of a reading in one column, and its value in another.
        values = [name for name in values if not _few(evidence, name)]
    names = [c.name for c in columns if words_of(c.name) & (ATTRIBUTE | VALUE) and _few(evidence, c.name)]
    names = [name for name in names if name not in values]
    others = [n for n in _numbers(evidence) if n not in values]
    return names[0] if len(columns) <= _NARROW and len(values) == 1 and names and not others else None


def _is_value(name: str) -> bool:
    words = words_of(name)
    return bool(words & VALUE) and len(words) <= 2


def _few(evidence: KindEvidence, name: str) -> bool:
    seen = evidence.seen.get(name)
    return (
        seen is not None
        and seen.is_text
        and not seen.is_measure
        and 1 < (seen.distinct or 0) <= max(50, evidence.rows // 20)
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")


_SAME_LAG: Final = 0.9
"""If at least this share of the lags is the same, two times are the ends of an interval of fixed length."""
_EXCEPTIONS: Final = 0.05
_MOSTLY_LATER: Final = 0.8
_OFTEN_DIFFERENT: Final = 0.01
_MANY: Final = 0.5
_FEW_VALUES: Final = 4
"""Columns that could name a source are only grouped if they have at least this many rows per value on average."""
_SECOND: Final = 1e6
_NEARLY: Final = 0.99


def lives(time: str, values: Mapping[str, Times]) -> list[Life]:
    """The columns with times other than `time`. `values`: column to the times of the rows read, including the column
    `time`.
    """
    own = values[time]
    found = []
    for name, times in values.items():
        if name == time:
            continue
        others = [
            other
            for key, other in values.items()
            if key != name and not np.isnan(other).any() and not words_of(key) & (CHANGED | OTHER)
        ]
        changes = _changes(name, times, own, others) or _is_begin(time, own, name, times)
        is_named = bool(words_of(name) & OTHER) and not words_of(name) & CHANGED
        found.append(Life(name, changes, is_named and not np.isnan(times[~np.isnan(own)]).any()))
    return found


def _changes(name: str, times: Times, own: Times, others: Sequence[Times]) -> bool:
    """Whether the column shows when a row was changed: it is later than the row, and often missing or named
    accordingly.
    """
    both = ~np.isnan(times) & ~np.isnan(own)
    if not both.any():
        return False
    lag = times[both] - own[both]
    if (lag < -_SECOND).mean() > _EXCEPTIONS:
        return False
    # `updated_at` only proves changes if some rows were updated.
    if any((np.abs(times[both] - other[both]) > _SECOND).mean() < _OFTEN_DIFFERENT for other in others):
        return False
    is_missing = bool(np.isnan(times[~np.isnan(own)]).any())
    if is_missing and (lag > 0).mean() >= _MOSTLY_LATER:
        return True
    if _is_fixed(lag):
        return False
    return bool(words_of(name) & (CHANGED | OTHER)) and (lag > 0).mean() > _EXCEPTIONS


def _is_begin(time: str, own: Times, name: str, times: Times) -> bool:
    """Whether the time column itself is the time of the last change, and this column is the time of the beginning."""
    if not words_of(time) & (CHANGED | OTHER) or not words_of(name) & WRITTEN or np.isnan(times).any():
        return False
    lag = (own - times)[~np.isnan(own)]
    return bool(len(lag)) and not _is_fixed(lag) and bool((lag > _SECOND).mean() > _EXCEPTIONS)


def _is_fixed(lag: Times) -> bool:
    """Whether nearly all lags are the same and not zero, so that the column is the other end of an interval."""
    middle = float(np.median(lag))
    return abs(middle) > _SECOND and bool((np.abs(lag - middle) <= 0.01 * abs(middle) + _SECOND).mean() >= _SAME_LAG)


def sources(
    codes: Mapping[str, npt.NDArray[np.int64]], key: Sequence[str], times: Times
) -> tuple[float | None, float | None]:
    """How regularly the sources write, and how likely the next row is from a source that is among the rows read: see
    `KindEvidence.regular_share` and `coverage`. `codes`: columns that could name a source to a code per row, the
    same for equal values. `key`: the columns that, with the time, identify a row.
    """
    known = ~np.isnan(times)
    rows = int(known.sum())
    if not rows:
        return None, None
    at = times[known].astype(np.int64)
    named = {name: numbers[known] for name, numbers in codes.items()}
    groups = [[name] for name in named]
    few = [name for name, numbers in named.items() if count_distinct(numbers) * _FEW_VALUES <= rows]
    groups += [group for group in (few, [name for name in key if name in named]) if len(group) > 1]
    most: float | None = None
    for group in groups:
        if most == 1.0:
            break  # More there cannot be.
        if (share := _regular([named[n] for n in group], at)) is not None:
            most = max(most or 0.0, share)
    return most, _coverage(combined(list(named.values()), rows)) if named else None


def _coverage(sources: npt.NDArray[np.int64]) -> float:
    """The probability that the next row is from a source already read. Unlike the number of rows per source, it hardly
    depends on how many rows were read: Good, "The population frequencies of species and the estimation of population
    parameters", Biometrika 40 (1953).
    """
    return 1.0 - int((np.bincount(sources) == 1).sum()) / len(sources)


def _regular(columns: Sequence[npt.NDArray[np.int64]], times: npt.NDArray[np.int64]) -> float | None:
    """The share of rows from sources that write at regular intervals, 0 to 1; None if there is only one source, or if
    none writes repeatedly.
    """
    series = combined(columns, len(times))
    if series.max(initial=0) < 1:
        return None
    found = spacing(series, times)
    if not (found.intervals > 1).any():
        return None
    return float(np.isin(series, found.series[found.regular]).mean())


def sequences(
    time: str, numbers: Mapping[str, npt.NDArray[np.int64]], codes: Mapping[str, npt.NDArray[np.int64]]
) -> frozenset[str]:
    """Columns of the key that only number rows: they are named like a sequence, or differ in most rows without
    distinguishing rows that the other columns of the key do not.

    `codes`: all columns of the key, including the time if it is in the key. `numbers`: the integer columns among them
    that may number rows.
    """
    found = set()
    for name, values in numbers.items():
        rows = len(values)
        if rows < ALIKE or not codes.keys() - {name, time}:
            continue
        together = combined([codes[other] for other in codes if other != name], rows)
        adds_nothing = count_distinct(values) >= _MANY * rows and int(together.max()) + 1 >= _NEARLY * rows
        if words_of(name) & _SEQUENCE or adds_nothing:
            found.add(name)
    return frozenset(found)


_SEQUENCE: Final = frozenset(
    [
        *("ns", "nano", "nanos", "nanoseconds", "us", "micros", "usec", "ms", "millis", "frac", "fraction", "subsec"),
        *("seq", "sequence", "seqno", "seqnum", "offset", "line", "lsn", "ordinal"),
        *("revision", "rev", "tick"),
    ]
)
"""Words for numbers that distinguish rows of one source."""
