"""What values are, in a word for people: `UUID`, `hash`, `timestamp`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tsaudit.analysis.shapes.shape_rules import kind_of

_WORDS: Final = {
    "uuid": "UUID",
    "ulid": "ULID",
    "mac": "MAC address",
    "ip": "IP address",
    "email": "email address",
    "url": "URL",
    "iso_time": "timestamp",
    "epoch": "timestamp",
    "hash": "hash",
    "position": "coordinates",
    "float": "decimal number",
    "integer": "integer",
    "version": "version",
    "boolean": "yes or no",
    "path": "path",
    "sql": "SQL statement",
    "json": "JSON",
    "user_agent": "user agent",
    "log_text": "text",
    "pod": "pod name",
    "hostname": "host name",
    "id": "ID",
}
"""Kind to word. A plain word and an unknown kind have none: saying so would help nobody."""


def of_kind(kind: str) -> str:
    """The kind in a word; its own name if it has none."""
    return _WORDS.get(kind, kind.replace("_", " "))


def describe(values: Iterable[str]) -> tuple[str, ...]:
    """The kinds of the values, each once, in their order; empty if no value has a kind worth a word."""
    return tuple(dict.fromkeys(word for value in values if (word := _WORDS.get(kind_of(value)))))
