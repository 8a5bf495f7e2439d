"""STO013: types of key columns."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.builders import NOW, a_tag
from tests.databases import Dataset, Greptime, Row, Table, times
from tests.engines.greptimedb.cases import a_table, findings, steps
from tests.rules.cases import Case, dataset
from tsaudit.engines.greptimedb.rules.unsuitable_key_type import unsuitable_key_type as rule
from tsaudit.model.finding import Severity
from tsaudit.model.impact import Currency
from tsaudit.model.profile import Measurement
from tsaudit.model.subject import Subject


def _levels(type_: str, values: tuple[str, ...]) -> Dataset:
    rows = [Row(t, {"sensor": "s1", "level": values[i % len(values)]}, {"ok": 1}) for i, t in enumerate(times(20))]
    settings = Greptime(tag_types={"level": type_} if type_ else {})
    return dataset(
        Table("tanks", ("sensor", "level"), {"ok": "integer"}, rows, key=("time", "sensor", "level"), greptime=settings)
    )


LONG = tuple(f"/shop/items/{i}/" + "a-long-name-of-a-thing-" * 4 for i in range(4))
CASES = (
    Case(
        _levels("float", ("1.5", "2.5")),
        _levels("integer", ("1", "2")),
        Subject("", "tanks", "level"),
        main_contributor="level",
    ),
    Case(_levels("", LONG), _levels("", ("low", "high")), Subject("", "tanks", "level"), main_contributor="level"),
)


def _table(
    data_type: str, sample: tuple[str, ...] = ("1", "2"), engine: str = "mito", values: int = 2, days: int = 30
) -> Measurement:
    tags = (a_tag("level", values, sample, data_type=data_type), a_tag("sensor", 3))
    return a_table(
        tags=tags,
        key=("sensor", "level"),
        options={"engine": engine},
        series=3 * values,
        first_time=NOW - timedelta(days=days),
    )


@pytest.mark.parametrize("data_type", ["double", "float", "timestamp(3)", "timestamp(9)"])
def test_finding_when_the_type_is_measured(data_type: str) -> None:
    (finding,) = findings(rule, _table(data_type))
    assert finding.message == (
        f"level has type {data_type} and is in the primary key, which is meant for short texts and integers."
    )
    assert 'PRIMARY KEY ("sensor")' in steps(rule, _table(data_type))
    assert f'"level" {data_type.upper()}' in steps(rule, _table(data_type))
    assert finding.evidence[1].value == "sensor and level"


@pytest.mark.parametrize(
    ("values", "days", "expected"),
    [(1_001, 30_000, Severity.WARNING), (900, 30_000, Severity.NOTE), (301, 30, Severity.WARNING)],
)
def test_cost_is_the_series_that_would_be_gone(values: int, days: int, expected: Severity) -> None:
    (finding,) = findings(rule, _table("double", values=values, days=days))
    assert finding.impact is not None
    assert finding.impact.currency is Currency.SERIES
    assert (finding.impact.now, finding.impact.whole) == (values - 1, 3 * values)
    assert finding.severity is expected


@pytest.mark.parametrize("data_type", ["string", "bigint", "bigint unsigned", "int", "boolean", "date"])
def test_silence_when_the_type_names(data_type: str) -> None:
    assert not findings(rule, _table(data_type))


def test_finding_when_texts_are_just_too_long() -> None:
    assert not findings(rule, _table("string", ("x" * 64,)))
    (finding,) = findings(rule, _table("string", ("x" * 65,)))
    assert finding.message == (
        "The values of level, which is in the primary key, have 65 characters on average, more than 64."
    )
    assert finding.impact is None
    assert not findings(rule, _table("string", ("x" * 65,)), max_length=65)
    assert not findings(rule, _table("string", ()))


def test_silence_when_it_is_of_the_metric_engine() -> None:
    assert not findings(rule, _table("double", engine="metric"))
