"""What all generations of InfluxDB have in common about changes: what writers send, and Telegraf's settings for it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tsaudit.engines.rendering import Place, Renderers
from tsaudit.model.change import LeaveOut, MakeField
from tsaudit.model.plan import Phase, Step
from tsaudit.text import listed, many

_TELEGRAF_TYPES: Final = {"integer": "integer", "float": "float", "boolean": "boolean"}
_OWN_SETTINGS: Final = {("procstat", "pid"): ("inputs.procstat", "pid_tag = false")}
"""Measurement and tag to the input that writes them, and its own setting that makes the tag a field."""


def write_fields(place: Place, changes: Sequence[MakeField]) -> Iterator[Step]:
    """Tags that become fields: what writers send, and how Telegraf is told."""
    tags = [change.tag for change in changes]
    name = place.here.name
    words = f"Write {listed(tags, 20)} as {_fields(tags)} of {name}, not as {_tags(tags)}."
    numbers = [f"{change.tag} as {_NUMBERS[change.to]}" for change in changes if change.to in _NUMBERS]
    words += f" Write {listed(numbers, 20)}." if numbers else ""
    if lost := overwritten(place):
        words += f" If queries need {_it(tags)} as {_tags(tags)}, write fewer or coarser values instead."
    yield Step(Phase.WRITE, words, loses=lost)
    yield Step(Phase.WRITE, "Where Telegraf writes it:", _converter(name, changes), "toml", loses=lost)


_NUMBERS: Final = {"integer": "whole numbers (42i)", "float": "numbers", "boolean": "true or false"}


def _it(names: Sequence[str]) -> str:
    return "it" if len(names) == 1 else "them"


def _fields(tags: Sequence[str]) -> str:
    return "a field" if len(tags) == 1 else "fields"


def _tags(tags: Sequence[str]) -> str:
    return "a tag" if len(tags) == 1 else "tags"


def overwritten(place: Place) -> str:
    """What is lost where points get the tags and the time of others; empty where none does, or no tag goes."""
    found, how = place.effect.collisions, place.effect.collisions_how
    if not how or found == 0:
        return ""
    if found is None:
        return f"points that then share their tags and their time overwrite each other; how many is not known: {how}"
    return f"at least {many(found, 'point')} would overwrite another one, having its tags and its time ({how})"


def leave_out(place: Place, changes: Sequence[LeaveOut]) -> Iterator[Step]:
    """Columns that are no longer written."""
    columns = [change.column for change in changes]
    yield Step(Phase.WRITE, f"Stop writing {listed(columns, 20)} to {place.here.name}.", loses=overwritten(place))
    tags = [column for column in columns if place.here.tag(column) is not None]
    for option, names in (("tagexclude", tags), ("fieldexclude", [c for c in columns if c not in tags])):
        if names:
            setting = f"{option} = {toml(names)}"
            yield Step(
                Phase.WRITE, "Where Telegraf writes it, in its input:", setting, "toml", loses=overwritten(place)
            )


def _converter(measurement: str, changes: Iterable[MakeField]) -> str:
    """Telegraf's settings that make tags fields.

    https://github.com/influxdata/telegraf/tree/master/plugins/processors/converter
    """
    changes = list(changes)
    settings = []
    for change in changes:
        own = _OWN_SETTINGS.get((measurement, change.tag))
        if own is not None:
            settings.append(f"[[{own[0]}]]\n  {own[1]}")
    by_type: dict[str, list[str]] = {}
    for change in changes:
        if (measurement, change.tag) not in _OWN_SETTINGS:
            by_type.setdefault(_TELEGRAF_TYPES.get(change.to, "string"), []).append(change.tag)
    if by_type:
        lines = [f"    {kind} = {toml(tags)}" for kind, tags in sorted(by_type.items())]
        head = (
            "[[processors.converter]]",
            f"  namepass = {toml([glob(measurement)])}",
            "  [processors.converter.tags]",
        )
        settings.append("\n".join([*head, *lines]))
    return "\n".join(settings)


def glob(text: str) -> str:
    """The text as a pattern of Telegraf that fits it alone."""
    return "".join(f"\\{c}" if c in "*?[]{}!\\," else c for c in text)


def toml(names: Iterable[str]) -> str:
    """The names as a list of strings; a basic string of TOML is written like one of JSON."""
    return json.dumps(list(names), ensure_ascii=False).replace("\x7f", "\\u007f")


COMMON: Final[Renderers] = {LeaveOut: leave_out}
"""What is said alike by all generations."""
