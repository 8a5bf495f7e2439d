"""Which figures of a profile show the day that was audited, and not the present."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Final

from tsaudit.engines.language import Language
from tsaudit.engines.registry import ENGINES
from tsaudit.model.profile import Profile
from tsaudit.model.timeline import SAME_DAY, Figure, figures

_OF_ROWS: Final = frozenset({"rows", "null_ratio"})
_OF_TAGS: Final = frozenset({"series", "tag_values", "measure_names", "series_keys"})


def figures_of_its_day(profile: Profile) -> Iterator[Figure]:
    """`figures`, without those of the present if the profile is of a past day.

    Indexes, catalogs, and file sizes only show the present: among the figures of a past day, they would look like a
    trend that never happened.
    """
    if profile.collected_at - profile.window.end <= SAME_DAY:
        return figures(profile)
    timeless = {(m.database, m.name) for m in profile.measurements if m.time_column is None}
    return (figure for figure in figures(profile) if _is_bounded(profile.engine, figure, timeless))


def _is_bounded(engine: str, figure: Figure, timeless: Set[tuple[str, str]]) -> bool:
    """Whether it only depends on rows within the window. `timeless`: measurements without a window."""
    language = ENGINES[engine].language
    if language is not Language.SQL:
        return language is Language.INFLUXQL and figure.name in _OF_ROWS
    subject = figure.subject
    return figure.name in _OF_ROWS | _OF_TAGS and (subject.database, subject.measurement) not in timeless
