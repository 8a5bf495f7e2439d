"""CAR001: series per measurement, database and target against the limit."""

from __future__ import annotations

from tests.builders import a_measurement, a_profile
from tsaudit.audit import audit
from tsaudit.finding import Outcome, RuleResult, Severity, Subject
from tsaudit.profile import Profile
from tsaudit.rule import LimitPolicy
from tsaudit.rules.high_series_cardinality import high_series_cardinality

LIMIT = LimitPolicy(target={"high-series-cardinality.max_series": 1000})


def judged(profile: Profile, policy: LimitPolicy = LIMIT) -> RuleResult:
    (result,) = audit(profile, policy=policy, rules=[high_series_cardinality]).results
    return result


def test_silence_when_below_the_warning_share() -> None:
    assert judged(a_profile(a_measurement(series=799))).outcome is Outcome.PASS


def test_warning_when_at_the_warning_share() -> None:
    (finding,) = judged(a_profile(a_measurement(series=800))).findings
    assert finding.severity is Severity.WARN
    assert finding.subject == Subject("main", "cpu")


def test_warning_when_at_the_limit() -> None:
    (finding,) = judged(a_profile(a_measurement(series=1000))).findings
    assert finding.severity is Severity.WARN


def test_critical_when_just_over_a_limit_somebody_set() -> None:
    (finding,) = judged(a_profile(a_measurement(series=1001))).findings
    assert finding.severity is Severity.CRITICAL
    assert finding.message == "1,001 series, 100.1 % of the limit of 1,000."


def test_warning_when_over_our_own_default() -> None:
    (finding,) = judged(a_profile(a_measurement(series=1_000_001)), LimitPolicy()).findings
    assert finding.severity is Severity.WARN
