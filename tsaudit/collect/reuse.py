"""Reuses the expensive facts of an unchanged measurement from the previous profile.

The figures of an audit depend on two things: the contents of the database when it ran, and its window. A fingerprint
covers only the contents, and only those at the time it is taken: the catalog shows the present. So figures are reused
only between audits of the present, and only if the two windows contain the same rows: none left the earlier one at its
start, and none was added at its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from tsaudit.collect.draft import Draft
from tsaudit.engines.sql.columns import TimeColumn, TimeKind
from tsaudit.model.profile import Count, How, Measurement, Ratio, Window, utc_now

_PRESENT: Final = timedelta(hours=1)
"""An audit takes time: a window that ended this recently still counts as ending now."""


def as_of(window: Window) -> datetime | None:
    """The time of the figures if a fingerprint taken now applies to them; None for a past window."""
    return window.end if utc_now() - window.end <= _PRESENT else None


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
        stored=now.stored,
    )
    # How it stores the time does not go into the profile.
    time = TimeColumn(before.time_column, TimeKind.TIMESTAMP, before.time_reason) if before.time_column else None
    return replace(draft, measurement=known, time=time, reused=True)


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


def _figures(measurement: Measurement) -> Iterator[Count | Ratio]:
    candidates: list[Count | Ratio | None] = [measurement.series, measurement.rows]
    candidates += [figure for tag in measurement.tags for figure in (tag.values, tag.absent)]
    candidates += [figure for field in measurement.fields for figure in (field.null_ratio, field.distinct)]
    yield from (figure for figure in candidates if figure is not None)
