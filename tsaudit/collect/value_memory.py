"""Compares a listing with the value sets of earlier days, and updates the sets with it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final, Protocol

from tsaudit.collect.draft import Draft
from tsaudit.model.profile import FOREVER, Database, How, Window, utc_now
from tsaudit.model.subject import Subject
from tsaudit.model.timeline import SAME_DAY

if TYPE_CHECKING:
    from tsaudit.analysis.cardinality.tag_sets import TagSetCounter
    from tsaudit.analysis.values.value_sets import ValueSet

_TOGETHER: Final = 10_000
"""Most values of a tag whose set is read together with others: several large ones would take much memory at once."""


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

    def compare(self, draft: Draft, counter: TagSetCounter) -> Draft:
        """The draft with its arrivals, and its tags' values over time.

        A sampled listing is not compared. Neither is an index's listing of the present when a past day is audited: its
        values would be mistaken for old ones.
        """
        from tsaudit.analysis.cardinality import arrivals
        from tsaudit.analysis.cardinality.hashed_tag_sets import series_digests
        from tsaudit.analysis.cardinality.series_ages import with_ages
        from tsaudit.analysis.values.value_hashes import truncated

        if draft.measurement.series is None or draft.measurement.series.source.how is not How.EXACT:
            return draft
        is_bounded = not draft.is_indexed and draft.time is not None
        if not is_bounded and utc_now() - self.window.end > SAME_DAY:
            return draft
        listing_days = self._listing_days(draft)
        tags, subject = counter.hashed(), Subject(draft.database, draft.name)
        of_tags = [dataclasses.replace(subject, column=tag.key) for tag in draft.tags]
        sizes = [counter.series.value, *(len(tags[tag.key].hashes) for tag in draft.tags)]
        self.memory.expect([one for one, size in zip([subject, *of_tags], sizes, strict=True) if size <= _TOGETHER])
        digests, before = series_digests(tags, counter.series.value), self.memory.of(subject)
        hashes = truncated(digests)
        after = before.observe_hashes(hashes, self.day)
        self.memory.keep(subject, after)
        began, seen = arrivals.date_of(after.days[0]), {}
        for tag, of_tag in zip(draft.tags, of_tags, strict=True):
            listed = tags[tag.key]
            earlier = self.memory.of(of_tag)
            if len(before.days) and not len(earlier.days):
                # Earlier listings had no such tag, so its values are new and not just unknown.
                earlier = earlier.observe((), arrivals.date_of(before.days[-1]))
            values = earlier.observe_hashes(listed.hashes, self.day)
            self.memory.keep(of_tag, values)
            aged = arrivals.SeenTag(listed, values.first_days(listed.hashes), values.exact)
            seen[tag.key] = aged, arrivals.new_values(earlier, values, aged, began, listing_days)
        new_series = arrivals.new_series(before, after, hashes, [aged for aged, _ in seen.values()])
        over_time = with_ages(new_series, after, digests, hashes, seen)
        aged_tags = tuple(dataclasses.replace(tag, over_time=over_time[tag.key]) for tag in draft.tags)
        known = dataclasses.replace(draft.measurement, arrivals=new_series, tags=aged_tags)
        return dataclasses.replace(draft, measurement=known)

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
