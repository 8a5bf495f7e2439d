"""Sends a test message to every owner, outside of the queue: only a real message shows whether messages arrive."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from tsaudit.alerts import escape, notifiers
from tsaudit.alerts.blocks import Message
from tsaudit.alerts.errors import NotifyError
from tsaudit.alerts.notifier import MessagePlace, Notice
from tsaudit.alerts.reported_incident import ReportedIncident
from tsaudit.alerts.routing import channel_of, no_channel, notifiers_of
from tsaudit.config.settings import Settings
from tsaudit.history.deliveries import SLACK
from tsaudit.model.finding import Severity
from tsaudit.model.profile import utc_now
from tsaudit.text import listed

if TYPE_CHECKING:
    from tsaudit.history.store import Store

_CALL_S: Final = 10.0
"""Time limit of a call, in seconds."""
_TITLE: Final = "Test message from tsaudit"
_LONGEST: Final = 1_000


@dataclass(frozen=True, slots=True)
class Trial:
    """The outcome of a test message."""

    notifier: str
    owners: tuple[str, ...]
    """The owners it was sent to: several if they share a channel."""
    channel: str
    """Empty for a notifier without channels."""
    problem: str | None
    """Why the message was not accepted, in one line; None if it was."""


def send_test_messages(store: Store, settings: Settings) -> Iterator[Trial]:
    """Send one to each owner through each notifier, and to a Slack channel only once. Nothing is queued or stored."""
    for name in notifiers_of(settings):
        if name == SLACK and not settings.notifies:
            continue
        for channel, owners in _places(name, settings):
            problem = None
            try:
                if name == SLACK and settings.slack.token and not channel:
                    raise NotifyError(no_channel(owners[0]))
                notifier = notifiers.notifier(name, store, settings)
                if notifier is not None:
                    notifier.notify(_notice(owners, channel), _CALL_S)
            except NotifyError as error:
                problem = str(error)
            yield Trial(name, owners, channel, problem)


def _places(name: str, settings: Settings) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each channel with the owners who are notified there. Only Slack has channels, and a webhook has one for all
    owners.
    """
    if name != SLACK:
        yield from (("", (owner,)) for owner in settings.owners)
        return
    places: dict[str, list[str]] = {}
    for owner in settings.owners:
        places.setdefault(channel_of(settings, owner), []).append(owner)
    yield from ((channel, tuple(owners)) for channel, owners in places.items())


def _notice(owners: tuple[str, ...], channel: str) -> Notice:
    """The test notice. Its only incident has already ended, so that it notifies nobody in Alertmanager and the like."""
    now = utc_now()
    text = f"Findings for {listed(owners)} arrive here. Nothing is wrong, and there is nothing to do."
    ended = ReportedIncident(
        fingerprint="0" * 16,
        code="TEST",
        rule="test-message",
        subject="",
        severity=str(Severity.WARNING),
        is_open=False,
        opened=now.date(),
        headline=_TITLE,
        figures="",
        link="",
    )
    return Notice(
        id=uuid4().hex,
        kind="test",
        owner=owners[0],
        target="",
        day=now.date(),
        title=_TITLE,
        text=f"{_TITLE}\n{text}",
        severities={},
        incidents=(ended,),
        queued_at=now,
        place=MessagePlace(channel),
        message=Message(escape.inert(f"{_TITLE}. {text}", _LONGEST), ()),
    )
