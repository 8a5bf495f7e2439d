"""Runs `tsaudit` commands, each in a process of its own, without paying for the imports each time.

Started as `python -m tests.faults.forkserver`: imports tsaudit and its drivers, then reads jobs from stdin and writes
results to stdout, a JSON object per line. A child is a fork that calls the real command and exits as an
interpreter does, with everything joined and closed. Its peak memory is that of the child and the processes it starts,
its time that of the child alone; one that outlives its limit is killed, which is a result like any other.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import tsaudit
from tests.memory import of_children

_LEFT_OUT: Final = ("tsaudit.history.migrations",)
_LOOK_S: Final = 0.05
_CAPABILITY_VERSION: Final = 0x20080522
_OVERRIDES: Final = 1 << 1 | 1 << 2
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: root's right to open what nobody may."""


@dataclass(slots=True)
class _Child:
    job: dict[str, Any]
    began: float
    is_killed: bool = False
    looked_at: float = field(default_factory=time.monotonic)
    threads: dict[str, float] = field(default_factory=dict)
    """Thread to the seconds in which it could have run and others did, as last seen."""
    waited: float = 0.0
    with_it_bytes: int = 0
    """The most that the processes it started were seen to take together."""


def main() -> list[str] | None:
    """The arguments of the command, in a child; None in the server, once stdin has ended and all children have."""
    _warm_up()
    # Else each child walks, and by that copies, what all of them share: half of the CPU that its audit takes.
    gc.collect()
    gc.freeze()
    print(json.dumps({"ready": os.getpid(), "threads": len(list(Path("/proc/self/task").iterdir()))}), flush=True)
    children: dict[int, _Child] = {}
    unread, is_open = b"", True
    while is_open or children:
        if is_open and select.select([0], [], [], 0.02 if children else None)[0]:
            piece = os.read(0, 65_536)
            is_open = bool(piece)
            *lines, unread = (unread + piece).split(b"\n")
            for line in lines:
                job = json.loads(line)
                pid = os.fork()
                if pid == 0:
                    return _become(job)
                children[pid] = _Child(job, time.monotonic())
        elif not is_open:
            time.sleep(0.02)
        for pid, child in list(children.items()):
            _look_at(pid, child, children)
    return None


def _warm_up() -> None:
    """Import what an audit imports, and audit once, so that no child has to do either for the first time."""
    for module in pkgutil.walk_packages(tsaudit.__path__, "tsaudit."):
        if not module.name.startswith(_LEFT_OUT) and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    importlib.import_module("duckdb_engine")
    from tsaudit.cli import main as command

    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, Path(os.devnull).open("w") as nowhere:
        os.chdir(folder)
        Path("tsaudit.yaml").write_text("targets: [{name: none, engine: sqlite, url: 'sqlite:///none.db'}]\n")
        with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere), contextlib.suppress(SystemExit):
            command(["audit", "--no-notify"], prog_name="tsaudit")
        os.chdir(here)


def _look_at(pid: int, child: _Child, children: dict[int, _Child]) -> None:
    """Report the child when it has ended; end it when it has had its time."""
    seconds = time.monotonic() - child.began
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if (now := time.monotonic()) - child.looked_at >= _LOOK_S:
        child.with_it_bytes = max(child.with_it_bytes, of_children(pid))
        child.waited += _waited_for_processor(pid, child, now - child.looked_at)
        child.looked_at = now
    waited = child.waited
    if ended:
        _, status, usage = os.wait4(pid, 0)
        del children[pid]
        result = {
            "id": child.job["id"],
            "code": os.waitstatus_to_exitcode(status),
            "seconds": seconds - waited,
            "waited_s": waited,
            "cpu_s": usage.ru_utime + usage.ru_stime,
            # The system's figure is that of the command or of one process it started, whichever took more.
            "peak_bytes": usage.ru_maxrss * 1024 + child.with_it_bytes,
            "is_killed": child.is_killed,
        }
        print(json.dumps(result), flush=True)
    elif seconds - waited > child.job["limit_s"] and not child.is_killed:
        child.is_killed = True
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _waited_for_processor(pid: int, child: _Child, seconds: float) -> float:
    """Of the last seconds those in which the child could have run and others did: on a busy machine most of them."""
    more = 0.0
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError, IndexError, ValueError):
                total = int((thread / "schedstat").read_text().split()[1]) / 1e9
                more = max(more, total - child.threads.get(thread.name, 0.0))
                child.threads[thread.name] = total
    # Threads that wait at the same time do not take longer for it.
    return min(more, seconds)


def _become(job: dict[str, Any]) -> list[str]:
    """Turn this process into one that was started in the job's folder, with the job's environment."""
    folder = Path(job["folder"])
    os.chdir(folder)
    for descriptor, name in ((0, os.devnull), (1, "stdout"), (2, "stderr")):
        flags = os.O_RDONLY if descriptor == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        opened = os.open(name, flags, 0o644)
        os.dup2(opened, descriptor)
        os.close(opened)
    os.environ.clear()
    os.environ.update(job["env"])
    if job.get("without_override") and os.geteuid() == 0:
        _give_up_override()
    if watch := job.get("watch"):
        from tests.faults import watching

        watching.install(watch)
    return list(job["arguments"])


def _give_up_override() -> None:
    """Let permissions hold for root too; see capset(2)."""
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable, and their upper halves
    if libc.capget(header, sets):
        raise OSError(ctypes.get_errno(), "capget")
    for place in range(2):
        sets[place] &= ~_OVERRIDES
    if libc.capset(header, sets):
        raise OSError(ctypes.get_errno(), "capset")


if __name__ == "__main__":
    arguments = main()
    if arguments is not None:
        from tsaudit.cli import main as tsaudit

        tsaudit(arguments, prog_name="tsaudit")
