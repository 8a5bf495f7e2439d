"""LAY001: wide tables."""

from __future__ import annotations

import dataclasses

import pytest

from tests.builders import a_field, a_measurement, a_profile
from tests.rules.cases import Case, dataset, hosts, run_rule, table
from tsaudit.model.finding import Outcome, Severity
from tsaudit.model.profile import Profile
from tsaudit.model.subject import Subject
from tsaudit.rules.layout.wide_table import wide_table as rule


def _wide(fields: int) -> dict[str, str]:
    return {f"f{i}": "float" for i in range(fields)}


def _values(fields: int) -> dict[str, float]:
    return {f"f{i}": i + 0.5 for i in range(fields)}


CASES = (
    Case(
        breaks=dataset(table("machine", hosts(2), _wide(199), lambda s, r: _values(199))),
        keeps=dataset(table("machine", hosts(2), _wide(198), lambda s, r: _values(198))),
        subject=Subject("", "machine"),
    ),
)


def _profile(fields: int, engine: str = "duckdb") -> Profile:
    return a_profile(a_measurement(fields=tuple(a_field(f"f{i}") for i in range(fields))), engine=engine)


def test_finding_when_just_over_the_limit() -> None:
    assert run_rule(rule, _profile(198)).outcome is Outcome.PASS
    (finding,) = run_rule(rule, _profile(199)).findings
    assert finding.message == "201 columns, more than the recommended 200."
    assert run_rule(rule, _profile(199), {"max_columns": 300}).outcome is Outcome.PASS


def test_critical_when_the_limit_of_the_engine_is_near() -> None:
    (finding,) = run_rule(rule, _profile(1797, "sqlite")).findings
    assert finding.severity is Severity.WARNING
    (finding,) = run_rule(rule, _profile(1798, "sqlite")).findings
    assert finding.severity is Severity.CRITICAL
    assert finding.message == "1,800 columns, more than the recommended 200, 90% of what sqlite allows."


@pytest.mark.parametrize(
    ("version", "limit"),
    [("Core 3.4.1", 500), ("Enterprise 3.9.2, over HTTP", 500), ("Cloud Serverless", 200), ("Cloud Dedicated", 250)],
)
def test_limit_when_products_of_one_engine_differ(version: str, limit: int) -> None:
    near = limit * 9 // 10
    profile = dataclasses.replace(_profile(near - 2, "influxdb3"), server_version=version)
    (finding,) = run_rule(rule, profile).findings
    assert (finding.severity, finding.observed) == (Severity.CRITICAL, near)
    assert finding.limit is not None
    assert (finding.limit.value, finding.limit.origin) == (limit, f"engine influxdb3 {profile.edition}")
    assert finding.message.endswith(f"90% of what influxdb3 {profile.edition} allows.")
    fewer = dataclasses.replace(_profile(near - 3, "influxdb3"), server_version=version)
    assert Severity.CRITICAL not in {f.severity for f in run_rule(rule, fewer).findings}
    unknown = dataclasses.replace(fewer, server_version="3.4.1")
    assert Severity.CRITICAL not in {f.severity for f in run_rule(rule, unknown).findings}


def test_warning_when_the_engine_has_no_limit() -> None:
    (finding,) = run_rule(rule, _profile(1798)).findings
    assert finding.severity is Severity.WARNING
