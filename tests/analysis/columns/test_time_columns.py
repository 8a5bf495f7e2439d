"""Which column says when, told from names, types, keys, indexes, and the oldest and newest values alone."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import NOW
from tests.examples import examples
from tsaudit.analysis.columns.columns import UNITS, Column, TimeColumn, TimeKind
from tsaudit.analysis.columns.time_columns import Extent, time_candidates, time_column
from tsaudit.config.settings import Columns
from tsaudit.model.figures import Role, Window

WINDOW = Window(NOW - timedelta(days=30), NOW)
STAMP = "timestamp with time zone"
ROWS = 1000


def _ago(days: float = 0.0) -> datetime:
    return NOW - timedelta(days=days, minutes=1)


def _held(last: object = None, first: object = None, values: int = ROWS) -> Extent:
    return Extent(ROWS, values, first or _ago(20), last or _ago())


def _epochs(factor: float = 1) -> Extent:
    return Extent(ROWS, ROWS, _ago(20).timestamp() * factor, _ago().timestamp() * factor)


NONE = Extent(ROWS, 0, None, None)


def _chosen(columns: list[Column], extents: dict[str, Extent], **more: object) -> str | None:
    found = time_column(columns, extents, WINDOW, **more)  # type: ignore[arg-type]
    return found.name if found else None


@pytest.mark.parametrize(
    ("columns", "extents", "expected"),
    [
        pytest.param(
            [Column("last_changed", STAMP), Column("last_updated_ts", "double precision")],
            {"last_changed": NONE, "last_updated_ts": _epochs()},
            "last_updated_ts",
            id="a leftover that is null in all rows",
        ),
        pytest.param(
            [Column("recorded_at", STAMP), Column("sampled", STAMP)],
            {"recorded_at": _held(_ago(300), _ago(900), 400), "sampled": _held()},
            "sampled",
            id="a leftover that ended long ago",
        ),
        pytest.param(
            [Column("itemid", "bigint"), Column("clock", "integer"), Column("value", "double precision")],
            {"itemid": Extent(ROWS, ROWS, 23_000, 24_000), "clock": _epochs(), "value": Extent(ROWS, ROWS, 0.0, 9.5)},
            "clock",
            id="whole seconds under a name that is no word for time in SQL",
        ),
        pytest.param(
            [Column("a", "bigint"), Column("b", "bigint"), Column("bytes", "bigint")],
            {"a": _epochs(1000), "b": Extent(ROWS, ROWS, 1, ROWS), "bytes": Extent(ROWS, ROWS, 0, 1_700_000_000)},
            "a",
            id="a number that runs up to now, whatever it is called",
        ),
        pytest.param(
            [Column("birth_date", "date"), Column("hire_date", "date"), Column("name", "text")],
            {
                "birth_date": _held(date(2003, 1, 1), date(1950, 1, 1)),
                "hire_date": _held(date(2020, 5, 1), date(1990, 1, 1)),
            },
            None,
            id="dates in the life of an employee",
        ),
        pytest.param(
            [Column("created_at", STAMP), Column("expires_at", STAMP), Column("last_login", STAMP)],
            {
                "created_at": _held(_ago(1), _ago(400)),
                "expires_at": _held(NOW + timedelta(days=90)),
                "last_login": _held(values=700),
            },
            "created_at",
            id="accounts",
        ),
        pytest.param(
            [Column("loaded_at", STAMP), Column("reading_date", "date")],
            {"loaded_at": _held(_ago(), _ago()), "reading_date": _held(date(2026, 3, 30), date(2026, 3, 1))},
            "reading_date",
            id="all rows loaded in one night",
        ),
        pytest.param(
            [Column("start_time", "bigint"), Column("end_time", "bigint"), Column("run_time", "bigint")],
            {"start_time": _epochs(1e9), "end_time": _epochs(1e9), "run_time": Extent(ROWS, ROWS, 3, 900)},
            "start_time",
            id="begin and end of a run",
        ),
        pytest.param(
            [Column("time", "TEXT"), Column("expires", "TEXT")],
            {"time": _held("2150-05-03", "2150-05-01"), "expires": _held("2150-06-03", "2150-06-01")},
            "time",
            id="a clock that is ahead",
        ),
        pytest.param(
            [Column("ts", STAMP), Column("v", "double precision")],
            {"ts": _held(_ago(800), _ago(900)), "v": Extent(ROWS, ROWS, 0.0, 1.0)},
            "ts",
            id="an archive older than the window",
        ),
        pytest.param(
            [Column("id", "bigint", 1), Column("phone", "bigint"), Column("name", "text")],
            {"id": Extent(ROWS, ROWS, 1, ROWS), "phone": Extent(ROWS, ROWS, 1_200_000_000, 1_790_000_000)},
            None,
            id="numbers that could be seconds, and end in the past or the future",
        ),
    ],
)
def test_time_is_what_the_values_bear_out(
    columns: list[Column], extents: dict[str, Extent], expected: str | None
) -> None:
    assert _chosen(columns, extents) == expected


def test_reason_names_the_runners_up() -> None:
    columns = [Column("last_changed", STAMP), Column("updated", STAMP)]
    found = time_column(columns, {"last_changed": _held(values=100), "updated": _held()}, WINDOW)
    assert found is not None
    assert found.reason == "never null, up to the present, a time type; rather than last_changed (90% null)"


def test_index_decides_between_columns_alike() -> None:
    columns = [Column("a_time", STAMP), Column("b_time", STAMP)]
    extents = {"a_time": _held(), "b_time": _held()}
    assert _chosen(columns, extents) == "a_time"
    assert _chosen(columns, extents, indexed=frozenset({"b_time"})) == "b_time"


def test_a_better_type_is_no_reason_to_change_the_time() -> None:
    columns, extents = [Column("made", STAMP), Column("started_at", STAMP)], {"made": _held(), "started_at": _held()}
    assert _chosen(columns, extents) == "started_at"
    assert _chosen(columns, extents, before="made") == "made"
    ended = extents | {"made": _held(_ago(300), _ago(900), 400)}
    assert _chosen(columns, ended, before="made") == "started_at", "it has ended"


def test_nothing_is_asked_where_the_key_tells() -> None:
    assert time_candidates([Column("at", STAMP, 1), Column("host", "text", 2), Column("v", "bigint")]) == []
    assert time_candidates([Column("id", "bigint", 1), Column("at", STAMP), Column("v", "bigint")]) == []
    assert [c.name for c in time_candidates([Column("id", "bigint", 1), Column("locked_until", STAMP)])] == [
        "locked_until"
    ]
    asked = time_candidates([Column("id", "bigint", 1), Column("at", STAMP), Column("seen_ts", "bigint")])
    assert [c.name for c in asked] == ["at", "seen_ts"]
    assert [c.name for c in time_candidates([Column("id", "bigint", 1), Column("clk", "bigint")])] == ["id", "clk"]


def test_empty_table_goes_by_key_and_names() -> None:
    def chosen(*columns: Column) -> str | None:
        return _chosen(list(columns), {})

    assert chosen(Column("created_at", STAMP), Column("ts", STAMP), Column("v", "DOUBLE")) == "ts"
    assert chosen(Column("a", STAMP), Column("b", STAMP, 1)) == "b"
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
    found = time_column([Column("t", kind)], {}, WINDOW)
    assert found is not None
    assert (found.name, found.kind) == ("t", expected)


@settings(deadline=None, max_examples=examples(60))
@given(
    st.integers(0, 100 * 365).map(lambda day: datetime(1981, 1, 1, tzinfo=UTC) + timedelta(days=day)),
    st.sampled_from(list(UNITS.items())),
    st.booleans(),
)
def test_time_in_numbers_is_told_by_their_size(time: datetime, unit: tuple[TimeKind, float], is_float: bool) -> None:
    kind, factor = unit
    first, last = (int((time + timedelta(hours=h)).timestamp()) * round(factor) for h in range(2))
    extent = Extent(3, 3, float(first) if is_float else first, float(last) if is_float else last)
    window = Window(time, time + timedelta(hours=2))
    found = time_column([Column("ts", "DOUBLE" if is_float else "BIGINT")], {"ts": extent}, window)
    assert found is not None
    assert found.kind is kind


@pytest.mark.parametrize(
    ("extent", "expected"),
    [
        (_held("2026-03-30", "2026-03-01"), TimeKind.TEXT),
        (_held("2026-03-30T00:00:00.123Z", "2026-03-01 00:00:00+02:00"), TimeKind.TEXT),
        (_held("noon", "2026-03-01"), None),
        (_held(3, 1), None),
        (_held(True, False), None),
        (_held("2026-03-30", 7), None),
    ],
)
def test_time_in_texts_and_implausible_values(extent: Extent, expected: TimeKind | None) -> None:
    found = time_column([Column("time", "VARCHAR")], {"time": extent}, WINDOW)
    assert (found.kind if found else None) is expected


def test_time_that_the_engine_names() -> None:
    columns = [Column("time", "timestamp(3)", role=Role.FIELD), Column("seen", "timestamp(3)", role=Role.TIME)]
    assert _chosen(columns, {}) == "seen"
    assert _chosen(columns, {}, chosen=Columns(time="time")) == "time"


def test_time_is_configured() -> None:
    columns = [Column("time", "TIMESTAMP"), Column("seen", "BIGINT")]
    chosen = Columns(time="seen")
    assert [c.name for c in time_candidates(columns, chosen)] == ["seen"]
    found = time_column(columns, {"seen": _epochs()}, WINDOW, chosen)
    assert found == TimeColumn("seen", TimeKind.SECONDS, "set in tsaudit.yaml")
    assert _chosen(columns, {"seen": _held(9, 1)}, chosen=chosen) is None
    assert _chosen(columns, {}, chosen=Columns(time="time")) == "time"
    assert _chosen(columns, {}, chosen=Columns(time="nowhere")) is None


def test_type_alone_says_nothing_where_columns_hold_anything() -> None:
    columns = [Column("time", "TIMESTAMP")]
    assert [c.name for c in time_candidates(columns, typed=False)] == ["time"]
    found = time_column(columns, {"time": _epochs(1000)}, WINDOW, typed=False)
    assert found is not None
    assert found.kind is TimeKind.MILLISECONDS
    assert _chosen(columns, {"time": Extent(0, 0, None, None)}, typed=False) == "time"
    assert _chosen(columns, {"time": NONE}, typed=False) is None, "nothing fills it"
    assert _chosen(columns, {"time": _held("noon", "evening")}, typed=False) is None


@pytest.mark.parametrize("kind", ["timestamp with time zone[]", "date[]"])
def test_list_of_times_is_no_time(kind: str) -> None:
    columns = [Column("ts", kind), Column("made", STAMP)]
    assert _chosen(columns, {}) == "made"
    assert _chosen(columns[:1], {}) is None
