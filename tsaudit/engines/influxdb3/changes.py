"""How InfluxDB 3 makes changes: writers send something else. No statement changes what is stored."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from datetime import UTC, timedelta
from typing import Final

from tsaudit.engines.influx import changes as influx
from tsaudit.engines.influx import copying, merging, retention
from tsaudit.engines.influxdb3.looks import inspect
from tsaudit.engines.rendering import Place, Renderers
from tsaudit.engines.rewriting import KINDS, Rewriting, rewriting
from tsaudit.model.change import Change, Inspect, MergeMeasurements, SetRetention
from tsaudit.model.plan import Phase, Step

A_DAY: Final = timedelta(days=1)


def rewrite(place: Place, changes: Sequence[Change]) -> Iterator[Step]:
    """All changes of a table, in tables beside: a column of a table keeps its role, name, and type."""
    found, lost = rewriting(place, changes), influx.overwritten(place)
    yield from influx.write(found, lost)
    for target in found.targets:
        columns = [*found.tags, *found.fields_of(target)]
        names = [
            f"{place.quoted([c.old])} AS {place.quoted([c.new])}" if c.new != c.old else place.quoted([c.old])
            for c in columns
        ]
        copy = copying.rewritten(found, target, renamed=True)
        yield Step(
            Phase.COPY,
            f"The stored rows can be read from {found.old} until they expire. To keep them longer, write a "
            f"program that reads them, one day at a time, changes them in the same way, and writes them to {target}. "
            f"{copying.in_words(copy)}",
            f"SELECT {', '.join(['time', *names])} FROM {place.table()} "  # noqa: S608 -- shown, never run
            f"WHERE {_day_of(place)}{_filled(found, target)}",
            "sql",
            cost="reads and writes all stored rows",
            repeat_every=A_DAY,
            loses=lost,
            copy=copy,
        )
    yield influx.switched(found)
    yield _removed(place, found.old)


def _filled(rewrite: Rewriting, target: str) -> str:
    """A condition for rows that have a field of the table, where others have fields of another one."""
    if not rewrite.moved:
        return ""
    names = [rewrite.place.quoted([column.old]) for column in rewrite.fields_of(target)]
    return f" AND ({' OR '.join(f'{name} IS NOT NULL' for name in names)})"


def merge(place: Place, changes: Sequence[MergeMeasurements]) -> Iterator[Step]:
    """One set of settings for the writers of all families; what is stored is read and written back."""
    found = merging.merges(place, changes)
    yield from merging.write(place, found)
    for one in found:
        if merging.is_listed(place, one):
            yield from _copied(place, one)
        else:
            yield merging.by_program([one], "SQL", "only reads")
        yield Step(Phase.SWITCH, f"Have queries and dashboards read {one.into}.")
    for one in found:
        if merging.is_listed(place, one):
            yield from (_removed(place, name) for name in one.names)
        else:
            yield merging.others_removed(one)


def _copied(place: Place, one: merging.Merge) -> Iterator[Step]:
    copies = copying.merged(place, one, merging.of(place))
    for member in one.change.members:
        copy = copies[member.measurement]
        yield Step(
            Phase.COPY,
            f"To keep what is stored there, {copying.of_member(one, member, copy)}",
            f"SELECT * FROM {place.table(member.measurement)} WHERE {_day_of(place)}",  # noqa: S608 -- shown, never run
            "sql",
            cost="reads and writes all stored rows",
            loses=merging.joined(one),
            repeat_every=A_DAY,
            copy=copy,
        )


def _removed(place: Place, name: str) -> Step:
    end_of_options = "-- " if name.startswith("-") else ""
    return Step(
        Phase.REMOVE,
        "Delete the old table once nobody needs it (Core and Enterprise; elsewhere it goes as its rows expire).",
        f"influxdb3 delete table --database {shlex.quote(place.database)} {end_of_options}{shlex.quote(name)}",
        "sh",
        can_undo=False,
        loses=f"all rows of {name}",
    )


def _day_of(place: Place) -> str:
    newest = (place.measurement.last_time if place.measurement else None) or place.profile.window.end
    day = newest.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return f"time >= '{day:%Y-%m-%dT%H:%M:%SZ}' AND time < '{day + A_DAY:%Y-%m-%dT%H:%M:%SZ}'"


RENDERERS: Final[Renderers] = {
    **influx.COMMON,
    **dict.fromkeys(KINDS, rewrite),
    Inspect: inspect,
    MergeMeasurements: merge,
    SetRetention: retention.of_database,
}
