"""What a table of GreptimeDB is to be like after all changes, and whether that takes a copy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tsaudit.engines.greptimedb import rebuild
from tsaudit.engines.greptimedb.rebuild import Shape
from tsaudit.engines.greptimedb.statements import APPEND_ONLY
from tsaudit.engines.greptimedb.tables import INDEX_KINDS, indexes_on, is_append_only, option, primary_key, version
from tsaudit.engines.rendering import Place
from tsaudit.engines.sql.types import is_text
from tsaudit.model.change import (
    AddIndex,
    Change,
    ChangeType,
    DropIndex,
    DropRepeats,
    MakeField,
    MakeTag,
    Rename,
    SetKey,
    SetOption,
    SplitColumn,
)

_FROM_1_0: Final = frozenset({("append_mode", "true"), ("sst_format", "flat"), ("sst_format", "primary_key")})
"""Options, and their values, that ALTER TABLE sets from version 1.0 on."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A table, and what is to become of it."""

    place: Place
    changes: tuple[Change, ...]

    def shape(self) -> Shape:
        """The final state of the table. Changes that do not justify a copy are left out if there is none."""
        whole = self._shape_by(self.changes)
        return whole if self.needs_copy(self._shape_by(self._needed())) else self._shape_by(self._needed())

    def _needed(self) -> tuple[Change, ...]:
        return tuple(c for c in self.changes if not (isinstance(c, SetKey) and c.only_with_copy))

    def _shape_by(self, changes: Sequence[Change]) -> Shape:
        here = self.place.here
        gone = {change.tag for change in changes if isinstance(change, MakeField)}
        new = next((change.key for change in changes if isinstance(change, SetKey) and change.key is not None), None)
        key = [c for c in (primary_key(here) if new is None else new) if c not in gone]
        # An index serves as well in a table that keeps all rows anyway.
        added = [c.column for c in changes if isinstance(c, MakeTag) and not self.stays_append_only()]
        key += [column for column in added if column not in key and column in here.columns]
        options = {change.option: change.value for change in changes if isinstance(change, SetOption)}
        if not key and primary_key(here) and not self.stays_append_only():
            options |= APPEND_ONLY
        if options.get("append_mode") == "true":
            options |= APPEND_ONLY
        types = {c.column: c.to for c in changes if isinstance(c, ChangeType) and c.column in here.columns}
        texts = {t.key for t in here.tags if is_text(t.data_type)}
        types |= {c.tag: c.to for c in changes if isinstance(c, MakeField) and c.to and c.tag in texts}
        names = self._names()
        odd = [c.column for c in changes if isinstance(c, ChangeType) and c.exceptions and c.column in types]
        times = (change.time for change in changes if isinstance(change, SetKey) and change.time)
        return Shape(
            tuple(key),
            next(times, here.time_column),
            options,
            names,
            types,
            {column: self._free_column(f"{column}_former") for column in odd},
            {c.column: c for c in changes if isinstance(c, SplitColumn) and c.column in here.columns and _fits(c)},
            self._indexes(),
            not any(isinstance(change, SetKey) and change.partitions == 1 for change in changes),
            any(isinstance(change, DropRepeats) for change in changes),
        )

    def stays_append_only(self) -> bool:
        """Whether it keeps all rows afterwards."""
        wanted = [c.value for c in self.changes if isinstance(c, SetOption) and c.option == "append_mode"]
        return wanted[-1] == "true" if wanted else is_append_only(self.place.here)

    def _free_column(self, wanted: str, besides: Sequence[str] = ()) -> str:
        taken = {*self.place.here.columns, *besides}
        numbered = (f"{wanted}_{number}" for number in range(2, len(taken) + 3))
        return wanted if wanted not in taken else next(one for one in numbered if one not in taken)

    def _names(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for change in self.changes:
            if isinstance(change, Rename) and change.old in self.place.here.columns:
                found[change.old] = self._free_column(change.new, list(found.values()))
        return found

    def name(self) -> str:
        """The table's name afterwards."""
        new = next((c.new for c in self.changes if isinstance(c, Rename) and not c.old), self.place.here.name)
        return new if new == self.place.here.name else self.place.free(new)

    def _indexes(self) -> dict[str, frozenset[str]]:
        found: dict[str, set[str]] = {}

        def of(column: str) -> set[str]:
            return found.setdefault(column, set(indexes_on(self.place.here, column)))

        for change in self.changes:
            if isinstance(change, DropIndex) and len(change.columns) == 1 and change.method in INDEX_KINDS:
                of(change.columns[0]).discard(change.method)
            elif isinstance(change, AddIndex) and len(change.columns) == 1:
                of(change.columns[0]).add(change.method or "inverted")
            elif isinstance(change, MakeTag) and self.stays_append_only() and change.column in self.place.here.columns:
                of(change.column).add("inverted")
        return {column: frozenset(kinds) for column, kinds in found.items()}

    def needs_copy(self, shape: Shape) -> bool:
        """Whether no ALTER TABLE makes it so."""
        now = rebuild.as_it_is(self.place)
        same = (shape.key, shape.time) == (now.key, now.time)
        others = shape.names or shape.types or shape.parts or shape.is_distinct
        divided = not shape.is_divided and self.place.here.partitioning is not None
        return bool(not same or others or divided or self.settled_by_copy(shape))

    def settled_by_copy(self, shape: Shape) -> dict[str, str]:
        """Options that change and that no ALTER TABLE sets."""
        changed = {k: v for k, v in shape.options.items() if option(self.place.here, k) != v}
        alters = {k for k, v in changed.items() if self.alters(k, v)}
        if "append_mode" in alters:
            alters.add("merge_mode")  # It goes along.
        return {k: v for k, v in changed.items() if k not in alters}

    def alters(self, name: str, value: str) -> bool:
        """Whether ALTER TABLE sets the option."""
        known = version(self.place.profile)
        return name == "ttl" or ((name, value) in _FROM_1_0 and (not known or known >= (1, 0)))


def _fits(change: SplitColumn) -> bool:
    """Whether each piece of the example ends with its part's value, so that prefixes are all there is to take off."""
    texts = change.example.split(change.separator)
    ends = all(text.endswith(part.example) for part, text in zip(change.parts, texts, strict=False))
    return len(texts) == len(change.parts) and ends
