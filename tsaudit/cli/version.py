"""`tsaudit version`: installed versions, for bug reports."""

from __future__ import annotations

import platform
import re

import click

from tsaudit import __version__
from tsaudit.cli import show


@click.command()
def version() -> None:
    """Print versions, and the engines that can be audited."""
    from tsaudit.engines.registry import ENGINES

    rows = [("tsaudit", __version__), ("python", platform.python_version())]
    for engine, about in ENGINES.items():
        missing = _missing(about.extra) if about.extra else []
        rows.append(
            (engine, f"pip install 'tsaudit[{about.extra}]'  (missing: {', '.join(missing)})" if missing else "ready")
        )
    show.table(rows)


def _missing(extra: str) -> list[str]:
    """Packages that the extra would install and that are missing."""
    from importlib.metadata import PackageNotFoundError, distribution, requires

    wanted = [r for r in requires("tsaudit") or [] if re.search(rf"""extra == ["']{extra}["']""", r)]
    missing = []
    for name in (re.split(r"[\s\[<>=!~;]", requirement)[0] for requirement in wanted):
        try:
            distribution(name)
        except PackageNotFoundError:
            missing.append(name)
    return missing
