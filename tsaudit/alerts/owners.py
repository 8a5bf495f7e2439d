"""Who is notified, and where: the owner of a finding, the owner's channel, and the names of the configured notifiers.

Also which messages a process sends if it shares its history with others that have another configuration.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from datetime import UTC, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Final

from tsaudit.config.settings import Owner, Route, Settings, Target
from tsaudit.config.types import SEVERITY
from tsaudit.history import deliveries
from tsaudit.history.deliveries import SLACK, Delivery
from tsaudit.model.figures import fits, utc_now
from tsaudit.model.finding import Finding, RuleResult, Severity

if TYPE_CHECKING:
    from tsaudit.history.store import Store

DEFAULT_OWNER: Final = "default"
ABANDONED: Final = timedelta(days=1)
"""A message about a target that is not configured here and that has waited longer than this is probably not configured
anywhere.
"""


def owner_of(settings: Settings, target: Target) -> Callable[[Finding, RuleResult], str]:
    """The name of the owner of a finding on the target, as set by the first of these:

    the target's measurement patterns, the routes, the target, `default`. Patterns are tried in the order of the file
    and are case-sensitive; a finding about a whole target or database has an empty measurement name.
    """

    def owner(finding: Finding, result: RuleResult) -> str:
        measurement = finding.subject.measurement
        if measurement:
            for pattern, override in target.measurements.items():
                if override.owner and fnmatch.fnmatchcase(measurement, pattern):
                    return override.owner
        for route in settings.routes:
            if _matches(route, target.name, measurement, result):
                return route.owner
        return target.owner or DEFAULT_OWNER

    return owner


def settings_of(settings: Settings, name: str) -> Owner:
    """The owner's settings; those of `default` if the name is no longer configured."""
    return settings.owners.get(name) or settings.owners[DEFAULT_OWNER]


def channel_of(settings: Settings, name: str) -> str:
    """The owner's Slack channel; empty with a webhook, without Slack, or if none is configured."""
    if settings.slack.token is None:
        return ""
    return settings_of(settings, name).channel or settings.owners[DEFAULT_OWNER].channel or ""


def no_channel(owner: str) -> str:
    """The problem that the owner has no channel in Slack."""
    return f"owner `{owner}` has no channel; set `owners.{owner}.channel` (or that of `default`)"


def notifiers_of(settings: Settings) -> tuple[str, ...]:
    """Names of the notifiers. Slack is one of them unless only others are configured; without a token or webhook, its
    messages are printed.
    """
    others = tuple(sorted(settings.notifiers))
    return (SLACK, *others) if settings.slack.token or settings.slack.webhook or not others else others


def is_sent(settings: Settings, notifier: str, severity: Severity) -> bool:
    """Whether the notifier is notified about incidents of this severity."""
    if notifier == SLACK:
        return severity.rank >= Severity(settings.slack.severity).rank
    least = settings.notifiers[notifier].get(SEVERITY)
    return least is None or severity.rank >= Severity(least.get_secret_value()).rank


def _matches(route: Route, target: str, measurement: str, result: RuleResult) -> bool:
    def any_of(patterns: tuple[str, ...], *names: str) -> bool:
        return any(fits(name, patterns) for name in names)

    return (
        any_of(route.targets, target)
        and any_of(route.measurements, measurement)
        and any_of(route.rules, result.code, result.name)
    )


class Share:
    """Decides which of the queued messages this configuration has to send.

    Other messages are left to the configuration that queued them: it knows their channels, and may be the only one with
    Slack.
    """

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store, self._settings = store, settings
        self._names = {target.name for target in settings.targets}
        slack = settings.slack
        self._notifiers = {*settings.notifiers, *([SLACK] if slack.token or slack.webhook else [])}

    def has(self, delivery: Delivery) -> bool:
        """Whether the message is about targets that are configured here, or was abandoned by every
        other configuration.
        """
        age = utc_now() - delivery.queued_at.replace(tzinfo=UTC)
        return self._is_own(delivery) or (age > ABANDONED and delivery.notifier in self._notifiers)

    def overdue(self, age: timedelta) -> Delivery | None:
        """Of these messages, the one that has waited longest, if it has waited for more than `age`; None if there is
        none.
        """
        before = (utc_now() - age).replace(tzinfo=None)
        return next(filter(self.has, deliveries.waiting_since(self._store.engine, before)), None)

    def _is_own(self, delivery: Delivery) -> bool:
        owner, target = deliveries.split_thread(delivery.thread)
        if target:
            return target in self._names
        # A digest covers all targets of an owner; only its channel shows who queued it.
        is_here = delivery.channel == channel_of(self._settings, owner) if delivery.notifier == SLACK else True
        return self._is_alone or (is_here and delivery.notifier in self._notifiers)

    @cached_property
    def _is_alone(self) -> bool:
        """Whether only targets that are configured here have been audited with this history."""
        return self._names.issuperset(self._store.targets())
