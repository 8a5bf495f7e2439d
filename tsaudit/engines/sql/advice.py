"""How changes are made on SQL databases, which do not declare tags: a subclass for each says what differs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from typing import ClassVar, Final

from tsaudit.engines import writers
from tsaudit.engines.advice import WRITTEN, Advice, free, no_longer_sent, together
from tsaudit.engines.quoting import Qualified
from tsaudit.engines.registry import ENGINES
from tsaudit.engines.sql.statements import (
    DiagnosticQueries,
    Part,
    copies_counted,
    copies_deleted,
    create_table,
    diagnostic_query,
    enumerated,
    fits,
    folded,
    joined,
)
from tsaudit.engines.sql.tables import (
    MergedTable,
    constraint_of,
    expires,
    holds_text,
    is_declared,
    merged_table,
    relations,
)
from tsaudit.model.change import (
    AddIndex,
    Change,
    ChangeType,
    Diagnose,
    DropIndex,
    DropRepeats,
    LeaveOut,
    MakeField,
    MakeTag,
    MergeMeasurements,
)
from tsaudit.model.plan import Step, StepKind
from tsaudit.model.profile import Measurement
from tsaudit.text import listed, many, number
from tsaudit.text.table_roles import CONFIGURED

TERMS: Final = writers.Terms(row="row", measurement="table", tag="column", field="column")
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
    handles = frozenset({*WRITTEN, AddIndex, Diagnose, DropIndex, DropRepeats})
    diagnostic_queries: ClassVar[DiagnosticQueries] = DiagnosticQueries()
    text_type: ClassVar[str] = "TEXT"
    folds_case: ClassVar[bool] = True
    """Whether names that differ in case only are one."""
    indexes_one_column: ClassVar[bool] = False
    """Whether queries use no index on several columns."""
    index_again: ClassVar[str] = "creating an index again reads all rows"
    index_used: ClassVar[str] = "EXPLAIN of a query that filters by its first column should show the new index at once."
    alter_locks: ClassVar[str] = ""
    """Who has to wait while a table is altered without being rewritten."""
    deletion_locks: ClassVar[str] = ""
    """Who has to wait while rows are deleted."""
    row_address: ClassVar[str] = "rowid"
    """What tells equal rows of a table apart: columns, separated by commas."""
    uncomparable: ClassVar[frozenset[str]] = frozenset()
    """Types of columns that have to be cast to text to be compared, in lower case."""

    # --- What differs between databases -----------------------------------------------------------------------------

    def retyped(self, column: str, kind: str) -> Part | None:  # noqa: ARG002 -- for subclasses
        """The statement that gives a text column another type, and fails if a value does not convert; None if the
        database has none.
        """
        return None

    def altered(self, statements: Sequence[str]) -> list[str]:
        """Statements that alter columns, with what the database requires before and after them."""
        return list(statements)

    def index_part(self, words: str, statements: Sequence[str], *, reads: bool) -> Part:
        """Indexes that are created, which reads all rows, or dropped."""
        return Part(words, tuple(statements), locks=self.alter_locks, cost="reads all rows" if reads else "")

    def drop_index(self, name: str) -> str:
        return f"DROP INDEX {self.place.quoted([Qualified(self.place.database, name)])};"

    def added_index(self, change: AddIndex) -> Part:
        """The index that is created."""
        name = self.place.here.name
        statement = self.create_index(name, change.columns, method=change.method)
        return self.index_part(f"Create an index on {_all(change.columns)} of {name}.", [statement], reads=True)

    def create_index(self, table: str, columns: Sequence[str], method: str = "") -> str:  # noqa: ARG002 -- for subclasses
        """Create an index."""
        own = self.place.quoted([self.free_name("_".join((table, *columns, "idx")))])
        quoted = [self.place.quoted([column]) for column in columns]
        return folded([f"CREATE INDEX {own}", f"ON {self.place.table(table)}", *enumerated(quoted, "(", ");")])

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

    def own_statements(self) -> Iterator[Part]:
        """Changes that only this database can make."""
        yield from ()

    def own_stored(self) -> Iterator[Part]:
        """What becomes of stored rows by those changes."""
        yield from ()

    def own_figures(self) -> Iterator[str]:
        """How to see that those changes worked."""
        yield from ()

    @property
    def order(self) -> Sequence[StepKind]:
        if self._repeats:
            # A unique index can only be created once the copies are gone, and some databases need it for ON CONFLICT.
            return (StepKind.FIND, StepKind.STORED, StepKind.SCHEMA, StepKind.WRITER, StepKind.VERIFY)
        # Writers need what is created for them.
        labels = [c for c in self.changes if isinstance(c, MakeField) and c.tag in self.labels]
        merges = [c for c in self.changes if isinstance(c, MergeMeasurements)]
        creates = self._typed_columns or labels or merges
        first = (StepKind.FIND, StepKind.SCHEMA) if creates else ()
        return (*first, *(kind for kind in StepKind if kind not in first))

    # --- The steps --------------------------------------------------------------------------------------------------

    def find(self) -> Step | None:
        for one in (*self.asked_for(), *self.new_values()):
            if (found := diagnostic_query(self.place, one, self.diagnostic_queries)) is not None:
                return together(StepKind.FIND, [found], "sql")
        for change in self._repeats:
            return joined(StepKind.FIND, [copies_counted(self.place, change, self.uncomparable)])
        return None

    def writer(self) -> Step | None:
        if self._repeats:
            return self._once()
        written = [c for c in self.changes if not isinstance(c, MakeTag)]
        found = writers.setting(self.measurements, written, example=self.example(), beside=self.place.beside)
        if found is None:
            return None
        if self._left_out and found.program is not writers.Program.APPLICATION:
            # A setting that makes a field of it would go on writing the column.
            gone = [
                LeaveOut(c.at, c.tag) if isinstance(c, MakeField) and c.tag in self._left_out else c for c in written
            ]
            found = writers.setting(self.measurements, gone, example=self.example(), beside=self.place.beside) or found
        fields = [c for c in written if isinstance(c, MakeField)]
        words = [*self._not_written(), *self._kept_as_columns([c.tag for c in fields if c.tag not in self._left_out])]
        words += [f"Write {old} to {new} instead." for old, new in self._typed_columns.items()]
        others = [self._into_new_column(c) for c in written if c not in fields]
        words += writers.sentences(self.place.measurement, others, TERMS)
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

    # --- The table --------------------------------------------------------------------------------------------------

    @cached_property
    def labels(self) -> dict[str, str]:
        """Tags that are one label of a column, to that column."""
        here = self.place.measurement
        return {} if here is None else {tag.key: tag.label_of for tag in here.tags if tag.label_of}

    def free_name(self, name: str) -> str:
        """The name, or if a table or an index has it, the name with a number at its end."""
        return free(name, relations(self.place), self.folds_case)

    @cached_property
    def _columns(self) -> tuple[str, ...]:
        return () if self.place.measurement is None else self.place.here.columns

    # --- Writers ----------------------------------------------------------------------------------------------------

    @cached_property
    def _left_out(self) -> list[str]:
        """The columns that somebody has declared as tags, and that make too many series: to declare them as fields
        would only hide that. A column of a key has to stay.
        """
        here = self.place.measurement
        declared = {tag.key for tag in (here.tags if here else ()) if tag.role_reason == CONFIGURED}
        tags = [c.tag for c in self.changes if isinstance(c, MakeField)] if declared else []
        return [tag for tag in tags if tag in declared - self.labels.keys() and not constraint_of(self.place.here, tag)]

    def _not_written(self) -> Iterator[str]:
        if self._left_out:
            yield (
                f"Leave {_all(self._left_out)} out of the rows of {self.place.here.name}, or write names there that "
                "are used again. Single values belong where they are looked up: in a log, or a table of their own."
            )

    def _kept_as_columns(self, tags: Sequence[str]) -> Iterator[str]:
        here = self.place.here.name if tags else ""
        labels, plain = ([t for t in tags if (t in self.labels) is chosen] for chosen in (True, False))
        if labels:
            short = [self._short(label) for label in labels]
            one = "a column of its own" if len(labels) == 1 else "columns of their own"
            yield f"Write {_all(short)} of {here} to {one}, not as {'a label' if len(labels) == 1 else 'labels'}."
        if plain:
            one = "a plain column" if len(plain) == 1 else "plain columns"
            also = [i.name for i in self.place.here.indexes or () if not i.constraint and set(i.columns) & set(plain)]
            key = f"its key (now also in {_all(also)})" if also else "its key"
            yield f"Keep {_all(plain)} as {one} of {here}, in no index except {key}: many values do no harm there."

    @cached_property
    def _typed_columns(self) -> dict[str, str]:
        """Columns that no statement can give another type, each to the new column for the values from now on."""
        taken, found = list(self._columns), dict[str, str]()
        for change in self.changes:
            if isinstance(change, ChangeType) and change.column in self._columns and not self._retyped(change):
                found[change.column] = free(f"{change.column}_{change.to}", taken, self.folds_case)
                taken.append(found[change.column])
        return found

    def _into_new_column(self, change: Change) -> Change:
        """The change as writers make it: into the column that is added for it, if there is one."""
        if isinstance(change, ChangeType) and (new := self._typed_columns.get(change.column)):
            return replace(change, column=new)
        return change

    def _short(self, label: str) -> str:
        return label.removeprefix(f"{self.labels[label]}.")

    def example(self) -> str:
        """What an application sends from now on: the time, then the columns that change, then the others. Empty if only
        the values change, which no such statement shows.
        """
        if self.place.measurement is None:
            merges = [c for c in self.changes if isinstance(c, MergeMeasurements)]
            merged = self._merged(merges[0]) if merges else ""
            return "" if isinstance(merged, str) else self._insert(merged.name, list(merged.columns))
        if all(isinstance(c, ChangeType) for c in self.changes) and not self._typed_columns:
            return ""
        gone = {*no_longer_sent(self.changes), *self._left_out}
        new = [self._short(c.tag) for c in self.changes if isinstance(c, MakeField) and c.tag in self.labels]
        changed = {_column_of(self._into_new_column(c)) for c in self.changes}
        written = [self._typed_columns.get(column, column) for column in self._columns if column not in gone]
        time = [column for column in written if column == self.place.here.time_column]
        rest = sorted((column for column in written if column not in time), key=lambda name: name not in changed)
        return self._insert(self.place.here.name, [*time, *new, *rest])

    def _insert(self, table: str, columns: Sequence[str]) -> str:
        """An example, with the first columns if there are many."""
        shown = [self.place.quoted([c]) for c in columns[:_MOST_COLUMNS]]
        shown += ["..."] if len(columns) > _MOST_COLUMNS else []
        return folded([f"INSERT INTO {self.place.table(table)}", *enumerated(shown, "(", ")"), "VALUES (...);"])

    # --- The schema -------------------------------------------------------------------------------------------------

    def schema_parts(self) -> Iterator[Part]:
        """What changes the schema, in the order in which it is run."""
        if self.place.measurement is not None:
            yield from self._dropped()
            yield from self.columns_added()
            yield from self.columns_altered()
            yield from self._added()
            yield from self._unique()
        yield from self.merges()
        yield from self.own_statements()

    def _dropped(self) -> Iterator[Part]:
        known = {i.name for i in self.place.here.indexes or () if not i.constraint}
        gone = [c.index for c in self.changes if isinstance(c, DropIndex) and c.index in known]
        if gone:
            indexes = f"the index {gone[0]}" if len(gone) == 1 else f"the indexes {_all(gone)}"
            words = f"Drop {indexes} of {self.place.here.name}."
            yield self.index_part(words, [self.drop_index(name) for name in gone], reads=False)

    def columns_added(self) -> Iterator[Part]:
        """Columns for what writers send from now on."""
        here, taken = self.place.here, list(self._columns)

        def add(name: str, kind: str) -> str:
            taken.append(found := free(name, taken, self.folds_case))
            return f"ALTER TABLE {self.place.table()} ADD COLUMN {self.place.quoted([found])} {kind};"

        for change in self.changes:
            if isinstance(change, MakeField) and change.tag in self.labels:
                short = self._short(change.tag)
                yield Part(f"Add {short} to {here.name}.", (add(short, self.text_type),), locks=self.alter_locks)
            elif isinstance(change, ChangeType) and (name := self._typed_columns.get(change.column)):
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
        here, name = self.place.here, change.column
        can = holds_text(here, name) and not change.exceptions and not constraint_of(here, name)
        return self.retyped(change.column, change.to) if can and change.to not in ("time", "date") else None

    def columns_altered(self) -> Iterator[Part]:
        """Columns that get another type."""
        typed = (c for c in self.changes if isinstance(c, ChangeType) and c.column in self._columns)
        parts = [part for part in map(self._retyped, typed) if part is not None]
        if parts:
            statements = self.altered([one for part in parts for one in part.statements])
            # What is required around them belongs to them.
            are_one = len(statements) > sum(len(part.statements) for part in parts)
            words, first = " ".join(part.words for part in parts), parts[0]
            loses = "; ".join(filter(None, (part.loses for part in parts)))
            yield Part(words, tuple(statements), first.locks, first.cost, loses, are_one)

    def _added(self) -> Iterator[Part]:
        gone = {c.index for c in self.changes if isinstance(c, DropIndex)}
        there = [i for i in self.place.here.indexes or () if i.name not in gone and i.valid and not i.partial]
        added = [c for c in self.changes if isinstance(c, AddIndex)]
        added += [self._of_source(c) for c in self.changes if isinstance(c, MakeTag)]
        for change in dict.fromkeys(added):
            is_there = any(i.columns[: len(change.columns)] == change.columns for i in there)
            if not is_there and not set(self.labels) & set(change.columns):
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
        return merged_table(self.place, change, folds_case=self.folds_case)

    # --- Stored rows ------------------------------------------------------------------------------------------------

    def stored_parts(self) -> Iterator[Part]:
        """What becomes of rows that are stored already."""
        if any(isinstance(c, MakeField) and c.tag not in self._left_out for c in self.changes):
            yield Part("Stored rows stay as they are.")
        yield from self.parts_kept()
        for change in self._repeats:
            part = copies_deleted(self.place, change, self.uncomparable, self.row_address)
            yield replace(part, locks=self.deletion_locks)
        if any(isinstance(c, Diagnose) and c.what == "growth" for c in self.changes):
            yield self.room()
        yield from self.own_stored()

    def parts_kept(self) -> Iterator[Part]:
        """What becomes of columns that are replaced or no longer written, and of tables that are."""
        for column in self._left_out:
            yield Part(f"Rows stored until then keep their values in {column}.{expires(self.place.here)}")
        for change in self.changes:
            if isinstance(change, LeaveOut) or (isinstance(change, ChangeType) and not self._retyped(change)):
                yield Part(f"Rows stored until then keep their values in {change.column}.{expires(self.place.here)}")
            elif isinstance(change, MergeMeasurements):
                yield Part(
                    f"Rows stored until then stay in the {many(len(change.members), 'old table')}. Moving them takes "
                    "an INSERT ... SELECT for each table, with what its name says as columns."
                )

    def room(self) -> Part:
        """How rows that are no longer needed give their room back."""
        return Part(
            f"Delete the rows of {self.place.here.name} that nobody needs any longer, by a job each day, oldest first."
        )

    # --- Copies of rows ----------------------------------------------------------------------------------------------

    @cached_property
    def _repeats(self) -> list[DropRepeats]:
        """Of tables with a known key."""
        return [c for c in self.changes if isinstance(c, DropRepeats) and c.key]

    def _unique(self) -> Iterator[Part]:
        for change in self._repeats:
            if not change.identifies_rows:
                continue
            name, columns = self.place.here.name, change.key
            statement = self.create_index(name, columns).replace("CREATE INDEX", "CREATE UNIQUE INDEX", 1)
            words = f"Create a unique index on {_all(columns)} of {name}."
            again = "If it fails, copies came since: delete them again."
            yield self.index_part(f"{words} {again}", [statement], reads=True)

    def _once(self) -> Step:
        text = self.example().removesuffix(";") + "\nON CONFLICT DO NOTHING;"
        words = "Let writers ignore rows that are there, and find out why they send some again, as after a timeout or"
        if all(change.identifies_rows for change in self._repeats):
            return Step(StepKind.WRITER, f"{words} a restart.", text, "text")
        key = "That takes a unique key of what identifies a row, which only they know, and ON CONFLICT DO NOTHING."
        return Step(StepKind.WRITER, f"{words} a restart. {key}")

    # --- Whether it worked ------------------------------------------------------------------------------------------

    def _figures(self) -> Iterator[str]:
        """What to look at, and when: sentences."""
        for here, roles in self.roles():
            moved = listed([f"{_all(names)} to `{role}`" for role, names in roles.items()])
            if is_declared(here):
                yield f"In tsaudit.yaml, move {moved} in the line of {here.name} below `columns:`."
        if self.declared():
            yield "Declare it in tsaudit.yaml, because a SQL table does not declare tags."
        effect = self.place.effect
        if effect.series_after is not None and effect.series_now is not None:
            left = f"{'' if effect.is_exact else 'at most '}{number(effect.series_after)}"
            name = "" if self.place.measurement is None else f" of {self.place.here.name}"
            now = f"now there are {number(effect.series_now)}"
            if self._left_out:
                window = self.place.here.own_window or self.place.profile.window
                days = many(math.ceil((window.end - window.start) / timedelta(days=1)), "day")
                yield f"The next audits should find no new value of {_all(self._left_out)}."
                yield f"In {days}, when older rows have left the window, {left} series{name} are left; {now}."
            else:
                yield f"The next audit should count {left} series{name}; {now}."
        dropped = {change.index for change in self.changes if isinstance(change, DropIndex)}
        # No query could use one that is not valid.
        if dropped and any(index.name in dropped and index.valid for index in self.place.here.indexes or ()):
            yield f"Watch the slow queries for 7 days: {self.index_again}."
        if any(isinstance(c, AddIndex | MakeTag) for c in self.changes):
            yield self.index_used
        if self._repeats:
            yield "The statement of the first step should find nothing, now and after 1 day."
        yield from self.own_figures()
        for change in self.changes:
            if isinstance(change, MergeMeasurements):
                yield f"After 1 day, the audit should find all new rows in {change.into}."

    def declared(self) -> str:
        """The roles of columns of tables without a line in tsaudit.yaml, as lines of it; empty if there are none."""
        lines = list[str]()
        for here, roles in self.roles():
            if not is_declared(here):
                lines += [f"  {_json(here.name)}:", *(f"    {role}: {_json(names)}" for role, names in roles.items())]
        return "\n".join(["columns:", *lines]) if lines else ""

    def roles(self) -> Iterator[tuple[Measurement, dict[str, list[str]]]]:
        """Tables with the columns whose role changes, by the role: `fields` or `tags`."""
        for one in [self, *self.also][:_MOST_NAMES]:
            fields = [c.tag for c in one.changes if isinstance(c, MakeField) and c.tag not in one._left_out]
            tags = [c.column for c in one.changes if isinstance(c, MakeTag)]
            if roles := {role: names for role, names in (("fields", fields), ("tags", tags)) if names}:
                yield one.place.here, roles


def _column_of(change: Change) -> str:
    """The column that the change is about; empty for a change of the table."""
    match change:
        case ChangeType(column=name) | MakeTag(column=name) | MakeField(tag=name):
            return name
    return ""


def _all(names: Sequence[str]) -> str:
    return listed(names, _MOST_NAMES)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
