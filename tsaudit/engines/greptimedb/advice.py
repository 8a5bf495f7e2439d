"""How to make changes on GreptimeDB: with ALTER TABLE if possible, otherwise with a new table."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import UTC
from functools import cached_property
from typing import Final

from tsaudit.engines import writers
from tsaudit.engines.advice import Place, days_of
from tsaudit.engines.greptimedb.tables import (
    ENGINE,
    INDEX_KINDS,
    METRIC_OF_ROW,
    deduplicates,
    indexes_on,
    is_append_only,
    is_metric,
    option,
    primary_key,
    version,
)
from tsaudit.engines.quoting import quote_text
from tsaudit.engines.registry import ENGINES
from tsaudit.engines.sql.advice import SqlAdvice
from tsaudit.engines.sql.diagnostic_queries import DiagnosticQueries
from tsaudit.engines.sql.statements import Part, create_table, fits, insert, lines_of, types_of
from tsaudit.engines.writers import opentelemetry
from tsaudit.engines.writers.opentelemetry import Signal
from tsaudit.model.change import (
    AddIndex,
    Diagnose,
    DropIndex,
    DropRepeats,
    MakeField,
    MakeTag,
    SetKey,
    SetOption,
    SetRetention,
)
from tsaudit.model.plan import Step, StepKind
from tsaudit.model.profile import How, Measurement
from tsaudit.text import listed, many, number

_TERMS: Final = writers.Terms(row="row", measurement="table")
_FROM_1_0: Final = frozenset({("append_mode", "true"), ("sst_format", "flat"), ("sst_format", "primary_key")})
"""Options with their values that ALTER TABLE can set from version 1.0 on."""
_OF_LOGS: Final = frozenset(
    {"trace_id", "span_id", "severity_text", "severity_number", "body", "trace_flags"}
    | {"scope_name", "scope_version", "scope_schema_url", "resource_schema_url"}
)
"""Columns that the receiver creates for each log record; other tags are attributes that its header names."""
_MOST_NAMES: Final = 4
_EACH_ROW: Final = 0.5
"""If a key has at least this many values per row, it identifies rows, not sources."""


class GreptimeAdvice(SqlAdvice):
    """Tables declare their tags, time index, and options."""

    handles = SqlAdvice.handles | {DropRepeats, SetKey, SetOption, SetRetention}
    diagnostic_queries = DiagnosticQueries(
        recent=lambda place: f"{place.quoted([place.here.time_column or ''])} >= now() - INTERVAL '1 day'",
    )
    text_type = "STRING"
    index_again = "an index that is set again covers only files written from then on"
    index_used = "Queries that filter by the column should read fewer rows, once files are compacted."
    folds_case = False
    drops_its_indexes = True

    # --- Writers ----------------------------------------------------------------------------------------------------

    def writer(self) -> Step | None:
        if (of_metrics := self._of_metrics()) is not None:
            return of_metrics
        here = self.place.measurement
        is_of_metrics = here is not None and is_metric(here)
        usual = writers.Program.PROMETHEUS if is_of_metrics else writers.Program.APPLICATION
        found = writers.step(self, _TERMS, usual=usual, example=self.example())
        if found is None or here is None:
            return found
        if self._keeps_all_rows:
            words = writers.sentences(here, self.changes, _TERMS)
            setting = writers.setting(self.measurements, self.changes, usual, example=self.example())
            found = replace(found, words=" ".join([*words, setting.words if setting else ""]), loses="")
        return self._of_logs(found)

    def _of_metrics(self) -> Step | None:
        """The step for a physical table, whose metrics each have their own series; None for other tables."""
        if not any(isinstance(c, MakeField) and c.tag == METRIC_OF_ROW for c in self.changes):
            return None
        words = "Write only the metrics that somebody looks at: each has series of its own. If Prometheus writes them:"
        rule = "  - source_labels: [__name__]\n    regex: 'unused_metric_.*'\n    action: drop"
        return Step(StepKind.WRITER, words, f"write_relabel_configs:\n{rule}", "yaml")

    def _of_logs(self, found: Step) -> Step:
        """The step for OpenTelemetry's logs: the receiver turns the attributes that a header names into tags."""
        here, demoted = self.place.here, [c.tag for c in self.changes if isinstance(c, MakeField)]
        is_log = opentelemetry.signal_of(here) is Signal.LOG and "log_attributes" in here.columns
        if not demoted or not is_log:
            return found
        sentences = writers.sentences(here, self.changes, _TERMS)
        gone = [tag for tag in demoted if tag not in _OF_LOGS]
        if not gone:
            said = "A collector sends it with each log in any case: only the key of the table makes a tag of it."
            return replace(found, words=" ".join([*sentences, said]), text=self.example(), language="text")
        kept = [tag.key for tag in here.tags if tag.key not in (*gone, *_OF_LOGS)]
        header = f"X-Greptime-Log-Extract-Keys: {opentelemetry.scalar(','.join(kept))}"
        said = f"If an OpenTelemetry collector sends it, {listed(gone, _MOST_NAMES)} stays in log_attributes:"
        text = f"exporters:\n  otlphttp:\n    headers:\n      {header}"
        return replace(found, words=" ".join([*sentences, said]), text=text, language="yaml")

    def declared(self) -> str:
        return ""

    # --- The table afterward ----------------------------------------------------------------------------------------

    @cached_property
    def _new(self) -> NewTable:
        """What the table is like after the changes."""
        here = self.place.here
        gone = {c.tag for c in self.changes if isinstance(c, MakeField)}
        wanted = next((c.key for c in self.changes if isinstance(c, SetKey) and c.key is not None), None)
        key = [c for c in (primary_key(here) if wanted is None else wanted) if c not in gone]
        # In a table that keeps all rows anyway, an index is as good as a place in the key.
        added = [c.column for c in self.changes if isinstance(c, MakeTag) and not self._stays_append_only]
        key += [column for column in added if column not in key and column in here.columns]
        options = {c.option: c.value for c in self.changes if isinstance(c, SetOption)}
        if primary_key(here) and not self._stays_append_only and (not key or self._loses_ids(gone)):
            options |= APPEND_ONLY
        if options.get("append_mode") == "true":
            options |= APPEND_ONLY
        demoted = [c for c in self.changes if isinstance(c, MakeField) and c.to not in ("", "time")]
        times = (c.time for c in self.changes if isinstance(c, SetKey) and c.time)
        return NewTable(
            tuple(key),
            next(times, here.time_column),
            options,
            self.renames,
            {c.tag: c.to for c in demoted if self.is_text(c.tag)},
            self._indexes,
            not any(isinstance(c, SetKey) and c.partitions == 1 for c in self.changes),
            any(isinstance(c, DropRepeats) for c in self.changes),
        )

    def _loses_ids(self, gone: Set[str]) -> bool:
        """Whether the changes remove columns from the key that distinguish nearly every row: without them, rows that
        never overwrote each other would do so.
        """
        series, rows = self.place.here.series, self.place.here.rows
        is_each = (
            deduplicates(self.place.here)
            and series is not None
            and rows is not None
            and series.value >= _EACH_ROW * rows.value
        )
        return is_each and bool(gone & set(primary_key(self.place.here)))

    @cached_property
    def _is_replaced(self) -> bool:
        """Whether ALTER TABLE cannot make all the changes."""
        new, here = self._new, self.place.here
        if is_metric(here):
            return False
        is_same = (new.key, new.time) == (primary_key(here), here.time_column)
        joins = not new.is_partitioned and here.partitioning is not None
        return not is_same or joins or bool(new.names) or new.is_distinct or bool(self._fixed_options)

    @property
    def _fixed_options(self) -> dict[str, str]:
        """Options that change but cannot be set by ALTER TABLE."""
        changed = {k: v for k, v in self._new.options.items() if option(self.place.here, k) != v}
        alters = {k for k, v in changed.items() if self._alters(k, v)}
        if "append_mode" in alters:
            alters.add("merge_mode")  # It is set together with append_mode.
        return {k: v for k, v in changed.items() if k not in alters}

    def _alters(self, name: str, value: str) -> bool:
        known = version(self.place.profile)
        return name == "ttl" or ((name, value) in _FROM_1_0 and (not known or known >= (1, 0)))

    @cached_property
    def _stays_append_only(self) -> bool:
        wanted = [c.value for c in self.changes if isinstance(c, SetOption) and c.option == "append_mode"]
        return wanted[-1] == "true" if wanted else is_append_only(self.place.here)

    @property
    def _keeps_all_rows(self) -> bool:
        """Whether no row overwrites another one after the changes, whatever the key."""
        return self._new.options.get("append_mode", option(self.place.here, "append_mode")) == "true"

    @cached_property
    def _indexes(self) -> dict[str, frozenset[str]]:
        """For each column whose indexes change, the kinds of index that it then has."""
        here, found = self.place.here, dict[str, set[str]]()

        def of(column: str) -> set[str]:
            return found.setdefault(column, set(indexes_on(here, column)))

        for change in self.changes:
            if isinstance(change, DropIndex) and len(change.columns) == 1 and change.method in INDEX_KINDS:
                of(change.columns[0]).discard(change.method)
            elif isinstance(change, AddIndex) and len(change.columns) == 1:
                of(change.columns[0]).add(change.method or "inverted")
            elif isinstance(change, MakeTag) and self._stays_append_only and change.column in here.columns:
                of(change.column).add("inverted")
            elif isinstance(change, MakeField) and "inverted" in indexes_on(here, change.tag):
                # A skipping index also finds single values among many, with a fraction of the memory.
                of(change.tag).discard("inverted")
                of(change.tag).add("skipping")
        return {column: frozenset(kinds) for column, kinds in found.items()}

    # --- The schema -------------------------------------------------------------------------------------------------

    def schema_parts(self) -> Iterator[Part]:
        if self.place.measurement is None:
            yield from self.merges()
            return
        if is_metric(self.place.here):
            yield from self._by_hand()
        else:
            if self._is_replaced:
                yield self._replaced[0]
            else:
                yield from self._indexed()
            yield from self.columns_added()
            yield from self.columns_altered()
            yield from (part for part, _ in self.split_off)
        yield from self._options_set()

    def _by_hand(self) -> Iterator[Part]:
        if any(isinstance(c, SetKey) for c in self.changes):
            yield Part(
                "Create another physical table with other partitions, and name it where metrics are sent "
                "(physical_table=... in the address of remote_write)."
            )

    def _indexed(self) -> Iterator[Part]:
        alter = f"ALTER TABLE {self.place.table()} MODIFY COLUMN"
        for column, kinds in sorted(self._indexes.items()):
            now = set(indexes_on(self.place.here, column))
            for kind in sorted(kinds - now):
                yield Part(
                    f"Set {_a(kind)} index on {column}: it covers files written from then on, and others once they are "
                    "compacted.",
                    (f"{alter} {self.place.quoted([column])} SET {CLAUSES[kind]};",),
                )
            for kind in sorted(now - kinds):
                statement = f"{alter} {self.place.quoted([column])} UNSET {CLAUSES[kind]};"
                yield Part(f"Unset the {kind} index on {column}.", (statement,))

    def retyped(self, column: str, kind: str) -> Part | None:
        quoted, to = self.place.quoted([column]), ENGINES["greptimedb"].sql_types[kind]
        return Part(
            f"Convert {column} to {to}.",
            (f"ALTER TABLE {self.altered_table()} MODIFY COLUMN {quoted} {to};",),
            loses=f"values of {column} that do not convert: they read as NULL",
        )

    def altered_table(self) -> str:
        # At this point, a new table already has its final name.
        return self.place.table(self.table_name) if self._is_replaced else self.place.table()

    def added_column(self, column: str, kind: str, *, is_tag: bool) -> str:
        return f"{self.place.quoted([column])} {kind}{' PRIMARY KEY' if is_tag else ''}"

    def renamed(self) -> Part | None:
        """The statement that renames the table; None if its name does not change. Columns can only be renamed by
        creating a new table.
        """
        if self._is_replaced or self.table_name == self.place.here.name:
            return None
        statement = f"ALTER TABLE {self.place.table()} RENAME {self.place.quoted([self.table_name])};"
        return Part(f"Rename {self.place.here.name} to {self.table_name}.", (statement,))

    def _options_set(self) -> Iterator[Part]:
        """Parts that set options with ALTER TABLE; a new table is created with the right options."""
        name = self.table_name
        for change in self.changes:
            if isinstance(change, SetOption) and not self._is_replaced and self._alters(change.option, change.value):
                words = f"Set {change.option} to {change.value}. Files stay as they are until they are compacted."
                if change.option == "append_mode":
                    words = (
                        f"Make {name} append-only: it keeps all rows, also those that a sender repeats. This "
                        "cannot be undone, and DELETE is refused from then on."
                    )
                yield Part(words, (self._set(change.option, change.value),))
            elif isinstance(change, SetRetention):
                days = days_of(change)
                yield Part(
                    f"Set the TTL of {name} to {many(days, 'day')}, if nobody needs rows longer.",
                    (self._set("ttl", f"{days}d"),),
                    loses=f"all rows older than {many(days, 'day')}",
                )

    def _set(self, option: str, value: str) -> str:
        """A statement that changes one of the options that can be changed."""
        return f"ALTER TABLE {self.place.table(self.table_name)} SET {_set_to(option, value)};"

    # --- A new table ------------------------------------------------------------------------------------------------

    @cached_property
    def _replaced(self) -> tuple[Part, Part]:
        """The part that replaces the old table by a new one, and the part about the old table's rows."""
        place, here, new = self.place, self.place.here, self._new
        created, old = place.free(f"{here.name}_new"), place.free(f"{here.name}_old")
        words = " ".join(self._why())
        statements = (
            new.ddl(place, created),
            f"ALTER TABLE {place.table()} RENAME {place.quoted([old])};",
            f"ALTER TABLE {place.table(created)} RENAME {place.quoted([self.table_name])};",
        )
        expires = self.expires()
        if not fits(*statements, most=self.room):
            part = Part(
                f"{words} Start from the output of SHOW CREATE TABLE.", (f"SHOW CREATE TABLE {place.table()};",)
            )
            return part, Part(f"Rows stored until then stay in the old table.{expires}")
        part = Part(f"{words} Add the defaults and comments of SHOW CREATE TABLE.", statements, are_one=True)
        refused, loses = self._copy_loses()
        since = "" if self._keeps_all_rows else self._compared_since
        copy = new.copy(place, old, self.table_name, since)
        if not refused and not fits(copy, most=self.room - lines_of(*statements)):
            refused = "an INSERT ... SELECT that names all columns copies them"
        if refused:
            gone = f"for queries of {self.table_name}, all rows stored until then: they are in {old}"
            return part, Part(f"Rows stored until then stay in {old}: {refused}.{expires}", loses=gone)
        words = f"Copy the rows of {old}, then drop it."
        if since:
            words = f"Copy the rows that were compared, and newer ones; older ones stay in {old}.{expires}"
        return part, Part(
            f"{words} If the server would open too many files, copy a day at a time.",
            (copy,),
            cost="reads and writes all rows",
            loses=loses,
        )

    def _why(self) -> Iterator[str]:
        """What the new table is like, and why, in sentences."""
        here, new, now = self.place.here, self._new, primary_key(self.place.here)
        what = list[str]()
        if new.key != now:
            what.append(f"the key ({', '.join(new.names.get(c, c) for c in new.key)})" if new.key else "no key")
        if new.time != here.time_column:
            what.append(f"the time index {new.time}")
        what += [f"{name} {value}" for name, value in self._fixed_options.items() if value]
        if not new.is_partitioned and here.partitioning is not None:
            what.append("no partitions")
        if new.is_distinct:
            what.append("each row once")
        what += [f"{later} instead of {old}" for old, later in new.names.items()]
        yield f"Recreate {here.name} with {listed(what, _MOST_NAMES)}: no ALTER TABLE does this."
        if new.options.get("append_mode") == "true" and not is_append_only(here):
            yield "It is append-only: it keeps all rows, and DELETE is refused."

    def _copy_loses(self) -> tuple[str, str]:
        """Why rows are not copied, as part of a sentence, and what a copy loses; at least one of them is empty."""
        here, new = self.place.here, self._new
        if self._keeps_all_rows:
            seen = here.repeats
            repeated = f"{number(seen.identical)} of {number(seen.rows)} rows read" if seen else "count unknown"
            return "", f"rows that are equal to another one in all columns: {repeated}" if new.is_distinct else ""
        if new.time != here.time_column:
            return f"whether key and {new.time} identify a row was not measured", ""
        demoted = {c.tag for c in self.changes if isinstance(c, MakeField)}
        if dropped := sorted(set(primary_key(here)) - set(new.key) - demoted):
            return f"whether they are unique without {listed(dropped, _MOST_NAMES)} was not measured", ""
        if not self.place.effect.keeps_rows and not self._compared_since:
            lost = writers.loss(self.place.effect, "row")
            return (f"a copy loses {lost}" if lost else "a part of them was compared, which proves nothing"), ""
        if is_append_only(here):
            seen = here.repeats
            known = f"{number(seen.repeated)} of {number(seen.rows)} rows read" if seen else "count unknown"
            return "", f"rows that repeat key and time of another one: {known}"
        return "", ""

    @property
    def _compared_since(self) -> str:
        """A condition for the rows that are proven not to overwrite each other, if older rows were not compared;
        otherwise empty.
        """
        here, effect = self.place.here, self.place.effect
        found, rows = effect.loss, here.rows
        if effect.keeps_rows or found is None or found.rows or not found.is_exact or here.time_column is None:
            return ""
        if rows is None or rows.source.how is not How.EXACT or found.compared < rows.value:
            return ""
        window = here.own_window or self.place.profile.window
        return f"{self.place.quoted([here.time_column])} >= '{window.start.astimezone(UTC):%Y-%m-%d %H:%M:%S}'"

    def table_ddl(self, name: str, types: Mapping[str, str], key: Sequence[str], like: Measurement) -> str:
        # For a family, no single table is turned into the new one.
        new = NewTable((), None) if self.place.measurement is None else self._new
        kinds = {column: new.indexes.get(column, frozenset(indexes_on(like, column))) for column in types}
        return create(self.place, name, types, key, like.time_column, kinds, options_clause(like, new.options))

    def key_among(self, columns: Sequence[str]) -> tuple[str, ...]:
        return tuple(column for column in self._new.key if column in columns)

    def is_unique(self, key: Sequence[str]) -> bool:  # noqa: ARG002 -- its key identifies rows only if it deduplicates
        return deduplicates(self.place.here) or super().is_unique(())

    # --- Stored rows ------------------------------------------------------------------------------------------------

    def stored_parts(self) -> Iterator[Part]:
        if self.place.measurement is not None and self._is_replaced:
            yield self._replaced[1]
        if self.place.measurement is not None and is_metric(self.place.here):
            # The statements above change how long rows are kept, and nothing else.
            if not all(isinstance(c, Diagnose | SetOption | SetRetention) for c in self.changes):
                yield Part(f"Stored rows stay as they are.{self.expires()}")
            return
        yield from self.parts_kept()

    def own_figures(self) -> Iterator[str]:
        for change in self.changes:
            if isinstance(change, SetRetention):
                yield f"After 1 day, no row should be older than {many(days_of(change), 'day')}."


def _a(word: str) -> str:
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


# --- Statements -----------------------------------------------------------------------------------------------------


APPEND_ONLY: Final[Mapping[str, str]] = {"append_mode": "true", "merge_mode": ""}
"""Options of a table that keeps all rows: the server rejects a merge mode in combination with it."""
CLAUSES: Final = {"inverted": "INVERTED INDEX", "skipping": "SKIPPING INDEX", "fulltext": "FULLTEXT INDEX"}
_PLAIN: Final = re.compile(r"[a-z_][a-z0-9_]*")
_NOT_CARRIED: Final = frozenset({"engine", "sst_format"})
"""Options that a new table does not inherit: the engine of a table is not set by an option, and the format of new
files is best left to the server.
"""


def bounds_of(measurement: Measurement) -> list[str]:
    """The bounds of all partitions, in the order of their numbers; empty if one of them is not known."""
    cut = measurement.partitioning
    if cut is None or cut.count > len(cut.partitions):
        return []
    return [part.bounds for part in sorted(cut.partitions, key=lambda part: (len(part.name), part.name))]


def partitions_clause(place: Place, measurement: Measurement, renaming: Mapping[str, str]) -> str:
    """The PARTITION clause of the table as it is now; empty if there is none, or if the bounds that the server prints
    are not valid in a statement.
    """
    cut, bounds = measurement.partitioning, bounds_of(measurement)
    # The server prints names in the bounds without quotes, which is only valid for names that need no quotes.
    if cut is None or not bounds or not all(_PLAIN.fullmatch(c) and c not in renaming for c in cut.key):
        return ""
    rule = ",\n".join(f"  {bound}" for bound in bounds)
    return f" PARTITION ON COLUMNS ({place.quoted(cut.key)}) (\n{rule}\n)"


def _set_to(option: str, value: str) -> str:
    return f"{quote_text(ENGINE, option)}={quote_text(ENGINE, value)}"


def options_clause(measurement: Measurement, changed: Mapping[str, str]) -> str:
    """The WITH clause with the options of the table, including changed ones; empty if there are none."""
    options = {k: v for k, v in (measurement.options or {}).items() if k not in _NOT_CARRIED} | dict(changed)
    words = [_set_to(name, value) for name, value in sorted(options.items()) if value]
    return f" WITH ({', '.join(words)})" if words else ""


@dataclass(frozen=True, slots=True)
class NewTable:
    """A new table, described by the names that its columns have now."""

    key: tuple[str, ...]
    time: str | None
    options: Mapping[str, str] = field(default_factory=dict)
    """Options that change; an empty value for an option that is left out."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Current name to new name, for columns that are renamed."""
    types: Mapping[str, str] = field(default_factory=dict)
    """Former tag to its type, if its values are not text: `integer`, `float`, or `boolean`."""
    indexes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Column to the kinds of index on it, for columns whose indexes change."""
    is_partitioned: bool = True
    is_distinct: bool = False
    """Whether rows that are equal in all columns are copied only once."""

    def ddl(self, place: Place, name: str) -> str:
        """The statement that creates the table."""
        types = types_of(place.here) | {
            column: ENGINES["greptimedb"].sql_types[kind] for column, kind in self.types.items()
        }
        kinds = {c: self.indexes.get(c, frozenset(indexes_on(place.here, c))) for c in types}
        partitions = partitions_clause(place, place.here, self.names) if self.is_partitioned else ""
        return create(
            place,
            name,
            {self.names.get(c, c): kind for c, kind in types.items()},
            [self.names.get(c, c) for c in self.key],
            self.names.get(self.time or "", self.time),
            {self.names.get(c, c): found for c, found in kinds.items()},
            f"{partitions}{options_clause(place.here, self.options)}",
        )

    def copy(self, place: Place, old: str, new: str, where: str = "") -> str:
        """A statement that copies rows of `old` into `new`. It fails as a whole if a value does not fit the type of its
        column.
        """
        into, values = list[str](), list[str]()
        for column in types_of(place.here):
            quoted = place.quoted([column])
            value = (
                f"CAST({quoted} AS {ENGINES['greptimedb'].sql_types[self.types[column]]})"
                if column in self.types
                else quoted
            )
            if column == self.time and column != place.here.time_column and place.here.time_column:
                value = f"coalesce({quoted}, {place.quoted([place.here.time_column])})"
            into.append(place.quoted([self.names.get(column, column)]))
            values.append(value)
        distinct = " DISTINCT" if self.is_distinct else ""
        rows = f"FROM {place.table(old)}{f' WHERE {where}' if where else ''};"
        return insert(place.table(new), into, values, rows, distinct)


def create(
    place: Place,
    name: str,
    types: Mapping[str, str],
    key: Collection[str],
    time: str | None,
    kinds: Mapping[str, Collection[str]],
    end: str,
) -> str:
    """The CREATE TABLE statement. `types`: column to type. `kinds`: column to its kinds of index. `end`: the text after
    the columns.
    """
    lines = []
    for column, kind in types.items():
        # An index on the time index would be useless.
        clauses = [] if column == time else [CLAUSES[one] for one in sorted(kinds.get(column, ()))]
        null = ["NOT NULL"] if column == time else []
        lines.append(" ".join([place.quoted([column]), kind.upper(), *null, *clauses]))
    lines += [f"TIME INDEX ({place.quoted([time])})"] if time else []
    lines += [f"PRIMARY KEY ({place.quoted(key)})"] if key else []
    return create_table(place.table(name), lines, end)
