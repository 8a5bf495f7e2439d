"""The rules, one module each. A module here that holds a Rule is found; there is no list to edit."""

from __future__ import annotations

import functools
import importlib
import os

from tsaudit.rule import Rule


@functools.cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, by code."""
    # Not pkgutil: it loads a third as much again as all rules, and `tsaudit rules` is to be quick.
    names = sorted(e.name.removesuffix(".py") for e in os.scandir(__path__[0]) if e.name.endswith(".py"))
    modules = {n: importlib.import_module(f"{__name__}.{n}") for n in names if n != "__init__"}
    found = [getattr(module, name) for name, module in modules.items()]
    return tuple(sorted(found, key=lambda rule: rule.code))


def rule_named(word: str) -> Rule | None:
    """The rule of that code or name, case ignored; None when there is none."""
    return next((r for r in all_rules() if word.lower() in (r.code.lower(), r.name)), None)
