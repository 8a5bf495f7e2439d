"""What the collector's InfluxDB exporter is told, where an OpenTelemetry layout shows that it may be the writer.

The exporter makes tags of all attributes of a metric, and of its resource; of logs and spans, it makes tags of those
that it is told. Its fields have names of its own.
https://github.com/influxdata/influxdb-observability/blob/main/docs/index.md
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tsaudit.engines import otel
from tsaudit.engines.otel import Group, Signal
from tsaudit.engines.rendering import Place
from tsaudit.engines.rewriting import Rewriting
from tsaudit.model.change import LeaveOut, MergeMeasurements, SplitColumn
from tsaudit.model.plan import Phase, Step
from tsaudit.model.profile import Measurement
from tsaudit.text import listed

_RESOURCE: Final = re.compile(r"(service|host|container|k8s|process|os|cloud|deployment|device|faas)\.[\w.]+")
"""Attributes of a resource by the semantic conventions; other collectors have dots in names, too."""
_VALUES: Final = frozenset({"gauge", "counter", "count"})
_BY_TYPE: Final = {
    "sum": re.compile(r"value_(cumulative|delta)_(non)?monotonic_(int|double)"),
    "histogram": re.compile(r"(cumulative|delta)_\d[\d.]*"),
}
"""Type of a metric to fields of the schema that has the type in the measurement's name, after the unit."""
_SCOPE: Final = {"otel.library.name": "scope.name", "otel.library.version": "scope.version"}
"""Tags that are no attributes."""
_IDS: Final = ("trace_id", "span_id")
_NO_ID: Final = {"trace_id": f"TraceID(0x{'0' * 32})", "span_id": f"SpanID(0x{'0' * 16})"}


def signal_of(measurement: Measurement) -> Signal | None:
    """Which signal of OpenTelemetry it holds; None: nothing shows that it holds one."""
    fields = {field.key for field in measurement.fields}
    if _type_in_name(measurement):
        return Signal.METRIC
    if found := otel.signal_of(measurement):
        return found
    is_named = any(_RESOURCE.fullmatch(tag.key) for tag in measurement.tags)
    return Signal.METRIC if is_named and fields & _VALUES else None


def is_for_collector_only(measurement: Measurement) -> bool:
    """Whether Telegraf cannot be the writer: its input has no such layout."""
    return bool(_type_in_name(measurement))


def _type_in_name(measurement: Measurement) -> str:
    """The type at the end of the measurement's name; empty for schemas that have none there."""
    fields = [field.key for field in measurement.fields]
    return next((kind for kind, fits in _BY_TYPE.items() if any(map(fits.fullmatch, fields))), "")


def _here(measurement: Measurement) -> str:
    """A condition for the metrics that are written to the measurement; empty where all of them are."""
    if kind := _type_in_name(measurement):
        return f'Concat([metric.name, metric.unit, "{kind}"], "_") == {otel.string(measurement.name)}'
    if measurement.name == "prometheus" and not {f.key for f in measurement.fields} & _VALUES:
        return ""
    return f"metric.name == {otel.string(measurement.name)}"


# --- A measurement --------------------------------------------------------------------------------------------------


def write(rewrite: Rewriting, lost: str) -> Iterator[Step]:
    """What the collector is told about the tags and the name of a measurement; nothing where it did not write it."""
    signal = signal_of(rewrite.place.here)
    if signal is None:
        return
    gone = [c.old for c in rewrite.columns if c.was_tag and not c.is_tag]
    names = {c.old: c.new for c in rewrite.tags if c.was_tag and c.new != c.old}
    splits = [c.split for c in rewrite.tags if c.was_tag and c.split is not None]
    if signal is Signal.METRIC:
        here = rewrite.place.here
        groups = _of_metric(here, gone, [*names, *(split.column for split in splits)], _changed(here, names, splits))
        is_named = _here(here) == f"metric.name == {otel.string(here.name)}"
        if is_named:
            named = f"set(metric.name, {otel.string(rewrite.new)}){otel.only(_here(here))}"
            groups = [*groups, Group(signal, (named,))]
        yield from _metric_step(here.name, groups, gone, lost, "" if is_named else _stays(rewrite))
        return
    yield from _of_records(rewrite.place.here, signal, gone, names, lost, _stays(rewrite))


def _stays(rewrite: Rewriting) -> str:
    """What to say where the exporter names the measurement: to delete it would delete what is being written."""
    return (
        f" Its exporter names the measurement, and writes to {rewrite.old} still: leave out the steps that copy its "
        f"points to {listed(rewrite.targets, 6)}, and the one that deletes it. What is stored stays as it is."
    )


def leave_out(place: Place, changes: Sequence[LeaveOut], lost: str) -> Iterator[Step]:
    """Tags that the collector no longer sends; nothing where it did not write them."""
    gone = [change.column for change in changes if place.here.tag(change.column) is not None]
    signal = signal_of(place.here)
    if signal is None or not gone:
        return
    if signal is Signal.METRIC:
        yield from _metric_step(place.here.name, _of_metric(place.here, gone, [], []), [], lost)
    else:
        yield from _of_records(place.here, signal, gone, {}, lost)


def _metric_step(name: str, groups: Sequence[Group], gone: Sequence[str], lost: str, more: str = "") -> Iterator[Step]:
    text = otel.transform(name, groups)
    if not text:
        return
    words = "If an OpenTelemetry collector writes it, in the pipeline to this database:"
    if gone:
        one = len(gone) == 1
        words = (
            f"If an OpenTelemetry collector writes it, in the pipeline to this database. Its metrics have no fields "
            f"but their values: {listed(gone)} {'goes' if one else 'go'}, unless traces or logs have "
            f"{'it' if one else 'them'}."
        )
    unsent = f"the values of {listed(gone)} in points written from then on" if gone else ""
    yield Step(Phase.WRITE, words + more, text, "yaml", loses="; ".join(filter(None, (lost, unsent))))


def _changed(here: Measurement, names: Mapping[str, str], splits: Sequence[SplitColumn]) -> list[str]:
    condition = _here(here)
    apart = [line for split in splits for line in otel.taken_apart("datapoint", split, condition)]
    return [*apart, *otel.renamed("datapoint", names, condition)]


def _of_metric(
    here: Measurement, gone: Sequence[str], changed: Sequence[str], statements: Sequence[str]
) -> list[Group]:
    """What becomes of attributes, wherever they are. Those of a resource are those of its other metrics as well: each
    point gets its own, which changes no tag, before the resource loses them.
    """
    every = [*gone, *changed]
    lifted = [
        f"set({otel.attribute('datapoint', name)}, {source})"
        + otel.only(f"{otel.attribute('datapoint', name)} == nil", f"{source} != {nothing}")
        for name in every
        for source, nothing in [_above(name)]
    ]
    dropped = [otel.removed("datapoint", name, _here(here)) for name in gone]
    # The scope loses its attribute before the resource, of which statements about scopes know as well.
    above = [f'set({_SCOPE[name]}, "")' if name in _SCOPE else otel.removed("resource", name) for name in every]
    scopes = tuple(line for line in above if line.startswith("set"))
    resources = tuple(line for line in above if not line.startswith("set"))
    parts = [(*lifted, *dropped, *statements), scopes, resources]
    return [Group(Signal.METRIC, tuple(part)) for part in parts]


def _above(name: str) -> tuple[str, str]:
    """Where it is unless the point has it, and what that has without it."""
    return (_SCOPE[name], '""') if name in _SCOPE else (otel.attribute("resource", name), "nil")


# --- Logs and spans -------------------------------------------------------------------------------------------------


def _of_records(
    here: Measurement, signal: Signal, gone: Sequence[str], names: Mapping[str, str], lost: str, stays: str = ""
) -> Iterator[Step]:
    """What becomes of tags of logs or spans. `stays`: what to say where they become fields, among the attributes, and
    are not left out.
    """
    keeps = bool(stays)
    ids = [name for name in gone if name in _IDS]
    if ids and signal is Signal.SPAN:
        yield Step(
            Phase.WRITE,
            f"If an OpenTelemetry collector writes it: its exporter refuses spans without {listed(_IDS)}, and makes "
            "tags of them. Give the bucket a short retention, or keep spans where ids are no series.",
        )
    gone = [name for name in gone if name not in _IDS]
    if signal is Signal.LOG and ids:
        tags = [t.key for t in here.tags if t.key not in (*gone, *ids)]
    else:
        ids, tags = [], [t.key for t in here.tags if t.key not in (*gone, *_IDS)]
    names = {old: new for old, new in names.items() if old not in _IDS}
    if not (gone or ids or names):
        return
    option = "log_record_dimensions" if signal is Signal.LOG else "span_dimensions"
    dimensions = f"exporters:\n  influxdb:\n    {option}: {otel.flow([names.get(tag, tag) for tag in tags])}"
    statements = [*_without_ids(ids, keeps), *([] if keeps else _nowhere(signal, gone)), *_named(signal, names)]
    block = otel.transform(here.name, [Group(signal, tuple(statements))])
    kept = f" {listed([*gone, *ids])} can be read in the field attributes." if keeps and (gone or ids) else ""
    yield Step(
        Phase.WRITE,
        f"If an OpenTelemetry collector writes it, in the pipeline to this database.{stays}{kept}",
        "\n".join(filter(None, (block, dimensions))),
        "yaml",
        loses=lost,
    )


def _without_ids(ids: Sequence[str], keeps: bool) -> Iterator[str]:
    """The exporter makes tags of both ids, or of none."""
    kept = _IDS if keeps else [name for name in _IDS if name not in ids]
    for name in kept if ids else ():
        yield (f"set({otel.attribute('log', name)}, log.{name}.string){otel.only(f'log.{name} != {_NO_ID[name]}')}")
    for name in _IDS if ids else ():
        yield f"set(log.{name}, {_NO_ID[name]})"


def _nowhere(signal: Signal, gone: Sequence[str]) -> Iterator[str]:
    for name in gone:
        yield otel.removed(signal.record, name)
        yield otel.removed("resource", name)


def _named(signal: Signal, names: Mapping[str, str]) -> Iterator[str]:
    record = signal.record
    for name in names:
        source, own = otel.attribute("resource", name), otel.attribute(record, name)
        yield f"set({own}, {source}){otel.only(f'{own} == nil', f'{source} != nil')}"
    yield from otel.renamed(record, names)


# --- Names that hold data -------------------------------------------------------------------------------------------


def merged(
    changes: Mapping[str, MergeMeasurements], known: Mapping[str, Measurement], patterns: Mapping[str, str]
) -> Iterator[Step]:
    """What the collector is told to make attributes of what the names of metrics say.

    `changes`, `patterns`: by the name of the measurement that all become; a pattern fits the members alone, with a
    group for each tag. Nothing where the collector did not write all members, or no pattern is known.
    """
    for into, change in changes.items():
        members = [known.get(member.measurement) for member in change.members]
        evident = all(m is not None and signal_of(m) is Signal.METRIC and _here(m) for m in members)
        if not evident:
            continue
        if any(member.field for member in change.members):
            yield Step(
                Phase.WRITE,
                f"If an OpenTelemetry collector writes {change.template}: its exporter names the fields itself, so "
                "that metrics of different quantities must keep names of their own. Leave out the steps that merge "
                "and delete these.",
            )
            continue
        if not patterns.get(into):
            continue
        pattern = otel.string(_grouped(patterns[into]))
        fits = f"IsMatch(metric.name, {pattern})"
        told = [
            f'set({otel.attribute("datapoint", tag)}, ExtractPatterns(metric.name, {pattern})["p{number}"])'
            + otel.only(fits)
            for number, (tag, _) in enumerate(change.members[0].tags, 1)
        ]
        named = (f"set(metric.name, {otel.string(into)}){otel.only(fits)}",)
        text = otel.transform(into, [Group(Signal.METRIC, tuple(told)), Group(Signal.METRIC, named)])
        yield Step(
            Phase.WRITE, "If an OpenTelemetry collector writes them, in the pipeline to this database:", text, "yaml"
        )


def _grouped(pattern: str) -> str:
    """The pattern with the names p1, p2, ... for its groups."""
    numbers = itertools.count(1)
    # An escaped character is none of a group.
    return re.sub(r"\\.|\((?!\?)", lambda m: m[0] if len(m[0]) > 1 else f"(?P<p{next(numbers)}>", pattern)
