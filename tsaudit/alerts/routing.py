"""Who is notified, where, and through what: the owner of a finding, the owner's channel, and the configured notifiers,
which are Slack and those under `notifiers:`, part of tsaudit or of another package.

Also which messages a process sends if it shares its history with others that have another configuration, and test
messages. Those go to every owner outside of the queue: only a real message shows whether messages arrive.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeVar
from uuid import uuid4

from pydantic import SecretStr

from tsaudit import plugins, secrets
from tsaudit.alerts.blocks import Message, inert
from tsaudit.alerts.notifier import (
    CallFailedError,
    MessagePlace,
    Notice,
    NoticeRefusedError,
    Notifier,
    NotifyError,
    ReportedIncident,
    SetupError,
)
from tsaudit.config.settings import Owner, Route, Settings, Target
from tsaudit.config.types import USE
from tsaudit.history import deliveries
from tsaudit.history.deliveries import SLACK, Delivery
from tsaudit.model.finding import Finding, RuleResult, Severity
from tsaudit.model.profile import utc_now
from tsaudit.net import addresses
from tsaudit.net.watchdog import OutOfTimeError, within
from tsaudit.text import listed

if TYPE_CHECKING:
    from tsaudit.alerts.slack import BotToken, Webhook
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


def _matches(route: Route, target: str, measurement: str, result: RuleResult) -> bool:
    def any_of(patterns: tuple[str, ...], *names: str) -> bool:
        return any(fnmatch.fnmatchcase(name, pattern) for name in names for pattern in patterns)

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


T = TypeVar("T")

_LONGEST_S: Final = 10.0
"""Time limit of one call of a notifier under `notifiers:`, in seconds; the other notifiers wait for it."""


def notifier(name: str, store: Store, settings: Settings) -> Notifier | None:
    """The notifier with that name; None for Slack without a token or webhook.

    Raises SetupError, one line, if no package provides a usable one.
    """
    return slack(store, settings) if name == SLACK else plug_in(name, settings.notifiers[name])


def slack(store: Store, settings: Settings) -> BotToken | Webhook | None:
    """Slack with the bot token or the webhook; None if neither is set."""
    configured = settings.slack
    if configured.token is None and configured.webhook is None:
        return None
    # slack_sdk takes a while to load.
    from tsaudit.alerts.slack import BotToken, Webhook

    if configured.token is not None:
        ids = deliveries.known_channel_id
        token = configured.token.get_secret_value()
        secrets.remember(token)
        return BotToken(token, configured.base_url, lambda name: ids(store.engine, name))
    if configured.webhook is not None:
        secrets.remember(addresses.secret_path(configured.webhook.get_secret_value()))
        return Webhook(configured.webhook.get_secret_value())
    return None


def plug_in(name: str, settings: Mapping[str, SecretStr]) -> Notifier:
    """The notifier configured under `notifiers:` with that name. `use:` selects the implementation; without it, the
    name does.

    Raises SetupError, one line, if it cannot be used.
    """
    values = {key: value.get_secret_value() for key, value in settings.items()}
    kind = values.pop(USE, name)
    loaded, problems = plugins.load(plugins.NOTIFIERS)
    for problem in problems:
        if problem.name == kind:
            raise SetupError(str(problem))
    one = next((found for found in loaded if found.name == kind), None)
    if one is None:
        raise SetupError(f"no installed package provides the notifier `{kind}`")
    try:
        if not callable(one.value):
            raise TypeError(f"expected a class or function, got {type(one.value).__name__}")
        made = one.value(values)
        if not isinstance(made, Notifier):
            raise TypeError(f"{type(made).__name__} is not a Notifier")
    except (Exception, SystemExit) as error:
        said = str(error) if isinstance(error, NotifyError) else plugins.why(error)
        line = f"the notifier `{name}` of {one.package} cannot be set up: {said}; check `notifiers.{name}`"
        raise SetupError(line) from error
    return _Bounded(name, made)


class _Bounded(Notifier):
    """Wraps a notifier under `notifiers:`: its calls are limited in time, and its errors become NotifyErrors that name
    it.
    """

    def __init__(self, name: str, inner: Notifier) -> None:
        self._name = name
        self._inner = inner
        self.edits = inner.edits
        self.shows_blocks = inner.shows_blocks

    def notify(self, notice: Notice, timeout_s: float) -> MessagePlace | None:
        found = self._called(timeout_s, lambda limit: self._inner.notify(notice, limit))
        # The notice counts as delivered, whatever an untyped plug-in returns.
        return found if isinstance(found, MessagePlace) else None

    def edit(self, notice: Notice, timeout_s: float) -> None:
        self._called(timeout_s, lambda limit: self._inner.edit(notice, limit))

    def find(self, notice: Notice, timeout_s: float) -> MessagePlace | None:
        return self._called(timeout_s, lambda limit: self._inner.find(notice, limit))

    def _called(self, timeout_s: float, call: Callable[[float], T]) -> T:
        limit = min(_LONGEST_S, timeout_s)
        try:
            return within(limit, lambda: call(limit))
        except OutOfTimeError as error:
            line = f"the notifier `{self._name}` did not respond within {limit:g} s"
            raise CallFailedError(line, stored=True, late=True) from error
        except NoticeRefusedError as error:
            raise NoticeRefusedError(f"{self._name}: {error}") from error
        except NotifyError as error:
            if type(error) is not NotifyError:
                raise
            raise CallFailedError(f"{self._name}: {error}", stored=False, everywhere=error.everywhere) from error
        except (Exception, SystemExit) as error:
            raise SetupError(f"the notifier `{self._name}` failed: {plugins.why(error)}") from error


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
                chosen = notifier(name, store, settings)
                if chosen is not None:
                    chosen.notify(_test_notice(owners, channel), _CALL_S)
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


def _test_notice(owners: tuple[str, ...], channel: str) -> Notice:
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
        message=Message(inert(f"{_TITLE}. {text}", _LONGEST), ()),
    )
