"""LAY009: tenants share a database, separated by a tag."""

from __future__ import annotations

import pytest

from tests.builders import a_count, a_field, a_measurement, a_profile, a_source, a_tag
from tests.databases import influxql, write
from tests.rules.cases import Case, dataset, run_rule, table, text_of
from tests.servers import Influxd
from tsaudit.model.finding import Finding, Outcome
from tsaudit.model.plan import StepKind
from tsaudit.model.profile import Documents, Measurement
from tsaudit.model.subject import Subject
from tsaudit.rules.layout.tenant_in_tag import tenant_in_tag as rule


def _devices(**more: list[str]) -> list[dict[str, str | None]]:
    """Twelve devices, each of which has one of the values of every further tag."""
    return [{"device": f"d{i:02}"} | {k: values[i % len(values)] for k, values in more.items()} for i in range(12)]


CASES = (
    Case(
        breaks=dataset(
            table("air", _devices(customer_id=["acme", "byte", "corp"])),
            table("power", _devices(customer_id=["acme", "byte"])),
            table("gateways", _devices()),
        ),
        keeps=dataset(
            table("air", _devices(site=["berlin", "lyon"])),
            table("power", _devices(customer_id=["acme"])),
            table("gateways", _devices()),
        ),
        subject=Subject(""),
        main_contributor="customer_id",
    ),
)


def _with(key: str, values: int, name: str = "cpu") -> Measurement:
    return a_measurement(name, tags=(a_tag("host"), a_tag(key, values)))


def _found(*measurements: Measurement, engine: str = "influxdb2", **limits: float) -> tuple[Finding, ...]:
    return run_rule(rule, a_profile(*measurements, engine=engine), limits).findings


def test_message_and_evidence() -> None:
    (finding,) = _found(_with("tenant", 40), _with("tenant", 7, "mem"), a_measurement("logs"))
    assert (finding.subject, finding.impact, finding.main_contributor) == (Subject("main"), None, "tenant")
    assert finding.message == (
        "One bucket for all tenants: tenant, with 40 values, separates them in 2 of 3 measurements."
    )
    assert [(e.label, e.value) for e in finding.evidence] == [("with tenant", "cpu and mem"), ("without it", "logs")]
    assert "Write one that needs more to a bucket of its own, such as main_tenant" in finding.fix


@pytest.mark.parametrize(
    ("key", "found"),
    [
        *[(key, True) for key in ("tenant", "customer_id", "customerId", "org", "ORG-NAME", "organisation_id")],
        *[(key, True) for key in ("account", "account_id", "tenantUuid")],
        *[(key, False) for key in ("customer_region", "orgs", "origin", "accounting", "user_id", "client", "device")],
    ],
)
def test_name_of_the_tag(key: str, found: bool) -> None:
    assert bool(_found(_with(key, 5))) == found


def test_silence_below_the_limits() -> None:
    assert _found(_with("tenant", 1)) == ()
    assert _found(_with("tenant", 2))
    assert _found(_with("tenant", 4), min_tenants=5) == ()
    assert _found(_with("tenant", 9), a_measurement("a"), a_measurement("b")) == ()
    assert _found(_with("tenant", 9), a_measurement("a"))
    assert _found(_with("tenant", 9), a_measurement("a"), min_share=0.6) == ()
    empty = a_measurement("empty", tags=(), fields=())
    assert _found(_with("tenant", 9), a_measurement("a"), empty, empty)


@pytest.mark.parametrize(
    ("key", "values", "rows", "found"),
    [
        # Who writes all the time, and who orders now and then.
        ("customer_id", 40, 2000, True),
        ("customer_id", 41, 2000, False),
        ("customer_id", 20, 60, True),
        ("customer_id", 21, 60, False),
        ("account", 900, 2000, False),
        # Nobody buys as a tenant.
        ("tenant", 900, 2000, True),
        ("org_id", 900, 2000, True),
    ],
)
def test_customers_of_a_shop_are_no_tenants(key: str, values: int, rows: int, found: bool) -> None:
    orders = a_measurement("orders", tags=(a_tag("shop"), a_tag(key, values)), rows=a_count(rows))
    assert bool(_found(orders)) == found
    documents = Documents(rows, 300.0, 300, a_source())
    fields = (a_field("total"), a_field(key, ("string",), distinct=a_count(values)))
    orders = a_measurement("orders", tags=(), fields=fields, documents=documents)
    assert bool(_found(orders, engine="mongodb")) == found


def test_the_tag_that_most_measurements_have_is_named() -> None:
    (finding,) = _found(_with("account", 90), _with("tenant", 3, "mem"), _with("tenant", 2, "net"))
    assert finding.main_contributor == "tenant"


def test_a_field_names_the_customer_in_documents_only() -> None:
    fields = (a_field("total"), a_field("meta.tenant_id", ("string",), distinct=a_count(9)))
    orders = a_measurement("orders", tags=(), fields=fields)
    (finding,) = _found(orders, engine="mongodb")
    assert finding.message == (
        "One database for all tenants: meta.tenant_id, with 9 values, separates them in 1 of 1 collections."
    )
    assert "meta.tenant_id is best the first" in finding.fix
    assert run_rule(rule, a_profile(orders, engine="influxdb2")).outcome is Outcome.PASS


def test_statement_that_shows_a_customer(influxd: Influxd) -> None:
    target = write(CASES[0].breaks, "influxdb1", influxd.url)
    (name,) = target.databases
    profile = a_profile(a_measurement("air", database=name, tags=(a_tag("customer_id"),)), engine="influxdb1")
    statement = text_of(StepKind.FIND, rule, profile).replace("...", "byte")
    (series,) = influxql(influxd.url, statement, db=name)["results"][0]["series"]
    assert {row[series["columns"].index("customer_id")] for row in series["values"]} == {"byte"}
