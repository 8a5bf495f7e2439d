"""Selects the figures of a profile that describe the day that was audited, rather than the present."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from tsaudit.model.timeline import SAME_DAY, Figure, figures

if TYPE_CHECKING:
    from tsaudit.model.profile import Profile

_OF_ROWS: Final = frozenset({"rows", "null_ratio", "series", "tag_values", "measure_names", "series_keys"})


def figures_of_its_day(profile: Profile) -> Iterator[Figure]:
    """The profile's `figures`, without figures of the present if the profile is of a past day.

    Catalogs and file sizes only show the present: among the figures of a past day, they would look like a trend that
    never happened. `past_days` has already removed rows and series of the present.
    """
    if profile.collected_at - profile.window.end <= SAME_DAY:
        return figures(profile)
    return (figure for figure in figures(profile) if figure.name in _OF_ROWS)
