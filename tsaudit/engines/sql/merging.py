"""Tables of a SQL database that become one, with the data in their names as columns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tsaudit.engines.quoting import quote_text
from tsaudit.engines.rendering import Place, Renderer
from tsaudit.engines.sql.dialect import a_day_of, of_no_day
from tsaudit.model.change import Merged, MergeMeasurements
from tsaudit.model.plan import Phase, Step
from tsaudit.model.profile import Measurement
from tsaudit.text import listed, many

_MOST: Final = 100
"""Tables that a plan lists statements for, one each."""


@dataclass(frozen=True, slots=True)
class Merger:
    """The table that several become."""

    into: str
    types: Mapping[str, str]
    """Column to its type, in order: what the names say, then the columns of the tables."""
    key: tuple[str, ...]
    """What identifies a row; empty where the tables have no key."""
    time: str | None
    members: tuple[tuple[Merged, Measurement], ...]
    told: tuple[str, ...]
    """The columns that hold what the names say, in the order of `Merged.tags`."""


Create = Callable[[Place, Merger], str]
"""The statement that creates the table."""


def create_table(text: str) -> Create:
    """As standard SQL has it. `text`: the type of columns for texts."""

    def create(place: Place, merger: Merger) -> str:
        types = {**dict.fromkeys(merger.told, text), **merger.types}
        lines = [f"{place.quoted([name])} {kind}" for name, kind in types.items()]
        lines += [f"UNIQUE ({place.quoted(merger.key)})"] if merger.key else []
        body = ",\n".join(f"  {line}" for line in lines)
        return f"CREATE TABLE {place.table(merger.into)} (\n{body}\n)"

    return create


def renderer(create: Create, taken: Callable[[Place], set[str]], fold: bool = True) -> Renderer:
    """`taken`: names that no new table can have; `fold`: whether names that differ in case only are one."""

    def merge(place: Place, changes: Sequence[MergeMeasurements]) -> Iterator[Step]:
        inside = {m.name: m for m in place.profile.measurements if m.database == place.database}
        used = taken(place) | set(inside)
        for change in changes:
            folded = {name.casefold() if fold else name for name in used}
            numbered = (f"{change.into}_{number}" for number in range(2, len(used) + 3))
            into = next(one for one in (change.into, *numbered) if (one.casefold() if fold else one) not in folded)
            used.add(into)
            yield from _merged(place, change, into, inside, create)

    return merge


def _merged(
    place: Place, change: MergeMeasurements, into: str, inside: Mapping[str, Measurement], create: Create
) -> Iterator[Step]:
    names = [member.measurement for member in change.members]
    merger, first = _merger(change, into, inside), change.members[0]
    told = [name for name, _ in first.tags] if isinstance(merger, str) else merger.told
    said = [f"{name}={value}" for name, (_, value) in zip(told, first.tags, strict=True)]
    yield Step(
        Phase.WRITE,
        f"Write to {into}{f', with {listed(said, 8)} in columns of their own' if said else ''}, instead of to "
        f"{names[0]}.",
    )
    if isinstance(merger, str):
        tables = many(len(names), "table")
        yield Step(
            Phase.COPY,
            f"Have a script copy the rows of the {tables} into {into}, one day at a time, with what the names say as "
            f"columns: {merger}.",
            cost="reads and writes all rows",
        )
        yield Step(Phase.SWITCH, f"Have writers and queries use {into}.")
        yield Step(
            Phase.REMOVE,
            f"Drop the {tables} once {into} has as many rows as they have, and nobody needs them.",
            can_undo=False,
            loses=f"the {tables}, whose rows are in {into} by then",
        )
        return
    yield Step(Phase.PREPARE, f"Create {into}.", f"{create(place, merger)};", "sql")
    for member, measurement in merger.members:
        yield from _copied(place, merger, member, measurement)
    tables = " UNION ALL ".join(f"SELECT count(*) AS n FROM {place.table(name)}" for name in names)  # noqa: S608
    counts = [
        f"SELECT sum(n) FROM ({tables}) AS each_one;",  # noqa: S608 -- shown, never run
        f"SELECT count(*) FROM {place.table(into)};",  # noqa: S608
    ]
    words = "Compare the counts: they must be equal."
    yield Step(Phase.CHECK, words, "\n".join(counts), "sql", cost="reads all rows")
    yield Step(Phase.SWITCH, f"Have writers and queries use {into}.")
    for name in names:
        yield Step(
            Phase.REMOVE,
            f"Drop {name} once its rows are in {into} and nobody needs it.",
            f"DROP TABLE {place.table(name)};",
            "sql",
            can_undo=False,
            loses=f"{name}, whose rows are in {into} by then",
        )


def _merger(change: MergeMeasurements, into: str, inside: Mapping[str, Measurement]) -> Merger | str:
    """How they become one; or why statements cannot say it, as the end of a sentence."""
    if len(change.members) > _MOST:
        return "there are too many to list"
    unknown = [member.measurement for member in change.members if member.measurement not in inside]
    if unknown:
        return f"the audit did not look at {listed(unknown)}"
    members = tuple((member, inside[member.measurement]) for member in change.members)
    if any(tag.label_of for _, measurement in members for tag in measurement.tags):
        return "some of their tags are labels in one column"
    types: dict[str, str] = {}
    for member, measurement in members:
        for name, kind in _types(member, measurement).items():
            if types.setdefault(name, kind).casefold() != kind.casefold():
                return f"{name} is not of one type in all of them"
    if len({measurement.time_column for _, measurement in members}) > 1:
        return "their times are in columns of different names"
    keys = {_key(measurement) for _, measurement in members}
    if len(keys) > 1 and () not in keys:
        return "their keys differ"
    key = keys.pop() if len(keys) == 1 else ()
    told = tuple(_beside(name, types) for name, _ in members[0][0].tags)
    return Merger(into, types, (*told, *key) if key else (), members[0][1].time_column, members, told)


def _beside(name: str, columns: Collection[str]) -> str:
    """A name for what a table's name says, if the tables have a column of that name, too."""
    taken = {column.casefold() for column in columns}
    numbered = (f"{name}_in_name{number}" for number in ("", *(f"_{n}" for n in range(2, len(taken) + 3))))
    return next(one for one in (name, *numbered) if one.casefold() not in taken)


def _types(member: Merged, measurement: Measurement) -> dict[str, str]:
    """Columns by the names that they have in the new table."""
    known = {tag.key: tag.data_type for tag in measurement.tags} | {f.key: f.types[0] for f in measurement.fields}
    only = len(measurement.fields) == 1 and bool(member.field)
    renamed = {measurement.fields[0].key: member.field} if only else {}
    time = {measurement.time_column: measurement.time_type or "TIMESTAMP"} if measurement.time_column else {}
    return time | {renamed.get(name, name): kind for name, kind in known.items()}


def _key(measurement: Measurement) -> tuple[str, ...]:
    found = (i.columns for i in measurement.indexes or () if i.constraint and None not in i.columns)
    return next((tuple(str(c) for c in columns) for columns in found), ())


def _copied(place: Place, merger: Merger, member: Merged, measurement: Measurement) -> Iterator[Step]:
    engine, types = place.profile.engine, _types(member, measurement)
    own = {**{name: name for name in types}}
    if member.field and len(measurement.fields) == 1:
        own[member.field] = measurement.fields[0].key
    into = place.quoted([*merger.told, *types])
    selected = ", ".join(
        [*(quote_text(engine, value) for _, value in member.tags), *(place.quoted([c]) for c in own.values())]
    )
    here = replace(place, measurement=measurement)
    day, every = a_day_of(here)
    text = f"INSERT INTO {place.table(merger.into)} ({into}) SELECT {selected} FROM {place.table(measurement.name)}"  # noqa: S608
    when = ", one day at a time, the newest day first" if every else ""
    yield Step(
        Phase.COPY,
        f"Copy the rows of {measurement.name}{when}. Copy each day once.",
        f"{text}{f' WHERE {day}' if day else ''};",
        "sql",
        cost="reads and writes all rows",
        repeat_every=every,
    )
    if day:
        words = f"Copy the rows of {measurement.name} without a time."
        yield Step(Phase.COPY, words, f"{text} WHERE {of_no_day(here)};", "sql")
