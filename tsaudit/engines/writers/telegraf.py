"""Settings of Telegraf: processors that follow any input that collects the points, in the order in which they run.

https://docs.influxdata.com/telegraf/v1/configuration/#processor-plugins
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from tsaudit.engines.writers.pattern import value_pattern
from tsaudit.model.change import (
    Change,
    ChangeType,
    LeaveOut,
    MakeField,
    MakeTag,
    MergeMeasurements,
    Rename,
    SplitColumn,
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
) -> str:
    """A piece of configuration for the changes; changes that would exceed `most` lines are left out.

    `measurements`: those that need the changes; empty for changes of a database. `new_name`: the measurement that
    replaces the first one. `beside`: the names of all measurements of the database.
    """
    blocks = _blocks(measurements, changes, new_name) if measurements else _merged(changes, beside)
    shown: list[str] = []
    for block in blocks:
        lines = block.splitlines()
        if shown and len(shown) + len(lines) > most:
            break
        shown += lines
    return "\n".join(shown)


def _blocks(measurements: Sequence[Measurement], changes: Sequence[Change], new_name: str) -> Iterator[str]:
    here, only = measurements[0], _only(measurements)
    yield from _left_out(here, only, changes)
    yield from _converted(only, changes)
    for change in changes:
        if isinstance(change, SplitColumn):
            yield from _split(only, change)
    suffix = new_name.removeprefix(here.name)
    if len(measurements) > 1 and new_name and suffix != new_name:
        yield f"[[processors.override]]\n{_only(measurements, _having(changes))}\n  name_suffix = {string(suffix)}"
        new_name = ""
    yield from _renamed(here, only, changes, new_name)


def _only(measurements: Sequence[Measurement], otherwise: str = "") -> str:
    """The line that limits a processor to the measurements; `otherwise` if they are too many for one line."""
    line = f"  namepass = {strings(glob(m.name) for m in measurements)}"
    if len(line) <= _WIDTH:
        return line
    return otherwise or f"  # no namepass: all measurements that have it, such as {measurements[0].name}"


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


def _split(only: str, split: SplitColumn) -> Iterator[str]:
    """Splits values with several attributes; a value that does not match stays unchanged.

    https://docs.influxdata.com/telegraf/v1/processor-plugins/regex/
    """
    pattern = value_pattern(split)
    if not pattern:
        return
    role, gone = ("tags", "tagexclude") if split.is_tag else ("fields", "fieldexclude")
    first = split.parts[0].name
    yield "\n".join(
        [
            _head("regex", only),
            f"  [[processors.regex.{role}]]",
            f"    key = {string(split.column)}",
            f"    pattern = {string(pattern)}",
            _head("override", only),
            f"  {gone} = {strings([glob(split.column)])}",
            f"  metricpass = {string(f'{string(first)} in {role}')}",
        ]
    )


def _renamed(here: Measurement, only: str, changes: Sequence[Change], new_name: str) -> Iterator[str]:
    """Changes names. https://docs.influxdata.com/telegraf/v1/processor-plugins/rename/"""
    names = [("", here.name, new_name)] if new_name else []
    for change in changes:
        if isinstance(change, Rename) and change.old:
            names.append((change.role or ("tag" if here.tag(change.old) else "field"), change.old, change.new))
        elif isinstance(change, Rename) and not new_name:
            names.append(("", here.name, change.new))
    if names:
        lines = [_head("rename", only)]
        for role, old, new in names:
            lines += _replaced(role or "measurement", old, new)
        yield "\n".join(lines)


def _replaced(what: str, old: str, new: str) -> list[str]:
    return ["  [[processors.rename.replace]]", f"    {what} = {string(old)}", f"    dest = {string(new)}"]


def _merged(changes: Sequence[Change], beside: Collection[str]) -> Iterator[str]:
    """Turns data in names into tags: with templates for inputs that read Graphite's format, and with processors for
    other names.

    https://docs.influxdata.com/telegraf/v1/data_formats/input/graphite/
    """
    for change in changes:
        if isinstance(change, MergeMeasurements):
            template = _graphite_template(change)
            if template:
                yield f'data_format = "graphite"\ntemplates = [{string(template)}]'
                if (given := _named_by(template)) != change.into:
                    yield "\n".join(["[[processors.rename]]", *_replaced("measurement", given, change.into)])
            elif pattern := _name_pattern(change, beside):
                yield _by_pattern(change, pattern)


def _graphite_template(change: MergeMeasurements) -> str:
    """A filter and a template for the names of a family; empty if the names have no dots, or different numbers of them.

    A space would end the template.
    """
    parts = change.template.split(".")
    names = [member.measurement for member in change.members]
    if len(parts) < 3 or any(len(n.split(".")) != len(parts) or re.search(r"\s", n) for n in names):
        return ""
    tags = iter(name for name, _ in change.members[0].tags)
    pairs = []
    for part in parts:
        data = _DATA.fullmatch(part)
        if data is None and _DATA.search(part):
            return ""
        if part == "{field}" or (part == parts[-1] and part == change.members[0].field):
            pairs.append(("*" if data else part, "field"))
        elif data:
            pairs.append(("*", "" if data[1] == "date" else next(tags, "")))
        else:
            pairs.append((part, "measurement"))
    return f"{'.'.join(one for one, _ in pairs)} {'.'.join(role for _, role in pairs)}"


def _named_by(template: str) -> str:
    """The measurement to which the input writes according to the template."""
    filtered, _, roles = template.partition(" ")
    pairs = zip(filtered.split("."), roles.split("."), strict=True)
    return ".".join(part for part, role in pairs if role == "measurement")


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
