"""What writers should send from now on, and the setting of the program that most likely writes the data, for all
engines: processors of Telegraf and of an OpenTelemetry collector, or rules of Prometheus.
"""

from __future__ import annotations

import dataclasses
import enum
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tsaudit.engines.advice import WRITTEN, Advice, Place, tags_removed
from tsaudit.engines.writers import opentelemetry, telegraf
from tsaudit.engines.writers.name_patterns import name_patterns
from tsaudit.engines.writers.opentelemetry import MOST_NAMES
from tsaudit.model.change import (
    Change,
    ChangeType,
    Diagnose,
    LeaveOut,
    MakeField,
    MakeTag,
    MergeMeasurements,
    Rename,
    SplitColumn,
    SplitMeasurement,
    StopSource,
)
from tsaudit.model.plan import Effect, Step, StepKind
from tsaudit.model.profile import Measurement
from tsaudit.text import listed, many, number

_SCRAPED: Final = frozenset({"job", "instance"})
"""Labels that Prometheus adds to everything it scrapes."""
_VALUES: Final = frozenset({"value", "greptime_value", "gauge", "counter", "val"})
"""Names that engines use for the only field of a sample."""


def is_prometheus(measurement: Measurement) -> bool:
    """Whether the measurement has the labels of a scrape, and a single value."""
    fields = {field.key for field in measurement.fields}
    return {tag.key for tag in measurement.tags} >= _SCRAPED and len(fields) == 1 and fields <= _VALUES


def prometheus_settings(
    measurements: Sequence[Measurement], changes: Sequence[Change], most: int, unchanged: Collection[str] = ()
) -> str:
    """Rules of remote_write, which Grafana Alloy also supports. They only change labels, because a sample has no other
    fields than its value: https://prometheus.io/docs/prometheus/latest/configuration/configuration/#relabel_config.

    Changes that would exceed `most` lines are left out, except for the first. If there are
    many measurements, the rules apply to all metrics; if some have a label of the changes that stays, `unchanged`, to
    those whose names begin and end like theirs, or there are no rules.
    """
    names = [re.escape(measurement.name) for measurement in measurements]
    name = names[0] if len(names) == 1 else f"({'|'.join(names)})" if len(names) <= MOST_NAMES else ".+"
    if len(names) > MOST_NAMES and unchanged:
        found = name_patterns([m.name for m in measurements], unchanged, MOST_NAMES)
        if not found:
            return ""
        name = f"({'|'.join('.*'.join(map(re.escape, one.parts)) for one in found)})"
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


MOST_LINES: Final = 10
"""Maximum number of lines of a setting. Changes that would exceed them are only described in words."""


class Program(enum.StrEnum):
    """A program that writes data, or that all points pass through."""

    TELEGRAF = "telegraf"
    OPENTELEMETRY = "opentelemetry"
    PROMETHEUS = "prometheus"
    """Prometheus, or Grafana Alloy, which has the same rules."""
    APPLICATION = "application"
    """A program without such settings."""

    @property
    def has_fields(self) -> bool:
        """Whether the program can choose the names of fields and measurements."""
        return self in (Program.TELEGRAF, Program.APPLICATION)


ALL: Final = frozenset(Program)


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting of one program, ready to use."""

    program: Program
    words: str
    """Where the setting goes, as the end of a paragraph about what to write from now on."""
    text: str = ""
    language: str = ""


def program_of(
    measurement: Measurement, usual: Program = Program.APPLICATION, programs: Collection[Program] = ALL
) -> Program:
    """The program that the columns indicate, among `programs`; `usual` if they indicate none."""
    if Program.OPENTELEMETRY in programs and opentelemetry.signal_of(measurement) is not None:
        return Program.OPENTELEMETRY
    if Program.PROMETHEUS in programs and is_prometheus(measurement):
        return Program.PROMETHEUS
    if Program.TELEGRAF in programs and telegraf.is_writer(measurement):
        return Program.TELEGRAF
    return usual


def setting(
    measurements: Sequence[Measurement],
    changes: Sequence[Change],
    usual: Program = Program.APPLICATION,
    programs: Collection[Program] = ALL,
    new_name: str = "",
    example: str = "",
    beside: Collection[Measurement] = (),
) -> Setting | None:
    """The setting for the changes of a plan; None if writers change nothing.

    `measurements`: the measurement that the changes are about, then others that need the same changes; empty for
    changes of a database. `new_name`: the measurement that replaces the first one, if the changes need another one.
    `example`: what an application sends from now on, for programs without settings. `beside`: all measurements
    of the database.
    """
    if not any(isinstance(change, WRITTEN) for change in changes):
        return None
    if all(isinstance(change, StopSource | Diagnose) for change in changes):
        return Setting(Program.APPLICATION, "")
    program = program_of(measurements[0], usual, programs) if measurements else usual
    is_for_all = len(measurements) > opentelemetry.MOST_NAMES
    unchanged = _unchanged(measurements, changes, beside)
    every = "for all metrics, " if is_for_all and not unchanged else ""
    if program is Program.TELEGRAF:
        names = [measurement.name for measurement in beside]
        text = telegraf.settings(measurements, changes, new_name, MOST_LINES, names, unchanged)
        found = Setting(program, "If Telegraf writes it:", text, "toml")
    elif program is Program.OPENTELEMETRY:
        # Its names of metrics only resemble those of measurements.
        text = "" if is_for_all and unchanged else opentelemetry.settings(measurements, changes)
        words = f"If an OpenTelemetry collector writes it, {every}in the pipeline to this database:"
        found = Setting(program, words, text, "yaml")
    elif program is Program.PROMETHEUS:
        text = prometheus_settings(measurements, changes, MOST_LINES, unchanged)
        words = f"If Prometheus writes it, {every}in remote_write (Grafana Alloy: as rules of prometheus.relabel):"
        found = Setting(program, words, text, "yaml")
    else:
        found = _by_hand(example)
    found = found if found.text else _by_hand(example)
    return replace(found, words=" ".join([*_with_patterns(measurements, changes), found.words]))


def _unchanged(
    measurements: Sequence[Measurement], changes: Sequence[Change], beside: Collection[Measurement]
) -> list[str]:
    """The names of the other measurements that have a column of the changes: there, it stays as it is."""
    columns = {
        change.tag if isinstance(change, MakeField) else change.old if isinstance(change, Rename) else change.column
        for change in changes
        if isinstance(change, ChangeType | LeaveOut | MakeField | MakeTag | Rename)
    }
    names = {measurement.name for measurement in measurements}
    return [
        other.name
        for other in beside
        if other.name not in names
        and (any(tag.key in columns for tag in other.tags) or any(field.key in columns for field in other.fields))
    ]


def _with_patterns(measurements: Sequence[Measurement], changes: Sequence[Change]) -> Iterator[str]:
    """What paths can be written as, so that queries can still group by them."""
    demoted = {change.tag for change in changes if isinstance(change, MakeField)}
    tags = [tag for tag in (measurements[0].tags if measurements else ()) if tag.key in demoted]
    if paths := [tag.key for tag in tags if tag.sample and all(value.startswith("/") for value in tag.sample)]:
        yield f"Or keep {_all(paths)} as it is, but write a name in place of each ID: /orders/:id."


def _by_hand(example: str) -> Setting:
    if not example:
        return Setting(Program.APPLICATION, "Change this in the application that writes it.")
    return Setting(Program.APPLICATION, "In the application that writes it:", example, "text")


_MOST_NAMES: Final = 6
_MOST_MOVED: Final = 3
_TYPES: Final = {
    "integer": "integers",
    "float": "floats",
    "decimal": "decimals",
    "boolean": "booleans",
    "time": "timestamps",
    "date": "dates",
}


@dataclass(frozen=True, slots=True)
class Terms:
    """An engine's terms, each in the singular."""

    row: str = "point"
    measurement: str = "measurement"
    tag: str = "tag"
    field: str = "field"
    types: Mapping[str, str] = dataclasses.field(default_factory=lambda: _TYPES)
    """Type in a change to the word for values of that type, in the plural."""


def step(
    advice: Advice,
    terms: Terms,
    usual: Program = Program.APPLICATION,
    programs: Collection[Program] = ALL,
    new_name: str = "",
    example: str = "",
) -> Step | None:
    """The whole step; None if writers change nothing.

    `new_name`: the measurement that replaces it, if the changes
    need another one. `example`: what an application sends from now on, for programs without settings.
    """
    place, changes = advice.place, advice.changes
    found = setting(advice.measurements, changes, usual, programs, new_name, example, place.beside)
    if found is None:
        return None
    if not found.program.has_fields:
        changes = [LeaveOut(c.at, c.tag) if isinstance(c, MakeField) else c for c in changes]
    words = sentences(place.measurement, changes, terms)
    if new_name:
        others = "; the others likewise" if advice.also else ""
        words.append(f"Write to {new_name}, which replaces {place.here.name}{others}.")
    lost = loss(place.effect, terms.row)
    if lost:
        words.append(milder(place, changes, terms))
    if not found.program.has_fields and (gone := [c.column for c in changes if isinstance(c, LeaveOut)]):
        lost = "; ".join(filter(None, [lost, f"from then on, the values of {_all(gone)}"]))
    words.append(found.words)
    return Step(StepKind.WRITER, " ".join(filter(None, words)), found.text, found.language, loses=lost)


def sentences(here: Measurement | None, changes: Sequence[Change], terms: Terms = Terms()) -> list[str]:
    """What writers should send from now on: one sentence for each kind of change."""
    return list(_sentences("" if here is None else here.name, changes, terms))


def _sentences(name: str, changes: Sequence[Change], terms: Terms) -> Iterator[str]:
    if demoted := [change.tag for change in changes if isinstance(change, MakeField)]:
        yield f"Write {_all(demoted)} as {_a(terms.field, demoted)} of {name}, not as {_a(terms.tag, demoted)}."
    if promoted := [change.column for change in changes if isinstance(change, MakeTag)]:
        yield f"Write {_all(promoted)} as {_a(terms.tag, promoted)} of {name}, not as {_a(terms.field, promoted)}."
    if gone := [change.column for change in changes if isinstance(change, LeaveOut)]:
        yield f"Stop writing {_all(gone)} to {name}."
    for change in changes:
        if isinstance(change, StopSource):
            yield (
                f"Stop what writes {name} with {change.by}={change.value}, or have it write {change.tag} from a fixed "
                "list of values: nearly all new series are its own."
            )
            yield f"The others need {change.tag} as a {terms.tag}."
    if split := [change for change in changes if isinstance(change, SplitColumn)]:
        first = split[0]
        parts = ", ".join(f"{part.name}={part.example}" for part in first.parts)
        role = terms.tag if first.is_tag else terms.field
        more = f", and likewise for {_all([one.column for one in split[1:]])}" if len(split) > 1 else ""
        yield f"Write one {role} per attribute: {parts} instead of {first.column}={first.example}{more}."
    if moved := [f"{_all(one.columns)} to {one.name}" for one in changes if isinstance(one, SplitMeasurement)]:
        own = f"a {terms.measurement} of its own" if len(moved) == 1 else f"{terms.measurement}s of their own"
        yield f"Write {listed(moved, _MOST_MOVED)}, {own}, with the same {terms.tag}s."
    for change in changes:
        if isinstance(change, MergeMeasurements):
            member = change.members[0]
            tags = " and ".join(f"{key}={value}" for key, value in member.tags)
            into = f"{terms.field} {member.field} of {change.into}" if member.field else change.into
            yield f"Write to {into}{f' with {tags}' if tags else ''} instead of {member.measurement}."
    if renamed := [f"{change.old or name} as {change.new}" for change in changes if isinstance(change, Rename)]:
        yield f"Write {_all(renamed)}."
    if typed := [f"{c.column} as {terms.types.get(c.to, c.to)}" for c in changes if isinstance(c, ChangeType)]:
        yield f"Write {_all(typed)}."
    if odd := [text for change in changes if isinstance(change, ChangeType) for text in change.exceptions]:
        yield f"Leave out values that do not convert, such as {listed(odd, 2)}."


def loss(effect: Effect, row: str = "point") -> str:
    """What is lost if rows end up with the tags and the time of other rows, for `Step.loses`; empty if nothing is, as
    far as rows were compared.
    """
    if effect.loss is None:
        unknown = f"{row}s that get the same tags and time as others; not counted: {effect.loss_unknown}"
        return unknown if effect.loss_unknown else ""
    found = effect.loss
    if not found.rows:
        return ""
    at_least = "" if found.is_exact else "at least "
    among = f"the {many(found.compared, row)} compared{f' ({found.scope})' if found.scope else ''}"
    return f"{at_least}{number(found.rows)} of {among}: they get the same tags and time as others"


def milder(place: Place, changes: Sequence[Change], terms: Terms = Terms()) -> str:
    """How to lose no row although a tag is removed, or what to do instead, as a sentence; empty if no tag is."""
    tags = tags_removed(place.measurement, changes)
    if not tags:
        return ""
    if any(value.startswith("/") for tag in tags for value in tag.sample):
        return "To lose none, keep it instead, with a placeholder for each id in its values (/users/<id>)."
    kept = f"it as a {terms.tag}" if len(tags) == 1 else f"them as {terms.tag}s"
    return (
        f"To lose none, write {terms.row}s that share a time with times that differ, by a nanosecond for example; or "
        f"keep {kept}, with fewer or coarser values."
    )


def _all(names: Sequence[str]) -> str:
    return listed(names, _MOST_NAMES)


def _a(noun: str, names: Sequence[str]) -> str:
    return f"a {noun}" if len(names) == 1 else f"{noun}s"
