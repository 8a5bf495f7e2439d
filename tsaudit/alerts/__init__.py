"""Notifies owners of changes: who (routing), what (message), when (outbox), and how (notifier, sending)."""

from __future__ import annotations

from tsaudit.alerts.message import RunContext
from tsaudit.alerts.outbox import queue, queue_digest, queue_due_digest, record_printed
from tsaudit.alerts.reactions import ReactionReport, read_reactions
from tsaudit.alerts.routing import Share, owner_of
from tsaudit.alerts.sending import SendingPace, SendReport, send

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
