"""What a sink is: somewhere owners are told beside Slack. Other packages bring them; see docs/library.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Protocol, runtime_checkable

from tsaudit.secrets import MaskedError


class SinkError(MaskedError):
    """The notice was not delivered. One line, with what to do; secrets of the configuration in it are masked."""

    def __init__(self, text: str, *, refused: bool = False) -> None:
        """`refused`: this notice will never be taken, so it is given up. Otherwise the next run tries again."""
        super().__init__(text)
        self.refused = refused


@dataclass(frozen=True, slots=True)
class Notice:
    """What an owner is told."""

    id: str
    """The same whenever the notice is sent again: a receiver can drop what it has already."""
    kind: str
    """`alert`: the first about what is open; `reply`: something is new or worse; `resolve`: nothing is open any more;
    `digest`: the day over all targets of the owner."""
    owner: str
    """A name under `owners:` in tsaudit.yaml."""
    target: str
    """Empty for a digest."""
    day: date
    """The audited day, in UTC."""
    title: str
    """One line of plain text."""
    text: str
    """The whole notice as plain text, the title included."""
    severities: Mapping[str, str]
    """Fingerprint of each incident told of to its severity, `warn` or `critical`."""


@runtime_checkable
class Sink(Protocol):
    """Delivers notices. tsaudit queues them, sends each once and in order for each owner, and tries again."""

    def send(self, notice: Notice, timeout_s: float) -> None:
        """Return when the receiver has it. SinkError when it has not.

        It runs in a thread that is left behind after `timeout_s` seconds; the notice then counts as not delivered.
        """
        ...


MakeSink = Callable[[Mapping[str, str]], Sink]
"""What an entry point of `tsaudit.sinks` names: given what `sinks.<name>` in tsaudit.yaml holds, the sink."""
