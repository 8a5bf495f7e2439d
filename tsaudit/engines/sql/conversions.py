"""Columns whose values are converted, or taken apart, within the table: what is made out of what.

The new columns are filled beside the old one, which stays until a check has shown what did not convert.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tsaudit.engines.quoting import quote_text
from tsaudit.engines.rendering import Place
from tsaudit.engines.sql import types as column_types
from tsaudit.engines.sql.dialect import Dialect, constrained, free
from tsaudit.model.change import Change, ChangeType, MakeField, SplitColumn
from tsaudit.model.plan import Phase, Step
from tsaudit.text import listed


@dataclass(frozen=True, slots=True)
class Made:
    """A column that is made out of another one."""

    name: str
    type: str
    value: str
    """Its expression: null for a value that it cannot hold."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """A column that others take the place of."""

    column: str
    made: tuple[Made, ...]
    kept_as: str  # until it goes
    takes_name: bool
    """Whether the one that is made has its name afterwards."""
    loses: str


def _typed(place: Place, changes: Sequence[Change]) -> dict[str, str]:
    """Column to the type that its values have, of those that are to get it and are not taken apart."""
    wanted = {c.column: c.to for c in changes if isinstance(c, ChangeType)}
    wanted |= {c.tag: c.to for c in changes if isinstance(c, MakeField) and c.to and is_text(place, c.tag)}
    apart = {c.column for c in changes if isinstance(c, SplitColumn)}
    return {column: kind for column, kind in wanted.items() if column in place.here.columns and column not in apart}


def _can_convert(place: Place, column: str, kind: str) -> bool:
    """Whether an expression converts it: of what is no text, numbers to numbers only."""
    types = _types(place, column)
    return is_text(place, column) or (
        kind in ("integer", "float") and all(not t or column_types.is_number(t) for t in types)
    )


def is_text(place: Place, column: str) -> bool:
    """Whether the column holds text."""
    return any(map(column_types.is_text, _types(place, column)))


def _types(place: Place, column: str) -> Sequence[str]:
    here = place.here
    known: dict[str, Sequence[str]] = {tag.key: (tag.data_type,) for tag in here.tags}
    return (known | {field.key: field.types for field in here.fields}).get(column, ())


def replaced(place: Place, dialect: Dialect, changes: Sequence[Change]) -> list[Replaced]:
    """The columns that are converted or taken apart in place."""
    taken = list(place.here.columns)
    found = []

    def name(wanted: str) -> str:
        taken.append(free(wanted, taken, dialect))
        return taken[-1]

    for column, kind in _typed(place, changes).items():
        if not constrained(place, column) and _can_convert(place, column, kind):
            found.append(_converted(place, dialect, changes, column, kind, name))
    for change in changes:
        if not isinstance(change, SplitColumn) or change.column not in place.here.columns:
            continue
        if (parts := _parts(place, dialect, change, name)) is not None:
            found.append(parts)
    return found


def _converted(
    place: Place, dialect: Dialect, changes: Sequence[Change], column: str, kind: str, name: Callable[[str], str]
) -> Replaced:
    quoted, of_text = place.quoted([column]), is_text(place, column)
    value = dialect.converted(quoted, kind, of_text)
    made = Made(name(f"{column}_{kind}"), column_types.sql_type(place.profile.engine, kind), value)
    kept_as = name(f"{column}_{'text' if of_text else 'former'}")
    known = next((c.exceptions for c in changes if isinstance(c, ChangeType) and c.column == column), ())
    blank = ", empty texts (null afterward)" if of_text else ""
    others = f", and at least {listed([repr(v) for v in known], 5)}, which cannot be converted" if known else ""
    loses = (
        f"how the values of {column} were written{blank}{others}: the check shows all that are not converted, and "
        "how many rows have them"
    )
    return Replaced(column, (made,), kept_as, takes_name=True, loses=loses)


def _parts(place: Place, dialect: Dialect, change: SplitColumn, name: Callable[[str], str]) -> Replaced | None:
    """None where the database has no function that takes its values apart, or they are no text."""
    column, engine = place.quoted([change.column]), place.profile.engine
    if not is_text(place, change.column):
        return None
    texts = change.example.split(change.separator)
    values, joined = [], []
    for number, (part, text) in enumerate(zip(change.parts, texts, strict=False), 1):
        piece, before = dialect.piece(column, change.separator, number), text.find(part.example)
        if piece is None or len(texts) != len(change.parts) or text[before:] != part.example:
            return None
        values.append(f"substr({piece}, {before + 1})" if before else piece)
        joined.append(f"{quote_text(engine, text[:before])} || {values[-1]}" if before else piece)
    # What does not come out again when it is put together is of another form, and is left alone.
    whole = f" || {quote_text(engine, change.separator)} || ".join(joined)
    made = tuple(
        Made(name(part.name), dialect.text, f"CASE WHEN {whole} = {column} THEN {value} END")
        for part, value in zip(change.parts, values, strict=True)
    )
    loses = f"values of {change.column} of another form, if the check has shown any"
    return Replaced(change.column, made, change.column, takes_name=False, loses=loses)


def in_words(place: Place, changes: Sequence[Change]) -> Iterator[Step]:
    """What no statement does: the columns of a key, types that do not convert, and what writers have to send."""
    for column, kind in _typed(place, changes).items():
        if key := constrained(place, column):
            yield Step(
                Phase.WRITE,
                f"Copy the table into one in which {column} is {kind}, and compare the two. {column} is part of {key}, "
                "so no statement changes its type in place.",
            )
        elif not _can_convert(place, column, kind):
            yield Step(Phase.WRITE, f"Write {column} as {kind}, to a new column: its values are not converted.")
    for change in changes:
        if isinstance(change, SplitColumn):
            parts = {part.name: part.example for part in change.parts}
            example = ", ".join(f"{name}={value}" for name, value in parts.items())
            yield Step(Phase.WRITE, f"Write each attribute of {change.column} into a column of its own: {example}.")
