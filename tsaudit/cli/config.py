"""`tsaudit config`: work with the configuration file itself."""

from __future__ import annotations

import click

from tsaudit.cli import screen
from tsaudit.cli.errors import CommandGroup


@click.group(cls=CommandGroup)
def config() -> None:
    """Work with tsaudit.yaml itself."""


@config.command()
def schema() -> None:
    """Print the JSON schema of the file, for editors."""
    from tsaudit.config.file import json_schema

    screen.as_json(json_schema())
