"""Relabeling rules of Prometheus, which Grafana Alloy also supports. They only change labels, because a sample has no
other fields than its value.

https://prometheus.io/docs/prometheus/latest/configuration/configuration/#relabel_config
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tsaudit.engines.writers.opentelemetry import MOST_NAMES
from tsaudit.model.change import Change, LeaveOut, MakeField
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
    name = names[0] if len(names) == 1 else f"({'|'.join(names)})" if len(names) <= MOST_NAMES else ".+"
    lines = list[str]()
    for change in changes:
        if isinstance(change, MakeField | LeaveOut):
            label = change.tag if isinstance(change, MakeField) else change.column
            rule = _removed(name, label)
            if not lines or 1 + len(lines) + len(rule) <= most:
                lines += rule
    return "\n".join(["write_relabel_configs:", *lines]) if lines else ""


def _removed(name: str, label: str) -> list[str]:
    """The rule that removes a label of the metrics."""
    return [
        "  - source_labels: [__name__]",
        f"    regex: {_scalar(name)}",
        f"    target_label: {_scalar(label)}",
        "    replacement: ''",
    ]


def _scalar(text: str) -> str:
    quoted = text.replace("'", "''")
    return f"'{quoted}'"
