"""Engines, rules, and notifiers of other packages, found by their entry points.

A plug-in that cannot be used becomes a `Problem`, which is one line for people. The code that needs the plug-in reports
it; everything else goes on.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tsaudit.model.version import VERSION
from tsaudit.secrets import mask
from tsaudit.text import printable

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

OWN: Final = f"tsaudit {VERSION}"
"""Package name for what is part of tsaudit itself."""
ENGINES: Final = "tsaudit.engines"
RULES: Final = "tsaudit.rules"
NOTIFIERS: Final = "tsaudit.notifiers"

_OWN_NOTIFIERS: Final = {
    "alertmanager": "tsaudit.alerts.alertmanager:Alertmanager",
    "apprise": "tsaudit.alerts.apprise:Apprise",
}
"""tsaudit's own notifiers, which are loaded like those of other packages. They are not declared in pyproject.toml,
because then every command would have to read the entry points of all packages.
"""


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """Why a plug-in of another package cannot be used."""

    package: str
    """The distribution and its version, such as `acme-tsaudit 1.2`."""
    group: str
    name: str
    """The name of the entry point."""
    reason: str
    """The reason, in one line."""

    def __str__(self) -> str:
        """The problem, the place, and what to do about it, in one line."""
        what = self.group.removeprefix("tsaudit.").removesuffix("s")
        return f"the {what} plug-in `{self.name}` of {self.package} cannot be used: {self.reason}; fix or uninstall it"


@dataclass(frozen=True, slots=True)
class Loaded:
    """The object that one entry point names."""

    package: str
    """The distribution and its version."""
    name: str
    value: object


def why(error: BaseException) -> str:
    """The error in one line, for display."""
    said = printable(mask(next(iter(str(error).splitlines()), "")), 300)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def load(group: str) -> tuple[tuple[Loaded, ...], tuple[Problem, ...]]:
    """The objects that the group's entry points name, by package and name, and the entry points that cannot be loaded.

    If two entry points have the same name, both are problems, because it is not clear which one is meant.
    """
    found: list[Loaded] = []
    problems: list[Problem] = []
    points = installed(group)
    for package, point in points:
        others = sorted({p for p, other in points if other.name == point.name and (p, other) != (package, point)})
        if others:
            reason = f"{', '.join(others)} has the name, too" if others != [package] else "it is declared twice"
            problems.append(Problem(package, group, point.name, reason))
            continue
        try:
            # Anything that the module prints would become part of the JSON that a command prints.
            with redirect_stdout(sys.stderr):
                found.append(Loaded(package, point.name, point.load()))
        except (Exception, SystemExit) as error:
            # A module of another package may raise any error while it is imported.
            problems.append(Problem(package, group, point.name, why(error)))
    return tuple(found), tuple(problems)


@functools.cache
def installed(group: str) -> tuple[tuple[str, EntryPoint], ...]:
    """(distribution and version, entry point) of the group, by name of the distribution. Loads nothing."""
    own = _OWN_NOTIFIERS if group == NOTIFIERS else {}
    if not own and not _declares_any():
        return ()
    from importlib.metadata import (
        EntryPoint,
        entry_points,
    )  # Loading it takes as long as everything else in `tsaudit rules`.

    pairs = [
        (f"{p.dist.name} {p.dist.version}" if p.dist else "(unknown package)", p) for p in entry_points(group=group)
    ]
    pairs += [(OWN, EntryPoint(name, value, group)) for name, value in own.items()]
    return tuple(sorted(pairs, key=lambda pair: (pair[0].lower(), pair[1].name, pair[1].value)))


_SECTION: Final = re.compile(rb"^\s*\[\s*tsaudit\.", re.MULTILINE)


@functools.cache
def _declares_any() -> bool:
    """Whether an installed distribution declares any kind of plug-in; also True if the folder names do not show it."""
    for place in dict.fromkeys(sys.path):
        if os.path.isfile(place):  # noqa: PTH113 -- a zip file of packages; Python's own is rarely there
            return True
        with suppress(OSError):
            if any(_SECTION.search(content) for content in _declarations(place or ".")):
                return True
    return False


def _declarations(folder: str) -> Iterator[bytes]:
    # Not pathlib: this runs before every command.
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith((".dist-info", ".egg-info")):
                with suppress(OSError), open(f"{entry.path}/entry_points.txt", "rb") as file:  # noqa: PTH123
                    yield file.read()
