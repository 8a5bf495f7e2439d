"""What some rows of a SQL table show about the kind of its rows. Runs no queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from tsaudit.analysis.codes import combined, count_distinct
from tsaudit.analysis.columns.name_words import CHANGED, OTHER, WRITTEN, words_of
from tsaudit.analysis.rows.rhythm import spacing
from tsaudit.analysis.significance import ALIKE

if TYPE_CHECKING:
    Times = npt.NDArray[np.float64]
    """Microseconds since 1970; NaN where there is no time."""

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
        found.append(Life(name, _changes(name, times, own, others) or _is_begin(time, own, name, times)))
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


@dataclass(frozen=True, slots=True)
class Sources:
    """How often the same sources write, and how regularly."""

    regular_share: float | None
    coverage: float | None
    """The probability that the next row is from a source that is among the rows read; None if no column could name a
    source.
    """


def sources(codes: Mapping[str, npt.NDArray[np.int64]], key: Sequence[str], times: Times) -> Sources:
    """How often and how regularly the sources write. `codes`: columns that could name a source to a code per row, the
    same for equal values. `key`: the columns that, with the time, identify a row.
    """
    known = ~np.isnan(times)
    rows = int(known.sum())
    if not rows:
        return Sources(None, None)
    at = times[known].astype(np.int64)
    named = {name: numbers[known] for name, numbers in codes.items()}
    groups = [[name] for name in named]
    few = [name for name, numbers in named.items() if count_distinct(numbers) * _FEW_VALUES <= rows]
    groups += [group for group in (few, [name for name in key if name in named]) if len(group) > 1]
    shares = [share for group in groups if (share := _regular([named[n] for n in group], at)) is not None]
    return Sources(
        max(shares, default=None),
        _coverage(combined(list(named.values()), rows)) if named else None,
    )


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
