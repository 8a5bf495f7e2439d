"""STO006: rows that an append-only table contains twice."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

import pytest

from tests.builders import NOW, a_count, a_field, a_source
from tests.databases import Dataset, Greptime, Row, Table, times
from tests.engines.greptimedb.cases import LINES, a_table, a_text, findings, steps
from tests.rules.cases import Case, dataset
from tsaudit.engines.greptimedb.rules.rows_of_one_key import rows_of_one_key as rule
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Currency, Severity
from tsaudit.model.profile import Measurement, Repeats, Storage

MB = 1_000_000


def _payments(again: int, append_mode: str = "true", offset: float = 0.0) -> Dataset:
    at = times(200)
    rows = [Row(t, {"shop": "s1"}, {"amount": i / 7}) for i, t in enumerate(at)]
    repeated = [Row(r.time, r.tags, {"amount": i / 7 + offset}) for i, r in enumerate(rows[:again])]
    settings = Greptime(options={"append_mode": append_mode})
    table = Table(
        "payments", ("shop",), {"amount": "float"}, [*rows, *repeated], key=("time", "shop"), greptime=settings
    )
    return dataset(table)


CASES = (
    Case(_payments(again=10), _payments(again=0), Subject("", "payments")),
    Case(_payments(again=10, offset=0.5), _payments(again=0, append_mode="false"), Subject("", "payments")),
)


def _table(repeated: int, identical: int, rows: int = 10_000, logs: bool = False, append: str = "true") -> Measurement:
    seen = Repeats(rows, repeated, identical, a_source())
    fields = (a_text("message", LINES),) if logs else (a_field("amount", ("double",)),)
    return a_table(options={"append_mode": append}, repeats=seen, fields=fields)


def test_finding_when_just_over_the_limit() -> None:
    assert not findings(rule, _table(100, 100))
    (finding,) = findings(rule, _table(101, 101))
    assert (
        finding.message == "1% of the rows read are the same in all columns as another one, and all of them are kept."
    )
    # Said, as the table would have it from its database otherwise.
    assert "'append_mode'='false'" in steps(rule, _table(101, 101))


def test_corrections_count_for_numbers_and_not_for_log_lines() -> None:
    (finding,) = findings(rule, _table(500, 0))
    assert finding.message == "5% of the rows read have the same key and time as another one, and all of them are kept."
    assert not findings(rule, _table(500, 0, logs=True))
    assert findings(rule, _table(500, 200, logs=True))


def test_copy_when_rows_are_the_same_in_all_columns() -> None:
    seen = Repeats(1000, 900, 500, a_source())
    table = a_table(options={"append_mode": "true"}, key=(), repeats=seen, fields=(a_text("message", LINES),))
    assert steps(rule, table).startswith("Copy each row of logs once, with SELECT DISTINCT, to a new table like it.")


def _stored(repeated: int, data: int | None, **changes: Any) -> Measurement:
    return dataclasses.replace(_table(repeated, repeated), storage=Storage(data, 0), **changes)


def test_cost_is_their_share_of_the_bytes() -> None:
    (finding,) = findings(rule, _stored(1_000, 900 * MB))
    assert finding.impact is not None
    assert (finding.impact.currency, finding.impact.now) == (Currency.BYTES, 90 * MB)
    assert (finding.impact.whole, finding.impact.per_day) == (900 * MB, 3 * MB)
    (finding,) = findings(rule, _stored(1_000, None))
    assert finding.impact is None


@pytest.mark.parametrize(
    ("repeated", "data", "expected"),
    [
        # 3 MB a day more, 1.2 GB in a year.
        (1_000, 900 * MB, Severity.WARNING),
        (1_000, 7 * MB, Severity.NOTE),
        # Much, and less than a twentieth of the table.
        (499, 900 * MB, Severity.NOTE),
    ],
)
def test_severity_when_they_cost_something(repeated: int, data: int, expected: Severity) -> None:
    (finding,) = findings(rule, _stored(repeated, data))
    assert finding.severity is expected


def test_rate_when_the_window_has_a_part_of_the_rows() -> None:
    old = _stored(1_000, 900 * MB, rows=a_count(1_000_000), rows_total=a_count(10_000_000))
    (finding,) = findings(rule, old)
    assert finding.impact is not None
    assert finding.impact.per_day == pytest.approx(0.3 * MB)
    young = dataclasses.replace(old, rows_total=old.rows, first_time=NOW - timedelta(days=3))
    (finding,) = findings(rule, young)
    assert finding.impact is not None
    assert finding.impact.per_day == 30 * MB


def test_silence_when_the_table_deduplicates() -> None:
    assert not findings(rule, _table(900, 900, append="false"))
    assert not findings(rule, a_table(options={"append_mode": "true"}))
