"""What a measurement of InfluxDB is to look like once all changes to it are made, whatever copies it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tsaudit.engines.rendering import Place
from tsaudit.model.change import Change, ChangeType, MakeField, MakeTag, Rename, SplitColumn, SplitMeasurement
from tsaudit.text import listed

KINDS = (MakeField, MakeTag, Rename, SplitColumn, SplitMeasurement, ChangeType)
"""What one copy of the measurement makes."""


@dataclass(frozen=True, slots=True)
class Column:
    """A tag or a field, as it is and as it is to be."""

    old: str
    new: str
    was_tag: bool
    is_tag: bool
    types: tuple[str, ...] = ()
    """Of a field, as stored; several where writers disagree."""
    to: str = ""
    """What its values become: `integer`, `float`, `boolean` or `time`; empty: nothing else."""
    split: SplitColumn | None = None
    """What takes its place."""
    moves_to: str = ""
    """The measurement that has it from then on; empty: the one that takes the place of this one."""
    shares_name: bool = False
    """Whether there is both a tag and a field of the old name."""

    @property
    def changes_role(self) -> bool:
        return self.was_tag != self.is_tag


@dataclass(frozen=True, slots=True)
class Rewriting:
    """All columns of a measurement, and what takes its place."""

    place: Place
    new: str
    """The measurement that takes its place: a free name."""
    columns: tuple[Column, ...]

    @property
    def old(self) -> str:
        return self.place.here.name

    @property
    def targets(self) -> tuple[str, ...]:
        """The measurements that hold what the old one held."""
        fields = [column for column in self.columns if not column.is_tag]
        return tuple(dict.fromkeys([*(c.moves_to or self.new for c in fields if not c.moves_to), *self.moved]))

    @property
    def moved(self) -> tuple[str, ...]:
        """The measurements that columns move to."""
        return tuple(dict.fromkeys(column.moves_to for column in self.columns if column.moves_to))

    def fields_of(self, target: str) -> list[Column]:
        """What are fields of the new measurement; those that were tags stay with what does not move."""
        return [c for c in self.columns if not c.is_tag and (c.moves_to or self.new) == target]

    @property
    def tags(self) -> list[Column]:
        """What are tags of all new measurements."""
        return [column for column in self.columns if column.is_tag]


def rewriting(place: Place, changes: Sequence[Change]) -> Rewriting:
    """What becomes of the measurement by all of the changes together."""
    found = [change for change in changes if change.at.measurement == place.here.name]
    renamed = next((c.new for c in found if isinstance(c, Rename) and not c.old), "")
    new = place.free(renamed or f"{place.here.name}_new")
    tags, fields = ({c.key for c in columns} for columns in (place.here.tags, place.here.fields))
    moves = {column: move.name for move in found if isinstance(move, SplitMeasurement) for column in move.columns}
    # A measurement of the name that is there already would be joined with this one.
    homes = {name: place.free(name) for name in dict.fromkeys(moves.values())}
    columns = [_column(tag.key, found, was_tag=True, shares_name=tag.key in fields) for tag in place.here.tags] + [
        _column(
            field.key,
            found,
            was_tag=False,
            shares_name=field.key in tags,
            types=field.types,
            moves_to=homes.get(moves.get(field.key, ""), ""),
        )
        for field in place.here.fields
    ]
    return Rewriting(place, new, tuple(columns))


def _column(
    name: str,
    changes: Iterable[Change],
    *,
    was_tag: bool,
    shares_name: bool,
    types: tuple[str, ...] = (),
    moves_to: str = "",
) -> Column:
    made = next((c for c in changes if isinstance(c, MakeField) and c.tag == name and was_tag), None)
    promoted = any(isinstance(c, MakeTag) and c.column == name and not was_tag for c in changes)
    split = next((c for c in changes if isinstance(c, SplitColumn) and c.column == name and c.is_tag is was_tag), None)
    typed = next((c for c in changes if isinstance(c, ChangeType) and c.column == name and not was_tag), None)
    role = "tag" if was_tag else "field"
    renames = (c for c in changes if isinstance(c, Rename) and c.old == name and c.role in ("", role))
    renamed = next(renames, None)
    return Column(
        old=name,
        new=renamed.new if renamed and not split else name,
        was_tag=was_tag,
        is_tag=promoted or (was_tag and made is None),
        types=types,
        to=typed.to if typed else made.to if made else "",
        split=split,
        moves_to=moves_to,
        shares_name=shares_name,
    )


def in_words(rewrite: Rewriting) -> Iterator[str]:
    """What writers send from now on: a sentence for each kind of change."""
    name = rewrite.old
    demoted = [c.old for c in rewrite.columns if c.changes_role and not c.is_tag]
    promoted = [c.old for c in rewrite.columns if c.changes_role and c.is_tag]
    if demoted:
        yield f"Write {_all(demoted)} as {_a('field', demoted)} of {name}, not as {_a('tag', demoted)}."
    if promoted:
        yield f"Write {_all(promoted)} as {_a('tag', promoted)} of {name}, not as {_a('field', promoted)}."
    for column in rewrite.columns:
        if column.split is not None:
            parts = ", ".join(f"{part.name}={part.example}" for part in column.split.parts)
            role = "tag" if column.is_tag else "field"
            yield f"Write one {role} per attribute: {parts} instead of {column.old}={column.split.example}."
    if renamed := [f"{_role(c)}{c.old} as {c.new}" for c in rewrite.columns if c.new != c.old]:
        yield f"Write {_all(renamed)}."
    if typed := [f"{c.old} as {_TYPED[c.to]}" for c in rewrite.columns if c.to in _TYPED]:
        yield f"Write {_all(typed)}."
    for target in rewrite.moved:
        moved = [column.new for column in rewrite.fields_of(target)]
        yield f"Write {_all(moved)} to a measurement of {_its(moved)} own, {target}, with the same tags."


_TYPED = {
    "integer": "whole numbers (42i)",
    "float": "numbers",
    "boolean": "true or false",
    "time": "times, in nanoseconds since 1970 (1709294400000000000i)",
}


def _role(column: Column) -> str:
    return f"{'tag' if column.was_tag else 'field'} " if column.shares_name else ""


def _all(names: Sequence[str]) -> str:
    return listed(names, 20)


def _a(noun: str, names: Sequence[str]) -> str:
    return f"a {noun}" if len(names) == 1 else f"{noun}s"


def _its(names: Sequence[str]) -> str:
    return "its" if len(names) == 1 else "their"
