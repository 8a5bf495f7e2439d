"""What sampled rows say of a field: known columns, known figures; and plain Python as the judge."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import a_source
from tests.examples import examples
from tsaudit.analysis.codes import RowGroups
from tsaudit.collect.draft import ReadColumn
from tsaudit.collect.row_bytes import packed_widths
from tsaudit.collect.row_figures import (
    busiest,
    filled_in,
    idle_hours,
    is_float,
    numbers_by,
    series_of_rows,
    turnover,
)
from tsaudit.model.columns import Field, NumbersBy
from tsaudit.model.figures import SAMPLE_SIZE, TEXT_KEPT

SOURCE = a_source()


def _column(values: list[object], kind: pa.DataType | None = None) -> ReadColumn:
    return ReadColumn(pa.chunked_array([pa.array(values, kind)]))


def _described(values: list[object], series: list[int] | None = None, kind: str = "DOUBLE") -> Field:
    by_series = RowGroups(np.array(series or [0] * len(values)))
    return filled_in(Field("v", (kind,)), _column(values), by_series, SOURCE, {}, {})


@settings(deadline=None, max_examples=examples(60))
@given(st.lists(st.tuples(st.integers(0, 4), st.one_of(st.none(), st.integers(0, 2))), min_size=1, max_size=30))
def test_constant_ratio_as_plain_python_has_it(rows: list[tuple[int, int | None]]) -> None:
    by_series = defaultdict(list)
    for series, value in rows:
        if value is not None:
            by_series[series].append(value)
    several = [len(set(values)) == 1 for values in by_series.values() if len(values) > 1]
    column = _column([v for _, v in rows], pa.int64())
    by_series = RowGroups(np.array([s for s, _ in rows]))
    found = filled_in(Field("v", ("BIGINT",)), column, by_series, SOURCE, {}, {}).constant_ratio
    assert (found.value if found else None) == (pytest.approx(sum(several) / len(several)) if several else None)


_TAGS = st.one_of(st.none(), st.sampled_from(["", "a", "b", "c"]))


@settings(deadline=None, max_examples=examples(60))
@given(st.lists(st.tuples(_TAGS, _TAGS, _TAGS), max_size=30))
def test_rows_with_the_same_tags_are_of_one_series(rows: list[tuple[str | None, ...]]) -> None:
    tags = [_column([row[i] for row in rows], pa.string()) for i in range(3)]
    numbers = series_of_rows(tags, len(rows)).tolist()
    for i, row in enumerate(rows):
        assert [n == numbers[i] for n in numbers] == [other == row for other in rows]


def test_many_tags_of_many_values_do_not_run_over() -> None:
    column = _column([str(i) for i in range(2000)])
    assert len(set(series_of_rows([column] * 12, 2000).tolist())) == 2000


def test_sample_is_spread_over_all_values_and_mostly_stays() -> None:
    field = _described([f"v{i:04}" for i in range(1000)], kind="VARCHAR")
    assert len(field.sample) == SAMPLE_SIZE
    assert (field.sample[0], field.sample[-1]) == ("v0000", "v0999")
    assert sum(value < "v0500" for value in field.sample) == pytest.approx(SAMPLE_SIZE / 2, abs=12)
    later = _described([f"v{i:04}" for i in range(30, 1030)], kind="VARCHAR")
    assert len({*field.sample} & {*later.sample}) > 0.9 * SAMPLE_SIZE
    assert field.distinct is not None
    assert field.distinct.value == 1000


def test_sample_of_long_texts_is_cut() -> None:
    assert _described(["x" * 10_000], kind="VARCHAR").sample == ("x" * TEXT_KEPT,)


def test_all_values_are_null() -> None:
    field = _described([None, None])
    assert field.null_ratio is not None
    assert (field.null_ratio.value, field.sample) == (1.0, ())
    assert (field.constant_ratio, field.whole_ratio) == (None, None)
    assert field.distinct is not None
    assert field.distinct.value == 0


@pytest.mark.parametrize(
    ("values", "expected"),
    [([1.0, 2.0], 1.0), ([1.0, 2.5, None], 0.5), ([1, 2], 1.0), (["x"], None), ([float("nan"), 1.0], 0.5)],
)
def test_whole_ratio(values: list[object], expected: float | None) -> None:
    found = _described(values).whole_ratio
    assert (found.value if found else None) == expected


def test_whole_ratio_is_for_floats() -> None:
    assert _described([1, 2], kind="BIGINT").whole_ratio is None


@pytest.mark.parametrize("name", ["float", "DOUBLE", "DOUBLE PRECISION", "REAL", "FLOAT(24)"])
def test_types_that_are_floats(name: str) -> None:
    assert is_float(name)
    assert not is_float("DECIMAL(9,2)")


def test_tag_that_separates_numbers_from_texts() -> None:
    rows = [(f"p{n // 4 % 5}", ("flow", "state")[n % 2], str(n / 8) if n % 2 == 0 else "idle") for n in range(200)]
    pump, attribute, value = (_column(list(column)) for column in zip(*rows, strict=True))
    by_series = RowGroups(np.zeros(200, int))
    ratio = filled_in(Field("value", ("VARCHAR",)), value, by_series, SOURCE, {}, {}).number_ratio
    assert numbers_by(ratio, value, {"pump": pump, "attribute": attribute}) == NumbersBy(
        "attribute", ("flow",), ("state",)
    )
    assert numbers_by(ratio, value, {"attribute": attribute}) is None


@pytest.mark.parametrize(
    ("others", "share"),
    [
        (["-"] * 5, 1.0),
        (["N/A", "n/a", "NULL", "none", "\\N", "", " ", "?", "nan"], 1.0),
        (["unknown"] * 5, 0.5),
        (["off"] * 5, 0.5),
    ],
)
def test_what_stands_for_no_value_is_no_text(others: list[str], share: float) -> None:
    found = _described(["1", "2.5", "-3", "1e5", "7", *others], kind="VARCHAR").number_ratio
    assert found is not None
    assert found.value == pytest.approx(share)
    nothing = _described(["-", "N/A"], kind="VARCHAR").number_ratio
    assert nothing is not None
    assert nothing.value == 0.0


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["a", "b", "b", None], ("b", 0.5)),
        (["b", "a"], ("a", 0.5)),
        (["a", "a", None], None),
        ([None, None], None),
        ([3, 3, 4], ("3", 2 / 3)),
        (["x" * 2_000, "y", "x" * 2_000], ("x" * TEXT_KEPT, 2 / 3)),
    ],
)
def test_value_with_most_rows(values: list[object], expected: tuple[str, float] | None) -> None:
    found = busiest(_column(values), SOURCE)
    assert (found and (found.value, found.share)) == (expected and (expected[0], pytest.approx(expected[1])))


@pytest.mark.parametrize(
    ("values", "hours"),
    [
        (["a", "a", "a"], 0.0),
        (["a", "a", None], 1.0),
        (["a", None, None], 3.0),
        ([None, None, None], None),
    ],
)
def test_hours_since_a_column_was_written(values: list[str | None], hours: float | None) -> None:
    times = _column([0, 2 * 3_600_000_000, 3 * 3_600_000_000], pa.int64())
    assert idle_hours(_column(values, pa.string()), times) == hours


def test_whole_numbers_of_sqlite_take_what_they_need() -> None:
    values = [0, 1, None, -128, 127, 128, 70_000, 20_000_000, 1_700_000_000_000, 2**60]
    widths = packed_widths({"n": ReadColumn(pa.chunked_array([values])), "x": ReadColumn(pa.chunked_array([[1.5]]))})
    assert widths == {"n": pytest.approx((0 + 0 + 0 + 1 + 1 + 2 + 3 + 4 + 6 + 8) / 10)}


@pytest.mark.parametrize(("written", "is_known"), [(0.0, True), (1.5, True), (24.0, False)])
def test_rows_with_one_report_of_each_value_do_not_show_which_recur(written: float, is_known: bool) -> None:
    """Eight gateways pass on a report of each of 400 probes, one after the other; each reports `written` times."""
    tags = {"gateway": _column([n % 8 for n in range(400)]), "probe": _column(list(range(400)))}
    times = _column([n * 1_000_000 for n in range(400)])
    assert (turnover(tags, times, "probe", ("gateway",), SOURCE, written) is not None) is is_known


def test_no_value_is_not_a_value_that_comes_again() -> None:
    """Of the rows of a shop, each third has a voucher, and none twice."""
    tags = {"shop": _column(["s"] * 90), "voucher": _column([n if n % 3 == 0 else None for n in range(90)])}
    seen = turnover(tags, _column([n * 1_000_000 for n in range(90)]), "voucher", ("shop",), SOURCE)
    assert seen is not None
    assert (seen.first, seen.again, seen.new, seen.pairs) == (10, 0, 10, 30)
