"""What the fork server measures of a command."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Final

import pytest

from tests.faults import forkserver

_BIG: Final = 'b = bytearray(60_000_000); b[::4096] = b"1" * len(b[::4096]); import time; time.sleep(1)'
_STARTS: Final = f"""
import subprocess, sys
for started in [subprocess.Popen([sys.executable, "-c", {_BIG!r}]) for _ in range(int(sys.argv[1]))]:
    started.wait()
"""


def _peak(processes: int, capsys: pytest.CaptureFixture[str]) -> int:
    """What a command that starts so many big processes is reported to take."""
    pid = os.posix_spawn(sys.executable, [sys.executable, "-c", _STARTS, str(processes)], os.environ)
    children = {pid: forkserver._Child({"id": 1, "limit_s": 60.0}, time.monotonic())}
    while children:
        forkserver._look_at(pid, children[pid], children)
        time.sleep(0.01)
    found = json.loads(capsys.readouterr().out)
    assert (found["code"], found["is_killed"]) == (0, False)
    return int(found["peak_bytes"])


def test_memory_of_all_processes_that_a_command_starts(capsys: pytest.CaptureFixture[str]) -> None:
    assert 120e6 < _peak(2, capsys) - _peak(0, capsys) < 200e6
