"""Named plans, and a configuration's limits."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import SecretStr

from tests.builders import a_measurement, a_profile
from tsaudit.config.settings import MeasurementOverride, Settings, Target
from tsaudit.evaluation import evaluate
from tsaudit.model.finding import Limit, Severity
from tsaudit.policy import check_limits, limit_plans, limit_policy
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


def test_finding_when_a_free_account_is_over_its_limit() -> None:
    settings = _settings(plan="influxdb-cloud-free")
    policy = limit_policy(settings, settings.targets[0])
    (result,) = evaluate(
        a_profile(a_measurement(series=10_001)), policy=policy, rules=[high_series_cardinality]
    ).results
    assert result.findings[0].severity is Severity.CRITICAL
    assert result.findings[0].limit is not None
    assert "account-management/limits" in result.findings[0].limit.source


def test_check_when_all_is_well() -> None:
    check_limits(_settings({NAME: 5}, plan="influxdb1-default"))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (_settings(plan="influx-cloud-free"), ("targets.shop.plan", "influxdb-cloud-free")),
        (_settings(plan="x"), ("there is no plan `x`", "influxdb1-default")),
        (_settings({"high-series-cardinality.max_serie": 1}), ("limits: there is no limit", NAME)),
        (
            _settings(limits={"near-limi.columns": 1}),
            ("targets.shop.limits", "near-limit.columns"),
        ),
        (
            _settings(measurements={"m": MeasurementOverride(limits={"near-limit.column": 1})}),
            ("targets.shop.measurements.m.limits", "near-limit.columns"),
        ),
    ],
)
def test_one_clear_line_when_a_word_is_wrong(settings: Settings, words: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="there is no") as raised:
        check_limits(settings)
    assert all(word in str(raised.value) for word in words)
    assert "\n" not in str(raised.value)


def test_policy_when_the_plan_does_not_exist() -> None:
    settings = _settings(plan="nothing")
    with pytest.raises(ValueError, match="there is no plan"):
        limit_policy(settings, settings.targets[0])
