"""Chooses the figures that are drawn over time, with their limits and forecasts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from tsaudit.model.figures import Subject
from tsaudit.model.finding import Finding, Forecast
from tsaudit.model.profile import Profile
from tsaudit.model.timeline import Point, Timeline, figures
from tsaudit.report.findings import Item

MOST: Final = 8
"""Most charts on one page; those of the worst findings come first."""

_TITLES: Final = {
    "series": "Series",
    "rows": "Rows",
    "tag_values": "Distinct values",
    "null_ratio": "Share of nulls",
    "measurements": "Measurements",
    "tags": "Tags",
    "fields": "Fields",
}
_COLUMN_FIGURES: Final = ("tag_values", "null_ratio")
_MEASUREMENT_FIGURES: Final = ("series", "rows", "tags", "fields")
_WHOLE_FIGURES: Final = ("series", "measurements")


@dataclass(frozen=True, slots=True)
class Trend:
    """One chart."""

    figure: str
    subject: Subject
    points: tuple[Point, ...]
    """The values by day, oldest first, ending with today's if it was measured."""
    limit: float | None = None
    forecast: Forecast | None = None
    onset: date | None = None
    fingerprint: str = ""
    """Fingerprint of the finding that the chart belongs to; empty for the target's own chart."""

    @property
    def title(self) -> str:
        return _TITLES.get(self.figure, self.figure)

    @property
    def of_whole(self) -> bool:
        """Whether it is about the whole target."""
        return self.subject == Subject()

    @property
    def is_ratio(self) -> bool:
        return self.figure.endswith("_ratio")


def trends(profile: Profile | None, timeline: Timeline, items: Sequence[Item]) -> list[Trend]:
    """The target's series first, or its measurements, then one chart for each figure behind a finding, at most MOST.

    Figures with fewer than two days are left out, because one point is not a trend, and so are figures that never
    changed.
    """
    today = _today(profile)
    found: dict[tuple[str, Subject], Trend] = {}
    for item in items:
        if len(found) == 2 * MOST:
            break
        key = _figure_of(item.finding, today, timeline)
        points = _points(key, timeline, today, profile)
        if len(points) < 2:
            continue
        trend = _trend(key, points, item)
        if trend.forecast is None and len({p.value for p in points}) == 1:
            continue
        known = found.get(key)
        if known is None or (known.forecast is None and trend.forecast is not None):
            found[key] = trend
    # If there are no series, as in document databases, the number of measurements is used.
    of_whole = [(name, Subject()) for name in _WHOLE_FIGURES]
    whole = next((key for key in of_whole if len(_points(key, timeline, today, profile)) > 1), of_whole[0])
    points = _points(whole, timeline, today, profile)
    if whole not in found and len(points) > 1:
        found[whole] = Trend(*whole, points)
    return sorted(found.values(), key=lambda t: (t.figure, t.subject) != whole)[:MOST]


def of_findings(profile: Profile | None, timeline: Timeline, items: Iterable[Item]) -> dict[str, Trend]:
    """The chart of exactly the figure that each finding is about, by the finding's anchor.

    Findings whose figure has no history, or never changed, are left out.
    """
    today = _today(profile)
    found = {}
    for item in items:
        key = _figure_of(item.finding, today, timeline)
        points = _points(key, timeline, today, profile)
        is_own = key in today and today[key] == item.finding.observed
        if is_own and len({p.value for p in points}) > 1:
            found[item.anchor] = _trend(key, points, item)
    return found


def whole(profile: Profile | None, timeline: Timeline) -> tuple[Point, ...]:
    """Series of the whole target by day, ending with today's."""
    return _points(("series", Subject()), timeline, _today(profile), profile)


def _trend(key: tuple[str, Subject], points: tuple[Point, ...], item: Item) -> Trend:
    finding, forecast = item.finding, item.finding.forecast
    onset = (forecast.onset if forecast else None) or finding.since
    if finding.observed != points[-1].value:
        # A related figure, not the one that the rule used: the finding's limit and forecast do not apply to it.
        return Trend(*key, points, onset=onset, fingerprint=item.fingerprint)
    own = finding.limit.value if finding.limit and finding.limit.unit == finding.unit else None
    limit = forecast.limit if forecast else own
    return Trend(*key, points, limit, forecast, onset, item.fingerprint)


def _today(profile: Profile | None) -> dict[tuple[str, Subject], float]:
    return {(f.name, f.subject): f.value for f in figures(profile)} if profile else {}


def _figure_of(finding: Finding, today: Mapping[tuple[str, Subject], float], timeline: Timeline) -> tuple[str, Subject]:
    """The figure that the finding is about: the one with its observed value, otherwise the most likely one of its
    subject.
    """
    candidates = list(_candidates(finding.subject))
    for key in candidates:
        if finding.observed is not None and today.get(key) == finding.observed:
            return key
    own = [key for key in candidates if key[1] == finding.subject]
    return next((key for key in own if timeline.of(*key)), own[0])


def _candidates(subject: Subject) -> Iterable[tuple[str, Subject]]:
    if subject.column:
        yield from ((name, subject) for name in _COLUMN_FIGURES)
    if subject.measurement:
        measurement = Subject(subject.database, subject.measurement)
        yield from ((name, measurement) for name in _MEASUREMENT_FIGURES)
    else:
        yield from ((name, subject) for name in _WHOLE_FIGURES)


def _points(
    key: tuple[str, Subject],
    timeline: Timeline,
    today: Mapping[tuple[str, Subject], float],
    profile: Profile | None,
) -> tuple[Point, ...]:
    points = timeline.of(*key)
    if profile is not None and key in today:
        return (*(p for p in points if p.day < profile.day), Point(profile.day, today[key]))
    return points
