"""Recognizes what an OpenTelemetry collector writes, and builds statements of its `transform` processor.

https://github.com/open-telemetry/opentelemetry-collector-contrib/tree/main/processor/transformprocessor
"""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tsaudit.engines.advice import tags_removed
from tsaudit.model.change import Change
from tsaudit.model.profile import Measurement


class Signal(enum.StrEnum):
    """The signal that the rows of a measurement belong to. The value is the name of its statements in the processor."""

    METRIC = "metric"
    LOG = "log"
    SPAN = "trace"

    @property
    def record(self) -> str:
        """What has attributes of its own in this signal, in the terms of statements."""
        return {Signal.METRIC: "datapoint", Signal.LOG: "log", Signal.SPAN: "span"}[self]


MOST_NAMES: Final = 5
"""Maximum number of measurements that a setting names; if there are more, it applies to all metrics."""
_WIDTH: Final = 96
_OWN: Final = re.compile(r"(otel[._](library|scope)|telemetry[._]sdk)[._]\w+")
"""Attributes that only OpenTelemetry's SDKs and exporters write."""
_SERVICE: Final = frozenset(
    f"{group}_{name}"
    for group, names in {
        "service": ("name", "namespace", "instance_id", "version"),
        "deployment": ("environment", "environment_name"),
        "k8s": ("pod_name", "pod_uid", "namespace_name", "node_name", "deployment_name", "container_name"),
    }.items()
    for name in names
)
"""Attributes of a resource by the semantic conventions, with `_` instead of dots. A single one proves nothing."""
_RESOURCE: Final = re.compile(r"(service|host|container|k8s|process|os|cloud|deployment|device|faas)\.[\w.]+")
"""Attributes of a resource with their dots, which other collectors also use in names."""
_TIMES: Final = frozenset({"duration_nano", "end_time_unix_nano", "start_time_unix_nano"})
_VALUES: Final = frozenset({"gauge", "counter", "count"})
_BY_TYPE: Final = {
    "sum": re.compile(r"value_(cumulative|delta)_(non)?monotonic_(int|double)"),
    "histogram": re.compile(r"(cumulative|delta)_\d[\d.]*"),
}
"""Type of a metric to the fields that it has in InfluxDB's schema, in which the measurement's name ends with the unit
and the type.

https://github.com/influxdata/influxdb-observability/blob/main/docs/index.md
"""
_SCOPE: Final = {"otel.library.name": "scope.name", "otel.library.version": "scope.version"}
"""Tags that are not attributes."""
_ENDS: Final = ("total", "bucket", "sum", "count", "seconds", "milliseconds", "bytes", "ratio", "percent", "celsius")
"""Suffixes that exporters for Prometheus add to the name of a metric."""


def signal_of(measurement: Measurement) -> Signal | None:
    """The signal that its columns indicate, whatever the engine is; None if nothing indicates one."""
    tags = {tag.key for tag in measurement.tags}
    fields = {field.key for field in measurement.fields}
    columns = tags | fields
    if _type_in_name(measurement):
        return Signal.METRIC
    if {"trace_id", "span_id"} <= columns and columns & _TIMES:
        return Signal.SPAN
    if {"severity_number", "body"} <= columns:
        return Signal.LOG
    if any(map(_OWN.fullmatch, tags)) or len({tag.replace(".", "_") for tag in tags} & _SERVICE) > 1:
        return Signal.METRIC
    return Signal.METRIC if any(map(_RESOURCE.fullmatch, tags)) and fields & _VALUES else None


def _type_in_name(measurement: Measurement) -> str:
    """The type at the end of the measurement's name; empty for schemas that have no type there."""
    fields = [field.key for field in measurement.fields]
    return next((kind for kind, fits in _BY_TYPE.items() if any(map(fits.fullmatch, fields))), "")


def _here(measurements: Sequence[Measurement]) -> str:
    """A condition for the metrics that are written to the measurements; empty if all metrics are."""
    first = measurements[0]
    if kind := _type_in_name(first):
        return f'Concat([metric.name, metric.unit, "{kind}"], "_") == {string(first.name)}'
    if first.name == "prometheus" and not {f.key for f in first.fields} & _VALUES:
        return ""
    if len(measurements) == 1 and "_" not in first.name:
        return f"metric.name == {string(first.name)}"
    if len(measurements) > MOST_NAMES:
        return ""
    names = "|".join(_metric(m.name) for m in measurements)
    return f"IsMatch(metric.name, {string(f'^({names})$' if '|' in names else f'^{names}$')})"


def _metric(name: str) -> str:
    """A pattern for the metric's name, to which a unit and a type may have been added at the end."""
    parts, ends = name.split("_"), list[str]()
    while len(parts) > 1 and parts[-1] in _ENDS:
        ends.insert(0, f"([._]{parts.pop()})?")
    return "[._]".join(map(re.escape, parts)) + "".join(ends)


def _sent_as(tags: Iterable[str]) -> str:
    """A pattern for the keys of attributes, in which engines may use `_` instead of dots."""
    return f"^({'|'.join('[._]'.join(map(re.escape, tag.split('_'))) for tag in tags)})$"


def settings(measurements: Sequence[Measurement], changes: Sequence[Change]) -> str:
    """The processor for changes of tags; empty if no change is about a tag, or if the exporter decides."""
    here = measurements[0]
    signal = signal_of(here)
    gone = [tag.key for tag in tags_removed(here, changes)]
    if signal is None or not gone:
        return ""
    condition = _here(measurements) if signal is Signal.METRIC else ""
    return transform(here.name, _without(signal, gone, condition))


def _without(signal: Signal, gone: Sequence[str], condition: str) -> Iterator[Group]:
    """Statements that remove attributes, wherever they are. A resource's attributes are shared with its other metrics,
    so each point first gets its own copy, which changes no tag, before the resource loses them.
    """
    attributes = f"{signal.record}.attributes"
    own, scope = [key for key in gone if key not in _SCOPE], [key for key in gone if key in _SCOPE]
    above = [f'merge_maps({attributes}, resource.attributes, "insert")'] if own else []
    others = f"not ({condition})" if condition else ""
    for key in scope if others else ():
        lifted = f"set({attribute(signal.record, key)}, {_SCOPE[key]})"
        above.append(lifted + only(others, f'{_SCOPE[key]} != ""'))
    dropped = [removed(signal.record, gone, condition)] if own else []
    yield signal, [*above, *dropped]
    # The scope loses its attribute before the resource, because statements about scopes can also read the resource.
    yield signal, [f'set({_SCOPE[key]}, "")' for key in scope]
    yield signal, [removed("resource", own)] if own else []


# --- Statements ---------------------------------------------------------------------------------------------------


def string(text: str) -> str:
    """The text as a string of OTTL."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in quoted)


def attribute(of: str, name: str) -> str:
    """An attribute of a record, a scope, or a resource."""
    return f"{of}.attributes[{string(name)}]"


def only(*conditions: str) -> str:
    """The end of a statement that applies only if all conditions are met; empty without conditions."""
    given = [condition for condition in conditions if condition]
    return f" where {' and '.join(given)}" if given else ""


def removed(of: str, names: Sequence[str], *conditions: str) -> str:
    """A statement that removes attributes."""
    if len(names) == 1 and "_" not in names[0]:
        return f"delete_key({of}.attributes, {string(names[0])}){only(*conditions)}"
    return f"delete_matching_keys({of}.attributes, {string(_sent_as(names))}){only(*conditions)}"


# --- The collector's configuration --------------------------------------------------------------------------------


Group = tuple[Signal, Sequence[str]]
"""Statements that run one after the other on all data of a batch of a signal, before the next group runs."""


def transform(name: str, groups: Iterable[Group]) -> str:
    """The processor, as a piece of the collector's configuration; empty if there are no statements."""
    lines, signal = list[str](), None
    for of, statements in (group for group in groups if group[1]):
        if of is not signal:
            lines.append(f"    {of}_statements:")
            signal = of
        lines.append("      - statements:")
        for statement in statements:
            lines += _folded(f"          - {scalar(statement)}")
    if not lines:
        return ""
    # If one statement fails, the data must not be lost.
    head = ["processors:", f"  transform/{_identifier(name)}:", "    error_mode: ignore"]
    return "\n".join([*head, *lines])


def _folded(line: str) -> list[str]:
    """The line, split in two if it is too long: a YAML string may continue on the next line."""
    before, where, after = line.partition(" where ")
    return [line] if len(line) <= _WIDTH or not where else [before, f"            where {after}"]


def _identifier(name: str) -> str:
    """The part of a component's name after the slash, without characters that are not allowed there."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", name) or "_"


def scalar(text: str) -> str:
    """The text as a YAML string for the collector, which treats $ as the beginning of a variable."""
    quoted = text.replace("$", "$$").replace("'", "''")
    return f"'{quoted}'"


def flow(texts: Sequence[str]) -> str:
    """The texts as a list of strings of YAML."""
    return f"[{', '.join(json.dumps(text.replace('$', '$$')) for text in texts)}]"
