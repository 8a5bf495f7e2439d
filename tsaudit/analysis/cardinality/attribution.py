"""Attributes the new series of a measurement to the new values of its tags.

The result is an exact count: of the series that are listed now and were in no listing before a given day, the share
that carries a value of the tag that was in no listing before that day either. A tag determined by another one gets new
values only together with it, so only the other tag is named.
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
    """The share of new series that one tag's new values explain."""

    tag: str
    together_with: tuple[str, ...]
    """Tags that determine it and are determined by it; they explain the same share."""
    share: float
    """Share of the new series that carry a new value of the tag, from 0 to 1."""
    standard_error: float
    """Standard error of `share`; 0 if all series and values are known."""
    began: date
    """The first day, starting a week before `since`, that added at least half the usual number of these series."""


@dataclass(frozen=True, slots=True)
class Attribution:
    """The new series of a measurement, and the tags that cause them."""

    since: date
    """Series first seen on this day or later count as new."""
    new_series: int
    blames: tuple[Blame, ...]
    """Largest share first. In a sample, tags with too few new values to be significant are left out."""


def attribute(measurement: Measurement, since: date) -> Attribution | None:
    """The series that are new since that day, or since the second listing if that is later.

    None if there are no earlier listings, or if no series is new.
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
    """The shape of a tag's newest values, in words; empty if it is not known."""
    values = tag.over_time
    return "" if values is None or values.shape in ("unknown", "empty") else values.shape.replace("_", " ")


def shares_of_logarithms(
    before: Mapping[str, float], now: Mapping[str, float], dependencies: Iterable[Dependency]
) -> dict[str, float]:
    """The fallback if only numbers of values are known: tag to its share of the growth, from 0 to 1.

    Series counts multiply, so the shares are computed from logarithms. Only tags that grew and are not determined by
    another growing tag are included.
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
    """The tags that no other one of them determines, each with its interchangeable tags."""
    free, known = _free(grown, dependencies), {(d.determinant, d.dependent) for d in dependencies}
    same = {key: tuple(o for o in free if (key, o) in known and (o, key) in known) for key in free}
    return {key: others for key, others in same.items() if not others or key < others[0]}


def _free(tags: Iterable[str], dependencies: Iterable[Dependency]) -> list[str]:
    """The tags that no other one of them determines, except mutually."""
    keys, known = sorted(tags), {(d.determinant, d.dependent) for d in dependencies}
    return [key for key in keys if not any((by, key) in known and (key, by) not in known for by in keys)]


def _added(series: tuple[SeriesSince, ...], since: date) -> int:
    return sum(s.series for s in series if s.day >= since)


def _is_seen(values: ValuesOverTime, since: date) -> bool:
    """Whether some values are certainly new: in a sample, if their number exceeds twice its standard error."""
    return bool(_added(values.series, since)) and _relative_error(values.series, since, values.sampled_values) < 0.5


def _relative_error(series: tuple[SeriesSince, ...], since: date, sampled: int | None) -> float:
    """Relative error of the new part of a sample: the smaller the part, the larger the error. 0 if nothing
    was sampled.
    """
    total, new = sum(s.series for s in series), _added(series, since)
    return 0.0 if sampled is None or not total else 1 / math.sqrt(max(sampled * new / total, 1e-9))


def _began(series: tuple[SeriesSince, ...], since: date, first_listing: date) -> date:
    """The first day of the growth. The day derived from the series counts may be late, so the week before it is
    checked, too.
    """
    usual = median(s.series for s in series if s.day >= since)
    earliest = max(since - _WEEK, first_listing + timedelta(days=1))
    return next(s.day for s in series if s.day >= earliest and 2 * s.series >= usual)
