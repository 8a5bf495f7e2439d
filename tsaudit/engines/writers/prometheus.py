"""Relabeling rules of Prometheus, which Grafana Alloy also supports. They only change labels, because a sample has no
other fields than its value.

https://prometheus.io/docs/prometheus/latest/configuration/configuration/#relabel_config
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tsaudit.engines.writers.opentelemetry import MOST_NAMES
from tsaudit.engines.writers.pattern import value_pattern
from tsaudit.model.change import Change, LeaveOut, MakeField, Rename, SplitColumn
from tsaudit.model.profile import Measurement

_SCRAPED: Final = frozenset({"job", "instance"})
"""Labels that Prometheus adds to everything it scrapes."""
_VALUES: Final = frozenset({"value", "greptime_value", "gauge", "counter", "val"})
"""Names that engines use for the only field of a sample."""


def is_writer(measurement: Measurement) -> bool:
    """Whether the measurement has the labels of a scrape, and a single value."""
    fields = {field.key for field in measurement.fields}
    return {tag.key for tag in measurement.tags} >= _SCRAPED and len(fields) == 1 and fields <= _VALUES


def settings(measurements: Sequence[Measurement], changes: Sequence[Change], most: int) -> str:
    """Rules of remote_write. Changes that would exceed `most` lines are left out, except for the first. If there are
    many measurements, the rules apply to all metrics.
    """
    names = [re.escape(measurement.name) for measurement in measurements]
    name = "|".join(names) if len(names) <= MOST_NAMES else ".+"
    lines = list[str]()
    for change in changes:
        shown = [line for rule in _rules(name, change) for line in _lines(rule)]
        if not lines or 1 + len(lines) + len(shown) <= most:
            lines += shown
    return "\n".join(["write_relabel_configs:", *lines]) if lines else ""


def _lines(rule: Mapping[str, str]) -> Iterator[str]:
    for number, (key, value) in enumerate(rule.items()):
        yield f"{'    ' if number else '  - '}{key}: {value}"


def _rules(name: str, change: Change) -> Iterator[Mapping[str, str]]:
    if isinstance(change, MakeField):
        yield _set(name, change.tag)
    elif isinstance(change, LeaveOut):
        yield _set(name, change.column)
    elif isinstance(change, Rename) and change.old and change.role != "field":
        yield _set(name, change.new, change.old, "(.+)", "$1")
        yield _set(name, change.old)
    elif isinstance(change, SplitColumn) and change.is_tag and (pattern := value_pattern(change).strip("^$")):
        for number, part in enumerate(change.parts, 1):
            yield _set(name, part.name, change.column, pattern, f"${{{number}}}")
        yield _set(name, change.column, change.column, pattern)


def _set(name: str, label: str, source: str = "", pattern: str = "", value: str = "") -> Mapping[str, str]:
    """The rule that sets a label of the metrics; an empty value removes the label."""
    sources = f"[__name__, {json.dumps(source)}]" if source else "[__name__]"
    regex = f"({name})" if "|" in name else name
    if source:
        regex, value = f"(?:{name});{pattern}", value
    return {
        "source_labels": sources,
        "regex": _scalar(regex),
        "target_label": _scalar(label),
        "replacement": _scalar(value),
    }


def _scalar(text: str) -> str:
    quoted = text.replace("'", "''")
    return f"'{quoted}'"
