"""Shows the progress of work that takes longer than two seconds: on stderr, and only if that is a terminal."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from tsaudit.text import many, number, printable

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

AFTER_S: Final = 2.0
"""Seconds after which progress is shown; shorter work needs none."""
_LONGEST: Final = 100


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
        line = printable(f"{name}: {text}", _LONGEST)
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
def shown(*, total: int = 1, quiet: bool = False) -> Iterator[Progress]:
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
