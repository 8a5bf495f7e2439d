"""CAR005: the number of measurements, and families of names."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable
from typing import Any

import pytest

from tests.builders import a_field, a_measurement, a_profile
from tests.engines.traits import engines_that
from tests.rules.cases import Case, dataset, run_rule, table
from tsaudit.model.change import MergeMeasurements
from tsaudit.model.finding import Outcome, Severity
from tsaudit.model.profile import Database, Profile, Selection, TableKind
from tsaudit.model.subject import Subject
from tsaudit.rules.cardinality.too_many_measurements import too_many_measurements as rule

ONE = [{"host": "a"}]
CASES = (
    Case(
        breaks=dataset(*(table(f"cpu_server_{i}", ONE) for i in range(8))),
        keeps=dataset(*(table(name, ONE) for name in ("cpu", "mem", "disk", "swap", "net", "system", "kernel"))),
        subject=Subject("", "cpu_{host}"),
        engines=engines_that(lambda engine: not engine.keeps_documents),
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


def test_family_when_names_hold_dates() -> None:
    names = [f"events_2024_{month:02}" for month in range(1, 13)]
    (finding,) = run_rule(rule, a_profile(*(a_measurement(n) for n in names)), {"max_family": 11}).findings
    assert finding.subject == Subject("main", "events_{date}")
    (change,) = finding.changes
    assert isinstance(change, MergeMeasurements)
    assert (change.into, len(change.members)) == ("events", 12)
    assert finding.share == 1.0


def test_columns_proposed_when_names_hold_hosts() -> None:
    names = [f"Cpu.server-{i}.us-west.usage_user" for i in range(1, 61)]
    result = run_rule(rule, a_profile(*(a_measurement(n) for n in names)), {"max_measurements": 10})
    assert [f.subject.measurement for f in result.findings] == ["", "Cpu.{host}.{region}.usage_user"]
    (change,) = result.findings[1].changes
    assert isinstance(change, MergeMeasurements)
    assert change.members[0].tags == (("host", "server-1"), ("region", "us-west"))


CITIES = ("berlin", "bremen", "essen", "jena", "kiel")


def _alike(
    names: Iterable[str], *fields: str, kind: TableKind = TableKind.SERIES, types: tuple[str, ...] = ("DOUBLE",)
) -> Profile:
    """SQL tables with the same columns."""
    columns = tuple(a_field(f, types) for f in fields)
    return a_profile(*(a_measurement(n, fields=columns, kind=kind) for n in names), engine="duckdb")


def test_tables_with_the_same_columns_are_one_list() -> None:
    (finding,) = run_rule(rule, _alike([f"{city}_boilers" for city in CITIES], "temperature", "pressure")).findings
    assert finding.subject == Subject("main", "{part_1}_boilers")
    assert finding.message == (
        "5 tables named {part_1}_boilers have the same columns; one table with the column part_1 would do."
    )
    (merge,) = finding.changes
    assert isinstance(merge, MergeMeasurements)
    assert [member.tags for member in merge.members] == [(("part_1", city),) for city in CITIES]


@pytest.mark.parametrize(
    ("names", "fields", "changes"),
    [
        ([f"{city}_boilers" for city in CITIES[:4]], ("temperature", "pressure"), {}),
        # Each quantity has these, so the names have to say what is measured.
        ([f"{what}_timer" for what in CITIES], ("count", "mean", "p99", "upper_90"), {}),
        ([f"{what}_level" for what in CITIES], ("height",), {}),
        ([f"flow_{grain}" for grain in ("raw", "1m", "1h", "daily", "month")], ("rate_in", "rate_out"), {}),
        ([f"{city}_orders" for city in CITIES], ("price", "weight"), {"kind": TableKind.ENTITY}),
        ([f"flow_2026_0{month}" for month in range(1, 5)], ("rate_in", "rate_out"), {}),
        (
            [f"{city}_changes" for city in CITIES],
            ("entry", "user_number"),
            {"kind": TableKind.EVENTS, "types": ("BIGINT",)},
        ),
    ],
    ids=["few", "statistics", "one field", "resolutions", "no series", "few periods", "logs"],
)
def test_tables_with_the_same_columns_that_are_no_list(
    names: list[str], fields: tuple[str, ...], changes: dict[str, Any]
) -> None:
    assert run_rule(rule, _alike(names, *fields, **changes)).outcome is Outcome.PASS


@pytest.mark.parametrize(
    "names", [[f"{city}_boilers" for city in CITIES[:3]], list(CITIES[:3]), [f"boilers_{n:02}" for n in range(3)]]
)
def test_lists_are_as_short_as_the_limit_says(names: list[str]) -> None:
    profile = _alike(names, "temperature", "pressure")
    assert run_rule(rule, profile, {"max_alike": 3}).outcome is Outcome.PASS
    assert run_rule(rule, profile, {"max_alike": 2}).findings[0].observed == 3


def test_tables_with_the_same_columns_and_data_in_their_names_are_told_once() -> None:
    names = [f"device_{n:012x}" for n in random.Random(3).sample(range(16**12), 60)]
    (family,) = run_rule(rule, _alike(names, "temperature", "battery")).findings
    assert family.message == "60 measurements have names that differ only in data: device_{id}."
    (alike,) = run_rule(rule, _alike(names[:9], "temperature", "battery")).findings
    assert alike.message == "9 tables named device_{id} have the same columns; one table with the column id would do."


def test_tables_of_periods_with_the_same_columns_are_one() -> None:
    days = [f"acct_202603{day:02}" for day in range(1, 8)]
    for kind, types in ((TableKind.SERIES, ("DOUBLE",)), (TableKind.EVENTS, ("BIGINT",))):
        (finding,) = run_rule(rule, _alike(days, "packets", "bytes", kind=kind, types=types)).findings
        assert finding.message == (
            "7 tables named acct_{date} have the same columns; one table for all periods would do."
        )


def test_tables_of_events_with_measured_values_are_one_list() -> None:
    trades = _alike(
        [f"{name}_trades" for name in ("aapl", "msft", "sap", "ibm", "tsla")], "price", "size", kind=TableKind.EVENTS
    )
    (finding,) = run_rule(rule, trades).findings
    assert finding.subject.measurement == "{part_1}_trades"


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
