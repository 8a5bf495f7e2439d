"""Series that hide in a map, an object or a list: a gap for label sets, and no word of an application's payloads."""

from __future__ import annotations

import itertools
import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

from tests.collecting import collected
from tests.servers import Postgresql, missing
from tsaudit.audit import audit
from tsaudit.config.settings import Columns, Target
from tsaudit.model.finding import Outcome
from tsaudit.model.profile import How, Measurement, Profile, Reason

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


@pytest.mark.parametrize("kind", DUCKDB)
def test_labels_in_duckdb(kind: str, in_duckdb: Made) -> None:
    """60 series that the tag host shows as 3."""
    profile = collected(in_duckdb(kind, [DUCKDB[kind](_labels(i)) for i in range(ROWS)]))
    (detail,) = _hidden(profile)
    assert detail.startswith(
        "column packed contains label sets that were not split into tags: 60 distinct sets of pod, zone in 600 rows "
    )
    t = _only(profile)
    assert t.series is not None
    assert (t.series.value, t.series.source.how) == (3, How.ESTIMATE)
    outcomes = {r.code: r.outcome for r in audit(profile).results}
    assert outcomes["CAR001"] is Outcome.OPEN


POSTGRESQL = {
    "jsonb": lambda one: json.dumps(one),
    "json": lambda one: json.dumps(one),
    "text[]": lambda one: "{" + ",".join(f"{k}={v}" for k, v in one.items()) + "}",
}


@pytest.mark.parametrize("kind", POSTGRESQL)
def test_labels_in_postgresql(kind: str, in_postgresql: Made) -> None:
    profile = collected(in_postgresql(kind, [POSTGRESQL[kind](_labels(i)) for i in range(ROWS)]))
    (detail,) = _hidden(profile)
    assert "60 distinct sets" in detail
    # Values of type json cannot be compared, so that they can be no tag.
    assert ("{tags: [packed]}" in detail) == (kind != "json")
    assert "{fields: [packed]}" in detail


def test_labels_in_hstore(in_postgresql: Made) -> None:
    values = [", ".join(f'"{k}"=>"{v}"' for k, v in _labels(i).items()) for i in range(ROWS)]
    try:
        target = in_postgresql("public.hstore", values, also="CREATE EXTENSION IF NOT EXISTS hstore SCHEMA public")
    except (psycopg.errors.FeatureNotSupported, psycopg.errors.UndefinedFile):
        missing("this PostgreSQL comes without the hstore extension")
    assert len(_hidden(collected(target))) == 1


PAYLOADS = {
    "an id each": lambda i: {"request": str(uuid.UUID(int=i)), "action": "click"},
    "measured": lambda i: {"item": f"i{i % 9}", "total": i / 7},
    "nested": lambda i: {"user": {"name": f"u{i % 5}"}, "action": "click"},
    "one for all": lambda i: {"app": "shop"},
    "coordinates": lambda i: {"x": i % 5, "y": i % 7},
}


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
