"""What the rows read of a measurement show: of each column, alone and beside others, and of its series and points."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tsaudit.analysis.codes import Codes, RowGroups, changes, combined, count_distinct, order_by
from tsaudit.analysis.columns.columns import is_number, is_text, words_of
from tsaudit.analysis.rows import column_groups, duplicates, over_time
from tsaudit.analysis.rows.column_groups import split_by
from tsaudit.analysis.rows.duplicates import (
    distinguishing_tags,
    lost_ratio,
    overwritten,
)
from tsaudit.analysis.rows.over_time import Numbers, changes_of, other_sources, shared, turnover_of
from tsaudit.analysis.significance import ENOUGH, NEARLY_ALL
from tsaudit.analysis.values.hashes import mixed, sample
from tsaudit.collect.draft import NUMBER, ReadColumn
from tsaudit.model.columns import (
    Busiest,
    Field,
    FieldEnd,
    NewestType,
    NumbersBy,
    Reports,
    SplitName,
    StoppedTotals,
    TagChanges,
    TagSets,
    TextsAmongNumbers,
    TimeLag,
    Turnover,
)
from tsaudit.model.figures import SAMPLE_SIZE, TEXT_KEPT, Count, Ratio, Source, Window
from tsaudit.model.rows import (
    MAX_PATTERNS,
    FieldRhythm,
    PartingTag,
    PointSample,
    Repeats,
    Rhythms,
    RowPattern,
    RowPatterns,
    RowsApart,
    SetApart,
)


def series_of_rows(tags: Sequence[ReadColumn], rows: int) -> Codes:
    """A number per row, the same for rows with the same tag set."""
    return combined([tag.codes for tag in tags], rows)


def split_name(field: ReadColumn, tag: ReadColumn, times: ReadColumn, series: Codes) -> SplitName | None:
    """The rows that have a name only as a field, and those that have it only as a tag; None if one of them are too few
    to know a share of, or if most values of the field are none of the tag. `times`: in microseconds. `series`: a number
    per row.
    """
    of_field, of_tag = (one & times.known for one in (field.known & ~tag.known, tag.known & ~field.known))
    if min(of_field.sum(), of_tag.sum()) < ENOUGH:
        return None
    in_tags = pc.is_in(field.texts, value_set=pc.unique(tag.texts)).to_numpy(zero_copy_only=False)
    if in_tags[field.codes[of_field]].mean() <= _SAME_VALUES:
        return None
    at = times.values.fill_null(0).to_numpy()

    def span(rows: npt.NDArray[np.bool_]) -> tuple[datetime, datetime]:
        first, last = (_EPOCH + timedelta(microseconds=int(one)) for one in (at[rows].min(), at[rows].max()))
        return first, last

    return SplitName(
        int(of_field.sum()), int(of_tag.sum()), span(of_field), span(of_tag), count_distinct(series[of_field])
    )


_SAME_VALUES: Final = 0.5
"""Share of the rows with a field whose values are those of a tag from which on both mean the same."""
_VALUES_KEPT: Final = 3
_US_PER_SECOND: Final = 1_000_000
_EPOCH: Final = datetime.fromtimestamp(0, UTC)


def rhythms(
    tags: Mapping[str, ReadColumn],
    fields: Mapping[str, ReadColumn],
    times: ReadColumn,
    series: Codes,
    source: Source,
) -> Rhythms:
    """How regularly values arrive, by field. `times`: microseconds, null for rows left out. `series`: as numbers."""
    filled = {key: column.known[times.known] for key, column in fields.items()}
    found = over_time.rhythms(series[times.known], numbers_of(times), filled)
    return Rhythms(
        fields=tuple(
            FieldRhythm(key, len(one.regular), len(one.irregular), one.interval and one.interval / _US_PER_SECOND)
            for key, one in sorted(found.items())
        ),
        parted_by=_parted(tags, series, found),
        source=source,
    )


def _parted(tags: Mapping[str, ReadColumn], series: Codes, found: Mapping[str, over_time.Rhythm]) -> PartingTag | None:
    regular = {number for one in found.values() for number in one.regular.tolist()}
    irregular = {number for one in found.values() for number in one.irregular.tolist()}
    if not regular - irregular or not irregular - regular:
        return None
    numbers, first = np.unique(series, return_index=True)
    codes = {key: tag.codes[first] for key, tag in tags.items()}
    even, uneven = (np.isin(numbers, list(side)) for side in (regular - irregular, irregular - regular))
    parted = over_time.separating_tag(codes, even, uneven)
    if parted is None:
        return None
    values = texts_of(tags[parted], first)
    return PartingTag(parted, _some(values, even), _some(values, uneven))


def _some(values: Sequence[str | None], chosen: npt.NDArray[np.bool_]) -> tuple[str | None, ...]:
    distinct = {values[place] for place in np.flatnonzero(chosen).tolist()}
    return tuple(sorted(distinct, key=lambda value: (value is None, value)))[:_VALUES_KEPT]


def point_sample(
    tags: Mapping[str, ReadColumn],
    times: ReadColumn,
    series: Codes,
    window: Window,
    source: Source,
    *,
    all_rows: bool,
) -> PointSample:
    """The points used to compare the measurement with others. Parameters as for `rhythms`.

    `all_rows`: whether all rows within the window were read, and not only the newest.
    """
    at = numbers_of(times)
    numbers, first = np.unique(series, return_index=True)
    # An empty value is none.
    values = {key: (tag.texts.to_pylist(), tag.codes_of_words[first].tolist()) for key, tag in tags.items()}
    # At the oldest instant, some rows may not have been read.
    start = int(window.start.timestamp()) if all_rows else int(at.min(initial=0)) // _US_PER_SECOND + 1
    return duplicates.point_sample(
        values,
        len(numbers),
        np.searchsorted(numbers, series)[times.known],
        at,
        start=start,
        end=int(window.end.timestamp()),
        source=source,
    )


_PERCENTILES: Final = (10, 50, 90)
_ROWS_PER_VALUE: Final = 2
"""Of fewer rows, a sample that is thinner than the sources shows many of them once, and some late or never."""
_LASTING_H: Final = 1
"""What reports for an hour or more is a source, however soon another takes its place: a job or a session is over."""
_LASTING_INSTANTS: Final = 3
_MOST_COUNTED: Final = 8


def repeats(
    tags: Mapping[str, ReadColumn],
    times: ReadColumn,
    source: Source,
    times_us: ReadColumn | None = None,
) -> Repeats:
    """The number of rows with the tags and time of another one, and what was lost of them. Rows without a time are left
    out.

    `times_us`: the times in microseconds, if they are known.
    """
    key = [column.where(times.known) for column in (times, *tags.values())]
    rows = keys = len(key[0])
    if len(key[0].distinct) < rows:
        keys = int(series_of_rows(key, rows).max(initial=-1)) + 1
    lost = None
    if times_us is not None and keys == rows:
        lost = lost_ratio(series_of_rows(key[1:], rows), times_us.where(times.known).values.fill_null(1).to_numpy())
    return Repeats(rows, rows - keys, source, lost)


def rows_apart(
    tags: Mapping[str, ReadColumn],
    times: ReadColumn,
    source: Source,
    wanted: Iterable[frozenset[str]] = (),
    *,
    also: ReadColumn | None = None,
    whole: bool = True,
    within: str = "",
    only: npt.NDArray[np.bool_] | None = None,
) -> RowsApart:
    """Which tags distinguish rows with the same time. Rows without a time are left out.

    `wanted`: sets of tags that are counted even if they are not among the smallest. `also`: another column that
    identifies a row, and cannot be dropped. `whole`, `within`: see `RowsApart`. `only`: rows to include; None for all.
    """
    included = times.known if only is None else times.known & only
    moments = times.codes[included]
    if also is not None:
        moments = combined([moments, also.codes[included]], len(moments))
    columns = {key: column.codes[included] for key, column in tags.items()}
    # Where no two rows have the same time, there is nothing to distinguish.
    is_apart = count_distinct(moments) == len(moments)
    found, complete = ([], True) if is_apart else distinguishing_tags(columns, moments)
    each = () if complete else (frozenset({tag}) for tag in tags)
    sets = sorted({*found, *wanted, *each}, key=lambda names: (len(names), sorted(names)))
    counts = dict.fromkeys(sets, 0) if is_apart else overwritten(columns, moments, sets)
    by = tuple(SetApart(tuple(sorted(names)), counts[names]) for names in sets)
    absent = tuple(key for key, column in tags.items() if not column.known[included].any())
    return RowsApart(len(moments), by, complete, source, whole, within, absent)


def likely_drops(tag_sets: TagSets | None) -> list[frozenset[str]]:
    """Sets of tags that a plan is likely to drop: each of those that contribute most, and the first ones together."""
    if tag_sets is None:
        return []
    found = [frozenset((one.tag, *one.together_with)) for one in tag_sets.contributions[:_MOST_COUNTED]]
    so_far: frozenset[str] = frozenset()
    for one in tag_sets.drop_curve[:_MOST_COUNTED]:
        so_far |= {one.tag, *one.together_with}
        found.append(so_far)
    return list(dict.fromkeys(found))


def reports(column: ReadColumn, times: ReadColumn) -> Reports | None:
    """How often the values occur. `times`: in microseconds, null for rows to leave out. None without such rows."""
    both = column.known & times.known
    at = numbers_of(times.where(both))
    if not len(at):
        return None
    codes = column.codes[both]
    order = order_by(codes, at)
    at, codes = at[order], codes[order]
    is_first = changes(codes)
    instants = np.add.reduceat(is_first | changes(at), np.flatnonzero(is_first))
    is_last = np.append(is_first[1:], True)
    hours = (at[is_last] - at[is_first]) / (3600 * _US_PER_SECOND)
    lasting = (instants >= _LASTING_INSTANTS) & (hours >= _LASTING_H)
    read = float(at.max() - at.min()) / (3600 * _US_PER_SECOND)
    return Reports(float(instants.mean()), read, float(lasting.mean()), len(at) / len(instants))


def busiest(column: ReadColumn, source: Source) -> Busiest | None:
    """The value with the most rows, the first of several; None for fewer than two values."""
    if len(column.texts) < 2:
        return None
    most = int(column.rows.max())
    value = pc.min(column.texts.take(pa.array(np.flatnonzero(column.rows == most)))).as_py()
    return Busiest(value[:TEXT_KEPT], most / len(column), source)


def idle_hours(column: ReadColumn, times: ReadColumn) -> float | None:
    """From the newest row with a value to the newest row. `times`: in microseconds, null for rows to leave out. None if
    no row has both.
    """
    at = numbers_of(times)
    of_values = at[column.known[times.known]]
    return float(at.max() - of_values.max()) / (3600 * _US_PER_SECOND) if len(of_values) else None


ROWS_BEFORE: Final = 1_000
"""Rows up to the newest one with a field that show in how many of them it is."""


def field_end(column: ReadColumn, times: ReadColumn, others: Mapping[str, ReadColumn]) -> FieldEnd | None:
    """The rows before and after the newest one with a value. `times`: in microseconds, null for rows to leave out.
    `others`: the fields that may begin there, by key. None if no row has both, or too few come after it.
    """
    at, filled = numbers_of(times), column.known[times.known]
    if not filled.any():
        return None
    last = int(at[filled].max())
    after = int((at > last).sum())
    if after < ENOUGH:
        return None
    before = np.flatnonzero(at <= last)
    before = before[np.argsort(-at[before], kind="stable")][:ROWS_BEFORE]
    end = ended(last, after, filled[before])
    if end is None:
        return None
    known = {key: other.known[times.known] for key, other in others.items() if other.filled < len(other)}
    begun = (k for k, has in known.items() if begins(end, float(has[before].mean()), float(has[at > last].mean())))
    return replace(end, begun=tuple(begun))


def newest_type(types: ReadColumn, times: ReadColumn, returned: str) -> NewestType | None:
    """The type of the newest values. `types`: of each value. `times`: in microseconds, null for rows to leave out.
    `returned`: the type that queries return. None if no row has a value and a time.
    """
    both = types.known & times.known
    if not both.any():
        return None
    at, kinds = numbers_of(times.where(both)), types.where(both)
    newest = int(kinds.codes[at.argmax()])
    is_other = kinds.codes != newest
    until = int(at[is_other].max()) if is_other.any() else None
    since = at[~is_other] if until is None else at[at > until]
    if not len(since):
        return None
    return NewestType(
        kinds.texts[newest].as_py(),
        returned,
        len(since),
        _EPOCH + timedelta(microseconds=int(since.min())),
        None if until is None else _EPOCH + timedelta(microseconds=until),
    )


def begins(end: FieldEnd, before: float, after: float) -> bool:
    """Whether another field begins where one ends: `before` and `after` are the shares of the rows up to the end and
    after it that have the other.
    """
    return before <= 1 - NEARLY_ALL and after >= NEARLY_ALL * end.filled_before


def ended(last_us: int, after: int, before: npt.NDArray[np.bool_]) -> FieldEnd | None:
    """The same, from the time of the newest row with a value, the number of rows after it, and, for rows up to it,
    whether each has a value.
    """
    if after < ENOUGH or len(before) < ENOUGH:
        return None
    return FieldEnd(_EPOCH + timedelta(microseconds=last_us), after, len(before), float(before.mean()))


def turnover(
    tags: Mapping[str, ReadColumn],
    times: ReadColumn,
    key: str,
    by: tuple[str, ...] | None,
    source: Source,
    written: float = 0.0,
) -> Turnover | None:
    """How values of one tag come and go for sources with the same values of the tags in `by`, or for all rows. `times`:
    in microseconds, null for rows to leave out.

    `written`: how many rows a value has on average, including those not read; 0 if that is not known. None if no source
    has rows enough, or if the rows contain so few of each value's that they cannot show which values recur.
    """
    both = tags[key].known & times.known
    # Rows without any tag that identifies their source may be of several sources.
    named = both & np.any([tags[other].known for other in by], axis=0) if by else both
    both = named if 2 * named.sum() >= both.sum() else both
    chosen = slice(None) if both.all() else both
    at, codes = numbers_of(times.where(both)), tags[key].codes[chosen]
    if not len(at):
        return None
    each = len(at) / count_distinct(codes)
    if each < _ROWS_PER_VALUE and (by is None or written >= _ROWS_PER_VALUE * each):
        return None
    others = combined([tags[other].codes[chosen] for other in by or ()], len(at))
    return turnover_of(codes, others, at, by=by, measured=source)


def time_lag(column: ReadColumn, times: ReadColumn) -> TimeLag | None:
    """How far the column's times are before the rows' own times; None if either is not a time, or no row has both."""
    if not (pa.types.is_timestamp(column.type) and pa.types.is_timestamp(times.type)):
        return None
    both = column.known & times.known
    if not both.any():
        return None
    lag = (_microseconds(times.values)[both] - _microseconds(column.values)[both]) / _US_PER_SECOND
    least, median, most = np.percentile(lag, _PERCENTILES)
    return TimeLag(int(both.sum()), float((lag > 0).mean()), float(median), float(most - least))


_RISING: Final = 0.9
"""Minimum share of the rows, in the order of their times, whose number is higher than that of the row before."""
_FEWEST_RISING: Final = 20
"""Fewest rows that show it."""
_POWER: Final = 0.5
"""The mantissa of each power of two."""
_NUMBERS_BELOW: Final = 2**20
"""Among so many numbers of as many decimals, that a power of two is the last one is no coincidence."""
_ROUND: Final = 256
"""Multiples of this part of a number are as round as it is."""
_LEAST_SPAN_DAYS: Final = 1 / 24
"""A rate from less is chance."""


def rise_per_day(column: ReadColumn, times: ReadColumn) -> float | None:
    """By how much the integers rise a day from the first row to the last, without the largest step, which may be a
    sequence that somebody set. `times`: in microseconds. None if they do not rise with the time, and if the rows cover
    less than an hour.
    """
    both = column.known & times.known
    if not pa.types.is_integer(column.type) or both.sum() < _FEWEST_RISING:
        return None
    numbers, at = (one.values.filter(pa.array(both)).to_numpy() for one in (column, times))
    order = np.lexsort((numbers, at))
    steps, days = np.diff(numbers[order]), np.diff(at[order]) / (24 * 3600 * _US_PER_SECOND)
    if days.sum() < _LEAST_SPAN_DAYS or (steps > 0).mean() < _RISING:
        return None
    # Rows of a few pages have large gaps: what lies between two of them is no rise at once.
    left = np.arange(len(steps)) != int(steps.argmax())
    return max(float(steps[left].sum()), 0.0) / float(days[left].sum()) if days[left].any() else None


def stopped_totals(column: ReadColumn, times: ReadColumn, series: Codes) -> StoppedTotals | None:
    """The series of a total in floats of four bytes whose newest rows all have one power of two, where the distance to
    the next float doubles, while others rise. `times`: in microseconds. `series`: a number per row.

    None if none has stopped, if it also falls, as what is measured does, or if so few numbers are so round, or have so
    few digits, that it may be a coincidence.
    """
    both = column.known & times.known
    if not pa.types.is_floating(column.type):
        return None
    at, groups = times.values.filter(pa.array(both)).to_numpy(), series[both]
    numbers = column.values.filter(pa.array(both)).to_numpy().astype(np.float32)
    order = np.lexsort((at, groups))
    numbers, groups = numbers[order], groups[order]
    is_same = groups[1:] == groups[:-1]
    steps = np.diff(numbers)[is_same]
    if (steps > 0).sum() < _FEWEST_RISING or (steps < 0).sum() > (1 - NEARLY_ALL) * (steps > 0).sum():
        return None
    ends = np.append(np.flatnonzero(~is_same) + 1, len(numbers))
    each = [own for own in np.split(numbers, ends[:-1]) if len(own) >= _FEWEST_RISING]
    others = np.unique(numbers)
    others = others[np.frexp(others)[0] != _POWER]
    if not len(others):
        return None
    least = _NUMBERS_BELOW * 10.0 ** -_decimals(others)
    found = [
        own
        for own in each
        if own[-1] >= least
        and np.frexp(own[-1])[0] == _POWER
        and (own[-_FEWEST_RISING:] == own[-1]).all()
        # What is allocated comes in such steps.
        and (others % (own[-1] / _ROUND) > 0).mean() >= NEARLY_ALL
    ]
    if not found:
        return None
    worst = max(found, key=lambda own: float(own[-1]))
    rows = int((worst[::-1] == worst[-1]).cumprod().sum())
    rising = sum(own[-1] > own[0] for own in each) - sum(own[-1] > own[0] for own in found)
    return StoppedTotals(len(found), int(rising), float(worst[-1]), float(np.spacing(worst[-1])), rows)


def _decimals(numbers: npt.NDArray[np.float32]) -> int:
    """How many decimals nearly all of the numbers have, up to those of a float of four bytes."""
    exact = numbers.astype(np.float64)
    return next(n for n in range(8) if n == 7 or (exact.round(n).astype(np.float32) == numbers).mean() >= NEARLY_ALL)


def _microseconds(times: pa.ChunkedArray) -> np.ndarray:
    whole = times.cast(pa.timestamp("us", times.type.tz), safe=False).cast(pa.int64()).fill_null(0)
    numbers: np.ndarray = whole.to_numpy()
    return numbers


def tag_changes(tags: Mapping[str, ReadColumn], times: ReadColumn, source: Source) -> dict[str, tuple[TagChanges, ...]]:
    """For each tag, how it changes for the sources identified by all other tags, and for those identified by one of
    them.

    That one is the tag with the most values, preferably one without numbers. It is only examined if it differs from all
    other tags, that is, with at least three tags. Rows without a time are left out.
    """
    in_time = times.order[: times.filled]
    instants = np.cumsum(changes(times.codes[in_time]), dtype=np.int64)
    keys = sorted(tags)
    # 0 for an absent tag.
    codes = [tags[key].codes[in_time] + 1 for key in keys]
    numbers = [_numbers(tags[key]) for key in keys]
    rank = [(numbers[k] is None, int(codes[k].max(initial=-1)), -k) for k in range(len(keys))]
    first, second = [*sorted(range(len(keys)), key=lambda k: rank[k], reverse=True), -1, -1][:2]
    varying = {k for k, of in enumerate(codes) if len(of) > 0 and (of != of[0]).any()}
    # How many of the tags each row has: one without any of those that identify its source may be of several.
    present = np.array([of > 0 for of in codes], np.bool_).reshape(len(codes), len(instants))
    count = present.sum(axis=0)
    found: dict[str, tuple[TagChanges, ...]] = {}
    for i, others in enumerate(other_sources(codes)):
        rest = [*range(i), *range(i + 1, len(keys))]
        named_by_others = count > present[i] if rest else np.ones(len(others), np.bool_)
        sources = [(rest, others, named_by_others)]
        if len(rest) > 1:
            id_ = first if first != i else second
            sources.append(([id_], codes[id_], present[id_]))
        # Only of the tags that change, and for each other tag once.
        beside = functools.cache(lambda k, tag=codes[i]: shared(tag, codes[k]))
        seen = []
        for by, of, named in sources:
            chosen = slice(None) if named.all() else named
            one = changes_of(
                codes[i][chosen],
                of[chosen],
                instants[chosen],
                numbers[i],
                by=tuple(map(keys.__getitem__, by)),
                measured=source,
            )
            if one.changing:
                one = replace(one, shared=min((beside(k) for k in by if k in varying), default=0))
            seen.append(one)
        found[keys[i]] = tuple(seen)
    return found


def _numbers(column: ReadColumn) -> Numbers | None:
    """Its values as numbers, after NaN for an absent tag, which is for each that is no number; None if none is."""
    numbers = np.array([np.nan, *map(as_number, column.texts.to_pylist())])
    return None if np.isnan(numbers).all() else numbers


def numbers_of(column: ReadColumn) -> npt.NDArray[np.int64]:
    """The values of a column of integers, without null."""
    values = column.values.drop_null() if column.values.null_count else column.values
    found: npt.NDArray[np.int64] = values.to_numpy()
    return found


def texts_of(column: ReadColumn, rows: npt.NDArray[np.intp]) -> list[str | None]:
    """The values of some rows as strings."""
    texts: list[str | None] = [*column.texts.to_pylist(), None]
    return [texts[code] for code in column.codes[rows].tolist()]


def filled_in(
    field: Field,
    column: ReadColumn,
    series: RowGroups,
    source: Source,
    tags: Mapping[str, ReadColumn],
    numbers: Mapping[str, ReadColumn],
) -> Field:
    """The field with what its column shows without the time, from at least one row; a share of nulls from another
    source is kept.

    `series`: the rows by series. `tags`: columns that may say the same, or which values are numbers. `numbers`: columns
    that may hold what texts say.
    """
    whole = _whole_ratio(column) if any(is_float(t) for t in field.types) else None
    share = column.number_share if column.filled and all(is_text(t) for t in field.types) else None
    number_ratio = None if share is None else Ratio(share, source)
    constant = series.constant_ratio(column.codes)
    return Field(
        key=field.key,
        types=field.types,
        null_ratio=field.null_ratio or Ratio((len(column) - column.filled) / len(column), source),
        distinct=Count(len(column.distinct), source),
        sample=some_values(column),
        constant_ratio=None if constant is None else Ratio(constant, source),
        whole_ratio=None if whole is None else Ratio(whole, source),
        number_ratio=number_ratio,
        role_reason=field.role_reason,
        numbers_by=numbers_by(number_ratio, column, tags),
        texts=_texts_among_numbers(field, column, tags),
        also_in=also_in(field.key, number_ratio, column, numbers),
        same_tag=same_tag(field.key, column, tags),
    )


def row_patterns(
    tags: Mapping[str, ReadColumn],
    fields: Mapping[str, ReadColumn],
    times: ReadColumn | None,
    series: Codes,
    source: Source,
) -> RowPatterns:
    """Which of the columns are filled together. Without `times`, rows are in the order in which they were read."""
    # A tag and a field with the same name, which InfluxDB allows, are treated as one column.
    found = column_groups.patterns({key: column.known for key, column in {**tags, **fields}.items()})
    order = np.arange(len(series)) if times is None else times.ranks
    pairs, complementary = column_groups.complementary(series, order, [column.known for column in fields.values()])
    most = tuple(RowPattern(tuple(sorted(columns)), rows) for columns, rows in found[:MAX_PATTERNS])
    return RowPatterns(most, len(series), pairs, complementary, source)


def is_float(data_type: str) -> bool:
    """Whether the engine's type name is a floating-point type."""
    return data_type.upper().split("(")[0].split(" ")[0] in {"FLOAT", "DOUBLE", "REAL", "FLOAT4", "FLOAT8", "FLOAT64"}


def some_values(column: ReadColumn) -> tuple[str, ...]:
    """Up to SAMPLE_SIZE distinct values as strings, sorted: mostly the same ones on the next day."""
    if pa.types.is_floating(column.type):
        # Only these are made strings, which takes longer than all else that is done with numbers.
        return tuple(sorted(_sampled_numbers(column.distinct).cast(pa.string()).to_pylist()))
    texts = column.texts if pa.types.is_string(column.type) else pc.unique(column.texts)
    # Many tables of a target contain the same values, and the profile keeps the samples of all of them.
    return tuple(sorted({sys.intern(text[:TEXT_KEPT]) for text in _sampled(texts)}))


def some_texts(texts: Iterable[str]) -> tuple[str, ...]:
    """Up to SAMPLE_SIZE of the distinct strings, sorted: mostly the same ones if a few strings are others.

    Includes the first and the last, because what stands for no value, such as `-`, often sorts there.
    """
    return _sampled(pa.array(list(texts), pa.string()))


def _sampled(texts: pa.StringArray) -> tuple[str, ...]:
    if len(texts) <= SAMPLE_SIZE:
        return tuple(sorted(texts.to_pylist()))
    ends = pc.min_max(texts).as_py()
    return (ends["min"], *sample(texts, SAMPLE_SIZE - 2, (ends["min"], ends["max"])), ends["max"])


def _sampled_numbers(values: pa.Array) -> pa.Array:
    """Those with the lowest hashes, the lowest, and the highest one."""
    if len(values) <= SAMPLE_SIZE:
        return values
    numbers = values.to_numpy()
    chosen = np.zeros(len(numbers), np.bool_)
    by_hash = np.argpartition(mixed(numbers.astype(np.float64).view(np.uint64)), SAMPLE_SIZE - 3)
    chosen[by_hash[: SAMPLE_SIZE - 2]] = True
    chosen[[numbers.argmin(), numbers.argmax()]] = True
    return pa.array(numbers[chosen])


_SAME_ROWS: Final = 20
_SAME_SHARE: Final = 0.95
_MOST_NUMBERS: Final = 0.5
_ROUNDED: Final = 1e-3
"""How far a converted number may be off, as a share of the range."""


def also_in(key: str, number_ratio: Ratio | None, column: ReadColumn, numbers: Mapping[str, ReadColumn]) -> str:
    """The column of numbers that holds what the texts say; empty if none. If they are called raw, in any unit: by one
    factor and one offset for all rows.
    """
    if number_ratio is None or number_ratio.value < _MOST_NUMBERS:
        return ""
    said = _floats(column)
    for name, other in numbers.items():
        known = _floats(other)
        both = np.isfinite(said) & np.isfinite(known)
        if both.sum() < max(_SAME_ROWS, _SAME_SHARE * np.isfinite(said).sum()):
            continue
        x, y = said[both], known[both]
        if np.ptp(x) > 0 and np.ptp(y) > 0:
            factor, offset = np.polyfit(x, y, 1) if "raw" in words_of(key) else (1.0, 0.0)
            if np.abs(factor * x + offset - y).max() <= _ROUNDED * np.ptp(y):
                return name
    return ""


def same_tag(key: str, field: ReadColumn, tags: Mapping[str, ReadColumn]) -> str:
    """The tag that has the same value as the field, as text or as a number, in every row read; empty if there is none.
    A tag without a value is absent, so the field is then absent, too, or empty, or 0. The tag with the same name comes
    first; where it is absent, the field may have a value that the tag never has: a condition on the name finds all.
    """
    own = [key] if key in tags else []
    # The field may also be empty.
    alike = [name for name, tag in tags.items() if name != key and 0 <= len(field.distinct) - len(tag.distinct) <= 1]
    return next((name for name in own + alike if _is_same(field, tags[name], is_own=name == key)), "")


def _is_same(field: ReadColumn, tag: ReadColumn, *, is_own: bool) -> bool:
    if not (field.known & tag.known).any():
        return False
    # -1, the last one, for none.
    (of_field, of_tag) = ([*map(_plain, column.texts.to_pylist()), None] for column in (field, tag))
    width = len(of_tag)
    pairs = np.unique(field.codes.astype(np.int64) % len(of_field) * width + tag.codes % width)
    return all(
        of_field[a] == of_tag[b]
        or (of_tag[b] is None and (of_field[a] in _EMPTY or (is_own and of_field[a] not in of_tag)))
        for a, b in (divmod(pair, width) for pair in pairs.tolist())
    )


_EMPTY: Final = ("", 0.0)


def as_number(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return np.nan


def _plain(text: str) -> str | float:
    return text if math.isnan(number := as_number(text)) else number


def _floats(column: ReadColumn) -> npt.NDArray[np.float64]:
    """NaN for what is no number."""
    is_number = pc.match_substring_regex(column.texts, NUMBER)
    trimmed = pc.utf8_trim_whitespace(pc.if_else(is_number, column.texts, None))
    of_values = trimmed.cast(pa.float64()).to_numpy(zero_copy_only=False)
    found: npt.NDArray[np.float64] = np.append(of_values, np.nan)[column.codes]
    return found


def numbers_by(number_ratio: Ratio | None, column: ReadColumn, tags: Mapping[str, ReadColumn]) -> NumbersBy | None:
    """The tag that separates the numbers in a text field from its texts."""
    if number_ratio is None or not 0.0 < number_ratio.value < 1.0 or len(tags) < 2:
        return None
    return _split_by(pc.match_substring_regex(column.texts, NUMBER).to_numpy(zero_copy_only=False), column, tags)


_ANY_NUMBER: Final = r"(?i)^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$|^-?inf$|^nan$"
"""Any number as text, however long."""


def _texts_among_numbers(field: Field, column: ReadColumn, tags: Mapping[str, ReadColumn]) -> TextsAmongNumbers | None:
    """The texts in a column of numbers. What is a number as text, the engine stores as a number."""
    if not (column.filled and pa.types.is_string(column.type) and all(map(is_number, field.types))):
        return None
    are_numbers = pc.match_substring_regex(column.texts, _ANY_NUMBER).to_numpy(zero_copy_only=False)
    rows = np.where(are_numbers, 0, column.rows)
    if not rows.any():
        return None
    example = column.texts[int(rows.argmax())].as_py()[:TEXT_KEPT]
    by = _split_by(are_numbers, column, tags) if len(tags) > 1 else None
    return TextsAmongNumbers(int(rows.sum()), column.filled, example, by)


def _split_by(is_number: npt.NDArray[np.bool_], column: ReadColumn, tags: Mapping[str, ReadColumn]) -> NumbersBy | None:
    """The tag that separates numbers from texts. `is_number`: of each text of the column."""
    of_rows = np.append(is_number, False)[column.codes]
    found = split_by({key: tag.codes for key, tag in tags.items()}, of_rows, column.known)
    if found is None:
        return None
    of_code = dict(enumerate(tags[found.tag].texts.to_pylist()))
    return NumbersBy(
        found.tag,
        tuple(sorted(of_code[code][:TEXT_KEPT] for code in found.numbers)),
        tuple(sorted(of_code[code][:TEXT_KEPT] for code in found.others)),
    )


def _whole_ratio(column: ReadColumn) -> float | None:
    """The share of values that are integers; None without values."""
    if not column.filled:
        return None
    if not pa.types.is_floating(column.type):
        return 1.0 if pa.types.is_integer(column.type) else None
    values = column.distinct.to_numpy(zero_copy_only=False)
    is_whole = values == np.floor(values)
    # The rows are only counted where some values are whole, and others are not.
    return int(column.rows[is_whole].sum()) / column.filled if is_whole.any() else 0.0
