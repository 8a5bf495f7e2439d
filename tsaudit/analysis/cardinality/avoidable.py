"""How many series would not be there without some tags."""

from __future__ import annotations

from collections.abc import Iterable

from tsaudit.analysis.cardinality.contributions import made_fields
from tsaudit.model.profile import Measurement, TagSets


def avoidable_series(measurement: Measurement, tags: Iterable[str]) -> int:
    """The series that would be gone if the tags became fields together, with those interchangeable with one of them.

    A lower bound where not all combinations were examined, or the tag sets are not known: then each value of the tag
    with the most values has a series of its own.
    """
    names = tuple(tags)
    if measurement.tag_sets is not None:
        gone = frozenset(change.tag for change in made_fields(measurement, *names))
        return max(measurement.tag_sets.series - _series_left(measurement.tag_sets, gone), 0)
    values = max((tag.values.value for tag in measurement.tags if tag.key in names and tag.values), default=0)
    return max(values - 1, 0)


def _series_left(sets: TagSets, gone: frozenset[str]) -> int:
    alone = [one.series_left for one in sets.contributions if {one.tag, *one.together_with} <= gone]
    left = [sets.series, *alone]
    dropped: set[str] = set()
    # Each step of the curve is without the tags of the steps before.
    for step in sets.drop_curve:
        dropped |= {step.tag, *step.together_with}
        if not dropped <= gone:
            break
        left.append(step.series_left)
    return min(left)
