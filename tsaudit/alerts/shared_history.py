"""Which queued messages a process sends if others, with another configuration, share its history."""

from __future__ import annotations

from datetime import UTC, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Final

from tsaudit.alerts.routing import channel_of
from tsaudit.config.settings import Settings
from tsaudit.history import deliveries
from tsaudit.history.deliveries import SLACK, Delivery
from tsaudit.model.profile import utc_now

if TYPE_CHECKING:
    from tsaudit.history.store import Store

ABANDONED: Final = timedelta(days=1)
"""A message that waits for longer, about a target that is not configured here, is probably not configured anywhere."""


class Share:
    """The messages that this configuration has to send.

    Others are left to the configuration that queued them: it knows their channels, and may be the only one with Slack.
    """

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store, self._settings = store, settings
        self._names = {target.name for target in settings.targets}
        slack = settings.slack
        self._ways = {*settings.sinks, *([SLACK] if slack.token or slack.webhook else [])}

    def has(self, delivery: Delivery) -> bool:
        """Whether the message is about targets that are configured here, or has been left by everybody else."""
        age = utc_now() - delivery.queued_at.replace(tzinfo=UTC)
        return self._is_own(delivery) or (age > ABANDONED and delivery.sink in self._ways)

    def overdue(self, age: timedelta) -> Delivery | None:
        """Of these messages, the one that has been waiting for the longest time, and for more than `age`."""
        before = (utc_now() - age).replace(tzinfo=None)
        return next(filter(self.has, deliveries.waiting_since(self._store.engine, before)), None)

    def _is_own(self, delivery: Delivery) -> bool:
        owner, target = deliveries.split_thread(delivery.thread)
        if target:
            return target in self._names
        # A digest is about all targets of an owner; only its channel shows who queued it.
        is_here = delivery.channel == channel_of(self._settings, owner) if delivery.sink == SLACK else True
        return self._is_alone or (is_here and delivery.sink in self._ways)

    @cached_property
    def _is_alone(self) -> bool:
        """Whether only targets that are configured here have been audited with this history."""
        return self._names.issuperset(self._store.targets())
