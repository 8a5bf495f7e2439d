"""Which tag's new values the new series of a measurement are due to.

Exact, by counting: of the series listed now that no listing before some day showed, the share that carries a value
of the tag which no listing before that day showed either. A tag that another one determines gets new values only
along with that one, so only the other is named.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from statistics import median
from typing import Final

from tsaudit.model.profile import Arrivals, Dependency, Measurement, SeriesSince, Tag, ValuesOverTime

_WEEK: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Blame:
    """What one tag's new values explain."""

    tag: str
    together_with: tuple[str, ...]
    """Tags that determine it and that it determines, which explain as much."""
    share: float
    """Of the new series, 0 to 1, that carry a new value of the tag."""
    standard_error: float
    """Of `share`; 0 where all series and values are known."""
    began: date
    """The first day, from a week before `since` on, that added at least half as many of these series as is usual."""


@dataclass(frozen=True, slots=True)
class Attribution:
    """The new series of a measurement and the tags they are due to."""

    since: date
    """New is what was first seen on that day or later."""
    new_series: int
    blames: tuple[Blame, ...]
    """The greatest share first; tags too little of whose values is new to be seen in a sample are left out."""


def attribute(measurement: Measurement, since: date) -> Attribution | None:
    """The new series since that day, or since the second listing when that is later.

    None when nothing is known of the listings before, or when no series is new.
    """
    arrivals = measurement.arrivals
    if arrivals is None or arrivals.before is None:
        return None
    since = max(since, arrivals.began + timedelta(days=1))
    new = _added(arrivals.series, since)
    if not new:
        return None
    known = {tag.key: tag.over_time for tag in measurement.tags if tag.over_time is not None}
    grown = {key: values for key, values in known.items() if _is_seen(values, since)}
    dependencies = measurement.tag_sets.dependencies if measurement.tag_sets else ()
    blames = [
        _blame(key, grown[key], others, arrivals, since, new) for key, others in _causes(grown, dependencies).items()
    ]
    return Attribution(since, new, tuple(sorted(blames, key=lambda b: (-b.share, b.tag))))


def looks(tag: Tag) -> str:
    """The shape of a tag's newest values, for people; empty when they have none that is known."""
    values = tag.over_time
    return "" if values is None or values.shape in ("unknown", "empty") else values.shape.replace("_", " ")


def shares_of_logarithms(
    before: Mapping[str, float], now: Mapping[str, float], dependencies: Iterable[Dependency]
) -> dict[str, float]:
    """What is left to say where only numbers of values are known: tag to its share of the growth, 0 to 1.

    Series multiply, so shares are those of the logarithms. Only tags that grew, and follow from no other that did.
    """
    grown = {tag for tag in before if now[tag] > before[tag]}
    logs = {tag: math.log(now[tag] / before[tag]) for tag in _free(grown, dependencies)}
    return {tag: log / sum(logs.values()) for tag, log in logs.items()}


def _blame(
    tag: str, values: ValuesOverTime, others: tuple[str, ...], arrivals: Arrivals, since: date, new: int
) -> Blame:
    share = min(1.0, _added(values.series, since) / new)
    error = share * math.hypot(
        _relative_error(arrivals.series, since, arrivals.sampled_series),
        _relative_error(values.series, since, values.sampled_values),
    )
    return Blame(tag, others, share, error, _began(values.series, since, arrivals.began))


def _causes(grown: Iterable[str], dependencies: Sequence[Dependency]) -> dict[str, tuple[str, ...]]:
    """The tags that no other one among them determines, each with those that are interchangeable with it."""
    free, known = _free(grown, dependencies), {(d.determinant, d.dependent) for d in dependencies}
    same = {key: tuple(o for o in free if (key, o) in known and (o, key) in known) for key in free}
    return {key: others for key, others in same.items() if not others or key < others[0]}


def _free(tags: Iterable[str], dependencies: Iterable[Dependency]) -> list[str]:
    """Those that no other one of them determines, unless they determine each other."""
    keys, known = sorted(tags), {(d.determinant, d.dependent) for d in dependencies}
    return [key for key in keys if not any((by, key) in known and (key, by) not in known for by in keys)]


def _added(series: tuple[SeriesSince, ...], since: date) -> int:
    return sum(s.series for s in series if s.day >= since)


def _is_seen(values: ValuesOverTime, since: date) -> bool:
    """Whether some values are surely new: in a sample, when their number is over twice its standard error."""
    return bool(_added(values.series, since)) and _relative_error(values.series, since, values.sampled_values) < 0.5


def _relative_error(series: tuple[SeriesSince, ...], since: date, sampled: int | None) -> float:
    """Of the new part of a sample: the smaller it is, the less is known of it. 0 where nothing was sampled."""
    total, new = sum(s.series for s in series), _added(series, since)
    return 0.0 if sampled is None or not total else 1 / math.sqrt(max(sampled * new / total, 1e-9))


def _began(series: tuple[SeriesSince, ...], since: date, first_listing: date) -> date:
    """A day found by the counts of all series may be late: a week before it is looked at too."""
    usual = median(s.series for s in series if s.day >= since)
    earliest = max(since - _WEEK, first_listing + timedelta(days=1))
    return next(s.day for s in series if s.day >= earliest and 2 * s.series >= usual)
