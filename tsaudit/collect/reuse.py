"""Reuses the expensive facts of an unchanged measurement from the previous profile.

The figures of an audit depend on two things: the contents of the database when it ran, and its window. A fingerprint
covers only the contents, and only those at the time it is taken: the catalog shows the present. So figures are reused
only between audits of the present, and only if the two windows contain the same rows: none left the earlier one at its
start, and none was added at its end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from tsaudit.analysis.columns.columns import TimeColumn, TimeKind
from tsaudit.collect.draft import Draft, Found
from tsaudit.model.profile import (
    Arrivals,
    Count,
    Field,
    How,
    Measurement,
    MeasureNames,
    PointSample,
    Ratio,
    Repeats,
    Rhythms,
    RowPatterns,
    RowsApart,
    TableKind,
    Tag,
    TagSets,
    Window,
    utc_now,
)

_PRESENT: Final = timedelta(hours=1)
"""An audit takes time: a window that ended this recently still counts as ending now."""


def as_of(window: Window) -> datetime | None:
    """The time of the figures if a fingerprint taken now applies to them; None for a past window."""
    return window.end if utc_now() - window.end <= _PRESENT else None


@dataclass(frozen=True, slots=True)
class TakenOver(Found):
    """The figures of an earlier day. Nothing more is queried about the measurement."""

    fingerprint_as_of: datetime | None
    later_rows: bool | None
    kind: TableKind | None
    kind_reason: str
    time: TimeColumn | None
    tags: tuple[Tag, ...]
    fields: tuple[Field, ...]
    series: Count | None
    rows: Count | None
    rows_total: Count | None
    tag_sets: TagSets | None
    arrivals: Arrivals | None
    row_patterns: RowPatterns | None
    measure_names: MeasureNames | None
    rhythms: Rhythms | None
    point_sample: PointSample | None
    repeats: Repeats | None
    rows_apart: RowsApart | None
    own_window: Window | None
    first_time: datetime | None
    last_time: datetime | None
    statements: Mapping[str, str]
    reused: bool = True


def take_over(draft: Draft, window: Window, max_age: timedelta) -> Draft:
    """The draft with the measurement's previous figures, if they still apply and are recent enough."""
    before = draft.previous
    if draft.unreadable:
        return draft  # What nobody may read any more was not seen today.
    if before is None or not draft.fingerprint or before.fingerprint != draft.fingerprint:
        return draft
    if draft.fingerprint_as_of is None or before.fingerprint_as_of is None:
        return draft
    ages = [window.end - figure.source.as_of for figure in _figures(before)]
    if not ages or max(ages) > max_age or min(ages) < timedelta(0) or not _same_rows(draft, before, window):
        return draft
    return draft.knowing(
        TakenOver(
            fingerprint_as_of=before.fingerprint_as_of,
            later_rows=before.later_rows,
            kind=before.kind,
            kind_reason=before.kind_reason,
            # How it stores the time does not go into the profile.
            time=TimeColumn(before.time_column, TimeKind.TIMESTAMP, before.time_reason) if before.time_column else None,
            tags=before.tags,
            fields=before.fields,
            series=before.series,
            rows=before.rows,
            rows_total=before.rows_total or draft.rows_total,
            tag_sets=before.tag_sets,
            arrivals=before.arrivals,
            row_patterns=before.row_patterns,
            measure_names=before.measure_names,
            rhythms=before.rhythms,
            point_sample=before.point_sample,
            repeats=before.repeats,
            rows_apart=before.rows_apart,
            own_window=before.own_window,
            first_time=before.first_time,
            last_time=before.last_time,
            statements=before.statements,
        )
    )


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
