"""Named plans, and a configuration's limits."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from pydantic import SecretStr

from tests.builders import a_measurement, a_profile
from tsaudit.config.settings import MeasurementOverride, Settings, Target
from tsaudit.costs import is_enforced
from tsaudit.evaluation import evaluate
from tsaudit.model.finding import Limit, Severity
from tsaudit.model.server import ServerStatus
from tsaudit.model.timeline import Timeline
from tsaudit.policy import LimitPolicy, limit_plans, limit_policy
from tsaudit.rule import Case
from tsaudit.rules import all_rules
from tsaudit.rules.cardinality.high_series_cardinality import high_series_cardinality


def _settings(everywhere: dict[str, float] | None = None, **target: Any) -> Settings:
    made = Target(**{"name": "shop", "engine": "influxdb1", "url": SecretStr("http://127.0.0.1:8086")} | target)
    return Settings(limits=everywhere or {}, targets=(made,))


def _limit(settings: Settings, series: int = 10**7) -> Limit:
    policy = limit_policy(settings, settings.targets[0])
    profile = a_profile(a_measurement("http_in", series=series), engine="influxdb1")
    (result,) = evaluate(profile, policy=policy, rules=[high_series_cardinality]).results
    limit = result.findings[0].limit
    assert limit is not None
    return limit


def test_plans_when_compared_with_the_rules() -> None:
    known = {f"{r.name}.{t.name}" for r in all_rules() for t in r.thresholds}
    for plan in limit_plans().values():
        assert set(plan) <= known
        assert all(source.startswith("https://") for _, source in plan.values())


NAME = "high-series-cardinality.max_series"


def test_limit_when_several_places_set_it() -> None:
    pattern = {"http_*": MeasurementOverride(limits={NAME: 1})}
    assert _limit(_settings()).origin == "engine influxdb1"
    assert _limit(_settings({NAME: 4})).origin == "all targets"
    assert _limit(_settings({NAME: 4}, plan="influxdb-cloud-free")).origin == "plan influxdb-cloud-free"
    assert _limit(_settings({NAME: 4}, plan="influxdb-cloud-free", limits={NAME: 2})).value == 2
    assert _limit(_settings(limits={NAME: 2}, measurements=pattern)).origin == "measurement http_*"


@pytest.mark.parametrize(
    ("setting", "owner", "value", "origin"),
    [
        (None, None, 1_000_000, "engine influxdb1"),
        (5_000.0, None, 5_000, "server"),
        (5_000.0, 4_000, 4_000, "target"),
        (5_000.0, 6_000, 5_000, "server"),
        # It was set to have none: what the vendor documents is not what holds.
        (0.0, None, 1_000_000, "default"),
        (0.0, 4_000, 4_000, "target"),
    ],
)
def test_limit_when_the_server_says_its_own(
    setting: float | None, owner: float | None, value: float, origin: str
) -> None:
    said = {} if setting is None else {"max_series_per_database": setting}
    profile = a_profile(engine="influxdb1", server=ServerStatus(said))
    policy = LimitPolicy(target={} if owner is None else {NAME: owner})
    limit = Case(high_series_cardinality, profile, Timeline(), policy).limit("max_series")
    assert (limit.value, limit.origin) == (value, origin)


@pytest.mark.parametrize(
    ("engine", "name", "used", "enforced"),
    [
        ("postgresql", "near-limit.columns", 1_600, True),
        ("postgresql", "near-limit.columns", 1_601, False),
        ("postgresql", "near-limit.partitions", 10, False),
        ("influxdb1", NAME, 10, None),
        ("influxdb1", NAME, 1_000_001, False),
        ("duckdb", NAME, 10, False),
    ],
)
def test_what_is_enforced(engine: str, name: str, used: int, enforced: bool | None) -> None:
    (rule,) = (rule for rule in all_rules() if name.startswith(f"{rule.name}."))
    case = Case(rule, a_profile(engine=engine), Timeline(), LimitPolicy())
    limit = case.limit(name.partition(".")[2])
    assert is_enforced(case, limit, used) is enforced
    assert is_enforced(case, dataclasses.replace(limit, origin="plan acme"), used) is True


def test_finding_when_a_free_account_is_over_its_limit() -> None:
    settings = _settings(plan="influxdb-cloud-free")
    policy = limit_policy(settings, settings.targets[0])
    (result,) = evaluate(
        a_profile(a_measurement(series=10_001)), policy=policy, rules=[high_series_cardinality]
    ).results
    assert result.findings[0].severity is Severity.CRITICAL
    assert result.findings[0].limit is not None
    assert "account-management/limits" in result.findings[0].limit.source


def test_policy_when_the_plan_does_not_exist() -> None:
    settings = _settings(plan="nothing")
    with pytest.raises(ValueError, match="there is no plan"):
        limit_policy(settings, settings.targets[0])
