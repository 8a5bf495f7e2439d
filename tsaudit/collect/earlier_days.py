"""Earlier days: figures of an unchanged measurement are reused, and listings are compared with earlier ones.

The figures of an audit depend on two things: the contents of the database when it ran, and its window. A fingerprint
covers only the contents, and only those at the time it is taken: the catalog shows the present. So figures are reused
only between audits of the present, and only if the two windows contain the same rows: none left the earlier one at its
start, and none was added at its end.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Final, Protocol

from tsaudit.analysis.alike import Alike
from tsaudit.analysis.columns.columns import TimeColumn, TimeKind
from tsaudit.analysis.significance import ENOUGH, NEARLY_ALL
from tsaudit.collect.draft import Draft
from tsaudit.model.columns import Arrivals, FieldEnd, ValuesOverTime
from tsaudit.model.figures import FOREVER, Count, How, Ratio, Reason, Subject, Window, utc_now
from tsaudit.model.profile import Database, Measurement, Profile
from tsaudit.model.server import StoredQuery
from tsaudit.model.timeline import SAME_DAY

if TYPE_CHECKING:
    from tsaudit.analysis.cardinality.tag_sets import TagSetCounter
    from tsaudit.analysis.values.value_sets import ValueSet

_QUIET: Final = timedelta(weeks=1)
_PRESENT: Final = timedelta(hours=1)
"""An audit takes time: a window that ended this recently still counts as ending now."""


def as_of(window: Window) -> datetime | None:
    """The time of the figures if a fingerprint taken now applies to them; None for a past window."""
    return window.end if utc_now() - window.end <= _PRESENT else None


def reuse(drafts: Sequence[Draft], previous: Profile | None, window: Window, max_age: timedelta) -> list[Draft]:
    """The drafts, with the previous figures of those that are unchanged and were measured completely.

    `previous`: the newest profile of an earlier day; `Draft.previous` is from it.
    """
    incomplete = {(gap.database, gap.measurement) for gap in previous.gaps} if previous else set()
    # It is not known which of a database's figures are wrong if several measurements were contradicted together.
    contradicted = {
        gap.database
        for gap in (previous.gaps if previous else ())
        if gap.reason is Reason.INCONSISTENT and gap.measurement is None
    }
    return [
        draft
        if (draft.database, draft.name) in incomplete or contradicted & {draft.database, None}
        else take_over(draft, window, max_age)
        for draft in drafts
    ]


def take_over(draft: Draft, window: Window, max_age: timedelta) -> Draft:
    """The draft with the measurement's previous figures, if they still apply and are recent enough."""
    before = draft.previous
    if draft.unreadable:
        return draft  # What nobody may read any more was not seen today.
    if before is None or not draft.measurement.fingerprint or before.fingerprint != draft.measurement.fingerprint:
        return draft
    if draft.measurement.fingerprint_as_of is None or before.fingerprint_as_of is None:
        return draft
    ages = [window.end - figure.source.as_of for figure in _figures(before)]
    if not ages or max(ages) > max_age or min(ages) < timedelta(0) or not _same_rows(draft, before, window):
        return draft
    if draft.is_indexed and _is_changing(before, window.end.date()):
        return draft
    now = draft.measurement
    known = replace(
        before,
        # The catalog was read today, whatever the rows are.
        path=now.path,
        rows_total=before.rows_total or now.rows_total,
        storage=now.storage,
        options=now.options,
        indexes=now.indexes,
        partitioning=now.partitioning,
        retention=now.retention,
        activity=now.activity,
        status=now.status,
        stored=now.stored,
    )
    # How it stores the time does not go into the profile.
    time = TimeColumn(before.time_column, TimeKind.TIMESTAMP, before.time_reason) if before.time_column else None
    return replace(draft, measurement=known, time=time, reused=True)


def _is_changing(before: Measurement, day: date) -> bool:
    """Whether a listing a day is needed: to know what kind of values its tags have, or because series came within the
    last week. As many may have come as have gone since, so that there would be as many as before.
    """
    arrivals = before.arrivals
    since = max(arrivals.began, day - _QUIET) if arrivals else day
    came = arrivals is not None and any(one.day > since for one in arrivals.series)
    return came or any(tag.over_time is not None and tag.over_time.kind == "unknown" for tag in before.tags)


def _same_rows(draft: Draft, before: Measurement, window: Window) -> bool:
    """Whether the window contains the same rows as the previous one, if the contents of the table are unchanged.

    An index of series has no window; if its rows were read, their figures keep their age.
    """
    is_within = before.own_window is not None or before.fingerprint_as_of == window.end
    if draft.is_indexed or before.time_column is None or is_within:
        return True
    if before.rows is None or before.rows.source.how is not How.EXACT or before.later_rows is not False:
        return False
    return not before.rows.value or (before.first_time is not None and before.first_time >= window.start)


_MOST_ENDED_QUERIES: Final = 100
"""A program that gives a query another name each time would otherwise make each profile larger than the last."""


def ended_queries(listed: Sequence[StoredQuery] | None, previous: Profile | None) -> tuple[StoredQuery, ...]:
    """The queries that audits of earlier days listed and this one did not, those that ended last at the end.

    `listed`: None if they could not be listed now. `previous`: the newest profile of an earlier day.
    """
    if previous is None:
        return ()
    now = {(query.database, query.name) for query in listed or ()}
    known = (*previous.ended_queries, *(previous.stored_queries or ()))
    last = {(query.database, query.name): query for query in known}
    return tuple(query for key, query in last.items() if key not in now)[-_MOST_ENDED_QUERIES:]


def with_column_ends(profile: Profile, previous: Profile | None) -> Profile:
    """The profile, with the fields that ended as its figures show: those that no row has anymore, and of tables without
    a time those that no row has that was added since an earlier audit.

    `previous`: the newest profile of an earlier day. Of tables with a time, the times of the rows show other ends.
    """
    earlier = {(m.database, m.name): m for m in previous.measurements} if previous else {}
    found = (
        _with_ends(m, then) if (then := earlier.get((m.database, m.name))) and then.time_column == m.time_column else m
        for m in profile.measurements
    )
    return replace(profile, measurements=tuple(found))


def _with_ends(now: Measurement, then: Measurement) -> Measurement:
    filled, had = now.filled_rows, then.filled_rows
    ends: dict[str, FieldEnd] = {}
    for one in then.fields:
        is_counted = one.end is not None and (one.end.erased or now.time_column is None)
        if one.end and (one.key not in filled if is_counted else now.row_patterns is None):
            # The next audit may see it again.
            ends[one.key] = replace(one.end, rows_after=0)
            continue
        known = one.end if is_counted else _present(then, had.get(one.key))
        if known and one.key in filled and (end := _of_count(now, then, known, filled[one.key])):
            ends[one.key] = end if end.begun else _with_begun(end, now, then, filled, had)
    return replace(now, fields=tuple(replace(one, end=ends.get(one.key) or one.end) for one in now.fields))


def _present(then: Measurement, filled: int | None) -> FieldEnd | None:
    """The end that a field had if it ended with that audit; None if nearly all of enough rows are not known to have had
    it. `filled`: their number.
    """
    if then.rows is None or filled is None or then.rows.value < ENOUGH or filled < NEARLY_ALL * then.rows.value:
        return None
    return FieldEnd(then.rows.source.as_of, 0, then.rows.value, filled / then.rows.value)


def _of_count(now: Measurement, then: Measurement, known: FieldEnd, filled: int) -> FieldEnd | None:
    """The end as the number of rows that have the field shows it, or None."""
    assert now.rows is not None
    if not filled and _has_rows_before(now, then, known) and (known.erased or _are_still_there(now, then)):
        return replace(known, rows_after=now.rows.value, erased=True)
    added, most = now.rows.value - known.rows_before, round(known.rows_before * known.filled_before)
    # Where far fewer have it than then, all rows may have been written again.
    is_over = now.time_column is None and added > 0 and NEARLY_ALL * most <= filled <= most
    return replace(known, rows_after=added, erased=False) if is_over else None


def _with_begun(
    end: FieldEnd, now: Measurement, then: Measurement, filled: Mapping[str, int], had: Mapping[str, int]
) -> FieldEnd:
    """The end, with the fields that begin there. `filled`, `had`: field to the number of rows that have it, and had it
    at the time of the previous audit.
    """
    from tsaudit.collect.row_figures import begins  # An audit of nothing does not need it.

    before, after = (one.rows.value if one.rows else 0 for one in (then, now))
    since, known = (after, {}) if end.erased else (after - before, had)
    if before <= 0 or since <= 0:
        return end
    shares = {key: (had.get(key, 0) / before, (count - known.get(key, 0)) / since) for key, count in filled.items()}
    return replace(end, begun=tuple(key for key, of in shares.items() if begins(end, *of)))


def _has_rows_before(now: Measurement, then: Measurement, end: FieldEnd) -> bool:
    """Whether rows are still there that had the field: without times, a table may be written again at any time."""
    if now.time_column is None:
        return True
    if now.first_time is None or then.first_time is None or then.last_time is None:
        return False
    # Where most rows have left the window since then, those that are left may be the few without it.
    return now.first_time <= (end.time if end.erased else then.first_time + (then.last_time - then.first_time) / 2)


def _are_still_there(now: Measurement, then: Measurement) -> bool:
    """Whether there are about as many rows as at the previous audit, in those columns that nearly all of them had, too:
    the rows of a queue lose their lock, or go once they are done.
    """
    assert now.rows is not None
    has, had, most = now.filled_rows, then.filled_rows, then.rows.value if then.rows else 0
    # Several columns may be emptied together.
    kept = (has[key] >= NEARLY_ALL * n for key, n in had.items() if has.get(key) and n >= NEARLY_ALL * most)
    return now.rows.value >= NEARLY_ALL * most and all(kept)


def _figures(measurement: Measurement) -> Iterator[Count | Ratio]:
    candidates: list[Count | Ratio | None] = [measurement.series, measurement.rows]
    candidates += [figure for tag in measurement.tags for figure in (tag.values, tag.absent)]
    candidates += [figure for field in measurement.fields for figure in (field.null_ratio, field.distinct)]
    yield from (figure for figure in candidates if figure is not None)


_TOGETHER: Final = 10_000
"""Most values of a tag whose set is read together with others, and of all sets that are compared with those of other
measurements: several large ones would take much memory at once.
"""


class ValueMemory(Protocol):
    """The value sets of one target: for each tag, and for the series of each measurement (a subject without column).

    Several threads may use it for different measurements.
    """

    def expect(self, subjects: Sequence[Subject]) -> None:
        """Prepare `of` for these, which may be faster together."""

    def of(self, subject: Subject) -> ValueSet:
        """The set before the audited day; empty if there is none."""

    def keep(self, subject: Subject, after: ValueSet) -> None:
        """Store the set that includes the audited day's values and builds on the result of `of`."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a complete listing of a measurement is compared with."""

    memory: ValueMemory
    day: date
    window: Window
    databases: Mapping[str, Database]
    alike: Alike = field(default_factory=Alike)
    """What was found for listings that measurements share."""

    def compare(self, draft: Draft, counter: TagSetCounter) -> Draft:
        """The draft with its arrivals, and its tags' values over time.

        A sampled listing is not compared. Neither is an index's listing of the present when a past day is audited: its
        values would be mistaken for old ones.
        """
        if draft.measurement.series is None or draft.measurement.series.source.how is not How.EXACT:
            return draft
        is_bounded = not draft.is_indexed and draft.time is not None
        if not is_bounded and utc_now() - self.window.end > SAME_DAY:
            return draft
        subject, keys = Subject(draft.database, draft.name), tuple(tag.key for tag in draft.tags)
        subjects = [subject, *(Subject(draft.database, draft.name, key) for key in keys)]
        tags, listing_days = counter.hashed(), self._listing_days(draft)
        sizes = [counter.series.value, *(len(tags[key].hashes) for key in keys)]
        together = [one for one, size in zip(subjects, sizes, strict=True) if size <= _TOGETHER]
        self.memory.expect(together)
        compared = functools.partial(self._compared, counter, keys, listing_days)
        before = [self.memory.of(one) for one in subjects] if len(together) == len(subjects) else []
        if before and sum(len(one.hashes) for one in before) <= _TOGETHER:

            def shared() -> tuple[list[ValueSet], Arrivals, dict[str, ValuesOverTime]]:
                after = list(before)
                return after, *compared(before.__getitem__, after.__setitem__)

            # Measurements of one collector mostly had the same values on earlier days, too.
            key = counter, keys, listing_days, tuple(one.content for one in before)
            after, new_series, over_time = self.alike.of(key, shared)
            for one, values in zip(subjects, after, strict=True):
                self.memory.keep(one, values)
        else:
            new_series, over_time = compared(
                lambda place: before[place] if before else self.memory.of(subjects[place]),
                lambda place, values: self.memory.keep(subjects[place], values),
            )
        aged_tags = tuple(dataclasses.replace(tag, over_time=over_time[tag.key]) for tag in draft.tags)
        known = dataclasses.replace(draft.measurement, arrivals=new_series, tags=aged_tags)
        return dataclasses.replace(draft, measurement=known)

    def _compared(
        self,
        counter: TagSetCounter,
        keys: Sequence[str],
        listing_days: int | None,
        of: Callable[[int], ValueSet],
        keep: Callable[[int, ValueSet], None],
    ) -> tuple[Arrivals, dict[str, ValuesOverTime]]:
        """What is new in the listing. `of`: the earlier set, of the series for 0, then of each tag. `keep` gets the
        sets that include the day.
        """
        from tsaudit.analysis.cardinality import arrivals
        from tsaudit.analysis.values.hashes import series_digests, truncated

        tags, before = counter.hashed(), of(0)
        digests = series_digests(tags, counter.series.value)
        hashes = truncated(digests)
        after = before.observe_hashes(hashes, self.day)
        keep(0, after)
        began, seen = arrivals.date_of(after.days[0]), {}
        for place, key in enumerate(keys, 1):
            listed, earlier = tags[key], of(place)
            if len(before.days) and not len(earlier.days):
                # Earlier listings had no such tag, so its values are new and not just unknown.
                earlier = earlier.observe((), arrivals.date_of(before.days[-1]))
            values = earlier.observe_hashes(listed.hashes, self.day)
            keep(place, values)
            aged = arrivals.SeenTag(listed, values.first_days(listed.hashes), values.exact)
            seen[key] = aged, arrivals.new_values(earlier, values, aged, began, listing_days)
        new_series = arrivals.new_series(before, after, hashes, [aged for aged, _ in seen.values()])
        return new_series, arrivals.with_ages(new_series, after, digests, hashes, seen)

    def _listing_days(self, draft: Draft) -> int | None:
        """How many days of data the listing covers; None for everything ever written."""
        if not draft.is_indexed:
            window = draft.listing_window or self.window
            return _days(window.end - window.start) if draft.time else None
        policies = self.databases[draft.database].retention or ()
        kept = [p.duration_s + (p.partition_s or 0) for p in policies if p.duration_s != FOREVER]
        # A partition is dropped as a whole, once its newest row is old enough.
        return _days(timedelta(seconds=max(kept))) if kept and len(kept) == len(policies) else None


def _days(length: timedelta) -> int:
    return max(1, math.ceil(length / timedelta(days=1)))
