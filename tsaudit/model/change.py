"""What is to become of a schema: values that a rule gives with its finding, whatever the engine.

A change says what, never how. The audit merges the changes of all findings about one measurement into a plan
(`tsaudit.planning`), and the engine renders it (`tsaudit/engines/<engine>/changes.py`). A new kind of change is one
class here, or in another package, and one renderer for each engine that can make it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final

from tsaudit.model.subject import Subject

if TYPE_CHECKING:
    from pydantic_core import CoreSchema

Claim = tuple[str, str]
"""One thing about a measurement that can be only one way, such as `("role", "host")`: its aspect and its name."""

_KINDS: Final[dict[str, type[Change]]] = {}


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that is to become of a measurement or a database."""

    at: Subject
    """The measurement, or the database where its measurement is empty; never a column."""

    def __init_subclass__(cls, **options: Any) -> None:
        super(Change, cls).__init_subclass__(**options)
        _KINDS[kind_of(cls)] = cls

    def claims(self) -> Mapping[Claim, str]:
        """What it decides, and how. Two changes that decide the same thing in two ways contradict each other."""
        return {}

    def relies_on(self) -> Mapping[Claim, str]:
        """What it takes for granted. A change that decides otherwise makes it wrong."""
        return {}


def kind_of(change: Change | type[Change]) -> str:
    """The name of its kind, as JSON has it: `make-field`."""
    name = (change if isinstance(change, type) else type(change)).__name__
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


@dataclass(frozen=True, slots=True)
class UnknownChange(Change):
    """A change that a package made which is no longer installed."""

    name: str
    """Of its kind."""
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MakeField(Change):
    """A tag is written as a field from now on; in SQL it stays a column, outside the key."""

    tag: str
    to: str = ""
    """What its values are: `integer`, `float`, `boolean` or `time`; empty: as they are stored."""
    tags_kept: tuple[str, ...] = ()
    """Tags that tell the series apart without this one, and so have to stay."""

    def claims(self) -> Mapping[Claim, str]:
        role = {("role", self.tag): "field"}
        return role | {("type", self.tag): self.to} if self.to else role

    def relies_on(self) -> Mapping[Claim, str]:
        return {("role", tag): "tag" for tag in self.tags_kept}


@dataclass(frozen=True, slots=True)
class LeaveOut(Change):
    """A column is not written any more."""

    column: str

    def claims(self) -> Mapping[Claim, str]:
        return {("role", self.column): "none"}


@dataclass(frozen=True, slots=True)
class MakeTag(Change):
    """A field is written as a tag from now on; in SQL it becomes part of what identifies a row."""

    column: str

    def claims(self) -> Mapping[Claim, str]:
        return {("role", self.column): "tag"}


@dataclass(frozen=True, slots=True)
class Part:
    """One attribute of a value that holds several."""

    name: str
    example: str
    """Its value in `SplitColumn.example`."""


@dataclass(frozen=True, slots=True)
class SplitColumn(Change):
    """Each attribute within a column's values gets a column of its own."""

    column: str
    separator: str
    parts: tuple[Part, ...]
    """In their order within the value."""
    example: str
    is_tag: bool = True

    def claims(self) -> Mapping[Claim, str]:
        taken = {("new column", part.name): self.column for part in self.parts}
        return {("parts", self.column): "\x1f".join(p.name for p in self.parts)} | taken

    def relies_on(self) -> Mapping[Claim, str]:
        return {("role", self.column): "tag" if self.is_tag else "field"}


@dataclass(frozen=True, slots=True)
class Rename(Change):
    """A column, or the measurement where `old` is empty, gets another name."""

    old: str
    new: str
    role: str = ""
    """Which one is meant where a tag and a field have the name: `tag` or `field`. Empty: there is only one."""

    def claims(self) -> Mapping[Claim, str]:
        name = {("name", self.old): self.new}
        return name | {("new column", self.new): self.old} if self.old else name


@dataclass(frozen=True, slots=True)
class ChangeType(Change):
    """A field gets the type that its values have."""

    column: str
    to: str
    """`integer`, `float`, `boolean` or `time`."""
    exceptions: tuple[str, ...] = ()
    """Some of the values read that cannot be converted; none where all can."""

    def claims(self) -> Mapping[Claim, str]:
        return {("type", self.column): self.to}


@dataclass(frozen=True, slots=True)
class Merged:
    """One of the measurements that become one, and what its name says as values."""

    measurement: str
    tags: tuple[tuple[str, str], ...]
    field: str = ""
    """What it measures, where the end of its name says so; its only field is then called so."""


@dataclass(frozen=True, slots=True)
class MergeMeasurements(Change):
    """Measurements whose names differ in data only become one, with the data as tags. About the database."""

    into: str
    template: str
    """Their common name, with the kind in braces of each part that varies: `cpu.{host}.{field}`."""
    members: tuple[Merged, ...]
    """All of them, by name."""

    def claims(self) -> Mapping[Claim, str]:
        return {("merged", self.template): self.into}


@dataclass(frozen=True, slots=True)
class SplitMeasurement(Change):
    """Columns that belong together move to a measurement of their own, with the tags and the time."""

    name: str
    """Of the new one."""
    columns: tuple[str, ...]

    def claims(self) -> Mapping[Claim, str]:
        return {("measurement", column): self.name for column in self.columns}


@dataclass(frozen=True, slots=True)
class SetRetention(Change):
    """Rows get a lifetime."""

    keep: timedelta
    policy: str = ""
    """Of InfluxDB: the retention policy; empty elsewhere."""

    def claims(self) -> Mapping[Claim, str]:
        return {("retention", self.policy): str(self.keep)}


@dataclass(frozen=True, slots=True)
class DropIndex(Change):
    """An index that serves nothing goes."""

    index: str
    columns: tuple[str, ...] = ()
    method: str = ""

    def claims(self) -> Mapping[Claim, str]:
        # Of two indexes on the same columns one can go and the other stay.
        return {_index(self.method, self.columns, self.index): "absent", ("index called", self.index): "absent"}


@dataclass(frozen=True, slots=True)
class AddIndex(Change):
    """An index that serves queries is made."""

    columns: tuple[str, ...]
    method: str = ""
    """As the engine calls it, such as `brin` or `skipping`; empty: its usual one."""

    def claims(self) -> Mapping[Claim, str]:
        return {_index(self.method, self.columns, ""): "present"}


def _index(method: str, columns: tuple[str, ...], name: str) -> Claim:
    return ("index", "\x1f".join((method, *columns)) if columns else name)


@dataclass(frozen=True, slots=True)
class SetOption(Change):
    """A storage option gets another value."""

    option: str
    value: str
    """Empty: its default."""

    def claims(self) -> Mapping[Claim, str]:
        return {("option", self.option): self.value}


@dataclass(frozen=True, slots=True)
class DropRepeats(Change):
    """Of rows that are the same in all columns one stays."""

    found: str
    """How many there are, as far as it is known."""

    def claims(self) -> Mapping[Claim, str]:
        return {("repeated rows", ""): "dropped"}


@dataclass(frozen=True, slots=True)
class SetKey(Change):
    """The key, the time index or the partitions of a table become others."""

    key: tuple[str, ...] | None = None
    """In order; None: as it is."""
    time: str | None = None
    partitions: int | None = None
    """1: none; None: as they are."""
    only_with_copy: bool = False
    """It is not worth a copy of the table on its own."""

    def claims(self) -> Mapping[Claim, str]:
        found = {("time", ""): self.time, ("key", ""): None if self.key is None else "\x1f".join(self.key)}
        found[("partitions", "")] = None if self.partitions is None else str(self.partitions)
        return {claim: value for claim, value in found.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Inspect(Change):
    """Nothing changes: something is to be looked at first."""

    what: str
    """What the engine renders a query for: `new values` of a column, its `types`, the `schema` of a measurement, which
    `measurements` or `databases` there are, `sources` whose rows lack a column, rows of one of the `customers`."""
    column: str = ""
    values: tuple[str, ...] = ()
    """What is looked for: the types of a field; the beginning and the end of the databases' names."""


def to_data(change: Change) -> dict[str, Any]:
    """The change as JSON has it: its kind and its fields."""
    from pydantic import TypeAdapter

    if isinstance(change, UnknownChange):
        at = TypeAdapter(Subject).dump_python(change.at, mode="json")
        return {"kind": change.name, "at": at, **change.values}
    values: dict[str, Any] = TypeAdapter(type(change)).dump_python(change, mode="json")
    return {"kind": kind_of(change), **values}


def from_data(data: Any) -> Change:
    """What `to_data` made. Raises ValueError for something else."""
    from pydantic import TypeAdapter

    if not isinstance(data, dict) or not isinstance(data.get("kind"), str):
        raise ValueError("a change is an object with a kind")
    values = {key: value for key, value in data.items() if key != "kind"}
    cls = _KINDS.get(data["kind"])
    if cls is None:
        at = TypeAdapter(Subject).validate_python(values.pop("at", None))
        return UnknownChange(at, data["kind"], values)
    found: Change = TypeAdapter(cls).validate_python(values)
    return found


class _Codec:
    """Tells pydantic how a change is read and written, whose kinds are open."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(
            lambda value: value if isinstance(value, Change) else from_data(value),
            serialization=core_schema.plain_serializer_function_ser_schema(to_data),
        )


AnyChange = Annotated[Change, _Codec()]
"""A change of any kind, as a field of what is kept as JSON."""


def kinds() -> Iterator[type[Change]]:
    """All kinds that are known, by name."""
    yield from (cls for name, cls in sorted(_KINDS.items()) if cls is not UnknownChange)
