"""`tsaudit version`: what is installed, for bug reports."""

from __future__ import annotations

import platform

import click

from tsaudit import __version__
from tsaudit.cli import show


@click.command()
def version() -> None:
    """Print versions, and the engines that can be audited here."""
    import importlib.util

    from tsaudit.connectors import AVAILABLE

    rows = [("tsaudit", __version__), ("python", platform.python_version())]
    for engine, (_, extra) in AVAILABLE.items():
        ready = not extra or importlib.util.find_spec(extra) or engine
        rows.append((engine, "ready" if ready else f"pip install 'tsaudit[{extra}]'"))
    show.table(rows)
