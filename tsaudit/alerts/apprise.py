"""Apprise as a notifier: e-mail, Teams, PagerDuty, and a hundred other services, each named by an address.

Apprise reports no reason to its caller, only to its log, which may quote the address. So the log is kept from being
printed, and its last warning is the reason, without any part of the address.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import unquote

from tsaudit import secrets
from tsaudit.alerts.notifier import Notice, Notifier, NotifyError, SetupError
from tsaudit.history.deliveries import DeliveryKind
from tsaudit.model.finding import Severity
from tsaudit.net import addresses
from tsaudit.text import printable

DEFAULT: Final = "default"
"""The key of the address that owners share who have no address of their own."""
_LIVE: Final = re.compile(r"@|<(?=[!#])|\](?=\()")
"""Parts of a database name that could notify people or become a link: `@all`, `<!channel>`, `[text](address)`. Some
services render Markdown in plain text, which Apprise then does not escape.
"""
_ZERO_WIDTH_SPACE: Final = "\u200b"
_LEAST_SECRET: Final = 3
"""Shortest part of an address, in characters, that is removed from error reasons."""
_HOST: Final = re.compile(r"(?<![^@])[A-Za-z0-9.-]+:[0-9]{2,5}(?=[/?]|$)")
"""A host with its port, at the beginning of an address or after its login."""
_lines_of_calls: Final[dict[int, list[str]]] = {}
"""Log lines of each call in progress, by the identity of the call's list."""


class Apprise(Notifier):
    """Sends the text of notices to one address for each owner."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        try:
            import apprise
        except ImportError as error:
            raise SetupError("it needs Apprise: pip install 'tsaudit[apprise]'") from error
        if DEFAULT not in settings:
            raise SetupError("there is no address for `default`, the owner of everything without another owner")
        self._apprise = apprise
        self._addresses = dict(settings)
        self._services: dict[str, Any] = {}
        for owner, address in settings.items():
            secrets.remember(*addresses.tokens_in(address))
            with _logged():
                service = apprise.Apprise.instantiate(address)
            if service is None:
                raise SetupError(f"the address for `{printable(owner, 60)}` is not an Apprise URL")
            if "overflow=" not in address:
                # Truncating a long message is better than splitting it: if one part failed, both would be sent again.
                service.overflow_mode = apprise.OverflowMode.TRUNCATE
            self._services[owner] = service

    def notify(self, notice: Notice, timeout_s: float) -> None:  # noqa: ARG002 -- Apprise has limits of its own
        """Send the notice to the owner's address."""
        owner = notice.owner if notice.owner in self._services else DEFAULT
        service = self._services[owner]
        sender = self._apprise.Apprise()
        sender.add(service)
        with _logged() as lines:
            is_sent = sender.notify(
                title=_quiet(notice.title),
                body=_quiet(notice.text.partition("\n")[2].strip("\n") or notice.title),
                notify_type=self._apprise.NotifyType(_type(notice)),
                # Apprise itself escapes the text where it sends HTML or Markdown.
                body_format=self._apprise.NotifyFormat.TEXT,
            )
        if not is_sent:
            reason = _without(self._addresses.values(), lines[-1]) if lines else "Apprise gives no reason"
            said = f"{service.service_name} did not accept the message to `{owner}`"
            raise NotifyError(f"{said}: {printable(reason, 300)}")


def _type(notice: Notice) -> str:
    if notice.kind == DeliveryKind.RESOLVE:
        return "success"
    if Severity.CRITICAL in notice.severities.values():
        return "failure"
    return "warning" if notice.severities else "info"


def _quiet(text: str) -> str:
    return _LIVE.sub(rf"\g<0>{_ZERO_WIDTH_SPACE}", text)


@contextmanager
def _logged() -> Iterator[list[str]]:
    """Collects what Apprise logs during the call at level warning or above, also from its own threads, and keeps it out
    of all other logs.
    """
    logging.getLogger("apprise").addFilter(_keep)
    lines: list[str] = []
    _lines_of_calls[id(lines)] = lines
    try:
        yield lines
    finally:
        del _lines_of_calls[id(lines)]


def _keep(record: logging.LogRecord) -> bool:
    """Logging filter shared by all calls: with one filter for each call, a hanging call would take the lines of later
    ones.
    """
    calls = list(_lines_of_calls.values())
    if record.levelno >= logging.WARNING:
        for lines in calls:
            lines.append(record.getMessage())
    return not calls


def _without(all_addresses: Iterable[str], line: str) -> str:
    """The log line without any part of the addresses except their schemes, and hosts with a port: without one, even the
    host may be a token.
    """
    parts: set[str] = set()
    for rest in (_HOST.sub("", address.partition("://")[2]) for address in all_addresses):
        whole = re.split(r"[/?#@:&=,]+", rest)
        parts |= {*whole, *map(unquote, whole), *re.split(r"[^\w.-]+", rest)}
    longest_first = sorted((part for part in parts if len(part) >= _LEAST_SECRET), key=len, reverse=True)
    return re.sub("|".join(map(re.escape, longest_first)) or "(?!)", secrets.MASK, line, flags=re.IGNORECASE)
