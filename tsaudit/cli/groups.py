"""A command that has commands of its own."""

from __future__ import annotations

import click

from tsaudit.errors import TsauditError


class NothingAskedError(TsauditError, click.UsageError):
    """A group was called without a command. Its text is the group's help."""


class CommandGroup(click.Group):
    """Without arguments, wrong usage that shows the help; before 8.2, click counts that as success."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            raise NothingAskedError(ctx.get_help(), ctx)
        return super().parse_args(ctx, args)
