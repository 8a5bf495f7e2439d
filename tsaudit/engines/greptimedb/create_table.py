"""Parses the parts of SHOW CREATE TABLE that no metadata view contains: order of the key, options, partitions."""

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
"""The end of the statement, beginning with the constraints. Before it are columns with comments, which may contain any
text.
"""
_OPTION: Final = re.compile(r"  '?(?P<name>[^'=]+?)'? = '(?P<value>(?:\\.|[^\\])*)',?")
_ESCAPED: Final = re.compile(r"\\(?:u\{([0-9a-f]+)\}|(.))")
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", "0": "\0"}


@dataclass(frozen=True, slots=True)
class CreateTable:
    """A table's definition, without its columns."""

    engine: str
    """`mito`, `metric`, or `file`."""
    key: tuple[str, ...]
    """The columns of the primary key, in order; without the time column and, in the metric engine, without its own two
    columns.
    """
    partition_key: tuple[str, ...]
    options: Mapping[str, str]


def parse(statement: str) -> CreateTable:
    """The definition. Raises ValueError for any other text. Names are in double quotes or, over the MySQL protocol, in
    backticks.
    """
    # Parsed from the last constraints on: the comment of a column could contain a line that looks like them.
    start = statement.rfind("\n  TIME INDEX (")
    found = _TAIL.match(statement, start) if start >= 0 else None
    if found is None:
        raise ValueError("the response to SHOW CREATE TABLE is not the definition of a table")
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
    """The value before the server escaped it with Rust's `escape_debug`."""

    def plain(found: re.Match[str]) -> str:
        return chr(int(found[1], 16)) if found[1] else _ESCAPES.get(found[2], found[2])

    return _ESCAPED.sub(plain, text)
