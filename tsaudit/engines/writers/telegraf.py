"""Settings of Telegraf: processors that follow any input that collects the points, in the order in which they run.

https://docs.influxdata.com/telegraf/v1/configuration/#processor-plugins
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from tsaudit.engines.writers.name_patterns import name_patterns
from tsaudit.model.change import (
    Change,
    ChangeType,
    LeaveOut,
    MakeField,
    MakeTag,
    MergeMeasurements,
    Rename,
)
from tsaudit.model.profile import Measurement

_INPUTS: Final = {
    "cpu": "usage_idle",
    "disk": "inodes_free",
    "diskio": "io_time",
    "mem": "available_percent",
    "net": "bytes_recv",
    "netstat": "tcp_established",
    "processes": "total_threads",
    "procstat": "memory_rss",
    "system": "load1",
}
"""Measurement of each of Telegraf's common inputs to a field that it has."""
_STATSD: Final = "metric_type"
_WIDTH: Final = 96
_MOST_PATTERNS: Final = 8
"""More hardly fit into a line."""
_TYPES: Final = frozenset({"integer", "float", "boolean"})
_DATA: Final = re.compile(r"\{(\w+)\}")


def is_writer(measurement: Measurement) -> bool:
    """Whether the measurement's name and columns match one of Telegraf's common inputs."""
    field = _INPUTS.get(measurement.name)
    return any(f.key == field for f in measurement.fields) or measurement.tag(_STATSD) is not None


def settings(
    measurements: Sequence[Measurement],
    changes: Sequence[Change],
    new_name: str,
    most: int,
    beside: Collection[str] = (),
    unchanged: Collection[str] = (),
) -> str:
    """A piece of configuration for the changes; changes that would exceed `most` lines are left out. Empty if it cannot
    be limited to the measurements.

    `measurements`: those that need the changes; empty for changes of a database. `new_name`: the measurement that
    replaces the first one. `beside`: the names of all measurements of the database. `unchanged`: those that have a
    column of the changes which stays as it is.
    """
    blocks = _blocks(measurements, changes, new_name, unchanged) if measurements else _merged(changes, beside)
    shown: list[str] = []
    for block in blocks:
        lines = block.splitlines()
        if shown and len(shown) + len(lines) > most:
            break
        shown += lines
    return "\n".join(shown)


def _blocks(
    measurements: Sequence[Measurement], changes: Sequence[Change], new_name: str, unchanged: Collection[str]
) -> Iterator[str]:
    here, only = measurements[0], _only(measurements, unchanged)
    if not only:
        return
    yield from _left_out(here, only, changes)
    yield from _converted(only, changes)
    suffix = new_name.removeprefix(here.name)
    if len(measurements) > 1 and new_name and suffix != new_name:
        named = _only(measurements, unchanged, _having(changes))
        yield f"[[processors.override]]\n{named}\n  name_suffix = {string(suffix)}"
        new_name = ""
    yield from _renamed(here, only, changes, new_name)


def _only(measurements: Sequence[Measurement], unchanged: Collection[str], otherwise: str = "") -> str:
    """The line that limits a processor to the measurements; `otherwise` if they are too many for one line and no others
    have the columns. Empty if others have them, and no line matches only these.
    """
    names = [measurement.name for measurement in measurements]
    line = _namepass(map(glob, names))
    if len(line) <= _WIDTH:
        return line
    if unchanged:
        found = name_patterns(names, unchanged, _MOST_PATTERNS)
        line = _namepass("*".join(map(glob, one.parts)) for one in found)
        return line if found and len(line) <= _WIDTH else ""
    return otherwise or f"  # no namepass: all measurements that have it, such as {measurements[0].name}"


def _namepass(patterns: Iterable[str]) -> str:
    return f"  namepass = {strings(patterns)}"


def _having(changes: Sequence[Change]) -> str:
    """The line that limits a processor to points that another processor has converted."""
    for change in changes:
        if isinstance(change, MakeField):
            return f"  metricpass = {string(f'{string(change.tag)} in fields')}"
        if isinstance(change, MakeTag):
            return f"  metricpass = {string(f'{string(change.column)} in tags')}"
        if isinstance(change, ChangeType):
            return f"  metricpass = {string(f'{string(change.column)} in fields')}"
    return ""


def _left_out(here: Measurement, only: str, changes: Sequence[Change]) -> Iterator[str]:
    """Removes columns. https://docs.influxdata.com/telegraf/v1/configuration/#metric-filtering"""
    columns = [change.column for change in changes if isinstance(change, LeaveOut)]
    tags = [column for column in columns if here.tag(column) is not None]
    fields = [column for column in columns if column not in tags]
    if columns:
        options = [("tagexclude", tags), ("fieldexclude", fields)]
        lines = [f"  {option} = {strings(map(glob, names))}" for option, names in options if names]
        yield "\n".join([_head("override", only), *lines])


def _converted(only: str, changes: Sequence[Change]) -> Iterator[str]:
    """Changes roles and types. https://docs.influxdata.com/telegraf/v1/processor-plugins/converter/"""
    tags: dict[str, list[str]] = {}
    fields: dict[str, list[str]] = {}
    for change in changes:
        if isinstance(change, MakeField):
            tags.setdefault(change.to if change.to in _TYPES else "string", []).append(change.tag)
        elif isinstance(change, MakeTag):
            fields.setdefault("tag", []).append(change.column)
        elif isinstance(change, ChangeType) and change.to in _TYPES:
            fields.setdefault(change.to, []).append(change.column)
    if tags or fields:
        lines = [_head("converter", only)]
        for what, found in (("tags", tags), ("fields", fields)):
            if found:
                lines.append(f"  [processors.converter.{what}]")
                lines += [f"    {kind} = {strings(map(glob, names))}" for kind, names in sorted(found.items())]
        yield "\n".join(lines)


def _renamed(here: Measurement, only: str, changes: Sequence[Change], new_name: str) -> Iterator[str]:
    """Changes names. https://docs.influxdata.com/telegraf/v1/processor-plugins/rename/"""
    renames = [change for change in changes if isinstance(change, Rename)]
    names = [(c.role or ("field" if c.old else "measurement"), c.old or here.name, c.new) for c in renames]
    names += [("measurement", here.name, new_name)] if new_name else []
    if names:
        lines = [_head("rename", only)]
        for role, old, new in names:
            lines += ["  [[processors.rename.replace]]", f"    {role} = {string(old)}", f"    dest = {string(new)}"]
        yield "\n".join(lines)


def _merged(changes: Sequence[Change], beside: Collection[str]) -> Iterator[str]:
    """Turns data in names into tags."""
    for change in changes:
        if isinstance(change, MergeMeasurements) and (pattern := _name_pattern(change, beside)):
            yield _by_pattern(change, pattern)


def _name_pattern(change: MergeMeasurements, beside: Collection[str] = ()) -> str:
    """A regular expression that matches only the members' names, with a named group for each tag; empty if there is
    none.

    `beside`: other names that it must not match.
    """
    others = {*beside} - {member.measurement for member in change.members}
    tags = [name for name, _ in change.members[0].tags]
    if change.members[0].field or not tags or not all(re.fullmatch(r"[A-Za-z_]\w*", tag, re.ASCII) for tag in tags):
        return ""
    for data in (".+?", r".*?\d.*?"):
        left, pieces = iter(tags), []
        for position, piece in enumerate(_DATA.split(change.template)):
            if position % 2 == 0:
                pieces.append(re.escape(piece))
            elif piece == "date":
                pieces.append(f"(?:{data})")
            else:
                pieces.append(f"(?P<{next(left, '_')}>{data})")
        pattern = f"^{''.join(pieces)}$"
        fits = [re.fullmatch(pattern, member.measurement) for member in change.members]
        values = [m.groupdict() if m else None for m in fits]
        is_right = values == [dict(member.tags) for member in change.members]
        if is_right and not any(re.fullmatch(pattern, name) for name in others):
            return pattern
    return ""


def _by_pattern(change: MergeMeasurements, pattern: str) -> str:
    """Turns the name into a tag, which is then split."""
    chosen = f"  metricpass = {string(f'name.matches({string(pattern)})')}"
    tag, into = change.members[0].tags[0][0], change.into.replace("$", "$$")
    return "\n".join(
        [
            f'[[processors.template]]\n{chosen}\n  tag = {string(tag)}\n  template = "{{{{ .Name }}}}"',
            f"[[processors.regex]]\n{chosen}",
            f"  tags = [{{ key = {string(tag)}, pattern = {string(pattern)} }}]",
            f"  metric_rename = [{{ pattern = {string(pattern)}, replacement = {string(into)} }}]",
        ]
    )


def _head(processor: str, only: str) -> str:
    return f"[[processors.{processor}]]\n{only}"


def glob(text: str) -> str:
    """The text as a Telegraf pattern that matches only this text."""
    return "".join(f"\\{c}" if c in "*?[]{}!\\," else c for c in text)


def string(text: str) -> str:
    """The text as a TOML string; a basic string of TOML is written like a string of JSON."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def strings(texts: Iterable[str]) -> str:
    """The texts as a list of strings."""
    return f"[{', '.join(map(string, texts))}]"
