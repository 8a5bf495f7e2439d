"""Reads what SHOW CREATE TABLE says, as far as no metadata view says it: the order of the key, options, partitions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_NAME: Final = r"(?:\"(?:\"\"|[^\"])*\"|`(?:``|[^`])*`)"
_NAMES: Final = rf"{_NAME}(?:, {_NAME})*"
_TAIL: Final = re.compile(
    rf"\n  TIME INDEX \((?P<time>{_NAME})\)"
    rf"(?:,\n  PRIMARY KEY \((?P<key>{_NAMES})\))?"
    r"\n\)\n"
    rf"(?:PARTITION ON COLUMNS \((?P<partition_key>{_NAMES})\) \((?P<bounds>.*)\n\))?"
    r"\s*ENGINE=(?P<engine>\S+)"
    r"(?:\s+WITH\(\n(?P<options>(?:  .*\n)*)\))?\s*\Z",
    re.DOTALL,
)
"""The end of the statement, from the constraints on; before it stand columns with comments, which hold any text."""
_OPTION: Final = re.compile(r"  '?(?P<name>[^'=]+?)'? = '(?P<value>(?:\\.|[^\\])*)',?")
_ESCAPED: Final = re.compile(r"\\(?:u\{([0-9a-f]+)\}|(.))")
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", "0": "\0"}


@dataclass(frozen=True, slots=True)
class CreateTable:
    """A table's definition, without its columns."""

    engine: str
    """`mito`, `metric` or `file`."""
    key: tuple[str, ...]
    """Of the primary key, in its order; without the time, and in the metric engine without its own two columns."""
    partition_key: tuple[str, ...]
    options: Mapping[str, str]


def parse(statement: str) -> CreateTable:
    """The definition; ValueError for another text. Names stand in double quotes or, on the MySQL wire, in backticks."""
    # From the last constraints on: a comment of a column could hold a line that looks like them.
    start = statement.rfind("\n  TIME INDEX (")
    found = _TAIL.match(statement, start) if start >= 0 else None
    if found is None:
        raise ValueError("SHOW CREATE TABLE answers with something else than a table's definition")
    options = (_OPTION.fullmatch(line) for line in (found["options"] or "").split("\n"))
    return CreateTable(
        engine=found["engine"],
        key=_names(found["key"]),
        partition_key=_names(found["partition_key"]),
        options={o["name"]: _unescaped(o["value"]) for o in options if o is not None},
    )


def _names(text: str | None) -> tuple[str, ...]:
    found = re.findall(_NAME, text or "")
    return tuple(name[1:-1].replace(name[0] * 2, name[0]) for name in found)


def _unescaped(text: str) -> str:
    """The value that Rust's `escape_debug` printed, by which the server escapes it."""

    def plain(found: re.Match[str]) -> str:
        return chr(int(found[1], 16)) if found[1] else _ESCAPES.get(found[2], found[2])

    return _ESCAPED.sub(plain, text)
