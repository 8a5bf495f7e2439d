"""CAR007: measure names against the limit."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.builders import DAY, a_count, a_measurement, a_profile
from tests.engines.timestream.devops import devops
from tests.rules.cases import Case, run_rule
from tsaudit.engines.timestream.rules.too_many_measure_names import too_many_measure_names as rule
from tsaudit.model.finding import Outcome, Severity
from tsaudit.model.impact import Currency
from tsaudit.model.profile import MeasureName, MeasureNames, Profile
from tsaudit.model.subject import Subject
from tsaudit.model.timeline import Point, Timeline

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
    [
        (4096, None),
        (4097, Severity.NOTE),
        (6553, Severity.NOTE),
        (6554, Severity.WARNING),
        (7782, Severity.WARNING),
        (7783, Severity.CRITICAL),
        (8192, Severity.CRITICAL),
    ],
)
def test_severity_when_the_limit_comes_near(count: int, severity: Severity | None) -> None:
    found = run_rule(rule, _profile(count)).findings
    assert [f.severity for f in found] == [severity] * (severity is not None)
    for finding in found:
        assert finding.impact is not None
        assert (finding.impact.currency, finding.impact.is_enforced) == (Currency.LIMIT, True)
        assert (finding.impact.now, finding.impact.whole) == (count, 8192)


def test_distribution_when_rows_were_counted() -> None:
    (finding,) = run_rule(rule, _profile(5000)).findings
    assert finding.message == "5,000 measure names, 61% of the table's maximum of 8,192."
    assert {e.label: e.value for e in finding.evidence} == {
        "such as": "n0, n1, n2, and n3",
        "name with most rows": "n0: 90% of 100 rows",
        "ten names with most rows": "100% of the rows",
        "names without a row in the window": "1",
    }
    (finding,) = run_rule(rule, _profile(5000, (None, None))).findings
    assert [e.label for e in finding.evidence] == ["such as"]


def test_severity_when_the_limit_is_reached_soon() -> None:
    def after_growth(per_day: int) -> Timeline:
        points = tuple(Point(DAY - timedelta(days=n), 3500.0 - per_day * n) for n in range(30, 0, -1))
        return Timeline(points={("measure_names", Subject("main", "cpu")): points})

    assert run_rule(rule, _profile(3500), timeline=after_growth(0)).outcome is Outcome.PASS
    assert run_rule(rule, _profile(3500), timeline=after_growth(5)).outcome is Outcome.PASS
    (finding,) = run_rule(rule, _profile(3500), timeline=after_growth(30)).findings
    assert finding.severity is Severity.NOTE
    (finding,) = run_rule(rule, _profile(3500), timeline=after_growth(100)).findings
    assert finding.severity is Severity.WARNING
    assert finding.forecast is not None
    assert finding.forecast.days is not None
    assert finding.impact is not None
    assert finding.impact.days_left == finding.forecast.days
    # 4,692 more at a hundred a day, if growth is not faster than in a straight line.
    assert 10 <= finding.forecast.days <= 48
    assert "; at this rate the limit of 8,192 measure names is reached in about " in finding.message


def test_silence_when_overridden_or_without_names() -> None:
    assert run_rule(rule, _profile(5000), {"max_names": 10_000}).outcome is Outcome.PASS
    assert run_rule(rule, a_profile(engine="timestream")).outcome is Outcome.PASS
