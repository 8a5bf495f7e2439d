"""How Timestream's users make the changes of a plan: writers send different records, to a new table if necessary.

No statement changes a stored record or the role of a column, a dimension and a measure of one table cannot share a
name, and the partition key is set when the table is created.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from tsaudit.engines.advice import WRITTEN, Advice, Piece, no_longer_sent, together
from tsaudit.engines.registry import ENGINES
from tsaudit.engines.sql import statements
from tsaudit.engines.sql.statements import DiagnosticQueries
from tsaudit.engines.timestream import tables
from tsaudit.engines.writers import Program, Terms, step
from tsaudit.model.change import (
    ChangeType,
    Diagnose,
    LeaveOut,
    MakeField,
    MakeTag,
    MergeMeasurements,
    Rename,
    SetRetention,
    SplitColumn,
)
from tsaudit.model.plan import Step, StepKind
from tsaudit.text import day, listed, many

DIAGNOSTIC_QUERIES: Final = DiagnosticQueries(
    recent=lambda place: f"{place.quoted([place.here.time_column or ''])} >= ago(1d)",
    columns=lambda place: f"DESCRIBE {place.table()}",
    tables=lambda place: f"SHOW TABLES FROM {place.quoted([place.database])}",
    end="",
)


_MOST_MEASURES: Final = 256
"""Maximum number of measures in one record:
https://docs.aws.amazon.com/timestream/latest/developerguide/ts-limits.html
"""
_MOST_QUERIES: Final = 3
_MOST_COMMANDS: Final = 3
_SHOWN: Final = 4
"""Number of dimensions, or measures, shown in an example."""
_SOON: Final = timedelta(days=3 * 366)
"""Records that expire within this time can be left where they are."""
_ONE_DAY: Final = timedelta(days=1)
_TYPES: Final = {"integer": "BIGINT", "float": "DOUBLE", "boolean": "BOOLEAN", "time": "TIMESTAMP"}
_TERMS: Final = Terms(row="record", measurement="table", tag="dimension", field="measure", types=_TYPES)
_PROGRAMS: Final = frozenset({Program.TELEGRAF, Program.APPLICATION})
_TAKES_A_TABLE: Final = (ChangeType, MakeField, MakeTag)


class TimestreamAdvice(Advice):
    """The steps of a plan on Timestream."""

    also: Sequence[TimestreamAdvice]
    handles = frozenset(
        {
            *WRITTEN,
            Diagnose,
            tables.EncryptRejected,
            tables.EnforceKey,
            tables.KeepInMemory,
            tables.OneRecord,
            SetRetention,
        }
    ) - {Rename}

    def find(self) -> Step | None:
        asked = self.asked_for() or self.new_values()
        each = (statements.diagnostic_query(self.place, change, DIAGNOSTIC_QUERIES) for change in asked)
        found = [one for one in each if one is not None]
        return together(StepKind.FIND, found[:_MOST_QUERIES], "sql")

    def writer(self) -> Step | None:
        own = list(self._records_to_write())
        found = step(self, _TERMS, programs=_PROGRAMS, new_name=self._new_table, example=self._example())
        if found is not None:
            return replace(found, words=" ".join([*own, found.words]))
        if not own:
            return None
        if self._new_table:
            own.append(f"Write to {self._new_table}, which replaces {self.place.here.name}.")
        example = self._example()
        return Step(StepKind.WRITER, " ".join(own), example, "text" if example else "")

    def schema(self) -> Step | None:
        others = [piece.text for other in self.also for piece in other._schema()]
        pieces = list(self._schema())
        return together(StepKind.SCHEMA, pieces, "sh", others=others, most=_MOST_COMMANDS, noun="table")

    def stored(self) -> Step | None:
        if any(isinstance(change, MergeMeasurements) for change in self.changes):
            return Step(
                StepKind.STORED,
                "Nothing changes stored records. Leave them in the old tables until they expire or nobody needs them. "
                "To have them in one table, export them with UNLOAD, and load them with what the names say as "
                "dimensions.",
            )
        if not self._new_table and not any(isinstance(c, LeaveOut) for c in self.changes):
            return None
        days = tables.magnetic_days(self.place.here)
        if days is not None and timedelta(days=days) <= _SOON:
            last = self.place.profile.day + timedelta(days=days)
            return Step(
                StepKind.STORED,
                f"Stored records stay as they are, and expire by themselves {many(days, 'day')} after their time: "
                f"those of today on {day(last)}.",
            )
        return Step(
            StepKind.STORED,
            "Nothing changes stored records, and they do not expire soon: set a retention, or leave them. To have them "
            "in the new form, export them with UNLOAD, and load them into a new table with a batch load task.",
            cost="reads all stored records, which is charged, and writes them again",
        )

    def verify(self) -> Step | None:
        kinds = {type(change) for change in self.changes} - {Diagnose}
        if not kinds:
            return None
        if kinds <= {SetRetention}:
            said = "Look at the stored bytes in the bill after a day: the service deletes older records by then."
        elif kinds <= {tables.KeepInMemory}:
            said = "Look at the memory store in the bill after a day."
        elif kinds <= {tables.EncryptRejected, tables.EnforceKey}:
            said = "Look for rejected records in the S3 location of the table after a day: there must be no new ones."
        elif tables.OneRecord in kinds:
            said = "Look at the rows of the audit in a day: there must be one for each instant and source."
        elif MergeMeasurements in kinds:
            said = "Look at the number of tables in the audit of tomorrow, and again in a month: it must not grow."
        else:
            said = "Look at the series of the new records in the audit of tomorrow, and at the rejected records."
        return Step(StepKind.VERIFY, said)

    @property
    def _new_table(self) -> str:
        """The name of the new table that the changes require; empty if they can be made in the present table."""
        if self.place.measurement is None:
            return ""
        if not any(isinstance(change, _TAKES_A_TABLE) for change in self.changes):
            return ""
        return self.place.free(f"{self.place.here.name}_new")

    # --- Writers --------------------------------------------------------------------------------------------------

    def _records_to_write(self) -> Iterator[str]:
        for change in self.changes:
            match change:
                case tables.EnforceKey(dimension=dimension):
                    yield f"Have every writer send {dimension}."
                case tables.OneRecord(names=names):
                    groups = -(-len(names) // _MOST_MEASURES)
                    several = f", in {groups} records of up to {_MOST_MEASURES} measures each" if groups > 1 else ""
                    yield (
                        f"Write {listed(names, 4)} as measures of one multi-measure record{several}: one row for each "
                        "instant and source. Stored records stay as they are."
                    )

    def _example(self) -> str:
        """An example of a record as it should be written; empty if only the table is a different one."""
        shown = (ChangeType, LeaveOut, MakeField, MakeTag, tables.OneRecord, SplitColumn)
        if self.place.measurement is None or not any(isinstance(change, shown) for change in self.changes):
            return ""
        dimensions, measures = self._columns()
        named = [f"{name}=..." for name in dimensions[:_SHOWN]]
        typed = [f"{name}=... ({kind})" for name, kind in measures[:_SHOWN]]
        return "\n".join(
            [f"Dimensions: {', '.join(named)}", "MeasureName: metrics", f"MeasureValues: {', '.join(typed)}"]
        )

    def _columns(self) -> tuple[list[str], list[tuple[str, str]]]:
        """The dimensions and the typed measures of a record after the changes. Those that change come first."""
        here = self.place.here
        gone = no_longer_sent(self.changes)
        to_measure = {c.tag: c.to for c in self.changes if isinstance(c, MakeField)}
        to_dimension = {c.column for c in self.changes if isinstance(c, MakeTag)}
        types = {c.column: c.to for c in self.changes if isinstance(c, ChangeType)}
        parts = {p.name: c.is_tag for c in self.changes if isinstance(c, SplitColumn) for p in c.parts}
        one_record = [name for c in self.changes if isinstance(c, tables.OneRecord) for name in c.names]
        known = {
            n.name: n.data_type.upper() for n in (here.measure_names.names if here.measure_names else ()) if n.data_type
        }
        tags = [tag.key for tag in here.tags if tag.key not in {*gone, *to_measure}]
        dimensions = [*(name for name, is_tag in parts.items() if is_tag), *sorted(to_dimension), *tags]
        stored = {field.key: (field.types[0] if field.types else "varchar").upper() for field in here.fields}
        fields = [
            (name, _TYPES.get(types.get(name, ""), kind))
            for name, kind in stored.items()
            if name not in {*gone, *to_dimension} and not ENGINES["timestream"].names_itself(name)
        ]
        measures = [
            *((name, _TYPES.get(kind, "VARCHAR")) for name, kind in to_measure.items()),
            *((name, "VARCHAR") for name, is_tag in parts.items() if not is_tag),
            *((name, known.get(name, "DOUBLE")) for name in one_record),
            *sorted(fields, key=lambda one: (one[0] not in types, one[0])),
        ]
        if not measures:
            measures = [("value", "DOUBLE")]
        return dimensions, measures

    # --- The schema -----------------------------------------------------------------------------------------------

    def _schema(self) -> Iterator[Piece]:
        for change in self.changes:
            match change:
                case SetRetention(keep=keep):
                    days = round(keep / _ONE_DAY)
                    yield Piece(
                        f"Decide how long the records are needed, and set that as the retention: here "
                        f"{many(days, 'day')}.",
                        tables.keep(self.place.here, days),
                        loses=f"records older than {many(days, 'day')}, from then on",
                    )
                case tables.KeepInMemory(hours=hours, days=days):
                    yield Piece(
                        f"Keep records in the memory store for {many(hours, 'hour')}; the magnetic store has them "
                        "afterward, and queries read both.",
                        tables.keep(self.place.here, days, hours),
                    )
                case tables.EncryptRejected(key=key):
                    yield Piece(
                        "If the database has a key of your own, encrypt rejected records with it, too. AWS's own key "
                        "for Timestream cannot be used elsewhere.",
                        tables.encrypt_rejected(self.place.here, key),
                    )
                case tables.EnforceKey(dimension=dimension) if not self._new_table:
                    yield Piece(
                        f"Then have the service reject records without {dimension}.",
                        tables.enforce_key(self.place.here, dimension),
                        loses=f"records that a writer still sends without {dimension}",
                    )
                case MergeMeasurements(into=into, members=members):
                    first = members[0].measurement
                    inside = (m for m in self.place.profile.measurements if m.database == self.place.database)
                    if (like := next((m for m in inside if m.name == first), None)) is not None:
                        yield Piece(f"Create {into}, with the settings of {first}.", tables.create_like(like, into))
        if self._new_table:
            yield self._created()

    def _created(self) -> Piece:
        options = self.place.here.options or {}
        asked = next((c.dimension for c in self.changes if isinstance(c, tables.EnforceKey)), "")
        key = asked or options.get(tables.KEY, "")
        to_measure = {change.tag for change in self.changes if isinstance(change, MakeField)}
        if key in to_measure:
            key = ""  # A measure cannot be a partition key.
        by = f", partitioned by {key}" if key else ""
        return Piece(
            f"Create {self._new_table}{by}: no command changes the role, type, or partition key of a column.",
            tables.create_like(
                self.place.here,
                self._new_table,
                key,
                "REQUIRED" if asked else options.get(tables.ENFORCEMENT, "OPTIONAL"),
            ),
            loses=f"records without {key}, which the new table rejects" if asked else "",
        )
