"""CAR005: the number of measurements."""

from __future__ import annotations

import itertools

from tests.builders import a_measurement, a_profile
from tests.rules.cases import Case, dataset, run_rule, table
from tsaudit.model.change import MergeMeasurements
from tsaudit.model.finding import Outcome
from tsaudit.model.subject import Subject
from tsaudit.rules.cardinality.too_many_measurements import too_many_measurements as rule

ONE = [{"host": "a"}]
CASES = (
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
    assert run_rule(rule, four, {"max_measurements": 4}).outcome is Outcome.PASS
    (finding,) = run_rule(rule, five, {"max_measurements": 4}).findings
    assert finding.message == "5 measurements, more than 4."


def _names(count: int) -> list[str]:
    """Without a family among them."""
    return ["t" + "".join(letters) for letters in itertools.product("abcdefghij", repeat=4)][:count]


def test_merge_proposed_when_names_are_families() -> None:
    names = [f"Cpu.server-{i}.us-west.usage_user" for i in range(1, 61)]
    result = run_rule(rule, a_profile(*(a_measurement(n) for n in names)), {"max_measurements": 10})
    (finding,) = result.findings
    assert finding.subject == Subject("main")
    (change,) = finding.changes
    assert isinstance(change, MergeMeasurements)
    assert change.members[0].tags == (("host", "server-1"), ("region", "us-west"))


def test_collections_count_where_no_other_rule_reports_them() -> None:
    days = [f"visits_2024_01_{day:02}" for day in range(1, 29)]
    tenants = [f"tenant_{n}" for n in range(1, 31)]
    collections = [a_measurement(name) for name in (*_names(5), *days, *tenants)]
    (finding,) = run_rule(rule, a_profile(*collections, engine="mongodb"), {"max_measurements": 4}).findings
    assert finding.message == "5 collections beside 58 in families, more than 4."
    assert run_rule(rule, a_profile(*collections, engine="mongodb"), {"max_measurements": 5}).outcome is Outcome.PASS
    plain = a_profile(*(a_measurement(name) for name in _names(1500)), engine="mongodb")
    (finding,) = run_rule(rule, plain).findings
    assert finding.message == "1,500 collections, more than 1,000."
