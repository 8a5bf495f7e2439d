"""Through what owners are notified: the configured notifiers, which are Slack and those under `notifiers:`, part of
tsaudit or of another package.

Also test messages. Those go to every owner outside of the queue: only a real message shows whether messages arrive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
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
from tsaudit.alerts.owners import channel_of, no_channel, notifiers_of
from tsaudit.config.settings import Settings
from tsaudit.config.types import SEVERITY, USE
from tsaudit.history import deliveries
from tsaudit.history.deliveries import SLACK
from tsaudit.model.figures import utc_now
from tsaudit.model.finding import Severity
from tsaudit.net import addresses
from tsaudit.net.watchdog import OutOfTimeError, within
from tsaudit.text import listed

if TYPE_CHECKING:
    from tsaudit.alerts.slack import BotToken, Webhook
    from tsaudit.history.store import Store

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
    values.pop(SEVERITY, None)
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
