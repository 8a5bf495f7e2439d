"""A stand-in for GreptimeDB: speaks the MySQL protocol, and runs the SQL it is sent on DataFusion.

DataFusion is what the product is built on. Copied from the product's sources and recorded outputs are the metadata
views (`catalog.py` beside this, in the shapes of three versions), the statements that it answers without running
them (src/servers/src/mysql/federated.rs), how values look on the wire and which of them fail there (.../writer.rs), its
errors, how rows of one key and time become one (merge_mode), what a reader may do, and these of its oddities:
an unfiltered count on an append-only table does not see nulls, and a query over too many files is refused.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import re
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

import datafusion
import pyarrow as pa
import pyarrow.compute as pc

from tests.databases import Dataset, Table
from tests.engines.greptimedb.answers import described, in_utc, next_batch, one_value, printed, refused
from tests.engines.greptimedb.catalog import views
from tests.engines.greptimedb.definition import definition
from tests.engines.greptimedb.mysql_server import Answer, MysqlError, MysqlServer, ResultColumn, Session
from tests.engines.greptimedb.mysql_server import Row as Cells
from tests.engines.greptimedb.stored import CATALOG, INTERNAL, Column, File, Region, Stored, Version
from tests.engines.greptimedb.tables import PER_SECOND, declared
from tsaudit.engines.registry import ENGINES

ADMIN: Final = ("admin", "admin-secret")
READER: Final = ("audit", "audit-secret")
"""May read everything, and change nothing, not even a setting of its own session."""
_SWALLOWED: Final = re.compile(
    r"(ROLLBACK|COMMIT|START|SET (NAMES|AUTOCOMMIT|character_set_results|net_write_timeout|sql_mode|SESSION TRANSACTION"
    r"|TRANSACTION)|SHOW WARNINGS)",
    re.IGNORECASE,
)
_WRITES: Final = re.compile(r"(SET|USE|ADMIN|KILL|INSERT|DELETE|CREATE|DROP|ALTER|TRUNCATE|COPY)\b", re.IGNORECASE)
_VARIABLE: Final = re.compile(r"SELECT\s+@@(?:session\.)?(\w+)", re.IGNORECASE)
_VARIABLES: Final = {"transaction_isolation": "REPEATABLE-READ", "version_comment": "Greptime"}
_SET: Final = re.compile(r"SET\s+(?:SESSION\s+)?(\w+)\s*=\s*'?([^';]*)'?", re.IGNORECASE)
_QUOTED: Final = r"(\"(?:\"\"|[^\"])*\"|`(?:``|[^`])*`)"
_SHOW_CREATE: Final = re.compile(rf"SHOW CREATE TABLE {_QUOTED}\.{_QUOTED}\s*$", re.DOTALL)
_NAIVE: Final = re.compile(r"(?<=')(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?)(?=')")
_BOUND: Final = re.compile(r"\.(\S+) (>=|<) Timestamp(\w+)\((-?\d+), None\)")
_FOLDED: Final = re.compile(r"\bcount\((?!\*|1\)|DISTINCT)[^()]+\)", re.IGNORECASE)
_PER_SECOND: Final = {"Second": 1, "Millisecond": 10**3, "Microsecond": 10**6, "Nanosecond": 10**9}
_READS: Final = datafusion.SQLOptions().with_allow_ddl(False).with_allow_dml(False).with_allow_statements(False)
_numbers = itertools.count()


class GreptimeDB:
    """One server with its databases."""

    def __init__(
        self,
        version: str = "1.1.4",
        *,
        file_limit: int = 384,
        file_span: timedelta = timedelta(hours=1),
        zone: str = "UTC",
        counted: bool = True,
    ) -> None:
        self.version = Version(version)
        self.file_limit, self.file_span = file_limit, file_span
        self.zone = zone
        """In which timestamps without one are read and printed, unless a session says otherwise."""
        self.counted = counted
        """Whether the regions' statistics can be had."""
        self.down: dict[int, int] = {}
        """Region to the seconds for which its leader has been down."""
        self.delay_s = 0.0
        """How long a SELECT takes before its first row."""
        self.statements: list[str] = []
        """Those that were sent, oldest first."""
        self.greeting = "8.4.2"
        self.hides_columns = False
        """Whether it lists the columns of its own views only."""
        self._context = _context()
        self.tables: dict[tuple[str, str], Stored] = {}
        """(database, name) to what the catalog says of it."""
        self._scans: dict[str, tuple[Stored, frozenset[int]]] = {}
        """Name of a table in plans to the table, and the spans of time in which it has a file."""
        self._views_are_old = True
        self._server = MysqlServer(self)
        self.login = dict(zip(("username", "password"), READER, strict=True))
        self.url = f"mysql+pymysql://127.0.0.1:{self._server.port}"

    def stop(self) -> None:
        self._server.stop()

    def password_of(self, user: str) -> str | None:
        return dict((ADMIN, READER)).get(user)

    def write(self, dataset: Dataset) -> str:
        """The name of the database that holds it now; one of that name is replaced."""
        database = dataset.database or f"test_{next(_numbers)}"
        self.tables = {key: table for key, table in self.tables.items() if key[0] != database}
        catalog = self._context.catalog(CATALOG)
        if database in catalog.schema_names():
            catalog.deregister_schema(database)
        catalog.register_schema(database, datafusion.catalog.Schema.memory_schema())
        logical: dict[str, list[tuple[Table, int]]] = {}
        for table in dataset.tables:
            if table.greptime.physical:
                logical.setdefault(table.greptime.physical, []).append((table, self._next_id()))
                self._keep(database, table, logical[table.greptime.physical][-1][1])
            else:
                self._keep(database, table, self._next_id())
        for name, members in logical.items():
            self._keep_physical(database, name, members)
        self._views_are_old = True
        return database

    def run(self, statement: str, session: Session) -> Answer:
        """See `mysql_server.Host`."""
        self.statements.append(statement)
        text = statement.strip().rstrip(";")
        if found := _VARIABLE.match(text):
            name = found[1].lower()
            return one_value(f"@@{name}", session.variables.get(name, _VARIABLES.get(name, "0")))
        if _SWALLOWED.match(text):
            return Answer()
        if text.upper() in ("SELECT VERSION()", "SELECT DATABASE()"):
            return one_value(text[7:].lower(), self._long_version() if "V" in text.upper() else session.database)
        if _WRITES.match(text):
            if session.user != ADMIN[0]:
                raise MysqlError(1045, "(PermissionDenied): User is not authorized to perform this action", "28000")
            if setting := _SET.match(text):
                session.variables[setting[1].lower()] = setting[2]
                return Answer()
            raise AssertionError(f"an audit does not write: {text}")
        if show := _SHOW_CREATE.match(text):
            return self._show_create(*(name[1:-1].replace(name[0] * 2, name[0]) for name in show.groups()))
        if text.upper().startswith(("SELECT", "WITH")):
            return self._select(text, session)
        raise MysqlError(1064, f"(InvalidSyntax): Invalid SQL, error: {text[:40]}", "42000")

    def _long_version(self) -> str:
        product = "GreptimeDB" if self.version.number >= (1, 0) else "greptimedb"
        return f"{self.greeting}-{product}-{self.version.text}"

    # --- Changing, for `greptimedb_ddl` -----------------------------------------------------------------------------

    def read(self, select: str) -> pa.Table:
        """Its rows, as kept."""
        return self._context.sql_with_options(select, _READS).to_arrow_table()

    def rows(self, table: Stored) -> pa.Table:
        """All that can be read of it."""
        database, name = (ENGINES["greptimedb"].language.identifier(part) for part in (table.database, table.name))
        return self.read(f"SELECT * FROM {database}.{name}").cast(pa.schema([(c.name, c.type) for c in table.columns]))

    def keep(self, table: Stored, rows: pa.Table, bounds: Sequence[str] | None = None) -> None:
        """The table as it is told, with these rows. `bounds`: of its partitions; None for those that it has."""
        own = [region.bound for region in table.regions if region.bound]
        table = dataclasses.replace(table, id=table.id or self._next_id())
        self.drop(table)
        self._add(
            dataclasses.replace(table, regions=self._regions(table, rows, own if bounds is None else bounds)), rows
        )

    def drop(self, table: Stored) -> None:
        if self.tables.pop((table.database, table.name), None):
            self._context.catalog(CATALOG).schema(table.database).deregister_table(table.name)
        self._views_are_old = True

    # --- Reading -------------------------------------------------------------------------------------------------

    def _show_create(self, database: str, name: str) -> Answer:
        table = self.tables.get((database, name))
        if table is None:
            raise MysqlError(1146, f"(TableNotFound): Table not found: {CATALOG}.{database}.{name}", "42S02")
        rows = iter([(name.encode(), definition(table).encode())])
        return Answer([ResultColumn("Table", 253), ResultColumn("Create Table", 253)], rows)

    def _select(self, text: str, session: Session) -> Answer:
        if "information_schema" in text and (self._views_are_old or self.hides_columns or self.down):
            self._register_views()
        if "region_statistics" in text and not self.counted:
            raise MysqlError(1815, "(Internal): Failed to collect region statistics")
        zone = ZoneInfo(session.variables.get("time_zone", self.zone))
        try:
            text = _NAIVE.sub(lambda found: in_utc(found[1], zone), text)
            frame = self._context.sql_with_options(text, _READS)
            plan = str(frame.optimized_logical_plan().display_indent())
            if self._folds(plan):
                # The scan says that no column has a null, which is then not looked at any more.
                number = itertools.count(1)
                folded = _FOLDED.sub(lambda _: f"count(*) + {(n := next(number))} - {n}", text)
                frame = self._context.sql_with_options(folded, _READS)
            self._count_files(plan)
            stream = frame.execute_stream()
        except MysqlError:
            raise
        except Exception as error:
            raise refused(error) from error
        schema = pa.schema(frame.schema())
        return Answer([described(f) for f in schema], self._rows(stream, zone, session))

    def _rows(self, stream: Any, zone: ZoneInfo, session: Session) -> Iterator[Cells]:
        limit_ms = int(session.variables.get("max_execution_time", 0))
        time.sleep(min(self.delay_s, limit_ms / 1000) if limit_ms else self.delay_s)
        if limit_ms and self.delay_s * 1000 >= limit_ms:
            raise MysqlError(1317, "(Cancelled): Query execution was cancelled: timeout", "70100")
        while (batch := next_batch(stream)) is not None:
            yield from zip(*(printed(column, zone) for column in batch.columns), strict=True)

    def _folds(self, plan: str) -> bool:
        lines = [line.strip() for line in plan.splitlines()]
        counts = any(
            re.fullmatch(
                r"Aggregate: groupBy=\[\[\]\], aggr=\[\[count\([^()]+(\([^()]*\))?\)(, count\([^()]+\))*\]\]", x
            )
            for x in lines
        )
        scanned = [table for table, _ in self._scanned(plan)]
        filtered = any(line.startswith("Filter:") or "_filters=" in line for line in lines)
        return counts and not filtered and bool(scanned) and all(table.is_append_only for table in scanned)

    def _count_files(self, plan: str) -> None:
        """Refuse what would read more files than allowed, by the bounds of time that are left in the plan."""
        bounds: dict[str, int] = {">=": -(1 << 62), "<": 1 << 62}
        for _, sign, unit, value in _BOUND.findall(plan):
            bounds[sign] = int(value) // (_PER_SECOND[unit] * round(self.file_span.total_seconds()))
        for _, files in self._scanned(plan):
            read = sum(bounds[">="] <= number <= bounds["<"] for number in files)
            if read > self.file_limit:
                text = f"Too many files to read concurrently: {read}, max allowed: {self.file_limit}"
                raise MysqlError(1637, f"(RateLimited): {text}")

    def _scanned(self, plan: str) -> list[tuple[Stored, frozenset[int]]]:
        return [self._scans[key] for key in re.findall(r"TableScan: (\w+)", plan) if key in self._scans]

    # --- Writing -------------------------------------------------------------------------------------------------

    def _next_id(self) -> int:
        return 1024 + next(_numbers)

    def _keep(self, database: str, table: Table, id_: int) -> None:
        stored, written = declared(database, table, id_)
        if not table.greptime.physical:
            stored = dataclasses.replace(stored, regions=self._regions(stored, written, table.greptime.partitions))
        self._add(stored, written)

    def _keep_physical(self, database: str, name: str, members: Sequence[tuple[Table, int]]) -> None:
        """One table for the rows of all its logical tables: their labels, and by which table and series they are."""
        parts = []
        for table, id_ in members:
            _, written = declared(database, table, id_)
            (value,) = table.fields
            labels = {tag: written.column(tag) for tag in table.tags}
            series = [_hash(id_, *values) for values in _tuples(list(labels.values()), len(written))]
            columns = {"greptime_timestamp": written.column(table.time), "greptime_value": written.column(value)}
            ids = {
                "__table_id": pa.array([id_] * len(written), pa.uint32()),
                "__tsid": pa.array(series, pa.uint64()),
            }
            parts.append(pa.table({**columns, **ids, **labels}))
        written = pa.concat_tables(parts, promote_options="default").combine_chunks()
        labels = [label for label in written.column_names[2:] if label not in INTERNAL]
        semantics = {"greptime_timestamp": "TIMESTAMP", "greptime_value": "FIELD"}
        columns = [Column(f.name, f.type, semantics.get(f.name, "TAG")) for f in written.schema]
        key = (*INTERNAL, *labels)
        options, indexes = {"physical_metric_table": ""}, {INTERNAL[0]: ["skipping"]}
        stored = Stored(database, name, self._next_id(), "metric", columns, key, options, indexes)
        self._add(dataclasses.replace(stored, regions=self._regions(stored, written, ())), written)

    def _regions(self, table: Stored, written: pa.Table, bounds: Sequence[str]) -> list[Region]:
        found = []
        for number, bound in enumerate(bounds or [None]):
            part = written
            if bound is not None:
                context = datafusion.SessionContext(_configuration())
                context.register_record_batches("written", [written.to_batches()])
                part = context.sql(f"SELECT * FROM written WHERE {bound}").to_arrow_table()
            files = self._files(part, table.time)
            index = part.nbytes // 10 if table.indexes else 0
            id_ = table.id << 32 | number
            found.append(Region(id_, bound, len(part), part.nbytes, index, files, _series_estimate(table, part)))
        return found

    def _files(self, rows: pa.Table, time_column: str) -> list[File]:
        column = rows.column(time_column)
        factor = 10**9 // PER_SECOND[column.type.unit]
        found: dict[int, list[int]] = {}
        for value in column.cast(pa.int64()).to_pylist():
            nanoseconds = value * factor
            found.setdefault(nanoseconds // (round(self.file_span.total_seconds()) * 10**9), []).append(nanoseconds)
        return [
            File(len(times), _in_64_bits(min(times)), _in_64_bits(max(times))) for _, times in sorted(found.items())
        ]

    def _spans(self, rows: pa.Table, time_column: str) -> frozenset[int]:
        column = rows.column(time_column)
        span = round(self.file_span.total_seconds()) * PER_SECOND[column.type.unit]
        return frozenset(value // span for value in column.cast(pa.int64()).to_pylist())

    def _add(self, table: Stored, written: pa.Table) -> None:
        kept = _merged(table, written)
        self.tables[table.database, table.name] = table
        key = f"t{next(_numbers)}"
        self._scans[key] = table, self._spans(kept, table.time)
        schema = self._context.catalog(CATALOG).schema(table.database)
        schema.register_table(table.name, _table(kept, key))

    def _register_views(self) -> None:
        catalog = self._context.catalog(CATALOG)
        if "information_schema" in catalog.schema_names():
            catalog.deregister_schema("information_schema")
        catalog.register_schema("information_schema", datafusion.catalog.Schema.memory_schema())
        schema = catalog.schema("information_schema")
        databases = sorted({database for database, _ in self.tables})
        for name, rows in views(self.version, databases, list(self.tables.values()), self.counted, self.down).items():
            if name == "columns" and self.hides_columns:
                rows = rows.filter(pc.equal(rows["table_schema"], "information_schema"))
            schema.register_table(name, _table(rows, f"v{next(_numbers)}"))
        self._views_are_old = False


def _configuration() -> datafusion.SessionConfig:
    config = datafusion.SessionConfig().with_default_catalog_and_schema(CATALOG, "public")
    config = config.with_create_default_catalog_and_schema(True).with_information_schema(False)
    # Names are as they are written, also without quotes.
    return config.set("datafusion.sql_parser.enable_ident_normalization", "false").with_target_partitions(1)


def _context() -> datafusion.SessionContext:
    return datafusion.SessionContext(_configuration())


def _table(rows: pa.Table, name: str) -> datafusion.Table:
    return datafusion.Table(datafusion.SessionContext().from_arrow(rows, name=name))


# --- Rows as they are kept ---------------------------------------------------------------------------------------


def _in_64_bits(number: int) -> int | None:
    return number if -(1 << 63) <= number < 1 << 63 else None


def _tuples(columns: Sequence[pa.ChunkedArray], count: int) -> list[tuple[Any, ...]]:
    return list(zip(*(c.to_pylist() for c in columns), strict=True)) if columns else [()] * count


def _hash(*labels: Any) -> int:
    return int.from_bytes(hashlib.blake2b(repr(labels).encode(), digest_size=8).digest())


def _merged(table: Stored, written: pa.Table) -> pa.Table:
    """The rows as they are read: of one key and time one, unless the table is append-only.

    The last one written, or, with `merge_mode` last_non_null, of each field the last value that is not null.
    """
    if table.is_append_only or not len(written):
        return written
    identity = [*table.key, table.time]
    place = {name: i for i, name in enumerate(written.column_names)}
    fields = [i for name, i in place.items() if name not in identity]
    keep_values = table.options.get("merge_mode") == "last_non_null"
    # Python knows neither nanoseconds nor all years.
    kinds = [pa.int64() if pa.types.is_timestamp(f.type) else f.type for f in written.schema]
    plain = pa.table([c.cast(k) for c, k in zip(written.columns, kinds, strict=True)], names=written.column_names)
    rows: dict[tuple[Any, ...], list[Any]] = {}
    for values in _tuples(plain.columns, len(plain)):
        key = tuple(values[place[name]] for name in identity)
        before = rows.get(key)
        row = list(values)
        if before is not None and keep_values:
            for i in fields:
                row[i] = before[i] if row[i] is None else row[i]
        rows[key] = row
    columns = list(zip(*rows.values(), strict=True))
    arrays = [
        pa.array(values, kept.type).cast(f.type)
        for values, kept, f in zip(columns, plain.schema, written.schema, strict=True)
    ]
    return pa.table(arrays, schema=written.schema)


def _series_estimate(table: Stored, rows: pa.Table) -> int:
    """What `num_series` of a file says: see src/mito2/src/sst.rs, SeriesEstimator."""
    if not len(rows):
        return 0
    order = pc.sort_indices(rows, sort_keys=[(name, "ascending") for name in (*table.key, table.time)])
    times = rows.column(table.time).take(order).cast(pa.int64()).to_pylist()
    return 1 + sum(later <= earlier for earlier, later in itertools.pairwise(times))
