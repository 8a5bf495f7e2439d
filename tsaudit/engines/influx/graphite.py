"""Settings by which Telegraf makes tags of what names hold: one set for all families of a database.

Templates of the graphite and statsd inputs serve names with dots, processors serve all others.
https://docs.influxdata.com/telegraf/v1/data_formats/input/graphite/
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tsaudit.engines.influx.telegraf import string
from tsaudit.model.change import MergeMeasurements

_DATA: Final = re.compile(r"\{(\w+)\}")
_MOST: Final = 20
"""Filters that name one measurement each; more are no settings that anybody keeps."""


@dataclass(frozen=True, slots=True)
class Templates:
    """What the inputs are told, and what processors do then."""

    text: str
    """Of an input with data_format = "graphite"; empty where no name has dots."""
    statsd: str
    """The same of the statsd input, which joins with _ unless it is told otherwise."""
    processors: str
    """Empty where none is needed."""
    left: tuple[str, ...]
    """Families that neither can make."""


def templates(changes: Mapping[str, MergeMeasurements], names: Collection[str]) -> Templates:
    """One set for all of them. `changes`: by the name of the measurement that all become; `names`: all there are."""
    members = {member.measurement for change in changes.values() for member in change.members}
    dotted = {into: change for into, change in changes.items() if _is_dotted(change)}
    others = sorted(name for name in names if name not in members and "." in name)
    joined = any(len(_words(change)) > 1 for change in dotted.values())
    separator = "_" if joined and not others else ""
    lines, blocks, used = list[str](), list[str](), set[str]()
    left = []
    for into, change in sorted(dotted.items(), key=lambda one: one[1].template):
        filters = _filters(change, used)
        if len(filters) > _MOST:
            left.append(change.template)
            continue
        used |= set(filters)
        lines += [f"{one} {_template(change)}" for one in filters]
        if (given := (separator or ".").join(_words(change))) != into:
            blocks.append(_renamed(given, into))
    # What a filter takes in besides stays as it is.
    lines += [f"{name} {'.'.join(['measurement'] * (name.count('.') + 1))}" for name in others if _is_in(name, used)]
    for into, change in sorted(changes.items(), key=lambda one: one[1].template):
        if into not in dotted:
            block = _by_processors(into, change, names)
            blocks += block
            left += [] if block else [change.template]
    ordered = [block.replace("\n", f"\n  order = {n}\n", 1) for n, block in enumerate(blocks, 1)]
    texts = _of_input(lines, "separator", separator), _of_input(lines, "metric_separator", separator or ".")
    return Templates(*texts, "\n".join(ordered), tuple(left))


def _of_input(lines: Sequence[str], option: str, separator: str) -> str:
    if not lines:
        return ""
    listing = "\n".join(f"  {string(line)}," for line in lines)
    joined = f"{option} = {string(separator)}\n" if separator else ""
    return f"{joined}templates = [\n{listing}\n]"


def _is_dotted(change: MergeMeasurements) -> bool:
    parts = change.template.split(".")
    alike = all(len(member.measurement.split(".")) == len(parts) for member in change.members)
    # A template is divided by blanks, and a part of it that is one of its own words means something else.
    plain = all(not re.search(r"\s", member.measurement) for member in change.members)
    return len(parts) > 2 and alike and plain and bool(_words(change))


def _roles(change: MergeMeasurements) -> Iterator[tuple[str, str]]:
    """Each part of the name: what it is in the filter, and in the template."""
    first, parts = change.members[0], change.template.split(".")
    tags = iter(name for name, _ in first.tags)
    for position, part in enumerate(parts):
        found = _DATA.fullmatch(part)
        is_last = position == len(parts) - 1
        if is_last and first.field and (part in ("{field}", first.field)):
            yield ("*" if found else part), "field"
        elif found:
            yield "*", "" if found[1] == "date" else next(tags, "")
        else:
            yield part, "measurement"


def _words(change: MergeMeasurements) -> list[str]:
    return [text for text, role in _roles(change) if role == "measurement"]


def _template(change: MergeMeasurements) -> str:
    return ".".join(role for _, role in _roles(change))


def _filters(change: MergeMeasurements, used: Collection[str]) -> list[str]:
    """One filter for all members; where another family has it already, one for each member."""
    one = ".".join(text for text, _ in _roles(change))
    return [one] if one not in used else [member.measurement for member in change.members]


def _is_in(name: str, filters: Collection[str]) -> bool:
    """Whether a filter fits the name, or its beginning."""
    parts = name.split(".")
    return any(
        len(wanted) <= len(parts) and all(w in ("*", part) for w, part in zip(wanted, parts, strict=False))
        for wanted in (one.split(".") for one in filters)
    )


def _renamed(old: str, new: str) -> str:
    return (
        "[[processors.rename]]\n  [[processors.rename.replace]]\n"
        f"    measurement = {string(old)}\n    dest = {string(new)}"
    )


def _by_processors(into: str, change: MergeMeasurements, names: Collection[str]) -> list[str]:
    """Processors that take names without dots apart; none where a pattern cannot tell the members from others."""
    pattern = pattern_of(change, names)
    if not pattern:
        return []
    chosen = f"  metricpass = {string(f'name.matches({string(pattern)})')}"
    tags = [name for name, _ in change.members[0].tags]
    blocks = [
        f'[[processors.template]]\n{chosen}\n  tag = {string(tag)}\n  template = "{{{{ .Name }}}}"' for tag in tags
    ]
    regex = ["[[processors.regex]]", chosen]
    for number, tag in enumerate(tags, 1):
        regex += ["  [[processors.regex.tags]]", f"    key = {string(tag)}", f"    pattern = {string(pattern)}"]
        regex.append(f'    replacement = "${{{number}}}"')
    regex += ["  [[processors.regex.metric_rename]]", f"    pattern = {string(pattern)}"]
    regex.append(f"    replacement = {string(into.replace('$', '$$'))}")
    return [*blocks, "\n".join(regex)]


def pattern_of(change: MergeMeasurements, names: Collection[str]) -> str:
    """A regular expression that fits the members alone, with a group for each tag; empty where there is none."""
    return next((one for one in _patterns(change) if _tells_apart(one, change, names)), "")


def _tells_apart(pattern: str, change: MergeMeasurements, names: Collection[str]) -> bool:
    """Whether it fits the members alone, and finds in each what its name says."""
    members = {member.measurement: tuple(value for _, value in member.tags) for member in change.members}
    found = {name: fits.groups() for name in {*names, *members} if (fits := re.fullmatch(pattern, name))}
    return found == members


def _patterns(change: MergeMeasurements) -> Iterator[str]:
    """Regular expressions that may fit the members' names, with a group for each tag; the plainest one first."""
    for data in (".+?", r".*?\d.*?"):
        pieces = []
        for position, piece in enumerate(_DATA.split(change.template)):
            if position % 2 == 0:
                pieces.append(re.escape(piece))
            else:
                pieces.append({"date": f"(?:{data})", "n": r"(\d+)"}.get(piece, f"({data})"))
        yield f"^{''.join(pieces)}$"
