"""NAM004: a tag and a field of one name."""

from __future__ import annotations

import dataclasses

import pytest

from tests.builders import a_field, a_measurement, a_profile, a_tag
from tests.rules.cases import Case, dataset, run_rule, table
from tsaudit.model.finding import Outcome, Severity
from tsaudit.model.subject import Subject
from tsaudit.rules.names.name_used_twice import name_used_twice as rule

STATUS = [{"status": "ok"}, {"status": "failed"}]

CASES = (
    Case(
        breaks=dataset(table("requests", STATUS, {"status": "integer"}, lambda s, r: {"status": 200 + s})),
        keeps=dataset(table("requests", STATUS, {"status_code": "integer"}, lambda s, r: {"status_code": 200 + s})),
        subject=Subject("", "requests", "status"),
        main_contributor="status",
        # Recorded before the rule used rows: on InfluxDB 2.x this needs a new recording.
        engines=frozenset({"influxdb1"}),
    ),
)


def test_each_name_is_a_finding() -> None:
    tags, fields = (a_tag("a"), a_tag("b"), a_tag("c")), (a_field("c"), a_field("a"), a_field("d"))
    result = run_rule(rule, a_profile(a_measurement(tags=tags, fields=fields), engine="influxdb1"))
    assert [f.main_contributor for f in result.findings] == ["a", "c"]


@pytest.mark.parametrize(
    ("of_tag", "of_field", "severity"),
    [
        (0.0, 0.0, Severity.WARNING),
        (24.0, 0.0, Severity.WARNING),
        (24.1, 0.0, Severity.NOTE),
        (0.0, 24.1, Severity.NOTE),
        (None, 0.0, Severity.NOTE),
        (0.0, None, Severity.NOTE),
    ],
)
def test_answers_are_wrong_while_both_are_written(
    of_tag: float | None, of_field: float | None, severity: Severity
) -> None:
    tag = dataclasses.replace(a_tag("a"), idle_hours=of_tag)
    field = dataclasses.replace(a_field("a"), idle_hours=of_field)
    result = run_rule(rule, a_profile(a_measurement(tags=(tag,), fields=(field,)), engine="influxdb1"))
    assert [finding.severity for finding in result.findings] == [severity]


@pytest.mark.parametrize(("equals", "severity"), [(True, Severity.NOTE), (False, Severity.WARNING)])
def test_answers_are_right_whichever_is_meant_if_both_are_equal(equals: bool, severity: Severity) -> None:
    tag = dataclasses.replace(a_tag("a"), idle_hours=0.0)
    field = dataclasses.replace(a_field("a"), idle_hours=0.0, same_tag="a" if equals else "b")
    result = run_rule(rule, a_profile(a_measurement(tags=(tag,), fields=(field,)), engine="influxdb1"))
    assert [finding.severity for finding in result.findings] == [severity]


def test_the_same_name_in_two_measurements_is_none() -> None:
    one, other = a_measurement("a", fields=(a_field("x"),)), a_measurement("b", tags=(a_tag("x"),))
    assert run_rule(rule, a_profile(one, other, engine="influxdb1")).outcome is Outcome.PASS


def test_case_tells_names_apart() -> None:
    profile = a_profile(a_measurement(tags=(a_tag("Host"),), fields=(a_field("host"),)), engine="influxdb1")
    assert run_rule(rule, profile).outcome is Outcome.PASS


def test_empty_database() -> None:
    assert run_rule(rule, a_profile(engine="influxdb1")).outcome is Outcome.PASS
