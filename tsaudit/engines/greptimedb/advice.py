"""How to make changes on GreptimeDB: with ALTER TABLE if possible, otherwise with a new table."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

from tsaudit.engines import writers
from tsaudit.engines.advice import Place, days_of
from tsaudit.engines.greptimedb import tables
from tsaudit.engines.quoting import Language
from tsaudit.engines.registry import ENGINES
from tsaudit.engines.sql.advice import SqlAdvice
from tsaudit.engines.sql.statements import MOST_OF_PLAN, DiagnosticQueries, Part, create_table, fits, lines_of
from tsaudit.engines.sql.tables import expires, holds_text, types_of
from tsaudit.engines.writers import opentelemetry
from tsaudit.engines.writers.opentelemetry import Signal
from tsaudit.model.change import (
    AddIndex,
    Diagnose,
    DropIndex,
    DropPartitions,
    DropRepeats,
    MakeField,
    MakeTag,
    SetOption,
    SetRetention,
)
from tsaudit.model.plan import Step, StepKind
from tsaudit.model.profile import Measurement
from tsaudit.text import listed, many

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

    handles = SqlAdvice.handles | {DropPartitions, DropRepeats, SetOption, SetRetention}
    diagnostic_queries = DiagnosticQueries(
        recent=lambda place: f"{place.quoted([place.here.time_column or ''])} >= now() - INTERVAL '1 day'",
    )
    text_type = "STRING"
    index_again = "an index that is set again covers only files written from then on"
    index_used = "Queries that filter by the column should read fewer rows, once files are compacted."
    folds_case = False

    # --- Writers ----------------------------------------------------------------------------------------------------

    def writer(self) -> Step | None:
        found = self._of_metrics() or self._of_rows()
        if not any(isinstance(change, DropRepeats) for change in self.changes):
            return found
        again = "otherwise it repeats rows again, as after a timeout, or a restart that forgets what it has sent."
        once = f"First have the sender write each row once: {again}"
        return replace(found, words=f"{once} {found.words}") if found else Step(StepKind.WRITER, once)

    def _of_rows(self) -> Step | None:
        here = self.place.measurement
        is_of_metrics = here is not None and tables.is_metric(here)
        usual = writers.Program.PROMETHEUS if is_of_metrics else writers.Program.APPLICATION
        found = writers.step(self, _TERMS, usual=usual, example=self.example())
        if found is None or here is None:
            return found
        if self._keeps_all_rows:
            words = writers.sentences(here, self.changes, _TERMS)
            setting = writers.setting(
                self.measurements, self.changes, usual, example=self.example(), beside=self.place.beside
            )
            found = replace(found, words=" ".join([*words, setting.words if setting else ""]), loses="")
        return self._of_logs(found)

    def _of_metrics(self) -> Step | None:
        """The step for a physical table, whose metrics each have their own series; None for other tables."""
        if not any(isinstance(c, MakeField) and c.tag == tables.METRIC_OF_ROW for c in self.changes):
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

    def roles(self) -> Iterator[tuple[Measurement, dict[str, list[str]]]]:
        yield from ()

    # --- The table afterward ----------------------------------------------------------------------------------------

    @cached_property
    def _key(self) -> tuple[str, ...]:
        """The primary key after the changes."""
        here, gone = self.place.here, self._demoted
        kept = [column for column in tables.primary_key(here) if column not in gone]
        # In a table that keeps all rows anyway, an index is as good as a place in the key.
        added = [c.column for c in self.changes if isinstance(c, MakeTag) and not self._stays_append_only]
        return (*kept, *(column for column in added if column not in kept and column in here.columns))

    @cached_property
    def _options(self) -> dict[str, str]:
        """Options that change; an empty value for one that is left out."""
        options = {c.option: c.value for c in self.changes if isinstance(c, SetOption)}
        has_key = bool(tables.primary_key(self.place.here)) and not self._stays_append_only
        if options.get("append_mode") == "true" or (has_key and (not self._key or self._loses_ids)):
            options |= APPEND_ONLY
        return options

    @property
    def _demoted(self) -> set[str]:
        """The tags that become fields."""
        return {change.tag for change in self.changes if isinstance(change, MakeField)}

    @property
    def _loses_partitions(self) -> bool:
        is_cut = self.place.here.partitioning is not None
        return is_cut and any(isinstance(change, DropPartitions) for change in self.changes)

    @property
    def _loses_ids(self) -> bool:
        """Whether the changes remove columns from the key that distinguish nearly every row: without them, rows that
        never overwrote each other would do so.
        """
        series, rows = self.place.here.series, self.place.here.rows
        is_each = (
            tables.deduplicates(self.place.here)
            and series is not None
            and rows is not None
            and series.value >= _EACH_ROW * rows.value
        )
        return is_each and bool(self._demoted & set(tables.primary_key(self.place.here)))

    @cached_property
    def _is_replaced(self) -> bool:
        """Whether ALTER TABLE cannot make all the changes."""
        here = self.place.here
        if tables.is_metric(here):
            return False
        return self._key != tables.primary_key(here) or self._loses_partitions or bool(self._fixed_options)

    @property
    def _fixed_options(self) -> dict[str, str]:
        """Options that change but cannot be set by ALTER TABLE."""
        changed = {k: v for k, v in self._options.items() if tables.option(self.place.here, k) != v}
        alters = {k for k, v in changed.items() if self._alters(k, v)}
        if "append_mode" in alters:
            alters.add("merge_mode")  # It is set together with append_mode.
        return {k: v for k, v in changed.items() if k not in alters}

    def _alters(self, name: str, value: str) -> bool:
        known = tables.version(self.place.profile)
        return name == "ttl" or ((name, value) in _FROM_1_0 and (not known or known >= (1, 0)))

    @cached_property
    def _stays_append_only(self) -> bool:
        wanted = [c.value for c in self.changes if isinstance(c, SetOption) and c.option == "append_mode"]
        return wanted[-1] == "true" if wanted else tables.is_append_only(self.place.here)

    @property
    def _keeps_all_rows(self) -> bool:
        """Whether no row overwrites another one after the changes, whatever the key."""
        return self._options.get("append_mode", tables.option(self.place.here, "append_mode")) == "true"

    @cached_property
    def _indexes(self) -> dict[str, frozenset[str]]:
        """For each column whose indexes change, the kinds of index that it then has."""
        here, found = self.place.here, dict[str, set[str]]()

        def of(column: str) -> set[str]:
            return found.setdefault(column, set(tables.indexes_on(here, column)))

        for change in self.changes:
            if isinstance(change, DropIndex) and len(change.columns) == 1 and change.method in tables.INDEX_KINDS:
                of(change.columns[0]).discard(change.method)
            elif isinstance(change, AddIndex) and len(change.columns) == 1:
                of(change.columns[0]).add(change.method or "inverted")
            elif isinstance(change, MakeTag) and self._stays_append_only and change.column in here.columns:
                of(change.column).add("inverted")
            elif isinstance(change, MakeField) and "inverted" in tables.indexes_on(here, change.tag):
                # A skipping index also finds single values among many, with a fraction of the memory.
                of(change.tag).discard("inverted")
                of(change.tag).add("skipping")
        return {column: frozenset(kinds) for column, kinds in found.items()}

    # --- The schema -------------------------------------------------------------------------------------------------

    def schema_parts(self) -> Iterator[Part]:
        if self.place.measurement is None:
            yield from self.merges()
            return
        if tables.is_metric(self.place.here):
            yield from self._by_hand()
        else:
            if self._is_replaced:
                yield self._replaced[0]
            else:
                yield from self._indexed()
            yield from self.columns_added()
            yield from self.columns_altered()
        yield from self._options_set()

    def _by_hand(self) -> Iterator[Part]:
        if any(isinstance(c, DropPartitions) for c in self.changes):
            yield Part(
                "Create another physical table with other partitions, and name it where metrics are sent "
                "(physical_table=... in the address of remote_write)."
            )

    def _indexed(self) -> Iterator[Part]:
        alter = f"ALTER TABLE {self.place.table()} MODIFY COLUMN"
        for column, kinds in sorted(self._indexes.items()):
            now = set(tables.indexes_on(self.place.here, column))
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
            (f"ALTER TABLE {self.place.table()} MODIFY COLUMN {quoted} {to};",),
            loses=f"values of {column} that do not convert: they read as NULL",
        )

    def _options_set(self) -> Iterator[Part]:
        """Parts that set options with ALTER TABLE; a new table is created with the right options."""
        name = self.place.here.name
        for change in self.changes:
            if isinstance(change, SetOption) and not self._is_replaced and self._alters(change.option, change.value):
                words = f"Set {change.option} to {change.value}. Files stay as they are until they are compacted."
                if change.option == "append_mode":
                    words = (
                        f"Make {name} append-only, which cannot be undone: it keeps all rows, also those that a "
                        "sender repeats, and refuses every DELETE."
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
        return f"ALTER TABLE {self.place.table()} SET {_set_to(option, value)};"

    # --- A new table ------------------------------------------------------------------------------------------------

    @cached_property
    def _replaced(self) -> tuple[Part, Part]:
        """The part that replaces the old table by a new one, and the part about the old table's rows."""
        place, here = self.place, self.place.here
        created, old = place.free(f"{here.name}_new"), place.free(f"{here.name}_old")
        words = " ".join(self._why())
        statements = (
            self._ddl(created),
            f"ALTER TABLE {place.table()} RENAME {place.quoted([old])};",
            f"ALTER TABLE {place.table(created)} RENAME {place.quoted([here.name])};",
        )
        if not fits(*statements, most=self._room):
            part = Part(
                f"{words} Start from the output of SHOW CREATE TABLE.", (f"SHOW CREATE TABLE {place.table()};",)
            )
            return part, Part(f"Rows stored until then stay in the old table.{self._moving()}{expires(here)}")
        part = Part(f"{words} Add the defaults and comments of SHOW CREATE TABLE.", statements, are_one=True)
        gone = f"for queries of {here.name}, all rows stored until then: they are in {old}"
        return part, Part(f"Rows stored until then stay in {old}.{self._moving()}{expires(here)}", loses=gone)

    @property
    def _room(self) -> int:
        """Lines that are left for the statements of a new table."""
        others = [step.text for step in (self.find(), self.writer()) if step is not None]
        return MOST_OF_PLAN - lines_of(*others, self.declared())

    def _moving(self) -> str:
        """What it takes to have the stored rows in the new table, as a sentence."""
        lost = "" if self._keeps_all_rows else writers.loss(self.place.effect, "row")
        after = "" if self._keeps_all_rows else "; of rows with one key and time in the new table, one is left"
        if lost:
            after = f", which would lose {lost}"
        return f" Moving them takes an INSERT ... SELECT, a day at a time{after}."

    def _why(self) -> Iterator[str]:
        """What the new table is like, and why, in sentences."""
        here, what = self.place.here, list[str]()
        if self._key != tables.primary_key(here):
            what.append(f"the key ({', '.join(self._key)})" if self._key else "no key")
        what += [f"{name} {value}" for name, value in self._fixed_options.items() if value]
        if self._loses_partitions:
            what.append("no partitions")
        yield f"Recreate {here.name} with {listed(what, _MOST_NAMES)}: no ALTER TABLE does this."
        if self._options.get("append_mode") == "true" and not tables.is_append_only(here):
            yield "It is append-only: it keeps all rows, and DELETE is refused."

    def _ddl(self, name: str) -> str:
        """The statement that creates the new table."""
        here, sql_types = self.place.here, ENGINES["greptimedb"].sql_types
        demoted = [c for c in self.changes if isinstance(c, MakeField) and c.to not in ("", "time")]
        types = types_of(here) | {c.tag: sql_types[c.to] for c in demoted if holds_text(here, c.tag)}
        kinds = {c: self._indexes.get(c, frozenset(tables.indexes_on(here, c))) for c in types}
        partitions = "" if self._loses_partitions else partitions_clause(self.place, here)
        end = f"{partitions}{options_clause(here, self._options)}"
        return create(self.place, name, types, self._key, here.time_column, kinds, end)

    def table_ddl(self, name: str, types: Mapping[str, str], key: Sequence[str], like: Measurement) -> str:
        kinds = {column: tables.indexes_on(like, column) for column in types}
        return create(self.place, name, types, key, like.time_column, kinds, options_clause(like, {}))

    # --- Stored rows ------------------------------------------------------------------------------------------------

    def stored_parts(self) -> Iterator[Part]:
        if self.place.measurement is not None and self._is_replaced:
            yield self._replaced[1]
        for change in self.changes:
            if isinstance(change, DropRepeats):
                words = f"Copy each row of {self.place.here.name} once, with SELECT DISTINCT, to a new table like it."
                yield Part(words, loses=f"rows that equal another one in all columns: {change.found}")
        if self.place.measurement is not None and tables.is_metric(self.place.here):
            # The statements above change how long rows are kept, and nothing else.
            if not all(isinstance(c, Diagnose | SetOption | SetRetention) for c in self.changes):
                yield Part(f"Stored rows stay as they are.{expires(self.place.here)}")
            return
        yield from self.parts_kept()

    def own_figures(self) -> Iterator[str]:
        for change in self.changes:
            if isinstance(change, SetRetention):
                yield f"After 1 day, no row should be older than {many(days_of(change), 'day')}."


def _a(word: str) -> str:
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


APPEND_ONLY: Final[Mapping[str, str]] = {"append_mode": "true", "merge_mode": ""}
"""Options of a table that keeps all rows: the server rejects a merge mode in combination with it."""
CLAUSES: Final = {"inverted": "INVERTED INDEX", "skipping": "SKIPPING INDEX", "fulltext": "FULLTEXT INDEX"}
_PLAIN: Final = re.compile(r"[a-z_][a-z0-9_]*")
_NOT_CARRIED: Final = frozenset({"engine", "sst_format"})
"""Options that a new table does not inherit: the engine is no option, and the server chooses the file format."""


def partitions_clause(place: Place, measurement: Measurement) -> str:
    """The PARTITION clause of the table as it is now; empty without one, or with bounds that are invalid as printed."""
    cut = measurement.partitioning
    # The server prints names in the bounds without quotes, which is only valid for names that need no quotes.
    if cut is None or not cut.partitions or cut.count > len(cut.partitions) or not all(map(_PLAIN.fullmatch, cut.key)):
        return ""
    in_order = sorted(cut.partitions, key=lambda part: (len(part.name), part.name))
    rule = ",\n".join(f"  {part.bounds}" for part in in_order)
    return f" PARTITION ON COLUMNS ({place.quoted(cut.key)}) (\n{rule}\n)"


def _set_to(option: str, value: str) -> str:
    return f"{Language.SQL.string(option)}={Language.SQL.string(value)}"


def options_clause(measurement: Measurement, changed: Mapping[str, str]) -> str:
    """The WITH clause with the options of the table, including changed ones; empty if there are none."""
    options = {k: v for k, v in (measurement.options or {}).items() if k not in _NOT_CARRIED} | dict(changed)
    words = [_set_to(name, value) for name, value in sorted(options.items()) if value]
    return f" WITH ({', '.join(words)})" if words else ""


def create(
    place: Place,
    name: str,
    types: Mapping[str, str],
    key: Collection[str],
    time: str | None,
    kinds: Mapping[str, Collection[str]],
    end: str,
) -> str:
    """The CREATE TABLE statement. `types`: column to type. `kinds`: column to kinds of index. `end`: what follows."""
    lines = []
    for column, kind in types.items():
        # An index on the time index would be useless.
        clauses = [] if column == time else [CLAUSES[one] for one in sorted(kinds.get(column, ()))]
        null = ["NOT NULL"] if column == time else []
        lines.append(" ".join([place.quoted([column]), kind.upper(), *null, *clauses]))
    lines += [f"TIME INDEX ({place.quoted([time])})"] if time else []
    lines += [f"PRIMARY KEY ({place.quoted(key)})"] if key else []
    return create_table(place.table(name), lines, end)
