"""How to make changes on PostgreSQL and TimescaleDB."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tsaudit.analysis.columns.columns import is_integer, is_text
from tsaudit.analysis.partition_ranges import written_bounds
from tsaudit.engines.advice import Place, days_of, free
from tsaudit.engines.quoting import Language, Qualified
from tsaudit.engines.registry import ENGINES
from tsaudit.engines.sql.advice import SqlAdvice
from tsaudit.engines.sql.statements import Part, folded
from tsaudit.model.change import AddIndex, AddPartitions, ChangeType, SetRetention
from tsaudit.model.plan import Step, StepKind
from tsaudit.model.storage import DEFAULT_PARTITION, Partition
from tsaudit.text import many

_HYPERTABLE: Final = "timescaledb.compress"
"""An option that only hypertables have."""
_CONCURRENTLY: Final = "VACUUM and schema changes of the table (SHARE UPDATE EXCLUSIVE), not its readers and writers"
_EXCLUSIVE: Final = "all readers and writers of the table, briefly (ACCESS EXCLUSIVE)"
_A_DAY_S: Final = 86_400
_MOST_PARTITIONS: Final = 4
_MOST_FILLED: Final = 8
"""Partitions that one transaction creates and fills, as it locks the table, and has to fit on a screen."""


class PostgresqlAdvice(SqlAdvice):
    """Indexes are created and dropped without blocking writers; changing the type of a column rewrites the table."""

    handles = SqlAdvice.handles | {AddPartitions, SetRetention}
    folds_case = False
    alter_locks = _EXCLUSIVE
    deletion_locks = "writers of the same rows"
    # The ctid of a row is only unique within one partition.
    row_address = "tableoid, ctid"
    uncomparable = frozenset({"json", "xml", "point", "polygon"})

    def find(self) -> Step | None:
        if found := super().find():
            return found
        gone = [c.column for c in self.changes if isinstance(c, ChangeType) and c.column not in self.labels]
        if not gone or self.place.measurement is None:
            return None
        words = "See which views use the column: PostgreSQL refuses to change it until they are dropped."
        return Step(StepKind.FIND, words, dependents(self.place, gone), "sql")

    # --- Indexes and keys -------------------------------------------------------------------------------------------

    @property
    def _is_partitioned(self) -> bool:
        return self.place.here.partitioning is not None or self._is_hypertable

    @property
    def _is_hypertable(self) -> bool:
        held = self.place.here.retention
        return _HYPERTABLE in (self.place.here.options or {}) or (held is not None and held.policy == "drop_after")

    def drop_index(self, name: str) -> str:
        # PostgreSQL refuses CONCURRENTLY for the index of a partitioned table.
        beside = "" if self._is_partitioned else "CONCURRENTLY "
        return f"DROP INDEX {beside}{self.place.quoted([Qualified(self.place.database, name)])};"

    def index_part(self, words: str, statements: Sequence[str], *, reads: bool) -> Part:
        cost = "reads all rows" if reads else ""
        if self._is_partitioned:
            return Part(words, tuple(statements), locks=_EXCLUSIVE, cost=cost)
        alone = " CONCURRENTLY cannot run inside a transaction."
        failed = " If it fails, drop the invalid index that it leaves, and run it again." if reads else ""
        return Part(f"{words}{alone}{failed}", tuple(statements), locks=_CONCURRENTLY, cost=cost)

    def create_index(self, table: str, columns: Sequence[str], method: str = "") -> str:
        # Without a name, PostgreSQL generates one that is free.
        using = f" USING {method}" if method not in ("", "btree") else ""
        beside = "" if self._is_partitioned else " CONCURRENTLY"
        return f"CREATE INDEX{beside} ON {self.place.table(table)}{using} ({self.place.quoted(columns)});"

    def added_index(self, change: AddIndex) -> Part:
        here, method = self.place.here, change.method
        name, columns = here.name, change.columns
        if not method and change.columns == (here.time_column,) and self._is_in_order(change.columns[0]):
            method = "brin"
        words = f"Create an index on {', '.join(columns)} of {name}."
        if method == "brin":
            words += (
                " BRIN takes a few pages and works where rows are written in time order; else leave out USING brin."
            )
        if self._is_hypertable:
            on = f"ON {self.place.table()}{f' USING {method}' if method else ''}"
            return Part(
                f"{words} TimescaleDB locks one chunk at a time.",
                (f"CREATE INDEX {on} ({self.place.quoted(columns)}) WITH (timescaledb.transaction_per_chunk);",),
                locks="writers of one chunk at a time",
                cost="reads all rows",
            )
        if here.partitioning is not None:
            return self._on_partitions(columns, method, words)
        return self.index_part(words, [self.create_index(name, columns, method=method)], reads=True)

    def _is_in_order(self, column: str) -> bool:
        """Whether rows are stored in the order of the column, as readings usually are; True if unknown."""
        status = self.place.here.status
        return status is None or status.is_in_order(column)

    def _on_partitions(self, columns: Sequence[str], method: str, words: str) -> Part:
        """PostgreSQL cannot create an index CONCURRENTLY on a partitioned table, but on each of its partitions."""
        cut = self.place.here.partitioning
        assert cut is not None
        taken = set[str]()
        using, members = f" USING {method}" if method else "", self.place.quoted(columns)

        def at(relation: str, schema: str = "") -> str:
            return self.place.quote(Qualified(schema or self.place.database, relation))

        def named(of: str) -> str:
            # PostgreSQL cuts off longer names, which could then be the same.
            found = self.free_name(free(f"{of[:40]}_{'_'.join(columns)[:16]}_idx", taken))
            taken.add(found)
            return found

        table = self.place.here.name
        whole = named(table)
        statements = [f"CREATE INDEX {self.place.quoted([whole])} ON ONLY {at(table)}{using} ({members});"]
        for part in cut.partitions[:_MOST_PARTITIONS]:
            own = named(part.name)
            beside = f"CREATE INDEX CONCURRENTLY {self.place.quoted([own])}"
            statements.append(f"{beside} ON {at(part.name, part.schema)}{using} ({members});")
            statements.append(f"ALTER INDEX {at(whole)} ATTACH PARTITION {at(own, part.schema)};")
        if cut.count > _MOST_PARTITIONS:
            statements.append(f"-- the last two statements for each of the {cut.count} partitions")
        return Part(
            f"{words} Queries use it once the index of each partition is attached.",
            tuple(statements),
            locks=_CONCURRENTLY,
            cost="reads all rows",
            are_one=True,
        )

    def retyped(self, column: str, kind: str) -> Part | None:
        if (self.place.here.options or {}).get(_HYPERTABLE) == "true":
            return None  # The types in compressed chunks cannot be changed.
        quoted, to = self.place.quoted([column]), ENGINES["postgresql"].sql_types[kind]
        # The default of a text column cannot be converted to another type.
        dropped = f"ALTER COLUMN {quoted} DROP DEFAULT,"
        pieces = [f"ALTER TABLE {self.place.table()}", dropped, f"ALTER COLUMN {quoted}", f"TYPE {to}"]
        statement = folded([*pieces, f"USING CAST(NULLIF(btrim({quoted}), '') AS {to});"])
        return Part(
            f"Convert {column} to {to}, without its default. If a value does not convert, the statement fails and "
            "changes nothing.",
            (statement,),
            locks="all readers and writers, while the table is rewritten (ACCESS EXCLUSIVE)",
            cost="rewrites all rows",
        )

    # --- Retention --------------------------------------------------------------------------------------------------

    def own_statements(self) -> Iterator[Part]:
        for change in self.changes:
            if isinstance(change, AddPartitions):
                yield self._partitions(change)
            if isinstance(change, SetRetention) and change.policy:
                text = Language.SQL.string(self.place.table())
                days, counts = days_of(change), is_integer(self.place.here.time_type or "")
                age = f"BIGINT '{days * _A_DAY_S}'" if counts else f"INTERVAL '{days} days'"
                needed = " Set set_integer_now_func first; the age here is in seconds." if counts else ""
                yield Part(
                    f"Let TimescaleDB drop the chunks of {self.place.here.name} that are older than "
                    f"{many(days, 'day')}, if nobody needs them longer.{needed}",
                    (f"SELECT add_retention_policy({text}, drop_after => {age});",),
                    loses=f"all rows older than {many(days, 'day')}",
                )

    def _partitions(self, change: AddPartitions) -> Part:
        here, statements = self.place.here, list[str]()
        for name, bounds in change.partitions:
            own = self.place.quote(Qualified(change.schema or self.place.database, self.free_name(name)))
            statements.append(f"CREATE TABLE {own} PARTITION OF {self.place.table()} {bounds};")
        parts = here.partitioning.partitions if here.partitioning else ()
        rest = next((part for part in parts if part.bounds == DEFAULT_PARTITION), None)
        if rest is not None and rest.rows:
            return self._out_of_default(rest, [bounds for _, bounds in change.partitions], statements)
        following = f"{many(len(statements), 'partition')}" if len(statements) > 1 else "partition"
        each = "each as long as the last one" if len(statements) > 1 else "as long as the last one"
        words = f"As the owner of {here.name}, create its next {following}, {each}."
        if rest:
            words += " It fails if the default partition has rows of that time: move them first."
        return Part(words, tuple(statements), _EXCLUSIVE, "reads the default partition" if rest else "")

    def _out_of_default(self, rest: Partition, bounds: Sequence[str], creating: Sequence[str]) -> Part:
        """PostgreSQL refuses a partition as long as the default one has rows of it: they are taken out, and inserted
        again once there is one.
        """
        here = self.place.here
        assert here.partitioning is not None
        (key,) = here.partitioning.key
        ranges = [found for one in bounds[:_MOST_FILLED] if (found := written_bounds(one))]
        default = self.place.quote(Qualified(rest.schema or self.place.database, rest.name))
        within = f"{key} >= {ranges[0][0]} AND {key} < {ranges[-1][1]}"
        of_default = f"tableoid = {Language.SQL.string(default)}::regclass"
        table = self.place.table()
        more = len(bounds) - len(ranges)
        kept = f"SELECT * FROM {table}"  # noqa: S608 -- shown, as the following
        statements = (
            "BEGIN;",
            f"LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE;",
            # The order of columns in a partition may be another one.
            folded(["CREATE TEMP TABLE taken_out ON COMMIT DROP AS", kept, f"WHERE {of_default}", f"AND {within};"]),
            folded([f"DELETE FROM {default}", f"WHERE {within};"]),  # noqa: S608
            *creating[:_MOST_FILLED],
            f"INSERT INTO {table} OVERRIDING SYSTEM VALUE SELECT * FROM taken_out;",  # noqa: S608
            # Its rows are counted by the statistics.
            f"ANALYZE {default};",
            "COMMIT;",
            *([f"-- then the same for the {many(more, 'partition')} that follow"] if more else []),
        )
        return Part(
            f"Create the next partitions of {here.name} and move the rows of {rest.name} there, in one transaction: "
            "PostgreSQL refuses a partition for rows that are in the default one. First drop foreign keys of other "
            "tables that refer to these rows with ON DELETE.",
            statements,
            "writers of the table, and readers while partitions are created (ACCESS EXCLUSIVE)",
            "writes these rows again",
            are_one=True,
        )

    def own_stored(self) -> Iterator[Part]:
        for change in self.changes:
            if not isinstance(change, SetRetention) or change.policy:
                continue
            name, days = self.place.here.name, many(days_of(change), "day")
            loses = f"all rows older than {days}"
            if self.place.here.partitioning is not None:
                words = (
                    f"Detach and drop the partitions of {name} that are older than {days}, if nobody needs them longer."
                )
                yield Part(words, loses=loses)
            else:
                yield Part(
                    f"Delete the rows of {name} that are older than {days}, if nobody needs them longer. A table "
                    "partitioned by time (PARTITION BY RANGE) drops them with their partition instead.",
                    (self._delete(days_of(change)),),
                    locks="writers of the same rows",
                    cost="rewrites the deleted rows",
                    loses=loses,
                )

    def own_figures(self) -> Iterator[str]:
        for change in self.changes:
            if isinstance(change, AddPartitions):
                yield "The next audit should find a later end. Schedule a job that creates partitions ahead of time."
            if isinstance(change, SetRetention):
                yield f"After 1 day, no row should be older than {many(days_of(change), 'day')}."

    def _delete(self, days: int) -> str:
        """A statement that deletes rows that are too old, with a condition that fits the type of the time column."""
        time, kind = self.place.quoted([self.place.here.time_column or "time"]), self.place.here.time_type or ""
        limit = f"now() - INTERVAL '{days} days'"
        if is_integer(kind):
            limit = f"extract(EPOCH FROM {limit}) /* * 1000 for milliseconds */"
        value = f"CAST({time} AS TIMESTAMPTZ)" if is_text(kind) else time
        return f"DELETE FROM {self.place.table()} WHERE {value} < {limit};"  # noqa: S608 -- shown, never run


_QUERY: Final = """\
SELECT DISTINCT r.ev_class::regclass AS view, a.attname AS uses
FROM pg_depend AS d
JOIN pg_rewrite AS r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
JOIN pg_attribute AS a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
WHERE d.refclassid = 'pg_class'::regclass
  AND d.refobjid = {table}::regclass AND a.attname IN ({columns})
ORDER BY 1, 2;"""


def dependents(place: Place, columns: Sequence[str]) -> str:
    """A query for the views, including materialized ones, that use the columns."""
    listed = ", ".join(Language.SQL.string(column) for column in columns)
    return _QUERY.format(table=Language.SQL.string(place.table()), columns=listed)
