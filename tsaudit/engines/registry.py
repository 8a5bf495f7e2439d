"""The engines that can be audited: tsaudit's own, and those of other packages."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from tsaudit import plugins
from tsaudit.engines.engine import Engine
from tsaudit.plugins import Problem

_PACKAGES: Final = (
    "duckdb",
    "sqlite",
    "postgresql",
    "influxdb1",
    "influxdb2",
    "influxdb3",
    "greptimedb",
    "timestream",
    "mongodb",
)
"""In the order of the documentation."""


class _Engines(Mapping[str, Engine]):
    """Engines by name. Those of other packages are loaded on first use, because their modules import tsaudit's."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._known: dict[str, Engine] = {}
        self._loading = False
        self._complete = False
        self._problems: tuple[Problem, ...] = ()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Problems with entry points that do not provide a usable engine."""
        self._all()
        return self._problems

    def __getitem__(self, name: str) -> Engine:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def forget(self) -> None:
        """Search for them again on the next call: for tests."""
        with self._lock:
            self._known, self._complete, self._problems = {}, False, ()

    def _all(self) -> dict[str, Engine]:
        if self._complete:
            return self._known
        with self._lock:
            # A module that is loaded for its engine and lists the engines gets tsaudit's own.
            if not self._complete and not self._loading:
                self._loading = True
                try:
                    self._known = {engine.name: engine for engine in map(_declared, _PACKAGES)}
                    foreign, self._problems = _foreign(self._known)
                    self._known = self._known | foreign
                    self._complete = True
                finally:
                    self._loading = False
            return self._known


def _declared(package: str) -> Engine:
    # By name, because the packages themselves read this: a declaration is in an __init__, which needs no driver.
    engine: Engine = importlib.import_module(f"tsaudit.engines.{package}").ENGINE
    return engine


def _foreign(own: Mapping[str, Engine]) -> tuple[dict[str, Engine], tuple[Problem, ...]]:
    """The engines of other packages, and why others cannot be used.

    An unusable engine remains known by the name of its entry point, so that only its targets cannot be audited, instead
    of refusing the configuration with all other targets.
    """
    found: dict[str, Engine] = {}
    loaded, problems = plugins.load(plugins.ENGINES)
    broken = list(problems)
    for one in loaded:
        if reason := _unfit(one.value, one.name, own):
            broken.append(Problem(one.package, plugins.ENGINES, one.name, reason))
        elif isinstance(one.value, Engine):
            found[one.name] = replace(one.value, package=one.package)
    broken = [_taken(problem) if problem.name in own else problem for problem in broken]
    for name in own.keys() & found.keys():
        broken.append(_taken(Problem(found.pop(name).package, plugins.ENGINES, name, "")))
    for problem in broken:
        if problem.name not in own:
            found[problem.name] = Engine(
                problem.name, connector="", example_url="", package=problem.package, broken=str(problem)
            )
    return dict(sorted(found.items())), tuple(sorted(broken))


def _taken(problem: Problem) -> Problem:
    return replace(problem, reason="tsaudit has an engine of that name")


def _unfit(value: object, name: str, own: Mapping[str, Engine]) -> str:
    """Why the value is not an engine with that name; empty if it is."""
    if not isinstance(value, Engine):
        return f"expected an Engine, got {type(value).__name__}"
    if value.name != name:
        return f"the engine is named `{value.name}`; name the entry point like that, too"
    if value.speaks and value.speaks not in own:
        return f"it speaks `{value.speaks}`, which is not an engine of tsaudit"
    return value.problem()


ENGINES: Final = _Engines()
"""By name. Rules apply to an engine as soon as it is listed here, and the tests then break and follow each of them on
it.
"""
