"""The program that a plan leaves to its reader: it does what the step's data say, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from tests.databases import Row, Table, Value
from tsaudit.model.plan import Copied, Copy

_WORDS: Final = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_KINDS: Final = {bool: "boolean", int: "integer", float: "float", str: "string"}


@dataclass(frozen=True, slots=True)
class Read:
    """One row as the statement returns it; what it does not have is missing, None, or an empty tag."""

    time: datetime
    tags: Mapping[str, str | None]
    fields: Mapping[str, Any]


def written(copy: Copy, rows: Iterable[Read]) -> Table:
    """What is written of them. AssertionError where the server would refuse some of it."""
    tags, kinds, found = dict.fromkeys(name for name, _ in copy.tags), dict[str, str](), list[Row]()
    for row in rows:
        own: dict[str, str] = dict(copy.tags)
        fields: dict[str, Value] = {}
        for column in copy.columns:
            value = (row.tags if column.was_tag else row.fields).get(column.column)
            if value is None or (column.was_tag and value == ""):
                continue
            for name, made in _made(column, value):
                assert own.get(name, made) == made, (copy.into, name, "written twice")
                assert name not in fields, (copy.into, name, "written twice")
                if column.is_tag:
                    own |= {name: _as_tag(made)} if made != "" else {}
                else:
                    assert kinds.setdefault(name, _KINDS[type(made)]) == _KINDS[type(made)], (copy.into, name, made)
                    fields[name] = made
        tags |= dict.fromkeys(own)
        if fields:
            found.append(Row(row.time, own, fields))
    return Table(copy.into, tuple(tags), kinds, found)


def _made(column: Copied, value: Any) -> Iterator[tuple[str, Any]]:
    """Names, and the values to write under them."""
    value = float(value) if column.type == "float" else value
    if column.pattern:
        fitting = re.fullmatch(column.pattern, value)
        yield from zip(column.parts, fitting.groups(), strict=True) if fitting else ((column.unfit, value),)
    elif column.to:
        made = _converted(value, column.to)
        yield (column.unfit, value) if made is None else (column.name, made)
    else:
        yield column.name, value


def _converted(value: Any, to: str) -> Any:
    """None for what does not convert."""
    with suppress(ValueError):
        if to == "boolean":
            return value if isinstance(value, bool) else _WORDS.get(str(value).strip().lower())
        if to == "time":
            return _nanoseconds(str(value).strip())
        number = float(value)
        if to == "float":
            return number
        return int(number) if number == int(number) and abs(number) < 2**53 else None
    return None


def _nanoseconds(text: str) -> int:
    if text.isdecimal():
        return int(text) * 10 ** (19 - len(text))
    time = datetime.fromisoformat(text)
    return round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1_000_000) * 1000


def _as_tag(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
