"""The engines with a protocol of their own, behind a proxy that hurts the bytes or a server that answers wrongly."""

from __future__ import annotations

import functools
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from tests.faults import bad_http, proxy
from tests.faults.engine import Settings, Stage, behind, unreachable
from tests.faults.expectations import Fault, Moment
from tests.faults.proxy import FaultyProxy, Strike, Trigger

PAGE: Final = bad_http.response(400, bad_http.PAGE, "text/html")
_AWAY_S: Final = 0.7

None_ = Mapping[tuple[str, Moment | None], str]
"""(fault, moment; None for any) to why there is no such thing with the engine."""


@dataclass(slots=True)
class WireEngine:
    """A server, and how its protocol says things."""

    name: str
    upstream: tuple[str, int]
    settings: Callable[[str, int], Settings]
    questions: Mapping[Moment, Trigger]
    """Whether a piece the client sends is a statement after the greeting, or one that reads a measurement's data."""
    strikes: Callable[[Fault], tuple[Strike, bool] | None]
    """What the fault does to the bytes, and whether it needs no answer of the server's; None: as with any protocol."""
    none: None_
    close: Callable[[], None]
    stages: Mapping[tuple[str, Moment | None], Stage] = field(default_factory=dict)
    """What is set up in another way than by the bytes."""
    environment: Mapping[str, str] = field(default_factory=dict)

    def healthy(self) -> Stage:
        return self.through(lambda: FaultyProxy(self.upstream))

    def stage(self, fault: Fault) -> Stage | str:
        key = fault.name, fault.moment
        if reason := why_none(self.none, fault):
            return reason
        if key in self.stages:
            return self.stages[key]
        if found := unreachable(fault, self.settings):
            return found
        strike, alone = self.strikes(fault) or _common(fault.name)
        moment = proxy.FROM_THE_START
        if fault.moment in self.questions:
            moment = proxy.Moment(self.questions[fault.moment], each=True)
        return self.through(lambda: FaultyProxy(self.upstream, strike, moment, answers_alone=alone))

    def through(self, faulty: Callable[[], FaultyProxy], **login: object) -> Stage:
        """See `behind`."""
        return behind(faulty, self.settings, **login)


def why_none(none: None_, fault: Fault) -> str:
    """Why there is no such fault; empty where there is."""
    return none.get((fault.name, fault.moment)) or none.get((fault.name, None), "")


def _common(name: str) -> tuple[Strike, bool]:
    """What is the same with every protocol, and whether the server's own answer is not needed for it."""
    return {
        "closed": (proxy.closed, True),
        "cut": (functools.partial(proxy.cut, after=9), False),
        "drip-head": (proxy.dripping, False),
        "drip-body": (functools.partial(proxy.dripping, start=12), False),
        "silence": (proxy.silent, True),
        "stall": (functools.partial(proxy.stalled, after=12), False),
        "html": (proxy.saying(PAGE), True),
        "wrong-server": (proxy.saying(b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"), True),
    }[name]


class Restarting(FaultyProxy):
    """Hangs up on everybody at the given moment, and lets nobody in for a while."""

    def __init__(self, upstream: tuple[str, int], matches: Trigger) -> None:
        self._away_until = 0.0
        super().__init__(upstream, proxy.reset, proxy.Moment(matches, once=True), action=self._go, answers_alone=True)

    def _go(self) -> None:
        self._away_until = time.monotonic() + _AWAY_S

    def _serve(self, client: socket.socket) -> None:
        if time.monotonic() < self._away_until:
            client.close()
            return
        super()._serve(client)
