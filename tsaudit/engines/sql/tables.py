"""What plans need to know of a table, and the table that replaces several."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tsaudit.analysis.columns.columns import is_text
from tsaudit.engines.advice import Place, free
from tsaudit.model.change import Merged, MergeMeasurements
from tsaudit.model.profile import Measurement
from tsaudit.text import listed, many
from tsaudit.text.table_roles import CONFIGURED

_A_DAY_S: Final = 86_400


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


def merged_table(place: Place, change: MergeMeasurements, *, folds_case: bool) -> MergedTable | str:
    """The merged table, or why it cannot be determined, as the end of a sentence.

    `folds_case`: whether names that differ only in case are the same.
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
    name = free(change.into, relations(place), folds_case)
    first = members[0][1]
    return MergedTable(name, types, data, (*data, *key) if key else (), first.time_column, first)


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


def is_declared(here: Measurement) -> bool:
    """Whether tsaudit.yaml has a line for the table."""
    reasons = (*(tag.role_reason for tag in here.tags), *(field.role_reason for field in here.fields))
    return CONFIGURED in (here.kind_reason, here.time_reason, *reasons)


def constraint_of(measurement: Measurement, column: str) -> str:
    """The key or other constraint that includes the column, or the partitioning; empty if there is none."""
    key = next((i.name for i in measurement.indexes or () if i.constraint and column in i.columns), "")
    cut = measurement.partitioning
    # PostgreSQL shows a name with quotes where it needs them, and an expression as a whole.
    by = cut is not None and any(column == part.strip('"') or f"({column}" in part for part in cut.key)
    return key or ("the partitioning" if by else "")


def holds_text(measurement: Measurement, column: str) -> bool:
    """Whether one of the column's types is that of a text."""
    known: dict[str, Sequence[str]] = {tag.key: (tag.data_type,) for tag in measurement.tags}
    return any(map(is_text, (known | {field.key: field.types for field in measurement.fields}).get(column, ())))


def expires(measurement: Measurement) -> str:
    """When stored rows go by themselves; empty where they do not, or it is not known."""
    held = measurement.retention
    if held is None or not isinstance(held.duration_s, int) or held.duration_s <= 0:
        return ""
    return f" They expire after {many(max(1, round(held.duration_s / _A_DAY_S)), 'day')}."


def relations(place: Place) -> set[str]:
    """Names of tables and indexes: most databases keep them in one namespace."""
    beside = [m for m in place.profile.measurements if m.database == place.database]
    return {m.name for m in beside} | {i.name for m in beside for i in m.indexes or ()}
