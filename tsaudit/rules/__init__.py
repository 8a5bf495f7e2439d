"""The rules that apply to several engines, one module each, by family; rules about one engine are in its package.

A module with a Rule in one of these folders is found automatically; there is no list to edit. Other packages can
provide more rules.
"""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tsaudit import plugins
from tsaudit.errors import UnfinishedModuleError
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
