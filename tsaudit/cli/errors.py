"""The command's exit codes, the one-line error message that it prints, and groups of commands."""

from __future__ import annotations

import enum
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, TextIO

import click

from tsaudit.errors import TsauditError, internal
from tsaudit.secrets import mask
from tsaudit.text import printable


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


class Exit(enum.IntEnum):
    """Exit codes; of FINDINGS, NOT_AUDITED, and NOT_DELIVERED, the largest that applies is used."""

    OK = 0
    FINDINGS = 1
    USAGE = 2
    NOT_AUDITED = 3
    NOT_DELIVERED = 4
    INTERNAL = 70
    INTERRUPTED = 130
    BROKEN_PIPE = 141


@dataclass(slots=True)
class CallState:
    """The settings of one call of the command."""

    debug: bool = False


_EXPECTED: Final = {
    "ColumnsFileError": Exit.USAGE,
    "ConfigError": Exit.USAGE,
    "ConnectorError": Exit.NOT_AUDITED,
    "HistoryError": Exit.USAGE,
    "HistoryFailedError": Exit.NOT_AUDITED,
    "ReportError": Exit.NOT_AUDITED,
}
"""Exit codes by name of tsaudit's own errors, whose text is written for users. Names are used so that their modules
need not be imported.
"""

_WRONG_PATH: Final = (FileExistsError, FileNotFoundError, IsADirectoryError, NotADirectoryError)
"""Errors of a file whose path is wrong; others, such as a full disk, are the machine's."""


def guarded(state: CallState, call: Callable[[], Any]) -> int:
    """Run `call`, and return its exit code. Errors are printed as lines on stderr."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # It was closed with `>&-`.
            setattr(sys, name, _nowhere())
        if reconfigure := getattr(getattr(sys, name), "reconfigure", None):
            reconfigure(errors="backslashreplace")
    try:
        code = call()
        sys.stdout.flush()
        return int(code) if isinstance(code, int) else Exit.OK
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return Exit.INTERRUPTED
    except SystemExit as end:
        # Click itself exits in two cases: after shell completion, and with 1 if the output pipe was closed.
        return _unread() if end.code == 1 else Exit.OK
    except BrokenPipeError:
        return _unread()
    except click.ClickException as error:
        return _usage(error)
    except Exception as error:
        return _other(error, state)


def readable(arguments: Sequence[str]) -> list[str]:
    """The arguments. Raises a usage error if one is not valid text: no name, path, or address may contain invalid
    bytes.
    """
    for argument in arguments:
        if any("\ud800" <= character <= "\udfff" for character in argument):
            raise click.UsageError(f"`{argument}` is not valid text in this terminal's encoding")
    return list(arguments)


@contextmanager
def at_once_on_interrupt() -> Iterator[None]:
    """Lets Ctrl-C end the process without waiting for threads that wait for a database.

    Nothing is lost: databases are only read, a snapshot is written in one transaction, and a message is kept until it
    is sent.
    """

    def stop(_signal: int, _frame: object) -> None:
        # The progress display hides the cursor: show it again.
        os.write(2, b"\x1b[?25h\ninterrupted\n" if os.isatty(2) else b"\ninterrupted\n")
        os._exit(Exit.INTERRUPTED)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def same_stream() -> bool:
    """Whether stdout and stderr are the same terminal, file, or pipe, as in cron, which mails both as one text."""
    try:
        return os.path.sameopenfile(sys.stdout.fileno(), sys.stderr.fileno())
    except (OSError, ValueError):
        return False


def say(text: str, hint: str = "") -> None:
    """Print `error: text` on stderr, with the hint below it."""
    for line in text.splitlines() or [""]:
        click.echo(f"{click.style('error:', fg='red', bold=True)} {printable(line, 1000)}", err=True)
    if hint:
        click.echo(f"hint: {hint}", err=True)


def _as_argument(error: click.ClickException) -> str:
    """How to pass as an argument what was passed as an option; empty if the command has no argument of that name."""
    if not isinstance(error, click.NoSuchOption) or error.ctx is None:
        return ""
    name = error.option_name.lstrip("-").upper()
    arguments = [one for one in error.ctx.command.params if isinstance(one, click.Argument)]
    words = {word for one in arguments for word in re.findall("[A-Z]+", (one.metavar or one.name or "").upper())}
    return f"write it without an option, `{error.ctx.command_path} {name}`; " if name in words else ""


def _usage(error: click.ClickException) -> int:
    if isinstance(error, NothingAskedError):
        click.echo(error.format_message(), err=True)
        return Exit.USAGE
    context = getattr(error, "ctx", None)
    say(error.format_message(), f"{_as_argument(error)}see `{context.command_path} --help`" if context else "")
    is_of_machine = isinstance(error, click.FileError) and not isinstance(error.__cause__, _WRONG_PATH)
    return Exit.INTERNAL if is_of_machine else Exit.USAGE


def in_a_line(error: Exception) -> tuple[Exit, str]:
    """The exit code and the text, without secrets, for an error that ended a command."""
    names = (c.__name__ for c in type(error).__mro__ if c.__module__.split(".")[0] == "tsaudit")
    if expected := next((name for name in names if name in _EXPECTED), None):
        return _EXPECTED[expected], mask(str(error))
    if isinstance(error, OSError):
        return Exit.INTERNAL, mask(str(error))
    return Exit.INTERNAL, internal(error)


def _other(error: Exception, state: CallState) -> int:
    code, text = in_a_line(error)
    if state.debug and code is Exit.INTERNAL:
        import traceback

        click.echo(mask(traceback.format_exc()), err=True)
    say(text)
    if code is Exit.INTERNAL and not isinstance(error, OSError) and not state.debug:
        click.echo("hint: `tsaudit --debug ...` shows the traceback; please report it", err=True)
    return code


def _unread() -> int:
    """The reader of the output is gone: discard the rest, so that Python's own flush at exit does not fail, too."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        sys.stdout = _nowhere()
    return Exit.BROKEN_PIPE


def _nowhere() -> TextIO:
    """A stream that discards what is written to it, until the process ends."""
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123
