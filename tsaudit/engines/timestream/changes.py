"""How Timestream makes changes: a new table, since no statement changes a stored record, or settings of the old one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from tsaudit.engines.rendering import Place, Renderers
from tsaudit.engines.rewriting import KINDS
from tsaudit.engines.sql import changes as sql
from tsaudit.engines.timestream.kinds import EncryptRejected, EnforceKey, OneRecord, PartitionBy
from tsaudit.engines.timestream.looks import inspect
from tsaudit.engines.timestream.merging import merge
from tsaudit.engines.timestream.new_table import new_tables
from tsaudit.engines.timestream.records import one_record
from tsaudit.engines.timestream.tables import encrypt_rejected, enforce_key, keep_for
from tsaudit.model.change import Change, Inspect, LeaveOut, MergeMeasurements, SetRetention
from tsaudit.model.plan import Phase, Step
from tsaudit.text import many


def table_changes(place: Place, changes: Sequence[Change]) -> Iterator[Step]:
    """All changes of a table: at most one new table for all that takes one, and settings of what is used then."""
    tables = [place.here.name]
    if any(isinstance(change, (*KINDS, PartitionBy)) for change in changes):
        tables, steps = new_tables(place, changes)
        yield from steps
    for change in changes:
        for table in tables:
            if isinstance(change, SetRetention):
                yield _kept_for(place, table, change)
            elif isinstance(change, EncryptRejected):
                yield _encrypted(place, table, change)
        if isinstance(change, EnforceKey):
            yield from _enforced(place, change, is_new=tables != [place.here.name])


def _kept_for(place: Place, table: str, change: SetRetention) -> Step:
    days = round(change.keep / timedelta(days=1))
    return Step(
        Phase.REMOVE,
        f"Decide how long the records of {table} are needed, and set that as its retention.",
        keep_for(place.here, table, days),
        "sh",
        can_undo=False,
        loses=f"records older than {many(days, 'day')}, from then on; how many there are is not known",
    )


def _enforced(place: Place, change: EnforceKey, *, is_new: bool) -> Iterator[Step]:
    yield Step(Phase.WRITE, f"Have every writer send {change.dimension}.")
    if not is_new:  # A new table is created that way.
        yield Step(
            Phase.PREPARE,
            f"Then have the service reject records without {change.dimension}.",
            enforce_key(place.here, change.dimension),
            "sh",
            loses=f"records that a writer still sends without {change.dimension}",
        )


def _encrypted(place: Place, table: str, change: EncryptRejected) -> Step:
    return Step(
        Phase.REMOVE if table != place.here.name else Phase.PREPARE,
        "If the database has a key of your own, encrypt rejected records with it, too. AWS's own key for Timestream "
        "cannot be used elsewhere.",
        encrypt_rejected(place.here, table, change.key),
        "sh",
    )


_OF_TABLE: Final = (*KINDS, EncryptRejected, EnforceKey, PartitionBy, SetRetention)
RENDERERS: Final[Renderers] = {
    Inspect: inspect,
    LeaveOut: sql.leave_out,
    MergeMeasurements: merge,
    OneRecord: one_record,
    **dict.fromkeys(_OF_TABLE, table_changes),
}
