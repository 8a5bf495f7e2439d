"""What a measurement looks like once all changes to it are made.

For engines whose tags, names and types are fixed once written, so that one copy into another measurement makes all
changes. How rows are copied is up to each engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tsaudit.engines.rendering import Place
from tsaudit.model.change import Change, ChangeType, MakeField, MakeTag, Rename, SplitColumn, SplitMeasurement

KINDS = (MakeField, MakeTag, Rename, SplitColumn, SplitMeasurement, ChangeType)
"""What one copy of the measurement makes, whatever the engine."""


@dataclass(frozen=True, slots=True)
class Column:
    """A tag or a field: as it is, and as it will be."""

    old: str
    new: str
    was_tag: bool
    is_tag: bool
    types: tuple[str, ...] = ()
    """Types of a field, as stored; several if writers disagree."""
    to: str = ""
    """What its values are converted to: `integer`, `float`, `boolean` or `time`; empty: nothing."""
    split: SplitColumn | None = None
    """The parts that replace it; no other column has their names."""
    moves_to: str = ""
    """The measurement it moves to; empty: the one that replaces this one."""
    shares_name: bool = False
    """Whether both a tag and a field have the old name."""

    @property
    def changes_role(self) -> bool:
        return self.was_tag != self.is_tag


@dataclass(frozen=True, slots=True)
class Rewriting:
    """All columns of a measurement, and what replaces it."""

    place: Place
    new: str
    """The measurement that replaces it, with a name that is free."""
    columns: tuple[Column, ...]

    @property
    def old(self) -> str:
        return self.place.here.name

    @property
    def targets(self) -> tuple[str, ...]:
        """The measurements that hold the data of the old one."""
        fields = [column for column in self.columns if not column.is_tag]
        return tuple(dict.fromkeys([*(c.moves_to or self.new for c in fields if not c.moves_to), *self.moved]))

    @property
    def moved(self) -> tuple[str, ...]:
        """The measurements that columns move to."""
        return tuple(dict.fromkeys(column.moves_to for column in self.columns if column.moves_to))

    def fields_of(self, target: str) -> list[Column]:
        """The fields of the new measurement. Former tags stay with what does not move."""
        return [c for c in self.columns if not c.is_tag and (c.moves_to or self.new) == target]

    @property
    def tags(self) -> list[Column]:
        """The tags of all new measurements."""
        return [column for column in self.columns if column.is_tag]


def rewriting(place: Place, changes: Sequence[Change]) -> Rewriting:
    """The measurement after all of the changes together."""
    found = [change for change in changes if change.at.measurement == place.here.name]
    renamed = next((c.new for c in found if isinstance(c, Rename) and not c.old), "")
    new = place.free(renamed or f"{place.here.name}_new")
    tags, fields = ({c.key for c in columns} for columns in (place.here.tags, place.here.fields))
    moves = {column: move.name for move in found if isinstance(move, SplitMeasurement) for column in move.columns}
    # Writing to a name in use would mix two measurements.
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
    return Rewriting(place, new, tuple(_distinct(columns)))


def _distinct(columns: Sequence[Column]) -> list[Column]:
    """The columns, with a number after each new name that another column has."""

    def stays(column: Column) -> bool:
        return column.new == column.old and column.split is None and not (column.shares_name and column.changes_role)

    taken = {column.new for column in columns if stays(column)}

    def free(name: str) -> str:
        numbered = (f"{name}_{number}" for number in range(2, len(taken) + 3))
        taken.add(found := name if name not in taken else next(one for one in numbered if one not in taken))
        return found

    found = []
    for column in columns:
        if column.split is not None:
            parts = tuple(replace(part, name=free(part.name)) for part in column.split.parts)
            found.append(replace(column, split=replace(column.split, parts=parts)))
        else:
            found.append(column if stays(column) else replace(column, new=free(column.new)))
    return found


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
