"""Finds when a column was last filled that the newest rows, or those of some sources, lack."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

import numpy as np
import numpy.typing as npt

from tsaudit.analysis.rows.over_time import Mask
from tsaudit.analysis.shapes.shapes import redact_unless_name
from tsaudit.analysis.significance import ALIKE, ENOUGH, NEARLY_ALL
from tsaudit.collect.draft import Draft, ReadColumn
from tsaudit.collect.query_runner import QueryRunner
from tsaudit.collect.reading import EARLIEST, finds_ranges, may_scan, more_rows, sampled
from tsaudit.collect.row_figures import ROWS_BEFORE, begins, ended, numbers_of
from tsaudit.model.columns import Field, FieldEnd, PartOfRows
from tsaudit.model.figures import How, Role, Window

_MOST_LOOKED_BACK: Final = 8
"""Columns of one table for each of which more queries are sent: two, or a few in a table too big to look for the end,
and up to 20 if it is new.
"""
_MOST_COLUMNS: Final = 50
"""Columns of older rows that are read at once."""
_MOSTLY: Final = 0.5
"""Share of the rows from which on most have a field."""
_US: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class _Part:
    """The rows with one value of a tag, and which of them have a field."""

    rows: int
    filled: int
    last_us: int
    """Time of the newest row that has it."""
    after: int
    """Number of rows after that."""


@dataclass(frozen=True, slots=True)
class _Rows:
    """Some rows: their times in microseconds, which fields they have, and their tags."""

    at: npt.NDArray[np.int64]
    has: Mapping[str, Mask]
    tags: Mapping[str, ReadColumn]
    _known: dict[tuple[str, str], dict[str, _Part]] = field(default_factory=dict)

    @property
    def newest(self) -> datetime:
        """The time of the newest row."""
        return EARLIEST + int(self.at.max()) * _US

    @classmethod
    def of(cls, draft: Draft, keys: Iterable[str], tags: Iterable[str], some: Mask) -> _Rows:
        """Some of the rows read, all of which have times."""
        at = draft.read_times()[1].where(some).values.to_numpy()
        has = {key: draft.read(Role.FIELD, key).known[some] for key in keys}
        return cls(at, has, {tag: draft.read(Role.TAG, tag).where(some) for tag in tags})

    def parts(self, tag: str, key: str) -> dict[str, _Part]:
        """By value of the tag, those that some of the rows have."""
        if (tag, key) not in self._known:
            self._known[tag, key] = self._counted(tag, key)
        return self._known[tag, key]

    def _counted(self, tag: str, key: str) -> dict[str, _Part]:
        of, has, values = self.tags[tag].codes_of_words + 1, self.has[key], self.tags[tag].texts.to_pylist()
        # The first place is that of rows without a value.
        last = np.full(len(values) + 1, -1, np.int64)
        np.maximum.at(last, of[has], self.at[has])
        counted = np.ones(len(of), np.bool_), has, self.at > last[of]
        rows, filled, after = (np.bincount(of[some], minlength=len(last))[1:].tolist() for some in counted)
        found = zip(values, rows, filled, last[1:].tolist(), after, strict=True)
        return {value: _Part(*figures) for value, *figures in found if figures[0]}

    def share(self, key: str, tag: str, values: Sequence[str]) -> float:
        """Of the rows with these values that have the field; 0 without rows."""
        of_these = self._are(tag, values)
        return float(self.has[key][of_these].mean()) if of_these.any() else 0.0

    def values_within(self, other: str, key: str, tag: str, values: Sequence[str], *, filled: bool) -> set[str]:
        """Values of the other tag in the rows with these values of the tag that have the field, or that lack it."""
        some = self._are(tag, values) & (self.has[key] == filled)
        return set(self.tags[other].where(some).texts.to_pylist())

    def _are(self, tag: str, values: Sequence[str]) -> Mask:
        some = set(values)
        codes = [code for code, text in enumerate(self.tags[tag].texts.to_pylist()) if text in some]
        found: Mask = np.isin(self.tags[tag].codes_of_words, codes)
        return found


def _rows_until(
    runner: QueryRunner,
    draft: Draft,
    until: datetime,
    limit: int,
    keys: Sequence[str],
    tags: Sequence[str] = (),
    *,
    filled: bool = False,
) -> _Rows | None:
    """The newest rows up to a time, with these fields and tags; None if they could not be read. `filled`: only rows
    that have the first field.
    """
    assert draft.time is not None
    window = draft.window(runner.window)
    # Where fields are stored separately, rows without any of those asked for are not found.
    needed = _covering(draft) if runner.engine.has_series_index and not filled else ()
    keys = list(dict.fromkeys((*keys, *needed)))
    wanted = [name for name in draft.about(window)["tags"] if name in tags]
    series = draft.some_series[: draft.sampled_series]
    query = sampled(draft, Window(window.start, until), [draft.time.name, *keys, *wanted], limit, series=series)
    query = replace(query, fields=keys, tags=wanted, filled=keys[0] if filled else None)
    read = more_rows(runner, draft, query)
    if read is None:
        return None
    older = replace(draft, sample=read)
    return _Rows.of(older, keys, tags, older.read_times()[1].known)


def _covering(draft: Draft) -> Iterator[str]:
    """Fields of which each row read has one, fullest first."""
    left = {one.key: draft.read(Role.FIELD, one.key).known for one in draft.fields}
    while left:
        key = max(left, key=lambda one: left[one].sum())
        covered = left.pop(key)
        if not covered.any():
            return
        yield key
        left = {other: has & ~covered for other, has in left.items()}


def with_ends(runner: QueryRunner, draft: Draft, fields: list[Field]) -> list[Field]:
    """The fields, with the ends of those that the newest rows lack, or the newest ones of some sources. Where older
    rows cannot be read, or only by scans of a big table, an end that the previous audit saw is kept as long as the
    newest rows are without the field.
    """
    if draft.read_times()[1].filled < ENOUGH:
        return fields
    if not draft.partial_scan or draft.partial_scan.newest:
        fields = _looked_back(runner, draft, fields)
    if not draft.partial_scan and finds_ranges(runner, draft):
        fields = _ends_of_parts(runner, draft, fields)
    return [_with_known_end(runner, draft, one) for one in fields]


def _with_known_end(runner: QueryRunner, draft: Draft, of: Field) -> Field:
    """The field, with the end that the previous audit saw, if nothing shows that it is over."""
    before, times = _previous(draft, of.key), draft.read_times()[1]
    end = before.end if before else None
    is_empty = of.null_ratio is not None and of.null_ratio.value == 1 and of.null_ratio.source.how is How.EXACT
    if end is None or end.erased or of.end or is_empty or end.time < draft.window(runner.window).start:
        return of
    # Of some sources, the profile has examples only.
    if end.of or of.idle_hours is not None:
        return of
    newest = EARLIEST + int(numbers_of(times).max()) * _US
    end = replace(end, rows_after=times.filled)
    return replace(of, idle_hours=(newest - end.time) / timedelta(hours=1), end=end)


def _previous(draft: Draft, key: str) -> Field | None:
    """The field in the previous profile; None if it was not in it."""
    return next((one for one in draft.previous.fields if one.key == key), None) if draft.previous else None


def _known_end(draft: Draft, key: str) -> FieldEnd | None:
    """The end of the field in all rows that the previous audit saw."""
    before = _previous(draft, key)
    return before.end if before and before.end and not before.end.of and not before.end.erased else None


def _last_seen(draft: Draft, key: str) -> datetime | None:
    """When the field was last filled as far as the previous audit knew; None if it did not see it filled."""
    before, end = _previous(draft, key), _known_end(draft, key)
    if end or before is None or before.idle_hours is None or draft.previous is None or draft.previous.last_time is None:
        return end.time if end else None
    return draft.previous.last_time - timedelta(hours=before.idle_hours)


def _looked_back(runner: QueryRunner, draft: Draft, fields: list[Field]) -> list[Field]:
    """The fields, those that none of the rows read has with what older rows have; until a statement fails."""
    unread, found = _not_read(runner, draft, fields), dict[str, Field]()
    for one in unread:
        known = _before_rows_read(runner, draft, one, fields)
        if known is None:
            break
        found[one.key] = known
    return [found.get(one.key, one) for one in fields]


def _not_read(runner: QueryRunner, draft: Draft, fields: Sequence[Field]) -> list[Field]:
    """The fields that some rows of the window have, or may have because the previous audit saw them, but none of those
    read, and for which it is worth reading older rows, fullest first.
    """
    filled = {f.key for f in fields if f.null_ratio is not None and f.null_ratio.value < 1}
    if draft.partial_scan:
        # Without statistics, its share is that of the rows read.
        filled = {f.key for f in fields}
    if runner.engine.has_series_index and not draft.is_read_whole and not draft.sampled_since:
        # An index lists fields of older rows, too, and does not count them.
        filled = {f.key for f in draft.previous.fields if f.idle_hours is not None} if draft.previous else set()
    some = [f for f in fields if f.idle_hours is None and f.key in filled and _is_worth_reading(runner, draft, f)]
    return sorted(some, key=lambda f: (f.null_ratio.value if f.null_ratio else 1.0, f.key))[:_MOST_LOOKED_BACK]


def _is_worth_reading(runner: QueryRunner, draft: Draft, one: Field) -> bool:
    """Whether older rows are found in little time, or most of them are known to have the field: then it ended, which is
    worth a scan.
    """
    if not draft.partial_scan and finds_ranges(runner, draft):
        return True
    before = _previous(draft, one.key)
    end = before.end if before else None
    was_filled = before is not None and before.idle_hours is not None and (not end or end.filled_before > _MOSTLY)
    is_filled = one.null_ratio is not None and one.null_ratio.value < _MOSTLY
    # Without an index, rows outside of the window are read, too.
    rows = max(draft.estimated_rows or 0, draft.measurement.rows_known)
    return (was_filled or is_filled) and (bool(draft.partial_scan) or may_scan(runner, rows))


def _before_rows_read(runner: QueryRunner, draft: Draft, of: Field, fields: Sequence[Field]) -> Field | None:
    """The field, with what older rows have; None if a statement failed."""
    window, times_us = draft.window(runner.window), draft.read_times()[1]
    filled = _newest_filled(runner, draft, of.key)
    if filled is None:
        return None
    if not len(filled.at):
        return of
    last, newest = filled.newest, int(numbers_of(times_us).max())
    if draft.partial_scan:
        # It is up to an hour too early: another one of the next audit would look like another end.
        known = _known_end(draft, of.key)
        hour = last.replace(minute=0, second=0, microsecond=0)
        last = known.time if known and abs(last - known.time) < _SAME else hour
    last_us = (last - EARLIEST) // _US
    others = [other.key for other in fields if _takes_over(of, other)][:_MOST_COLUMNS]
    until = min(filled.newest + timedelta(milliseconds=1), window.end)
    before = _rows_until(runner, draft, until, ROWS_BEFORE, [of.key, *others])
    if before is None:
        return None
    end = ended(last_us, times_us.filled, before.has[of.key])
    if end is not None:
        now = {key: float(draft.read(Role.FIELD, key).known.mean()) for key in others}
        begun = (key for key in others if begins(end, float(before.has[key].mean()), now[key]))
        end = replace(end, begun=tuple(begun))
    return replace(of, idle_hours=(newest - last_us) / (3600 * 1_000_000), end=end)


def _newest_filled(runner: QueryRunner, draft: Draft, key: str) -> _Rows | None:
    """The newest row with the field, or, in a table too big to look for it, some of the last hour before its end; empty
    if there is none, or if there neither rows of the time at which the previous audit saw it have it nor, if it saw
    none, the oldest ones of the window; None if a statement failed.
    """
    window = draft.window(runner.window)
    if not draft.partial_scan:
        return _rows_until(runner, draft, window.end, 1, [key], filled=True)
    high, low = EARLIEST + int(numbers_of(draft.read_times()[1]).min()) * _US, window.start
    found, ago, seen = _Rows(np.empty(0, np.int64), {}, {}), _EXACT, _last_seen(draft, key)
    if seen is None or seen < window.start:
        oldest = max(window.start, draft.measurement.first_time or EARLIEST)
        asked = [oldest + _EXACT]
    else:
        asked = [seen + timedelta(milliseconds=1), seen + _SAME]
    first = asked[0]
    while high - low > _EXACT:
        place = asked.pop(0) if asked else high - min(ago, (high - low) / 2)
        if place >= high:
            continue
        rows = _rows_until(runner, draft, place, ENOUGH, [key])
        if rows is None:
            return None
        if rows.has[key].any():
            low, found = place, _Rows(rows.at[rows.has[key]], {}, {})
        elif place == first and len(rows.at):
            return found
        else:
            # An index finds few rows of any time: the newest first, because most ends are new.
            high, ago = place, ago * 2
    return found


def _takes_over(one: Field, other: Field) -> bool:
    """Whether the rows that have one of the two are about all."""
    if one.null_ratio is None or other.null_ratio is None:
        return False
    return abs(one.null_ratio.value + other.null_ratio.value - 1) <= 1 - NEARLY_ALL


_LEAST: Final = 0.05
"""Share of the rows of the last day that the sources have that lost a column: a broken sensor is fewer."""
_ROWS_EACH: Final = 2_000
_MOST_ROWS: Final = 10_000
_MOST_READ: Final = 40
"""Places of older rows that are read: if sources changed one by one, the times of some are less exact."""
_PLACES: Final = 8
"""Parts of the time before the end that show whether the field comes and goes: in a month, less than a week each."""
_EXACT: Final = timedelta(hours=1)
_SAME: Final = timedelta(hours=2)
"""Ends that are found to the hour and less apart are one."""
_DAY: Final = timedelta(days=1)
_EXAMPLES: Final = 5


@dataclass(slots=True)
class _Older:
    """The rows up to some times, with these fields and all tags, each read once."""

    runner: QueryRunner
    draft: Draft
    keys: Sequence[str]
    limit: int
    known: dict[datetime, _Rows] = field(default_factory=dict)
    """What was read so far, by the time up to which it is."""
    left: int = _MOST_READ
    """How many more may be read: 0 after a statement failed."""

    def at(self, until: datetime) -> _Rows | None:
        """None if they could not be read, if enough was read, or after a statement failed."""
        if until not in self.known and self.left:
            tags = [tag.key for tag in self.draft.tags]
            found = _rows_until(self.runner, self.draft, until, self.limit, self.keys, tags)
            self.left = 0 if found is None else self.left - 1
            if found is not None:
                self.known[until] = found
        return self.known.get(until)


def _ends_of_parts(runner: QueryRunner, draft: Draft, fields: list[Field]) -> list[Field]:
    """The fields, those that the rows with some values of a tag do not have anymore with when that was: others go on,
    so their share of nulls rises by little. Nothing more is read unless none of the last day's rows with these values
    has a field that others have.
    """
    if draft.sampled_since or not draft.read_times()[1].known.all():
        return fields
    late = _of_last_day(draft, [one.key for one in fields if one.end is None])
    empty = {key: by_tag for key in late.has if (by_tag := dict(_empty_parts(late, key)))}
    if not empty:
        return fields
    keys = list(dict.fromkeys((*empty, *(other for key in empty for other in _seldom_beside(late, key)))))
    most = max(len(values) for by_tag in empty.values() for values in by_tag.values())
    older = _Older(runner, draft, keys, min(max(_ROWS_EACH, 2 * ALIKE * most), _MOST_ROWS))
    # The oldest row read may not be the first one.
    first = draft.measurement.first_time if draft.is_read_whole or not runner.engine.has_series_index else None
    start = max(draft.window(runner.window).start, first or EARLIEST)
    early = _earliest(older, empty, start + _DAY, late.newest - _DAY)
    if early is None:
        return fields
    ends = {key: _end_of(older, late, key, by_tag, early) for key, by_tag in empty.items()}
    return [replace(one, end=ends.get(one.key) or one.end) for one in fields]


def _of_last_day(draft: Draft, keys: Sequence[str]) -> _Rows:
    """The rows read of the last day, with those of the fields that a part of them has."""
    at = draft.read_times()[1].values.to_numpy()
    late = _Rows.of(draft, keys, [tag.key for tag in draft.tags], at > at.max() - _DAY // _US)
    some = (key for key, has in late.has.items() if has.any() and not has.all())
    most = sorted(some, key=lambda key: (-late.has[key].sum(), key))[:_MOST_COLUMNS]
    return replace(late, has={key: late.has[key] for key in most})


def _empty_parts(late: _Rows, key: str) -> Iterator[tuple[str, dict[str, int]]]:
    """For each tag, the values of enough rows of which none has the field, with the number of these rows."""
    for tag in late.tags:
        parts = late.parts(tag, key)
        empty = {value: part.rows for value, part in parts.items() if part.rows >= ALIKE and not part.filled}
        if len(empty) < len(parts) and sum(empty.values()) >= max(ENOUGH, _LEAST * len(late.at)):
            yield tag, empty


def _seldom_beside(late: _Rows, key: str) -> list[str]:
    """The fields that hardly any row with the field has: those that may begin where it ends."""
    return [other for other, of in late.has.items() if of[late.has[key]].mean() <= 1 - NEARLY_ALL]


def _earliest(
    older: _Older, empty: Mapping[str, Mapping[str, Mapping[str, int]]], first: datetime, late: datetime
) -> datetime | None:
    """The earliest of a few places where rows have one of these values; None if there is none, or reading fails."""
    ago = late - first
    while ago >= _DAY / 2:
        rows = older.at(late - ago)
        if rows is None:
            return None
        for key, by_tag in empty.items():
            if any(values.keys() & rows.parts(tag, key).keys() for tag, values in by_tag.items()):
                return late - ago
        ago /= 2
    return None


def _end_of(
    older: _Older, late: _Rows, key: str, empty: Mapping[str, Mapping[str, int]], early: datetime
) -> FieldEnd | None:
    """The end of the field after a time, for the values of one tag; None if few rows have such values. `empty`: of each
    tag, as from `_empty_parts`.
    """
    tag, had = _that_had(older.known[early], key, empty)
    ends = _ends_for_good(older, key, tag, had, early, late.newest)
    over = sorted(ends, key=lambda value: (ends[value], value))
    rows_after = sum(empty[tag][value] for value in over)
    if rows_after < max(ENOUGH, _LEAST * len(late.at)):
        return None
    first, last = ends[over[0]], ends[over[-1]]
    read = [rows for until, rows in older.known.items() if until <= first]
    parts = [part for rows in read for value, part in rows.parts(tag, key).items() if value in ends]
    rows_before, filled = sum(part.rows for part in parts), sum(part.filled for part in parts)
    if rows_before < ALIKE:
        return None
    # Of redacted ones, several may be the same.
    names = tuple(dict.fromkeys(redact_unless_name(value) for value in over[:_EXAMPLES]))
    known = sum(part.rows >= ALIKE for part in late.parts(tag, key).values())
    sources = max(_that_lost(read, late, key, tag, over, other) for other in late.tags)
    of = PartOfRows(tag, names, len(over), known, first, sources)
    end = FieldEnd(last, rows_after, rows_before, filled / rows_before, of=of)
    before = {other: max(rows.share(other, tag, over) for rows in read) for other in _seldom_beside(late, key)}
    begun = (other for other in before if begins(end, before[other], late.share(other, tag, over)))
    return replace(end, begun=tuple(begun))


def _that_had(before: _Rows, key: str, empty: Mapping[str, Mapping[str, int]]) -> tuple[str, list[str]]:
    """The tag whose values that had the field before have most rows, and these values; of several tags, the one with
    the fewest of them.
    """
    had = {
        tag: [v for v, part in before.parts(tag, key).items() if v in values and 2 * part.filled > part.rows]
        for tag, values in empty.items()
    }
    tag = max(had, key=lambda one: (sum(empty[one][value] for value in had[one]), -len(had[one]), one))
    return tag, had[tag]


def _ends_for_good(
    older: _Older, key: str, tag: str, values: Sequence[str], early: datetime, newest: datetime
) -> dict[str, datetime]:
    """When each of the values last had the field, of those that lack it since for a day or more and did not before."""
    ends = {value: _last_of(older, key, tag, value, early, newest) for value in values}
    for place in range(1, _PLACES):
        older.at(early + (min(ends.values(), default=early) - early) * place / _PLACES)
    return {
        value: end
        for value, end in ends.items()
        if end <= newest - _DAY and not _comes_again(older, key, tag, value, end)
    }


def _that_lost(read: Sequence[_Rows], late: _Rows, key: str, tag: str, values: Sequence[str], other: str) -> int:
    """Number of values of the other tag of which rows with these values of the tag had the field, and now lack it. A
    source that is off may have others than before, such as the result of a request.
    """
    had = set[str]().union(*(rows.values_within(other, key, tag, values, filled=True) for rows in read))
    return len(had & late.values_within(other, key, tag, values, filled=False))


def _comes_again(older: _Older, key: str, tag: str, value: str, end: datetime) -> bool:
    """Whether at some place before its end, enough rows with the value did not have the field, either."""
    before = (rows.parts(tag, key).get(value) for until, rows in older.known.items() if until < end)
    return any(part.after >= ALIKE for part in before if part)


def _last_of(older: _Older, key: str, tag: str, value: str, low: datetime, high: datetime) -> datetime:
    """Time of the newest row with the value that has the field, as far as rows read up to these two times show."""
    while high - low > _EXACT and older.known[low].parts(tag, key)[value].after < ALIKE:
        middle = low + (high - low) / 2
        rows = older.at(middle)
        part = rows.parts(tag, key).get(value) if rows else None
        if part is None:
            break
        low, high = (middle, high) if part.filled else (low, middle)
    known = (rows.parts(tag, key).get(value) for rows in older.known.values())
    return EARLIEST + max(part.last_us for part in known if part) * _US
