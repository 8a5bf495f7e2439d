"""Labels in a map, an object or a list are tags; what cannot be read is a gap, and payloads are left alone."""

from __future__ import annotations

import itertools
import json
import sqlite3
import uuid
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

from tests.collecting import collected
from tests.servers import Postgresql, missing
from tsaudit.config.settings import Columns, Target
from tsaudit.evaluation import evaluate
from tsaudit.model.figures import How, Reason
from tsaudit.model.finding import Outcome
from tsaudit.model.profile import Measurement, Profile

_numbers = itertools.count()
ROWS = 600


def _only(profile: Profile) -> Measurement:
    (found,) = profile.measurements
    return found


def _hidden(profile: Profile) -> list[str]:
    return [g.detail for g in profile.gaps if g.fact == "series_listing" and g.reason is Reason.UNSUPPORTED]


def _labels(i: int) -> dict[str, str]:
    return {"pod": f"api-{i % 60}", "zone": f"z{i % 3}"}


Made = Callable[..., Target]


@pytest.fixture
def in_duckdb(tmp_path: Path) -> Made:
    """A table `t` of time, host, v and one column of the type, with a value a row as DuckDB's own text; its target."""

    def make(kind: str, values: list[str], **settings: Any) -> Target:
        path = tmp_path / f"made{next(_numbers)}.db"
        with duckdb.connect(str(path)) as connection:
            connection.execute(f"CREATE TABLE t (time TIMESTAMP, host VARCHAR, v DOUBLE, packed {kind})")
            rows = ", ".join(
                f"(TIMESTAMP '2026-03-30 00:00:00' + INTERVAL {i} SECOND, 'h{i % 3}', {i}.5, {value})"
                for i, value in enumerate(values)
            )
            connection.execute(f"INSERT INTO t VALUES {rows}")
        return Target(name="t", engine="duckdb", url=f"duckdb:///{path}", **settings)

    return make


@pytest.fixture
def in_postgresql(postgresql: Postgresql) -> Made:
    """The same for PostgreSQL; each value a text."""

    def make(kind: str, values: list[str], *, also: str = "", **settings: Any) -> Target:
        schema = f"hidden_{next(_numbers)}"
        with postgresql.connect() as connection:
            for statement in (f"CREATE SCHEMA {schema}", f"SET search_path = {schema}, public", also):
                if statement:
                    connection.execute(statement.encode())
            connection.execute(
                f"CREATE TABLE t (time TIMESTAMPTZ, host TEXT, v DOUBLE PRECISION, packed {kind})".encode()
            )
            insert = (
                f"INSERT INTO t VALUES (TIMESTAMPTZ '2026-03-30 00:00+00' + %s * INTERVAL '1 s', %s, 1.5, %s::{kind})"
            )
            with connection.cursor() as cursor:
                cursor.executemany(insert.encode(), [(i, f"h{i % 3}", value) for i, value in enumerate(values)])
            connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO tsaudit".encode())
            connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO tsaudit".encode())
        return Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,), **settings)

    return make


DUCKDB = {
    "MAP(VARCHAR, VARCHAR)": lambda one: f"MAP {one}",
    "STRUCT(pod VARCHAR, zone VARCHAR)": str,
    "JSON": lambda one: f"'{json.dumps(one)}'",
    "VARCHAR[]": lambda one: str([f"{k}:{v}" for k, v in one.items()]),
}


def _has_labels(profile: Profile) -> None:
    """60 series that the tag host would show as 3."""
    assert profile.gaps == ()
    t = _only(profile)
    assert t.series is not None
    assert (t.series.value, t.series.source.how) == (60, How.EXACT)
    assert {tag.key: tag.values and tag.values.value for tag in t.tags} == {
        "host": 3,
        "packed.pod": 60,
        "packed.zone": 3,
    }
    assert {tag.label_of for tag in t.tags} == {"", "packed"}
    assert t.columns == ("time", "host", "packed", "v")
    outcomes = {r.code: r.outcome for r in evaluate(profile).results}
    assert outcomes["CAR001"] is Outcome.PASS


@pytest.mark.parametrize("kind", DUCKDB)
def test_labels_in_duckdb(kind: str, in_duckdb: Made) -> None:
    _has_labels(collected(in_duckdb(kind, [DUCKDB[kind](_labels(i)) for i in range(ROWS)])))


def test_labels_in_sqlite(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        connection.execute("CREATE TABLE t (time TEXT, host TEXT, v REAL, packed JSON)")
        rows = [
            (f"2026-03-30 00:{i // 60:02}:{i % 60:02}", f"h{i % 3}", i / 7, json.dumps(_labels(i))) for i in range(ROWS)
        ]
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
        connection.commit()
    _has_labels(collected(Target(name="t", engine="sqlite", url=f"sqlite:///{tmp_path / 't.db'}")))


POSTGRESQL = {
    "jsonb": lambda one: json.dumps(one),
    "json": lambda one: json.dumps(one),
    "text[]": lambda one: "{" + ",".join(f"{k}={v}" for k, v in one.items()) + "}",
}


@pytest.mark.parametrize("kind", POSTGRESQL)
def test_labels_in_postgresql(kind: str, in_postgresql: Made) -> None:
    _has_labels(collected(in_postgresql(kind, [POSTGRESQL[kind](_labels(i)) for i in range(ROWS)])))


@pytest.mark.parametrize("schema", ["public", "elsewhere"])
def test_labels_in_hstore(schema: str, in_postgresql: Made, postgresql: Postgresql) -> None:
    values = [", ".join(f'"{k}"=>"{v}"' for k, v in _labels(i).items()) for i in range(ROWS)]
    also = (
        f"CREATE SCHEMA IF NOT EXISTS {schema}; GRANT USAGE ON SCHEMA {schema} TO tsaudit; "
        f"CREATE EXTENSION IF NOT EXISTS hstore SCHEMA public; ALTER EXTENSION hstore SET SCHEMA {schema}"
    )
    try:
        target = in_postgresql(f"{schema}.hstore", values, also=also)
    except (psycopg.errors.FeatureNotSupported, psycopg.errors.UndefinedFile):
        missing("this PostgreSQL comes without the hstore extension")
    try:
        _has_labels(collected(target))
    finally:  # other tests on this server expect it where PostgreSQL's documentation has it
        postgresql.execute("ALTER EXTENSION hstore SET SCHEMA public")


def test_odd_names_of_labels(in_duckdb: Made, in_postgresql: Made) -> None:
    """None of them is lost, and none of them is read as a part of the statement."""
    names = ("it's", 'a"b', "a.b", "größe", "x' || 'y", "$", "a b")
    texts = [json.dumps({name: f"v{(i + n) % 5}" for n, name in enumerate(names)}) for i in range(ROWS)]
    for target in (
        in_duckdb("JSON", [f"'{text.replace(chr(39), chr(39) * 2)}'" for text in texts]),
        in_postgresql("jsonb", texts),
    ):
        profile = collected(target)
        assert profile.gaps == ()
        labels = {tag.key: tag.values and tag.values.value for tag in _only(profile).tags if tag.label_of}
        assert labels == {f"packed.{name}": 5 for name in names}


def test_a_label_that_is_called_a_field_is_none(in_duckdb: Made) -> None:
    chosen = Columns(fields=("packed.pod",))
    values = [f"'{json.dumps(_labels(i))}'" for i in range(ROWS)]
    profile = collected(in_duckdb("JSON", values, columns={"t": chosen}))
    assert profile.gaps == ()
    t = _only(profile)
    assert [tag.key for tag in t.tags] == ["host", "packed.zone"]
    assert t.series is not None
    assert t.series.value == 3


@pytest.mark.parametrize("kind", ["JSON", "MAP(VARCHAR, VARCHAR)"])
def test_labels_of_which_some_are_rare(kind: str, in_duckdb: Made) -> None:
    sets = [_labels(i) | ({"debug": "yes"} if i % 100 == 0 else {}) for i in range(ROWS)]
    profile = collected(in_duckdb(kind, [DUCKDB[kind](one) for one in sets]))
    (detail,) = _hidden(profile)
    assert "distinct sets of pod, zone in 600 rows" in detail
    assert ("{tags: [packed]}" in detail) == (kind != "JSON")
    assert "{fields: [packed]}" in detail
    t = _only(profile)
    assert t.series is not None
    assert (t.series.value, t.series.source.how) == (3, How.ESTIMATE)
    outcomes = {r.code: r.outcome for r in evaluate(profile).results}
    assert outcomes["CAR001"] is Outcome.OPEN


def test_too_many_labels(in_duckdb: Made) -> None:
    sets = [{f"k{n}": f"v{i % 4}" for n in range(33)} for i in range(ROWS)]
    assert len(_hidden(collected(in_duckdb("JSON", [f"'{json.dumps(one)}'" for one in sets])))) == 1


PAYLOADS = {
    "an id each": lambda i: {"request": str(uuid.UUID(int=i)), "action": "click"},
    "measured": lambda i: {"item": f"i{i % 9}", "total": i / 7},
    "nested": lambda i: {"user": {"name": f"u{i % 5}"}, "action": "click"},
    "one for all": lambda i: {"app": "shop"},
    "coordinates": lambda i: {"x": i % 5, "y": i % 7},
}


@pytest.mark.costly
@pytest.mark.parametrize("name", PAYLOADS)
def test_payloads_are_left_alone(name: str, in_duckdb: Made, in_postgresql: Made) -> None:
    texts = [json.dumps(PAYLOADS[name](i)) for i in range(ROWS)]
    for target in (in_duckdb("JSON", [f"'{text}'" for text in texts]), in_postgresql("jsonb", texts)):
        profile = collected(target)
        assert profile.gaps == ()
        series = _only(profile).series
        assert series is not None
        assert (series.value, series.source.how) == (3, How.EXACT)


def test_more_label_sets_than_rows_were_read(in_duckdb: Made) -> None:
    """Each set is read once: beside measured numbers that is a table of metrics, whole only when all rows were read."""
    values = [f"'{json.dumps({'id': f's{i}'})}'" for i in range(ROWS)]
    assert len(_hidden(collected(in_duckdb("JSON", values, budget={"max_rows": 200})))) == 1
    assert _hidden(collected(in_duckdb("JSON", values))) == []


@pytest.mark.parametrize(("chosen", "series"), [(Columns(tags=("packed",)), 60), (Columns(fields=("packed",)), 3)])
def test_both_ways_out_that_the_gap_names(chosen: Columns, series: int, in_duckdb: Made, in_postgresql: Made) -> None:
    pairs = [_labels(i) for i in range(ROWS)]
    for target in (
        in_duckdb("MAP(VARCHAR, VARCHAR)", [f"MAP {one}" for one in pairs], columns={"t": chosen}),
        in_postgresql("jsonb", [json.dumps(one) for one in pairs], columns={"t": chosen}),
    ):
        profile = collected(target)
        assert profile.gaps == ()
        found = _only(profile).series
        assert found is not None
        assert (found.value, found.source.how) == (series, How.EXACT)
