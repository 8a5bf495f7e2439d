"""Measurements that become one, on all generations of InfluxDB: what writers send, and how they are told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tsaudit.engines.influx import collector
from tsaudit.engines.influx.graphite import pattern_of, templates
from tsaudit.engines.rendering import Place
from tsaudit.model.change import MergeMeasurements
from tsaudit.model.plan import Phase, Step
from tsaudit.model.profile import Measurement
from tsaudit.text import listed, many, number

MOST = 100
"""Measurements that a plan lists statements for, one each."""


@dataclass(frozen=True, slots=True)
class Merge:
    """A change, and the free name of the measurement that all its members become."""

    change: MergeMeasurements
    into: str

    @property
    def names(self) -> list[str]:
        return [member.measurement for member in self.change.members]


def merges(place: Place, changes: Sequence[MergeMeasurements]) -> list[Merge]:
    """Each with a name that no measurement has, and none of the others gets."""
    found: dict[str, Merge] = {}
    for change in changes:
        name, position = place.free(change.into), 2
        while name in found:
            name, position = place.free(f"{change.into}_{position}"), position + 1
        found[name] = Merge(change, name)
    return list(found.values())


def write(place: Place, found: Sequence[Merge]) -> Iterator[Step]:
    """What writers send from now on, and one set of settings of Telegraf for all of them, beside the collector's."""
    for one in found:
        yield Step(Phase.WRITE, f"Write {_line(place, one)} instead of {one.names[0]}.")
    inside = [m.name for m in place.profile.measurements if m.database == place.database]
    yield from collector.merged(
        {one.into: one.change for one in found},
        of(place),
        {one.into: pattern_of(one.change, inside) for one in found},
    )
    told = templates({one.into: one.change for one in found}, inside)
    if told.text:
        for data, text in (('input with data_format = "graphite":', told.text), ("statsd input:", told.statsd)):
            yield Step(Phase.WRITE, f"If Telegraf writes them, in its {data}", text, "toml")
    if told.processors:
        yield Step(Phase.WRITE, "If Telegraf writes them, after its inputs:", told.processors, "toml")
    if told.left:
        yield Step(
            Phase.WRITE,
            f"No pattern matches only the names of {listed(told.left)}: change the program that creates them.",
        )


def _line(place: Place, one: Merge) -> str:
    """A point of the first member as it should be written."""
    first = one.change.members[0]
    known = of(place).get(first.measurement)
    field = first.field or (known.fields[0].key if known and known.fields else "value")
    return "".join([one.into, *(f",{name}={value}" for name, value in first.tags), f" {field}=..."])


def of(place: Place) -> Mapping[str, Measurement]:
    """The measurements of the database, by name."""
    return {m.name: m for m in place.profile.measurements if m.database == place.database}


def by_program(found: Sequence[Merge], language: str, why: str) -> Step:
    """The copy, where no statement makes it."""
    count = sum(len(one.names) for one in found)
    return Step(
        Phase.COPY,
        f"{language} {why}: write a program that reads the stored points of the {many(count, 'measurement')}, one "
        f"day at a time, and writes them to {listed([one.into for one in found], 6)} with what their names say as "
        "tags.",
        cost="reads and writes all stored points",
    )


def joined(one: Merge) -> str:
    """What is lost where the names say nothing that could be a tag; empty where tags tell the points apart."""
    if all(member.tags for member in one.change.members):
        return ""
    return (
        f"points of the {number(len(one.names))} measurements that share their tags and their time become one in "
        f"{one.into}; how many is not known: they were not compared"
    )
