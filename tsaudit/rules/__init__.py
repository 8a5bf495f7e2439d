"""The rules that hold on several engines, one module each, by family; those about one engine are in its room.

A module in one of these folders that holds a Rule is found; there is no list to edit.
"""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Iterator
from pathlib import Path

from tsaudit.rule import Rule


@functools.cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, by code."""
    found = [getattr(importlib.import_module(name), name.rpartition(".")[2]) for name in _modules()]
    return tuple(sorted(found, key=lambda rule: rule.code))


def _modules() -> Iterator[str]:
    # Not pkgutil: it loads a third as much again as all rules, and `tsaudit rules` is to be quick.
    package = Path(__path__[0]).parent
    for folder in (*package.glob("rules/*/"), *package.glob("engines/*/rules/")):
        within = ".".join((package.name, *folder.relative_to(package).parts))
        for entry in os.scandir(folder):
            if entry.name.endswith(".py") and entry.name != "__init__.py":
                yield f"{within}.{entry.name.removesuffix('.py')}"


def rule_named(word: str) -> Rule | None:
    """The rule of that code or name, case ignored; None when there is none."""
    return next((r for r in all_rules() if word.lower() in (r.code.lower(), r.name)), None)
