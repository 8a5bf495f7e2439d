"""What an OpenTelemetry collector is told, whose signals GreptimeDB's own receivers lay out as tables.

https://docs.greptime.com/user-guide/ingest-data/for-observability/opentelemetry/
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tsaudit.engines import otel
from tsaudit.engines.greptimedb.tables import is_metric
from tsaudit.engines.otel import Group, Signal
from tsaudit.engines.rendering import Place
from tsaudit.engines.sql import changes as sql
from tsaudit.model.change import LeaveOut
from tsaudit.model.plan import Phase, Step
from tsaudit.model.profile import Measurement
from tsaudit.text import listed

_PROMOTED: Final = re.compile(r"(service|k8s|cloud|container|deployment|host)_\w+")
"""Labels that are attributes of a resource by the semantic conventions."""
_ENDS: Final = ("_bucket", "_sum", "_count", "_total")
_UNITS: Final = ("_seconds", "_milliseconds", "_bytes", "_ratio", "_percent", "_celsius", "_meters", "_volts")
_OF_LOGS: Final = frozenset(
    {"trace_id", "span_id", "severity_text", "severity_number", "body", "trace_flags"}
    | {"scope_name", "scope_version", "scope_schema_url", "resource_schema_url"}
)
"""Columns that the receiver makes of each log; other tags are keys that its header names."""
_OTHER: Final = "[^a-zA-Z0-9]+"
"""What _ stands for."""
_PREFIXES: Final = {
    "span_attributes.": "span",
    "resource_attributes.": "resource",
    "scope_attributes.": "scope",
}


def without_labels(place: Place, gone: Sequence[str], names: Mapping[str, str], lost: str) -> Iterator[Step]:
    """The same by the collector, for a table of the metric engine; nothing where no collector is evident.

    `gone`: labels that are no longer sent. `names`: labels to what they are called from now on.
    """
    here = place.here
    if not is_metric(here) or otel.signal_of(here) is not Signal.METRIC:
        return
    given = [name for name in gone if not _PROMOTED.fullmatch(name)]
    fits = f"IsMatch(metric.name, {otel.string(_metric(place))})"
    statements = [f"delete_matching_keys(datapoint.attributes, {_key(name)}){otel.only(fits)}" for name in given]
    statements += [
        f'replace_all_patterns(datapoint.attributes, "key", {_key(old)}, {otel.string(new)}){otel.only(fits)}'
        for old, new in names.items()
        if not _PROMOTED.fullmatch(old)
    ]
    if text := otel.transform(here.name, [Group(Signal.METRIC, tuple(statements))]):
        yield Step(
            Phase.WRITE,
            "If an OpenTelemetry collector sends it, in the pipeline to this database:",
            text,
            "yaml",
            loses=lost if given else "",
        )
    if promoted := [name for name in gone if _PROMOTED.fullmatch(name)]:
        yield Step(
            Phase.WRITE,
            f"If an OpenTelemetry collector sends it: {listed(promoted)} can be of the resource. The header "
            "x-greptime-otlp-metric-promote-resource-attrs of its exporter lists the attributes of resources that "
            "become labels, of all metrics.",
            loses=lost,
        )


def _metric(place: Place) -> str:
    """A pattern for the metric's name: the receiver may have added the unit and the type at its end."""
    tables = {m.name for m in place.profile.measurements if m.database == place.database}
    name, added = place.here.name, ""
    for ends in (_ENDS, _UNITS):
        end = next((end for end in ends if name.endswith(end)), "")
        # Without it, the name may be that of another metric.
        if end and name.removesuffix(end) not in tables:
            name, added = name.removesuffix(end), f"({_OTHER}{end[1:]})?{added}"
    return f"^{_sent_as(name)}{added}$"


def _key(label: str) -> str:
    return otel.string(f"^{_sent_as(label)}$")


def _sent_as(name: str) -> str:
    """A pattern for what was sent, where the receiver writes _ for what Prometheus does not allow."""
    return _OTHER.join(re.escape(part) for part in name.split("_"))


def not_extracted(here: Measurement, tags: Sequence[str]) -> Iterator[Step]:
    """What senders of logs are told where tags become fields: the receiver makes tags of keys in its header."""
    named = [tag for tag in tags if tag not in _OF_LOGS]
    columns = {tag.key for tag in here.tags} | {field.key for field in here.fields}
    if otel.signal_of(here) is not Signal.LOG or "log_attributes" not in columns or not named:
        return
    kept = [tag.key for tag in here.tags if tag.key not in (*tags, *_OF_LOGS)]
    header = f"exporters:\n  otlphttp:\n    headers:\n      X-Greptime-Log-Extract-Keys: {otel.scalar(','.join(kept))}"
    one = len(named) == 1
    yield Step(
        Phase.WRITE,
        f"If an OpenTelemetry collector sends it, take {listed(named)} out of the header that makes tags of "
        f"attributes: {'it stays' if one else 'they stay'} in log_attributes.",
        header if kept else "",
        "yaml" if kept else "",
    )


def leave_out(place: Place, changes: Sequence[LeaveOut]) -> Iterator[Step]:
    """Columns that are no longer written, and how the collector is told."""
    yield from sql.leave_out(place, changes)
    here, signal = place.here, otel.signal_of(place.here)
    columns = [change.column for change in changes]
    if signal is Signal.METRIC:
        yield from without_labels(place, columns, {}, "")
    elif signal is Signal.LOG:
        yield from not_extracted(here, [column for column in columns if here.tag(column) is not None])
    elif signal is Signal.SPAN:
        statements = [
            otel.removed(of, column.removeprefix(prefix))
            for column in columns
            for prefix, of in _PREFIXES.items()
            if column.startswith(prefix)
        ]
        if text := otel.transform(here.name, [Group(signal, tuple(statements))]):
            words = "If an OpenTelemetry collector sends it, in the pipeline to this database:"
            yield Step(Phase.WRITE, words, text, "yaml")
