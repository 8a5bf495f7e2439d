"""CAR007: measure names against the limit."""

from __future__ import annotations

import pytest

from tests.builders import a_count, a_measurement, a_profile
from tests.devops import devops
from tests.rules.cases import Case, judge
from tsaudit.finding import Outcome, Severity, Subject
from tsaudit.profile import MeasureName, MeasureNames, Profile
from tsaudit.rules.too_many_measure_names import too_many_measure_names as rule

CASES = (
    Case(
        breaks=devops("hashed", hosts=9, instants=4),
        keeps=devops("multi", hosts=9, instants=4),
        subject=Subject("", "devops"),
        limits={"too-many-measure-names.max_names": 12},
    ),
)


def _profile(count: int, rows: tuple[int | None, ...] = (90, 8, 2, 0)) -> Profile:
    names = tuple(MeasureName(f"n{i}", "multi", ("host",), n) for i, n in enumerate(rows))
    total = None if None in rows else a_count(sum(n or 0 for n in rows))
    measurement = a_measurement(rows=total, measure_names=MeasureNames(a_count(count), names))
    return a_profile(measurement, engine="timestream")


@pytest.mark.parametrize(
    ("count", "severity"),
    [(4096, None), (4097, Severity.WARN), (7372, Severity.WARN), (7373, Severity.CRITICAL), (8192, Severity.CRITICAL)],
)
def test_severity_when_the_limit_comes_near(count: int, severity: Severity | None) -> None:
    assert [f.severity for f in judge(rule, _profile(count)).findings] == [severity] * (severity is not None)


def test_distribution_when_rows_were_counted() -> None:
    (finding,) = judge(rule, _profile(5000)).findings
    assert finding.message == "5,000 measure names, 61 % of the 8,192 that a table may have."
    assert {e.label: e.value for e in finding.evidence} == {
        "such as": "n0, n1, n2 and n3",
        "name with most rows": "n0: 90 % of 100 rows",
        "ten names with most rows": "100 % of the rows",
        "names without a row in the window": "1",
    }
    (finding,) = judge(rule, _profile(5000, (None, None))).findings
    assert [e.label for e in finding.evidence] == ["such as"]


def test_silence_when_overridden_or_without_names() -> None:
    assert judge(rule, _profile(5000), {"warn_ratio": 0.9}).outcome is Outcome.PASS
    assert judge(rule, a_profile(engine="timestream")).outcome is Outcome.PASS
