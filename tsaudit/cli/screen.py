"""What a terminal shows: aligned columns, verdicts in color, JSON, and the progress of work that takes longer than two
seconds. Untrusted text is escaped first.
"""

from __future__ import annotations

import sys
import textwrap
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import click

from tsaudit.text import many, number, printable

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

_COLOURS: Final = {
    "ok": "green",
    "pass": "green",
    "partly": "cyan",
    "unknown": "cyan",
    "watching": "cyan",
    "warning": "yellow",
    "open": "yellow",
    "critical": "red",
    "failed": "red",
    "in the future": "red",
}
_LONGEST: Final = 400
"""Maximum length of a cell or line."""
_LONGEST_PARAGRAPH: Final = 4000


def word(text: str, width: int = 0) -> str:
    """A verdict, severity, or state in its color, padded to `width`."""
    return click.style(text.ljust(width), fg=_COLOURS.get(text), bold=True if text == "critical" else None)


def line(text: str = "") -> None:
    """Print one line, escaping whatever is not printable."""
    click.echo(printable(text, _LONGEST))


def warning(text: str) -> None:
    """Print one line on stderr, so that it does not become part of JSON on stdout."""
    click.echo(f"{click.style('warning:', fg='yellow', bold=True)} {printable(text, 1000)}", err=True)


def clean(text: str) -> str:
    """The text with unprintable characters escaped and limited length, for one line."""
    return printable(text, _LONGEST)


def width() -> int | None:
    """Characters per line of the terminal; None if the output is not a terminal."""
    if not sys.stdout.isatty():
        return None
    import shutil

    return max(40, shutil.get_terminal_size().columns - 1)


def wrapped(text: str, indent: str, below: str = "", most: int | None = None) -> list[str]:
    """Text of any length as lines: wrapped for a terminal, otherwise one line. `below`: additional indent of all lines
    but the first.

    `most`: maximum characters per line, also without a terminal; None: no limit.
    """
    safe = printable(text, _LONGEST_PARAGRAPH)
    room = min((one for one in (width(), most) if one is not None), default=None)
    if room is None:
        return [indent + safe]
    return textwrap.wrap(
        safe,
        room,
        initial_indent=indent,
        subsequent_indent=indent + below,
        break_on_hyphens=False,
        break_long_words=False,
    )


def fitted(text: str, indent: str, severity: str = "") -> str:
    """One line, cut off at the width of the terminal. `severity`: a severity at its beginning, to be colored."""
    room = width()
    safe = printable(text, _LONGEST if room is None else max(room - len(indent), 1))
    return indent + (word(severity) + safe.removeprefix(severity) if severity else safe)


def whole(text: str, indent: str) -> str:
    """A statement or an address as one line: never broken or cut off by us, so that it can be copied from
    any terminal.
    """
    return indent + printable(text, _LONGEST_PARAGRAPH)


def statement(text: str, indent: str) -> None:
    """Print a statement of any number of lines without wrapping any of them."""
    for one in text.splitlines():
        click.echo(whole(one, indent))


def rows(text: str) -> int:
    """The number of rows that the line takes up on this terminal."""
    room = width()
    return 1 if room is None else max(1, -(-len(click.unstyle(text)) // (room + 1)))


def paragraph(text: str, indent: str, below: str = "", most: int | None = None) -> None:
    """Print text of any length: see `wrapped`."""
    for one in wrapped(text, indent, below, most) or [""]:
        click.echo(one)


def table(
    rows: Iterable[Sequence[str]],
    heads: Sequence[str] = (),
    indent: str = "",
    below: Sequence[Sequence[str]] = (),
) -> None:
    """Print rows in aligned columns, with the first word of a state or verdict in color; nothing if there are no rows.

    `below`: for each row, paragraphs to be printed under it.
    """
    body = [[printable(cell, _LONGEST) for cell in row] for row in rows]
    if not body:
        return
    everything = [list(heads), *body] if heads else body
    widths = [max(len(row[i]) for row in everything) for i in range(len(body[0]))]
    if heads:
        padded = "  ".join(h.ljust(w) for h, w in zip(heads, widths, strict=True))
        click.echo(indent + click.style(padded.rstrip(), bold=True))
    for at, row in enumerate(body):
        cells = [word(c, w) if c in _COLOURS else c.ljust(w) for c, w in zip(row, widths, strict=True)]
        cells[-1] = word(row[-1]) if row[-1] in _COLOURS else row[-1]
        click.echo((indent + "  ".join(cells)).rstrip())
        for text in below[at] if below else ():
            paragraph(text, f"{indent}    ")


def figures(pairs: Iterable[tuple[str, str]], indent: str, most: int | None = None) -> list[str]:
    """The figures of a summary as lines: label and text of each. `most`: see `wrapped`."""
    rows = list(pairs)
    width = max((len(label) for label, _ in rows), default=0)
    hanging = " " * (width + 2)
    return [line for label, text in rows for line in wrapped(f"{label:{width}}  {text}", indent, hanging, most)]


def as_json(value: Any) -> None:
    """Print a value as indented JSON, ASCII only: names that reverse or redraw a terminal stay escaped."""
    import json

    click.echo(json.dumps(value, indent=2, ensure_ascii=True))


AFTER_S: Final = 2.0
"""Seconds after which progress is shown; shorter work needs none."""
_LONGEST_TASK: Final = 100


class Progress:
    """Receives the progress of an audit. This base class shows nothing; it is used if there is no terminal."""

    def say(self, name: str, text: str) -> None:
        """Report what is being done for the target `name`."""

    def end(self, name: str) -> None:
        """Report that the target is finished."""

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Pauses the display while something else is printed on the terminal."""
        yield


class _Shown(Progress):
    """Shows a line with a clock for each target in progress. Thread-safe."""

    def __init__(self, bars: Bars, total: int) -> None:
        self._bars, self._total, self._ended = bars, total, 0
        self._tasks: dict[str, TaskID] = {}
        self._guard = threading.RLock()
        self._started, self._closed = False, False
        self._overall = bars.add_task(self._count()) if total > 1 else None
        self._timer = threading.Timer(AFTER_S, self._begin)
        self._timer.daemon = True
        self._timer.start()

    def say(self, name: str, text: str) -> None:
        line = printable(f"{name}: {text}", _LONGEST_TASK)
        with self._guard:
            if name in self._tasks:
                self._bars.update(self._tasks[name], description=line)
            else:
                self._tasks[name] = self._bars.add_task(line)

    def end(self, name: str) -> None:
        with self._guard:
            self._ended += 1
            if name in self._tasks:
                self._bars.remove_task(self._tasks.pop(name))
            if self._overall is not None:
                self._bars.update(self._overall, description=self._count())

    @contextmanager
    def aside(self) -> Iterator[None]:
        with self._guard:
            if self._started:
                self._bars.stop()
            try:
                yield
            finally:
                if self._started:
                    self._bars.start()

    def close(self) -> None:
        self._timer.cancel()
        with self._guard:
            self._closed = True
            if self._started:
                self._bars.stop()

    def _begin(self) -> None:
        with self._guard:
            if not self._closed:
                self._started = True
                self._bars.start()

    def _count(self) -> str:
        return f"{number(self._ended)} of {many(self._total, 'target')}"


@contextmanager
def progress(*, total: int = 1, quiet: bool = False) -> Iterator[Progress]:
    """Shows progress while the context is open. `total`: the number of targets; if there are several, finished ones are
    counted.
    """
    if quiet or not sys.stderr.isatty():
        yield Progress()
        return
    from rich.console import Console
    from rich.progress import Progress as Bars
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_interactive:
        yield Progress()
        return
    # Names come from a configuration, and versions from servers: neither may be interpreted as markup.
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    bars = Bars(*columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False)
    watched = _Shown(bars, total)
    try:
        yield watched
    finally:
        watched.close()
