"""Notifies owners of changes: who (routing), what (message), when (outbox), and how (sending)."""

from __future__ import annotations

from tsaudit.alerts.digest import queue_digest, queue_due_digest
from tsaudit.alerts.message import RunContext
from tsaudit.alerts.outbox import queue
from tsaudit.alerts.pace import Pace, at_most
from tsaudit.alerts.printed import mark_printed
from tsaudit.alerts.reactions import ReactionReport, read_reactions
from tsaudit.alerts.routing import owner_of
from tsaudit.alerts.send_report import SendReport
from tsaudit.alerts.sending import send
from tsaudit.alerts.shared_history import Share

__all__ = [
    "Pace",
    "ReactionReport",
    "RunContext",
    "SendReport",
    "Share",
    "at_most",
    "mark_printed",
    "owner_of",
    "queue",
    "queue_digest",
    "queue_due_digest",
    "read_reactions",
    "send",
]
