"""What an OpenTelemetry collector writes, how it is recognized, and how its `transform` processor is told to change it.

https://github.com/open-telemetry/opentelemetry-collector-contrib/tree/main/processor/transformprocessor
"""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tsaudit.model.change import SplitColumn
from tsaudit.model.profile import Measurement


class Signal(enum.StrEnum):
    """What the rows of a measurement are. The value is how the processor calls its statements."""

    METRIC = "metric"
    LOG = "log"
    SPAN = "trace"

    @property
    def record(self) -> str:
        """What has attributes of its own, as statements name it."""
        return {Signal.METRIC: "datapoint", Signal.LOG: "log", Signal.SPAN: "span"}[self]


_OWN: Final = re.compile(r"(otel[._](library|scope)|telemetry[._]sdk)[._]\w+")
"""Attributes that nothing but its SDKs and exporters write."""
_SERVICE: Final = frozenset(
    f"{group}_{name}"
    for group, names in {
        "service": ("name", "namespace", "instance_id", "version"),
        "deployment": ("environment", "environment_name"),
        "k8s": ("pod_name", "pod_uid", "namespace_name", "node_name", "deployment_name", "container_name"),
    }.items()
    for name in names
)
"""Attributes of a resource by the semantic conventions, with `_` for the dots. One alone proves nothing."""
_TIMES: Final = frozenset({"duration_nano", "end_time_unix_nano", "start_time_unix_nano"})


def signal_of(measurement: Measurement) -> Signal | None:
    """Which signal its columns show it to be, whatever the engine; None: nothing shows that it is one."""
    tags = {tag.key for tag in measurement.tags}
    columns = tags | {field.key for field in measurement.fields}
    if {"trace_id", "span_id"} <= columns and columns & _TIMES:
        return Signal.SPAN
    if {"severity_number", "body"} <= columns:
        return Signal.LOG
    if any(map(_OWN.fullmatch, tags)) or len({tag.replace(".", "_") for tag in tags} & _SERVICE) > 1:
        return Signal.METRIC
    return None


# --- Statements ---------------------------------------------------------------------------------------------------


def string(text: str) -> str:
    """The text as a string of OTTL."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in quoted)


def attribute(of: str, name: str) -> str:
    """An attribute of a record, a scope, or a resource."""
    return f"{of}.attributes[{string(name)}]"


def only(*conditions: str) -> str:
    """The end of a statement that applies where all of them do; empty where there is none."""
    given = [condition for condition in conditions if condition]
    return f" where {' and '.join(given)}" if given else ""


def removed(of: str, name: str, *conditions: str) -> str:
    """A statement by which the attribute goes."""
    return f"delete_key({of}.attributes, {string(name)}){only(*conditions)}"


def renamed(of: str, names: Mapping[str, str], *conditions: str) -> Iterator[str]:
    """Statements that rename attributes. `names`: old to new; where one takes another's name, that one goes first."""
    left = dict(names)
    while left:
        old = next((old for old, new in left.items() if new not in left), "")
        if not old:
            # Each waits for another one: the first one steps aside.
            old, new = next(iter(left.items()))
            aside = _unused(f"{old}_old", {*names, *names.values()})
            yield from _moved(of, old, aside, *conditions)
            left = {**{key: value for key, value in left.items() if key != old}, aside: new}
            continue
        yield from _moved(of, old, left.pop(old), *conditions)


def _unused(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _moved(of: str, old: str, new: str, *conditions: str) -> Iterator[str]:
    yield f"set({attribute(of, new)}, {attribute(of, old)}){only(*conditions, f'{attribute(of, old)} != nil')}"
    yield removed(of, old, *conditions)


def taken_apart(of: str, split: SplitColumn, *conditions: str) -> Iterator[str]:
    """Statements that make an attribute of each part of a value; a value that does not fit stays whole."""
    source = attribute(of, split.column)
    pattern = string(value_pattern(split))
    first = attribute(of, split.parts[0].name)
    for number, part in enumerate(split.parts, 1):
        found = f'ExtractPatterns({source}, {pattern})["p{number}"]'
        yield f"set({attribute(of, part.name)}, {found}){only(*conditions, f'IsMatch({source}, {pattern})')}"
    yield removed(of, split.column, *conditions, f"IsMatch({source}, {pattern})", f"{first} != nil")


def value_pattern(split: SplitColumn) -> str:
    """A regular expression of Go that fits the whole value, with the groups p1, p2, ... for the parts."""
    pieces = []
    for number, (text, part) in enumerate(zip(split.example.split(split.separator), split.parts, strict=False), 1):
        before, _, after = text.partition(part.example)
        pieces.append(f"{re.escape(before)}(?P<p{number}>.*?){re.escape(after)}")
    return f"^{re.escape(split.separator).join(pieces)}$"


# --- The collector's configuration --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Group:
    """Statements that run one after the other on all of what is sent together, before the next group does."""

    signal: Signal
    statements: tuple[str, ...]


def transform(name: str, groups: Iterable[Group]) -> str:
    """The processor, as a piece of the collector's configuration; empty where there is no statement."""
    lines, signal = list[str](), None
    for group in (group for group in groups if group.statements):
        if group.signal is not signal:
            lines.append(f"    {group.signal}_statements:")
            signal = group.signal
        lines.append("      - statements:")
        lines += [f"          - {scalar(statement)}" for statement in group.statements]
    if not lines:
        return ""
    # Where one statement fails, what is sent must not be lost.
    head = ["processors:", f"  transform/{_identifier(name)}:", "    error_mode: ignore"]
    return "\n".join([*head, *lines])


def _identifier(name: str) -> str:
    """The part of a component's name after the slash; that cannot have every character."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", name) or "_"


def scalar(text: str) -> str:
    """The text as a string of YAML that the collector reads; it takes $ for the beginning of a variable."""
    quoted = text.replace("$", "$$").replace("'", "''")
    return f"'{quoted}'"


def flow(texts: Sequence[str]) -> str:
    """The texts as a list of strings of YAML."""
    return f"[{', '.join(json.dumps(text.replace('$', '$$')) for text in texts)}]"
