"""Changes to a schema: values that a rule attaches to its finding, independent of the engine.

A change states what to change, never how. The audit puts the changes of all findings about one measurement into a plan
(`tsaudit.planning`), and the engine provides the statements (`tsaudit/engines/<engine>/advice.py`). To add a kind
of change, add one class here, or in another package, and the advice of each engine that can make it.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from typing import Annotated, Any, ClassVar, Final

from pydantic_core import CoreSchema, SchemaSerializer, core_schema

from tsaudit.model.figures import Subject
from tsaudit.model.jsonfile import adapter, to_plain

Claim = tuple[str, str]
"""One aspect of a measurement that can have only one state, such as `("role", "host")`: the aspect and its name."""

_KINDS: Final[dict[str, type[Change]]] = {}


@dataclass(frozen=True, slots=True)
class Change:
    """One change to a measurement or a database."""

    at: Subject
    """The measurement, or the database if its measurement is empty; never a column."""

    __pydantic_serializer__: ClassVar = SchemaSerializer(
        core_schema.any_schema(
            serialization=core_schema.plain_serializer_function_ser_schema(lambda change: to_data(change))
        )
    )
    """How pydantic writes a change of any kind, wherever it is."""

    def __init_subclass__(cls, **options: Any) -> None:
        super(Change, cls).__init_subclass__(**options)
        _KINDS[kind_of(cls)] = cls

    def claims(self) -> Mapping[Claim, str]:
        """The aspects that the change decides, and how. Two that decide one differently contradict each other."""
        return {}

    def relies_on(self) -> Mapping[Claim, str]:
        """The states of aspects that the change assumes. A change that decides one otherwise makes it invalid."""
        return {}

    def likeness(self) -> Hashable:
        """A key that is equal for the same change of another measurement: one plan then covers both."""
        return tuple(sorted(self.claims().items()))


def kind_of(change: Change | type[Change]) -> str:
    """The name of the change's kind, as in JSON: `make-field`."""
    name = (change if isinstance(change, type) else type(change)).__name__
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


@dataclass(frozen=True, slots=True)
class UnknownChange(Change):
    """A change from a package that is no longer installed."""

    name: str
    """Its kind, as in JSON."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """The fields of its kind."""


@dataclass(frozen=True, slots=True)
class MakeField(Change):
    """Write a tag as a field from now on; in SQL, it remains a column, outside the key."""

    tag: str
    to: str = ""
    """Type of the values: `integer`, `float`, `boolean`, or `time`; empty: as stored."""
    tags_kept: tuple[str, ...] = ()
    """Tags that distinguish the series without this one, so they have to stay."""

    def claims(self) -> Mapping[Claim, str]:
        role = {("role", self.tag): "field"}
        return role | {("type", self.tag): self.to} if self.to else role

    def relies_on(self) -> Mapping[Claim, str]:
        return {("role", tag): "tag" for tag in self.tags_kept}


@dataclass(frozen=True, slots=True)
class LeaveOut(Change):
    """Stop writing a column."""

    column: str

    def claims(self) -> Mapping[Claim, str]:
        return {("role", self.column): "none"}


@dataclass(frozen=True, slots=True)
class StopSource(Change):
    """Stop or change the one source that adds values to a tag, which other sources need."""

    tag: str
    """The tag that gets the values, and stays."""
    by: str
    """The tag that has one value in the new series."""
    value: str
    """That value, redacted unless it is a name."""
    is_apart: bool = False
    """Whether `value` is the value itself, and all series with it came with new values of `tag`: then they can be
    deleted without those of other sources.
    """

    def claims(self) -> Mapping[Claim, str]:
        return {("role", self.tag): "tag", ("source", self.by): self.value}

    def relies_on(self) -> Mapping[Claim, str]:
        return {("role", self.by): "tag"}


@dataclass(frozen=True, slots=True)
class MakeTag(Change):
    """Write a field as a tag from now on; in SQL, it becomes part of what identifies a row."""

    column: str

    def claims(self) -> Mapping[Claim, str]:
        return {("role", self.column): "tag"}


@dataclass(frozen=True, slots=True)
class ColumnPart:
    """One attribute of a value, or of a name, that combines several."""

    name: str
    example: str
    """The text of this part in the example; redacted in a change, because changes are stored and shown."""


@dataclass(frozen=True, slots=True)
class SplitColumn(Change):
    """Split a column into one column for each attribute of its values."""

    column: str
    parts: tuple[ColumnPart, ...]
    """The parts in their order within the value."""
    example: str
    is_tag: bool = True

    def claims(self) -> Mapping[Claim, str]:
        taken = {("new column", part.name): self.column for part in self.parts}
        return {("parts", self.column): "\x1f".join(p.name for p in self.parts)} | taken

    def relies_on(self) -> Mapping[Claim, str]:
        return {("role", self.column): "tag" if self.is_tag else "field"}


@dataclass(frozen=True, slots=True)
class Rename(Change):
    """Rename a column, or the measurement if `old` is empty."""

    old: str
    new: str
    role: str = ""
    """Which column is meant if a tag and a field share the name: `tag` or `field`. Empty: only one column has it."""

    def claims(self) -> Mapping[Claim, str]:
        name = {("name", self.old): self.new}
        return name | {("new column", self.new): self.old} if self.old else name

    def relies_on(self) -> Mapping[Claim, str]:
        return {("role", self.old): "both"} if self.role else {}

    def likeness(self) -> Hashable:
        # Each measurement has a different name, so its own name is left out.
        return Change.likeness(self) if self.old else ()


@dataclass(frozen=True, slots=True)
class ChangeType(Change):
    """Give a field the type of its values."""

    column: str
    to: str
    """`integer`, `float`, `decimal`, `boolean`, `time`, or `date`; `decimal` and `date` only on engines whose
    `sql_types` have them.
    """
    exceptions: tuple[str, ...] = ()
    """Some of the values read that cannot be converted; empty if all of them can."""

    def claims(self) -> Mapping[Claim, str]:
        return {("type", self.column): self.to}


@dataclass(frozen=True, slots=True)
class Merged:
    """One of the measurements to merge, and the data in its name as values."""

    measurement: str
    tags: tuple[tuple[str, str], ...]
    field: str = ""
    """The field that the end of its name stands for; its only field then gets this name. Empty if there is none."""


@dataclass(frozen=True, slots=True)
class MergeMeasurements(Change):
    """Merge measurements whose names differ only in data into one, with the data as tags. About the database."""

    into: str
    template: str
    """Their common name, with the kind of each part that varies in braces: `cpu.{host}.{field}`."""
    members: tuple[Merged, ...]
    """The measurements to merge, sorted by name."""

    def claims(self) -> Mapping[Claim, str]:
        return {("merged", self.template): self.into}


@dataclass(frozen=True, slots=True)
class SplitMeasurement(Change):
    """Move columns that belong together to a measurement of their own, with the tags and the time."""

    name: str
    """Name of the new measurement."""
    columns: tuple[str, ...]

    def claims(self) -> Mapping[Claim, str]:
        return {("measurement", column): self.name for column in self.columns}


@dataclass(frozen=True, slots=True)
class SetRetention(Change):
    """Set the retention of the rows."""

    keep: timedelta
    policy: str = ""
    """On InfluxDB: the retention policy; empty elsewhere."""

    def claims(self) -> Mapping[Claim, str]:
        return {("retention", self.policy): str(self.keep)}


@dataclass(frozen=True, slots=True)
class DropIndex(Change):
    """Drop an index that no query needs."""

    index: str
    columns: tuple[str, ...] = ()
    method: str = ""
    instead: str = ""
    """The index that replaces it and so has to stay; empty if none is needed."""

    def claims(self) -> Mapping[Claim, str]:
        # Of two indexes on the same columns, one can be dropped while the other stays.
        return {_index(self.method, self.columns, self.index): "absent", ("existence", self.index): "absent"}

    def relies_on(self) -> Mapping[Claim, str]:
        return {("existence", self.instead): "present"} if self.instead else {}

    def likeness(self) -> Hashable:
        # Index names contain the names of their tables.
        return self.method, self.columns


@dataclass(frozen=True, slots=True)
class AddIndex(Change):
    """Create an index that queries need."""

    columns: tuple[str, ...]
    method: str = ""
    """The engine's name for it, such as `brin` or `skipping`; empty: the engine's default."""

    def claims(self) -> Mapping[Claim, str]:
        return {_index(self.method, self.columns, ""): "present"}


def _index(method: str, columns: tuple[str, ...], name: str) -> Claim:
    return ("index", "\x1f".join((method, *columns)) if columns else name)


@dataclass(frozen=True, slots=True)
class AddPartitions(Change):
    """Create partitions for upcoming times, before rows arrive for which there is no partition."""

    partitions: tuple[tuple[str, str], ...]
    """Name and bounds of each partition, in the engine's own words."""
    schema: str = ""
    """The schema to create them in; empty for the table's."""

    def claims(self) -> Mapping[Claim, str]:
        return {("partition", name): bounds for name, bounds in self.partitions}


@dataclass(frozen=True, slots=True)
class SetOption(Change):
    """Change the value of a storage option."""

    option: str
    value: str
    """The new value; empty: the option's default."""

    def claims(self) -> Mapping[Claim, str]:
        return {("option", self.option): self.value}


@dataclass(frozen=True, slots=True)
class DropRepeats(Change):
    """Remove duplicate rows: of rows that are equal in all columns, keep one."""

    found: str
    """Number of duplicate rows, as far as it is known."""
    key: tuple[str, ...] = ()
    """Columns of which copies, but hardly any other rows, have the same values; empty if not known."""
    ignored: tuple[str, ...] = ()
    """Columns in which duplicate rows may differ, such as the time of a load."""
    identifies_rows: bool = False
    """Whether the key identifies a row, so that a unique index on it keeps the next ones out, and no other rows."""

    def claims(self) -> Mapping[Claim, str]:
        return {("repeated rows", ""): "dropped"}


@dataclass(frozen=True, slots=True)
class DropPartitions(Change):
    """Store the rows of a table without partitions."""

    def claims(self) -> Mapping[Claim, str]:
        return {("partitions", ""): "1"}


@dataclass(frozen=True, slots=True)
class Diagnose(Change):
    """Change nothing yet, but investigate with the query in the plan's first step."""

    what: str
    """What the query looks for: `new values` of a column, its `types`, the `schema` of a measurement, from when to when
    its rows are (`growth`), the existing `measurements`, or `sources` whose rows lack a column.
    """
    column: str = ""
    values: tuple[str, ...] = ()
    """Details of what to look for: the types of a field."""

    def relies_on(self) -> Mapping[Claim, str]:
        return {("role", self.column): "both"} if self.what == "both" else {}

    def likeness(self) -> Hashable:
        return self.what, self.column, self.values


def to_data(change: Change) -> dict[str, Any]:
    """The change as JSON values: its kind and its fields."""
    if isinstance(change, UnknownChange):
        return {"kind": change.name, "at": to_plain(change.at), **change.values}
    return {"kind": kind_of(change)} | {one.name: to_plain(getattr(change, one.name)) for one in fields(change)}


def from_data(data: Any) -> Change:
    """The change from the output of `to_data`. Raises ValueError for anything else."""
    if not isinstance(data, dict) or not isinstance(data.get("kind"), str):
        raise ValueError("a change is an object with a kind")
    values = {key: value for key, value in data.items() if key != "kind"}
    cls = _KINDS.get(data["kind"])
    if cls is None:
        at = adapter(Subject).validate_python(values.pop("at", None))
        return UnknownChange(at, data["kind"], values)
    found: Change = adapter(cls).validate_python(values)
    return found


class _Reader:
    """Tells pydantic how to read changes, whose kinds other packages can extend."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            lambda value: value if isinstance(value, Change) else from_data(value),
        )


AnyChange = Annotated[Change, _Reader()]
"""A change of any kind, as a field of data that is stored as JSON."""
