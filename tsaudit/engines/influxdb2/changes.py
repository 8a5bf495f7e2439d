"""How InfluxDB 2.x makes changes: writers send something else, and Flux copies what is stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from tsaudit.engines.influx import changes as influx
from tsaudit.engines.influx.reach import delete_rows
from tsaudit.engines.quoting import quote_flux
from tsaudit.engines.rendering import Place, Renderers
from tsaudit.model.change import Inspect, MakeField
from tsaudit.model.plan import Phase, Step

A_DAY: Final = timedelta(days=1)
_SCHEMA: Final = 'import "influxdata/influxdb/schema" '


def make_fields(place: Place, changes: Sequence[MakeField]) -> Iterator[Step]:
    """Tags become fields, for what is written and for what is stored."""
    yield from influx.write_fields(place, changes)
    yield from copied(place, without={change.tag for change in changes})


def copied(place: Place, without: Iterable[str] = (), names: Mapping[str, str] | None = None) -> Iterator[Step]:
    """The stored points, day by day, in a measurement beside; then the old one goes.

    `without`: tags that are fields in the copy, as all columns are that the last step does not group by. `names`: of
    columns that get others.
    """
    renaming, gone = names or {}, set(without)
    new, bucket = place.free(f"{place.here.name}_new"), quote_flux(place.database)
    keep = [renaming.get(tag.key, tag.key) for tag in place.here.tags if tag.key not in gone]
    group = ", ".join(map(quote_flux, ["_measurement", *keep]))
    renamed = ", ".join(f"{quote_flux(old)}: {quote_flux(to)}" for old, to in sorted(renaming.items()))
    yield Step(
        Phase.COPY,
        "Copy the stored points, one day at a time, the newest day first.",
        f'import "influxdata/influxdb" {_from(place, place.here.name)} '
        '|> drop(columns: ["_start", "_stop"]) '
        '|> pivot(rowKey: ["_time"], columnKey: ["_field"], valueColumn: "_value") '
        + (f"|> rename(columns: {{{renamed}}}) " if renamed else "")
        + f'|> set(key: "_measurement", value: {quote_flux(new)}) '
        f"|> group(columns: [{group}]) |> influxdb.wideTo(bucket: {bucket})",
        "flux",
        cost="reads and writes all stored points",
        repeat_every=A_DAY,
    )
    for name in (place.here.name, new):
        yield Step(
            Phase.CHECK,
            f"Count the points of {name}, by field: a field with fewer points in the copy has lost some.",
            f'{_from(place, name)} |> group(columns: ["_field"]) |> count()',
            "flux",
            repeat_every=A_DAY,
        )
    yield Step(Phase.SWITCH, f"Have queries, tasks and dashboards read {new}.")
    yield removed(place, "once the copy is checked")


def removed(place: Place, when: str) -> Step:
    """The measurement goes from its bucket."""
    return Step(
        Phase.REMOVE,
        f"Delete the old measurement {when}.",
        delete_rows(place.database, place.here.name),
        "sh",
        can_undo=False,
        loses=f"all points of {place.here.name} in bucket {place.database}",
    )


def _from(place: Place, name: str) -> str:
    """The beginning of a statement about the last day that the measurement has points of."""
    newest = place.here.last_time or place.profile.window.end
    day = newest.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return (
        f"from(bucket: {quote_flux(place.database)}) |> range(start: {_instant(day)}, stop: {_instant(day + A_DAY)}) "
        f"|> filter(fn: (r) => r._measurement == {quote_flux(name)})"
    )


def _instant(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


def inspect(place: Place, changes: Sequence[Inspect]) -> Iterator[Step]:
    """Queries that show what a finding is about."""
    for change in changes:
        if change.what == "new values":
            names = {"bucket": place.database, "measurement": place.here.name, "tag": change.column}
            given = ", ".join(f"{name}: {quote_flux(value)}" for name, value in names.items())
            yield Step(
                Phase.LOOK,
                f"See some values of {change.column}.",
                f"{_SCHEMA}schema.measurementTagValues({given}) |> limit(n: 20)",
                "flux",
            )


RENDERERS: Final[Renderers] = {**influx.COMMON, Inspect: inspect, MakeField: make_fields}
