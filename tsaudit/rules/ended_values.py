"""Tags that no longer gain values: whatever wrote new ones has been fixed, and the old ones may or may not disappear on
their own.
"""

from __future__ import annotations

from datetime import date, timedelta
from itertools import pairwise
from typing import Final

from tsaudit.model.profile import Tag
from tsaudit.rule import Case
from tsaudit.text import day as written

_QUIET_DAYS: Final = 3
"""Minimum number of days without a new value: more than a weekend."""
_LONGER: Final = 2
"""The pause must also be at least this many times the longest earlier pause between new values."""


def ended_on(case: Case, tag: Tag) -> date | None:
    """The day of a tag's newest values if it has gained none for clearly longer than ever before; None otherwise.

    None also if the listings are a sample, which can miss new values, or span less than a week.
    """
    known = tag.over_time
    if known is None or known.kind == "unknown" or known.newest is None or known.sampled_values is not None:
        return None
    arrivals = sorted({one.day for one in known.series} | {known.newest})
    longest = max((later - earlier for earlier, later in pairwise(arrivals)), default=timedelta())
    quiet = case.profile.day - known.newest
    return known.newest if quiet >= max(timedelta(_QUIET_DAYS), _LONGER * longest) else None


def gained_per_day(case: Case, tag: Tag) -> float | None:
    """Number of new values per day of a tag whose values are not leveling off; None if they are, if they have ended, or
    if it is not known.
    """
    known = tag.over_time
    if known is None or known.kind != "unbounded" or ended_on(case, tag):
        return None
    return known.new_per_day


def ended_words(case: Case, newest: date) -> str:
    """What happened to the new values, as sentences to follow those about the tag's values."""
    if case.engine.has_series_index:
        rest = "They stay in the index until they expire or are deleted."
    else:
        window = case.profile.window
        rest = f"They leave the figures by {written(newest + (window.end - window.start))}."
    return f"It has gained none since {written(newest)}: what wrote them has stopped. {rest}"
