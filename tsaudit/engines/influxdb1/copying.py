"""What statements of InfluxQL have in common that copy stored points, a day at a time, and drop them then."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from tsaudit.engines.influx.reach import also_deleted
from tsaudit.engines.rendering import Place
from tsaudit.model.plan import Phase, Step

A_DAY: Final = timedelta(days=1)


def removed(place: Place, when: str, name: str = "") -> Step:
    """The measurement goes, from all retention policies: the statement names none."""
    name = name or place.here.name
    beyond = also_deleted(place, place.database, name)
    return Step(
        Phase.REMOVE,
        f"Drop the old measurement {when}{beyond}.",
        f"DROP MEASUREMENT {place.quoted([name])}",
        "influxql",
        can_undo=False,
        loses=f"all points of {name}",
    )


def last_day(place: Place) -> datetime:
    """The beginning of the last day that the measurement has points of."""
    newest = (place.measurement.last_time if place.measurement else None) or place.profile.window.end
    return newest.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def within(day: datetime) -> str:
    """A condition for one day."""
    return f"time >= '{day:%Y-%m-%dT%H:%M:%SZ}' AND time < '{day + A_DAY:%Y-%m-%dT%H:%M:%SZ}'"
