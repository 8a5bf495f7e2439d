"""The configured notifiers: Slack, and those under `notifiers:`, which may be part of tsaudit or of another package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeVar

from pydantic import SecretStr

from tsaudit import plugins, secrets
from tsaudit.alerts.errors import CallFailedError, NoticeRefusedError, NotifyError, SetupError
from tsaudit.alerts.notifier import MessagePlace, Notice, Notifier
from tsaudit.alerts.slack import BotToken, Webhook
from tsaudit.config.settings import Settings
from tsaudit.config.types import USE
from tsaudit.history import deliveries
from tsaudit.history.deliveries import SLACK
from tsaudit.net import addresses
from tsaudit.net.watchdog import OutOfTimeError, within

if TYPE_CHECKING:
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
