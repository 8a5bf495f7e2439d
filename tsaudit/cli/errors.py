"""The command's exit codes, and the one line it prints when something goes wrong."""

from __future__ import annotations

import enum
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import click

from tsaudit.cli.groups import NothingAskedError
from tsaudit.errors import internal
from tsaudit.secrets import mask
from tsaudit.text import printable


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
"""tsaudit's own errors, whose text is meant for users, by name: this avoids importing their modules."""


def guarded(state: CallState, call: Callable[[], Any]) -> int:
    """The exit code of `call`, which may return one. Errors become lines on stderr."""
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")
    try:
        code = call()
        if sys.stdout is not None:  # Closed with `>&-`.
            sys.stdout.flush()
        return int(code) if isinstance(code, int) else Exit.OK
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return Exit.INTERRUPTED
    except SystemExit as end:
        # Click itself exits in two cases: after shell completion, and with 1 if the output was closed.
        return _unread() if end.code == 1 else Exit.OK
    except BrokenPipeError:
        return _unread()
    except click.ClickException as error:
        return _usage(error)
    except Exception as error:
        return _other(error, state)


def readable(arguments: Sequence[str]) -> list[str]:
    """The arguments. A usage error if one is not valid text, because no name, path, or address may be invalid."""
    for argument in arguments:
        if any("\ud800" <= character <= "\udfff" for character in argument):
            raise click.UsageError(f"`{argument}` is not valid text in this terminal's encoding")
    return list(arguments)


@contextmanager
def at_once_on_interrupt() -> Iterator[None]:
    """Ctrl-C ends the process without waiting for threads that wait for a database.

    Nothing is lost: databases are only read, a snapshot is one transaction, and a message is kept until it is sent.
    """

    def stop(_signal: int, _frame: object) -> None:
        # Progress hides the cursor.
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


def say(text: str, hint: str = "") -> None:
    """`error: text` on stderr, and the hint below it."""
    for line in text.splitlines() or [""]:
        click.echo(f"{click.style('error:', fg='red', bold=True)} {printable(line, 1000)}", err=True)
    if hint:
        click.echo(f"hint: {hint}", err=True)


def _usage(error: click.ClickException) -> int:
    if isinstance(error, NothingAskedError):
        click.echo(error.format_message(), err=True)
        return Exit.USAGE
    context = getattr(error, "ctx", None)
    say(error.format_message(), f"see `{context.command_path} --help`" if context else "")
    return Exit.USAGE


def in_a_line(error: Exception) -> tuple[Exit, str]:
    """The exit code and the text for an error that ended a command, without secrets."""
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
    """The reader is gone: discard the rest, so that Python's own flush at exit raises nothing either."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 -- lives until exit
    return Exit.BROKEN_PIPE
