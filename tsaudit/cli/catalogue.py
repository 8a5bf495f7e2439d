"""The rules' texts without the rules: what `tsaudit rules`, `explain`, and `guidelines` print.

Importing every rule takes longer than the rest of these commands. Their texts are therefore cached next to their
bytecode, in the same way and for the same reason, and rebuilt whenever a module has changed.
"""

# Loading pathlib would take as long as the rest of this module.
# ruff: noqa: PTH103, PTH105, PTH118, PTH120, PTH123

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import tsaudit
from tsaudit import plugins

if TYPE_CHECKING:
    from tsaudit.rule import Rule


@dataclass(frozen=True)
class Threshold:
    """One limit of a rule."""

    name: str
    """As in tsaudit.yaml."""
    default: float
    unit: str
    source: str
    engines: Mapping[str, Sequence[Any]]
    """Engine to (default there, its source)."""


@dataclass(frozen=True)
class Page:
    """The texts of one rule."""

    code: str
    name: str
    title: str
    family: str
    severity: str
    guidelines: tuple[str, ...]
    engines: frozenset[str]
    requires: tuple[str, ...]
    limits: tuple[Threshold, ...]
    summary: str
    doc: str

    def as_dict(self) -> dict[str, Any]:
        """Plain lists and dictionaries."""
        plain = {key: list(value) if isinstance(value, tuple) else value for key, value in vars(self).items()}
        return plain | {"engines": sorted(self.engines), "limits": [asdict(t) for t in self.limits]}


def pages() -> tuple[Page, ...]:
    """Every rule's texts, by code."""
    if plugins.installed(plugins.RULES) or plugins.installed(plugins.ENGINES):
        return _made()  # nobody knows when the modules of other packages change
    stamp, file = _stamp(), _file()
    with suppress(OSError, ValueError, KeyError, TypeError), open(file, encoding="utf-8") as kept:
        found = json.load(kept)
        if found["stamp"] == stamp:
            return tuple(_page(entry) for entry in found["rules"])

    made = _made()
    if not sys.dont_write_bytecode:
        _keep(file, {"stamp": stamp, "rules": [page.as_dict() for page in made]})
    return made


def _made() -> tuple[Page, ...]:
    from tsaudit.rules import all_rules

    return tuple(sorted((_of(rule) for rule in all_rules()), key=lambda p: p.code))


def _of(rule: Rule) -> Page:
    return Page(
        code=rule.code,
        name=rule.name,
        title=rule.title,
        family=str(rule.family),
        severity=str(rule.severity),
        guidelines=rule.guidelines,
        engines=rule.engines,
        requires=tuple(sorted(rule.requires)),
        limits=tuple(
            Threshold(f"{rule.name}.{t.name}", t.default, t.unit, t.source, {e: list(v) for e, v in t.engines.items()})
            for t in rule.thresholds
        ),
        summary=rule.summary,
        doc=rule.doc,
    )


def _page(entry: dict[str, Any]) -> Page:
    """The page from the output of `as_dict`."""
    return Page(
        **entry
        | {
            "guidelines": tuple(entry["guidelines"]),
            "engines": frozenset(entry["engines"]),
            "requires": tuple(entry["requires"]),
            "limits": tuple(Threshold(**t) for t in entry["limits"]),
        }
    )


def _stamp() -> list[list[Any]]:
    """Name, size, and time of every module, and the version: the same criteria as for bytecode."""
    package = tsaudit.__path__[0]
    modules = ((entry.path[len(package) :], entry.stat()) for entry in _modules(package))
    return sorted([[tsaudit.__version__, 0, 0], *([name, state.st_size, state.st_mtime_ns] for name, state in modules)])


def _modules(folder: str) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                yield entry
            elif entry.name != "__pycache__" and entry.is_dir():
                yield from _modules(entry.path)


def _file() -> str:
    """Next to the bytecode of the rules, wherever Python stores that."""
    bytecode = importlib.util.cache_from_source(os.path.join(tsaudit.__path__[0], "rules", "__init__.py"))
    return os.path.join(os.path.dirname(bytecode), "catalogue.json")


def _keep(file: str, content: dict[str, Any]) -> None:
    """Write it atomically; if that is not permitted, the next call reads the rules again."""
    partial = f"{file}.{os.getpid()}"
    with suppress(OSError):
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(partial, "w", encoding="utf-8") as out:
            json.dump(content, out)
        os.replace(partial, file)
