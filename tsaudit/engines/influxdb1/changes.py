"""How InfluxDB 1.x makes changes: writers send something else, and InfluxQL copies what is stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from tsaudit.engines.influx import changes as influx
from tsaudit.engines.influx.reach import also_deleted
from tsaudit.engines.rendering import Place, Renderers
from tsaudit.model.change import Inspect, MakeField
from tsaudit.model.plan import Phase, Step

A_DAY: Final = timedelta(days=1)


def make_fields(place: Place, changes: Sequence[MakeField]) -> Iterator[Step]:
    """Tags become fields, for what is written and for what is stored."""
    yield from influx.write_fields(place, changes)
    yield from copied(place, without={change.tag for change in changes})


def copied(place: Place, without: Iterable[str] = (), names: Mapping[str, str] | None = None) -> Iterator[Step]:
    """The stored points, day by day, in a measurement beside; then the old one goes.

    `without`: tags that are fields in the copy, since InfluxQL makes a field of what it does not group by.
    """
    old, new = place.table(), place.table(place.free(f"{place.here.name}_new"))
    gone = set(without)
    keep = place.quoted(tag.key for tag in place.here.tags if tag.key not in gone)
    day = last_day(place)
    grouped = f" GROUP BY {keep}" if keep else ""
    selected = _selected(place, names or {}, gone)
    yield Step(
        Phase.COPY,
        "Copy the stored points, one day at a time, the newest day first.",
        f"SELECT {selected} INTO {new} FROM {old} WHERE {within(day)}{grouped}",  # noqa: S608 -- shown, never run
        "influxql",
        cost="reads and writes all stored points",
        repeat_every=A_DAY,
    )
    counts = "\n".join(f"SELECT count(*) FROM {table} WHERE {within(day)}" for table in (old, new))  # noqa: S608
    yield Step(
        Phase.CHECK,
        "Compare the counts of each day: a field with fewer points in the copy has lost some.",
        counts,
        "influxql",
        repeat_every=A_DAY,
    )
    yield Step(Phase.SWITCH, f"Have queries and dashboards read {place.free(f'{place.here.name}_new')}.")
    yield removed(place, "once the copy is checked")


def _selected(place: Place, names: Mapping[str, str], gone: Iterable[str]) -> str:
    if not names:
        return "*"
    columns = [*(field.key for field in place.here.fields), *sorted(gone)]
    return ", ".join(
        f"{place.quoted([c])} AS {place.quoted([names[c]])}" if c in names else place.quoted([c]) for c in columns
    )


def removed(place: Place, when: str) -> Step:
    """The measurement goes, from all retention policies: the statement names none."""
    name = place.quoted([place.here.name])
    beyond = also_deleted(place, place.database, place.here.name)
    return Step(
        Phase.REMOVE,
        f"Drop the old measurement {when}{beyond}.",
        f"DROP MEASUREMENT {name}",
        "influxql",
        can_undo=False,
        loses=f"all points of {place.here.name}",
    )


def last_day(place: Place) -> datetime:
    """The beginning of the last day that the measurement has points of."""
    newest = place.here.last_time or place.profile.window.end
    return newest.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def within(day: datetime) -> str:
    """A condition for one day."""
    return f"time >= '{day:%Y-%m-%dT%H:%M:%SZ}' AND time < '{day + A_DAY:%Y-%m-%dT%H:%M:%SZ}'"


def inspect(place: Place, changes: Sequence[Inspect]) -> Iterator[Step]:
    """Queries that show what a finding is about."""
    for change in changes:
        if change.what == "new values":
            database = next(iter(place.here.path), place.database)
            tag = place.quoted([change.column])
            yield Step(
                Phase.LOOK,
                f"See some values of {change.column}.",
                f"SHOW TAG VALUES ON {place.quoted([database])} FROM {place.table()} WITH KEY = {tag} LIMIT 20",
                "influxql",
            )


RENDERERS: Final[Renderers] = {**influx.COMMON, Inspect: inspect, MakeField: make_fields}
