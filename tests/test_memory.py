"""What the tests of memory measure with."""

import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from tests.memory import watched

_BIG = 'import time; b = bytearray(80_000_000); b[::4096] = b"1" * len(b[::4096]); time.sleep(0.2)'


@pytest.fixture
def run() -> Callable[[str, float], float]:
    """How many MB are taken while a child runs a program that it takes a while to start."""

    def measured(program: str, delay_s: float) -> float:
        with watched(children=True) as peak:
            subprocess.run([sys.executable, "-c", program], check=True, preexec_fn=lambda: time.sleep(delay_s))
        return peak.megabytes

    return measured


def test_process_that_is_being_started(run: Callable[[str, float], float]) -> None:
    """Until it runs its own program it reports the memory of its parent as its own."""
    ballast = bytearray(200_000_000)
    ballast[::4096] = b"1" * len(ballast[::4096])
    assert run("pass", 0.2) < 100


def test_memory_of_a_child(run: Callable[[str, float], float]) -> None:
    assert 80 < run(_BIG, 0.0) < 200
