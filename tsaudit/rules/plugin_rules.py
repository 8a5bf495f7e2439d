"""Loads and checks the rules of other packages. Imported only if there are any."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Final

from tsaudit import plugins
from tsaudit.guidelines import GUIDELINES
from tsaudit.model.facts import FACTS
from tsaudit.model.finding import PLUGIN_CODE, Currency
from tsaudit.plugins import Loaded, Problem
from tsaudit.rule import LETTERS, Rule, Threshold

_CODE: Final = re.compile(r"([A-Z][A-Z0-9]{0,8}[A-Z])[0-9]{3,4}")
_NAME: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_FAMILY: Final = re.compile(r"[a-z][a-z0-9_]*")
_RESERVED: Final = frozenset({"coverage"})
"""Families that mean something else in reports and in Dagster."""


def plugin_rules(own: Sequence[Rule]) -> tuple[tuple[Rule, ...], tuple[Problem, ...]]:
    """The rules of other packages, and why any of them cannot be used. `own`: tsaudit's own rules."""
    loaded, problems = plugins.load(plugins.RULES)
    broken = list(problems)
    sound: list[tuple[Loaded, Rule]] = []
    for one in loaded:
        try:
            rules = list(_rules_in(one.value))
        except (Exception, SystemExit) as error:
            broken.append(Problem(one.package, plugins.RULES, one.name, plugins.why(error)))
            continue
        if not rules:
            broken.append(Problem(one.package, plugins.RULES, one.name, "it holds no rule"))
        for rule in rules:
            if reason := _unfit(rule):
                broken.append(Problem(one.package, plugins.RULES, one.name, f"rule {rule.code}: {reason}"))
            else:
                sound.append((one, replace(rule, package=one.package)))
    usable = []
    every = (*own, *(rule for _, rule in sound))
    for one, rule in sound:
        others = [r for r in every if r is not rule and {r.code, r.name} & {rule.code, rule.name}]
        if others:
            reason = f"rule {rule.code} {rule.name}: {others[0].package or 'tsaudit'} has one of that code or name, too"
            broken.append(Problem(one.package, plugins.RULES, one.name, reason))
        else:
            usable.append(rule)
    return tuple(usable), tuple(sorted(broken))


def _rules_in(value: object) -> Iterator[Rule]:
    """The rules that an entry point names: a Rule, several, or a module with its submodules."""
    if isinstance(value, Rule):
        yield value
    elif isinstance(value, ModuleType):
        yield from _rules_of(value)
    elif isinstance(value, Iterable) and not isinstance(value, str):
        for one in value:
            if not isinstance(one, Rule):
                raise TypeError(f"expected a Rule, got {type(one).__name__}")
            yield one
    else:
        raise TypeError(f"expected a module, a Rule or several, got {type(value).__name__}")


def _rules_of(module: ModuleType) -> Iterator[Rule]:
    inside = pkgutil.iter_modules(getattr(module, "__path__", ()), f"{module.__name__}.")
    modules = [module, *(importlib.import_module(found.name) for found in inside)]
    rules = {id(value): value for each in modules for value in vars(each).values() if isinstance(value, Rule)}
    # A rule that the module imports from another package belongs to that package.
    yield from (rule for rule in rules.values() if _is_of(rule, module.__name__.partition(".")[0]))


def _is_of(rule: Rule, package: str) -> bool:
    return str(getattr(rule.check, "__module__", package)).partition(".")[0] == package


def _unfit(rule: Rule) -> str:
    """Why the rule cannot be used; empty if it can."""
    match = _CODE.fullmatch(rule.code)
    if match is None:
        return "a code is capital letters and three or four digits, such as ACME001"
    if match[1] in LETTERS or match[1] == PLUGIN_CODE[:3]:
        return f"codes in {match[1]} are tsaudit's own; take a prefix of your own"
    if not _NAME.fullmatch(rule.name):
        return f"the name `{rule.name}` is none; write small letters and digits with `-` between"
    if not _FAMILY.fullmatch(rule.family) or rule.family in _RESERVED:
        return f"the family `{rule.family}` is none; write small letters, digits and `_`, and not `coverage`"
    if unknown := sorted({*rule.requires, *rule.uses, *rule.shows} - FACTS.keys()):
        return f"there is no fact `{unknown[0]}`"
    if unknown := sorted(set(rule.guidelines) - {guideline.id for guideline in GUIDELINES}):
        return f"there is no guideline `{unknown[0]}`"
    if not all(isinstance(currency, Currency) for currency in rule.costs):
        return "its costs are not all of them a Currency"
    if not all(isinstance(threshold, Threshold) for threshold in rule.thresholds):
        return "its thresholds are not all of them a Threshold"
    if not rule.title or not rule.summary:
        return "it needs a title, and a docstring that says what it finds"
    return "" if callable(rule.check) else "its check is no function"
