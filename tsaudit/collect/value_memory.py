"""Compares a listing with the value sets of earlier days, and updates the sets with it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Protocol

from tsaudit.collect.draft import Draft, Found
from tsaudit.model.profile import FOREVER, Arrivals, Database, How, Tag, Window, utc_now
from tsaudit.model.subject import Subject
from tsaudit.model.timeline import SAME_DAY

if TYPE_CHECKING:
    from tsaudit.analysis.cardinality.tag_sets import TagSetCounter
    from tsaudit.analysis.values.value_sets import ValueSet


class ValueMemory(Protocol):
    """The value sets of one target: for each tag, and for the series of each measurement (a subject without column).

    Several threads may use it for different measurements.
    """

    def of(self, subject: Subject) -> ValueSet:
        """The set before the audited day; empty if there is none."""

    def keep(self, subject: Subject, after: ValueSet) -> None:
        """Store the set that includes the audited day's values and builds on the result of `of`."""


@dataclass(frozen=True, slots=True)
class OverTime(Found):
    """What a listing and those of earlier days show together."""

    arrivals: Arrivals
    tags: tuple[Tag, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a complete listing of a measurement is compared with."""

    memory: ValueMemory
    day: date
    window: Window
    databases: Mapping[str, Database]

    def compare(self, draft: Draft, counter: TagSetCounter) -> Found:
        """The draft's arrivals, and its tags' values over time.

        A sampled listing is not compared. Neither is an index's listing of the present when a past day is audited: its
        values would be mistaken for old ones.
        """
        from tsaudit.analysis.cardinality import arrivals
        from tsaudit.analysis.cardinality.hashed_tag_sets import series_hashes

        if draft.series is None or draft.series.source.how is not How.EXACT:
            return Found()
        is_bounded = not draft.is_indexed and draft.time is not None
        if not is_bounded and utc_now() - self.window.end > SAME_DAY:
            return Found()
        listing_days = self._listing_days(draft)
        tags, subject = counter.hashed(), Subject(draft.database, draft.name)
        hashes, before = series_hashes(tags, counter.series.value), self.memory.of(subject)
        after = before.observe_hashes(hashes, self.day)
        self.memory.keep(subject, after)
        new_series = arrivals.new_series(before, after, hashes)
        watched_until, began = new_series.before, new_series.began
        filled_in = []
        for tag in draft.tags:
            of_tag = dataclasses.replace(subject, column=tag.key)
            before = self.memory.of(of_tag)
            if watched_until and not len(before.days):
                # Earlier listings had no such tag, so its values are new and not just unknown.
                before = before.observe((), watched_until)
            after = before.observe_hashes(tags[tag.key].hashes, self.day)
            self.memory.keep(of_tag, after)
            over_time = arrivals.new_values(before, after, tags[tag.key], began, listing_days)
            filled_in.append(dataclasses.replace(tag, over_time=over_time))
        return OverTime(new_series, tuple(filled_in))

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
