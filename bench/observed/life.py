"""The incidents that the real rule and the real life of incidents make of counts, audited day after day."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from bench.observed.counts import Counts
from bench.observed.verdicts import grows
from tests.builders import a_measurement, a_profile
from tsaudit.config.settings import Incidents
from tsaudit.evaluation import evaluate
from tsaudit.history.lifecycle import DaySeen, IncidentState, Track
from tsaudit.model.figures import Subject
from tsaudit.model.finding import fingerprint
from tsaudit.model.timeline import Point, Timeline
from tsaudit.policy import LimitPolicy
from tsaudit.rules.cardinality.runaway_cardinality import runaway_cardinality

Array = np.ndarray
LIMIT = 1_000_000
_WHERE = Subject("main", "cpu")


@dataclass
class Life:
    """One incident; days are indices of the counts."""

    opened: int
    since: date | None
    """Onset of its newest finding."""
    moved: list[date]
    """Every onset that its findings named."""
    words: str
    """Of its newest finding."""
    resolved: int | None = None


def lives(
    days: Sequence[date], values: Sequence[float], begin: int = 7, end: int | None = None, limit: float = LIMIT
) -> list[Life]:
    """The incidents of an audit on each of the days from `begin` on."""
    mark = fingerprint("demo", "CAR004", _WHERE)
    policy = LimitPolicy(target={"high-series-cardinality.max_series": limit})
    points = tuple(Point(day, float(round(value))) for day, value in zip(days, values, strict=True))
    found: list[Life] = []
    track: Track | None = None
    for n in range(begin, len(points) if end is None else min(end, len(points))):
        profile = dataclasses.replace(a_profile(a_measurement("cpu", int(points[n].value))), day=days[n])
        timeline = Timeline(points={("series", _WHERE): points[:n]})
        result = evaluate(profile, timeline, policy, [runaway_cardinality])
        was_open = track is not None and track.incident.state is IncidentState.OPEN
        track = DaySeen(result, Incidents(), lambda _finding, _rule: "owner").after(mark, track, None) or track
        if track is None:
            continue
        is_open = track.incident.state is IncidentState.OPEN
        if is_open and not was_open:
            found.append(Life(n, None, [], ""))
        if is_open:
            _follow(found[-1], track)
        elif was_open:
            found[-1].resolved = n
    return found


def _follow(life: Life, track: Track) -> None:
    since = track.incident.finding.since
    life.since, life.words = since, track.incident.finding.message
    if since is not None and since not in life.moved:
        life.moved.append(since)


@dataclass(frozen=True)
class Lived:
    """How the incidents of real counts did."""

    a_quiet_year: float
    closed: int
    still_rising: int
    """Of the closed ones: those whose count rose before and goes on rising."""
    epidemics: int
    reopened: int
    """Epidemics with more than one incident."""

    @classmethod
    def of(cls, done: Sequence[tuple[Counts, list[Life]]], most: int) -> Lived:
        quiet = [(counts, found) for counts, found in done if counts.quiet]
        years = sum(min(len(counts.values) - 7, most) for counts, _ in quiet) / 365
        closed = [(counts, one.resolved) for counts, found in done for one in found if one.resolved is not None]
        epidemics = [found for counts, found in done if counts.kind == "epidemic"]
        return cls(
            sum(len(found) for _, found in quiet) / years if years else 0.0,
            len(closed),
            sum(grows(counts.values, n) for counts, n in closed),
            len(epidemics),
            sum(len(found) > 1 for found in epidemics),
        )


def lived(counts: Counts, most: int) -> tuple[Counts, list[Life]]:
    return counts, lives(counts.days, counts.values.tolist(), end=most + 7)
