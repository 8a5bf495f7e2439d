"""CAR005: the number of measurements, and families of names."""

from __future__ import annotations

import itertools

from tests.builders import a_measurement, a_profile
from tests.rules.cases import Case, dataset, judge, table
from tsaudit.finding import Outcome, Severity, Subject
from tsaudit.rules.too_many_measurements import too_many_measurements as rule

ONE = [{"host": "a"}]
CASES = (
    Case(
        breaks=dataset(*(table(f"cpu_server_{i}", ONE) for i in range(8))),
        keeps=dataset(*(table(name, ONE) for name in ("cpu", "mem", "disk", "swap", "net", "system", "kernel"))),
        subject=Subject("", "cpu_{host}"),
        limits={"too-many-measurements.max_family": 5},
    ),
    Case(
        breaks=dataset(*(table(name, ONE) for name in ("cpu", "mem", "disk", "swap"))),
        keeps=dataset(*(table(name, ONE) for name in ("cpu", "mem", "disk"))),
        subject=Subject(""),
        limits={"too-many-measurements.max_measurements": 3},
    ),
)
WORDS = ("cpu", "mem", "disk", "swap", "net")


def test_silence_when_at_the_limit_and_finding_when_just_over() -> None:
    five, four = (a_profile(*(a_measurement(n) for n in WORDS[:count])) for count in (5, 4))
    assert judge(rule, four, {"max_measurements": 4}).outcome is Outcome.PASS
    (finding,) = judge(rule, five, {"max_measurements": 4}).findings
    assert finding.message == "5 measurements, more than 4."


def test_critical_when_the_limit_of_the_product_is_near() -> None:
    tables = [a_measurement("t" + "".join(letters)) for letters in itertools.product("abcdefghij", repeat=3)]
    profile = a_profile(*tables[:450], engine="influxdb3", server_version="Cloud Serverless")
    (finding,) = [f for f in judge(rule, profile).findings if not f.subject.measurement]
    assert finding.severity is Severity.CRITICAL
    assert finding.message.startswith("450 measurements, 90 % of the 500 that the product allows")
    fewer = a_profile(*tables[:449], engine="influxdb3", server_version="Cloud Serverless")
    assert not [f for f in judge(rule, fewer).findings if not f.subject.measurement]


def test_family_when_names_hold_dates() -> None:
    names = [f"events_2024_{month:02}" for month in range(1, 13)]
    (finding,) = judge(rule, a_profile(*(a_measurement(n) for n in names)), {"max_family": 11}).findings
    assert finding.subject == Subject("main", "events_{date}")
    assert "events" in finding.fix
    assert finding.share == 1.0


def test_columns_proposed_when_names_hold_hosts() -> None:
    names = [f"Cpu.server-{i}.us-west.usage_user" for i in range(1, 61)]
    result = judge(rule, a_profile(*(a_measurement(n) for n in names)), {"max_measurements": 10})
    assert [f.subject.measurement for f in result.findings] == ["", "Cpu.{host}.{region}.usage_user"]
    assert "cpu with host and region" in result.findings[1].fix
