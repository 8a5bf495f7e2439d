"""Which column is what, told from names, types, keys and values alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import a_field, a_measurement, a_tag
from tsaudit.config.settings import Columns
from tsaudit.engines.sql.roles import (
    Column,
    TimeColumn,
    TimeKind,
    Values,
    assign,
    is_text,
    may_be_long,
    time_candidates,
    time_column,
)
from tsaudit.model.profile import Role

SHORT = Values(100, 8, 0.0)


def _role(column: Column, values: Values | None = SHORT, **settings: object) -> Role:
    (assigned,) = assign([column], None, {column.name: values} if values else {}, **settings)  # type: ignore[arg-type]
    return assigned.role


@pytest.mark.parametrize(
    "kind",
    [
        "VARCHAR",
        "TEXT",
        "character varying",
        "UUID",
        "ENUM('a')",
        "BOOLEAN",
        "string",
        "",
        "public.citext",
        '"a.b".citext',
    ],
)
def test_text_types_can_name_a_source(kind: str) -> None:
    assert is_text(kind)
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
        "boolean[]",
        "VARCHAR[3]",
    ],
)
def test_other_types_hold_what_was_measured(kind: str) -> None:
    assert not is_text(kind)
    assert _role(Column("c", kind)) is Role.FIELD


@pytest.mark.parametrize(
    ("values", "role"),
    [
        (Values(100, 64.0, 0.0), Role.TAG),
        (Values(100, 64.1, 0.0), Role.FIELD),
        (Values(100, 5.0, 0.94), Role.TAG),
        (Values(100, 5.0, 0.95), Role.FIELD),
        (Values(0, 0.0, 0.0), Role.TAG),
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
    ],
)
def test_numbers_under_the_name_of_an_id_stay_a_tag(name: str) -> None:
    assert _role(Column(name, "VARCHAR"), Values(100, 5.0, 1.0)) is Role.TAG


@pytest.mark.parametrize("name", ["humid", "paid", "liquid", "reading"])
def test_numbers_under_a_name_that_merely_ends_like_an_id_are_a_field(name: str) -> None:
    assert _role(Column(name, "VARCHAR"), Values(100, 5.0, 1.0)) is Role.FIELD


@pytest.mark.parametrize(
    ("name", "kind", "values", "role"),
    [
        ("sensor_id", "integer", Values(100, 0.0, 1.0, 50), Role.TAG),
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


def test_boolean_digits_are_no_numbers() -> None:
    assert _role(Column("on", "BOOLEAN"), Values(100, 1.0, 1.0)) is Role.TAG


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


def test_time_prefers_names_then_key_members() -> None:
    def chosen(*columns: Column) -> str | None:
        found = time_column(columns, {})
        return found.name if found else None

    stamp = "TIMESTAMP"
    assert chosen(Column("created_at", stamp), Column("ts", stamp), Column("v", "DOUBLE")) == "ts"
    assert chosen(Column("a", stamp), Column("b", stamp, 1)) == "b"
    assert chosen(Column("a", "VARCHAR"), Column("day", "DATE")) == "day"
    assert chosen(Column("a", "VARCHAR"), Column("v", "DOUBLE")) is None


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("TIMESTAMP WITH TIME ZONE", TimeKind.ZONED),
        ("TIMESTAMPTZ", TimeKind.ZONED),
        ("TIMESTAMP_NS", TimeKind.TIMESTAMP),
        ("timestamp(6) without time zone", TimeKind.TIMESTAMP),
        ("DATETIME", TimeKind.TIMESTAMP),
        ("DATE", TimeKind.TIMESTAMP),
    ],
)
def test_time_of_the_engines_own_types(kind: str, expected: TimeKind) -> None:
    assert time_column([Column("t", kind)], {}) == TimeColumn("t", expected)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 118 * 365).map(lambda day: datetime(1981, 1, 1, tzinfo=UTC) + timedelta(days=day)),
    st.sampled_from([(TimeKind.SECONDS, 1), (TimeKind.MILLISECONDS, 10**3), (TimeKind.NANOSECONDS, 10**9)]),
)
def test_time_in_numbers_is_told_by_their_size(time: datetime, unit: tuple[TimeKind, int]) -> None:
    kind, factor = unit
    values = [int((time + timedelta(hours=h)).timestamp()) * factor for h in range(3)]
    assert time_column([Column("ts", "BIGINT")], {"ts": [*values, None]}) == TimeColumn("ts", kind)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["2026-03-01", None], TimeKind.TEXT),
        (["2026-03-01T00:00:00.123Z", "2026-03-01 00:00:00+02:00"], TimeKind.TEXT),
        (["2026-03-01", "noon"], None),
        ([1, 2, 3], None),
        ([True, False], None),
        ([None], None),
        ([], None),
    ],
)
def test_time_in_texts_and_implausible_values(values: list[object], expected: TimeKind | None) -> None:
    found = time_column([Column("time", "VARCHAR")], {"time": values})
    assert (found.kind if found else None) is expected


def test_time_that_the_engine_names() -> None:
    columns = [Column("time", "timestamp(3)", role=Role.FIELD), Column("seen", "timestamp(3)", role=Role.TIME)]
    assert time_column(columns, {}) == TimeColumn("seen", TimeKind.TIMESTAMP)
    other = time_column(columns, {}, Columns(time="time"))
    assert other == TimeColumn("time", TimeKind.TIMESTAMP)
    roles = {a.column.name: a.role for a in assign(columns, other, {}, chosen=Columns(time="time"))}
    assert roles == {"time": Role.TIME, "seen": Role.FIELD}


def test_time_is_configured() -> None:
    columns = [Column("time", "TIMESTAMP"), Column("seen", "BIGINT")]
    chosen = Columns(time="seen")
    assert [c.name for c in time_candidates(columns, chosen)] == ["seen"]
    assert time_column(columns, {"seen": [1_770_000_000]}, chosen) == TimeColumn("seen", TimeKind.SECONDS)
    assert time_column(columns, {"seen": [1]}, chosen) is None
    assert time_column(columns, {}, Columns(time="time")) == TimeColumn("time", TimeKind.TIMESTAMP)
    assert time_column(columns, {}, Columns(time="nowhere")) is None


def test_type_alone_says_nothing_where_columns_hold_anything() -> None:
    columns = [Column("time", "TIMESTAMP")]
    assert [c.name for c in time_candidates(columns, typed=False)] == ["time"]
    assert time_column(columns, {"time": [1_770_000_000_000]}, typed=False) == TimeColumn("time", TimeKind.MILLISECONDS)
    assert time_column(columns, {"time": []}, typed=False) == TimeColumn("time", TimeKind.TIMESTAMP)
    assert time_column(columns, {"time": ["noon"]}, typed=False) is None


@pytest.mark.parametrize("kind", ["timestamp with time zone[]", "date[]"])
def test_list_of_times_is_no_time(kind: str) -> None:
    columns = (Column("ts", kind), Column("made", "timestamp with time zone"))
    assert time_column(columns, {}) == TimeColumn("made", TimeKind.ZONED)
    assert time_column(columns[:1], {}) is None


@pytest.mark.parametrize(
    "kind", ["text", "jsonb", "public.geometry(Point,4326)", "integer[]", "enum public.mood", "public.hstore"]
)
def test_values_that_may_be_long(kind: str) -> None:
    assert may_be_long(kind) is (kind != "enum public.mood")


@pytest.mark.parametrize("kind", ["bigint", "double precision", "timestamp with time zone", "uuid", "numeric(9,2)"])
def test_values_that_are_short(kind: str) -> None:
    assert not may_be_long(kind)
