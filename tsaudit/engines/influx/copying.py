"""Copies that a program makes, since no statement can: which columns it reads, and what it writes of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from tsaudit.engines.influx.merging import Merge
from tsaudit.engines.influx.telegraf import value_pattern
from tsaudit.engines.rendering import Place
from tsaudit.engines.rewriting import Column, Rewriting
from tsaudit.model.change import OLD_TEXT, Merged
from tsaudit.model.plan import Copied, Copy
from tsaudit.model.profile import Measurement
from tsaudit.text import listed

NUMBERS: Final = frozenset({"float", "integer", "unsigned"})
"""Types of fields that statements convert to each other."""
AS_LISTED: Final = "Leave out what has no value. The plan's JSON lists the columns and their types (`copy`)."
"""How a program knows what to write: sentences for the end of a step's words."""


def clashes(column: Column) -> bool:
    """Whether values of one type would hide those of another."""
    return len(column.types) > 1 and not set(column.types) <= NUMBERS


def kinds(column: Column) -> tuple[str, ...]:
    """The types that values of a field are read as, one after the other: numbers as one type."""
    numbers = [kind for kind in column.types if kind in NUMBERS]
    others = [kind for kind in column.types if kind not in NUMBERS]
    return (*(("float" if "float" in numbers else numbers[0],) if numbers else ()), *others)


def read_as(column: Column, kind: str) -> str:
    """The name that values of a type are read under: those of the first type keep that of the field."""
    return column.old if kind == kinds(column)[0] else f"{column.new}_{kind}"


def rewritten(rewrite: Rewriting, target: str, *, renamed: bool = False) -> Copy:
    """What becomes of the points of a measurement in one that takes its place.

    `renamed`: the statement returns columns by their new names, and not by those that are stored.
    """
    wanted = [*rewrite.tags, *rewrite.fields_of(target)]
    taken = {column.new for column in rewrite.columns if column.split is None}
    taken |= {part.name for column in rewrite.columns if column.split for part in column.split.parts}
    columns: list[Copied] = []
    for column in wanted:
        for one in _copied(column):
            name = column.new if renamed else one.column
            columns.append(replace(one, column=name, unfit=_free(one.unfit, taken)))
    return Copy(_place(rewrite.place, rewrite.place.here), target, tuple(columns))


def _copied(column: Column) -> Iterator[Copied]:
    if column.was_tag:
        yield _made(column, Copied(column.old, was_tag=True, name=column.new, is_tag=column.is_tag, type="string"))
    for number, kind in enumerate(() if column.was_tag else kinds(column)):
        name = read_as(column, kind)
        # Under one name, the second type would be refused, unless it is converted or becomes a tag.
        own = number and not column.is_tag and not column.to
        found = Copied(name, was_tag=False, name=name if own else column.new, is_tag=column.is_tag, type=kind)
        yield _made(column, found)


def _made(column: Column, found: Copied) -> Copied:
    """With what is made of its values."""
    if column.split is not None:
        if not (pattern := value_pattern(column.split)) or found.type != "string":
            return found
        parts = tuple(part.name for part in column.split.parts)
        return replace(found, name=column.old, pattern=pattern, parts=parts, unfit=column.old)
    if column.to and not column.is_tag and column.to != found.type:
        end = OLD_TEXT if found.type == "string" else f"_{found.type}"
        return replace(found, to=column.to, unfit=f"{column.new}{end}")
    return found


def _free(name: str, taken: set[str]) -> str:
    """The name, numbered if another column has it; empty stays empty."""
    numbered = (f"{name}_{number}" for number in range(2, len(taken) + 3))
    return name if not name or name not in taken else next(one for one in numbered if one not in taken)


def _place(place: Place, measurement: Measurement) -> tuple[str, ...]:
    return measurement.path or (place.database,)


def in_words(copy: Copy) -> str:
    """What a program has to know of the values, beside what becomes of the columns: sentences."""
    return " ".join([*_unfit(copy), AS_LISTED])


def _unfit(copy: Copy) -> Iterator[str]:
    """Where values go that do not convert."""
    typed = [f"{c.name} in {c.unfit}" for c in copy.columns if c.to and c.unfit]
    if typed:
        yield f"Keep values that do not convert as they are: those of {listed(typed, 20)}."
    for column in copy.columns:
        if column.parts:
            yield f"Keep values of {column.column} whole, in {column.unfit}, if they do not have all attributes."


# --- Measurements that become one ------------------------------------------------------------------------------------


def merged(place: Place, one: Merge, inside: Mapping[str, Measurement]) -> dict[str, Copy]:
    """What becomes of the points of each member, by its name; members that the audit did not look at are missing."""
    known = [(member, inside[member.measurement]) for member in one.change.members if member.measurement in inside]
    types: dict[str, set[str]] = defaultdict(set)
    for member, measurement in known:
        for column in _of_member(member, measurement):
            types[column.name] |= set() if column.is_tag else {column.type}
    return {
        member.measurement: Copy(
            _place(place, measurement),
            one.into,
            tuple(_settled(column, types[column.name]) for column in _of_member(member, measurement)),
            member.tags,
        )
        for member, measurement in known
    }


def of_member(one: Merge, member: Merged, copy: Copy) -> str:
    """What a program does with the points of one member: the end of a sentence, and more of them."""
    tags = ", ".join(f"{name}={value}" for name, value in member.tags)
    told = f"{one.into}{f' with {tags}' if tags else ''}"
    renamed = [f"{c.column} as {c.name}" for c in copy.columns if c.name != c.column]
    names = f" Write {listed(renamed, 20)}." if renamed else ""
    return (
        f"write a program that reads the stored points of {member.measurement}, one day at a time, and writes them to "
        f"{told}.{names} {in_words(copy)}"
    )


def _of_member(member: Merged, measurement: Measurement) -> Iterator[Copied]:
    for tag in measurement.tags:
        yield Copied(tag.key, was_tag=True, name=tag.key, is_tag=True, type="string")
    for field in measurement.fields:
        column = Column(field.key, field.key, was_tag=False, is_tag=False, types=field.types)
        for number, kind in enumerate(kinds(column)):
            name = member.field if member.field and len(measurement.fields) == 1 else field.key
            name = f"{name}_{kind}" if number else name
            yield Copied(read_as(column, kind), was_tag=False, name=name, is_tag=False, type=kind)


def _settled(column: Copied, types: set[str]) -> Copied:
    """With the type or the name by which members whose types differ write one field."""
    if column.is_tag or len(types) < 2:
        return column
    if column.type in NUMBERS:
        return replace(column, to="" if column.type == "float" else "float")
    return replace(column, name=f"{column.name}_{column.type}") if types & NUMBERS else column
