"""The columns of a new table of Timestream, each with the expression that reads it from the old one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tsaudit.engines.quoting import quote_text
from tsaudit.engines.rendering import Place
from tsaudit.engines.rewriting import Column, Rewriting
from tsaudit.engines.sql.types import is_text
from tsaudit.model.change import SplitColumn

TYPES: Final = {"integer": "BIGINT", "float": "DOUBLE", "boolean": "BOOLEAN", "time": "TIMESTAMP"}
_STORED: Final = frozenset({"BIGINT", "DOUBLE", "BOOLEAN", "TIMESTAMP", "VARCHAR"})


@dataclass(frozen=True, slots=True)
class Read:
    """One column of the query that reads the old table."""

    name: str
    value: str
    """A SQL expression."""
    is_dimension: bool
    type: str = "VARCHAR"
    """The type of a measure."""
    is_left_over: bool = False
    """Whether it has only the values that do not fit into the others."""


def reads(rewrite: Rewriting, target: str) -> list[Read]:
    """The columns of one of the new tables. No value is lost: those that do not convert keep a column of their own."""
    wanted = [*rewrite.tags, *rewrite.fields_of(target)]
    taken = {column.new for column in rewrite.columns}
    taken |= {part.name for column in rewrite.columns if column.split for part in column.split.parts}

    def free(name: str) -> str:
        numbered = (f"{name}_{number}" for number in range(2, len(taken) + 3))
        taken.add(found := name if name not in taken else next(one for one in numbered if one not in taken))
        return found

    found: list[Read] = []
    for column in wanted:
        if column.split is not None:
            found += _parts(rewrite.place, column, column.split)
        elif column.to:
            found += _converted(rewrite.place, column, free(f"{column.new}_{'text' if _is_text(column) else 'former'}"))
        else:
            found.append(_same(rewrite.place, column))
    return found


def stored_type(column: Column) -> str:
    """The type of its values, as the service names it."""
    found = (column.types[0] if column.types else "varchar").upper()
    return found if found in _STORED else "VARCHAR"


def converted(place: Place, column: Column) -> str:
    """The value with its new type; null if it does not convert."""
    name, kind = place.quoted([column.old]), TYPES[column.to]
    value = f"TRY_CAST({name} AS {kind})"
    if column.to == "integer" and not _is_text(column):
        # A fraction would be rounded.
        return f"CASE WHEN {value} = {name} THEN {value} END"
    return value


def fits(place: Place, column: str, split: SplitColumn) -> str:
    """A condition for the values that have the form of the example."""
    quoted, texts = place.quoted([column]), split.example.split(split.separator)
    pieces = [
        _before(place, text, part.example) + _piece(place, column, split, number)
        for number, (text, part) in enumerate(zip(texts, split.parts, strict=False), 1)
    ]
    return f"{f' || {_text(place, split.separator)} || '.join(pieces)} = {quoted}"


def can_split(split: SplitColumn) -> bool:
    """Whether each piece of the example ends with the value of its part."""
    texts = split.example.split(split.separator)
    ends = all(text.endswith(part.example) for text, part in zip(texts, split.parts, strict=False))
    return len(texts) == len(split.parts) and ends


def _same(place: Place, column: Column) -> Read:
    name = place.quoted([column.old])
    kind = stored_type(column) if not column.was_tag else "VARCHAR"
    if column.is_tag and kind != "VARCHAR":
        name, kind = f"CAST({name} AS VARCHAR)", "VARCHAR"
    return Read(column.new, name, column.is_tag, kind)


def _converted(place: Place, column: Column, beside: str) -> Iterator[Read]:
    value, stored = converted(place, column), stored_type(column) if not column.was_tag else "VARCHAR"
    yield Read(column.new, value, False, TYPES[column.to])
    yield Read(beside, f"CASE WHEN {value} IS NULL THEN {place.quoted([column.old])} END", False, stored, True)


def _parts(place: Place, column: Column, split: SplitColumn) -> Iterator[Read]:
    condition = fits(place, column.old, split)
    for number, part in enumerate(split.parts, 1):
        value = _piece(place, column.old, split, number)
        yield Read(part.name, f"CASE WHEN {condition} THEN {value} END", column.is_tag)
    # A value of another form stays whole.
    whole = f"CASE WHEN {condition} THEN NULL ELSE {place.quoted([column.old])} END"
    yield Read(column.old, whole, column.is_tag, is_left_over=True)


def _piece(place: Place, column: str, split: SplitColumn, number: int) -> str:
    text, part = split.example.split(split.separator)[number - 1], split.parts[number - 1]
    piece = f"split_part({place.quoted([column])}, {_text(place, split.separator)}, {number})"
    before = len(text) - len(part.example)
    return f"substr({piece}, {before + 1})" if before else piece


def _before(place: Place, text: str, example: str) -> str:
    before = text[: len(text) - len(example)]
    return f"{_text(place, before)} || " if before else ""


def _text(place: Place, text: str) -> str:
    return quote_text(place.profile.engine, text)


def _is_text(column: Column) -> bool:
    return column.was_tag or any(map(is_text, column.types))
