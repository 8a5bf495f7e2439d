"""The rules that apply to several engines, one module each, by family; rules about one engine are in its package.

A module with a Rule in one of these folders is found automatically; there is no list to edit. Other packages can
provide more rules. Here is also which of them are evaluated on a target, as far as engine and configuration show it.
"""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tsaudit import plugins
from tsaudit.config.rule_settings import RulePolicy
from tsaudit.engines.queries import query_files
from tsaudit.engines.registry import ENGINES
from tsaudit.errors import UnfinishedModuleError
from tsaudit.guidelines import GUIDELINES
from tsaudit.harm import worst_of
from tsaudit.model.facts import offered
from tsaudit.plugins import Problem

if TYPE_CHECKING:
    from tsaudit.rule import Rule


@functools.cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, by code: tsaudit's own rules, and the usable rules of other packages."""
    return tuple(sorted((*_own(), *_from_plugins()[0]), key=lambda rule: rule.code))


@functools.cache
def rules_for(engine: str) -> tuple[Rule, ...]:
    """The rules that may apply to the engine, by code; rules in the packages of other engines are not loaded."""
    rules = (*_shared(), *_in(f"engines/{engine}/rules/"), *_from_plugins()[0])
    return tuple(sorted(rules, key=lambda rule: rule.code))


def unusable() -> tuple[Problem, ...]:
    """The rules of other packages that cannot be used, and why."""
    return _from_plugins()[1]


def families() -> tuple[str, ...]:
    """Every family: tsaudit's own in their order, then the families of other packages."""
    from tsaudit.rule import Family

    own = tuple(str(family) for family in Family)
    return own + tuple(sorted({rule.family for rule in all_rules()} - set(own)))


def clear_cache() -> None:
    """Search for rules again on the next call. For tests."""
    all_rules.cache_clear()
    rules_for.cache_clear()
    _from_plugins.cache_clear()


@functools.cache
def _own() -> tuple[Rule, ...]:
    return (*_shared(), *_in("engines/*/rules/"))


@functools.cache
def _shared() -> tuple[Rule, ...]:
    return tuple(_in("rules/*/"))


def _in(folders: str) -> Iterator[Rule]:
    # What only checks a configuration that names no rule loads nothing of this.
    from tsaudit.rule import Rule

    for name in _modules(folders):
        function = name.rpartition(".")[2]
        found = getattr(importlib.import_module(name), function, None)
        if not isinstance(found, Rule):
            raise UnfinishedModuleError(
                f"{name} has no rule: name its function `{function}` and decorate it with @rule"
            )
        yield found


@functools.cache
def _from_plugins() -> tuple[tuple[Rule, ...], tuple[Problem, ...]]:
    if not plugins.installed(plugins.RULES):
        return (), ()
    from tsaudit.rules.plugin_rules import plugin_rules

    return plugin_rules(_own())


def _modules(folders: str) -> Iterator[str]:
    # pkgutil is not used: importing it adds a third to what all rules load, and `tsaudit rules` should be fast.
    package = Path(__path__[0]).parent
    for folder in package.glob(folders):
        within = ".".join((package.name, *folder.relative_to(package).parts))
        for entry in os.scandir(folder):
            if entry.name.endswith(".py") and entry.name != "__init__.py":
                yield f"{within}.{entry.name.removesuffix('.py')}"


def rule_named(word: str) -> Rule | None:
    """The rule with that code or name, ignoring case; None if there is none."""
    return next((r for r in all_rules() if word.lower() in (r.code.lower(), r.name)), None)


def severity_on(rule: Rule, engine: str, switches: RulePolicy) -> tuple[str, str]:
    """(The highest severity of the rule's findings on the engine, empty if it is not evaluated; the reason, empty if
    there is none.)

    The products of an engine may differ further; only an audit finds out which product a server is.
    """
    if reason := why_not(rule, engine):
        return "", reason
    if switches.is_off(rule.code, rule.name):
        return "", "switched off by `rules` in tsaudit.yaml"
    setting = switches.setting(rule.code, rule.name)
    special = [pattern for pattern in switches.measurements if _differs(rule, switches, pattern)]
    reasons = [f"differs for {', '.join(special)}"] if special else []
    if setting in (None, "on"):
        return str(worst_of(rule.costs)), "; ".join(reasons)
    return ("" if setting == "off" else str(setting)), "; ".join(["set by `rules` in tsaudit.yaml", *reasons])


def why_not(rule: Rule, engine: str) -> str:
    """Why the rule does not apply to the engine; empty if it does."""
    if rule.applies_to(engine):
        return ""
    if engine in rule.not_applicable:
        return f"does not apply to {engine}: {rule.not_applicable[engine]}"
    missing = rule.requires - offered(frozenset(query_files(engine)))
    why = [g.not_applicable[engine] for g in GUIDELINES if g.id in rule.guidelines and engine in g.not_applicable]
    if rule.only is not None and not rule.only(ENGINES[engine]):
        about = sorted(name for name in ENGINES if rule.only(ENGINES[name]))
        return f"does not apply to {engine}: it is about {', '.join(about) or 'no engine'}"
    if why and len(why) == len(rule.guidelines):
        return f"does not apply to {engine}: {why[0]}"
    return f"{engine} does not offer {', '.join(sorted(missing))}"


def _differs(rule: Rule, switches: RulePolicy, pattern: str) -> bool:
    only = RulePolicy(target=switches.measurements[pattern])
    return only.setting(rule.code, rule.name) not in (None, switches.setting(rule.code, rule.name))
