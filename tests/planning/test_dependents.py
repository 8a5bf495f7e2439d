"""What depends on a table of PostgreSQL, SQLite or DuckDB when its columns change: carried over, or named before."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from tests.builders import NOW
from tests.databases import Dataset
from tests.planning.careful import carry_out
from tests.planning.test_sql_changes import NOWHERE, Place, place, planned
from tests.rules.cases import dataset, hosts, table
from tsaudit.model.change import ChangeType, Rename, SplitMeasurement

__all__ = ["place"]

READINGS = dataset(
    table("readings", hosts(2), {"v": "string", "w": "float"}, lambda s, r: {"v": f"{r}.5", "w": 1.0}, rows=4)
)
FIRST = NOW - timedelta(days=2)


def _carried_out(where: Place, *changes: Any) -> list[str]:
    plan = planned(where, *changes)
    return carry_out(plan, where.execute, FIRST, NOW).named


def test_views_and_triggers_are_there_again(place: Callable[[Dataset], Place]) -> None:
    where = place(READINGS)
    name, schema = where.named("readings"), where.measurement.database
    view, above = where.named("of v"), where.named("above")
    where.execute(f"CREATE VIEW {view} AS SELECT v, host FROM {name}")
    where.execute(f"CREATE VIEW {above} AS SELECT count(v) AS n FROM {view}")
    if where.engine == "sqlite":
        where.execute(f"CREATE TRIGGER tr AFTER UPDATE OF v ON {name} BEGIN SELECT new.v; END")
    if where.engine == "postgresql":
        where.execute(f"GRANT SELECT ON {view} TO tsaudit")
        where.execute(f"COMMENT ON VIEW {view} IS 'it''s read'")
        where.execute(f'CREATE FUNCTION "{schema}".f() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NEW; END$$')
        where.execute(f'CREATE TRIGGER tr BEFORE UPDATE OF v ON {name} FOR EACH ROW EXECUTE FUNCTION "{schema}".f()')
    named = _carried_out(where, ChangeType(NOWHERE, "v", "float"))
    assert {"of v", "above"} <= {n.rpartition(".")[2].removeprefix("view ").strip('"') for n in named}, named
    seen = sorted(v for v, _ in where.execute(f"SELECT v, host FROM {view}"))
    assert seen == [0.5, 0.5, 1.5, 1.5, 2.5, 2.5, 3.5, 3.5]
    assert where.execute(f"SELECT n FROM {above}") == [(8,)]
    if where.engine != "duckdb":
        assert any("trigger tr" in n for n in named)
    if where.engine == "postgresql":
        assert where.execute("SELECT count(*) FROM pg_trigger WHERE tgname = 'tr' AND NOT tgisinternal") == [(1,)]
        assert where.execute(f"SELECT has_table_privilege('tsaudit', '{view}', 'SELECT')") == [(True,)]
        assert where.execute(f"SELECT obj_description('{view}'::regclass)") == [("it's read",)]


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_everything_else_is_carried_over_or_named(place: Any) -> None:
    where = place(READINGS)
    name, schema = where.named("readings"), where.measurement.database
    for statement in (
        f"ALTER TABLE {name} ALTER COLUMN v SET DEFAULT '0'",
        f"ALTER TABLE {name} ADD CONSTRAINT shown CHECK (v <> 'never')",
        f"ALTER TABLE {name} ADD COLUMN twice TEXT GENERATED ALWAYS AS (v || v) STORED",
        f"COMMENT ON COLUMN {name}.v IS 'volts'",
        f"GRANT SELECT (v) ON {name} TO tsaudit",
        f"CREATE POLICY mine ON {name} FOR SELECT TO tsaudit USING (v IS NOT NULL)",
        f"CREATE STATISTICS {where.named('s')} ON v, w FROM {name}",
        f'CREATE TABLE "{schema}".known (v TEXT PRIMARY KEY)',
        f'INSERT INTO "{schema}".known SELECT DISTINCT v FROM {name}',
        f'ALTER TABLE {name} ADD FOREIGN KEY (v) REFERENCES "{schema}".known',
    ):
        where.execute(statement)
    read = next(m for m in where.profile().measurements if m.name == "readings")
    assert any(f.key == "v" for f in read.fields) or any(t.key == "v" for t in read.tags)
    named = "\n".join(_of_readings(where, ChangeType(NOWHERE, "v", "float")))
    for what in ("default of v", "shown", "twice", "comment on v", "grant on v", "policy mine", ".s", "FOREIGN KEY"):
        assert what in named, what
    kept = where.execute(f"SELECT count(twice), count(v) FROM {name}")
    assert kept == [(8, 8)]
    assert where.execute(f"SELECT col_description('{name}'::regclass, attnum) FROM pg_attribute "
                         f"WHERE attrelid = '{name}'::regclass AND attname = 'v'") == [("volts",)]  # fmt: skip
    assert where.execute(f"SELECT has_column_privilege('tsaudit', '{name}', 'v', 'SELECT')") == [(True,)]


def _of_readings(where: Place, *changes: Any) -> list[str]:
    from tsaudit.model.finding import Severity
    from tsaudit.model.subject import Subject
    from tsaudit.planning.merging import Wanted
    from tsaudit.planning.plans import _plan

    profile = where.profile()
    here = next(m for m in profile.measurements if m.name == "readings")
    at = Subject(here.database, here.name)
    own = [type(c)(**{f: getattr(c, f) for f in c.__dataclass_fields__} | {"at": at}) for c in changes]
    plan = _plan(profile, at, here, [Wanted(c, "X", Severity.WARN) for c in own])
    return carry_out(plan, where.execute, FIRST, NOW).named


@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_columns_of_the_partition_key_stay(place: Any) -> None:
    parts = [f"FOR VALUES WITH (MODULUS 2, REMAINDER {n})" for n in range(2)]
    where = place(
        dataset(
            table("t", hosts(2), {"v": "string"}, lambda s, r: {"v": "1"}, key=False, partition_by="HASH (v)",
                  partitions=parts)
        )
    )  # fmt: skip
    plan = planned(where, ChangeType(NOWHERE, "v", "integer"))
    carry_out(plan, where.execute, FIRST, NOW)
    assert any("partitions" in step.words for step in plan.steps)
    assert "v" in where.measurement.columns


@pytest.mark.parametrize("change", [Rename(NOWHERE, "", "values_read"), SplitMeasurement(NOWHERE, "events", ("w",))])
def test_a_view_that_would_break_is_named(place: Callable[[Dataset], Place], change: Any) -> None:
    where = place(READINGS)
    where.execute(f"CREATE VIEW {where.named('seen')} AS SELECT w FROM {where.named('readings')}")
    looks = [s for s in planned(where, change).steps if "afterward" in s.text]
    if where.engine == "postgresql" and isinstance(change, Rename):
        assert not looks, "views follow the table"
        return
    (look,) = looks
    assert any("seen" in row[0] for row in where.execute(look.text))
