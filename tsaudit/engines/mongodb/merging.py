"""Collections of MongoDB that become one, with the data in their names as fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tsaudit.engines.mongodb import DOCUMENT_ID
from tsaudit.engines.mongodb.mongosh import collection, script
from tsaudit.engines.mongodb.rebuild import A_DAY, has_generated_ids, is_series, of_day, of_no_day
from tsaudit.engines.rendering import Place
from tsaudit.model.change import Merged, MergeMeasurements
from tsaudit.model.plan import Phase, Step
from tsaudit.model.profile import Measurement
from tsaudit.text import listed, many

_MOST: Final = 100
"""Collections that a plan lists statements for, one each."""


def merge(place: Place, changes: Sequence[MergeMeasurements]) -> Iterator[Step]:
    """One new collection for each family of names."""
    inside = {m.name: m for m in place.profile.measurements if m.database == place.database}
    taken = set(inside)
    for change in changes:
        numbered = (f"{change.into}_{number}" for number in range(2, len(taken) + 3))
        into = change.into if change.into not in taken else next(one for one in numbered if one not in taken)
        taken.add(into)
        yield from _merged(place, change, into, inside)


def _merged(place: Place, change: MergeMeasurements, into: str, inside: Mapping[str, Measurement]) -> Iterator[Step]:
    first, names = change.members[0], [member.measurement for member in change.members]
    example = script(dict(first.tags)) if first.tags else ""
    what = f" with {example} in each document" if example else ""
    yield Step(Phase.WRITE, f"Write to {into}{what}, instead of to {names[0]}.")
    known = [inside[member.measurement] for member in change.members if member.measurement in inside]
    if len(known) < len(names) or len(names) > _MOST or any(map(is_series, known)):
        yield Step(
            Phase.COPY,
            f"Have a script copy the documents of the {many(len(names), 'collection')} into {into}, one day at a time, "
            "with what the names say as fields. Time series collections are no target of $merge: insert into one.",
            cost="reads and writes all documents",
        )
    else:
        are_distinct = all(map(has_generated_ids, known))
        for member in change.members:
            yield from _copied(place, member, inside[member.measurement], into, keeps_id=are_distinct)
    counts = [f"{collection(place.database, name)}.countDocuments({{}});" for name in (*names[:_MOST], into)]
    yield Step(
        Phase.CHECK,
        f"Compare the counts: the last one, of {into}, must be the sum of the others.",
        "\n".join(counts),
        "mongosh",
        cost="reads all documents",
    )
    yield Step(Phase.SWITCH, f"Have writers and queries use {into}, with the indexes they need.")
    for name in names[:_MOST]:
        yield Step(
            Phase.REMOVE,
            f"Drop {name} once its documents are in {into} and nobody needs it.",
            f"{collection(place.database, name)}.drop()",
            "mongosh",
            can_undo=False,
            loses=f"{name}, whose documents are in {into} by then",
        )


def _copied(place: Place, member: Merged, measurement: Measurement, into: str, *, keeps_id: bool) -> Iterator[Step]:
    values: dict[str, Any] = {name: {"$literal": value} for name, value in member.tags}
    if not keeps_id:
        # Documents of two collections may have the same _id.
        values[DOCUMENT_ID] = {"of": {"$literal": member.measurement}, "id": f"${DOCUMENT_ID}"}
    stages: list[Any] = [{"$set": values}] if values else []
    fields = [f.key for f in measurement.fields if f.key not in (DOCUMENT_ID, measurement.time_column)]
    if member.field and len(fields) == 1 and fields[0] != member.field:
        stages += [{"$set": {member.field: f"${fields[0]}"}}, {"$unset": fields}]
    stages.append({"$merge": {"into": into, "on": DOCUMENT_ID, "whenMatched": "keepExisting"}})
    day, others = of_day(measurement, place), of_no_day(measurement)
    named = f" with {listed([f'{name}={value}' for name, value in member.tags], 6)}" if member.tags else ""
    for chosen in filter(None, (day, others)) if day else ({},):
        first: list[Any] = [{"$match": chosen}] if chosen else []
        by_day = chosen == day and bool(day)
        when = ", one day at a time, the newest day first" if by_day else ", those of no day" if day else ""
        yield Step(
            Phase.COPY,
            f"Copy the documents of {member.measurement}{named}{when}. This can be repeated.",
            f"{collection(place.database, member.measurement)}.aggregate({script([*first, *stages])})",
            "mongosh",
            cost="reads and writes all documents",
            repeat_every=A_DAY if by_day else None,
        )
