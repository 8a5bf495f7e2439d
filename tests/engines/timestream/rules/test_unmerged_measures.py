"""LAY010: rows of one value each that share an instant."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

import pytest

from tests.builders import NOW, a_count, a_field, a_measurement, a_profile, a_source, a_tag
from tests.databases import Row, Table, times
from tests.engines.timestream.devops import devops
from tests.rules.cases import Case, dataset, run_rule, with_steps
from tsaudit.engines.timestream.rules.unmerged_measures import unmerged_measures as rule
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Currency, Outcome, Severity
from tsaudit.model.profile import Profile
from tsaudit.model.rows import MeasureName, MeasureNames, SharedInstants

SOIL = tuple(
    Row(
        at,
        {"device_id": f"sensor-{i % 4}"},
        {"measure_value::double": 20.0 + i / 7},
        ("temperature", "moisture")[i % 2],
    )
    for i, at in enumerate(times(160))
)
"""The soil sensor of AWS's guide: each value at a time of its own."""

CASES = (
    Case(breaks=devops("single"), keeps=devops("multi"), subject=Subject("", "devops")),
    Case(
        breaks=devops("single", hosts=6),
        keeps=dataset(Table("devops", ("device_id",), {"measure_value::double": "float"}, SOIL)),
        subject=Subject("", "devops"),
    ),
)


def _profile(rows: int, instants: int) -> Profile:
    shared = SharedInstants(("cpu", "memory"), rows, instants, 1000, 400, a_source())
    names = (MeasureName("cpu", "double", ("host",), 4000), MeasureName("memory", "double", ("host",), 4000))
    found = MeasureNames(a_count(2), names, shared)
    return a_profile(a_measurement(measure_names=found), engine="timestream")


def test_finding_when_just_over_the_limits() -> None:
    assert run_rule(rule, _profile(150, 100)).outcome is Outcome.PASS
    assert run_rule(rule, _profile(151, 100)).outcome is Outcome.FAIL
    assert run_rule(rule, _profile(99, 40)).outcome is Outcome.PASS


def _named(names: int, per_instant: int) -> Profile:
    shared = SharedInstants(tuple(f"m{n}" for n in range(names)), 100 * per_instant, 100, 1000, 400, a_source())
    found = MeasureNames(a_count(names), (), shared)
    return a_profile(a_measurement(measure_names=found), engine="timestream")


def test_measures_when_there_are_more_than_a_record_or_a_table_takes() -> None:
    """256 to a record, 1,024 to a table: beyond that the names are data, and one record for all does not exist."""
    (one,) = run_rule(rule, _named(1_024, 256)).findings
    assert "where one row would be enough" in one.message
    (two,) = run_rule(rule, _named(1_024, 257)).findings
    assert "where 2 rows would be enough" in two.message
    assert run_rule(rule, _named(1_025, 20)).outcome is Outcome.PASS


@pytest.mark.parametrize(("names", "said"), [(256, ""), (257, ", in 2 records of up to 256 measures each")])
def test_writers_are_told_how_many_records_it_takes(names: int, said: str) -> None:
    (finding,) = with_steps(rule, _named(names, names))
    assert f"as measures of one multi-measure record{said}: one row for each" in finding.fix


def test_finding_when_it_is_read() -> None:
    (finding,) = with_steps(rule, _profile(200, 100))
    assert finding.message == (
        "2 measure names share their timestamps: 2 rows of one value each, where one row would be enough and take "
        "about 60% fewer bytes."
    )
    assert {e.label: e.value for e in finding.evidence} == {
        "measure names": "cpu and memory",
        "rows read of them": "200",
        "rows that would be left": "100 (50%)",
        "bytes now and merged, estimated": "1 kB and 400 B",
        "rows of them in the window": "8,000; about 4,000 would be left",
    }


def _of_rows(rows: int, bytes_merged: int = 8_000, hours: str = "24", days: int = 30) -> Profile:
    """Rows of two names, which are half of all, and each of 100 bytes."""
    shared = SharedInstants(("up", "in"), 200, 100, 20_000, bytes_merged, a_source())
    names = tuple(MeasureName(name, "double", ("host",), rows // 2) for name in ("up", "in"))
    other = MeasureName("ev", "multi", ("host",), rows)
    measurement = a_measurement(
        tags=(a_tag("host", 400, (78 * "h",)),),
        fields=(a_field("cpu", ("double",)),),
        measure_names=MeasureNames(a_count(3), (*names, other), shared),
        rows=a_count(2 * rows),
        options={"MemoryStoreRetentionPeriodInHours": hours},
        first_time=NOW - timedelta(days=days),
    )
    return a_profile(measurement, engine="timestream")


def test_cost_is_what_the_bytes_cost_a_month() -> None:
    (finding,) = run_rule(rule, _of_rows(100_000_000)).findings
    assert finding.impact is not None
    assert finding.impact.currency is Currency.MONEY
    # 20 GB in 30 days: half a dollar each when written, 24 h in memory, and a year in the magnetic store.
    a_day = 20 / 30
    assert finding.impact.whole == pytest.approx(a_day * (365 / 12 * (0.50 + 24 * 0.036) + 365 * 0.03))
    # Of half of the rows, 60 % of the bytes.
    assert finding.impact.share == pytest.approx(0.3)
    assert finding.impact.per_day == 0
    assert "https://aws.amazon.com/timestream/pricing/" in finding.impact.how


@pytest.mark.parametrize(
    ("rows", "changes", "expected"),
    [
        (200_000_000, {}, Severity.WARNING),
        # 12 GB a month cost $21.
        (60_000_000, {}, Severity.NOTE),
        (60_000_000, {"hours": "168"}, Severity.WARNING),
        # Much, and less than a twentieth of the bill.
        (200_000_000, {"bytes_merged": 18_100}, Severity.NOTE),
        (60_000_000, {"days": 10}, Severity.WARNING),
    ],
)
def test_severity_follows_from_the_bill(rows: int, changes: dict[str, Any], expected: Severity) -> None:
    (finding,) = run_rule(rule, _of_rows(rows, **changes)).findings
    assert finding.severity is expected


def test_no_cost_when_nothing_was_counted() -> None:
    profile = _of_rows(100_000_000)
    (measurement,) = profile.measurements
    uncounted = dataclasses.replace(measurement, first_time=None)
    (finding,) = run_rule(rule, dataclasses.replace(profile, measurements=(uncounted,))).findings
    assert finding.impact is None


def test_silence_when_nothing_is_shared_or_known() -> None:
    assert run_rule(rule, _profile(0, 0)).outcome is Outcome.PASS
    assert run_rule(rule, a_profile(engine="timestream")).outcome is Outcome.PASS


def test_record_when_values_are_of_several_types() -> None:
    shared = SharedInstants(("load", "user's: 1"), 200, 100, 1000, 400, a_source())
    names = (MeasureName("load", "double", ("host",), 400), MeasureName("user's: 1", "bigint", ("host",), 400))
    m = a_measurement(measure_names=MeasureNames(a_count(2), names, shared))
    (finding,) = with_steps(rule, a_profile(m, engine="timestream"))
    assert "MeasureValues: load=... (DOUBLE), user's: 1=... (BIGINT)" in finding.fix
