"""How InfluxDB 2.x makes changes: writers send something else, and Flux copies what is stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tsaudit.engines.influx import changes as influx
from tsaudit.engines.influx import retention
from tsaudit.engines.influxdb2.copying import A_DAY, day_of, merge, removed
from tsaudit.engines.influxdb2.looks import inspect
from tsaudit.engines.quoting import quote_flux
from tsaudit.engines.rendering import Place, Renderers
from tsaudit.engines.rewriting import KINDS, Rewriting, rewriting
from tsaudit.model.change import OLD_TEXT, Change, Inspect, MergeMeasurements, SetRetention
from tsaudit.model.plan import Phase, Step


def rewrite(place: Place, changes: Sequence[Change]) -> Iterator[Step]:
    """All changes of a measurement: what writers send, and one copy of what is stored."""
    found, lost = rewriting(place, changes), influx.overwritten(place)
    yield from influx.write(found, lost)
    if reasons := list(_beyond(found)):
        reads = day_of(place, found.old)
        yield from (influx.by_program(found, target, "Flux", reasons, lost, reads, A_DAY) for target in found.targets)
    else:
        yield from (_copied(found, target, lost) for target in found.targets)
    for name in (found.old, *found.targets):
        yield Step(
            Phase.CHECK,
            f"Count the points of {name}, by field: a field with fewer points in the copy has lost some.",
            f'{day_of(place, name)} |> group(columns: ["_field"]) |> count()',
            "flux",
            repeat_every=A_DAY,
        )
    yield influx.switched(found)
    yield removed(place, found.old)


def _beyond(rewrite: Rewriting) -> Iterator[str]:
    """What is left to a program: values that do not fit would stop a program in Flux, or be lost."""
    for column in rewrite.columns:
        if column.split is not None:
            yield f"take apart only those values of {column.old} that fit"
        elif column.is_tag and not column.was_tag:
            yield f"make a tag of the field {column.old} where it is missing in some points"
        elif column.to and not column.was_tag:
            yield f"convert only those values of {column.old} that fit"
        elif column.shares_name:
            yield f"tell the tag {column.old} from the field {column.old}"
        elif len(column.types) > 1:
            yield f"copy values of {column.old} of several types"
    if rewrite.moved and any(column.was_tag for column in rewrite.fields_of(rewrite.new)):
        yield f"copy points that have none of the fields of {rewrite.new}"


def _copied(rewrite: Rewriting, target: str, lost: str) -> Step:
    """The stored points of a day in the new measurement: what the last step does not group by becomes a field."""
    place = rewrite.place
    columns = [c for c in rewrite.columns if c.is_tag or c in rewrite.fields_of(target)]
    fields = [c.old for c in columns if not c.was_tag]
    chosen = " or ".join(f"r._field == {quote_flux(field)}" for field in fields)
    renaming = {c.old: c.new for c in columns if c.new != c.old}
    # Numbers may be written under the name from now on: the text that was stored gets a name of its own.
    renaming |= {c.old: f"{c.new}{OLD_TEXT}" for c in columns if c.was_tag and c.to}
    gone = [c.old for c in rewrite.columns if c not in columns and c.was_tag]
    drop = ", ".join(map(quote_flux, ["_start", "_stop", *gone]))
    group = ", ".join(map(quote_flux, ["_measurement", *(c.new for c in columns if c.is_tag)]))
    kept = [f"{c.new}{OLD_TEXT}" for c in columns if c.was_tag and c.to]
    return Step(
        Phase.COPY,
        "Copy the stored points, one day at a time, the newest day first."
        + (f" What is stored as text stays text, in {', '.join(kept)}." if kept else ""),
        f'import "influxdata/influxdb" {day_of(place, rewrite.old)} '
        + (f"|> filter(fn: (r) => {chosen}) " if rewrite.moved else "")
        + f"|> drop(columns: [{drop}]) "
        + '|> pivot(rowKey: ["_time"], columnKey: ["_field"], valueColumn: "_value") '
        + (f"|> rename(fn: (column) => {_renamed(renaming)}) " if renaming else "")
        + f'|> set(key: "_measurement", value: {quote_flux(target)}) '
        + f"|> group(columns: [{group}]) |> influxdb.wideTo(bucket: {quote_flux(place.database)})",
        "flux",
        cost="reads and writes all stored points",
        repeat_every=A_DAY,
        loses=lost,
    )


def _renamed(names: dict[str, str]) -> str:
    """The new name of a column. By a function: a list would have to name columns that every series has."""
    cases = (f"if column == {quote_flux(old)} then {quote_flux(new)} else " for old, new in sorted(names.items()))
    return f"{''.join(cases)}column"


RENDERERS: Final[Renderers] = {
    **influx.COMMON,
    **dict.fromkeys(KINDS, rewrite),
    Inspect: inspect,
    MergeMeasurements: merge,
    SetRetention: retention.of_bucket,
}
