"""NAM001: reserved words, special characters, and long names."""

from __future__ import annotations

import dataclasses
import sqlite3

import datafusion
import duckdb
import psycopg
import pyarrow as pa
import pytest

from tests.builders import a_field, a_measurement, a_profile, a_tag
from tests.databases import influxql
from tests.rules.cases import Case, dataset, hosts, run_rule, table
from tests.servers import Influxd, Postgresql
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Outcome
from tsaudit.model.profile import Database, Measurement
from tsaudit.rules.names.awkward_name import awkward_name as rule
from tsaudit.rules.names.awkward_name import keywords

LONG = "temperature_in_degrees_celsius_measured_by_the_backup_sensor_of_the_second_floor"


def _long(name: str, engines: frozenset[str]) -> Case:
    return Case(
        breaks=dataset(table("home", hosts(2), {name: "float"}, lambda s, r: {name: s + r / 7})),
        keeps=dataset(
            table("home", hosts(2), {"temperature_celsius": "float"}, lambda s, r: {"temperature_celsius": s + r / 7})
        ),
        subject=Subject("", "home"),
        main_contributor=name,
        engines=engines,
    )


NO_QUOTES = frozenset({"mongodb"})
CUTS_OFF = frozenset({"postgresql"})
"""It keeps 63 bytes of a name."""

CASES = (
    Case(
        breaks=dataset(
            table(
                "m",
                [{"tag@1-23": "a"}, {"tag@1-23": "b"}],
                {"example-field": "float"},
                lambda s, r: {"example-field": s + 0.5},
            )
        ),
        keeps=dataset(table("m", hosts(2), {"value": "float"}, lambda s, r: {"value": s + 0.5})),
        subject=Subject("", "m"),
        engines=rule.engines - NO_QUOTES,
    ),
    Case(
        breaks=dataset(table("orders", [{"group": "a"}, {"group": "b"}])),
        keeps=dataset(table("orders", [{"group_name": "a"}, {"group_name": "b"}])),
        subject=Subject("", "orders"),
        main_contributor="group",
        engines=rule.engines - NO_QUOTES,
    ),
    _long(LONG, rule.engines - CUTS_OFF),
)


def _names(measurement: str = "m", tag: str = "host", field: str = "usage", engine: str = "duckdb") -> Outcome:
    return run_rule(
        rule, a_profile(a_measurement(measurement, tags=(a_tag(tag),), fields=(a_field(field),)), engine=engine)
    ).outcome


@pytest.mark.parametrize("name", ["tag@1-23", "example-field", "9lives", "a b", "a.b", "größe", "a\nb"])
def test_finding_when_a_character_is_special(name: str) -> None:
    for engine in ("duckdb", "sqlite", "influxdb1"):
        assert _names(tag=name, engine=engine) is Outcome.FAIL


@pytest.mark.parametrize("name", ["time", "value", "_value", "Host", "timestamp", "rows"])
def test_silence_when_the_engine_takes_the_name(name: str) -> None:
    for engine in ("duckdb", "sqlite", "influxdb1"):
        assert _names(field=name, engine=engine) is Outcome.PASS


def test_reserved_words_when_engines_differ() -> None:
    assert _names(tag="index", engine="sqlite") is Outcome.FAIL
    assert _names(tag="index", engine="duckdb") is Outcome.PASS
    assert _names(tag="series", engine="influxdb1") is Outcome.FAIL
    assert _names(tag="Order", engine="duckdb") is Outcome.FAIL


def test_reserved_words_of_both_languages_of_influxdb_3() -> None:
    for word in ("select", "top", "Type", "series", "measurement", "between"):
        assert _names(tag=word, engine="influxdb3") is Outcome.FAIL, word
    for word in ("time", "zone", "host", "value", "index"):
        assert _names(tag=word, engine="influxdb3") is Outcome.PASS, word


def test_one_finding_when_several_names_need_quotes() -> None:
    measurement = a_measurement("order", tags=(a_tag("group"),), fields=(a_field("a-b"),))
    (finding,) = run_rule(rule, a_profile(measurement)).findings
    assert finding.observed == 3
    assert finding.message == ("3 awkward names: a-b (contains -), group (reserved word), and order (reserved word).")
    assert finding.fix.startswith('Quote them in every query: "a-b", "group", "order". For what you write next')
    assert finding.changes == ()


def test_one_finding_when_several_measurements_have_some() -> None:
    def named(name: str) -> Measurement:
        return a_measurement(name, tags=(a_tag("group"),), fields=(a_field(f"{name}-b"),))

    (finding,) = run_rule(rule, a_profile(*map(named, ("disk", "mem", "net", "swap")))).findings
    assert finding.message == (
        "5 awkward names: group (reserved word), disk-b (contains -), "
        "mem-b (contains -), net-b (contains -), and swap-b (contains -)."
    )
    assert finding.subject == Subject("main", "disk")
    assert finding.evidence[1].value == "reserved word; in disk, mem, net, and swap"


def test_one_finding_when_a_measurement_is_in_several_retention_policies() -> None:
    def kept(policy: str, *names: str) -> list[Measurement]:
        return [a_measurement(name, database=f"plant{policy}") for name in names]

    profile = a_profile(*kept("", "oil-1"), *kept("/days", "oil-1", "gas-1"), engine="influxdb1")
    databases = (Database("plant"), Database("plant/days", policy_of="plant"))
    found = run_rule(rule, dataclasses.replace(profile, databases=databases)).findings
    assert {str(one.subject) for one in found} == {"plant/oil-1", "plant/days/gas-1"}


def test_names_for_which_quotes_are_not_enough_come_first() -> None:
    hidden = a_measurement("z", fields=(a_field("a\nb"),))
    others = [a_measurement(name, tags=(a_tag("group"),)) for name in "abcdefgh"]
    (finding,) = run_rule(rule, a_profile(*others, hidden)).findings
    assert finding.main_contributor == "a\nb"


def test_silence_when_names_of_measurements_are_to_be_one_anyway() -> None:
    family = [a_measurement(f"cpu.web-{i:02}.eu-west.usage") for i in range(5)]
    assert run_rule(rule, a_profile(*family)).outcome is Outcome.PASS
    assert run_rule(rule, a_profile(*family, a_measurement("a-b"))).findings[0].main_contributor == "a-b"


def test_silence_when_words_of_the_names_are_to_be_tags() -> None:
    rooms = ("küche", "bad", "flur", "büro", "keller")
    names = [f"{room}_{what}" for room in rooms for what in ("temperature", "humidity", "light")]
    profile = a_profile(*map(a_measurement, names), engine="influxdb1")
    assert run_rule(rule, profile).outcome is Outcome.PASS
    (finding,) = run_rule(rule, a_profile(a_measurement(names[0]), engine="influxdb1")).findings
    assert finding.main_contributor == names[0]


def test_database_when_the_engine_has_them_named_by_users() -> None:
    measurement = a_measurement(database="my-db")
    (finding,) = run_rule(rule, a_profile(measurement, engine="influxdb1")).findings
    assert finding.subject == Subject("my-db")
    assert run_rule(rule, a_profile(measurement)).outcome is Outcome.PASS


def _refused_by_duckdb(connection: duckdb.DuckDBPyConnection, word: str) -> bool:
    connection.begin()
    try:
        return any(_fails(connection.execute, s, duckdb.Error) for s in _statements(word))
    finally:
        connection.rollback()


def _refused_by_sqlite(word: str) -> bool:
    connection = sqlite3.connect(":memory:")
    return any(_fails(connection.execute, s, sqlite3.Error) for s in _statements(word))


def _statements(word: str) -> list[str]:
    return [
        f'CREATE TABLE t ("{word}" INTEGER)',
        f"SELECT {word} FROM t WHERE {word} = 7 GROUP BY {word}",
        f'CREATE TABLE "{word}" (a INTEGER)',
        f"SELECT a FROM {word}",
    ]


def _fails(execute: object, statement: str, error: type[Exception]) -> bool:
    assert callable(execute)
    try:
        execute(statement)
    except error:
        return True
    return False


@pytest.mark.full
def test_keywords_when_compared_with_the_installed_duckdb() -> None:
    with duckdb.connect() as connection:
        words = {w for (w,) in connection.execute("SELECT DISTINCT keyword_name FROM duckdb_keywords()").fetchall()}
        assert {w for w in words if _refused_by_duckdb(connection, w)} == keywords("duckdb")


def test_keywords_when_tried_on_the_installed_sqlite() -> None:
    # These name the present instant: accepted, but as something else.
    instants = {"current_date", "current_time", "current_timestamp"}
    assert {w for w in keywords("sqlite") if not _refused_by_sqlite(w)} <= instants
    assert not any(_refused_by_sqlite(w) for w in ("key", "query", "time", "value", "rows", "plan", "view"))


def test_keywords_when_compared_with_the_installed_postgresql(postgresql: Postgresql) -> None:
    words = {word for (word,) in postgresql.rows("SELECT word FROM pg_get_keywords()")}
    refused = set()
    with postgresql.connect() as connection:
        for word in words:
            statements = [s.replace("CREATE TABLE", "CREATE TEMP TABLE") for s in _statements(word)]
            if any(_fails(connection.execute, s, psycopg.Error) for s in statements):
                refused.add(word)
            connection.execute("DISCARD TEMP")
    # Reserved from PostgreSQL 16 on.
    assert refused | {"system_user"} == keywords("postgresql")


def _refused_by_datafusion(word: str) -> bool:
    context = datafusion.SessionContext()
    context.register_record_batches("t", [[pa.record_batch({word: [7], "other": [1]})]])
    context.register_record_batches(f'"{word}"', [[pa.record_batch({"other": [1]})]])
    statements = {
        f"SELECT {word} AS found FROM t": 7,
        f"SELECT other AS found, {word} FROM t WHERE {word} = 7 AND {word} > 1 ORDER BY {word}": 1,
        f"SELECT max({word}) AS found FROM t GROUP BY {word}": 7,
        f"SELECT other AS found FROM t WHERE other = 1 AND {word} IN (7)": 1,
        f"SELECT other AS found FROM {word}": 1,
    }
    for statement, expected in statements.items():
        try:
            found = context.sql(statement).to_pylist()
        except Exception:
            return True
        if [row["found"] for row in found] != [expected]:
            return True
    return False


def test_keywords_of_greptimedb_when_tried_on_the_engine_it_is_built_on() -> None:
    assert {w for w in keywords("greptimedb") if not _refused_by_datafusion(w)} == set()
    assert not any(_refused_by_datafusion(w) for w in ("time", "value", "host", "timestamp", "rows", "key", "user"))


def test_keywords_when_tried_on_a_real_influxdb(influxd: Influxd) -> None:
    accepted = []
    for word in sorted(keywords("influxdb1")):
        try:
            influxql(influxd.url, f"SELECT {word} FROM {word}", db="none")
        except AssertionError as error:
            if "parsing" not in str(error):
                accepted.append(word)
        else:
            accepted.append(word)
    assert accepted == []


def test_silence_when_the_engine_itself_gave_the_name() -> None:
    assert _names(field="measure_value::double", engine="timestream") is Outcome.PASS
    assert _names(field="value::double", engine="timestream") is Outcome.FAIL
    assert _names(tag="order", engine="timestream") is Outcome.FAIL


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("x" * 64, Outcome.PASS),
        ("x" * 65, Outcome.FAIL),
        ("kube_pod_container_status_last_terminated_reason", Outcome.PASS),
        ("温度", Outcome.PASS),
    ],
)
def test_outcome_when_the_name_is_long(name: str, outcome: Outcome) -> None:
    assert run_rule(rule, a_profile(a_measurement(fields=(a_field(name),)), engine="mongodb")).outcome is outcome


def test_one_finding_when_names_are_long_or_need_quotes() -> None:
    measurement = a_measurement("m" * 70, fields=(a_field("order"), a_field("short")))
    (finding,) = run_rule(rule, a_profile(measurement)).findings
    assert finding.message.endswith(f": {'m' * 70} (70 characters) and order (reserved word).")
    (finding,) = run_rule(rule, a_profile(a_measurement("m" * 70))).findings
    assert finding.message.endswith("(70 characters).")
    assert not finding.fix.startswith("Quote")


def test_long_name_of_a_database() -> None:
    (finding,) = run_rule(rule, a_profile(a_measurement(database="d" * 65))).findings
    assert finding.subject == Subject("d" * 65)


def test_silence_when_the_limit_is_raised() -> None:
    profile = a_profile(a_measurement("x" * 100))
    assert run_rule(rule, profile, {"max_length": 100}).outcome is Outcome.PASS
