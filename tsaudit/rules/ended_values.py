"""Tags that gain no new values any more: what wrote them has been fixed, and what is left goes by itself or not."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import pairwise
from typing import Final

from tsaudit.model.profile import Tag
from tsaudit.rule import Case
from tsaudit.text import day as written

_QUIET_DAYS: Final = 3
"""Days without a new value that are longer than a weekend's."""
_LONGER: Final = 2
"""Times the longest earlier pause between new values."""


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
    """New values a day of a tag whose values are not leveling off; None if they are, have ended, or it is not known."""
    known = tag.over_time
    if known is None or known.kind != "unbounded" or ended_on(case, tag):
        return None
    return known.new_per_day


def ended_words(case: Case, newest: date) -> str:
    """What became of it, as sentences after those about the tag's values."""
    if case.engine.has_series_index:
        rest = "They stay in the index until they expire or are deleted."
    else:
        window = case.profile.window
        rest = f"They leave the figures by {written(newest + (window.end - window.start))}."
    return f"It has gained none since {written(newest)}: what wrote them has stopped. {rest}"
