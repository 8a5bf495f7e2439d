"""Settings by which Telegraf writes a measurement as it is to be. Processors run in the order that they are given.

https://docs.influxdata.com/telegraf/v1/configuration/#processor-plugins
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tsaudit.engines.rewriting import Column, Rewriting
from tsaudit.model.change import SplitColumn

_OWN_SETTINGS: Final = {("procstat", "pid"): ("inputs.procstat", "pid_tag = false")}
"""Measurement and tag to the input that writes them, and its own setting that makes the tag a field."""
_TYPES: Final = frozenset({"integer", "float", "boolean"})


def settings(rewrite: Rewriting) -> str:
    """All that Telegraf is told about the measurement, as one piece of its configuration."""
    own = [_OWN_SETTINGS[key] for c in rewrite.columns if (key := (rewrite.old, c.old)) in _OWN_SETTINGS]
    own = own if any(c.changes_role for c in rewrite.columns) else []
    blocks = [f"[[{plugin}]]\n  {setting}" for plugin, setting in own]
    steps = [*_converted(rewrite), *_taken_apart(rewrite), *_renamed(rewrite), *_moved(rewrite)]
    blocks += [block.replace("\n", f"\n  order = {number}\n", 1) for number, block in enumerate(steps, 1)]
    return "\n".join(blocks)


def _converted(rewrite: Rewriting) -> Iterator[str]:
    """Roles and types. https://docs.influxdata.com/telegraf/v1/processor-plugins/converter/"""
    tags: dict[str, list[str]] = {}
    fields: dict[str, list[str]] = {}
    for column in rewrite.columns:
        if column.was_tag and not column.is_tag and (rewrite.old, column.old) not in _OWN_SETTINGS:
            tags.setdefault(column.to if column.to in _TYPES else "string", []).append(column.old)
        elif not column.was_tag and column.is_tag:
            fields.setdefault("tag", []).append(column.old)
        elif not column.was_tag and column.to in _TYPES:
            fields.setdefault(column.to, []).append(column.old)
    if tags or fields:
        lines = ["[[processors.converter]]", f"  namepass = {strings([glob(rewrite.old)])}"]
        for what, found in (("tags", tags), ("fields", fields)):
            if found:
                lines.append(f"  [processors.converter.{what}]")
                lines += [f"    {kind} = {strings(map(glob, names))}" for kind, names in sorted(found.items())]
        yield "\n".join(lines)


def _taken_apart(rewrite: Rewriting) -> Iterator[str]:
    """Values of several attributes; one that does not fit stays as it is.

    https://docs.influxdata.com/telegraf/v1/processor-plugins/regex/
    """
    for column in rewrite.columns:
        pattern = value_pattern(column.split) if column.split is not None else ""
        if column.split is None or not pattern:
            continue
        role = "tags" if column.is_tag else "fields"
        lines = ["[[processors.regex]]", f"  namepass = {strings([glob(rewrite.old)])}"]
        for number, part in enumerate(column.split.parts, 1):
            lines += [f"  [[processors.regex.{role}]]", f"    key = {string(column.old)}"]
            lines += [f"    pattern = {string(pattern)}", f'    replacement = "${{{number}}}"']
            lines.append(f"    result_key = {string(part.name)}")
        yield "\n".join(lines)
        yield _without_whole(rewrite.old, column, column.split)


def _without_whole(measurement: str, column: Column, split: SplitColumn) -> str:
    first, head = split.parts[0].name, f"[[processors.override]]\n  namepass = {strings([glob(measurement)])}"
    if column.is_tag:
        tags = f"[processors.override.tagpass]\n    {string(first)} = [{string('*')}]"
        return f"{head}\n  tagexclude = {strings([glob(column.old)])}\n  {tags}"
    return (
        f"{head}\n  fieldexclude = {strings([glob(column.old)])}\n  metricpass = {string(f'{string(first)} in fields')}"
    )


def value_pattern(split: SplitColumn) -> str:
    """A regular expression of Go that fits the whole value, with a group for each part; empty if the example does not
    show where the parts are. Other pieces are the same in all values.
    """
    pieces, number = [], 0
    for text in split.example.split(split.separator):
        if number < len(split.parts) and split.parts[number].example in text:
            before, _, after = text.partition(split.parts[number].example)
            pieces.append(f"{re.escape(before)}(.*?){re.escape(after)}")
            number += 1
        else:
            pieces.append(re.escape(text))
    return f"^{re.escape(split.separator).join(pieces)}$" if number == len(split.parts) else ""


def _renamed(rewrite: Rewriting) -> Iterator[str]:
    """Names. https://docs.influxdata.com/telegraf/v1/processor-plugins/rename/"""
    lines = ["[[processors.rename]]", f"  namepass = {strings([glob(rewrite.old)])}"]
    for column in rewrite.columns:
        if column.new != column.old:
            role = "tag" if column.is_tag else "field"
            lines += _replaced(role, column.old, column.new)
    yield "\n".join([*lines, *_replaced("measurement", rewrite.old, rewrite.new)])


def _replaced(what: str, old: str, new: str) -> list[str]:
    return ["  [[processors.rename.replace]]", f"    {what} = {string(old)}", f"    dest = {string(new)}"]


def _moved(rewrite: Rewriting) -> Iterator[str]:
    """A copy of each point for each measurement that fields move to, without the others' fields.

    https://docs.influxdata.com/telegraf/v1/processor-plugins/clone/
    """
    moved = [column.new for column in rewrite.columns if column.moves_to]
    here = strings([glob(rewrite.new)])
    for target in rewrite.moved:
        fields = [column.new for column in rewrite.fields_of(target)]
        # What is copied has the name already, so that the copy is not copied again.
        yield f"[[processors.clone]]\n  namepass = {here}\n  name_override = {string(target)}"
        yield _only(target, "fieldinclude", fields)
    if moved:
        yield _only(rewrite.new, "fieldexclude", moved)


def _only(measurement: str, option: str, fields: Sequence[str]) -> str:
    name = strings([glob(measurement)])
    return f"[[processors.override]]\n  namepass = {name}\n  {option} = {strings(map(glob, fields))}"


def glob(text: str) -> str:
    """The text as a pattern of Telegraf that fits it alone."""
    return "".join(f"\\{c}" if c in "*?[]{}!\\," else c for c in text)


def string(text: str) -> str:
    """The text as a string; a basic string of TOML is written like one of JSON."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def strings(texts: Iterable[str]) -> str:
    """The texts as a list of strings."""
    return f"[{', '.join(map(string, texts))}]"
