"""FLD004: long texts in fields."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import a_field, a_measurement, a_profile
from tests.databases import Row, Table, times
from tests.rules.cases import Case, dataset, run_rule
from tsaudit.engines.influxdb3.rules.long_text_field import long_text_field as rule
from tsaudit.model.finding import Finding, Outcome, Severity
from tsaudit.model.profile import TEXT_KEPT
from tsaudit.model.subject import Subject


def _logs(length: int) -> Table:
    """`body` is that long, and different in each row from the start."""
    rows = [
        Row(at, {"service": f"s{n % 4}"}, {"body": f"{n:04} failed at {'frame ' * length}"[:length], "ms": n / 7})
        for n, at in enumerate(times(60))
    ]
    return Table("logs", ("service",), {"body": "string", "ms": "float"}, rows)


CASES = (
    Case(
        breaks=dataset(_logs(4000)),
        keeps=dataset(_logs(200)),
        subject=Subject("", "logs", "body"),
        main_contributor="body",
    ),
)

LONG, SHORT = "x" * TEXT_KEPT, "x" * (TEXT_KEPT - 1)


def _found(*sample: str, types: tuple[str, ...] = ("string",)) -> tuple[Finding, ...]:
    field = a_field("body", types, sample=sample)
    return run_rule(rule, a_profile(a_measurement("logs", fields=(field,)), engine="influxdb3")).findings


def test_message() -> None:
    (finding,) = _found(LONG, SHORT)
    assert finding.message == ("Field body contains long texts: 50% of the values read have 256 characters or more.")
    assert (finding.impact, finding.severity) == (None, Severity.NOTE)


@pytest.mark.parametrize(
    ("sample", "changes"),
    [
        ((LONG, SHORT, SHORT), {}),
        ((SHORT, SHORT), {}),
        ((LONG,), {"types": ("Float64",)}),
        ((), {}),
    ],
)
def test_silence(sample: tuple[str, ...], changes: dict[str, Any]) -> None:
    assert _found(*sample, **changes) == ()


def test_silence_when_the_database_is_empty() -> None:
    assert run_rule(rule, a_profile(a_measurement(fields=()), engine="influxdb3")).outcome is Outcome.PASS
