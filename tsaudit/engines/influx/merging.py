"""Measurements that become one, on all generations of InfluxDB: what writers send, and how they are told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tsaudit.engines.influx import collector
from tsaudit.engines.influx.graphite import pattern_of, templates
from tsaudit.engines.rendering import Place
from tsaudit.model.change import Merged, MergeMeasurements
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
        found[name] = Merge(_beside(change, of(place)), name)
    return list(found.values())


def _beside(change: MergeMeasurements, inside: Mapping[str, Measurement]) -> MergeMeasurements:
    """The change with other names for tags that its members have already, with other values than their names say."""
    taken = {name for member in change.members for name in _other_columns(member, inside)}
    if not taken:
        return change
    columns = {column for m in change.members if m.measurement in inside for column in inside[m.measurement].columns}

    def free(name: str) -> str:
        if name not in taken:
            return name
        numbered = (f"{name}_in_name{number}" for number in ("", *(f"_{n}" for n in range(2, len(columns) + 3))))
        return next(one for one in numbered if one not in columns)

    members = (replace(m, tags=tuple((free(name), value) for name, value in m.tags)) for m in change.members)
    return replace(change, members=tuple(members))


def _other_columns(member: Merged, inside: Mapping[str, Measurement]) -> Iterator[str]:
    measurement = inside.get(member.measurement)
    for name, value in member.tags if measurement else ():
        assert measurement is not None
        tag = measurement.tag(name)
        is_same = tag is not None and tag.sample == (value,) and tag.values is not None and tag.values.value == 1
        if name in measurement.columns and not is_same:
            yield name


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
    """The copy of many measurements, which the plan does not list one by one."""
    count = sum(len(one.names) for one in found)
    return Step(
        Phase.COPY,
        f"{language} {why}: write a program that reads the stored points of the {many(count, 'measurement')}, one "
        f"day at a time, and writes them to {listed([one.into for one in found], 6)} with what their names say as "
        "tags. The plan's JSON lists the tags of each (`changes`).",
        cost="reads and writes all stored points",
    )


def is_listed(place: Place, one: Merge) -> bool:
    """Whether the plan has statements for each member: there are not too many, and the audit examined all of them."""
    return len(one.names) <= MOST and all(name in of(place) for name in one.names)


def others_removed(one: Merge) -> Step:
    """The end of members that the plan does not list."""
    return Step(
        Phase.REMOVE,
        f"Drop the {many(len(one.names), 'old measurement')} once the copy in {one.into} is checked.",
        can_undo=False,
        loses=f"all points of the {many(len(one.names), 'measurement')}",
    )


def joined(one: Merge) -> str:
    """What is lost where the names say nothing that could be a tag; empty where tags tell the points apart."""
    if all(member.tags for member in one.change.members):
        return ""
    return (
        f"points of the {number(len(one.names))} measurements that share their tags and their time become one in "
        f"{one.into}; how many is not known: they were not compared"
    )
