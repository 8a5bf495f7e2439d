"""What statements of InfluxQL have in common that copy stored points, a day at a time, and drop them then."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from tsaudit.engines.influx.copying import clashes, kinds, read_as
from tsaudit.engines.influx.reach import also_deleted
from tsaudit.engines.rendering import Place
from tsaudit.engines.rewriting import Column
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


def by_type(place: Place, column: Column) -> Iterator[str]:
    """Expressions that read all values of a field: without its type, those of one type would hide the others."""
    name = place.quoted([column.old])
    for kind in kinds(column):
        renamed = read_as(column, kind)
        source = f"{name}::{kind}" if clashes(column) else f"{name}::field" if column.shares_name else name
        yield source if renamed == column.old else f"{source} AS {place.quoted([renamed])}"
