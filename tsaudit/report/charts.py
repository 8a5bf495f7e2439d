"""Which figures are drawn over time, with their limits and forecasts, and the charts as inline SVG, which always have a
title and a description. One more chart shows which tags are determined by others.

The plot of a figure is a horizontally stretched SVG (`preserveAspectRatio="none"`) inside one that is not stretched:
lines keep their width, and labels are placed in percent. Colors come from the style sheet, so they follow light and
dark mode. Every chart has a table next to it.

The graph of tags has a size of its own. A determining tag is to the left of the others. Tags that determine each other
share a box, and an arrow that follows from others (a to c, if a leads to b and b to c) is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise, product
from typing import Final

from markupsafe import Markup, escape

from tsaudit.model.columns import Dependency
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Finding, Forecast
from tsaudit.model.profile import Profile
from tsaudit.model.timeline import Point, Timeline, figures
from tsaudit.report import untrusted
from tsaudit.report.findings import Item
from tsaudit.text import day as formatted_day
from tsaudit.text import listed, percent, short
from tsaudit.text import number as formatted_number
from tsaudit.text.findings import limit_reached
from tsaudit.text.sparkline import svg

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
    key, series = ("series", Subject()), profile.series if profile else None
    return _points(key, timeline, {} if series is None else {key: float(series)}, profile)


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


_WIDTH: Final = 1000
_HEIGHT: Final = 150
_TOP: Final = 22
_BOTTOM: Final = 24
SPARK_POINTS: Final = 30
_FARTHEST: Final = 6
"""A limit more than this many times above the highest value would flatten the curve; the text gives it instead."""
_TINIEST: Final = 1e-12
"""Smaller figures are drawn as zero."""
MOST_TAGS: Final = 24
"""Maximum number of tags to draw; with more, the graph is unreadable, and the tags are listed as text."""
_LONGEST_TAG: Final = 24
_LETTER: Final = 7.3
_BOX: Final = 28
_ROW: Final = 42
_BETWEEN: Final = 64
_EDGE: Final = 1


class _Plane:
    """Maps days and values to coordinates in the plot."""

    def __init__(self, first: date, last: date, top: float) -> None:
        self.first, self.last, self.top = first, last, top
        self._days = max(1, (last - first).days)

    def x(self, day: float) -> float:
        """The x coordinate of a number of days after the first day."""
        return round(_WIDTH * day / self._days, 1)

    def percent(self, day: date) -> float:
        return round(100 * (day - self.first).days / self._days, 2)

    def y(self, value: float) -> float:
        return round(_HEIGHT * (1 - value / self.top), 1)


def trend(chart: Trend, number: int) -> Markup:
    """The figure over time with its limit line, forecast band (10 to 90%) and the day growth began."""
    points = chart.points
    highest = max(p.value for p in points)
    limit = chart.limit if _fits(chart.limit, highest) else None
    last = _last_day(chart)
    plane = _Plane(points[0].day, last, _nice_top(max(highest, limit or 0, 0)))
    ticks = [plane.top * share for share in (0, 0.5, 1)]
    write = percent if chart.is_ratio else short
    lines = "".join(f'<line class="grid" x2="{_WIDTH}" y1="{plane.y(t)}" y2="{plane.y(t)}"/>' for t in ticks)
    plot = [lines, _forecast(chart, plane), _limit_line(limit, plane), _onset_line(chart, plane), _curve(points, plane)]
    labels = [
        _days(plane, points[-1].day, last),
        _limit_label(chart, limit, plane),
        _onset_label(chart, plane),
        _hit_label(chart, limit, plane),
    ]
    axis = "".join(f'<text x="100%" y="{_TOP + plane.y(t) + 4}">{escape(write(t))}</text>' for t in ticks)
    height = _TOP + _HEIGHT + _BOTTOM
    return Markup(  # noqa: S704 -- made of numbers; texts are escaped where they are put in
        f'<div class="plot"><svg class="axis" height="{height}" aria-hidden="true">{axis}</svg>'
        f'<svg class="area" width="100%" height="{height}" role="img" aria-labelledby="ct{number} cd{number}">'
        f'<title id="ct{number}">{escape(_title(chart))}</title>'
        f'<desc id="cd{number}">{escape(_description(chart, limit))}</desc>'
        f'<svg y="{_TOP}" width="100%" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
        f' preserveAspectRatio="none" overflow="visible">{"".join(plot)}</svg>{"".join(labels)}</svg></div>'
    )


def bar(share: float) -> Markup:
    """A bar with that share of the width. It is hidden from screen readers, because the number is next to it."""
    width = round(100 * min(1.0, max(0.0, share)), 1)
    return Markup(  # noqa: S704 -- a number
        f'<svg class="bar" aria-hidden="true"><rect class="rest" width="100%" height="8"/>'
        f'<rect class="part" width="{width}%" height="8"/></svg>'
    )


def sparkline(values: Sequence[float], limit: float | None = None) -> Markup:
    """A small line without axes, of at most SPARK_POINTS values; empty for fewer than two."""
    last = len(values) - 1
    step = max(1, math.ceil(last / (SPARK_POINTS - 1)))
    # The newest value is always included.
    return Markup(svg([values[last - back] for back in range(last - last % step, -1, -step)], limit))  # noqa: S704 -- numbers


def _fits(limit: float | None, highest: float) -> bool:
    return limit is not None and 0 < limit <= max(highest, _TINIEST) * _FARTHEST


def _last_day(chart: Trend) -> date:
    """The last day of the chart: today, or the last day worth showing of the forecast."""
    today, first = chart.points[-1].day, chart.points[0].day
    forecast = chart.forecast
    if forecast is None or forecast.days is None or forecast.days <= 0:
        return today
    seen = max(7, (today - first).days)
    far = forecast.days_high if forecast.days_high is not None else forecast.days * 1.5
    return today + timedelta(days=max(3, math.ceil(min(far * 1.1, seen))))


def _nice_top(highest: float) -> float:
    """A round number at or slightly above the highest value."""
    if highest < _TINIEST:
        return 1.0
    unit = 10.0 ** math.floor(math.log10(highest * 1.05))
    return next(unit * step for step in (1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10, 12) if unit * step >= highest * 1.05)


def _curve(points: Sequence[Point], plane: _Plane) -> str:
    """The measured days; days without a measurement leave a gap, not a straight line."""
    gaps = sorted((b.day - a.day).days for a, b in pairwise(points))
    usual = gaps[len(gaps) // 2] if gaps else 1
    path, before = [], None
    for point in points:
        joined = before is not None and (point.day - before).days <= 2 * usual
        path.append(f"{'L' if joined else 'M'}{plane.x((point.day - plane.first).days)} {plane.y(point.value)}")
        before = point.day
    end = path[-1].lstrip("ML")
    return f'<path class="curve" d="{"".join(path)}"/><path class="dot" d="M{end}h0"/>'


def _forecast(chart: Trend, plane: _Plane) -> str:
    forecast, now = chart.forecast, chart.points[-1]
    if forecast is None or forecast.days is None or forecast.days <= 0 or now.value <= 0 or plane.last == now.day:
        return ""
    start, end = (now.day - plane.first).days, (plane.last - plane.first).days

    def path(days: float | None) -> list[tuple[float, float]]:
        """From today toward the limit, curved if growth is exponential, clipped at the edge of the plot."""
        reach = min(days, end - start) if days else end - start
        found = []
        for step in range(13):
            day = reach * step / 12
            share = day / days if days else 0.0
            grown = forecast.limit - now.value
            value = (
                now.value * (forecast.limit / now.value) ** share
                if forecast.shape in ("speeding up", "exponential")
                else now.value + grown * share
            )
            found.append((plane.x(start + day), plane.y(min(value, plane.top))))
        return found

    soon, late = path(forecast.days_low or forecast.days), path(forecast.days_high)
    corner = [(late[-1][0], soon[-1][1])] if late[-1][0] > soon[-1][0] else []
    band = " ".join(f"{x},{y}" for x, y in [*soon, *corner, *reversed(late)])
    middle = " ".join(f"{x},{y}" for x, y in path(forecast.days))
    if not forecast.has_interval:
        return f'<polyline class="ahead" points="{middle}"/>'
    return f'<polygon class="band" points="{band}"/><polyline class="ahead" points="{middle}"/>'


def _limit_line(limit: float | None, plane: _Plane) -> str:
    if limit is None:
        return ""
    return f'<line class="limit" x2="{_WIDTH}" y1="{plane.y(limit)}" y2="{plane.y(limit)}"/>'


def _limit_label(chart: Trend, limit: float | None, plane: _Plane) -> str:
    """The label of the limit line: on the left or, without a forecast, on the side where the curve is farther away."""
    if limit is None:
        return ""
    text = escape(percent(limit) if chart.is_ratio else short(limit))
    first, last = (abs(p.value - limit) for p in (chart.points[0], chart.points[-1]))
    place = 'x="100%" text-anchor="end"' if chart.forecast is None and first < last else 'x="2"'
    return f'<text class="limit" {place} y="{_TOP + plane.y(limit) - 5}">limit {text}</text>'


def _onset_line(chart: Trend, plane: _Plane) -> str:
    if chart.onset is None or not plane.first <= chart.onset <= plane.last:
        return ""
    x = plane.x((chart.onset - plane.first).days)
    return f'<line class="onset" x1="{x}" x2="{x}" y2="{_HEIGHT}"/>'


def _onset_label(chart: Trend, plane: _Plane) -> str:
    if chart.onset is None or not plane.first <= chart.onset <= plane.last:
        return ""
    x = plane.percent(chart.onset)
    anchor = "end" if x > 75 else "start" if x < 22 else "middle"
    label = escape(formatted_day(chart.onset))
    return f'<text class="onset" x="{x}%" y="12" text-anchor="{anchor}">began {label}</text>'


def _hit_label(chart: Trend, limit: float | None, plane: _Plane) -> str:
    """A label with the day the limit will probably be reached, above the limit line where the forecast meets it."""
    forecast = chart.forecast
    if limit is None or forecast is None or forecast.days is None or forecast.days <= 0:
        return ""
    day = chart.points[-1].day + timedelta(days=round(forecast.days))
    x = plane.percent(day)
    if not 35 < x <= 100:
        return ""
    anchor = "end" if x > 88 else "middle"
    y = _TOP + plane.y(limit) - 5
    return f'<text class="hit" x="{x}%" y="{y}" text-anchor="{anchor}">≈ {escape(formatted_day(day))}</text>'


def _days(plane: _Plane, today: date, last: date) -> str:
    y = _TOP + _HEIGHT + 17
    labels = [(plane.first, "start"), (today, "end" if today == last else "middle")]
    if plane.percent(today) < 82 and last != today:
        labels.append((last, "end"))
    return "".join(
        f'<text class="day" x="{plane.percent(day)}%" y="{y}" text-anchor="{anchor}">'
        f"{'today' if day == today != last else escape(formatted_day(day))}</text>"
        for day, anchor in labels
    )


def _title(chart: Trend) -> str:
    name = "the whole target" if chart.of_whole else untrusted.line(untrusted.cut(str(chart.subject)))
    return f"{chart.title} of {name} over time"


def _description(chart: Trend, drawn_limit: float | None) -> str:
    write = percent if chart.is_ratio else formatted_number
    first, now = chart.points[0], chart.points[-1]
    parts = [
        f"From {write(first.value)} on {formatted_day(first.day)} to {write(now.value)} on {formatted_day(now.day)}."
    ]
    if chart.limit is not None:
        above = "" if drawn_limit is not None else ", too high to be drawn"
        parts.append(f"The limit is {write(chart.limit)}{above}.")
    if chart.onset is not None:
        parts.append(f"Growth began on {formatted_day(chart.onset)}.")
    if chart.forecast is not None and (ahead := limit_reached(chart.forecast)):
        parts.append(f"{ahead[0].upper()}{ahead[1:]}.")
    return " ".join(parts)


Box = tuple[str, ...]
"""Tags that determine each other, by name; usually one."""
Arrow = tuple[Box, Box]


def dependency_graph(dependencies: Sequence[Dependency], number: int) -> Markup:
    """The graph as HTML; empty without dependencies, and for more than MOST_TAGS tags.

    `number` makes its IDs unique on the page.
    """
    edges = {(d.determinant, d.dependent) for d in dependencies}
    if not edges or len({tag for pair in edges for tag in pair}) > MOST_TAGS:
        return Markup("")
    boxes, arrows = condensed(edges)
    places, width, height = _places(layers(boxes, arrows))
    lines = "".join(_arrow(places[a], places[b]) for a, b in arrows)
    nodes = "".join(_node(box, places[box]) for box in boxes)
    labels = f'role="img" aria-labelledby="dt{number} dd{number}"'
    return Markup(  # noqa: S704 -- made of numbers; texts are escaped where they are put in
        f'<svg class="follows" width="{width:g}" height="{height:g}" {labels}><title id="dt{number}">Tags '
        "determined by others</title><desc "
        f'id="dd{number}">{escape(_graph_description(boxes, arrows))}</desc>{lines}{nodes}</svg>'
    )


def condensed(edges: set[tuple[str, str]]) -> tuple[list[Box], list[Arrow]]:
    """The boxes, and the fewest arrows that imply all the pairs (determinant, dependent)."""
    tags = sorted({tag for pair in edges for tag in pair})
    leads = set(edges)
    for middle, a, b in product(tags, repeat=3):  # Warshall: the outermost loop is over the intermediate nodes.
        if (a, middle) in leads and (middle, b) in leads:
            leads.add((a, b))
    box_of = {t: tuple(o for o in tags if o == t or ((t, o) in leads and (o, t) in leads)) for t in tags}
    boxes = sorted(set(box_of.values()))
    further = {(a, b) for a, b in product(boxes, repeat=2) if a != b and (a[0], b[0]) in leads}
    arrows = [(a, b) for a, b in sorted(further) if not any((a, c) in further and (c, b) in further for c in boxes)]
    return boxes, arrows


def layers(boxes: Sequence[Box], arrows: Sequence[Arrow]) -> list[list[Box]]:
    """Columns of boxes from left to right; each box is to the right of all that lead to it, and at a similar height."""
    depth: dict[Box, int] = dict.fromkeys(boxes, 0)
    for _ in boxes:
        for a, b in arrows:
            depth[b] = max(depth[b], depth[a] + 1)
    found: list[list[Box]] = []
    row: dict[Box, float] = {}
    for level in range(max(depth.values()) + 1):
        here = [box for box in boxes if depth[box] == level]
        before = {box: [row[a] for a, b in arrows if b == box] for box in here}
        here.sort(key=lambda box: (sum(before[box]) / len(before[box]) if before[box] else 0.0, box))
        row |= {box: float(i) for i, box in enumerate(here)}
        found.append(here)
    return found


_Place = tuple[float, float, float]
"""Left, top, and width of a box."""


def _places(columns: Sequence[Sequence[Box]]) -> tuple[Mapping[Box, _Place], float, float]:
    """The position of each box, and the total size. Columns are centered vertically on the tallest one."""
    height = _ROW * max(map(len, columns)) - (_ROW - _BOX) + 2 * _EDGE
    places: dict[Box, _Place] = {}
    left = float(_EDGE)
    for column in columns:
        width = max(len(_label(box)) for box in column) * _LETTER + 20
        top = (height - (_ROW * len(column) - (_ROW - _BOX))) / 2
        for i, box in enumerate(column):
            places[box] = (round(left, 1), round(top + i * _ROW, 1), round(width, 1))
        left += width + _BETWEEN
    return places, round(left - _BETWEEN + _EDGE, 1), height


def _arrow(start: _Place, end: _Place) -> str:
    x, y = start[0] + start[2], start[1] + _BOX / 2
    to_x, to_y = end[0] - 6, end[1] + _BOX / 2
    bend = max(24.0, (to_x - x) / 2)
    line = f"M{x:g} {y:g}C{x + bend:g} {y:g} {to_x - bend:g} {to_y:g} {to_x:g} {to_y:g}"
    return f'<path class="line" d="{line}"/><path class="head" d="M{to_x:g} {to_y - 4:g}l6 4l-6 4z"/>'


def _node(box: Box, place: _Place) -> str:
    x, y, width = place
    frame = f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{_BOX}" rx="6"/>'
    return f'{frame}<text x="{x + width / 2:g}" y="{y + _BOX / 2 + 4:g}">{escape(_label(box))}</text>'


def _label(box: Box) -> str:
    return " = ".join(_short(tag) for tag in box[:3]) + (f" = {len(box) - 3} more" if len(box) > 3 else "")


def _short(tag: str) -> str:
    text = untrusted.line(tag)
    return text if len(text) <= _LONGEST_TAG else f"{text[: _LONGEST_TAG - 1]}…"


def _graph_description(boxes: Sequence[Box], arrows: Sequence[Arrow]) -> str:
    """The graph in words, for people who cannot see the picture."""
    each_other = [
        f"{listed([_short(t) for t in box], most=len(box))} determine each other." for box in boxes if len(box) > 1
    ]
    sources = dict.fromkeys(a for a, _ in arrows)
    lines = [
        f"{_label(a)} determines {listed([_label(b) for c, b in arrows if c == a], most=len(arrows))}." for a in sources
    ]
    return " ".join([*lines, *each_other])
