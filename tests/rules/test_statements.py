"""Proposed statements, run on real engines."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import duckdb
import pytest

from tests.builders import a_field, a_measurement, a_profile, a_tag
from tests.databases import influxql, write
from tests.rules.cases import dataset, table
from tests.servers import Influxd
from tsaudit.rule import Case, LimitPolicy
from tsaudit.rules import all_rules
from tsaudit.statements import copy_without_tags, rename
from tsaudit.timeline import Timeline

HOSTILE = 'or"der, by'
MEASUREMENT = a_measurement(HOSTILE, tags=(a_tag("gr'oup"), a_tag("user")), fields=(a_field('us"age'),))
DATA = dataset(
    table(
        HOSTILE,
        [{"gr'oup": "a", "user": f"u{i}"} for i in range(3)],
        {'us"age': "float"},
        lambda s, r: {'us"age': s + 0.5},
    )
)


def _case(engine: str) -> Case:
    return Case(all_rules()[0], a_profile(MEASUREMENT, engine=engine), Timeline(), LimitPolicy())


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_rename_when_run_on_sql(engine: str, tmp_path: Path) -> None:
    file = tmp_path / "t.db"
    write(DATA, engine, file)
    connection = duckdb.connect(str(file)) if engine == "duckdb" else sqlite3.connect(file)
    if engine == "duckdb":  # it refuses to alter what a key depends on
        connection.execute('CREATE TABLE copied AS SELECT * FROM "or""der, by"')
        connection.execute('DROP TABLE "or""der, by"')
        connection.execute('ALTER TABLE copied RENAME TO "or""der, by"')
    for name, new in (("gr'oup", "group_name"), ('us"age', "usage"), (HOSTILE, "orders")):
        connection.execute(rename(_case(engine), MEASUREMENT, name, new))
    assert len(connection.execute("SELECT group_name, usage FROM orders").fetchall()) == 6
    connection.close()


def test_statements_when_run_on_influxdb(influxd: Influxd) -> None:
    target = write(DATA, "influxdb1", influxd.url)
    case, database = _case("influxdb1"), target.databases[0]

    def run(statement: str) -> None:
        # The data is older than the day the statement is about.
        influxql(influxd.url, statement.replace("time >= now() - 1d", "time >= 0"), db=database)

    run(copy_without_tags(case, MEASUREMENT, {"user"}))
    answer = influxql(influxd.url, f'SHOW SERIES FROM "{HOSTILE.replace(chr(34), chr(92) + chr(34))}_new"', db=database)
    assert len(answer["results"][0]["series"][0]["values"]) == 1
    run(copy_without_tags(case, MEASUREMENT, {"user", "gr'oup"}))
    run(rename(case, MEASUREMENT, HOSTILE, "orders"))
    run(rename(case, MEASUREMENT, 'us"age', "usage"))
    assert len(influxql(influxd.url, "SHOW SERIES FROM orders", db=database)["results"][0]["series"][0]["values"]) == 3
    assert "read the points" in rename(case, MEASUREMENT, "user", "customer")
