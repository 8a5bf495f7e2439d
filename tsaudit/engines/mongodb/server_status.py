"""What a mongod says of itself: which of its mechanisms fail, and how near its limits are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

_DIRTY: Final = 0.2
"""Share of the cache that is not written yet, from which on WiredTiger lets operations do this first:
`eviction_dirty_trigger`, https://source.wiredtiger.com/develop/group__wt.html
"""
_FULL: Final = 0.95
"""The same of what is cached in all: `eviction_trigger`."""
_PASS_S: Final = 3_600
"""The server looks for expired documents each minute; after so long without, it never will."""

Row = tuple[str, str, float]
"""Kind, name, and value of the fact `server_status`."""


def rows(status: Mapping[str, Any], host: Mapping[str, Any]) -> Iterator[Row]:
    """`status`, `host`: the answers of `serverStatus` and of `hostInfo`, which may be empty."""
    if "localTime" in status:
        yield "started", "", status["localTime"].timestamp() - float(status.get("uptime", 0.0))
    errors = status.get("asserts", {})
    yield "counter", "server_errors", float(errors.get("regular", 0)) + float(errors.get("msg", 0))
    clients = status.get("connections", {})
    if "available" in clients:
        yield "counter", "connections", float(clients["current"])
        yield "setting", "connections", float(clients["current"]) + float(clients["available"])
    engine = status.get("wiredTiger", {})
    most_files = host.get("extra", {}).get("maxOpenFiles")
    if (files := engine.get("connection", {}).get("files currently open")) is not None and most_files:
        # A connection is one as well.
        yield "counter", "open_files", float(files) + float(clients.get("current", 0))
        yield "setting", "open_files", float(most_files)
    yield from _failures(status, engine.get("cache", {}))


def _failures(status: Mapping[str, Any], cache: Mapping[str, Any]) -> Iterator[Row]:
    size = float(cache.get("maximum bytes configured", 0))
    dirty, held = (
        float(cache.get(name, 0)) for name in ("tracked dirty bytes in the cache", "bytes currently in the cache")
    )
    if size and (dirty >= _DIRTY * size or held >= _FULL * size):
        yield "failure", "cache", 1.0
    passes = status.get("metrics", {}).get("ttl", {}).get("passes")
    is_primary = status.get("repl", {}).get("isWritablePrimary", True)
    if passes == 0 and is_primary and float(status.get("uptime", 0)) > _PASS_S:
        yield "failure", "expiry", 1.0
