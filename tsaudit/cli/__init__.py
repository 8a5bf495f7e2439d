"""The `tsaudit` command. A command's module is imported when it is called, and imports what it needs when it runs."""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, Final, NoReturn

import click

from tsaudit.cli.errors import CallState, CommandGroup, guarded, readable
from tsaudit.model.version import VERSION

_COMMANDS: Final = {
    "init": ("init", "Write a commented tsaudit.yaml."),
    "check": ("check", "Test the setup, and show what is missing."),
    "collect": ("audit", "Measure targets and write their profiles as JSON."),
    "audit": ("audit", "Measure, run the rules, save the result, report, and notify the owners."),
    "show": ("finding", "Print a finding in full, or list all findings of a target."),
    "plan": ("finding", "Print what to do about the findings of an audit."),
    "report": ("history", "Rewrite a report from the history."),
    "incidents": ("incidents", "List incidents: open ones first, then muted ones, then those being watched."),
    "ack": ("incidents", "Record that somebody is working on incidents."),
    "mute": ("incidents", "Mute incidents for a while, although they are not fixed."),
    "baseline": ("incidents", "Mute all current findings, to be notified only about new ones."),
    "reopen": ("incidents", "Undo `ack`, `mute`, and `baseline`."),
    "history": ("history", "List, prune, or remove audited days; list decisions."),
    "metrics": ("history", "Write the last audits as metrics for Prometheus."),
    "backtest": ("backtest", "Show on which audited days a rule would have fired."),
    "what-if": ("what_if", "Show how many series would remain after dropping or bucketing tags."),
    "schema": ("schema", "Declare the schema in files, and compare the live one with them."),
    "rules": ("rules", "List the rules: code, name, highest severity, and the problem each finds."),
    "explain": ("rules", "Print the page of a rule, or open it in the browser."),
    "guidelines": ("rules", "Print the guidelines, with the rules that check them."),
    "config": ("init", "Work with tsaudit.yaml itself."),
    "version": ("version", "Print versions, and the engines that can be audited."),
}
"""Command to the module that defines it under the same name, and its first line, in the order of typical use.

The line is repeated here so that `tsaudit --help` loads none of the modules; a test keeps the two in sync.
"""

# Most objects stay until a command ends. By default, Python searches for cycles whenever there are 700 more of them; to
# load what an audit needs makes 150,000.
gc.set_threshold(200_000)
# At its end, Python searches all objects for cycles several times: a quarter of the time of a short command.
atexit.register(gc.freeze)
# Otherwise pydantic, when it is loaded, reads the metadata of all installed packages in search of its own plug-ins.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
# Otherwise numpy, when it is loaded, starts a thread for each core, which wait for work in a loop: a tenth of the time
# of a small audit. Nothing here multiplies matrices that are large enough to share.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


class Commands(CommandGroup):
    """Finds commands by name, and turns every error into one line and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- click's signature
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 -- the same
        if cmd_name not in _COMMANDS:
            return None
        module, _ = _COMMANDS[cmd_name]
        found: click.Command = getattr(importlib.import_module(f"tsaudit.cli.{module}"), cmd_name.replace("-", "_"))
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 -- the same
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in _COMMANDS.items()])

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: ARG002 -- click's signature; this one always exits
        **extra: Any,
    ) -> NoReturn:
        """Run the command line and exit with one of `errors.Exit`, whatever `standalone_mode` says."""
        state, call = CallState(), super().main
        given = sys.argv[1:] if args is None else args
        extra |= {"complete_var": complete_var, "standalone_mode": False, "obj": state}
        sys.exit(guarded(state, lambda: call(readable(given), prog_name or "tsaudit", **extra)))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--debug", is_flag=True, help="Show the traceback of an internal error.")
@click.version_option(VERSION, message="tsaudit %(version)s")
@click.pass_context
def main(ctx: click.Context, debug: bool) -> None:
    """Audits the schema of live time-series databases.

    Start with `tsaudit init`, then `tsaudit check`, then `tsaudit audit`.

    \b
    Exit codes:
      0    no finding that --fail-on selects
      1    findings that --fail-on selects
      2    wrong usage or configuration
      3    a target could not be audited, or is unknown with --fail-on unknown
      4    a message could not be delivered
      70   an internal error
    If several of 1, 3, and 4 apply, the largest is used.
    """
    ctx.find_object(CallState).debug = debug  # type: ignore[union-attr]  # main() always passes one
    if os.environ.get("NO_COLOR"):
        ctx.color = False
