"""What the matrix has to know of an engine: how to reach a server of it through a proxy, and how to make it fail."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from tests.faults.expectations import Fault, Moment
from tests.faults.proxy import FaultyProxy

_MET_S: Final = 30.0
"""A server may still be on its way back when the audit is over."""

Settings = Mapping[str, Any]
"""Of a target in tsaudit.yaml: url, login, databases."""


@dataclass(slots=True)
class Scene:
    """One cell, set up: what the audit is to be pointed at."""

    settings: Settings
    watch: Mapping[str, str] | None = None
    """See `watching`: what happens to a file in the middle of the audit."""
    without_override: bool = False
    """Run without root's right to read and write what it may not."""
    check: Callable[[], str | None] = field(default=lambda: None)
    """What the fault's own server has to complain of, once the audit is over."""


Stage = Callable[[Path], AbstractContextManager[Scene]]
"""Sets a cell up for as long as the context lasts. The folder is the one the command runs in."""


class Engine(Protocol):
    """A server, or the files, of one engine, written with the same data set."""

    name: str
    environment: Mapping[str, str]
    """What the command needs beside its configuration."""

    def healthy(self) -> Stage:
        """The audit without a fault."""
        ...

    def stage(self, fault: Fault) -> Stage | str:
        """The fault, or why there is no such thing with this engine."""
        ...

    def close(self) -> None: ...


NO_SUCH_ANSWER: Final = {
    ("undescribed", "mongodb"): "nothing but documents describes a collection",
    ("above", "influxdb1"): "no response to a reader has a part and its whole",
    ("above", "influxdb2"): "no response has a part and its whole",
}
"""(fault, engine) to why the responses cannot be so."""


def stage_of(engine: Engine, fault: Fault) -> Stage | str:
    """See `Engine.stage`; what cannot be true comes from the true responses, whatever the engine."""
    if fault.moment is not Moment.ANSWER:
        return engine.stage(fault)
    return NO_SUCH_ANSWER.get((fault.name, engine.name)) or _damaged(engine.healthy(), fault.name)


def _damaged(healthy: Stage, kind: str) -> Stage:
    @contextmanager
    def stage(folder: Path) -> Iterator[Scene]:
        with healthy(folder) as scene:
            scene.watch = {"damage": kind}
            scene.check = lambda: None if (folder / "done").exists() else "nothing was damaged"
            yield scene

    return stage


def dead_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def behind(faulty: Callable[[], FaultyProxy], settings: Callable[[str, int], Settings], **login: object) -> Stage:
    """The server as it is seen through the proxy. `login`: instead of the usual one."""

    @contextmanager
    def stage(_: Path) -> Iterator[Scene]:
        def check() -> str | None:
            return None if opened.done.wait(_MET_S) else "the fault was never met"

        with closing(faulty()) as opened:
            yield Scene({**settings("127.0.0.1", opened.port), **login}, check=check)

    return stage


def at(settings: Settings) -> Stage:
    """Nothing but other settings of the target."""

    @contextmanager
    def stage(_: Path) -> Iterator[Scene]:
        yield Scene(settings)

    return stage


def unreachable(fault: Fault, settings: Callable[[str, int], Settings]) -> Stage | None:
    """The faults that need no server, whatever the engine; None for all others."""
    if fault.name == "refused":
        return at(settings("127.0.0.1", dead_port()))
    if fault.name == "dns":
        return at(settings("tsaudit-test.invalid", 1))
    return None
