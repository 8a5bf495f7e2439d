"""Progress on a real terminal, and none anywhere else."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import threading
import time

import pytest

from tsaudit.cli import screen

HIDDEN_CURSOR, SHOWN_CURSOR = b"\x1b[?25l", b"\x1b[?25h"

PROGRAM = """
import sys, time
from tsaudit.cli import screen
screen.AFTER_S = float(sys.argv[1])
with screen.progress(total=2, quiet="quiet" in sys.argv) as watched:
    watched.say("shop[red]", "connecting to \\x1b[2Jx")
    time.sleep(0.6)
    with watched.aside():
        print("shop  ok", flush=True)
        time.sleep(0.3)
        print("done", flush=True)
    watched.end("shop[red]")
    time.sleep(0.4)
"""


def on_a_terminal(program: str, *arguments: str, **environment: str) -> bytes:
    """What a terminal gets from the program on stdout and stderr."""
    master, slave = pty.openpty()
    variables = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")} | {"TERM": "xterm"} | environment
    with subprocess.Popen(
        [sys.executable, "-c", program, *arguments], stdin=slave, stdout=slave, stderr=slave, env=variables
    ) as process:
        os.close(slave)
        received = b""
        while True:
            try:
                piece = os.read(master, 10_000)
            except OSError:  # Linux: the other end was closed.
                break
            if not piece:
                break
            received += piece
        assert process.wait() == 0, received
    os.close(master)
    return received


def test_terminal_shows_what_is_going_on_and_leaves_nothing_behind() -> None:
    seen = on_a_terminal(PROGRAM, "0.05")
    assert b"shop[red]: connecting to \\x1b[2Jx" in seen
    assert b"0 of 2 targets" in seen
    assert b"1 of 2 targets" in seen
    assert seen.count(HIDDEN_CURSOR) == seen.count(SHOWN_CURSOR) == 2
    assert re.search(rb"shop  ok\r\ndone\r\n", seen), "nothing is drawn between two lines that are printed together"


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        (("9",), {}),
        pytest.param(("0.05", "quiet"), {}, marks=pytest.mark.full),
        pytest.param(("0.05",), {"TERM": "dumb"}, marks=pytest.mark.full),
    ],
)
def test_terminal_shows_no_progress_of_short_work_or_if_nobody_wants_it(
    arguments: tuple[str, ...], environment: dict[str, str]
) -> None:
    assert on_a_terminal(PROGRAM, *arguments, **environment) == b"shop  ok\r\ndone\r\n"


@pytest.mark.parametrize(
    "forced", [{}, pytest.param({"FORCE_COLOR": "1"}, marks=pytest.mark.full)], ids=["plain", "forced color"]
)
def test_pipe_gets_no_progress(forced: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "0.05"], capture_output=True, check=True, timeout=60, env=os.environ | forced
    )
    assert (done.stdout, done.stderr) == (b"shop  ok\ndone\n", b"")


def test_many_threads_may_say_and_end_while_it_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.console import Console
    from rich.progress import Progress as Bars

    monkeypatch.setattr(screen, "AFTER_S", 0.01)
    bars = Bars(console=Console(file=open(os.devnull, "w", encoding="utf-8"), force_terminal=True), transient=True)  # noqa: SIM115, PTH123
    watched = screen._Shown(bars, 40)

    def work(name: str) -> None:
        for step in range(10):
            watched.say(name, str(step))
            time.sleep(0.001)
        watched.end(name)

    threads = [threading.Thread(target=work, args=(f"t{n}",)) for n in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        with watched.aside():
            pass
        thread.join(10)
    watched.close()
    assert not any(thread.is_alive() for thread in threads)
    assert watched._count() == "40 of 40 targets"
    assert watched._tasks == {}
