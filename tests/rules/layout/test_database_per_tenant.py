"""LAY008: a database for each customer."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import pytest

from tests.builders import a_measurement, a_profile
from tests.databases import Dataset
from tests.rules.cases import Case, hosts, run_rule, table
from tsaudit.engines.registry import ENGINES
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Finding, Outcome
from tsaudit.model.profile import Database, Profile
from tsaudit.model.storage import DatabaseStorage
from tsaudit.rules.layout.database_per_tenant import database_per_tenant as rule

HELD = (table("orders", hosts(2)), table("users", hosts(2)))
PARTS = ("web", "stock", "mail", "search", "billing")


def _for_each(*names: str) -> Dataset:
    """The same in each of the databases."""
    first, *others = (Dataset(HELD, database=name) for name in names)
    return dataclasses.replace(first, beside=others)


def _for_parts(*parts: str) -> Dataset:
    """Databases with such names of one system, each with what only it holds."""
    beside = [Dataset([table(f"{part}_events", hosts(2))], database=f"shop_{part}") for part in parts]
    return Dataset(HELD, database="shop", beside=beside)


CASES = (
    Case(
        breaks=_for_each(*(f"tenant_{i:04}" for i in range(1, 6))),
        keeps=_for_parts(*PARTS),
        subject=Subject("tenant_0001"),
        engines=rule.engines - {"influxdb3"},
    ),
    # Core, which the tests' server is, has room for five.
    Case(
        breaks=_for_each(*(f"tenant_{i:04}" for i in range(1, 6))),
        keeps=_for_parts("web", "stock"),
        subject=Subject("tenant_0001"),
        engines=frozenset({"influxdb3"}),
    ),
)


def _profile(
    names: Sequence[str], held: tuple[str, ...] = ("orders", "users"), engine: str = "mongodb", version: str = "1.0"
) -> Profile:
    databases = tuple(Database(name, storage=DatabaseStorage(10_000, 2000, 5, 10)) for name in names)
    measurements = [a_measurement(one, database=name) for name in names for one in held]
    return a_profile(*measurements, engine=engine, server_version=version, databases=databases)


def _found(*names: str, **limits: float) -> tuple[Finding, ...]:
    return run_rule(rule, _profile(names), limits).findings


def _tenants(count: int) -> list[str]:
    return [f"tenant_{i:04}" for i in range(count)]


def test_message_and_evidence() -> None:
    (finding,) = _found(*_tenants(7))
    assert finding.impact is None
    assert finding.message == "7 databases named tenant_{id} contain the same collections, 14 in total."
    evidence = {e.label: e.value for e in finding.evidence}
    assert evidence["in each of them"] == "orders and users"
    assert evidence["bytes of all"] == "84 kB"
    assert not finding.changes


@pytest.mark.parametrize(
    ("names", "template"),
    [
        (["acme-shop", "beta-shop", "corp-shop", "dyne-shop", "ecma-shop"], "{id}-shop"),
        ([f"customer{i:03}" for i in range(5)], "customer{id}"),
        ([f"{i:08x}f00dfeed" for i in range(5)], "{id}"),
    ],
)
def test_family_when_one_part_of_the_name_varies(names: list[str], template: str) -> None:
    (finding,) = _found(*names)
    assert f"named {template} contain" in finding.message


def test_silence_when_it_is_the_period_that_varies() -> None:
    months = [f"shop_2025_{month:02}" for month in range(4, 13)]
    assert _found(*months) == ()
    (finding,) = _found(*months, *_tenants(5))
    assert finding.message.startswith("5 databases named tenant_{id} contain")


@pytest.mark.parametrize(("own", "is_found"), [(1, True), (2, False)])
def test_half_of_what_they_contain_is_the_same(own: int, is_found: bool) -> None:
    names = _tenants(5)
    held = [
        a_measurement(one, database=name) for name in names for one in ("orders", *(f"{name}{i}" for i in range(own)))
    ]
    found = run_rule(rule, a_profile(*held, engine="mongodb", databases=tuple(map(Database, names)))).findings
    assert bool(found) is is_found


def test_silence_when_they_are_few_or_differ() -> None:
    names = _tenants(5)
    assert _found(*names[:4]) == ()
    assert _found("shop", "stock", "mail", "search", "billing") == ()
    databases = tuple(Database(name) for name in names)
    other = [a_measurement(f"c{i}", database=name) for i, name in enumerate(names)]
    profile = a_profile(*other, engine="mongodb", databases=databases)
    assert run_rule(rule, profile).outcome is Outcome.PASS


def test_a_note_whatever_the_product_allows() -> None:
    for engine, version in (
        ("influxdb1", "1.8.10"),
        ("influxdb2", "2.7.12"),
        ("influxdb3", "Enterprise 3.6.0"),
        ("mongodb", "7.0"),
    ):
        (finding,) = run_rule(rule, _profile(_tenants(900), engine=engine, version=version)).findings
        assert (finding.impact, finding.limit, finding.observed) == (None, None, 900)


def test_words_are_those_of_the_engine() -> None:
    messages = {e: run_rule(rule, _profile(_tenants(5), engine=e)).findings[0].message for e in sorted(rule.engines)}
    words = {e: ENGINES[e].words for e in messages}
    held = {e: f"5 {w.database}s named tenant_{{id}} contain the same {w.measurement}s" for e, w in words.items()}
    assert all(messages[e].startswith(held[e]) for e in messages)
    assert messages["influxdb2"].startswith("5 buckets named tenant_{id} contain the same measurements")
    assert messages["timestream"].startswith("5 databases named tenant_{id} contain the same tables")
