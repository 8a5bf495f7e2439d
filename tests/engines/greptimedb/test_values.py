"""Values from the wire, as they are typed by the catalog."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsaudit.engines.greptimedb.wire import array, arrow_type, rounded_up


@pytest.mark.parametrize(
    ("data_type", "expected"),
    [
        ("string", pa.string()),
        ("double", pa.float64()),
        ("float", pa.float64()),
        ("boolean", pa.bool_()),
        ("tinyint", pa.int64()),
        ("int unsigned", pa.int64()),
        ("bigint", pa.int64()),
        ("bigint unsigned", pa.uint64()),
        ("varbinary", pa.binary()),
        ("timestamp(0)", pa.timestamp("s")),
        ("timestamp(3)", pa.timestamp("ms")),
        ("timestamp(9)", pa.timestamp("ns")),
        ("decimal(10,2)", pa.string()),
        ("json", pa.string()),
        ("date", pa.string()),
    ],
)
def test_type_of_a_column(data_type: str, expected: pa.DataType) -> None:
    assert arrow_type(data_type) == expected


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([1, None, 0], pa.bool_(), [True, None, False]),
        ([2**64 - 1], pa.uint64(), [2**64 - 1]),
        ([b"\xff", None], pa.binary(), [b"\xff", None]),
        (["abc", None], pa.string(), ["ab", None]),
        ([1, b"\xff\x00", "z"], pa.string(), ["1", "ff", "z"]),
        (["1.5", 2], pa.int64(), ["1.", "2"]),
        ([2**70], pa.int64(), [str(2**70)[:2]]),
        ([], pa.int64(), []),
    ],
)
def test_values(values: list[Any], kind: pa.DataType, expected: list[Any]) -> None:
    assert array(values, kind, longest=2).to_pylist() == expected


def test_text_is_kept_whole_unless_told_otherwise() -> None:
    assert array(["x" * 5000], pa.string()).to_pylist() == ["x" * 5000]


@given(st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)), st.sampled_from("0369"))  # noqa: DTZ001
def test_bound_selects_the_same_instants(time: datetime, digits: str) -> None:
    unit = {"0": timedelta(seconds=1), "3": timedelta(milliseconds=1)}.get(digits, timedelta(microseconds=1))
    found = rounded_up(time, f"timestamp({digits})")
    assert time <= found < time + unit
    assert (found - datetime.fromtimestamp(0, UTC)) % unit == timedelta(0)
