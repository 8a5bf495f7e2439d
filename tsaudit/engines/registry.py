"""The engines that can be audited: tsaudit's own, and those of other packages."""

from __future__ import annotations

import copy
import importlib
import threading
from collections.abc import Iterator, Mapping
from typing import Final

from tsaudit import plugins
from tsaudit.engines.engine import Engine
from tsaudit.errors import UnfinishedModuleError
from tsaudit.plugins import Problem
from tsaudit.text import nearest

_OWN: Final = (
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
"""Names of tsaudit's own engines, in the order of the documentation."""


class _Engines(Mapping[str, Engine]):
    """Engines by name. The package of an engine is loaded on first use. Packages of other distributions are loaded all
    at once: when a name is not one of tsaudit's own engines, or when all engines are listed.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._own: dict[str, Engine] = {}
        self._plugged_in: dict[str, Engine] = {}
        self._loading = False
        self._complete = False
        self._problems: tuple[Problem, ...] = ()

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Problems with entry points that do not provide a usable engine."""
        self._plug_ins()
        return self._problems

    def __getitem__(self, name: str) -> Engine:
        if name not in _OWN:
            return self._plug_ins()[name]
        if name not in self._own:
            self._own[name] = _own_engine(name)
        return self._own[name]

    def __contains__(self, name: object) -> bool:
        return name in _OWN or name in self._plug_ins()

    def __iter__(self) -> Iterator[str]:
        yield from _OWN
        yield from self._plug_ins()

    def __len__(self) -> int:
        return len(_OWN) + len(self._plug_ins())

    def near(self, name: str) -> str:
        """A suggestion for an unknown name, such as `, did you mean postgresql?`; all names if none is similar."""
        called = next((engine.name for engine in self.values() if name.lower() in engine.other_names), None)
        return f", did you mean {called}?" if called else nearest(name, self) or f"; one of {', '.join(self)}"

    def forget(self) -> None:
        """Clear the caches, so that the next call searches for the engines again. For tests."""
        with self._lock:
            self._own, self._plugged_in, self._complete, self._problems = {}, {}, False, ()

    def _plug_ins(self) -> dict[str, Engine]:
        if self._complete:
            return self._plugged_in
        with self._lock:
            # While plug-ins are being loaded, a module that lists the engines sees only tsaudit's own.
            if not self._complete and not self._loading:
                self._loading = True
                try:
                    self._plugged_in, self._problems = _of_other_packages()
                    self._complete = True
                finally:
                    self._loading = False
            return self._plugged_in


def _own_engine(name: str) -> Engine:
    # Imported by name, because the packages themselves import this module.
    module = f"tsaudit.engines.{name}"
    try:
        engine: object = getattr(importlib.import_module(module), "ENGINE", None)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        raise UnfinishedModuleError(f"there is no package {module}; `{name}` is in _OWN of {__name__}") from error
    if not isinstance(engine, Engine) or engine.name != name:
        raise UnfinishedModuleError(f"{module} has no engine: set ENGINE to an Engine whose `name` is `{name}`")
    return engine


def _of_other_packages() -> tuple[dict[str, Engine], tuple[Problem, ...]]:
    """The engines of other packages, and the problems of those that cannot be used.

    An unusable engine keeps the name of its entry point, so that only its targets cannot be audited. Otherwise the
    configuration would be rejected, with all other targets in it.
    """
    found: dict[str, Engine] = {}
    loaded, problems = plugins.load(plugins.ENGINES)
    broken = list(problems)
    for one in loaded:
        try:
            # An entry point may also name the class.
            value = one.value() if isinstance(one.value, type) and issubclass(one.value, Engine) else one.value
            reason = _unfit(value, one.name)
        except (Exception, SystemExit) as error:
            value, reason = None, plugins.why(error)
        if reason:
            broken.append(Problem(one.package, plugins.ENGINES, one.name, reason))
        elif isinstance(value, Engine):
            found[one.name] = copy.copy(value)
            found[one.name].package = one.package
    broken = [_taken(problem) if problem.name in _OWN else problem for problem in broken]
    for name in set(_OWN) & found.keys():
        broken.append(_taken(Problem(found.pop(name).package, plugins.ENGINES, name, "")))
    for problem in broken:
        if problem.name not in _OWN:
            found[problem.name] = _broken(problem)
    return dict(sorted(found.items())), tuple(sorted(broken))


def _broken(problem: Problem) -> Engine:
    engine = Engine()
    engine.name, engine.package, engine.broken = problem.name, problem.package, str(problem)
    return engine


def _taken(problem: Problem) -> Problem:
    return Problem(problem.package, problem.group, problem.name, "tsaudit has an engine of that name")


def _unfit(value: object, name: str) -> str:
    """Why the value is not an engine with that name; empty if it is."""
    if not isinstance(value, Engine):
        return f"expected an Engine, got {type(value).__name__}"
    if value.name != name:
        return f"the engine is named `{value.name}`; name the entry point like that, too"
    return value.problem()


ENGINES: Final = _Engines()
"""Engines by name. As soon as an engine is listed here, rules apply to it, and the tests check every rule on it."""
