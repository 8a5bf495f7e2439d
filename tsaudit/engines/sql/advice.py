"""How changes are made on SQL databases, which do not declare tags: a subclass for each says what differs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import ClassVar, Final

from tsaudit.analysis.columns import types as column_types
from tsaudit.engines import writers
from tsaudit.engines.advice import WRITTEN, Advice, free, together
from tsaudit.engines.quoting import Qualified
from tsaudit.engines.registry import ENGINES
from tsaudit.engines.sql.diagnostic_queries import DiagnosticQueries, query
from tsaudit.engines.sql.statements import (
    MOST_OF_PLAN,
    MergedTable,
    Part,
    create_table,
    enumerated,
    fits,
    folded,
    insert,
    joined,
    lines_of,
    merged_table,
    types_of,
)
from tsaudit.model.change import (
    AddIndex,
    Change,
    ChangeType,
    Diagnose,
    DropIndex,
    LeaveOut,
    MakeField,
    MakeTag,
    MergeMeasurements,
    Rename,
    SplitColumn,
    SplitMeasurement,
)
from tsaudit.model.plan import Step, StepKind
from tsaudit.model.profile import How, Index, Measurement
from tsaudit.text import listed, many, number

TERMS: Final = writers.Terms(row="row", measurement="table", tag="column", field="column")
_A_DAY_S: Final = 86_400
_MOST_NAMES: Final = 4
"""Names in a sentence, and tables that a setting of tsaudit.yaml is shown for."""
_MOST_COLUMNS: Final = 6
"""Columns of an example."""
_TYPES: Final = {
    "integer": "an integer",
    "float": "a float",
    "decimal": "a decimal",
    "boolean": "a boolean",
    "time": "a timestamp",
    "date": "a date",
}


class SqlAdvice(Advice):
    """What SQL databases have in common. Which columns are tags, tsaudit infers, or reads from tsaudit.yaml."""

    also: Sequence[SqlAdvice]
    handles = frozenset({*WRITTEN, AddIndex, Diagnose, DropIndex})
    diagnostic_queries: ClassVar[DiagnosticQueries] = DiagnosticQueries()
    text_type: ClassVar[str] = "TEXT"
    folds_case: ClassVar[bool] = True
    """Whether names that differ in case only are one."""
    indexes_one_column: ClassVar[bool] = False
    """Whether queries use no index on several columns."""
    drops_its_indexes: ClassVar[bool] = False
    """Whether a column that is dropped takes its indexes along."""
    index_again: ClassVar[str] = "creating an index again reads all rows"
    index_used: ClassVar[str] = "EXPLAIN of a query that filters by its first column should show the new index at once."
    alter_locks: ClassVar[str] = ""
    """Who has to wait while a table is altered without being rewritten."""

    # --- What differs between databases -----------------------------------------------------------------------------

    def retyped(self, column: str, kind: str) -> Part | None:  # noqa: ARG002 -- for subclasses
        """The statement that gives a text column another type, and fails if a value does not convert; None if the
        database has none.
        """
        return None

    def rekeyed(self, key: Index, columns: Sequence[str]) -> tuple[Part, Part | None]:  # noqa: ARG002 -- for subclasses
        """What makes `columns` the key instead of those of `key`, and the copy of stored rows; None: none is needed.

        None of the rows compared have them in common. If others have, the database must refuse the change as a whole.
        """
        return self._rebuilt

    def altered(self, statements: Sequence[str], without: Sequence[str] = ()) -> list[str]:  # noqa: ARG002
        """Statements that alter columns, with what the database requires before and after them.

        `without`: columns that they drop, whose indexes are gone by then.
        """
        return list(statements)

    def altered_table(self) -> str:
        """The table by its name while its columns are altered."""
        return self.place.table()

    def added_column(self, column: str, kind: str, *, is_tag: bool) -> str:  # noqa: ARG002 -- for subclasses
        """The definition of a column that is added."""
        return f"{self.place.quoted([column])} {kind}"

    def index_part(self, words: str, statements: Sequence[str], *, reads: bool) -> Part:
        """Indexes that are created, which reads all rows, or dropped."""
        return Part(words, tuple(statements), locks=self.alter_locks, cost="reads all rows" if reads else "")

    def drop_index(self, name: str) -> str:
        return f"DROP INDEX {self.place.quoted([Qualified(self.place.database, name)])};"

    def added_index(self, change: AddIndex) -> Part:
        """The index that is created."""
        columns = [self.renames.get(column, column) for column in change.columns]
        statement = self.create_index(self.table_name, columns, method=change.method)
        return self.index_part(f"Create an index on {_all(columns)} of {self.table_name}.", [statement], reads=True)

    def create_index(
        self,
        table: str,
        columns: Sequence[str],
        *,
        like: Index | None = None,
        method: str = "",  # noqa: ARG002 -- for subclasses
        name: str = "",
    ) -> str:
        """Create an index. `like`: an index whose uniqueness and sorting to use."""
        unique = "UNIQUE " if like is not None and like.unique else ""
        sorting = (like.sorting if like is not None else ()) or ("",) * len(columns)
        quoted = [f"{self.place.quoted([c])} {how}".strip() for c, how in zip(columns, sorting, strict=True)]
        own = self.place.quoted([name or self.free_name("_".join((table, *columns, "idx")))])
        on = [f"ON {self.place.table(table)}", *enumerated(quoted, "(", ");")]
        return folded([f"CREATE {unique}INDEX {own}", *on])

    def table_ddl(
        self,
        name: str,
        types: Mapping[str, str],
        key: Sequence[str],
        like: Measurement,  # noqa: ARG002 -- for subclasses
    ) -> str:
        """Create a table. `types`: column to type; `key`: what identifies a row; `like`: a table with its settings."""
        lines = [f"{self.place.quoted([column])} {kind}" for column, kind in types.items()]
        lines += [f"UNIQUE ({self.place.quoted(key)})"] if key else []
        return create_table(self.place.table(name), lines)

    def key_among(self, columns: Sequence[str]) -> tuple[str, ...]:
        """The key of the table that consists of these columns only; empty if there is none."""
        keys = (i.columns for i in self.place.here.indexes or () if i.constraint and set(i.columns) <= set(columns))
        return next((tuple(map(str, key)) for key in keys if key), ())

    def is_unique(self, key: Sequence[str]) -> bool:
        """Whether the tags and the time identify a row for certain. `key`: what `key_among` found."""
        seen = self.place.here.repeats
        return bool(key) or (seen is not None and seen.source.how is How.EXACT and not seen.repeated)

    def own_statements(self) -> Iterator[Part]:
        """Changes that only this database can make."""
        yield from ()

    def own_stored(self) -> Iterator[Part]:
        """What becomes of stored rows by those changes."""
        yield from ()

    def own_figures(self) -> Iterator[str]:
        """How to see that those changes worked."""
        yield from ()

    # --- The steps --------------------------------------------------------------------------------------------------

    def find(self) -> Step | None:
        for one in (*self.asked_for(), *self.new_values()):
            if (found := query(self.place, one, self.diagnostic_queries)) is not None:
                return together(StepKind.FIND, [found], "sql")
        return None

    def writer(self) -> Step | None:
        written = [c for c in self.changes if not isinstance(c, MakeTag)]
        found = writers.setting(self.measurements, written, example=self.example())
        if found is None:
            return None
        fields = [c for c in written if isinstance(c, MakeField)]
        words = list(self._kept_as_columns([c.tag for c in fields]))
        words += writers.sentences(self.place.measurement, [c for c in written if c not in fields], TERMS)
        if any(isinstance(c, Rename) for c in written):
            words.append("Writers and queries need the new names from the same moment on.")
        return Step(StepKind.WRITER, " ".join([*words, found.words]), found.text, found.language)

    def schema(self) -> Step | None:
        others = [part for one in self.also for part in one.schema_parts()]
        return joined(StepKind.SCHEMA, [*self.schema_parts(), *self._the_same(others)])

    def stored(self) -> Step | None:
        others = [part for one in self.also for part in one.stored_parts()]
        return joined(StepKind.STORED, [*self.stored_parts(), *self._the_same(others)])

    def _the_same(self, parts: Sequence[Part]) -> Iterator[Part]:
        """The statements for other tables, without the sentences, which are the same for each."""
        if parts:
            yield Part(f"The same for the {many(len(self.also), 'other table')} of this plan.")
        yield from (replace(part, words="", loses="") for part in parts)

    def verify(self) -> Step | None:
        if all(isinstance(change, Diagnose) for change in self.changes):
            return None
        text = self.declared()
        words = list(dict.fromkeys(self._figures())) or ["The next audit should no longer report this."]
        return Step(StepKind.VERIFY, " ".join(words), text, "yaml" if text else "")

    @cached_property
    def room(self) -> int:
        """Lines that are left for the statements of a new table and its copy."""
        others = [step.text for step in (self.find(), self.writer()) if step is not None]
        return MOST_OF_PLAN - lines_of(*others, self.declared())

    # --- The table, now and afterward -------------------------------------------------------------------------------

    @cached_property
    def labels(self) -> dict[str, str]:
        """Tags that are one label of a column, to that column."""
        here = self.place.measurement
        return {} if here is None else {tag.key: tag.label_of for tag in here.tags if tag.label_of}

    @cached_property
    def renames(self) -> dict[str, str]:
        """Column to its new name."""
        names, taken = dict[str, str](), list(self._columns)
        for change in self.changes:
            if isinstance(change, Rename) and change.old in self._columns:
                others = [name for name in taken if name != change.old]
                names[change.old] = free(change.new, others, self.folds_case)
                taken.append(names[change.old])
        return names

    @cached_property
    def table_name(self) -> str:
        """The table's name afterward."""
        here = self.place.here.name
        new = next((c.new for c in self.changes if isinstance(c, Rename) and not c.old), here)
        # Its own name is its own: most plans need not know those of all other tables.
        return here if new == here else free(new, self._relations - {here}, self.folds_case)

    def free_name(self, name: str) -> str:
        """The name, or if a table or an index has it, the name with a number at its end."""
        return free(name, self._relations, self.folds_case)

    @cached_property
    def _relations(self) -> set[str]:
        """Names of tables and indexes: most databases keep them in one namespace."""
        beside = [m for m in self.place.profile.measurements if m.database == self.place.database]
        return {m.name for m in beside} | {i.name for m in beside for i in m.indexes or ()}

    @cached_property
    def _columns(self) -> tuple[str, ...]:
        return () if self.place.measurement is None else self.place.here.columns

    @cached_property
    def own_indexes(self) -> list[Index]:
        """Its indexes that stay, without those of constraints."""
        gone = {c.index for c in self.changes if isinstance(c, DropIndex)}
        return [i for i in self.place.here.indexes or () if not i.constraint and i.name not in gone]

    def constraint_of(self, column: str) -> str:
        """The key or other constraint that includes the column, or the partitioning; empty if there is none."""
        key = next((i.name for i in self.place.here.indexes or () if i.constraint and column in i.columns), "")
        cut = self.place.here.partitioning
        # PostgreSQL shows a name with quotes where it needs them, and an expression as a whole.
        by = cut is not None and any(column == part.strip('"') or f"({column}" in part for part in cut.key)
        return key or ("the partitioning" if by else "")

    def is_text(self, column: str) -> bool:
        here = self.place.here
        known: dict[str, Sequence[str]] = {tag.key: (tag.data_type,) for tag in here.tags}
        types = (known | {field.key: field.types for field in here.fields}).get(column, ())
        return any(map(column_types.is_text, types))

    def expires(self) -> str:
        """When stored rows go by themselves; empty where they do not, or it is not known."""
        held = self.place.here.retention
        if held is None or not isinstance(held.duration_s, int) or held.duration_s <= 0:
            return ""
        return f" They expire after {many(max(1, round(held.duration_s / _A_DAY_S)), 'day')}."

    # --- Writers ----------------------------------------------------------------------------------------------------

    def _kept_as_columns(self, tags: Sequence[str]) -> Iterator[str]:
        here = self.place.here.name if tags else ""
        labels, plain = ([t for t in tags if (t in self.labels) is chosen] for chosen in (True, False))
        if labels:
            short = [self._short(label) for label in labels]
            one = "a column of its own" if len(labels) == 1 else "columns of their own"
            yield f"Write {_all(short)} of {here} to {one}, not as {'a label' if len(labels) == 1 else 'labels'}."
        indexes = self.place.here.indexes if plain else None
        indexed = None if indexes is None else {column for index in indexes for column in index.columns}
        staying = [tag for tag in plain if tag in self._kept_in_keys]
        if staying:
            needs = "it" if len(staying) == 1 else "them"
            yield f"Keep {_all(staying)} in the key of {here}, which needs {needs}, and out of all other indexes."
        if as_is := [tag for tag in plain if indexed is not None and tag not in indexed]:
            one = "it is" if len(as_is) == 1 else "they are"
            yield f"Leave {_all(as_is)} as {one}: in no index of {here}, many different values do no harm."
        if leaving := [tag for tag in plain if tag not in staying and tag not in as_is]:
            one = "a plain column" if len(leaving) == 1 else "plain columns"
            yield f"Keep {_all(leaving)} as {one} of {here}, outside its key: many different values do no harm there."

    def _short(self, label: str) -> str:
        return label.removeprefix(f"{self.labels[label]}.")

    def example(self) -> str:
        """What an application sends from now on."""
        if self.place.measurement is None:
            merges = [c for c in self.changes if isinstance(c, MergeMeasurements)]
            merged = self._merged(merges[0]) if merges else ""
            return "" if isinstance(merged, str) else self._insert(merged.name, list(merged.columns))
        moved = {column: c.name for c in self.changes if isinstance(c, SplitMeasurement) for column in c.columns}
        first, *rest = [self._written(""), *(self._written(name) for name in dict.fromkeys(moved.values()))]
        texts = [self._insert(self.table_name, first)]
        texts += [
            self._insert(name, columns) for name, columns in zip(dict.fromkeys(moved.values()), rest, strict=True)
        ]
        return "\n".join(texts)

    def _insert(self, table: str, columns: Sequence[str]) -> str:
        """An example, with the first columns if there are many."""
        shown = [self.place.quoted([c]) for c in columns[:_MOST_COLUMNS]]
        shown += ["..."] if len(columns) > _MOST_COLUMNS else []
        return folded([f"INSERT INTO {self.place.table(table)}", *enumerated(shown, "(", ")"), "VALUES (...);"])

    def _written(self, moved_to: str) -> list[str]:
        """The columns that writers send, the changed ones first after the time."""
        gone = {c.column for c in self.changes if isinstance(c, LeaveOut)}
        moves = {column: c.name for c in self.changes if isinstance(c, SplitMeasurement) for column in c.columns}
        splits = {c.column: [part.name for part in c.parts] for c in self.changes if isinstance(c, SplitColumn)}
        new = [self._short(c.tag) for c in self.changes if isinstance(c, MakeField) and c.tag in self.labels]
        tags = {tag.label_of or tag.key for tag in self.place.here.tags}
        found: list[str] = []
        for column in self._columns:
            is_key = column in tags or column == self.place.here.time_column
            if column not in gone and (moves.get(column, "") == moved_to or (is_key and column not in moves)):
                found += splits.get(column, [self.renames.get(column, column)])
        changed = {name for names in splits.values() for name in names}
        changed |= {self.renames.get(name, name) for c in self.changes if (name := _column_of(c))}
        time = found[:1] if self.place.here.time_column else []
        rest = [name for name in found if name not in time]
        return [*time, *(new if not moved_to else ()), *sorted(rest, key=lambda name: name not in changed)]

    # --- The schema -------------------------------------------------------------------------------------------------

    def schema_parts(self) -> Iterator[Part]:
        """What changes the schema, in the order in which it is run."""
        if self.place.measurement is not None:
            yield from self._dropped()
            yield from dict.fromkeys(part for part, _ in self._keys)
            yield from self.columns_added()
            yield from self.columns_altered()
            yield from (part for part, _ in self.split_off)
            yield from self._added()
        yield from self.merges()
        yield from self.own_statements()

    def _dropped(self) -> Iterator[Part]:
        known = {i.name for i in self.place.here.indexes or () if not i.constraint}
        gone = [c.index for c in self.changes if isinstance(c, DropIndex) and c.index in known]
        if gone:
            indexes = f"the index {gone[0]}" if len(gone) == 1 else f"the indexes {_all(gone)}"
            words = f"Drop {indexes} of {self.place.here.name}."
            yield self.index_part(words, [self.drop_index(name) for name in gone], reads=False)

    @cached_property
    def _kept_in_keys(self) -> set[str]:
        """Columns that are to be plain ones, and that a key needs."""
        found = set[str]()
        for key in self.place.here.indexes or ():
            gone = {c.tag for c in self.changes if isinstance(c, MakeField)} & set(key.columns)
            if key.constraint and gone and self._why_key_stays(key, [c for c in key.columns if c and c not in gone]):
                found |= gone
        return found

    @cached_property
    def _keys(self) -> list[tuple[Part, Part | None]]:
        """Keys that lose the columns that are to be plain ones, with the copy of stored rows."""
        if self.place.measurement is None:
            return []
        gone, found = {c.tag for c in self.changes if isinstance(c, MakeField)}, list[tuple[Part, Part | None]]()
        for key in self.place.here.indexes or ():
            if key.constraint and gone & set(key.columns):
                rest = [c for c in key.columns if c is not None and c not in gone]
                taken = listed([str(c) for c in key.columns if c in gone], _MOST_NAMES)
                if why := self._why_key_stays(key, rest):
                    found.append((Part(f"Leave {taken} in the key {key.name}: {why}."), None))
                else:
                    found.append(self.rekeyed(key, rest))
        return found

    def _why_key_stays(self, key: Index, rest: Sequence[str]) -> str:
        effect = self.place.effect
        if not rest or None in key.columns:
            return "nothing else would identify a row"
        if effect.loss_unknown:
            return f"whether the other columns identify a row is not known, {effect.loss_unknown}"
        found = effect.loss
        if found is None or not found.rows:
            return ""
        among = f"{many(found.compared, 'row')} compared{f' ({found.scope})' if found.scope else ''}"
        return f"without it, {'' if found.is_exact else 'at least '}{number(found.rows)} of the {among} share a key"

    @cached_property
    def _rebuilt(self) -> tuple[Part, Part | None]:
        """A new table with another key in place of the old one, and the copy; no statements if they do not fit."""
        place, gone = self.place, {c.tag for c in self.changes if isinstance(c, MakeField)}
        whole = [i for i in place.here.indexes or () if i.constraint and None not in i.columns]
        keys = [rest for i in whole if (rest := [str(c) for c in i.columns if c not in gone])]
        new_key = next(key for key in keys if tuple(key) not in {i.columns for i in whole})
        new, old = self.free_name(f"{place.here.name}_new"), self.free_name(f"{place.here.name}_old")
        types = types_of(place.here)
        columns = [f"{place.quoted([c])} {kind}" for c, kind in types.items()]
        statements = [
            *(self.drop_index(index.name) for index in self.own_indexes),
            create_table(place.table(new), [*columns, *(f"UNIQUE ({place.quoted(key)})" for key in keys)]),
            f"ALTER TABLE {place.table()} RENAME TO {place.quoted([old])};",
            f"ALTER TABLE {place.table(new)} RENAME TO {place.quoted([place.here.name])};",
            *(self._again(index, place.here.name, {}) for index in self.own_indexes if is_complete(index)),
        ]
        words = (
            f"Replace {place.here.name} by a table with the key ({', '.join(new_key)}): no statement changes a key in "
            "place. Add the NOT NULL, defaults, and checks of the old table."
        )
        by_hand = Part("Copy the rows into the new table with one INSERT ... SELECT, then drop the old one.")
        if not fits(*statements, most=self.room) or set(types) != set(place.here.columns):
            return Part(words), by_hand
        into = [place.quoted([self.renames.get(c, c)]) for c in types]
        selected = [place.quoted([c]) for c in types]
        copy = insert(place.table(self.table_name), into, selected, f"FROM {place.table(old)};")
        copied = Part(
            f"Copy the rows of {old}, then drop it. If two rows share the new key, the statement fails as a whole.",
            (copy,),
            cost="reads and writes all rows",
        )
        return Part(words, tuple(statements), locks=self.alter_locks, are_one=True), copied

    def _again(self, index: Index, table: str, names: Mapping[str, str]) -> str:
        columns = [names.get(str(c), str(c)) for c in index.columns]
        return self.create_index(table, columns, like=index, name=index.name)

    def made_again(self, indexes: Sequence[Index]) -> list[str]:
        """Statements that create indexes again, by the names that the table and its columns have afterward."""
        return [self._again(index, self.table_name, self.renames) for index in indexes]

    def columns_added(self) -> Iterator[Part]:
        """Columns for what writers send from now on."""
        here, taken = self.place.here, list(self._columns)

        def add(name: str, kind: str, *, is_tag: bool = False) -> str:
            taken.append(found := free(name, taken, self.folds_case))
            return f"ALTER TABLE {self.altered_table()} ADD COLUMN {self.added_column(found, kind, is_tag=is_tag)};"

        for change in self.changes:
            if isinstance(change, MakeField) and change.tag in self.labels:
                short = self._short(change.tag)
                yield Part(f"Add {short} to {here.name}.", (add(short, self.text_type),), locks=self.alter_locks)
            elif isinstance(change, SplitColumn):
                names = [part.name for part in change.parts]
                statements = tuple(add(name, self.text_type, is_tag=change.is_tag) for name in names)
                yield Part(f"Add {_all(names)} to {here.name}.", statements, locks=self.alter_locks)
            elif isinstance(change, ChangeType) and change.column in self._columns and not self._retyped(change):
                name = f"{change.column}_{change.to}"
                statement = add(name, ENGINES[self.place.profile.engine].sql_types[change.to])
                others = listed([repr(value) for value in change.exceptions], _MOST_NAMES)
                why = f"{others} do not convert" if change.exceptions else "no statement converts them safely"
                yield Part(
                    f"Add {name} to {here.name}, {_TYPES[change.to]}, for the values from now on; those stored in "
                    f"{change.column} stay: {why}.",
                    (statement,),
                    locks=self.alter_locks,
                )

    def _retyped(self, change: ChangeType) -> Part | None:
        can = self.is_text(change.column) and not change.exceptions and not self.constraint_of(change.column)
        return self.retyped(change.column, change.to) if can and change.to not in ("time", "date") else None

    def columns_altered(self) -> Iterator[Part]:
        """Columns that get another type or name, and the table that gets another name."""
        typed = (c for c in self.changes if isinstance(c, ChangeType) and c.column in self._columns)
        parts = [part for part in (*map(self._retyped, typed), self.renamed()) if part is not None]
        if parts:
            statements = self.altered([one for part in parts for one in part.statements])
            locks = "; ".join(dict.fromkeys(filter(None, (part.locks for part in parts))))
            cost = "; ".join(dict.fromkeys(filter(None, (part.cost for part in parts))))
            loses = "; ".join(dict.fromkeys(filter(None, (part.loses for part in parts))))
            # What is required around them belongs to them.
            are_one = len(statements) > sum(len(part.statements) for part in parts)
            yield Part(" ".join(part.words for part in parts), tuple(statements), locks, cost, loses, are_one)

    def renamed(self) -> Part | None:
        """Columns and the table get their new names; None where none does."""
        here, table = self.place.here.name, self.place.table()
        if not self.renames and self.table_name == here:
            return None
        statements = []
        for old, new in self.renames.items():
            names = self.place.quoted([old]), self.place.quoted([new])
            statements.append(f"ALTER TABLE {table} RENAME COLUMN {names[0]} TO {names[1]};")
        pairs = [f"{old} to {new}" for old, new in self.renames.items()]
        if (new := self.table_name) != here:
            pairs.append(f"{here} to {new}")
            if new.casefold() == here.casefold() and self.folds_case:
                between = self.free_name(f"{new}_new")
                statements.append(f"ALTER TABLE {table} RENAME TO {self.place.quoted([between])};")
                table = self.place.table(between)
            statements.append(f"ALTER TABLE {table} RENAME TO {self.place.quoted([new])};")
        return Part(f"Rename {_all(pairs)}.", tuple(statements), locks=self.alter_locks)

    @cached_property
    def split_off(self) -> list[tuple[Part, Part]]:
        """Tables for columns that move, each with the copy."""
        return [self._moved(c) for c in self.changes if isinstance(c, SplitMeasurement)]

    def _moved(self, change: SplitMeasurement) -> tuple[Part, Part]:
        place, here = self.place, self.place.here
        columns = [c for c in change.columns if c in here.columns and c != here.time_column]
        stay = f"Rows stored until then keep {_all(columns)} in {here.name}.{self.expires()}"
        if self.labels:
            return Part(f"Create {change.name}, with the time and the labels."), Part(stay)
        name, types = self.free_name(change.name), types_of(here)
        demoted = {c.tag for c in self.changes if isinstance(c, MakeField)}
        split = {c.column: [part.name for part in c.parts] for c in self.changes if isinstance(c, SplitColumn)}
        gone = {*columns, *demoted, *(c.column for c in self.changes if isinstance(c, LeaveOut))}
        tags = [tag.key for tag in here.tags if tag.key not in gone]
        kept = [c for c in here.columns if c == here.time_column or c in tags]
        key = self.key_among(kept)
        made = {n: types.get(c, self.text_type) for c in (*kept, *columns) if c in types for n in split.get(c, [c])}
        words = f"Create {name} for {_all(columns)}, with the time and the columns that identify a row."
        ddl = self.table_ddl(name, made, [n for c in key for n in split.get(c, [c])], here)
        part = Part(words, (ddl,) if fits(ddl) else ())
        if split.keys() & set(kept):
            return part, Part(stay)
        if not self.is_unique(key) or (demoted and not self.place.effect.keeps_rows):
            unproven = "A copy could not be joined to them: nothing proves that the tags and the time identify a row."
            return part, Part(f"{stay} {unproven}")
        into = [place.quoted([c]) for c in (*kept, *columns)]
        selected = [place.quoted([self.renames.get(c, c)]) for c in (*kept, *columns)]
        filled = " OR ".join(f"{place.quoted([self.renames.get(c, c)])} IS NOT NULL" for c in columns)
        end = f"FROM {place.table(self.table_name)} WHERE {filled};"
        copy = insert(place.table(name), into, selected, end)
        return part, Part(
            f"Copy {_all(columns)} to {name}; they stay in {here.name} until you drop them there.",
            (copy,) if fits(copy) else (),
            cost="reads all rows",
        )

    def _added(self) -> Iterator[Part]:
        gone = {c.index for c in self.changes if isinstance(c, DropIndex)}
        there = [i for i in self.place.here.indexes or () if i.name not in gone and i.valid and not i.partial]
        added = [c for c in self.changes if isinstance(c, AddIndex)]
        added += [self._of_source(c) for c in self.changes if isinstance(c, MakeTag)]
        moved = {column for c in self.changes if isinstance(c, SplitMeasurement) for column in c.columns}
        for change in dict.fromkeys(added):
            is_there = any(i.columns[: len(change.columns)] == change.columns for i in there)
            if not is_there and not moved & set(change.columns) and not set(self.labels) & set(change.columns):
                yield self.added_index(change)

    def _of_source(self, change: MakeTag) -> AddIndex:
        """The index that finds the rows of one source."""
        time = self.place.here.time_column
        alone = self.indexes_one_column or not time or change.column == time
        return AddIndex(change.at, (change.column,) if alone else (change.column, str(time)))

    def merges(self) -> Iterator[Part]:
        """Tables that replace several."""
        for change in self.changes:
            if not isinstance(change, MergeMeasurements):
                continue
            merged = self._merged(change)
            if isinstance(merged, str):
                yield Part(f"Create {change.into}, with what the names say as columns: {merged}.")
                continue
            types = {**dict.fromkeys(merged.data, self.text_type), **merged.types}
            statement = self.table_ddl(merged.name, {c: types[c] for c in merged.columns}, merged.key, merged.first)
            words = f"Create {merged.name} for the rows of the {many(len(change.members), 'table')}."
            yield Part(words, (statement,) if fits(statement) else ())

    def _merged(self, change: MergeMeasurements) -> MergedTable | str:
        return merged_table(self.place, change, self.folds_case, self._relations)

    # --- Stored rows ------------------------------------------------------------------------------------------------

    def stored_parts(self) -> Iterator[Part]:
        """What becomes of rows that are stored already."""
        copies = dict.fromkeys(copy for _, copy in self._keys if copy is not None)
        yield from copies
        if not copies and any(isinstance(c, MakeField) for c in self.changes):
            yield Part("Stored rows stay as they are.")
        yield from self.parts_kept()
        yield from self.own_stored()

    def parts_kept(self) -> Iterator[Part]:
        """What becomes of columns that are replaced or no longer written, and of tables that are."""
        for change in self.changes:
            if isinstance(change, SplitColumn):
                yield Part(f"Rows stored until then keep {change.column} whole.{self.expires()}")
            elif isinstance(change, LeaveOut):
                yield from self._left_out(change)
            elif isinstance(change, ChangeType) and not self._retyped(change):
                yield Part(f"Rows stored until then keep their values in {change.column}.{self.expires()}")
            elif isinstance(change, MergeMeasurements):
                yield Part(
                    f"Rows stored until then stay in the {many(len(change.members), 'old table')}. Moving them takes "
                    "an INSERT ... SELECT for each table, with what its name says as columns."
                )
        yield from (copy for _, copy in self.split_off)

    def _left_out(self, change: LeaveOut) -> Iterator[Part]:
        table, name = self.table_name, self.renames.get(change.column, change.column)
        if change.column in self.labels:
            yield Part(f"Rows stored until then keep {change.column}.{self.expires()}")
        elif key := self.constraint_of(change.column):
            yield Part(f"Stored rows keep {name}: {key} needs it.")
        elif change.column in self._columns:
            drop = f"ALTER TABLE {self.place.table(table)} DROP COLUMN {self.place.quoted([name])};"
            indexes = [i.name for i in self.own_indexes if change.column in i.columns]
            first = [] if self.drops_its_indexes else [self.drop_index(index) for index in indexes]
            yield Part(
                f"Drop {name} from {table} once nothing reads it.",
                (*first, *self.altered([drop], without=(change.column,))),
                locks=self.alter_locks,
                loses=f"the values of {name}" + (f", and the indexes {_all(indexes)}" if indexes else ""),
                are_one=True,
            )

    # --- Whether it worked ------------------------------------------------------------------------------------------

    def _figures(self) -> Iterator[str]:
        """What to look at, and when: sentences."""
        if self.declared():
            yield ("Declare it in tsaudit.yaml: a SQL table does not declare tags, so the audit inferred them.")
        effect = self.place.effect
        if effect.series_after is not None and effect.series_now is not None:
            left = f"{'' if effect.is_exact else 'at most '}{number(effect.series_after)}"
            name = "" if self.place.measurement is None else f" of {self.table_name}"
            yield f"The next audit should count {left} series{name}; now there are {number(effect.series_now)}."
        if any(isinstance(c, DropIndex) for c in self.changes):
            yield f"Watch the slow queries for 7 days: {self.index_again}."
        if any(isinstance(c, AddIndex | MakeTag) for c in self.changes):
            yield self.index_used
        yield from self.own_figures()
        for change in self.changes:
            if isinstance(change, SplitMeasurement | MergeMeasurements):
                new = change.name if isinstance(change, SplitMeasurement) else change.into
                yield f"After 1 day, the audit should find all new rows in {new}."

    def declared(self) -> str:
        """The roles of columns, as tsaudit.yaml declares them; empty where the changes are about none."""
        lines = list[str]()
        for one in [self, *self.also][:_MOST_NAMES]:
            fields = [one.renames.get(c.tag, c.tag) for c in one.changes if isinstance(c, MakeField)]
            tags = [one.renames.get(c.column, c.column) for c in one.changes if isinstance(c, MakeTag)]
            roles = [f"    {role}: {_json(names)}" for role, names in (("fields", fields), ("tags", tags)) if names]
            lines += [f"  {_json(one.table_name)}:", *roles] if roles else []
        return "\n".join(["columns:", *lines]) if lines else ""


def is_complete(index: Index) -> bool:
    """Whether the profile contains its complete definition."""
    return not index.partial and None not in index.columns and not index.constraint


def _column_of(change: Change) -> str:
    """The column that the change is about; empty for a change of the table."""
    match change:
        case ChangeType(column=name) | LeaveOut(column=name) | SplitColumn(column=name) | MakeTag(column=name):
            return name
        case MakeField(tag=name) | Rename(old=name):
            return name
    return ""


def _all(names: Sequence[str]) -> str:
    return listed(names, _MOST_NAMES)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
