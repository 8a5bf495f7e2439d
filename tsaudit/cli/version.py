"""`tsaudit version`: installed versions, to include in bug reports."""

from __future__ import annotations

import platform
import re

import click

from tsaudit.cli import screen
from tsaudit.model.version import VERSION
from tsaudit.plugins import Problem


@click.command()
def version() -> None:
    """Print versions, and the engines that can be audited."""
    from tsaudit import plugins
    from tsaudit.engines.registry import ENGINES

    rows = [("tsaudit", VERSION), ("python", platform.python_version())]
    for engine, about in ENGINES.items():
        if about.package:
            continue
        missing = _missing(about.extra) if about.extra else []
        rows.append(
            (engine, f"pip install 'tsaudit[{about.extra}]'  (missing: {', '.join(missing)})" if missing else "ready")
        )
    screen.table(rows)
    found = [
        (kind, point.name, package)
        for kind, group in (("engine", plugins.ENGINES), ("rules", plugins.RULES), ("notifier", plugins.NOTIFIERS))
        for package, point in plugins.installed(group)
        if package != plugins.OWN
    ]
    if found:
        click.echo()
        screen.table(found, ("plug-in", "name", "package"))
    for problem in unusable_plugins():
        screen.warning(str(problem))


def unusable_plugins() -> tuple[Problem, ...]:
    """All problems with plug-ins of other packages."""
    from tsaudit import plugins, rules
    from tsaudit.engines.registry import ENGINES

    return (*ENGINES.problems, *rules.unusable(), *plugins.load(plugins.NOTIFIERS)[1])


def _missing(extra: str) -> list[str]:
    from importlib.metadata import PackageNotFoundError, distribution, requires

    wanted = [r for r in requires("tsaudit") or [] if re.search(rf"""extra == ["']{extra}["']""", r)]
    missing = []
    for name in (re.split(r"[\s\[<>=!~;]", requirement)[0] for requirement in wanted):
        try:
            distribution(name)
        except PackageNotFoundError:
            missing.append(name)
    return missing
