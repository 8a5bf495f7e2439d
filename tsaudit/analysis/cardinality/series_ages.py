"""What the new series of a listing have in common beside new values: tags they lack, tags in which they differ from
older series, and values on which they gather.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from typing import Final

import numpy as np
import numpy.typing as npt

from tsaudit.analysis.cardinality.arrivals import SeenTag, by_day
from tsaudit.analysis.values.value_sets import Days, ValueSet
from tsaudit.model.profile import Arrivals, SeriesSince, ValuesOverTime

_COMBINED: Final = 0.1
"""Share of the new series that must be new combinations of old values for these to be examined."""
_RECENT_DAYS: Final = 7
_FEWEST_RECENT: Final = 20
_GATHERED: Final = 0.8
"""Share of the recent series that carry the same value, for them to gather on it."""
_SPREAD: Final = 0.5
"""Most of the older series that may carry it, too."""


def with_ages(
    arrivals: Arrivals,
    after: ValueSet,
    digests: npt.NDArray[np.uint64],
    hashes: npt.NDArray[np.uint64],
    tags: Mapping[str, tuple[SeenTag, ValuesOverTime]],
) -> dict[str, ValuesOverTime]:
    """Each tag's values over time, plus what the ages of the listed series show about the tag.

    `digests`, `hashes`: one per listed series, the first in 64 bits. `after`: the set with these hashes.
    """
    first = after.first_days(hashes)
    combined = after.exact and _are_combined(arrivals)
    found = {}
    for key, (seen, values) in tags.items():
        lacking = by_day(first[seen.tag.codes == 0], arrivals.began, arrivals.observed, after.held_ratio)
        without = _without(key, seen, digests, first, arrivals) if combined else None
        found[key] = replace(values, lacking=lacking, without=without, gathered=_gathered(seen, first, arrivals.began))
    return found


def _are_combined(arrivals: Arrivals) -> bool:
    if arrivals.newest_value is None or arrivals.before is None:
        return False
    new, carrying = (
        sum(s.series for s in series if s.day > max(arrivals.began, series[0].day))
        for series in (arrivals.series, arrivals.newest_value)
    )
    return new - carrying > _COMBINED * new


def _without(
    key: str, seen: SeenTag, digests: npt.NDArray[np.uint64], first: Days, arrivals: Arrivals
) -> tuple[SeriesSince, ...]:
    """The series by the day the oldest one was first seen that equals them except for the tag."""
    own = np.zeros(len(digests), np.uint64)
    seen.tag.add_to(own, key)
    rest = digests - own
    order = np.argsort(rest)
    rest = rest[order]
    starts = np.flatnonzero(np.append(True, rest[1:] != rest[:-1])) if len(rest) else np.zeros(0, np.int64)
    oldest = np.minimum.reduceat(first[order], starts) if len(rest) else first
    sizes = np.diff(np.append(starts, len(rest)))
    return by_day(np.repeat(oldest, sizes), arrivals.began, arrivals.observed)


def _gathered(seen: SeenTag, first: Days, began: date) -> str | None:
    """The value that most of the recent series carry, unlike those before."""
    since = max(began.toordinal() + 1, int(first.max(initial=0)) - _RECENT_DAYS + 1)
    recent, older = seen.tag.codes[first >= since], seen.tag.codes[(first > 0) & (first < since)]
    if len(recent) < _FEWEST_RECENT or not len(older):
        return None
    counts = np.bincount(recent, minlength=len(seen.first) + 1)
    counts[0] = 0
    at = int(counts.argmax())
    if counts[at] < _GATHERED * len(recent) or (older == at).mean() > _SPREAD:
        return None
    return str(seen.tag.values[at - 1].as_py())
