"""The `tsaudit` command. A command's module is imported when it is called, and imports what it needs when it runs."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, Final, NoReturn

import click

from tsaudit import __version__
from tsaudit.cli.errors import State, guarded

_COMMANDS: Final = {
    "init": "tsaudit.cli.init",
    "check": "tsaudit.cli.check",
    "collect": "tsaudit.cli.collect",
    "audit": "tsaudit.cli.audit",
    "report": "tsaudit.cli.report",
    "incidents": "tsaudit.cli.incidents",
    "ack": "tsaudit.cli.decide",
    "snooze": "tsaudit.cli.decide",
    "accept": "tsaudit.cli.decide",
    "history": "tsaudit.cli.history",
    "rules": "tsaudit.cli.rules",
    "explain": "tsaudit.cli.rules",
    "guidelines": "tsaudit.cli.guidelines",
    "config": "tsaudit.cli.config",
    "version": "tsaudit.cli.version",
}
"""Command to the module that defines it under its own name, in the order of a day's work."""


class Commands(click.Group):
    """Finds commands by name, and turns whatever goes wrong into one line and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 -- the same
        if cmd_name not in _COMMANDS:
            return None
        found: click.Command = getattr(importlib.import_module(_COMMANDS[cmd_name]), cmd_name)
        return found

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: ARG002 -- click's signature; this one always exits
        **extra: Any,
    ) -> NoReturn:
        """Run the command line and exit with one of `errors.Exit`, whatever `standalone_mode` says."""
        state, call = State(), super().main
        extra |= {"complete_var": complete_var, "standalone_mode": False, "obj": state}
        sys.exit(guarded(state, lambda: call(args, prog_name or "tsaudit", **extra)))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--debug", is_flag=True, help="Show the traceback of an internal error.")
@click.version_option(__version__, message="tsaudit %(version)s")
@click.pass_context
def main(ctx: click.Context, debug: bool) -> None:
    """Audits the schema of live time-series databases.

    Start with `tsaudit init`, then `tsaudit check`, then `tsaudit audit`.

    \b
    Exit codes:
      0    nothing at or above --fail-on
      1    findings at or above --fail-on
      2    wrong usage or configuration
      3    a target could not be audited, or is unknown with --fail-on unknown
      4    a message could not be delivered
      70   an internal error
    When several of 1, 3 and 4 apply, the largest is given.
    """
    ctx.find_object(State).debug = debug  # type: ignore[union-attr]  # main() always passes one
    if os.environ.get("NO_COLOR"):
        ctx.color = False
