"""Sends botocore's prepared and signed requests through a bounded pool, instead of its own connections, and at a pace
that keeps list and describe calls below the quota of the account, once the service has throttled one.

Its own connections read responses of any length, with timeouts that restart with each packet.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import urllib3
from botocore.awsrequest import AWSResponse
from botocore.utils import get_environ_proxies

from tsaudit.net.pool import BoundedPool, BoundedProxy, whole

_MOST_BYTES: Final = 8 << 20
"""Maximum size of a response: the services' own pages have at most one megabyte."""

_turn: ContextVar[tuple[Sender, float] | None] = ContextVar("_turn", default=None)
"""The sender to use in this thread, and the time limit in seconds."""


class Sender:
    """Connections to both services, for one thread at a time, except for `abort`."""

    def __init__(self, connect_timeout_s: float, certificates: str | None) -> None:
        self._connect_timeout_s = connect_timeout_s
        self._trust = {"ca_certs": certificates} if certificates else {}
        self._pools: dict[str, BoundedPool] = {}
        """Proxy, or an empty string for none, to the connections through it."""

    @contextmanager
    def turn(self, seconds: float) -> Iterator[None]:
        """Send the calls inside, in this thread, through this sender, and stop them after that time."""
        token = _turn.set((self, seconds))
        try:
            yield
        finally:
            _turn.reset(token)

    def abort(self) -> None:
        """Abort by shutting all sockets down, from any thread."""
        for pool in list(self._pools.values()):
            pool.abort()

    def close(self) -> None:
        """Close the connections."""
        for pool in self._pools.values():
            pool.clear()

    def send(self, request: Any, seconds: float) -> AWSResponse:
        """The response to one request. urllib3's errors, OSError, OutOfTimeError; UnfitAnswerError if it is too
        long.
        """
        pool = self._pool(request.url)
        timeout = urllib3.Timeout(connect=min(self._connect_timeout_s, seconds), read=seconds + 1)
        with pool.until(seconds):
            response = pool.urlopen(
                request.method,
                request.url,
                body=request.body,
                headers=dict(request.headers),
                timeout=timeout,
                preload_content=False,
            )
            # Bodies of errors have been read.
            body = whole(response, _MOST_BYTES) if 200 <= response.status < 300 else response.data
        return AWSResponse(request.url, response.status, response.headers, _Body(body))

    def _pool(self, url: str) -> BoundedPool:
        proxies: Mapping[str, str] = get_environ_proxies(url)
        proxy = proxies.get(urlsplit(url).scheme) or proxies.get("all") or ""
        if proxy not in self._pools:
            self._pools[proxy] = _through(proxy, self._trust) if proxy else BoundedPool(**self._trust)
        return self._pools[proxy]


class _Body:
    """A body for botocore to read from."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def stream(self) -> Iterator[bytes]:
        yield self._data


def attach(client: Any) -> None:
    """Send the client's requests through the current sender."""
    client.meta.events.register("before-send", _send)


def _send(request: Any, **_: Any) -> AWSResponse | None:
    turn = _turn.get()
    return turn[0].send(request, turn[1]) if turn else None


def _through(proxy: str, trust: Mapping[str, str]) -> BoundedPool:
    address = proxy if "://" in proxy else f"http://{proxy}"
    parts = urlsplit(address)
    login = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else None
    headers = urllib3.make_headers(proxy_basic_auth=login) if login else None
    return BoundedProxy(address, proxy_headers=headers, **trust)


_APART_S: Final = 0.25
"""An account may list and describe five times a second, and others may use it, too."""


class Pace:
    """The pace of all connections to one account. Thread-safe."""

    def __init__(self) -> None:
        self._next = 0.0
        self._slow = False
        self._lock = threading.Lock()

    def throttled(self) -> None:
        """From now on, space out the calls."""
        with self._lock:
            self._slow = True

    def wait(self, operation: str, deadline: float) -> bool:
        """Wait for the operation's turn; immediately False if that is after the deadline. Queries have no quota."""
        if not operation.startswith(("List", "Describe")):
            return True
        with self._lock:
            if not self._slow:
                return True
            at = max(self._next, time.monotonic())
            if at >= deadline:
                return False
            self._next = at + _APART_S
        time.sleep(max(0.0, at - time.monotonic()))
        return True
