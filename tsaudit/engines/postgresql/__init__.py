"""PostgreSQL and TimescaleDB."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tsaudit.engines.engine import Failure, LocalServer, ServerLimit, Words
from tsaudit.engines.sql import BATCHED, SqlEngine

if TYPE_CHECKING:
    from tsaudit.engines.quoting import Qualified
    from tsaudit.model.server import IdSequence


_DOCS: Final = "https://www.postgresql.org/docs/current"


class Postgresql(SqlEngine):
    """PostgreSQL and TimescaleDB."""

    name = "postgresql"
    connector = "tsaudit.engines.postgresql.connector:connect"
    adviser = "tsaudit.engines.postgresql.advice:PostgresqlAdvice"
    measurement_bytes = 16_000
    index_bytes = 10_000
    measurement_price = "16 kB of disk for each table, and 10 kB for each index: measured on PostgreSQL 15"
    example_url = "postgresql://tsaudit@localhost:5432/{name}"
    other_names = ("postgres", "timescaledb")
    extra = "postgresql"
    keywords = ("postgresql/keywords.txt",)
    local = LocalServer(
        5432, "", re.compile("^PostgreSQL$"), "postgresql://tsaudit@127.0.0.1:5432/postgres", is_native=True
    )
    reads_password_apart = True
    alters_types = True
    default_schema = ""
    sql_types = {
        **SqlEngine.sql_types,
        "float": "DOUBLE PRECISION",
        "decimal": "NUMERIC",
        "time": "TIMESTAMPTZ",
        "date": "DATE",
    }
    has_one_database = True
    words = Words(database="schema")
    batched_facts = BATCHED
    parameters = {
        "timescaledb": "the schema of the TimescaleDB extension; empty without it",
        "server": "the major version of the server, such as 15",
        "inherited": "whether other tables inherit from the table, which has rows of its own",
        "part": "of `scan_estimate`, what is to be planned: `inside` the window, `every` row, or the `newest`",
    }
    limits = (
        ServerLimit("near-limit.columns", 1_600, f"{_DOCS}/limits.html"),
        # The documentation: "up to a few thousand", if queries leave out all but a few.
        ServerLimit(
            "near-limit.partitions",
            3_000,
            f"{_DOCS}/ddl-partitioning.html#DDL-PARTITIONING-DECLARATIVE-BEST-PRACTICES",
            is_enforced=False,
        ),
        ServerLimit(
            "near-limit.locks",
            None,
            f"{_DOCS}/runtime-config-locks.html",
            setting="lock_table",
            settings="max_locks_per_transaction * (max_connections + max_prepared_transactions + workers)",
        ),
        ServerLimit(
            "near-limit.connections",
            None,
            f"{_DOCS}/runtime-config-connection.html#GUC-MAX-CONNECTIONS",
            setting="connections",
            settings="max_connections, without those reserved",
            fix="Let programs share a pool of connections, such as that of PgBouncer: each connection of its own is a "
            "process. Or raise max_connections, which takes a restart.",
        ),
        # The catalog shows how many values each sequence and type allows.
        ServerLimit(
            "near-limit.ids",
            None,
            f"{_DOCS}/sql-createsequence.html",
        ),
        # The server refuses writing transactions three million before transaction IDs would repeat.
        ServerLimit(
            "near-limit.transactions",
            2_144_483_648,
            f"{_DOCS}/routine-vacuuming.html#VACUUM-FOR-WRAPAROUND",
            fix="End what keeps the oldest one: transactions open for long (pg_stat_activity), prepared ones "
            "(pg_prepared_xacts), replication slots (pg_replication_slots). Then run VACUUM (FREEZE) in that database, "
            "first on the tables with the greatest age(relfrozenxid).",
        ),
    )
    own_guidelines = SqlEngine.own_guidelines | {"E12"}
    repeats_texts = True
    row_address = "ctid"
    row_bytes = 36
    row_price = "36 B for a row with a time, and its part of the indexes: measured on PostgreSQL 15"
    failures = {
        "archiving": Failure(
            "Archiving of the write-ahead log fails",
            "Find the reason in the server's log, and repair archive_command. A backup cannot be restored to a time "
            "after the last archived file.",
            "The log fills the disk, and then the server stops.",
        ),
        "slot": Failure(
            "Nobody reads the replication slot {own}, and the server keeps {size} of log for it",
            "Connect its reader again. If there is none anymore, drop the slot: "
            "`SELECT pg_drop_replication_slot('{own}')`; a reader would then have to copy everything again. "
            "max_slot_wal_keep_size limits what any slot may keep.",
            "The log fills the disk, and then the server stops, with all its databases.",
        ),
        "limited": Failure(
            "Nobody reads the replication {own}, and the server keeps {size} of log for it",
            "Connect its reader again. If there is none anymore, drop the slot; a reader would then have to copy "
            "everything again.",
            "From max_slot_wal_keep_size on, the log is removed, and its reader has to copy everything again.",
        ),
        "lost": Failure(
            "The replication {own} was invalidated, so that its reader cannot go on",
            "Drop it, and let its reader copy everything again, with a new slot.",
            "Its reader receives nothing more.",
        ),
        "subscription": Failure(
            "The {name} is enabled, and no worker runs for it, so that nothing arrives from its publisher",
            "Find the reason in the server's log: a row that is there already, a missing table or column, or the "
            "connection.",
            "Nothing arrives, and the publisher keeps its log for it, which can fill its disk.",
        ),
        "transaction": Failure(
            "A {name} has been open for {age}, so that no vacuum frees what was deleted since it began",
            "Let its program end its transactions, and end this one: `SELECT pg_terminate_backend(...)`. "
            "idle_in_transaction_session_timeout ends such sessions by itself.",
            "Deleted and outdated rows stay, and the tables keep growing by them.",
            keeps_dead_rows=True,
        ),
        "idle": Failure(
            "An {name} has been open for {age}; it keeps no dead rows, but its locks: whoever alters or drops a table "
            "that it has read waits, and so does everybody after that",
            "Let its program end its transactions, and end this one: `SELECT pg_terminate_backend(...)`. "
            "idle_in_transaction_session_timeout ends such sessions by itself.",
            is_note=True,
        ),
        "prepared": Failure(
            "The {name} has been open for {age}, so that no vacuum frees what was deleted since, and its locks stay",
            "Ask its transaction manager, and end it in its database by its gid (pg_prepared_xacts): `COMMIT PREPARED "
            "'...'` or `ROLLBACK PREPARED '...'`.",
            "Deleted and outdated rows stay, and whoever needs one of its locks waits.",
            keeps_dead_rows=True,
        ),
        "checksums": Failure(
            "What is stored in the database is damaged: pages failed the {name}",
            "Find the tables in the server's log, look after the disk, and restore them from a backup. The counter "
            "begins again with the statistics: pg_stat_reset(), which clears those of tables and indexes, too.",
            "Queries that read these pages fail, and so do dumps of their tables.",
        ),
        "collation": Failure(
            "The {name} has another version in the operating system than the one its indexes were built with, so that "
            "indexes on texts may miss rows and admit duplicates",
            "In that database, REINDEX DATABASE, at least the indexes on texts; then ALTER DATABASE ... REFRESH "
            "COLLATION VERSION.",
            "Searches by these indexes may go on missing rows.",
        ),
        "job": Failure(
            "The last run of {name} failed",
            "Find the reason in timescaledb_information.job_errors.",
            "What the job should compress, refresh, or drop stays as it is.",
        ),
    }

    def more_ids(
        self, table: Qualified, column: str, sequence: IdSequence | None, *, is_wide: bool, is_wasted: bool
    ) -> str:
        statements = []
        if not is_wide:
            statements.append(f"ALTER TABLE {self.quoted(table)} ALTER COLUMN {self.quoted(column)} TYPE bigint")
        if sequence is not None:
            # The sequence of an identity column follows the column, but keeps a maximum of its own.
            kind = "" if sequence.is_identity and statements else " AS bigint"
            statements.append(f"ALTER SEQUENCE {sequence.name}{kind} NO MAXVALUE")
        stop = (
            "First stop what takes IDs and stores no row: an INSERT with ON CONFLICT takes one for each row that is "
            "there already, and so does an insert that is rolled back. Insert only rows that are missing. "
        )
        # Outputs in brief have the first sentence only.
        widen = (
            f"Give {column} of {table}, and any column that refers to it, the type bigint, which copies the table "
            "under a lock"
        )
        copies = " For a large table, add a bigint column, fill it in steps, and let it take over the name."
        larger = f"Let the sequence of {column} of {table} give larger IDs" if is_wide else widen
        how = f": `{'; '.join(statements)}`" if statements else ""
        return f"{stop if is_wasted else ''}{larger}{how}.{'' if is_wide else copies}"

    def label(self, column: str, data_type: str, label: str) -> str | None:
        kind = data_type.lower()
        if kind in ("json", "jsonb"):
            return f"({column} ->> {label})"
        schema, _, name = kind.rpartition(".")
        if name == "hstore":
            # If its schema is not in the search path, the operator must be qualified.
            return f"({column} {f'OPERATOR({data_type[: len(schema)]}.->)' if schema else '->'} {label})"
        if kind in ("text[]", "character varying[]"):
            return (
                f"(SELECT min(substr(pair, length({label}) + 2)) FROM unnest({column}) AS pair "  # noqa: S608
                f"WHERE starts_with(pair, {label} || ':') OR starts_with(pair, {label} || '='))"
            )
        return None


ENGINE: Final = Postgresql()
