"""Which column is what, told from names, types, keys and values alone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import a_field, a_measurement, a_tag
from tsaudit.analysis.columns.columns import (
    Column,
    Table,
    TimeColumn,
    TimeKind,
    Values,
    assign,
    label_in,
    may_be_long,
    may_be_text,
)
from tsaudit.config.settings import Columns
from tsaudit.model.figures import Role, TableKind
from tsaudit.text.table_roles import CONFIGURED, is_guess

SHORT = Values(100, 8, 0.0)


def _role(column: Column, values: Values | None = SHORT, **settings: object) -> Role:
    (assigned,) = assign([column], None, {column.name: values} if values else {}, **settings)
    return assigned.role


@pytest.mark.parametrize(
    "kind",
    [
        "VARCHAR",
        "TEXT",
        "character varying",
        "UUID",
        "ENUM('a')",
        "string",
        "",
        "public.citext",
        '"a.b".citext',
    ],
)
def test_text_types_can_name_a_source(kind: str) -> None:
    assert may_be_text(kind)
    assert _role(Column("c", kind)) is Role.TAG


@pytest.mark.parametrize(
    "kind",
    [
        "DOUBLE",
        "INTEGER",
        "DECIMAL(9,2)",
        "BLOB",
        "INTEGER[]",
        "JSON",
        "TIMESTAMP",
        "text[]",
        "BOOLEAN",
        "boolean[]",
        "VARCHAR[3]",
    ],
)
def test_other_types_hold_what_was_measured(kind: str) -> None:
    assert not may_be_text(kind)
    assert _role(Column("c", kind)) is Role.FIELD


@pytest.mark.parametrize(
    ("values", "role"),
    [
        (Values(100, 64.0, 0.0), Role.TAG),
        (Values(100, 64.1, 0.0), Role.FIELD),
        (Values(100, 5.0, 0.94), Role.TAG),
        (Values(100, 5.0, 0.95), Role.FIELD),
        (Values(0, 0.0, 0.0), Role.FIELD),
        (Values(100, 5.0, 1.0, are_names=True), Role.TAG),
        (None, Role.TAG),
    ],
)
def test_text_is_judged_by_its_values(values: Values | None, role: Role) -> None:
    assert _role(Column("reading", "VARCHAR"), values) is role


@pytest.mark.parametrize(
    "name",
    [
        "user_id",
        "id",
        "zip",
        "serial",
        "deviceId",
        "userid",
        "meter_no",
        "account_number",
        "http_status",
        "statusCode",
        "firmware",
        "DATASTREAM_ID",
        "DEVICEID",
        "Sensor Nr",
        "sensor-no",
        "device",
        "SITE",
    ],
)
def test_numbers_under_the_name_of_an_id_stay_a_tag(name: str) -> None:
    assert _role(Column(name, "VARCHAR"), Values(100, 5.0, 1.0)) is Role.TAG


@pytest.mark.parametrize("name", ["humid", "paid", "LIQUID", "reading", "Valve"])
def test_numbers_under_a_name_that_merely_ends_like_an_id_are_a_field(name: str) -> None:
    assert _role(Column(name, "VARCHAR"), Values(100, 5.0, 1.0)) is Role.FIELD


@pytest.mark.parametrize(
    ("name", "kind", "values", "role"),
    [
        ("sensor_id", "integer", Values(100, 0.0, 1.0, 50), Role.TAG),
        ("SENSOR_ID", "integer", Values(100, 0.0, 1.0, 50), Role.TAG),
        ("Sensor Nr", "integer", Values(100, 0.0, 1.0, 50), Role.TAG),
        ("sensor_id", "BIGINT", Values(100, 0.0, 1.0, 51), Role.FIELD),
        ("id", "integer", Values(100, 0.0, 1.0, 100), Role.FIELD),
        ("sensor_id", "integer", Values(19, 0.0, 1.0, 1), Role.FIELD),
        ("sensor_id", "integer", None, Role.FIELD),
        ("sensor_id", "DOUBLE", Values(100, 0.0, 1.0, 5), Role.FIELD),
        ("temperature", "integer", Values(100, 0.0, 1.0, 5), Role.FIELD),
    ],
)
def test_whole_numbers_are_a_tag_where_they_are_named_like_an_id_and_come_again(
    name: str, kind: str, values: Values | None, role: Role
) -> None:
    assert _role(Column(name, kind), values) is role


TIME = TimeColumn("time", TimeKind.TIMESTAMP)


def _roles(*columns: Column, **settings: Any) -> dict[str, Role]:
    found = assign([Column("time", "TIMESTAMP", 1), *columns], TIME, {}, **settings)
    return {one.column.name: one.role for one in found if one.column.name != "time"}


def test_number_that_the_database_gives_each_row_is_no_tag_even_in_the_key() -> None:
    host = Column("host", "VARCHAR")
    assert _roles(Column("id", "BIGINT", 2, is_generated=True), host) == {"id": Role.FIELD, "host": Role.TAG}
    keyed = Column("sensor", "VARCHAR", 3)
    found = _roles(Column("id", "BIGINT", 2, is_generated=True), keyed, host)
    assert found == {"id": Role.FIELD, "sensor": Role.TAG, "host": Role.FIELD}


def test_column_that_only_numbers_rows_leaves_the_rest_of_the_key() -> None:
    table = Table(kind=TableKind.SERIES, never_source={"id": "it only numbers the rows"})
    assert _roles(Column("id", "UUID", 2), Column("host", "VARCHAR"), table=table)["host"] is Role.TAG


@pytest.mark.parametrize("kind", [TableKind.EVENTS, TableKind.OTHER])
def test_field_of_a_table_that_was_none_of_series_is_decided_anew(kind: TableKind) -> None:
    before = a_measurement(kind=kind, tags=(), fields=(a_field("host", ("VARCHAR",)),))
    assert _roles(Column("host", "VARCHAR"), previous=before) == {"host": Role.TAG}
    series = a_measurement(kind=TableKind.SERIES, tags=(), fields=(a_field("host", ("VARCHAR",)),))
    assert _roles(Column("host", "VARCHAR"), previous=series) == {"host": Role.FIELD}


def test_guess_is_what_neither_the_catalog_nor_the_owner_says() -> None:
    said = ["", CONFIGURED, "part of the table's key, with the time", "a dimension of the hypertable"]
    said += ["compressed chunks are segmented by it", label_in("tags"), "the engine keeps it as a tag"]
    assert not any(map(is_guess, said))
    guessed = [
        *assign([Column("a", "VARCHAR")], None, {"a": SHORT}),
        *assign([Column("a", "VARCHAR")], None, {}),
        *assign([Column("a_id", "BIGINT")], None, {"a_id": Values(100, 0.0, 1.0, 5)}),
        *assign([Column("a", "BIGINT", refers_to="b")], None, {"a": Values(100, 0.0, 1.0, 5)}),
        *assign([Column("device", "VARCHAR")], None, {"device": Values(100, 5.0, 1.0)}),
    ]
    assert all(one.role is Role.TAG and is_guess(one.reason) for one in guessed)


def test_key_decides_when_the_time_is_in_it() -> None:
    columns = [Column("time", "TIMESTAMP", 1), Column("sensor", "INTEGER", 2), Column("unit", "VARCHAR")]
    roles = {a.column.name: a.role for a in assign(columns, TimeColumn("time", TimeKind.TIMESTAMP), {})}
    assert roles == {"time": Role.TIME, "sensor": Role.TAG, "unit": Role.FIELD}


@pytest.mark.parametrize("key", [("event",), ("time",)])
def test_key_of_one_column_decides_nothing_else(key: tuple[str, ...]) -> None:
    position = {name: i for i, name in enumerate(key, 1)}
    columns = [
        Column(n, t, position.get(n)) for n, t in (("time", "TIMESTAMP"), ("event", "VARCHAR"), ("unit", "VARCHAR"))
    ]
    roles = {a.column.name: a.role for a in assign(columns, TimeColumn("time", TimeKind.TIMESTAMP), {})}
    assert roles == {"time": Role.TIME, "event": Role.FIELD if key == ("event",) else Role.TAG, "unit": Role.TAG}


def test_configuration_wins_over_key_and_past() -> None:
    columns = [Column("time", "TIMESTAMP", 1), Column("a", "VARCHAR", 2), Column("b", "DOUBLE")]
    time = TimeColumn("time", TimeKind.TIMESTAMP)
    past = a_measurement(tags=(a_tag("a", data_type="VARCHAR"),), fields=(a_field("b", ("DOUBLE",)),))
    assigned = assign(columns, time, {}, chosen=Columns(tags=("b",), fields=("a",)), previous=past)
    assert [(a.role, a.reason) for a in assigned[1:]] == [
        (Role.FIELD, "set in tsaudit.yaml"),
        (Role.TAG, "set in tsaudit.yaml"),
    ]


def test_role_of_the_day_before_stays_while_the_type_does() -> None:
    past = a_measurement(tags=(), fields=(a_field("note", ("VARCHAR",), role_reason="long text"),))
    assert _role(Column("note", "VARCHAR"), SHORT, previous=past) is Role.FIELD
    assert _role(Column("note", "TEXT"), SHORT, previous=past) is Role.TAG


def test_role_that_was_configured_does_not_outlive_the_configuration() -> None:
    past = a_measurement(tags=(), fields=(a_field("note", ("VARCHAR",), role_reason="set in tsaudit.yaml"),))
    assert _role(Column("note", "VARCHAR"), SHORT, previous=past) is Role.TAG


@pytest.mark.parametrize(
    "kind", ["text", "jsonb", "public.geometry(Point,4326)", "integer[]", "enum public.mood", "public.hstore"]
)
def test_values_that_may_be_long(kind: str) -> None:
    assert may_be_long(kind) is (kind != "enum public.mood")


@pytest.mark.parametrize("kind", ["bigint", "double precision", "timestamp with time zone", "uuid", "numeric(9,2)"])
def test_values_that_are_short(kind: str) -> None:
    assert not may_be_long(kind)
