"""How an audit reads a SQL table: the kind of its rows, the roles of its columns, and the setting that changes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tsaudit.text import listed, many

if TYPE_CHECKING:
    from tsaudit.model.profile import Measurement

_MOST_FIELDS: Final = 12
"""Most fields that a setting names. Fields of wider tables are nearly all numbers, whose role is not in doubt."""

NOT_READ: Final = "unknown"
"""Shown as the kind of a table of which no row was read."""
_NOT_READ_REASON: Final = "no row was read"

CONFIGURED: Final = "set in tsaudit.yaml"
"""The reason of a role from the configuration."""
NOT_EVALUATED: Final = "without values to look at"
"""The end of the reason if the role of a column was guessed without values."""
_GUESSED: Final = (NOT_EVALUATED, "with short values", "times on average", "that name things")
"""How the reasons of roles end that were guessed from names and values."""

IN_KEY: Final = "part of the table's key, with the time"
OUTSIDE_KEY: Final = "outside the table's key"
KEY_ALONE: Final = "the table's key alone: each row has a different value"
DECLARED: Final = "the engine keeps it as a "
"""How the reasons begin that follow from an engine's declaration of roles."""
_OF_SCHEMA: Final = frozenset(
    (
        "",
        IN_KEY,
        OUTSIDE_KEY,
        KEY_ALONE,
        # The reasons that TimescaleDB's catalog gives.
        "a dimension of the hypertable",
        "compressed chunks are segmented by it",
    )
)


def is_guess(reason: str) -> bool:
    """Whether a tag with this reason was guessed from names and values: no engine declaration, key of the table,
    dimension of a hypertable, column of labels, or configuration makes it a tag.
    """
    return reason.endswith(_GUESSED)


def is_from_schema(reason: str) -> bool:
    """Whether a role with this reason follows from the schema: the engine declares it, or the table's key decides it.
    The configuration, the kind of the rows, and values do not.
    """
    return reason in _OF_SCHEMA or reason.startswith(DECLARED)


def guessed_tags(measurement: Measurement) -> list[str]:
    """The tags that are only a guess, for somebody to confirm; none of a table of which no row was read, because
    nothing there is known to confirm.
    """
    return [tag.key for tag in measurement.tags if measurement.kind is not None and is_guess(tag.role_reason)]


@dataclass(frozen=True, slots=True)
class TableRoles:
    """How the audit reads a table and its columns."""

    name: str
    kind: str
    """`series`, `events`, and so on; `NOT_READ` if no row was read."""
    kind_reason: str
    time: str
    """The time column; empty if there is none."""
    time_reason: str
    tags: tuple[str, ...]
    fields: int

    def __str__(self) -> str:
        """`series; time column ts; tags host and region; 3 fields`."""
        time = f"time column {self.time}" if self.time else "no time column"
        tags = f"{'tag' if len(self.tags) == 1 else 'tags'} {listed(self.tags)}" if self.tags else "no tags"
        return f"{self.kind}; {time}; {tags}; {many(self.fields, 'field')}"


def table_roles(measurement: Measurement) -> TableRoles:
    """The roles of a table's columns, as inferred, declared, or configured."""
    kind = measurement.kind
    return TableRoles(
        name=measurement.name,
        kind=kind.words if kind else NOT_READ,
        kind_reason=measurement.kind_reason if kind else _NOT_READ_REASON,
        time=measurement.time_column or "",
        time_reason=measurement.time_reason,
        tags=tuple(tag.key for tag in measurement.tags),
        fields=len(measurement.fields),
    )


def override(measurement: Measurement) -> str:
    """The setting, to edit and paste: `readings: {kind: series, time: ts, tags: [host], fields: [value]}`."""
    import yaml

    said: dict[str, Any] = {}
    if measurement.kind is not None:
        said["kind"] = str(measurement.kind)
    if measurement.time_column:
        said["time"] = measurement.time_column
    # A table of another kind must not name tags: they would make it a table of series.
    if measurement.kind is not None and measurement.kind.has_series:
        # A label is part of a column. It is named in the setting only to be excluded, so none has to be listed to be
        # kept.
        if tags := [tag.key for tag in measurement.tags if not tag.label_of]:
            said["tags"] = tags
        fields = [field.key for field in measurement.fields]
        if 0 < len(fields) <= _MOST_FIELDS:
            said["fields"] = fields
    line = yaml.safe_dump(
        {measurement.name: said}, default_flow_style=True, sort_keys=False, width=float("inf"), allow_unicode=True
    )
    # Without the outer braces, because the file uses block style.
    return line.strip()[1:-1]
