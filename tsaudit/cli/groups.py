"""A command that has subcommands."""

from __future__ import annotations

import click

from tsaudit.errors import TsauditError


class NothingAskedError(TsauditError, click.UsageError):
    """A command group was called without a subcommand. The error's text is the group's help."""


class CommandGroup(click.Group):
    """A group of commands. Calling it without arguments is a usage error that shows the help; click counts that as
    success before version 8.2.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            raise NothingAskedError(ctx.get_help(), ctx)
        return super().parse_args(ctx, args)
