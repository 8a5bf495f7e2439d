"""Takes back, for a past day, what an index only shows of the present."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tsaudit.engines.language import Language
from tsaudit.engines.registry import ENGINES
from tsaudit.model.profile import Database, Gap, Measurement, Profile, Reason
from tsaudit.model.timeline import SAME_DAY

_OF_INDEX: Final = ("series_listing", "database_series")
_DETAIL: Final = "the index lists the series of today, and not those of a past day"


def is_for_a_past_day(gap: Gap) -> bool:
    """Whether the gap says only that the audit is of a past day."""
    return gap.detail == _DETAIL


def of_its_day(profile: Profile) -> Profile:
    """The profile without series and tag values if it is of a past day, and its engine lists them from an index.

    Those of today would be found on a day before they existed. Rules that need them are unknown on that day.
    """
    if ENGINES[profile.engine].language is not Language.INFLUXQL:
        return profile
    if profile.collected_at - profile.window.end <= SAME_DAY:
        return profile
    gaps = (
        Gap(fact, Reason.UNSUPPORTED, _DETAIL, database.name) for database in profile.databases for fact in _OF_INDEX
    )
    return replace(
        profile,
        databases=tuple(map(_database, profile.databases)),
        measurements=tuple(map(_measurement, profile.measurements)),
        gaps=(*profile.gaps, *gaps),
    )


def _database(database: Database) -> Database:
    return replace(database, series=None, own_series=None)


def _measurement(measurement: Measurement) -> Measurement:
    tags = tuple(replace(tag, values=None, absent=None, over_time=None) for tag in measurement.tags)
    return replace(measurement, series=None, tags=tags, tag_sets=None, arrivals=None)
