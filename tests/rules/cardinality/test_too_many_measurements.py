"""CAR005: the number of measurements."""

from __future__ import annotations

import itertools
from typing import Any

from tests.builders import a_measurement, a_profile
from tests.rules.cases import Case, dataset, run_rule, table
from tsaudit.model.change import MergeMeasurements
from tsaudit.model.finding import Outcome, Severity
from tsaudit.model.profile import Database, Profile, Selection
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


def test_critical_when_the_limit_of_the_product_is_near() -> None:
    tables = [a_measurement("t" + "".join(letters)) for letters in itertools.product("abcdefghij", repeat=3)]
    for count, severity in ((399, None), (400, Severity.WARNING), (475, Severity.CRITICAL)):
        profile = a_profile(*tables[:count], engine="influxdb3", server_version="Cloud Serverless")
        found = [f for f in run_rule(rule, profile).findings if not f.subject.measurement]
        assert [f.severity for f in found] == ([severity] if severity else [])
    assert found[0].message.startswith("475 measurements, 95% of the 500 that the product allows")


def _names(count: int) -> list[str]:
    """Without a family among them."""
    return ["t" + "".join(letters) for letters in itertools.product("abcdefghij", repeat=4)][:count]


def _core(*counts: int, **changes: Any) -> Profile:
    """A server with a database for each of the counts, and so many tables in it."""
    tables = [a_measurement(name, database=f"db{i}") for i, count in enumerate(counts) for name in _names(count)]
    databases = tuple(Database(f"db{i}") for i in range(len(counts)))
    made = {"engine": "influxdb3", "server_version": "Core 3.4.0", "databases": databases}
    return a_profile(*tables, **made | changes)


def test_tables_of_all_databases_count_where_the_product_counts_them() -> None:
    (finding,) = run_rule(rule, _core(900, 899, 1)).findings
    assert (finding.subject, finding.severity) == (Subject(), Severity.WARNING)
    assert finding.message == "1,800 measurements in 3 databases, 90% of the 2,000 that the product allows in total."
    assert [(e.label, e.value) for e in finding.evidence][:2] == [
        ("in db0", "900 measurements"),
        ("in db1", "899 measurements"),
    ]
    assert run_rule(rule, _core(800, 799)).outcome is Outcome.PASS
    assert run_rule(rule, _core(900, 900, server_version="Enterprise 3.4.0")).outcome is Outcome.PASS
    assert (
        run_rule(rule, _core(900, 900, server_version="Cloud Dedicated"), {"engine_measurements": 1126}).findings == ()
    )


def test_at_least_so_many_where_only_some_are_audited() -> None:
    (finding,) = run_rule(rule, _core(950, 950, selection=Selection(databases=("db0", "db1")))).findings
    assert finding.message.startswith("At least 1,900 measurements in 2 databases")


def test_all_databases_that_the_product_allows_are_information() -> None:
    (finding,) = run_rule(rule, _core(1, 1, 1, 1, 1)).findings
    assert (finding.subject, finding.severity) == (Subject(), Severity.NOTE)
    assert finding.message == "5 databases, the maximum that the product allows: creating another one will fail."
    assert run_rule(rule, _core(1, 1, 1, 1)).outcome is Outcome.PASS
    assert [f.severity for f in run_rule(rule, _core(400, 400, 400, 400, 400)).findings] == [Severity.CRITICAL]


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
