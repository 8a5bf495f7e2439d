"""Notifies owners of changes: who (owners), what (message), when (outbox, thread), how (notifier, routing, sending).

Most audits have nothing to send, and no reactions to read: what does that is loaded only then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tsaudit.alerts.calls import ReactionReport, RunContext, SendingPace, SendReport
from tsaudit.alerts.outbox import queue, queue_digest, queue_due_digest, record_printed
from tsaudit.alerts.owners import Share, owner_of
from tsaudit.history import deliveries

if TYPE_CHECKING:
    from tsaudit.config.settings import Settings
    from tsaudit.history.store import Store

__all__ = [
    "ReactionReport",
    "RunContext",
    "SendReport",
    "SendingPace",
    "Share",
    "owner_of",
    "queue",
    "queue_digest",
    "queue_due_digest",
    "read_reactions",
    "record_printed",
    "send",
]


def read_reactions(store: Store, settings: Settings, pace: SendingPace | None = None) -> ReactionReport:
    """Read the reactions on all messages with open incidents, store the decisions, and queue replies that confirm them.

    Takes at most half a minute, and reads at most `slack.reactions.most_asked` messages, chosen at random if there are
    more. Does nothing without a bot token. Problems with Slack raise nothing; they are in the report.
    """
    wanted = settings.slack.reactions
    if settings.slack.token is None or not wanted.read or not wanted.kinds:
        return ReactionReport()
    from tsaudit.alerts import reactions

    return reactions.read(store, settings, pace or SendingPace())


def send(store: Store, settings: Settings, out: Callable[[str], None], pace: SendingPace | None = None) -> SendReport:
    """Send everything that is queued, oldest first, and check messages that an earlier sender left in doubt.

    Messages that another configuration queued in the same history are left to that one (`Share`). Sending takes at most
    `slack.deadline_s`, plus the end of a call in progress. Without a token or webhook, the messages go to `out` as text
    and are stored as `not_sent`. Problems with Slack or the network raise nothing; they are in the report.
    """
    if not deliveries.waiting_ids(store.engine):
        return SendReport()
    from tsaudit.alerts import sending

    return sending.send(store, settings, out, pace or SendingPace())
