"""What is advised about tables of PostgreSQL alone: partitions, retention, views, and who has to wait."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tests.builders import NOW, a_count, a_measurement, a_place, a_profile
from tests.collecting import collected
from tests.databases import Dataset, write
from tests.engines.postgresql.timescaledb import Timescaledb
from tests.planning.places import split
from tests.rules.cases import dataset, hosts, run_rule, table
from tests.servers import Postgresql
from tsaudit.analysis.partition_ranges import next_ranges
from tsaudit.config.settings import Target
from tsaudit.engines.postgresql.advice import PostgresqlAdvice, dependents
from tsaudit.model.change import AddIndex, AddPartitions, Change, ChangeType, DropIndex, SetRetention
from tsaudit.model.figures import FOREVER, Subject
from tsaudit.model.plan import Step, StepKind
from tsaudit.model.profile import Profile
from tsaudit.model.storage import Partition, Partitioning, Retention
from tsaudit.rules.retention.unbounded_retention import unbounded_retention

Advise = Callable[..., PostgresqlAdvice]


@pytest.fixture
def advise(postgresql: Postgresql) -> Advise:
    def made(data: Dataset, *changes: Change, name: str = "t") -> PostgresqlAdvice:
        profile = collected(write(data, "postgresql", postgresql))
        return _advice(profile, name, *changes)

    return made


def _advice(profile: Profile, name: str, *changes: Change) -> PostgresqlAdvice:
    here = next(m for m in profile.measurements if m.name == name)
    at = Subject(here.database, here.name)
    return PostgresqlAdvice(a_place(profile, here.database, here), [replace(change, at=at) for change in changes])


def _run(postgresql: Postgresql, step: Step | None) -> list[Any]:
    """The rows of its last statement."""
    assert step is not None
    assert step.language == "sql"
    rows = list[Any]()
    with postgresql.connect() as connection:
        for statement in split(step.text):
            answer = connection.execute(statement.encode())
            rows = answer.fetchall() if answer.description else []
    return rows


def test_no_writer_waits_for_the_index_of_a_partitioned_table(postgresql: Postgresql, advise: Advise) -> None:
    parts = [f"FOR VALUES WITH (MODULUS 2, REMAINDER {n})" for n in range(2)]
    name = "x" * 60
    data = dataset(table(name, hosts(4), key=False, partition_by="HASH (host)", partitions=parts))
    schema = advise(data, AddIndex(Subject(), ("time",)), name=name).schema()
    assert schema is not None
    assert schema.text.count("CREATE INDEX CONCURRENTLY") == 2
    assert schema.text.count("ATTACH PARTITION") == 2
    _run(postgresql, schema)
    valid = postgresql.rows(f"SELECT indisvalid FROM pg_index WHERE indrelid = '{_table(schema)}'::regclass")
    assert valid == [(True,)]


def _table(step: Step) -> str:
    return step.text.partition(" ON ONLY ")[2].partition(" USING")[0].strip()


def test_the_index_of_many_partitions_is_a_pattern(postgresql: Postgresql, advise: Advise) -> None:
    parts = [f"FOR VALUES WITH (MODULUS 9, REMAINDER {n})" for n in range(9)]
    data = dataset(table("t", hosts(4), key=False, partition_by="HASH (host)", partitions=parts))
    schema = advise(data, AddIndex(Subject(), ("time",))).schema()
    assert schema is not None
    assert schema.text.endswith("-- the last two statements for each of the 9 partitions")
    assert schema.text.count("\n") == 9
    _run(postgresql, replace(schema, text="\n".join(schema.text.splitlines()[:-1])))


def test_the_index_of_a_partitioned_table_is_dropped_with_a_lock(postgresql: Postgresql, advise: Advise) -> None:
    parts = [f"FOR VALUES WITH (MODULUS 2, REMAINDER {n})" for n in range(2)]
    data = dataset(table("t", hosts(4), key=False, partition_by="HASH (host)", partitions=parts, indexes=(("usage",),)))
    advice = advise(data)
    (index,) = advice.place.here.indexes or ()
    schema = replace(advice, changes=[DropIndex(Subject(), index.name)]).schema()
    assert schema is not None
    assert "CONCURRENTLY" not in schema.text
    assert schema.locks == "all readers and writers of the table, briefly (ACCESS EXCLUSIVE)"
    _run(postgresql, schema)
    refused = schema.text.replace("DROP INDEX", "DROP INDEX CONCURRENTLY")
    with pytest.raises(psycopg.Error):
        _run(postgresql, replace(schema, text=refused))


def test_what_waits_for_an_index_that_is_created_beside_writers(postgresql: Postgresql, advise: Advise) -> None:
    """Who waits is what the step says: another schema change, and no writer."""
    schema = advise(dataset(table("t", hosts(2), key=False)), AddIndex(Subject(), ("usage",))).schema()
    assert schema is not None
    name = schema.text.partition(" ON ")[2].partition(" (")[0]
    held = threading.Thread(target=_run, args=(postgresql, schema))
    with postgresql.connect() as writer:
        # A transaction that writes keeps the index from being finished, so that its locks can be seen.
        writer.execute("BEGIN")
        writer.execute(f"INSERT INTO {name} (time, host) VALUES (now(), 'x')".encode())
        held.start()
        locks = f"SELECT mode FROM pg_locks WHERE relation = '{name}'::regclass AND pid <> pg_backend_pid()"
        modes: set[str] = set()
        while "ShareUpdateExclusiveLock" not in modes:
            modes = {mode for (mode,) in postgresql.rows(locks)}
        with postgresql.connect() as other:
            other.execute("SET lock_timeout = '5s'")
            other.execute(f"INSERT INTO {name} (time, host) VALUES (now(), 'y')".encode())
            other.execute("SET lock_timeout = '1ms'")
            with pytest.raises(psycopg.errors.LockNotAvailable):
                other.execute(f"ALTER TABLE {name} ADD COLUMN z TEXT".encode())
        writer.execute("COMMIT")
    held.join()
    assert schema.locks.startswith("VACUUM and schema changes of the table (SHARE UPDATE EXCLUSIVE)")


# --- Types and views --------------------------------------------------------------------------------------------------


def test_views_that_keep_a_column_are_found_first(postgresql: Postgresql, advise: Advise) -> None:
    data = dataset(
        table("t", hosts(2), {"v": "string", "w": "float"}, lambda s, r: {"v": f"{r}.5", "w": 1.0}, rows=4, key=False)
    )
    advice = advise(data, ChangeType(Subject(), "v", "float"))
    schema, find = advice.place.database, advice.find()
    postgresql.execute(f'CREATE VIEW "{schema}"."of v" AS SELECT v FROM "{schema}".t')
    postgresql.execute(f'CREATE MATERIALIZED VIEW "{schema}".seen AS SELECT count(v) FROM "{schema}".t')
    postgresql.execute(f'CREATE VIEW "{schema}".other AS SELECT w FROM "{schema}".t')
    assert find is not None
    assert find.kind is StepKind.FIND
    found = [(view, column) for view, column in _run(postgresql, find)]
    assert found == [(f'{schema}."of v"', "v"), (f"{schema}.seen", "v")]
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        _run(postgresql, advice.schema())
    postgresql.execute(f'DROP VIEW "{schema}"."of v"')
    postgresql.execute(f'DROP MATERIALIZED VIEW "{schema}".seen')
    _run(postgresql, advice.schema())
    assert postgresql.rows(f'SELECT sum(v) FROM "{schema}".t') == [(16.0,)]


def test_views_of_a_name_that_needs_quotes(postgresql: Postgresql) -> None:
    schema = postgresql.new_schema("""CREATE TABLE "it's" ("a'b" TEXT)""", """CREATE VIEW v AS SELECT * FROM "it's" """)
    place = a_place(a_profile(engine="postgresql"), schema, a_measurement("it's", database=schema))
    assert postgresql.rows(dependents(place, ["a'b"])) == [(f"{schema}.v", "a'b")]


# --- Retention --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["timestamp", "integer", "string"])
def test_old_rows_are_deleted_by_one_statement(postgresql: Postgresql, kind: str) -> None:
    types = {"timestamp": "TIMESTAMPTZ", "integer": "BIGINT", "string": "TEXT"}
    value = {
        "timestamp": "now() - i * INTERVAL '1 day'",
        "integer": "extract(EPOCH FROM now())::BIGINT - i * 86400",
        "string": "to_char(now() - i * INTERVAL '1 day', 'YYYY-MM-DD HH24:MI:SSOF')",
    }
    schema = postgresql.new_schema(
        f"CREATE TABLE t (time {types[kind]}, v FLOAT)",
        f"INSERT INTO t SELECT {value[kind]}, i FROM generate_series(0, 99) AS i",
    )
    here = a_measurement("t", database=schema, time_type=types[kind].lower())
    profile = a_profile(here, engine="postgresql")
    advice = _advice(profile, "t", SetRetention(Subject(), timedelta(days=30)))
    stored = advice.stored()
    assert advice.schema() is None
    assert stored is not None
    assert stored.loses == "all rows older than 30 days"
    _run(postgresql, stored)
    assert postgresql.rows(f"SELECT count(*), max(v) FROM {schema}.t") in ([(30, 29.0)], [(31, 30.0)])
    verify = advice.verify()
    assert verify is not None
    assert "no row should be older than 30 days" in verify.words


def test_partitions_are_dropped_instead_of_rows() -> None:
    cut = Partitioning(("time",), 1, (Partition("a", "", 1, 1),))
    here = a_measurement("t", partitioning=cut)
    stored = _advice(a_profile(here, engine="postgresql"), "t", SetRetention(Subject(), timedelta(days=30))).stored()
    assert stored is not None
    assert not stored.text
    assert stored.words.startswith("Detach and drop the partitions of t that are older than 30 days")


def test_partitions_of_another_schema_get_their_indexes_and_followers_there(postgresql: Postgresql) -> None:
    kept = postgresql.new_schema()
    ranges = ("'2026-01-01') TO ('2026-02-01'", "'2026-02-01') TO ('2026-03-01'")
    schema = postgresql.new_schema(
        "CREATE TABLE t (time TIMESTAMPTZ, host TEXT, v FLOAT) PARTITION BY RANGE (time)",
        f"CREATE TABLE {kept}.t_2026_01 PARTITION OF t FOR VALUES FROM ({ranges[0]})",
        f"CREATE TABLE {kept}.t_2026_02 PARTITION OF t FOR VALUES FROM ({ranges[1]})",
    )
    target = Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,))
    profile = collected(target)
    (here,) = profile.measurements
    assert here.partitioning is not None
    following = next_ranges("t", here.partitioning.partitions, 1)
    (found,) = {one.schema for one in following}
    added = AddPartitions(Subject(), tuple((one.name, one.bounds) for one in following), found)
    for change in (AddIndex(Subject(), ("host", "time")), added):
        _run(postgresql, _advice(profile, "t", change).schema())
    made = postgresql.rows(
        "SELECT relname, relnamespace::regnamespace::TEXT FROM pg_class "
        f"WHERE oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = '{schema}.t'::REGCLASS) ORDER BY 1"
    )
    assert made == [(f"t_2026_0{month}", kept) for month in (1, 2, 3)]
    valid = f"SELECT indisvalid FROM pg_index WHERE indrelid = '{schema}.t'::REGCLASS"
    assert postgresql.rows(valid) == [(True,)], "each partition has its index"


# --- TimescaleDB ------------------------------------------------------------------------------------------------------


def test_policies_of_hypertables(timescaledb: Timescaledb) -> None:
    profile = collected(timescaledb.target)
    change = SetRetention(Subject(), timedelta(days=365), "drop_after")
    texts = {name: _advice(profile, name, change).schema() for name in ("spread", "epochs")}
    found = {name: step.text for name, step in texts.items() if step is not None}
    assert found == {
        "spread": """SELECT add_retention_policy('"metrics"."spread"', drop_after => INTERVAL '365 days');""",
        "epochs": """SELECT add_retention_policy('"metrics"."epochs"', drop_after => BIGINT '31536000');""",
    }
    assert {f.subject.measurement for f in run_rule(unbounded_retention, profile).findings} == {"spread", "epochs"}
    if not timescaledb.is_real:
        pytest.skip("only the extension itself takes its statements")
    with timescaledb.connect() as connection, connection.transaction(force_rollback=True):
        connection.execute("CREATE FUNCTION metrics.now_s() RETURNS BIGINT LANGUAGE SQL STABLE AS 'SELECT 0::BIGINT'")
        connection.execute("SELECT set_integer_now_func('metrics.epochs', 'metrics.now_s')")
        for text in found.values():
            connection.execute(text.encode())


def test_the_index_of_a_hypertable_is_made_chunk_by_chunk() -> None:
    held = Retention("drop_after", FOREVER, 86_400, default=True)
    here = a_measurement("t", retention=held, rows=a_count(5), last_time=NOW)
    profile = a_profile(here, engine="postgresql")
    schema = _advice(profile, "t", AddIndex(Subject(), ("host", "time"))).schema()
    assert schema is not None
    assert schema.text == ('CREATE INDEX ON "main"."t" ("host", "time") WITH (timescaledb.transaction_per_chunk);')
    assert schema.locks == "writers of one chunk at a time"
    gone = _advice(profile, "t", DropIndex(Subject(), "t_host_idx"))
    assert gone.drop_index("t_host_idx") == 'DROP INDEX "main"."t_host_idx";'
