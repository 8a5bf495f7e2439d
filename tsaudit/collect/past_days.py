"""Takes back, for a past day, what only shows the present: rows without a time, documents, and an index of series."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tsaudit.engines.language import Language
from tsaudit.engines.registry import ENGINES
from tsaudit.model.profile import Gap, Measurement, Profile, Reason
from tsaudit.model.timeline import SAME_DAY

_OF_INDEX: Final = ("series_listing", "database_series")
_OF_ROWS: Final = ("documents", "null_counts", "row_sample", "series_listing")
_LISTED: Final = "the index lists the series of today, and not those of a past day"
_READ: Final = "rows are read whatever their time, and not those of a past day"


def of_its_day(profile: Profile) -> Profile:
    """The profile without what its engine cannot say of a past day, if it is of one.

    What is there today would be found on a day before it existed. Rules that need it are unknown on that day.
    """
    if profile.collected_at - profile.window.end <= SAME_DAY:
        return profile
    language = ENGINES[profile.engine].language
    databases, gaps = profile.databases, list(profile.gaps)
    if language is Language.INFLUXQL:
        gaps += [Gap(fact, Reason.PAST_DAY, _LISTED, one.name) for one in databases for fact in _OF_INDEX]
        databases = tuple(replace(one, series=None, own_series=None) for one in databases)
    measurements = []
    for one in profile.measurements:
        is_bounded = one.time_column is not None and language is not Language.MONGOSH
        if not is_bounded:
            facts = [fact for fact in _OF_ROWS if fact in profile.facts]
            gaps += [Gap(fact, Reason.PAST_DAY, _READ, one.database, one.name) for fact in facts]
            one = _without_rows(one)
        measurements.append(_without_series(one) if language is Language.INFLUXQL or not is_bounded else one)
    return replace(profile, databases=databases, measurements=tuple(measurements), gaps=tuple(gaps))


def _without_rows(measurement: Measurement) -> Measurement:
    fields = tuple(replace(field, null_ratio=None, distinct=None) for field in measurement.fields)
    return replace(measurement, rows=None, documents=None, fields=fields, row_patterns=None)


def _without_series(measurement: Measurement) -> Measurement:
    tags = tuple(replace(tag, values=None, absent=None, over_time=None) for tag in measurement.tags)
    return replace(measurement, series=None, tags=tags, tag_sets=None, arrivals=None)
