"""NAM001: long names."""

from __future__ import annotations

import pytest

from tests.builders import a_field, a_measurement, a_profile
from tests.rules.cases import Case, dataset, hosts, run_rule, table
from tsaudit.model.change import Rename
from tsaudit.model.finding import Outcome
from tsaudit.model.subject import Subject
from tsaudit.rules.names.long_or_complex_name import long_or_complex_name as rule

LONG = "temperature_in_degrees_celsius_measured_by_the_backup_sensor_of_the_second_floor"


def _case(name: str, engines: frozenset[str]) -> Case:
    return Case(
        breaks=dataset(table("home", hosts(2), {name: "float"}, lambda s, r: {name: s + r / 7})),
        keeps=dataset(
            table("home", hosts(2), {"temperature_celsius": "float"}, lambda s, r: {"temperature_celsius": s + r / 7})
        ),
        subject=Subject("", "home"),
        main_contributor=name,
        engines=engines,
    )


CUTS_OFF = frozenset({"postgresql"})
"""It keeps 63 bytes of a name."""
CASES = (_case(LONG, rule.engines - CUTS_OFF), _case(LONG[:63], CUTS_OFF))


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("x" * 64, Outcome.PASS),
        ("x" * 65, Outcome.FAIL),
        ("a_b_c_d_e_f_g_h", Outcome.PASS),
        ("a_b_c_d_e_f_g_h_i", Outcome.FAIL),
        ("goGcDurationSecondsTotalSumPerHost", Outcome.PASS),
        ("goGcDurationSecondsTotalSumPerHostNow", Outcome.FAIL),
        ("kube_pod_container_status_last_terminated_reason", Outcome.PASS),
        ("温度", Outcome.PASS),
    ],
)
def test_outcome_when_the_name_is(name: str, outcome: Outcome) -> None:
    assert run_rule(rule, a_profile(a_measurement(fields=(a_field(name),)))).outcome is outcome


def test_one_finding_when_several_names_of_a_measurement_are_long() -> None:
    measurement = a_measurement("m" * 70, fields=(a_field("f" * 70), a_field("short")))
    (finding,) = run_rule(rule, a_profile(measurement)).findings
    assert len(finding.evidence) == 2
    assert {(c.old, c.new) for c in finding.changes if isinstance(c, Rename)} == {("", "m" * 24), ("f" * 70, "f" * 24)}


def test_names_of_measurements_that_begin_alike_stay_apart() -> None:
    """Cut off alike, they would become one measurement, in which points overwrite each other."""
    long = "response_time_of_the_payment_service_by_{}_as_seen_from_the_gateway"
    measurements = [a_measurement(long.format(word)) for word in ("country", "bank", "currency")]
    found = run_rule(rule, a_profile(*measurements, a_measurement("response_time_of_the"))).findings
    new = [change.new for finding in found for change in finding.changes if isinstance(change, Rename)]
    assert sorted(new) == ["response_time_of_the_2", "response_time_of_the_3", "response_time_of_the_4"]


def test_finding_when_the_database_is_meant() -> None:
    (finding,) = run_rule(rule, a_profile(a_measurement(database="d" * 65))).findings
    assert finding.subject == Subject("d" * 65)


def test_silence_when_the_limit_is_raised() -> None:
    profile = a_profile(a_measurement("x" * 100))
    assert run_rule(rule, profile, {"max_length": 100}).outcome is Outcome.PASS
