"""What statements of Flux have in common that copy stored points, a day at a time, and delete them then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from tsaudit.engines.influx import merging
from tsaudit.engines.influx.reach import delete_rows
from tsaudit.engines.quoting import quote_flux
from tsaudit.engines.rendering import Place
from tsaudit.model.change import Merged, MergeMeasurements
from tsaudit.model.plan import Phase, Step

A_DAY: Final = timedelta(days=1)


def merge(place: Place, changes: Sequence[MergeMeasurements]) -> Iterator[Step]:
    """One set of settings for the writers of all families; then each member by itself."""
    found = merging.merges(place, changes)
    yield from merging.write(place, found)
    for one in found:
        is_listed = merging.is_listed(place, one)
        if not is_listed:
            yield merging.by_program([one], "Flux", "would need a program for each of them")
        for member in one.change.members if is_listed else ():
            yield Step(
                Phase.COPY,
                f"Copy the stored points of {member.measurement}, one day at a time, the newest day first.",
                _tagged(place, one, member),
                "flux",
                cost="reads and writes all stored points",
                loses=merging.joined(one),
                repeat_every=A_DAY,
            )
        yield Step(Phase.SWITCH, f"Have queries, tasks and dashboards read {one.into}.")
    for one in found:
        if not merging.is_listed(place, one):
            yield merging.others_removed(one)
            continue
        for name in one.names:
            yield removed(place, name, f"once the copy in {one.into} is checked")


def _tagged(place: Place, one: merging.Merge, member: Merged) -> str:
    known = merging.of(place).get(member.measurement)
    values = {"_measurement": one.into, **dict(member.tags)}
    if member.field and known and len(known.fields) == 1:
        values["_field"] = member.field
    sets = " ".join(f"|> set(key: {quote_flux(key)}, value: {quote_flux(value)})" for key, value in values.items())
    return (
        f'{day_of(place, member.measurement)} |> drop(columns: ["_start", "_stop"]) {sets} '
        f"|> to(bucket: {quote_flux(place.database)})"
    )


def removed(place: Place, name: str, when: str = "once the copy is checked") -> Step:
    """The measurement goes from its bucket."""
    return Step(
        Phase.REMOVE,
        f"Delete the old measurement {when}.",
        delete_rows(place.database, name),
        "sh",
        can_undo=False,
        loses=f"all points of {name} in bucket {place.database}",
    )


def day_of(place: Place, name: str) -> str:
    """The beginning of a statement about the last day that the measurement has points of."""
    newest = (place.measurement.last_time if place.measurement else None) or place.profile.window.end
    day = newest.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return (
        f"from(bucket: {quote_flux(place.database)}) |> range(start: {_instant(day)}, stop: {_instant(day + A_DAY)}) "
        f"|> filter(fn: (r) => r._measurement == {quote_flux(name)})"
    )


def _instant(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
