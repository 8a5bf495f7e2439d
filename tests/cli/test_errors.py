"""Exit codes, and one line for whatever goes wrong."""

from __future__ import annotations

import io
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import click
import pytest

from tests.command import CliRunner
from tsaudit.cli import errors, main
from tsaudit.cli.errors import CallState, Exit, guarded
from tsaudit.config.file import ConfigError
from tsaudit.engines.connection import ConnectorError


def raiser(error: BaseException) -> Callable[[], None]:
    def call() -> None:
        raise error

    return call


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (ConfigError("t.yaml:1: a", "t.yaml:2: b"), Exit.USAGE, "error: t.yaml:1: a\nerror: t.yaml:2: b\n"),
        (ConnectorError("no server at x"), Exit.NOT_AUDITED, "error: no server at x\n"),
        (click.UsageError("no"), Exit.USAGE, "error: no\n"),
        (KeyboardInterrupt(), Exit.INTERRUPTED, "interrupted\n"),
        (
            ZeroDivisionError("by zero\nand more"),
            Exit.INTERNAL,
            "error: internal error in tsaudit.cli.errors: ZeroDivisionError: by zero\nhint: `tsaudit --debug ...`",
        ),
        (RuntimeError(), Exit.INTERNAL, "error: internal error in tsaudit.cli.errors: RuntimeError\n"),
        (ConnectorError("\x1b[2J\u202e"), Exit.NOT_AUDITED, "error: \\x1b[2J\\u202e\n"),
    ],
)
def test_guarded_when_something_is_raised(
    capsys: pytest.CaptureFixture[str], error: BaseException, code: int, text: str
) -> None:
    assert guarded(CallState(), raiser(error)) == code
    assert capsys.readouterr().err.startswith(text)


@pytest.mark.parametrize(("returned", "code"), [(None, 0), (0, 0), (3, 3), ("x", 0)])
def test_guarded_when_the_command_returns(returned: object, code: int) -> None:
    assert guarded(CallState(), lambda: returned) == code


def test_traceback_when_debugging(capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded(CallState(debug=True), raiser(ZeroDivisionError("x"))) == Exit.INTERNAL
    text = capsys.readouterr().err
    assert "Traceback" in text
    assert "hint" not in text


def test_debug_when_given_before_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tsaudit.cli.options.load_settings", raiser_of_any(ZeroDivisionError("x")))
    done = CliRunner().invoke(main, ["--debug", "audit"])
    assert done.exit_code == Exit.INTERNAL
    assert "Traceback" in done.stderr


def raiser_of_any(error: Exception) -> Callable[[object], None]:
    def call(_config: object) -> None:
        raise error

    return call


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["audit", "--target", "x"], "write it without an option, `tsaudit audit TARGET`; see `tsaudit audit --help`"),
        (["show", "--fingerprint=3fa9"], "write it without an option, `tsaudit show FINGERPRINT`; see "),
        (["explain", "--target", "x"], "see `tsaudit explain --help`"),
    ],
)
def test_what_is_an_argument_and_was_given_as_an_option(arguments: list[str], hint: str) -> None:
    done = CliRunner().invoke(main, arguments, prog_name="tsaudit")
    assert done.exit_code == Exit.USAGE
    assert f"\nhint: {hint}" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["frobnicate"], "error: No such command 'frobnicate'."),
        (["audit", "--frob"], "error: No such option"),
        (["audit", "--day", "tomorrow"], "`tomorrow` is not a day; write YYYY-MM-DD, today, or yesterday"),
        (["audit", "--day", "2999-01-01"], "2999-01-01 is in the future; in UTC it is "),
        (["mute", "abc", "--reason", "x", "--until", "2001-01-01"], "2001-01-01 is in the past"),
        (["mute", "abc", "--reason", "x", "--for", "999999999999d"], "is not a period of days or weeks"),
        (["mute", "abc", "--reason", "x", "--for", "1w", "--until", "2999-01-01"], "`--for` or `--until`, not both"),
        (["mute", "abc", "--reason", "x"], "pass `--for` or `--until`"),
        (["mute", "--reason", "x", "--for", "1w"], "Missing argument 'FINGERPRINT...'"),
        (
            ["mute", "abc"],
            "pass `--reason`, and `--for` or `--until`, such as `tsaudit mute abc --for 2w --reason 'see ticket 4711'`",
        ),
        (["ack", "abc", "def"], "pass `--reason`, such as `tsaudit ack abc def --reason 'see ticket 4711'`"),
        (["audit", "-c", "/nowhere.yaml"], "error: /nowhere.yaml: no such file; `tsaudit init` writes one"),
    ],
)
def test_usage_when_wrong(arguments: list[str], expected: str) -> None:
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == Exit.USAGE
    assert expected in done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")


def test_help_when_nothing_is_asked_for() -> None:
    done = CliRunner().invoke(main, [], prog_name="tsaudit")
    assert done.exit_code == Exit.USAGE
    assert done.stderr.startswith("Usage: tsaudit ")
    assert "error" not in done.stderr.splitlines()[0]


def test_argument_when_its_bytes_are_no_text() -> None:
    done = CliRunner().invoke(main, ["report", "\udcff\x1b[2J"])
    assert done.exit_code == Exit.USAGE
    assert done.stderr.startswith("error: `\\udcff\\x1b[2J` is not valid text in this terminal's encoding")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_when_the_disk_is_full() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tsaudit", "--help"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == Exit.INTERNAL
    assert done.stderr == "error: [Errno 28] No space left on device\n"


def test_hint_when_usage_is_wrong_names_the_command() -> None:
    assert (
        "hint: see `tsaudit audit --help`" in CliRunner().invoke(main, ["audit", "--frob"], prog_name="tsaudit").stderr
    )


@pytest.mark.parametrize("end", [BrokenPipeError(), SystemExit(1)])
def test_guarded_when_nobody_reads_on(monkeypatch: pytest.MonkeyPatch, end: BaseException) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert guarded(CallState(), raiser(end)) == Exit.BROKEN_PIPE
    with sys.stdout as replaced:
        assert replaced.name == os.devnull


def test_guarded_when_shell_completion_ends() -> None:
    assert guarded(CallState(), raiser(SystemExit(0))) == Exit.OK


def test_interrupt_when_not_in_the_main_thread_is_left_alone() -> None:
    before = signal.getsignal(signal.SIGINT)
    with errors.at_once_on_interrupt():
        assert signal.getsignal(signal.SIGINT) is not before
    seen: list[object] = []

    def inside() -> None:
        with errors.at_once_on_interrupt():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    assert seen == [before]
    assert signal.getsignal(signal.SIGINT) is before


def test_output_when_nobody_reads_on() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "tsaudit", "--help"], stdout=write, stderr=subprocess.PIPE, timeout=60, check=False
    )
    os.close(write)
    assert done.returncode == Exit.BROKEN_PIPE
    assert done.stderr == b""


@pytest.mark.costly
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
@pytest.mark.parametrize("command", ["--help", "audit"])
def test_output_when_it_is_closed(tmp_path: Path, command: str, closed: str) -> None:
    with closing(sqlite3.connect(tmp_path / "m.db")) as database:
        database.execute("CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT)")
    (tmp_path / "tsaudit.yaml").write_text("targets: [{name: m, engine: sqlite, url: 'sqlite:///m.db'}]\n")
    done = subprocess.run(
        ["sh", "-c", f"'{sys.executable}' -m tsaudit {command} {closed}"],
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (Exit.OK, b"")


def test_output_when_the_terminal_knows_few_characters() -> None:
    environment = os.environ | {"PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(
        [sys.executable, "-c", "from tsaudit.cli.errors import *; guarded(CallState(), lambda: click.echo('\u2026'))"],
        env=environment,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == b"\\u2026\n"
    assert done.stderr == b""


def _heed_interrupts() -> None:
    """Tests run in the background of a shell have inherited that interrupts are ignored; a terminal's do not."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_interrupt_when_the_process_gets_the_signal(tmp_path: Path) -> None:
    program = (
        "import time, tsaudit.cli.options as o\n"
        # A signal right before a sleep is noticed after it.
        "def wait(*_, **__):\n    print('ready', flush=True)\n    for _ in range(600):\n        time.sleep(0.05)\n"
        "o.load_settings = wait\n"
        "from tsaudit.cli import main\nmain(['audit'])\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        preexec_fn=_heed_interrupts,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == Exit.INTERRUPTED
    assert stderr.strip() == "interrupted"


@pytest.mark.wall_clock
def test_interrupt_when_a_database_does_not_answer(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        (tmp_path / "tsaudit.yaml").write_text(f"targets: [{{name: a, engine: influxdb1, url: '{url}'}}]\n")
        process = subprocess.Popen(
            [sys.executable, "-m", "tsaudit", "audit"],
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            preexec_fn=_heed_interrupts,
        )
        silent.settimeout(30)
        connection, _ = silent.accept()
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        _, stderr = process.communicate(timeout=30)
        connection.close()
    assert time.monotonic() - began < 5
    assert process.returncode == Exit.INTERRUPTED
    assert stderr.strip() == "interrupted"


def test_colour_when_no_color_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[33mwarn" in CliRunner().invoke(main, ["rules"], color=True).stdout
    assert "\x1b[" not in CliRunner().invoke(main, ["rules"]).stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in CliRunner().invoke(main, ["rules"], color=True).stdout


def test_completion_when_a_shell_asks() -> None:
    environment = os.environ | {"_TSAUDIT_COMPLETE": "bash_complete", "COMP_WORDS": "tsaudit gui", "COMP_CWORD": "1"}
    done = subprocess.run(
        [str(Path(sys.executable).parent / "tsaudit")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (Exit.OK, "plain,guidelines\n")


def test_exit_codes_when_documented() -> None:
    """The help names every exit code that is not the shell's own business."""
    text = main.help or ""
    for code in set(errors.Exit) - {Exit.INTERRUPTED, Exit.BROKEN_PIPE}:
        assert re.search(rf"^ +{code} +\w", text, re.MULTILINE), code
