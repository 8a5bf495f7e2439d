"""Takes the expensive facts of a measurement that has not moved over from the profile before."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from tsaudit.collect.draft import Draft
from tsaudit.profile import Count, Measurement, Ratio, utc_now
from tsaudit.roles import TimeColumn, TimeKind

_PRESENT: Final = timedelta(days=1)


def take_over(draft: Draft, now: datetime, max_age: timedelta) -> None:
    """Fill in the draft from the measurement as it was before, if that is still true of it and young enough.

    An audit of a past day reuses nothing: the catalogue shows the present, and cannot vouch for the past.
    """
    before = draft.previous
    if before is None or not draft.fingerprint or before.fingerprint != draft.fingerprint:
        return
    if utc_now() - now > _PRESENT:
        return
    ages = [now - figure.source.as_of for figure in _figures(before)]
    if not ages or max(ages) > max_age or min(ages) < timedelta(0):
        return
    draft.reused = True
    draft.tags, draft.fields = before.tags, before.fields
    draft.series, draft.rows, draft.tag_sets = before.series, before.rows, before.tag_sets
    draft.arrivals, draft.row_patterns = before.arrivals, before.row_patterns
    draft.measure_names = before.measure_names
    draft.rhythms, draft.point_sample = before.rhythms, before.point_sample
    draft.repeats = before.repeats
    draft.first_time, draft.last_time = before.first_time, before.last_time
    draft.statements = dict(before.statements)
    # Only its name goes into the profile, and nothing is asked of the table any more.
    draft.time = TimeColumn(before.time_column, TimeKind.TIMESTAMP) if before.time_column else None


def _figures(measurement: Measurement) -> Iterator[Count | Ratio]:
    candidates: list[Count | Ratio | None] = [measurement.series, measurement.rows]
    candidates += [figure for tag in measurement.tags for figure in (tag.values, tag.absent)]
    candidates += [figure for field in measurement.fields for figure in (field.null_ratio, field.distinct)]
    yield from (figure for figure in candidates if figure is not None)
