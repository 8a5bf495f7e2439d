"""How GreptimeDB makes changes: by ALTER TABLE where it can, and all that it cannot by one copy of the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, timedelta
from typing import Final

from tsaudit.engines.greptimedb.statements import APPEND_ONLY, create_copy, insert_day, left_out_by_sender
from tsaudit.engines.greptimedb.tables import is_append_only, is_metric, primary_key
from tsaudit.engines.rendering import Place, Renderers
from tsaudit.engines.sql import changes as sql
from tsaudit.model.change import Change, Inspect, LeaveOut, MakeField
from tsaudit.model.plan import Phase, Step
from tsaudit.text import listed, many

A_DAY: Final = timedelta(days=1)
_TYPES: Final = {"integer": "BIGINT", "float": "DOUBLE", "boolean": "BOOLEAN", "time": "TIMESTAMP(3)"}


def table_changes(place: Place, changes: Sequence[Change]) -> Iterator[Step]:
    """All that becomes of a table, in one copy: several would undo each other."""
    fields = [change for change in changes if isinstance(change, MakeField)]
    tags = [change.tag for change in fields]
    if is_metric(place.here):
        yield Step(Phase.WRITE, left_out_by_sender(place.here, tags), loses=_overwritten(place))
        return
    key = [column for column in primary_key(place.here) if column not in tags]
    options: Mapping[str, str] = {} if key or is_append_only(place.here) else APPEND_ONLY
    one = len(tags) == 1
    why = (
        f"Take {listed(tags, 20)} out of the key: as {'a field it' if one else 'fields they'} can have a skipping "
        "index, which finds single values as well."
    )
    if options:
        why += (
            " Without a key the table has to be append-only, or rows of one instant overwrite each other; DELETE is "
            "refused then."
        )
    types = {change.tag: _TYPES[change.to] for change in fields if change.to in _TYPES}
    yield from rebuilt(place, why, key=key, options=options, types=types)


def rebuilt(
    place: Place, why: str, *, key: Sequence[str], options: Mapping[str, str], types: Mapping[str, str]
) -> Iterator[Step]:
    """A table with other settings, the copy into it, and the swap: what no ALTER TABLE changes."""
    new, old = place.free(f"{place.here.name}_new"), place.free(f"{place.here.name}_old")
    deduplicates = not is_append_only(place.here) and not options
    loses = _overwritten(place) if deduplicates else ""
    yield Step(Phase.PREPARE, why, create_copy(place, place.here, new, key=key, options=options, types=types), "sql")
    day = (place.here.last_time or place.profile.window.end).astimezone(UTC)
    day = day.replace(hour=0, minute=0, second=0, microsecond=0)
    yield Step(
        Phase.COPY,
        "Stop the writers, and copy the rows one day at a time, the newest day first.",
        insert_day(place, place.here, new, day, types=types),
        "sql",
        cost="reads and writes all rows",
        repeat_every=A_DAY,
        loses=loses,
    )
    tables = (place.table(name) for name in (place.here.name, new))
    counts = "\n".join(f"SELECT count(*) FROM {table};" for table in tables)  # noqa: S608 -- shown, never run
    yield Step(Phase.CHECK, "Compare the counts: they have to agree.", counts, "sql")
    yield Step(
        Phase.SWITCH,
        "Swap the two. Defaults, comments and details of indexes that SHOW CREATE TABLE has, carry over.",
        f"ALTER TABLE {place.table()} RENAME {place.quoted([old])};\n"
        f"ALTER TABLE {place.table(new)} RENAME {place.quoted([place.here.name])};",
        "sql",
    )
    yield Step(
        Phase.REMOVE,
        "Drop the old table once nobody needs it.",
        f"DROP TABLE {place.table(old)};",
        "sql",
        can_undo=False,
        loses=f"{old}, of which {place.here.name} then holds all rows",
    )


def _overwritten(place: Place) -> str:
    found, how = place.effect.collisions, place.effect.collisions_how
    if not how or found == 0:
        return ""
    if found is None:
        return f"rows that then share key and time become one; how many is not known: {how}"
    return f"at least {many(found, 'row')} would become one with another, having its key and its time ({how})"


RENDERERS: Final[Renderers] = {
    Inspect: sql.newest_values(lambda time: f"WHERE {time} >= now() - INTERVAL '1 day' "),
    LeaveOut: sql.leave_out,
    MakeField: table_changes,
}
