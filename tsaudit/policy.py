"""Which limits, rule settings, and harm thresholds apply to a target: plans (named sets of limits), and the
configuration.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from tsaudit.config.settings import Harm, Settings, Target
from tsaudit.engines.registry import ENGINES
from tsaudit.text import nearest


@dataclass(frozen=True, slots=True)
class LimitPolicy:
    """The limits that the configuration sets, most general first.

    Each field maps `<rule name>.<threshold>` to a value: for all targets, by plan, for the target, and by pattern of
    measurement names.
    """

    everywhere: Mapping[str, float] = field(default_factory=dict)
    plan_name: str = ""
    plan: Mapping[str, tuple[float, str]] = field(default_factory=dict)
    """Each value with its source."""
    target: Mapping[str, float] = field(default_factory=dict)
    measurements: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RulePolicy:
    """The settings of rules in the configuration, most general first.

    Each field maps a code, a name, or a pattern to `off`, `on`, or a severity: for all targets, for the target, and by
    pattern of measurement names. The most specific setting for a rule wins.
    """

    everywhere: Mapping[str, str] = field(default_factory=dict)
    target: Mapping[str, str] = field(default_factory=dict)
    measurements: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def setting(self, code: str, name: str, measurement: str = "") -> str | None:
        """The setting for the rule on the measurement, or on the target as a whole; None if there is none."""
        special = (s for pattern, s in self.measurements.items() if measurement and fnmatchcase(measurement, pattern))
        for settings in (*special, self.target, self.everywhere):
            if (found := _said_of(code, name, settings)) is not None:
                return found
        return None

    def is_off(self, code: str, name: str) -> bool:
        """Whether the rule never runs: it is switched off, and not switched on again for any measurement."""
        again = (_said_of(code, name, settings) for settings in self.measurements.values())
        return self.setting(code, name) == "off" and all(one in (None, "off") for one in again)


def _said_of(code: str, name: str, settings: Mapping[str, str]) -> str | None:
    words = {plain(word): setting for word, setting in settings.items()}
    exact = next((words[one] for one in (code.lower(), name) if one in words), None)
    return exact or next((setting for word, setting in words.items() if takes_in(word, code, name)), None)


def plain(word: str) -> str:
    """A rule's code, name, or pattern in comparable form: case is ignored, and `_` equals `-`."""
    return word.lower().replace("_", "-")


def takes_in(word: str, code: str, name: str) -> bool:
    """Whether the word is the rule's code or name, or a pattern that matches one of them."""
    return fnmatchcase(code.lower(), plain(word)) or fnmatchcase(name, plain(word))


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
