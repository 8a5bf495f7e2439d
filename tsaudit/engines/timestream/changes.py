"""How Timestream makes changes: writers send something else. Stored records stay as they are until they expire."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from tsaudit.engines.quoting import quote_text
from tsaudit.engines.rendering import Place, Renderers
from tsaudit.engines.sql import changes as sql
from tsaudit.engines.timestream import SINGLE_VALUE
from tsaudit.engines.timestream.kinds import EncryptRejected, EnforceKey, OneRecord, PartitionBy
from tsaudit.engines.timestream.tables import create_partitioned, encrypt_rejected, enforce_key, keep_for
from tsaudit.model.change import ChangeType, Inspect, LeaveOut, MakeField, SetRetention
from tsaudit.model.plan import Phase, Step
from tsaudit.text import listed, many

_MOST_MEASURES: Final = 256
"""In one record: https://docs.aws.amazon.com/timestream/latest/developerguide/ts-limits.html"""
_SHOWN: Final = 5
_TYPES: Final = {"integer": "BIGINT", "float": "DOUBLE", "boolean": "BOOLEAN", "time": "TIMESTAMP"}


def make_fields(place: Place, changes: Sequence[MakeField]) -> Iterator[Step]:
    """Dimensions that become measures."""
    tags = [change.tag for change in changes]
    typed = [f"{c.tag} as {_TYPES[c.to]}" for c in changes if c.to in _TYPES]
    one = len(tags) == 1
    yield Step(
        Phase.WRITE,
        f"Write {listed(tags, 20)} as {'a measure' if one else 'measures'} of {place.here.name}, in one multi-measure "
        f"record with the others, not as {'a dimension' if one else 'dimensions'}"
        f"{': ' + listed(typed, 20) if typed else ''}. Stored records keep their dimensions until they expire.",
        loses=_rejected(place),
    )


def _rejected(place: Place) -> str:
    found, how = place.effect.collisions, place.effect.collisions_how
    if not how or found == 0:
        return ""
    if found is None:
        return f"records that share dimensions, measure name and time reject each other; how many is not known: {how}"
    rejected = many(found, "record")
    return f"at least {rejected} would be rejected or replaced, having the dimensions and the time of others ({how})"


def change_types(place: Place, changes: Sequence[ChangeType]) -> Iterator[Step]:
    """Measures of another type, under names of their own."""
    for change in changes:
        yield Step(
            Phase.WRITE,
            f"Write {change.column} of {place.here.name} as {_TYPES[change.to]} under a new name, such as "
            f"{change.column}_{change.to}, in the multi-measure record: a measure keeps its type, and a record with "
            "another type is rejected. Until then, queries have to cast it.",
        )


def keep_for_days(place: Place, changes: Sequence[SetRetention]) -> Iterator[Step]:
    """A lifetime for the records of a table."""
    for change in changes:
        days = round(change.keep / timedelta(days=1))
        yield Step(
            Phase.REMOVE,
            f"Give {place.here.name} a lifetime: agree on how long its records are needed.",
            keep_for(place.here, days),
            "sh",
            can_undo=False,
            loses=f"records older than {many(days, 'day')}, from then on; how many there are is not known",
        )


def partition_by(place: Place, changes: Sequence[PartitionBy]) -> Iterator[Step]:
    """A table beside, since a table gets its key when it is created."""
    for change in changes:
        new = place.free(f"{place.here.name}_new")
        yield Step(
            Phase.PREPARE,
            f"Create a table that is partitioned by {change.dimension}: the key of a table cannot be changed later.",
            create_partitioned(place.here, new, change.dimension),
            "sh",
        )
        yield Step(
            Phase.SWITCH,
            f"Have writers write to {new}, and queries read it. {place.here.name} can be read until its records "
            "expire.",
        )


def enforce_keys(place: Place, changes: Sequence[EnforceKey]) -> Iterator[Step]:
    """What the table is partitioned by has to be in each record."""
    for change in changes:
        yield Step(Phase.WRITE, f"Have every writer send {change.dimension}.")
        yield Step(
            Phase.PREPARE,
            "Then have records without it rejected.",
            enforce_key(place.here, change.dimension),
            "sh",
            loses=f"records that a writer still sends without {change.dimension}",
        )


def encrypt(place: Place, changes: Sequence[EncryptRejected]) -> Iterator[Step]:
    """Rejected records, by the key of the database."""
    for change in changes:
        yield Step(
            Phase.PREPARE,
            "If the database's key is your own (AWS's for Timestream cannot be used elsewhere), have rejected records "
            "encrypted with it, too.",
            encrypt_rejected(place.here, change.key),
            "sh",
        )


def one_record(place: Place, changes: Sequence[OneRecord]) -> Iterator[Step]:
    """One row for each instant and source."""
    for change in changes:
        here = place.here
        groups = -(-len(change.names) // _MOST_MEASURES)
        several = f", in {groups} records of up to {_MOST_MEASURES} measures each" if groups > 1 else ""
        yield Step(
            Phase.WRITE,
            f"Write {listed(change.names, 4)} as measures of one multi-measure record (MeasureValueType MULTI, under a "
            f"measure name such as metrics){several}: one row for each instant and source. Stored records stay as they "
            "are.",
        )
        key = place.quoted(c for c in here.columns if c == here.time_column or here.tag(c))
        values = ", ".join(_value(place, name) for name in change.names[:_SHOWN])
        yield Step(
            Phase.LOOK,
            "Read stored records with a column for each value.",
            f"SELECT {key}, {values} FROM {place.table()} WHERE time >= ago(1d) GROUP BY {key}",  # noqa: S608 -- shown
            "sql",
            cost="reads a day of rows",
        )


def _value(place: Place, name: str) -> str:
    """The value of one measure name as a column. Column names must not contain a colon."""
    known = place.here.measure_names.names if place.here.measure_names else ()
    data_type = next((n.data_type for n in known if n.name == name and n.data_type), "double")
    text, value = quote_text("timestream", name), place.quoted([f"{SINGLE_VALUE}{data_type}"])
    return f"max(CASE WHEN measure_name = {text} THEN {value} END) AS {place.quoted([name.replace(':', '_')])}"


RENDERERS: Final[Renderers] = {
    ChangeType: change_types,
    EncryptRejected: encrypt,
    EnforceKey: enforce_keys,
    Inspect: sql.newest_values(lambda time: f"WHERE {time} >= ago(1d) ", end=""),
    LeaveOut: sql.leave_out,
    MakeField: make_fields,
    OneRecord: one_record,
    PartitionBy: partition_by,
    SetRetention: keep_for_days,
}
