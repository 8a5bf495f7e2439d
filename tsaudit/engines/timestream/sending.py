"""Sends botocore's prepared and signed requests through a bounded pool instead of botocore's own connections. Once the
service has throttled a call, list and describe calls are spaced out to stay below the quota of the account.

botocore's own connections read responses of any length, with timeouts that restart with each packet.
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
"""Maximum size of a response in bytes: the services' own pages have at most one megabyte."""

_turn: ContextVar[tuple[Sender, float] | None] = ContextVar("_turn", default=None)
"""The sender to use in this thread, and the time limit in seconds."""


class Sender:
    """Connections to both services, for one thread at a time, except for `abort`."""

    def __init__(self, connect_timeout_s: float, certificates: str | None) -> None:
        self._connect_timeout_s = connect_timeout_s
        self._trust = {"ca_certs": certificates} if certificates else {}
        self._pools: dict[str, BoundedPool] = {}
        """Proxy to the connections through it; an empty string stands for no proxy."""

    @contextmanager
    def turn(self, seconds: float) -> Iterator[None]:
        """Send the calls inside the `with` block, in this thread, with this sender, and stop them after that many
        seconds.
        """
        token = _turn.set((self, seconds))
        try:
            yield
        finally:
            _turn.reset(token)

    def abort(self) -> None:
        """Abort all calls by shutting their sockets down, from any thread."""
        for pool in list(self._pools.values()):
            pool.abort()

    def close(self) -> None:
        """Close the connections."""
        for pool in self._pools.values():
            pool.clear()

    def send(self, request: Any, seconds: float) -> AWSResponse:
        """The response to one request. Raises urllib3's errors, OSError, and OutOfTimeError; UnfitAnswerError if the
        response is too long.
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
            # The bodies of errors have already been read.
            body = whole(response, _MOST_BYTES) if 200 <= response.status < 300 else response.data
        return AWSResponse(request.url, response.status, response.headers, _Body(body))

    def _pool(self, url: str) -> BoundedPool:
        proxies: Mapping[str, str] = get_environ_proxies(url)
        proxy = proxies.get(urlsplit(url).scheme) or proxies.get("all") or ""
        if proxy not in self._pools:
            self._pools[proxy] = _through(proxy, self._trust) if proxy else BoundedPool(**self._trust)
        return self._pools[proxy]


class _Body:
    """A response body in the form that botocore reads."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def stream(self) -> Iterator[bytes]:
        yield self._data


def attach(client: Any) -> None:
    """Make the client send its requests with the current sender."""
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
"""Seconds between calls: an account may list and describe five times a second, and other programs may use it, too."""


class Pace:
    """The pace of calls, shared by all connections to one account. Thread-safe."""

    def __init__(self) -> None:
        self._next = 0.0
        self._slow = False
        self._lock = threading.Lock()

    def throttled(self) -> None:
        """Space out the calls from now on."""
        with self._lock:
            self._slow = True

    def wait(self, operation: str, deadline: float) -> bool:
        """Wait until the operation may be called, and return True; return False immediately if that is after the
        deadline. Queries have no quota.
        """
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
