"""Tables of Timestream that become one, with the data in their names as dimensions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from tsaudit.engines.quoting import quote_text
from tsaudit.engines.rendering import Place
from tsaudit.engines.timestream import SINGLE_VALUE, copying
from tsaudit.engines.timestream.columns import Read
from tsaudit.engines.timestream.tables import create_like, delete_table
from tsaudit.model.change import Merged, MergeMeasurements
from tsaudit.model.plan import Phase, Step
from tsaudit.model.profile import Measurement
from tsaudit.text import listed, many

_MOST: Final = 20
"""Tables that one scheduled query reads."""


def merge(place: Place, changes: Sequence[MergeMeasurements]) -> Iterator[Step]:
    """One new table for each family of names."""
    taken: set[str] = set()
    inside = {m.name: m for m in place.profile.measurements if m.database == place.database}
    for change in changes:
        into = _free({*inside, *taken}, change.into)
        taken.add(into)
        yield from _merged(place, change, into, inside)


def _free(taken: set[str], name: str) -> str:
    numbered = (f"{name}_{number}" for number in range(2, len(taken) + 3))
    return name if name not in taken else next(one for one in numbered if one not in taken)


def _merged(place: Place, change: MergeMeasurements, into: str, inside: Mapping[str, Measurement]) -> Iterator[Step]:
    first, names = change.members[0], [member.measurement for member in change.members]
    added = listed([f"{name}={value}" for name, value in first.tags], 8)
    measure = f", as the measure {first.field}" if first.field else ""
    dimensions = f"with {'dimension' if len(first.tags) == 1 else 'dimensions'} {added}" if first.tags else ""
    how = " ".join(filter(None, (f"Write to {into}", dimensions)))
    yield Step(Phase.WRITE, f"{how}{measure}, instead of writing to {names[0]}.")
    known = [inside[name] for name in names if name in inside]
    if known:
        yield Step(
            Phase.PREPARE,
            f"Create {into}, with the settings of {known[0].name}. It accepts records that are older than its memory "
            "store, as long as their retention allows.",
            create_like(known[0], into),
            "sh",
        )
    lost = (
        ""
        if first.tags
        else (
            f"records of the {many(len(names), 'table')} that share dimensions, measure name, and time reject each "
            f"other in {into}; how many is not known: they were not compared"
        )
    )
    single = any(field.key.startswith(SINGLE_VALUE) for one in known for field in one.fields)
    types = {
        field.key: {f.types[:1] for one in known for f in one.fields if f.key == field.key}
        for one in known
        for field in one.fields
    }
    if single or any(len(found) > 1 for found in types.values()) or len(known) != len(names) or len(names) > _MOST:
        yield Step(
            Phase.COPY,
            f"Export the stored records of the {many(len(names), 'table')} with UNLOAD, one day at a time, and load "
            f"them into {into} with a batch load task, with what the names say as dimensions.",
            cost=copying.COST,
            loses=lost,
        )
    else:
        queries, columns = _queries(place, change, inside)
        yield from copying.steps(place, into, " UNION ALL ".join(queries), copying.multi(columns), lost)
        yield copying.stopped()
        yield _counted(place, into, names)
    yield Step(Phase.SWITCH, f"Have queries, dashboards, and scheduled queries read {into}.")
    for name in names[:100]:
        yield Step(
            Phase.REMOVE,
            f"Delete {name} once its records are in {into} and nobody needs it.",
            delete_table(place.database, name),
            "sh",
            can_undo=False,
            loses=f"all records of {name}",
        )


def _queries(
    place: Place, change: MergeMeasurements, inside: Mapping[str, Measurement]
) -> tuple[list[str], list[Read]]:
    """A query for each table, all with the same columns, and these columns."""
    each = {member: _columns(place, member, inside[member.measurement]) for member in change.members}
    every: dict[str, Read] = {}
    for columns in each.values():
        for column in columns:
            every.setdefault(column.name, column)
    ordered = sorted(every.values(), key=lambda column: (not column.is_dimension, column.name))
    queries = []
    for member, columns in each.items():
        own = {column.name: column for column in columns}
        filled = [own.get(c.name) or replace(c, value=f"CAST(NULL AS {c.type})") for c in ordered]
        queries.append(copying.select(place, place.table(member.measurement), filled))
    return queries, ordered


def _columns(place: Place, member: Merged, measurement: Measurement) -> list[Read]:
    told = [Read(name, quote_text("timestream", value), True) for name, value in member.tags]
    known = {column.name for column in told}
    found = [Read(tag.key, place.quoted([tag.key]), True) for tag in measurement.tags if tag.key not in known]
    only = len(measurement.fields) == 1 and bool(member.field)
    for field in measurement.fields:
        kind = field.types[0].upper() if field.types else "VARCHAR"
        found.append(Read(member.field if only else field.key, place.quoted([field.key]), False, kind))
    return [*told, *found]


def _counted(place: Place, into: str, names: Sequence[str]) -> Step:
    day = copying.within(copying.last_day(place))
    texts = [f"SELECT count(*) FROM {place.table(name)} WHERE {day}" for name in (*names, into)]  # noqa: S608 -- shown
    return Step(
        Phase.CHECK,
        f"Compare the counts of each day: the last one, of {into}, must be the sum of the others.",
        "\n".join(texts),
        "sql",
        cost="reads all stored records, which is charged",
        repeat_every=copying.A_DAY,
    )
