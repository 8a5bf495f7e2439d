"""Which limits, rule settings, and harm thresholds apply to a target: plans (named sets of limits), and the
configuration.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tsaudit.config.rule_settings import LimitPolicy, RulePolicy
from tsaudit.config.settings import Harm, Settings, Target
from tsaudit.engines.registry import ENGINES
from tsaudit.text import nearest


def limit_plans() -> Mapping[str, Mapping[str, tuple[float, str]]]:
    """The named sets of limits: the value of `plan:` to its limits, each with its value and its source."""
    plans: dict[str, dict[str, tuple[float, str]]] = {}
    for engine in ENGINES.values():
        for limit in engine.limits:
            if limit.plan and limit.value is not None:
                plans.setdefault(limit.plan, {})[limit.name] = (limit.value, limit.source)
    return plans


def limit_policy(settings: Settings, target: Target) -> LimitPolicy:
    """The limits that the configuration sets for the target.

    Raises ValueError for a plan that does not exist.
    """
    return LimitPolicy(
        everywhere=settings.limits,
        plan_name=target.plan or "",
        plan=_plan(target.plan) if target.plan else {},
        target=target.limits,
        measurements={pattern: override.limits for pattern, override in target.measurements.items()},
    )


def rule_policy(settings: Settings, target: Target) -> RulePolicy:
    """The settings of rules that apply to the target."""
    by_pattern = {pattern: override.rules for pattern, override in target.measurements.items()}
    return RulePolicy(settings.rules, target.rules, by_pattern)


def harm_policy(settings: Settings, target: Target) -> Harm:
    """The costs from which a finding in the target is a warning, or critical."""
    own = {name: getattr(target.harm, name) for name in target.harm.model_fields_set}
    return settings.harm.model_copy(update=own)


def _plan(name: str) -> Mapping[str, tuple[float, str]]:
    if name not in limit_plans():
        raise ValueError(f"there is no plan `{name}`{_nearest(name, limit_plans())}")
    return limit_plans()[name]


def _nearest(word: str, choices: Iterable[str]) -> str:
    return nearest(word, choices, cutoff=0.5) or f"; there are {', '.join(sorted(choices))}"
