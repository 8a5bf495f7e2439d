"""Settings of the collector's InfluxDB exporter, which decides what of logs and spans becomes a tag.

Of a metric, all attributes are tags. https://github.com/influxdata/influxdb-observability/blob/main/docs/index.md
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tsaudit.engines.place import Place
from tsaudit.engines.writers import Terms, loss, opentelemetry, sentences
from tsaudit.engines.writers.opentelemetry import Group, Signal
from tsaudit.model.change import Change, LeaveOut, MakeField
from tsaudit.model.plan import Step, StepKind
from tsaudit.text import listed

_IDS: Final = ("trace_id", "span_id")
_NO_ID: Final = {"trace_id": f"TraceID(0x{'0' * 32})", "span_id": f"SpanID(0x{'0' * 16})"}


def step(place: Place, changes: Sequence[Change], terms: Terms) -> Step | None:
    """What the exporter is told about tags of logs or spans that go; None for all else."""
    here, signal = place.here, opentelemetry.signal_of(place.here)
    gone = [c.tag if isinstance(c, MakeField) else c.column for c in changes if isinstance(c, MakeField | LeaveOut)]
    gone = [name for name in gone if here.tag(name) is not None]
    if signal not in (Signal.LOG, Signal.SPAN) or not gone:
        return None
    words = " ".join(sentences(here, changes, terms))
    ids = [name for name in gone if name in _IDS]
    if signal is Signal.SPAN and ids:
        words += (
            f" The exporter refuses spans without {listed(_IDS)}, and makes tags of them: give the bucket a short "
            "retention, or keep spans in a database for traces."
        )
    kept = [] if signal is Signal.SPAN or not ids else [name for name in _IDS if name not in gone]
    tags = [tag.key for tag in here.tags if tag.key in kept or tag.key not in (*gone, *_IDS)]
    option = "log_record_dimensions" if signal is Signal.LOG else "span_dimensions"
    text = f"exporters:\n  influxdb:\n    {option}: {opentelemetry.flow(tags)}"
    if signal is Signal.LOG and ids:
        block = opentelemetry.transform(here.name, [Group(signal, tuple(_as_attributes()))])
        text = f"{block}\n{text}"
    words += " If an OpenTelemetry collector writes it, in its exporter; what is no tag is in the field attributes:"
    return Step(StepKind.WRITER, words, text, "yaml", loses=loss(place.effect, terms.row))


def _as_attributes() -> Iterator[str]:
    """The exporter makes tags of both ids, or of none if one is missing."""
    for name, none in _NO_ID.items():
        yield f"set({opentelemetry.attribute('log', name)}, log.{name}.string) where log.{name} != {none}"
    yield f"set(log.trace_id, {_NO_ID['trace_id']})"
