"""pymongo's client with additional limits: on the time of operations, and on the size of responses."""

from __future__ import annotations

import weakref
from typing import Any, Final, cast

import pymongo
from pymongo.synchronous.pool import Connection, Pool

_MOST_BYTES: Final = 17_000_000
"""Maximum size of a response: a document of 16 MiB, or a batch of that size, plus overhead.
https://www.mongodb.com/docs/manual/reference/limits/#mongodb-limit-BSON-Document-Size
"""
_MOST_OF_MONITOR: Final = 1_000_000
"""Maximum size of the server's description of itself."""


class _Pool(Pool):
    """Connections with a limited response size. Without the limit, a server may announce a response of 2 GB."""

    def connect(self, *arguments: Any, **settings: Any) -> Connection:
        made = super().connect(*arguments, **settings)
        most = _MOST_OF_MONITOR if self.is_sdam else _MOST_BYTES
        receive = made.receive_message

        def receive_bounded(request_id: int | None) -> Any:
            # Set here, because every hello response of the server sets it again.
            made.max_message_size = min(made.max_message_size, most)
            return receive(request_id)

        cast("Any", made).receive_message = receive_bounded
        return made


class Client:
    """One server or cluster, whose connections are shared by threads. Connects on first use."""

    def __init__(self, url: str, timeout_s: float, login: dict[str, Any]) -> None:
        self._url, self._timeout_ms, self._login = url, int(timeout_s * 1000), login
        self._pools: weakref.WeakSet[_Pool] = weakref.WeakSet()
        self._closed = False
        self.driver = self._made()
        """pymongo's client; a new one after `open_again`."""

    def abort(self) -> None:
        """Abort all operations in all threads: within half a second, they raise an error."""
        self._closed = True
        for pool in tuple(self._pools):
            pool.reset(interrupt_connections=True)
        self.driver.close()

    def open_again(self) -> None:
        """Continue with new connections after the previous ones were aborted."""
        if self._closed:
            self.driver, self._closed = self._made(), False

    def _made(self) -> pymongo.MongoClient[Any]:
        pools = self._pools

        class Known(_Pool):
            """A pool that keeps track of its connections."""

            def __init__(self, *arguments: Any, **settings: Any) -> None:
                super().__init__(*arguments, **settings)
                pools.add(self)

        return pymongo.MongoClient(
            self._url,
            appname="tsaudit",
            serverSelectionTimeoutMS=self._timeout_ms,
            connectTimeoutMS=self._timeout_ms,
            # For operations without a time limit, such as the last message of a connection; statements have their own
            # limits.
            timeoutMS=self._timeout_ms,
            _pool_class=Known,
            **self._login,
        )
