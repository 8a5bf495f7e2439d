"""The rules, one module each. A module here that holds a Rule is found; there is no list to edit."""

from __future__ import annotations

import functools
import importlib
import pkgutil

from tsaudit.rule import Rule


@functools.cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, by code."""
    found = []
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        found.append(getattr(module, info.name))
    return tuple(sorted(found, key=lambda rule: rule.code))


def rule_named(word: str) -> Rule | None:
    """The rule of that code or name, case ignored; None when there is none."""
    return next((r for r in all_rules() if word.lower() in (r.code.lower(), r.name)), None)
