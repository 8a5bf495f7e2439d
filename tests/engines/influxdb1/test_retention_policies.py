"""Rules on retention policies that are audited as databases: whose series they count, and what they propose to run."""

from __future__ import annotations

import re
from dataclasses import replace

from tests.builders import a_count, a_field, a_measurement, a_profile, a_tag
from tests.databases import influxql, without_use, write_lines
from tests.rules.cases import history_of, planned, plans, run_rule
from tests.servers import Influxd
from tsaudit.evaluation import evaluate
from tsaudit.model.figures import FOREVER
from tsaudit.model.finding import Finding
from tsaudit.model.profile import Database, Measurement, Profile
from tsaudit.model.storage import Retention
from tsaudit.model.timeline import Timeline
from tsaudit.rules import all_rules

RULES = {rule.code: rule for rule in all_rules()}


def in_policy(policy: str, name: str = "req", series: int = 3, database: str = "shop") -> Measurement:
    """A measurement of `shop`; its default policy is `autogen`."""
    known_as = database if policy == "autogen" else f"{database}/{policy}"
    return a_measurement(
        name, series, database=known_as, path=(database, policy), tags=(a_tag("host"), a_tag("id", series))
    )


def divided(*measurements: Measurement, series: int | None, **changes: object) -> Profile:
    """The database `shop` with so many series in all, and its policies that the measurements are in."""

    def kept(policy: str) -> tuple[Retention, ...]:
        return (Retention(policy, FOREVER, 604_800, default=policy == "autogen"),)

    own = {m.database: m for m in measurements}
    parts = [
        Database(name, a_count(m.series.value) if m.series else None, kept(m.path[1]), policy_of="shop")
        for name, m in own.items()
        if name != "shop"
    ]
    default = own["shop"].series if "shop" in own else a_count(0)
    whole = Database("shop", None if series is None else a_count(series), kept("autogen"), own_series=default)
    return a_profile(*measurements, engine="influxdb1", databases=(whole, *parts), **changes)


def found(code: str, profile: Profile, timeline: Timeline | None = None, **limits: float) -> dict[str, Finding]:
    return {str(f.subject): f for f in run_rule(RULES[code], profile, limits, timeline).findings}


def test_limit_counts_a_series_once_in_however_many_policies_it_is() -> None:
    both = [in_policy("autogen", series=600), in_policy("raw", series=600)]
    assert found("CAR001", divided(*both, series=700), max_series=1000) == {}
    assert set(found("CAR001", divided(*both, series=1100), max_series=1000)) == {"shop"}
    # What all of them have is not known, and their sum is not it.
    assert found("CAR001", divided(*both, series=None), max_series=1000) == {}


def test_policy_that_is_over_the_limit_by_itself_is_named_alone() -> None:
    profile = divided(in_policy("autogen", series=5), in_policy("raw", series=1200), series=1205)
    assert set(found("CAR001", profile, max_series=1000)) == {"shop/raw/req"}


def test_growth_of_one_policy_is_not_that_of_the_other() -> None:
    profile = divided(in_policy("autogen", series=2000), in_policy("raw", series=50_000), series=52_000)
    factors = [0.02 + i * 0.98 / 40 for i in range(40)]
    grown = history_of(profile, factors, "id")
    steady = {
        key: tuple(replace(p, value=2000.0) for p in points)
        for key, points in grown.points.items()
        if key[1].database == "shop" and key[1].measurement
    }
    timeline = Timeline(points={**grown.points, **steady})
    said = found("CAR004", profile, timeline)
    assert set(said) == {"shop/raw/req"}
    assert found("RET001", profile, timeline)["shop"].severity == "note", "what it holds itself does not grow"


def test_growth_proposes_statements_for_the_policy(influxd: Influxd) -> None:
    database = "grown"
    influxql(influxd.url, f"CREATE DATABASE {database}")
    influxql(influxd.url, f"CREATE RETENTION POLICY raw ON {database} DURATION INF REPLICATION 1")
    write_lines(influxd.url, database, (f"req,host=a,id=r{i} v=1 {i}" for i in range(9)), policy="raw")
    write_lines(influxd.url, database, iter(["req,host=a,id=other v=1 1"]))
    raw = in_policy("raw", series=50_000, database=database)
    profile = a_profile(raw, engine="influxdb1")
    factors = [0.02 + i * 0.98 / 40 for i in range(40)]
    (plan,) = evaluate(profile, history_of(profile, factors, "id"), rules=[RULES["CAR004"]]).plans
    (statement,) = (step.text for step in plan.steps if "CARDINALITY" in step.text)
    (answer,) = influxql(influxd.url, statement)["results"][0]["series"]
    assert answer["tags"] == {"host": "a"}
    assert answer["values"][0][-1] >= 9


def test_statement_that_deletes_says_that_it_reaches_all_policies() -> None:
    names = [f"load_host{i:03}" for i in range(60)]
    alone = [in_policy("raw", name) for name in names]
    shared = [*alone, *(in_policy("autogen", name) for name in names)]
    for measurements, reaches in ((alone, False), (shared, True)):
        found = plans(RULES["NAM002"], divided(*measurements, series=99))
        drops = [step for plan in found for step in plan.steps if "DROP" in step.text]
        assert drops
        for step in drops:
            statement = without_use(step.text, "shop")
            assert re.fullmatch(r"DROP SERIES FROM /\S+/", statement), "the server takes no policy there"
            assert ("all retention policies of shop" in step.words) is reaches


def test_policies_of_one_database_are_no_databases_of_customers() -> None:
    policies = [f"tenant_{i:03}" for i in range(12)]
    profile = divided(*(in_policy(policy) for policy in policies), series=36)
    assert found("LAY008", profile) == {}


def test_names_of_policies_are_no_names_that_queries_quote() -> None:
    assert found("NAM001", divided(in_policy("1y"), in_policy("autogen"), series=6)) == {}


def test_statements_about_a_measurement_name_its_policy() -> None:
    """Every rule's plan for one measurement with everything wrong that these rules see."""
    bad = replace(
        in_policy("raw", "select"),
        fields=(a_field("select", ("float", "string")), a_field("host")),
    )
    profile = divided(bad, series=3)
    fixes = [planned(RULES[code], profile) for code in ("NAM004", "FLD003")]
    assert all(fixes)
    sources = [source for fix in fixes for source in re.findall(r'(?:FROM|INTO) ("[^"]+"(?:\."[^"]+")*)', fix)]
    assert len(sources) >= 3
    assert {source.rpartition(".")[0] for source in sources} == {'"shop"."raw"'}, fixes
