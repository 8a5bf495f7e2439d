"""DOC008: a database for each customer."""

from __future__ import annotations

import dataclasses

import pytest

from tests.builders import a_profile
from tests.databases import Collection, Dataset
from tests.rules.cases import Case, judge
from tests.rules.test_collection_per_period import a_collection
from tsaudit.finding import Finding, Outcome, Severity, Subject
from tsaudit.profile import Database, DatabaseStorage
from tsaudit.rules.database_per_customer import database_per_customer as rule

COLLECTIONS = (Collection("orders", [{"total": 9.5}]), Collection("users", [{"name": "a"}]))
CASES = (
    Case(
        breaks=Dataset(
            collections=COLLECTIONS,
            database="tenant_0001",
            beside=[Dataset(collections=COLLECTIONS, database=f"tenant_{i:04}") for i in range(2, 6)],
        ),
        keeps=Dataset(
            collections=COLLECTIONS,
            database="shop",
            beside=[
                Dataset(collections=[Collection(f"{part}_events", [{"n": 1}])], database=f"shop_{part}")
                for part in ("web", "stock", "mail", "search", "billing")
            ],
        ),
        subject=Subject("tenant_0001"),
        severity=Severity.INFO,
    ),
)


def _found(*names: str, collections: tuple[str, ...] = ("orders", "users"), **limits: float) -> tuple[Finding, ...]:
    databases = tuple(Database(name, storage=DatabaseStorage(10_000, 2000, 5, 10)) for name in names)
    measurements = [dataclasses.replace(a_collection(c), database=name) for name in names for c in collections]
    profile = a_profile(*measurements, engine="mongodb", databases=databases)
    return judge(rule, profile, limits).findings


def test_message_and_evidence() -> None:
    (finding,) = _found(*(f"tenant_{i:02}" for i in range(7)))
    assert finding.severity is Severity.INFO
    assert finding.message == "7 databases named tenant_{id} hold the same collections, 14 in all."
    evidence = {e.label: e.value for e in finding.evidence}
    assert evidence["collections in each of them"] == "orders and users"
    assert evidence["bytes of all"] == "84 kB"
    assert "name: /^tenant_.*$/" in finding.fix


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
    assert f"named {template} hold" in finding.message


def test_severity_and_silence() -> None:
    names = [f"tenant_{i:02}" for i in range(5)]
    assert _found(*names[:4]) == ()
    assert _found("shop", "stock", "mail", "search", "billing") == ()
    assert [f.severity for f in _found(*names, max_collections=9)] == [Severity.WARN]
    assert [f.severity for f in _found(*names, max_collections=10)] == [Severity.INFO]
    databases = tuple(Database(name) for name in names)
    other = [dataclasses.replace(a_collection(f"c{i}"), database=name) for i, name in enumerate(names)]
    profile = a_profile(*other, engine="mongodb", databases=databases)
    assert judge(rule, profile).outcome is Outcome.PASS
