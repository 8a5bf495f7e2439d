"""Sinks: ways to notify owners besides Slack. Other packages provide them; see docs/library.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Protocol, runtime_checkable

from tsaudit.secrets import MaskedError


class SinkError(MaskedError):
    """The notice was not delivered. One line, with what to do; secrets of the configuration in it are masked."""

    def __init__(self, text: str, *, refused: bool = False) -> None:
        """`refused`: this notice will never be accepted, so it is dropped. Otherwise, the next run tries again."""
        super().__init__(text)
        self.refused = refused


@dataclass(frozen=True, slots=True)
class Notice:
    """A notification for an owner."""

    id: str
    """Stays the same if the notice is sent again, so that a receiver can drop duplicates."""
    kind: str
    """`alert`: the first notice about open incidents; `reply`: something is new or worse; `resolve`: nothing is open
    any more; `digest`: the day over all targets of the owner.
    """
    owner: str
    """A name under `owners:` in tsaudit.yaml."""
    target: str
    """Empty for a digest."""
    day: date
    """The audited day, in UTC."""
    title: str
    """One line of plain text."""
    text: str
    """The complete notice as plain text, including the title."""
    severities: Mapping[str, str]
    """Fingerprint of each incident in the notice to its severity, `warn` or `critical`."""


@runtime_checkable
class Sink(Protocol):
    """Delivers notices. tsaudit queues them, sends each one once and in order for each owner, and retries."""

    def send(self, notice: Notice, timeout_s: float) -> None:
        """Returns when the receiver has accepted it, otherwise raises SinkError.

        It runs in a thread that is abandoned after `timeout_s` seconds; the notice then counts as not delivered.
        """
        ...


MakeSink = Callable[[Mapping[str, str]], Sink]
"""The object named by an entry point of `tsaudit.sinks`: returns the sink, given the value of `sinks.<name>` in
tsaudit.yaml.
"""
