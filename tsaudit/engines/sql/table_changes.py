"""All that becomes of one table of a SQL database: its columns, its name and its indexes.

A column that gets another type, or is taken apart, is made anew beside the old one, filled day by day, and checked; the
old one goes last. So no value is lost that the check has not shown, and writers wait for no rebuild of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tsaudit.engines.quoting import quote_text
from tsaudit.engines.rendering import Place, Renderer, Renderers
from tsaudit.engines.sql import changes as sql
from tsaudit.engines.sql import index_changes, split_off
from tsaudit.engines.sql.dialect import (
    Dialect,
    a_day_of,
    aside,
    can_be_made_again,
    constrained,
    create_index,
    drop_index,
    free,
    relations,
)
from tsaudit.engines.sql.types import is_text, sql_type
from tsaudit.model.change import (
    AddIndex,
    Change,
    ChangeType,
    DropIndex,
    MakeField,
    MakeTag,
    Rename,
    SplitColumn,
    SplitMeasurement,
)
from tsaudit.model.plan import Phase, Step
from tsaudit.model.profile import Index
from tsaudit.text import listed

_KINDS: Final[tuple[type[Change], ...]] = (
    AddIndex,
    ChangeType,
    DropIndex,
    MakeField,
    MakeTag,
    Rename,
    SplitColumn,
    SplitMeasurement,
)


def renderers(dialect: Dialect) -> Renderers:
    """One renderer for all changes of a table, so that each step knows of the others."""

    def render(place: Place, changes: Sequence[Change]) -> Iterator[Step]:
        yield from _Table(place, dialect, tuple(changes)).steps()

    renderer: Renderer = render
    return dict.fromkeys(_KINDS, renderer)


@dataclass(frozen=True, slots=True)
class _Made:
    """A column that is made out of another one."""

    name: str
    type: str
    value: str
    """Its expression: null for a value that it cannot hold."""


@dataclass(frozen=True, slots=True)
class _Replaced:
    """A column that others take the place of."""

    column: str
    made: tuple[_Made, ...]
    kept_as: str
    """What it is called until it goes."""
    takes_name: bool
    """Whether the one that is made has its name afterwards."""
    loses: str


@dataclass(frozen=True, slots=True)
class _Table:
    """A table, and what is to become of it."""

    place: Place
    dialect: Dialect
    changes: tuple[Change, ...]

    def steps(self) -> Iterator[Step]:
        """All steps; a plan puts them into the order of their phases."""
        replaced = self._replaced()
        renames, table = self._renames(replaced)
        if fields := [c for c in self.changes if isinstance(c, MakeField)]:
            yield from sql.make_fields(self.place, fields)
        if tags := [c.column for c in self.changes if isinstance(c, MakeTag)]:
            yield from index_changes.identify(self.place, tags)
        yield from self._in_constraints()
        yield from self._filled(replaced)
        splits = [c for c in self.changes if isinstance(c, SplitMeasurement)]
        yield from split_off.steps(self.place, self.dialect, splits, self._own(), renames, table)
        drops = [c for c in self.changes if isinstance(c, DropIndex)]
        blocked = self.dialect.indexes_block and bool(replaced or renames or table != self.place.here.name)
        yield from index_changes.dropped(self.place, self.dialect, drops, Phase.SWITCH if blocked else Phase.REMOVE)
        yield from self._switched(replaced, renames, table)
        yield from self._removed(replaced, renames, table)
        added = [c for c in self.changes if isinstance(c, AddIndex)]
        name, phase = (table, Phase.REMOVE) if blocked else (self.place.here.name, Phase.PREPARE)
        yield from index_changes.added(self.place, self.dialect, added, tags, phase, name, renames if blocked else {})

    # --- What is made beside ----------------------------------------------------------------------------------------

    def _typed(self) -> dict[str, str]:
        """Column to the type that its values have, of those that are to get it."""
        wanted = {c.column: c.to for c in self.changes if isinstance(c, ChangeType)}
        wanted |= {c.tag: c.to for c in self.changes if isinstance(c, MakeField) and c.to and self._is_text(c.tag)}
        return {column: kind for column, kind in wanted.items() if column in self.place.here.columns}

    def _is_text(self, column: str) -> bool:
        here = self.place.here
        types = {tag.key: (tag.data_type,) for tag in here.tags} | {f.key: f.types for f in here.fields}
        return any(map(is_text, types.get(column, ())))

    def _replaced(self) -> list[_Replaced]:
        taken = list(self.place.here.columns)
        found = []

        def name(wanted: str) -> str:
            taken.append(free(wanted, taken, self.dialect))
            return taken[-1]

        for column, kind in self._typed().items():
            if constrained(self.place, column) is None:
                found.append(self._converted(column, kind, name))
        for change in self.changes:
            if not isinstance(change, SplitColumn) or change.column not in self.place.here.columns:
                continue
            if (parts := self._parts(change, name)) is not None:
                found.append(parts)
        return found

    def _converted(self, column: str, kind: str, name: Callable[[str], str]) -> _Replaced:
        quoted, of_text = self.place.quoted([column]), self._is_text(column)
        value = self.dialect.converted(quoted, kind, of_text)
        made = _Made(name(f"{column}_{kind}"), sql_type(self.place.profile.engine, kind), value)
        kept_as = name(f"{column}_{'text' if of_text else 'former'}")
        known = next((c.exceptions for c in self.changes if isinstance(c, ChangeType) and c.column == column), ())
        others = f", and at least {listed([repr(v) for v in known], 5)}, which cannot be converted" if known else ""
        loses = (
            f"how the values of {column} were written{others}: the check shows all that are not converted, and how "
            "many rows have them"
        )
        return _Replaced(column, (made,), kept_as, takes_name=True, loses=loses)

    def _parts(self, change: SplitColumn, name: Callable[[str], str]) -> _Replaced | None:
        """None where the database has no function that takes its values apart."""
        column, engine = self.place.quoted([change.column]), self.place.profile.engine
        texts = change.example.split(change.separator)
        values, joined = [], []
        for number, (part, text) in enumerate(zip(change.parts, texts, strict=False), 1):
            piece, before = self.dialect.piece(column, change.separator, number), text.find(part.example)
            if piece is None or len(texts) != len(change.parts) or text[before:] != part.example:
                return None
            values.append(f"substr({piece}, {before + 1})" if before else piece)
            joined.append(f"{quote_text(engine, text[:before])} || {values[-1]}" if before else piece)
        # What does not come out again when it is put together is of another form, and is left alone.
        whole = f" || {quote_text(engine, change.separator)} || ".join(joined)
        made = tuple(
            _Made(name(part.name), self.dialect.text, f"CASE WHEN {whole} = {column} THEN {value} END")
            for part, value in zip(change.parts, values, strict=True)
        )
        loses = f"values of {change.column} of another form, if the check has shown any"
        return _Replaced(change.column, made, change.column, takes_name=False, loses=loses)

    def _in_constraints(self) -> Iterator[Step]:
        for column, kind in self._typed().items():
            if (key := constrained(self.place, column)) is not None:
                yield Step(
                    Phase.WRITE,
                    f"{column} holds values of the kind {kind} and is part of {key.name}, so no statement changes it "
                    "in place: copy the table into one that has the column with that type, and compare the two.",
                )
        for change in self.changes:
            if isinstance(change, SplitColumn):
                parts = {part.name: part.example for part in change.parts}
                example = ", ".join(f"{name}={value}" for name, value in parts.items())
                yield Step(Phase.WRITE, f"Write each attribute of {change.column} into a column of its own: {example}.")

    def _filled(self, replaced: Sequence[_Replaced]) -> Iterator[Step]:
        if not replaced:
            return
        table, made = self.place.table(), [one for each in replaced for one in each.made]
        adding = [f"ALTER TABLE {table} ADD COLUMN {self.place.quoted([m.name])} {m.type};" for m in made]
        yield Step(
            Phase.PREPARE,
            f"Add {listed([m.name for m in made], 8)} beside the old "
            f"{'column' if len(replaced) == 1 else 'columns'}, at the end of the table: an INSERT has to name its "
            "columns.",
            "\n".join(adding),
            "sql",
            locks=self.dialect.locks,
        )
        day, every = a_day_of(self.place)
        # Rows without a time belong to no day.
        where = f" WHERE ({day}) OR {self.place.quoted([self.place.here.time_column or ''])} IS NULL" if day else ""
        values = ", ".join(f"{self.place.quoted([m.name])} = {m.value}" for m in made)
        yield Step(
            Phase.COPY,
            f"Stop the writers, and fill {'them' if len(made) > 1 else 'it'}"
            + (" one day at a time, the newest day first." if every else "."),
            f"UPDATE {table} SET {values}{where};",  # noqa: S608 -- shown, never run
            "sql",
            locks=self.dialect.locks and "writers of the same rows",
            cost="writes all rows anew",
            repeat_every=every,
        )
        indexed = [statement for each in replaced for statement in self._indexed_alike(each)]
        if indexed:
            yield Step(Phase.COPY, "Index them as the old ones are.", "\n".join(indexed), "sql", cost="reads all rows")
        yield from (self._checked(each) for each in replaced)

    def _indexed_alike(self, each: _Replaced) -> Iterator[str]:
        """Statements that index the column that takes the old one's name as that one is."""
        if self.dialect.indexes_block or not each.takes_name:
            return
        for index in self._own():
            if each.column in index.columns and can_be_made_again(index):
                columns = [each.made[0].name if c == each.column else str(c) for c in index.columns]
                yield create_index(self.place, self.dialect, self.place.here.name, columns, like=index)

    def _checked(self, each: _Replaced) -> Step:
        column, made = self.place.quoted([each.column]), self.place.quoted([each.made[0].name])
        empty = f"trim({column}) = ''" if self._is_text(each.column) else "FALSE"
        return Step(
            Phase.CHECK,
            f"See which values of {each.column} are left over: they stay in the old column, and none of them is in the "
            "new one. Nothing is to be dropped while they are needed.",
            f"SELECT {column}, count(*) FROM {self.place.table()} "  # noqa: S608 -- shown, never run
            f"WHERE {column} IS NOT NULL AND NOT ({empty}) AND {made} IS NULL GROUP BY {column} ORDER BY 2 DESC;",
            "sql",
            cost="reads all rows",
        )

    # --- The new takes the place of the old -------------------------------------------------------------------------

    def _renames(self, replaced: Sequence[_Replaced]) -> tuple[dict[str, str], str]:
        """Column to its new name, and the table's."""
        taken = [*self.place.here.columns, *(m.name for r in replaced for m in r.made), *(r.kept_as for r in replaced)]
        names: dict[str, str] = {}
        table = self.place.here.name
        for change in self.changes:
            if isinstance(change, Rename) and change.old in self.place.here.columns:
                others = [name for name in taken if name != change.old]
                names[change.old] = free(change.new, others, self.dialect)
                taken.append(names[change.old])
            elif isinstance(change, Rename) and not change.old:
                table = free(change.new, relations(self.place) - {self.place.here.name}, self.dialect)
        return names, table

    def _switched(self, replaced: Sequence[_Replaced], renames: Mapping[str, str], table: str) -> Iterator[Step]:
        here, now = self.place.here.name, self.place.table()
        statements = []
        for each in replaced:
            if each.takes_name:
                statements.append(self._renamed(each.column, each.kept_as))
                if self.place.profile.engine == "postgresql":
                    old = self.place.quoted([each.kept_as])
                    statements.append(
                        f"ALTER TABLE {now} ALTER COLUMN {old} DROP NOT NULL, ALTER COLUMN {old} DROP DEFAULT;"
                    )
                statements.append(self._renamed(each.made[0].name, each.column))
        for old, new in renames.items():
            statements.append(self._renamed(old, new))
        if table != here:
            if table.casefold() == here.casefold() and self.dialect.folds_case:
                between = free(f"{table}_new", relations(self.place), self.dialect)
                statements.append(f"ALTER TABLE {now} RENAME TO {self.place.quoted([between])};")
                now = self.place.table(between)
            statements.append(f"ALTER TABLE {now} RENAME TO {self.place.quoted([table])};")
        if not statements:
            return
        first, last = list[str](), list[str]()
        if self.dialect.indexes_block:
            first, last = aside(self.place, self.dialect, self._own(), renames, table, ())
        lost = [i.name for i in self._own() if not can_be_made_again(i)] if first else []
        words = "Have writers and queries use the new names from the same moment on: the old ones are gone then."
        if not renames and table == here:
            words = "Let the new columns take the names of the old ones, and have writers send values of their types."
        yield Step(
            Phase.SWITCH,
            words,
            "\n".join([*first, *statements, *last]),
            "sql",
            locks=self.dialect.locks,
            loses=f"the indexes {listed(lost)}, whose definition is not known in full" if lost else "",
        )

    def _renamed(self, old: str, new: str) -> str:
        names = self.place.quoted([old]), self.place.quoted([new])
        return f"ALTER TABLE {self.place.table()} RENAME COLUMN {names[0]} TO {names[1]};"

    def _own(self) -> list[Index]:
        """Its indexes that stay, without those of constraints."""
        gone = {c.index for c in self.changes if isinstance(c, DropIndex)}
        return [i for i in self.place.here.indexes or () if not i.constraint and i.name not in gone]

    # --- The old goes -----------------------------------------------------------------------------------------------

    def _removed(self, replaced: Sequence[_Replaced], renames: Mapping[str, str], table: str) -> Iterator[Step]:
        for each in replaced:
            if (key := constrained(self.place, each.column)) is not None:
                yield Step(
                    Phase.REMOVE,
                    f"{each.column} is part of {key.name} and stays until the key is made of the columns in its place.",
                )
                continue
            touched = [i for i in self._own() if each.column in i.columns or None in i.columns]
            if self.dialect.indexes_block:
                column = () if each.takes_name else (each.column,)
                first, last = aside(self.place, self.dialect, self._own(), renames, table, column)
            else:
                first = [drop_index(self.place, self.dialect, i.name) for i in touched if each.column in i.columns]
                last = []
            name = renames.get(each.kept_as, each.kept_as)
            lost = [i.name for i in touched if not can_be_made_again(i)]
            unknown = f"; and the indexes {listed(lost)}, if they are on it" if lost else ""
            statement = f"ALTER TABLE {self.place.table(table)} DROP COLUMN {self.place.quoted([name])};"
            yield Step(
                Phase.REMOVE,
                f"Drop the old column, {name}, once the check has shown nothing that is needed.",
                "\n".join([*first, statement, *last]),
                "sql",
                can_undo=False,
                locks=self.dialect.locks,
                loses=each.loses + unknown,
            )
