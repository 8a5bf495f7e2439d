"""Messages that nobody has to read any more, because the command has already printed what they say."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Final

from tsaudit.config.settings import Settings
from tsaudit.history import deliveries
from tsaudit.history.deliveries import SLACK, State

if TYPE_CHECKING:
    from tsaudit.history.store import Store

_WAIT_S: Final = 5.0


def mark_printed(store: Store, settings: Settings, shown: Mapping[str, date]) -> int:
    """Without Slack: settle the queued messages about these targets and days, as if they had been printed.

    `shown`: target to its audited day. With Slack, or while somebody else sends, nothing changes. Returns how many.
    """
    if settings.slack.token or settings.slack.webhook:
        return 0
    count = 0
    with deliveries.sole_sender(store.engine, _WAIT_S) as alone:
        position = 0
        while alone and (batch := deliveries.waiting(store.engine, after=position, sink=SLACK)):
            position = batch[-1].position
            for delivery in batch:
                target = deliveries.split_thread(delivery.thread)[1]
                if shown.get(target) == delivery.day:
                    deliveries.settle(store.engine, delivery, State.NOT_SENT)
                    count += 1
    return count
