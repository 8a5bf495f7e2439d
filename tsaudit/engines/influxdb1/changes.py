"""How InfluxDB 1.x makes changes: writers send something else, and InfluxQL copies what is stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tsaudit.engines.influx import changes as influx
from tsaudit.engines.influx import retention
from tsaudit.engines.influx.copying import NUMBERS, clashes, kinds
from tsaudit.engines.influxdb1.copying import A_DAY, by_type, last_day, removed, within
from tsaudit.engines.influxdb1.looks import inspect
from tsaudit.engines.influxdb1.merging import merge
from tsaudit.engines.rendering import Place, Renderers
from tsaudit.engines.rewriting import KINDS, Column, Rewriting, rewriting
from tsaudit.model.change import OLD_TEXT, Change, Inspect, MergeMeasurements, SetRetention
from tsaudit.model.plan import Phase, Step


def rewrite(place: Place, changes: Sequence[Change]) -> Iterator[Step]:
    """All changes of a measurement: what writers send, and one copy of what is stored."""
    found, lost = rewriting(place, changes), influx.overwritten(place)
    yield from influx.write(found, lost)
    if reasons := list(_beyond(found)):
        yield from (_read(found, target, reasons, lost) for target in found.targets)
    else:
        yield from _copied(found, lost)
    day = last_day(place)
    tables = [place.table(name) for name in (found.old, *found.targets)]
    yield Step(
        Phase.CHECK,
        "Compare the counts of each day: a field with fewer points in the copy has lost some.",
        ";\n".join(f"SELECT count(*) FROM {table} WHERE {within(day)}" for table in tables),  # noqa: S608 -- shown
        "influxql",
        repeat_every=A_DAY,
    )
    yield influx.switched(found)
    yield removed(place, "once the copy is checked")


def _beyond(rewrite: Rewriting) -> Iterator[str]:
    """What InfluxQL cannot make of the columns: what it does not group by becomes a field, nothing becomes a tag."""
    for column in rewrite.columns:
        if column.split is not None:
            yield f"take the values of {column.old} apart"
        elif column.was_tag and column.is_tag and column.new != column.old:
            yield f"rename the tag {column.old}"
        elif column.is_tag and not column.was_tag:
            yield f"make a tag of the field {column.old}"
        elif column.to and not column.was_tag and not set(column.types) <= NUMBERS:
            yield f"convert the text of {column.old}"
    if rewrite.moved and any(column.was_tag for column in rewrite.fields_of(rewrite.new)):
        yield f"select points that have none of the fields of {rewrite.new}"


def _read(rewrite: Rewriting, target: str, reasons: Sequence[str], lost: str) -> Step:
    """What a program reads of a day, and writes: tags are those of the series."""
    place, day = rewrite.place, last_day(rewrite.place)
    fields = rewrite.fields_of(target)
    # Any point may have a former tag.
    wanted = rewrite.columns if any(column.was_tag for column in fields) else (*rewrite.tags, *fields)
    expressions = [one for column in wanted if not column.was_tag for one in by_type(place, column)]
    return influx.by_program(
        rewrite,
        target,
        "InfluxQL",
        reasons,
        lost,
        f"SELECT {', '.join(expressions)} FROM {place.table()} WHERE {within(day)} GROUP BY *",  # noqa: S608 -- shown
        A_DAY,
    )


def _copied(rewrite: Rewriting, lost: str) -> Iterator[Step]:
    """The stored points, day by day, in the new measurements."""
    place, day = rewrite.place, last_day(rewrite.place)
    keep = place.quoted(column.old for column in rewrite.tags)
    grouped = f" GROUP BY {keep}" if keep else ""
    fractions = [c.old for c in rewrite.columns if c.to == "integer" and not c.was_tag]
    for target in rewrite.targets:
        text = (
            f"SELECT {_selected(rewrite, target)} INTO {place.table(target)} FROM {place.table()} "  # noqa: S608 -- shown
            f"WHERE {within(day)}{grouped}"
        )
        yield Step(
            Phase.COPY,
            "Copy the stored points, one day at a time, the newest day first." + _kept_texts(rewrite, target),
            text,
            "influxql",
            cost="reads and writes all stored points",
            repeat_every=A_DAY,
            loses="; ".join(
                filter(
                    None,
                    [
                        lost,
                        f"the fraction of values of {', '.join(fractions)}; those that were read have none"
                        if fractions
                        else "",
                    ],
                )
            ),
        )


def _selected(rewrite: Rewriting, target: str) -> str:
    columns = rewrite.fields_of(target)
    plain = all(c.new == c.old and not c.to and not c.shares_name and not clashes(c) for c in columns)
    if plain and not rewrite.moved:
        return "*"
    return ", ".join(one for column in columns for one in _expressions(rewrite.place, column))


def _expressions(place: Place, column: Column) -> Iterator[str]:
    name, new = place.quoted([column.old]), column.new
    if column.was_tag:
        # A tag is text, which InfluxQL does not convert: under the field's own name it would keep numbers out.
        source = f"{name}::tag" if column.shares_name else name
        yield f"{source} AS {place.quoted([text_of(column)])}"
    elif clashes(column):
        for position, kind in enumerate(kinds(column)):
            yield f"{name}::{kind} AS {place.quoted([new if position == 0 else f'{new}_{kind}'])}"
    elif column.to in NUMBERS and column.to not in column.types:
        yield f"{name}::{column.to} AS {place.quoted([new])}"
    else:
        source = f"{name}::field" if column.shares_name else name
        yield f"{source} AS {place.quoted([new])}" if new != column.old or column.shares_name else source


def text_of(column: Column) -> str:
    """The name of the field that has the text of what was a tag."""
    return f"{column.new}{OLD_TEXT}" if column.to else column.new


def _kept_texts(rewrite: Rewriting, target: str) -> str:
    found = [text_of(c) for c in rewrite.fields_of(target) if c.was_tag and c.to]
    found += [f"{c.new}_{kind}" for c in rewrite.fields_of(target) if clashes(c) for kind in kinds(c)[1:]]
    return f" What is stored as text stays text, in {', '.join(found)}." if found else ""


RENDERERS: Final[Renderers] = {
    **influx.COMMON,
    **dict.fromkeys(KINDS, rewrite),
    Inspect: inspect,
    MergeMeasurements: merge,
    SetRetention: retention.of_policy,
}
