"""NAM004: a tag and a field of one name."""

from __future__ import annotations

from tests.builders import a_field, a_measurement, a_profile, a_tag
from tests.rules.cases import Case, dataset, run_rule, table
from tsaudit.model.finding import Outcome
from tsaudit.model.subject import Subject
from tsaudit.rules.names.name_used_twice import name_used_twice as rule

STATUS = [{"status": "ok"}, {"status": "failed"}]

CASES = (
    Case(
        breaks=dataset(table("requests", STATUS, {"status": "integer"}, lambda s, r: {"status": 200 + s})),
        keeps=dataset(table("requests", STATUS, {"status_code": "integer"}, lambda s, r: {"status_code": 200 + s})),
        subject=Subject("", "requests", "status"),
        main_contributor="status",
    ),
)


def test_each_name_is_a_finding() -> None:
    tags, fields = (a_tag("a"), a_tag("b"), a_tag("c")), (a_field("c"), a_field("a"), a_field("d"))
    result = run_rule(rule, a_profile(a_measurement(tags=tags, fields=fields), engine="influxdb1"))
    assert [f.main_contributor for f in result.findings] == ["a", "c"]


def test_the_same_name_in_two_measurements_is_none() -> None:
    one, other = a_measurement("a", fields=(a_field("x"),)), a_measurement("b", tags=(a_tag("x"),))
    assert run_rule(rule, a_profile(one, other, engine="influxdb1")).outcome is Outcome.PASS


def test_case_tells_names_apart() -> None:
    profile = a_profile(a_measurement(tags=(a_tag("Host"),), fields=(a_field("host"),)), engine="influxdb1")
    assert run_rule(rule, profile).outcome is Outcome.PASS


def test_empty_database() -> None:
    assert run_rule(rule, a_profile(engine="influxdb1")).outcome is Outcome.PASS
