"""Which limits, rules, and prices of harm hold for a target: plans (named sets of limits), and the configuration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tsaudit.config.harm import Harm
from tsaudit.config.settings import Settings, Target
from tsaudit.rule import LimitPolicy, RulePolicy
from tsaudit.rules import all_rules
from tsaudit.text import nearest


@dataclass(frozen=True, slots=True)
class LimitPlan:
    """The limits of one product, edition or contract."""

    name: str
    """As written under `plan:`."""
    title: str
    limits: Mapping[str, tuple[float, str]]
    """`<rule name>.<threshold>` to the value and the page it comes from."""


_CLOUD: Final = "https://docs.influxdata.com/influxdb/cloud/account-management/limits/"
_GLOSSARY: Final = "https://docs.influxdata.com/influxdb/cloud/reference/glossary/"
_INFLUX1: Final = "https://docs.influxdata.com/influxdb/v1/administration/config/"


def _cloud_series(value: float) -> dict[str, tuple[float, str]]:
    return {
        "high-series-cardinality.max_series": (value, _CLOUD),
        "high-series-cardinality.count_fields": (1, f"{_GLOSSARY}#series"),
    }


_ALL: Final = (
    LimitPlan("influxdb-cloud-free", "InfluxDB Cloud (TSM), free plan", _cloud_series(10_000)),
    LimitPlan("influxdb-cloud-usage", "InfluxDB Cloud (TSM), usage-based plan", _cloud_series(1_000_000)),
    LimitPlan(
        "influxdb1-default",
        "InfluxDB 1.x with its default settings",
        {
            "high-series-cardinality.max_series": (1_000_000, f"{_INFLUX1}#max-series-per-database--1000000"),
            "unbounded-tag.engine_values": (100_000, f"{_INFLUX1}#max-values-per-tag--100000"),
        },
    ),
)

PLANS: Final[Mapping[str, LimitPlan]] = {plan.name: plan for plan in _ALL}


def limit_policy(settings: Settings, target: Target) -> LimitPolicy:
    """The limits that the configuration sets for the target.

    ValueError for a plan that does not exist.
    """
    plan = _plan(target.plan) if target.plan else None
    return LimitPolicy(
        everywhere=settings.limits,
        plan_name=plan.name if plan else "",
        plan=plan.limits if plan else {},
        target=target.limits,
        measurements={pattern: override.limits for pattern, override in target.measurements.items()},
    )


def rule_policy(settings: Settings, target: Target) -> RulePolicy:
    """What the configuration says about rules on the target."""
    by_pattern = {pattern: override.rules for pattern, override in target.measurements.items()}
    return RulePolicy(settings.rules, target.rules, by_pattern)


def harm_policy(settings: Settings, target: Target) -> Harm:
    """From which cost on a finding is a warning, or critical, on the target."""
    own = {name: getattr(target.harm, name) for name in target.harm.model_fields_set}
    return settings.harm.model_copy(update=own)


def check_limits(settings: Settings) -> None:
    """ValueError that names a plan or limit that does not exist, where it is written, and the nearest valid name."""
    for target in settings.targets:
        if target.plan is not None:
            _plan(target.plan, f"targets.{target.name}.plan: ")
    known = [f"{rule.name}.{threshold.name}" for rule in all_rules() for threshold in rule.thresholds]
    for place, name in _limit_names(settings):
        if name not in known:
            raise ValueError(f"{place}: there is no limit `{name}`{_nearest(name, known)}")


def _limit_names(settings: Settings) -> Iterator[tuple[str, str]]:
    yield from (("limits", name) for name in settings.limits)
    for target in settings.targets:
        yield from ((f"targets.{target.name}.limits", name) for name in target.limits)
        for pattern, override in target.measurements.items():
            yield from ((f"targets.{target.name}.measurements.{pattern}.limits", name) for name in override.limits)


def _plan(name: str, place: str = "") -> LimitPlan:
    if name not in PLANS:
        raise ValueError(f"{place}there is no plan `{name}`{_nearest(name, PLANS)}")
    return PLANS[name]


def _nearest(word: str, choices: Iterable[str]) -> str:
    return nearest(word, choices, cutoff=0.5) or f"; there are {', '.join(sorted(choices))}"
