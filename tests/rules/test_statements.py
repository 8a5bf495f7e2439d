"""Proposed statements, run on real engines."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from pathlib import Path

import duckdb
import pytest
import urllib3

from tests.asking import filled
from tests.builders import a_field, a_measurement, a_profile, a_tag
from tests.collecting import collected
from tests.databases import influxql, write
from tests.engines.influxdb2.conversations import Conversation
from tests.rules.cases import dataset, table
from tests.servers import Influxd, Postgresql
from tsaudit.advice.statements import copy_without_tags, rename
from tsaudit.engines.opening import open_connection
from tsaudit.model.timeline import Timeline
from tsaudit.rule import Case, LimitPolicy
from tsaudit.rules import all_rules

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


def test_statements_when_run_on_postgresql(postgresql: Postgresql) -> None:
    target = write(DATA, "postgresql", postgresql)
    case = _case("postgresql")
    (schema,) = target.databases
    measurement = dataclasses.replace(MEASUREMENT, database=schema)
    with postgresql.connect() as connection:

        def run(statement: str) -> None:
            connection.execute(statement.encode())

        for name, new in (("gr'oup", "group_name"), ('us"age', "usage"), (HOSTILE, "orders")):
            run(rename(case, measurement, name, new))
        assert len(connection.execute(f"SELECT group_name, usage FROM {schema}.orders".encode()).fetchall()) == 6


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


def test_statements_when_run_on_influxdb2(influxdb2: Conversation) -> None:
    target = write(DATA, "influxdb2", influxdb2)
    measurement = dataclasses.replace(MEASUREMENT, database=target.databases[0])
    case = _case("influxdb2")
    with open_connection(target) as connection:
        list(connection.query("databases", 60, filled("databases")))
        org = vars(connection)["_known"].buckets[measurement.database].org_id

        def run(statement: str) -> None:
            # The data is older than the day the statement is about.
            body = json.dumps({"query": statement.replace("range(start: -1d)", "range(start: 0)"), "type": "flux"})
            headers = {"Authorization": f"Token {influxdb2.token}", "Content-Type": "application/json"}
            answer = urllib3.request("POST", f"{influxdb2.url}/api/v2/query?orgID={org}", body=body, headers=headers)
            assert answer.status == 200, answer.data
            assert b"error" not in answer.data

        run(copy_without_tags(case, measurement, {"user"}))
        run(rename(case, measurement, HOSTILE, "orders"))
        run(rename(case, measurement, 'us"age', "usage"))
        run(rename(case, measurement, "user", "customer"))
    found_in = {m.name: m for m in collected(target).measurements}
    copied = found_in[f"{HOSTILE}_new"]
    assert {t.key for t in copied.tags} == {"gr'oup", "user", "customer"}
    assert {f.key: f.types for f in copied.fields} == {
        'us"age': ("float",),
        "usage": ("float",),
        "user": ("string",),
    }
    orders = found_in["orders"]
    assert orders.series is not None
    assert (orders.series.value, [t.key for t in orders.tags]) == (3, ["gr'oup", "user"])
