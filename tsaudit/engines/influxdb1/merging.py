"""How InfluxDB 1.x makes one measurement of several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tsaudit.engines.influx import copying, merging
from tsaudit.engines.influxdb1.copying import A_DAY, by_type, last_day, removed, within
from tsaudit.engines.rendering import Place
from tsaudit.engines.rewriting import Column
from tsaudit.model.change import MergeMeasurements
from tsaudit.model.plan import Phase, Step
from tsaudit.model.profile import Measurement


def merge(place: Place, changes: Sequence[MergeMeasurements]) -> Iterator[Step]:
    """One set of settings for the writers of all families; then each family by itself."""
    found = merging.merges(place, changes)
    yield from merging.write(place, found)
    day = within(last_day(place))
    for one in found:
        if merging.is_listed(place, one):
            yield from _copied(place, one, day)
        else:
            yield merging.by_program([one], "InfluxQL", "would need a statement for each of them")
        yield Step(
            Phase.CHECK,
            f"Compare the count of {one.into} with the sum of the others.",
            f"SELECT count(*) FROM {place.table(one.into)}",  # noqa: S608 -- shown, never run
            "influxql",
        )
        yield Step(Phase.SWITCH, f"Have queries and dashboards read {one.into}.")
    for one in found:
        if not merging.is_listed(place, one):
            yield merging.others_removed(one)
            continue
        for name in one.names:
            yield removed(place, f"once the copy in {one.into} is checked", name)


def _copied(place: Place, one: merging.Merge, day: str) -> Iterator[Step]:
    """Each member by itself: by a statement, or by a program if it gets tags."""
    inside = merging.of(place)
    copies = copying.merged(place, one, inside)
    for member in one.change.members:
        name = member.measurement
        source, copy = place.table(name), copies[name] if member.tags else None
        words = f"Copy the stored points of {name}, one day at a time, the newest day first."
        if copy is not None:
            words = f"InfluxQL cannot give points a tag: {copying.of_member(one, member, copy)}"
        into = "" if copy else f"INTO {place.table(one.into)} "
        yield Step(
            Phase.COPY,
            words,
            f"SELECT {_fields(place, inside[name])} {into}FROM {source} WHERE {day} GROUP BY *",
            "influxql",
            cost="reads and writes all stored points",
            loses=merging.joined(one),
            repeat_every=A_DAY,
            copy=copy,
        )


def _fields(place: Place, measurement: Measurement) -> str:
    """All fields: by name and type if values of one type would hide others."""
    columns = [Column(f.key, f.key, was_tag=False, is_tag=False, types=f.types) for f in measurement.fields]
    if not any(map(copying.clashes, columns)):
        return "*"
    return ", ".join(one for column in columns for one in by_type(place, column))
