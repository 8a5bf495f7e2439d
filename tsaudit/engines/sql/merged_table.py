"""The table that replaces several tables whose names differ only in data, with that data as columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tsaudit.engines.advice import Place
from tsaudit.model.change import Merged, MergeMeasurements
from tsaudit.model.profile import Measurement
from tsaudit.text import listed


@dataclass(frozen=True, slots=True)
class MergedTable:
    """The columns of the merged table."""

    name: str
    types: Mapping[str, str]
    """Each column of the old tables to its type; the time comes first."""
    data: tuple[str, ...]
    """The columns for the data in the old names, in the order of `Merged.tags`."""
    key: tuple[str, ...]
    """The columns that identify a row; empty if the old tables have no key."""
    time: str | None
    first: Measurement
    """One of the old tables."""

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of the table: the time and the data in the old names come first."""
        time = tuple(name for name in self.types if name == self.time)
        return (*time, *self.data, *(name for name in self.types if name not in time))


def merged_table(
    place: Place, change: MergeMeasurements, folds_case: bool, taken: Collection[str]
) -> MergedTable | str:
    """The merged table, or why it cannot be determined, as the end of a sentence.

    `folds_case`: whether names that differ only in case are the same. `taken`: names that the table cannot have.
    """
    inside = {m.name: m for m in place.profile.measurements if m.database == place.database}
    if unknown := [m.measurement for m in change.members if m.measurement not in inside]:
        return f"the audit did not read {listed(unknown, 4)}"
    members = [(member, inside[member.measurement]) for member in change.members]
    if any(tag.label_of for _, measurement in members for tag in measurement.tags):
        return "some of their tags are labels in one column"
    types: dict[str, str] = {}
    for member, measurement in members:
        for name, kind in _types(member, measurement).items():
            if types.setdefault(name, kind).casefold() != kind.casefold():
                return f"{name} does not have the same type in all of them"
    if len({measurement.time_column for _, measurement in members}) > 1:
        return "their time columns have different names"
    keys = {_key(measurement) for _, measurement in members}
    if len(keys) > 1 and () not in keys:
        return "their keys differ"
    key = keys.pop() if len(keys) == 1 else ()
    data = tuple(_beside(name, types) for name, _ in members[0][0].tags)
    name = free(change.into, taken, folds_case)
    first = members[0][1]
    return MergedTable(name, types, data, (*data, *key) if key else (), first.time_column, first)


def free(name: str, taken: Collection[str], folds_case: bool) -> str:
    """The name or, if it is taken, the name with the lowest free number appended."""
    used = {t.casefold() for t in taken} if folds_case else set(taken)

    def is_free(one: str) -> bool:
        return (one.casefold() if folds_case else one) not in used

    numbered = (f"{name}_{number}" for number in range(2, len(used) + 3))
    return name if is_free(name) else next(one for one in numbered if is_free(one))


def _beside(name: str, columns: Collection[str]) -> str:
    """The name of a column for data from a table's name, changed if the tables already have a column with that name."""
    taken = {column.casefold() for column in columns}
    numbered = (f"{name}_in_name{number}" for number in ("", *(f"_{n}" for n in range(2, len(taken) + 3))))
    return next(one for one in (name, *numbered) if one.casefold() not in taken)


def _types(member: Merged, measurement: Measurement) -> dict[str, str]:
    """The columns and their types, under the names that they have in the new table."""
    only = len(measurement.fields) == 1 and bool(member.field)
    renamed = {measurement.fields[0].key: member.field} if only else {}
    return {renamed.get(name, name): kind for name, kind in types_of(measurement).items()}


def types_of(measurement: Measurement) -> dict[str, str]:
    """The table's columns, the time first, to their types as in the catalog."""
    time = {measurement.time_column: measurement.time_type or "TIMESTAMP"} if measurement.time_column else {}
    tags = {tag.key: tag.data_type for tag in measurement.tags if not tag.label_of}
    return time | tags | {field.key: field.types[0] for field in measurement.fields if field.types}


def _key(measurement: Measurement) -> tuple[str, ...]:
    found = (i.columns for i in measurement.indexes or () if i.constraint and None not in i.columns)
    return next((tuple(str(c) for c in columns) for columns in found), ())
