"""All changes of one table of a SQL database: its columns, its name, and its indexes.

A column that is converted or split is created next to the old one, filled day by day, and checked; the old one is
dropped last. So no value is lost that the check has not shown, and writers do not wait for a rebuild of the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tsaudit.engines.rendering import Place, Renderer, Renderers
from tsaudit.engines.sql import changes as sql
from tsaudit.engines.sql import conversions, dependents, index_changes, merging, split_off
from tsaudit.engines.sql.conversions import Replaced
from tsaudit.engines.sql.dialect import (
    Dialect,
    a_day_of,
    aside,
    can_be_made_again,
    constrained,
    create_index,
    drop_index,
    free,
    may_refuse,
    of_no_day,
    relations,
)
from tsaudit.model.change import (
    AddIndex,
    Change,
    ChangeType,
    DropIndex,
    MakeField,
    MakeTag,
    MergeMeasurements,
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
    """One renderer for all changes of a table, so that each step takes the others into account."""

    def render(place: Place, changes: Sequence[Change]) -> Iterator[Step]:
        moved = {c for one in changes if isinstance(one, SplitMeasurement) for c in split_off.moving(place, one)}
        later = [one for one in changes if _column_of(one) in moved]
        told = [one for one in changes if _needs_labels(place, one)]
        yield from _Table(place, dialect, tuple(one for one in changes if one not in (*later, *told))).steps()
        yield from (Step(Phase.WRITE, _in_words(one)) for one in told)
        if later:
            names = listed(sorted({_column_of(one) for one in later}), 8)
            yield Step(Phase.WRITE, f"What else is to change about {names}, see once its table is audited.")

    renderer: Renderer = render
    merge = merging.renderer(merging.create_table(dialect.text), relations, dialect.folds_case)
    return {**dict.fromkeys(_KINDS, renderer), MergeMeasurements: merge}


def _needs_labels(place: Place, change: Change) -> bool:
    """Whether a statement for the change would have to name labels as if they were columns."""
    labels = {tag.key for tag in place.here.tags if tag.label_of}
    if isinstance(change, SplitMeasurement):
        return bool(labels)
    return not isinstance(change, MakeField) and _column_of(change) in labels


def _in_words(change: Change) -> str:
    if isinstance(change, SplitMeasurement):
        return f"Write {listed(change.columns, 20)} to {change.name}, with the time and the labels."
    return f"Change {_column_of(change)} in the labels that writers send: no statement does it here."


def _column_of(change: Change) -> str:
    """The column that the change makes another one of; empty for a change of the table."""
    match change:
        case ChangeType(column=name) | SplitColumn(column=name) | MakeTag(column=name):
            return name
        case MakeField(tag=name) | Rename(old=name):
            return name
    return ""


@dataclass(frozen=True, slots=True)
class _Table:
    """A table, and what is to become of it."""

    place: Place
    dialect: Dialect
    changes: tuple[Change, ...]

    def steps(self) -> Iterator[Step]:
        replaced = conversions.replaced(self.place, self.dialect, self.changes)
        renames, table = self._renames(replaced)
        if fields := [c for c in self.changes if isinstance(c, MakeField)]:
            yield from sql.make_fields(self.place, fields, renames, table)
        if tags := [c.column for c in self.changes if isinstance(c, MakeTag)]:
            yield from index_changes.identify(self.place, tags, renames, table)
        yield from conversions.in_words(self.place, self.changes)
        staying = {e.column: [m.name for m in e.made] for e in replaced if constrained(self.place, e.column)}
        for split in (c for c in self.changes if isinstance(c, SplitColumn) and c.is_tag and c.column in staying):
            yield index_changes.declared(staying[split.column], table, split.column)
        yield from self._depended_on(replaced, renames, table)
        yield from self._filled(replaced)
        blocked = self.dialect.indexes_block and bool(replaced or renames or table != self.place.here.name)
        drops, when = [c for c in self.changes if isinstance(c, DropIndex)], Phase.SWITCH if blocked else Phase.REMOVE
        yield from index_changes.dropped(self.place, self.dialect, drops, when)
        splits = [c for c in self.changes if isinstance(c, SplitMeasurement)]
        yield from split_off.steps(self.place, self.dialect, splits, self._own(), renames, table)
        yield from self._switched(replaced, renames, table)
        yield from self._removed(replaced, renames, table)
        added, gone = self._indexed(replaced, tags), {change.index for change in drops}
        if blocked:
            yield from index_changes.added(self.place, self.dialect, added, Phase.REMOVE, table, renames, gone)
            return
        # What is filled first is indexed under the name that it has until the switch; an index follows its columns.
        names = {each.column: each.made[0].name for each in replaced if each.takes_name}
        later = [one for one in added if names.keys() & one.columns]
        now = [one for one in added if one not in later]
        here = self.place.here.name
        yield from index_changes.added(self.place, self.dialect, now, Phase.PREPARE, here, {}, gone)
        yield from index_changes.added(self.place, self.dialect, later, Phase.COPY, here, names, gone)

    def _indexed(self, replaced: Sequence[Replaced], tags: Sequence[str]) -> list[AddIndex]:
        """The indexes asked for, and one for each column that is to name a source; none on a column that goes."""
        added = [c for c in self.changes if isinstance(c, AddIndex)]
        added += [index_changes.of_source(self.place, self.dialect, tag) for tag in tags]
        going = {each.column for each in replaced if not each.takes_name}
        going |= {column for c in self.changes if isinstance(c, SplitMeasurement) for column in c.columns}
        return [one for one in dict.fromkeys(added) if not going & set(one.columns)]

    def _depended_on(self, replaced: Sequence[Replaced], renames: Mapping[str, str], table: str) -> Iterator[Step]:
        moved = (c for one in self.changes if isinstance(one, SplitMeasurement) for c in one.columns)
        renamed = [*renames, *(self.place.here.columns if table != self.place.here.name else ())]
        named = [*(each.column for each in replaced), *moved, *(() if self.dialect.views_follow else renamed)]
        yield from dependents.looked_up(self.place, self.dialect, named)

    # --- What is made beside ----------------------------------------------------------------------------------------

    def _filled(self, replaced: Sequence[Replaced]) -> Iterator[Step]:
        if not replaced:
            return
        table, made = self.place.table(), [one for each in replaced for one in each.made]
        adding = [f"ALTER TABLE {table} ADD COLUMN {self.place.quoted([m.name])} {m.type};" for m in made]
        yield Step(
            Phase.PREPARE,
            f"Add {listed([m.name for m in made], 8)} at the end of the table; from then on, an INSERT has to name its "
            "columns.",
            "\n".join(adding),
            "sql",
            locks=self.dialect.locks,
        )
        day, every = a_day_of(self.place)
        # Rows without a time belong to no day.
        where = f" WHERE ({day}) OR {of_no_day(self.place)}" if day else ""
        values = ", ".join(f"{self.place.quoted([m.name])} = {m.value}" for m in made)
        yield Step(
            Phase.COPY,
            f"Stop the writers, and fill {'them' if len(made) > 1 else 'it'}"
            + (" one day at a time, the newest day first." if every else "."),
            f"UPDATE {table} SET {values}{where};",  # noqa: S608 -- shown, never run
            "sql",
            locks=self.dialect.locks and "writers of the same rows",
            cost="rewrites all rows",
            repeat_every=every,
        )
        indexed = list(self._indexed_alike(replaced))
        if indexed:
            yield Step(Phase.COPY, "Index them as the old ones are.", "\n".join(indexed), "sql", cost="reads all rows")
        yield from (self._checked(each) for each in replaced)

    def _indexed_alike(self, replaced: Sequence[Replaced]) -> Iterator[str]:
        """Statements that index the columns that take the old ones' names as those are."""
        names = {each.column: each.made[0].name for each in replaced if each.takes_name}
        for index in () if self.dialect.indexes_block else self._own():
            if names.keys() & set(index.columns) and can_be_made_again(index):
                columns = [names.get(str(c), str(c)) for c in index.columns]
                yield create_index(self.place, self.dialect, self.place.here.name, columns, like=index)

    def _checked(self, each: Replaced) -> Step:
        column, made = self.place.quoted([each.column]), self.place.quoted([each.made[0].name])
        empty = f"trim({column}) = ''" if conversions.is_text(self.place, each.column) else "FALSE"
        return Step(
            Phase.CHECK,
            f"See which values of {each.column} did not convert. They are in the old column only: do not drop it "
            "while you need them.",
            f"SELECT {column}, count(*) FROM {self.place.table()} "  # noqa: S608 -- shown, never run
            f"WHERE {column} IS NOT NULL AND NOT ({empty}) AND {made} IS NULL GROUP BY {column} ORDER BY 2 DESC;",
            "sql",
            cost="reads all rows",
        )

    # --- The new takes the place of the old -------------------------------------------------------------------------

    def _renames(self, replaced: Sequence[Replaced]) -> tuple[dict[str, str], str]:
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

    def _switched(self, replaced: Sequence[Replaced], renames: Mapping[str, str], table: str) -> Iterator[Step]:
        here, now = self.place.here.name, self.place.table()
        statements = []
        for each in replaced:
            if each.takes_name:
                statements.append(self._renamed(each.column, each.kept_as))
                if self.place.profile.engine == "postgresql":
                    old = self.place.quoted([each.kept_as])
                    dropped = f"ALTER COLUMN {old} DROP IDENTITY IF EXISTS, ALTER COLUMN {old} DROP NOT NULL"
                    statements.append(f"ALTER TABLE {now} {dropped};")
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
        words = "Give the new columns the names of the old ones, and have writers send values of their types."
        if renames or table != here:
            words = "Switch writers and queries to the new names at the same moment: the old ones no longer exist."
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

    def _removed(self, replaced: Sequence[Replaced], renames: Mapping[str, str], table: str) -> Iterator[Step]:
        splits = [c for c in self.changes if isinstance(c, SplitMeasurement)]
        moved = [c for one in splits for c in split_off.moving(self.place, one) if not constrained(self.place, c)]
        own = split_off.without(self._own(), moved)
        for each in replaced:
            name = renames.get(each.kept_as, each.kept_as)
            if key := constrained(self.place, each.column):
                words = f"{name} is part of {key} and stays until the key uses the columns that replace it."
                yield Step(Phase.REMOVE, words)
                continue
            touched = [i for i in own if each.column in i.columns or None in i.columns]
            if self.dialect.indexes_block:
                column = () if each.takes_name else (each.column,)
                first, last = aside(self.place, self.dialect, own, renames, table, column)
            else:
                first = [drop_index(self.place, self.dialect, i.name) for i in touched if each.column in i.columns]
                last = []
            lost = [i.name for i in touched if not can_be_made_again(i)]
            unknown = f"; and the indexes {listed(lost)}, if they are on it" if lost else ""
            statement = f"ALTER TABLE {self.place.table(table)} DROP COLUMN {self.place.quoted([name])};"
            yield Step(
                Phase.REMOVE,
                f"Drop the old column, {name}, once the check shows no value that you need."
                + may_refuse(self.place, self.dialect),
                "\n".join([*first, statement, *last]),
                "sql",
                can_undo=False,
                locks=self.dialect.locks,
                loses=each.loses + unknown,
            )
