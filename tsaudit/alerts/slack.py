"""The two ways into Slack, a bot token and an incoming webhook, and what their errors mean.

slack_sdk's own retries are switched off: it would repeat a call that broke off without looking whether the message
had arrived, and so double it.
"""

from __future__ import annotations

import http.client
import logging
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.error import URLError

from tsaudit.alerts.blocks import Message

if TYPE_CHECKING:
    from slack_sdk.errors import SlackApiError

EVENT_TYPE: Final = "tsaudit_delivery"
"""Type of the metadata that carries a delivery's id in its message."""

_TIMEOUT_S: Final = 30
_PAGE: Final = 200
_MAX_PAGES: Final = 25
_CLOCK_SKEW: Final = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a message goes, or is. With a webhook both are empty."""

    channel: str
    ts: str | None = None
    """Of the message itself, or of the one whose thread it goes to."""


class SlackError(Exception):
    """A call failed. The text is one line for people."""


class RefusedError(SlackError):
    """Slack does not take this content."""


class GoneError(SlackError):
    """The message to edit or to reply to is not there any more, or may not be changed."""


class BusyError(SlackError):
    """Too many calls; nothing was stored."""

    def __init__(self, wait_s: float) -> None:
        super().__init__(f"Slack asks to wait {wait_s:.0f} s (rate limit)")
        self.wait_s = wait_s


class BrokenOffError(SlackError):
    """The call broke off."""

    def __init__(self, line: str, *, stored: bool, unreachable: bool = False) -> None:
        super().__init__(line)
        self.stored = stored
        """Whether the message may have arrived all the same."""
        self.unreachable = unreachable
        """No connection at all: the next message will fare no better."""


class SetupError(SlackError):
    """Nothing will arrive until somebody changes a setting, here or in Slack."""

    def __init__(self, line: str, *, everywhere: bool) -> None:
        super().__init__(line)
        self.everywhere = everywhere
        """Or only in this channel."""


class LookUpError(SlackError):
    """Whether a message has arrived cannot be found out with this token or webhook."""


class Way(Protocol):
    """A way into Slack. All methods raise SlackError."""

    edits: bool
    """Whether messages can be edited and replied to."""

    def post(self, identity: str, place: Place, message: Message, as_text: bool, /) -> Place:
        """Post the message, in the thread when `place` names one; where it is now."""
        ...

    def edit(self, identity: str, place: Place, message: Message, as_text: bool, /) -> None:
        """Replace the message at `place`, whose delivery is `identity`."""
        ...

    def look_up(self, identity: str, place: Place, since: datetime, /) -> Place | None:
        """Where the message with that id is, if it has arrived after `since`."""
        ...


_TRANSIENT: Final = frozenset({"internal_error", "fatal_error", "service_unavailable", "request_timeout"})
_RATE_LIMITED: Final = frozenset({"ratelimited", "rate_limited"})
_GONE: Final = frozenset(
    {"message_not_found", "thread_not_found", "cannot_reply_to_message", "cant_update_message", "edit_window_closed"}
)
_ACCOUNT: Final = {
    "invalid_auth": "Slack does not accept the token; check `slack.token`",
    "not_authed": "Slack got no token; check `slack.token`",
    "account_inactive": "the app was removed from the workspace; install it again and renew `slack.token`",
    "token_revoked": "the token was revoked; install the app again and renew `slack.token`",
    "token_expired": "the token has expired; renew `slack.token`",
    "not_allowed_token_type": "`slack.token` has to be a bot token (xoxb-...)",
    "missing_scope": "the app lacks the scope `chat:write`; add it and install the app again",
    "no_permission": "the app may not post; ask an administrator of the workspace",
    "access_denied": "the app may not post; ask an administrator of the workspace",
    "team_access_not_granted": "the app has no access to this workspace; ask an administrator",
    "ekm_access_denied": "an administrator has suspended posting",
}
_CHANNEL: Final = {
    "channel_not_found": "Slack knows no such channel; check the owner's `channel`, invite the app if it is private",
    "not_in_channel": "the app is not in the channel; type /invite @tsaudit there",
    "is_archived": "the channel is archived; give the owner another `channel`",
    "restricted_action": "the channel takes no messages from the app; ask its manager",
    "restricted_action_read_only_channel": "the channel is read-only for the app; ask its manager",
}
_WEBHOOK: Final = {
    "invalid_token": "Slack does not accept the webhook; renew `slack.webhook`",
    "no_service": "the webhook was removed or disabled; renew `slack.webhook`",
    "no_active_hooks": "the webhook was disabled; renew `slack.webhook`",
    "no_team": "the webhook's workspace is gone; renew `slack.webhook`",
    "team_disabled": "the workspace is disabled",
    "action_prohibited": "an administrator has restricted the webhook",
    "posting_to_general_channel_denied": "the webhook may not post to the general channel",
    "channel_not_found": "the webhook's channel is gone; renew `slack.webhook`",
    "channel_is_archived": "the webhook's channel is archived; renew `slack.webhook`",
    "user_not_found": "the webhook's receiver is gone; renew `slack.webhook`",
}


class BotToken:
    """Slack's web API with a bot token: posts, edits, replies, and finds what it posted."""

    edits = True

    def __init__(self, token: str, base_url: str, channel_ids: Callable[[str], str | None]) -> None:
        from slack_sdk import WebClient

        self._client = WebClient(
            token=token, base_url=base_url, timeout=_TIMEOUT_S, retry_handlers=[], logger=quiet_logger()
        )
        self._channel_ids = channel_ids
        """Channel ids learnt earlier, by name: Slack posts to a name, but reads only by id."""

    def post(self, identity: str, place: Place, message: Message, as_text: bool, /) -> Place:
        answer = self._call(
            self._client.chat_postMessage,
            channel=place.channel,
            thread_ts=place.ts,
            metadata=_metadata(identity),
            unfurl_links=False,
            unfurl_media=False,
            **_content(message, as_text),
        )
        return Place(answer["channel"], answer["ts"])

    def edit(self, identity: str, place: Place, message: Message, as_text: bool, /) -> None:
        self._call(
            self._client.chat_update,
            channel=place.channel,
            ts=place.ts,
            metadata=_metadata(identity),
            **_content(message, as_text),
        )

    def look_up(self, identity: str, place: Place, since: datetime, /) -> Place | None:
        channel = self._channel_id(place.channel)
        oldest = f"{(since.replace(tzinfo=UTC) - _CLOCK_SKEW).timestamp():.6f}"
        asked = {"channel": channel, "oldest": oldest, "include_all_metadata": True}
        if place.ts is None:
            found = self._pages(self._client.conversations_history, "messages", asked)
        else:
            found = self._pages(self._client.conversations_replies, "messages", asked | {"ts": place.ts})
        for message in found:
            metadata = message.get("metadata") or {}
            if metadata.get("event_type") == EVENT_TYPE and metadata["event_payload"].get("id") == identity:
                return Place(channel, message["ts"])
        return None

    def _channel_id(self, channel: str) -> str:
        if not channel.startswith("#"):
            return channel
        known = self._channel_ids(channel)
        if known is not None:
            return known
        for types in ("public_channel", "private_channel"):
            asked = {"exclude_archived": True, "types": types}
            for found in self._pages(self._client.conversations_list, "channels", asked):
                if found["name"] == channel.removeprefix("#"):
                    return str(found["id"])
        raise LookUpError(f"the id of {channel} is not known; give the id as the owner's `channel`")

    def _pages(self, method: Callable[..., Any], key: str, asked: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        cursor = None
        for _ in range(_MAX_PAGES):
            try:
                answer = self._call(method, **asked, limit=_PAGE, cursor=cursor)
            except (SetupError, RefusedError) as error:
                raise LookUpError(
                    "the token may not read the channel back (scopes channels:history, groups:history, channels:read, "
                    f"groups:read): {error}"
                ) from error
            yield from answer[key]
            cursor = (answer.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                return
        raise LookUpError(f"more than {_MAX_PAGES * _PAGE} messages to look through")

    def _call(self, method: Callable[..., Any], **arguments: Any) -> Any:
        from slack_sdk.errors import SlackApiError

        try:
            return method(**arguments)
        except SlackApiError as error:
            raise _api_error(error, str(arguments.get("channel", ""))) from None
        except (OSError, http.client.HTTPException) as error:
            raise _broken_off(error) from None


class Webhook:
    """An incoming webhook: posts to its one channel, and nothing else."""

    edits = False

    def __init__(self, url: str) -> None:
        from slack_sdk.webhook import WebhookClient

        self._client = WebhookClient(url, timeout=_TIMEOUT_S, retry_handlers=[], logger=quiet_logger())

    def post(self, _identity: str, _place: Place, message: Message, as_text: bool, /) -> Place:
        try:
            answer = self._client.send(unfurl_links=False, unfurl_media=False, **_content(message, as_text))
        except (OSError, http.client.HTTPException) as error:
            raise _broken_off(error) from None
        if answer.status_code == 200:
            return Place("")
        code = answer.body.strip()[:100]
        if answer.status_code == 429:
            raise BusyError(_retry_after(answer.headers))
        if answer.status_code >= 500:
            raise BrokenOffError(f"Slack answered {answer.status_code}", stored=True)
        if code in _WEBHOOK:
            raise SetupError(f"{_WEBHOOK[code]} ({code})", everywhere=True)
        raise RefusedError(f"Slack refused the message ({answer.status_code} {code})")

    def edit(self, _identity: str, _place: Place, _message: Message, _as_text: bool, /) -> None:
        raise GoneError("a webhook cannot edit")

    def look_up(self, _identity: str, _place: Place, _since: datetime, /) -> Place | None:
        raise LookUpError("a webhook cannot read messages back")


def _content(message: Message, as_text: bool) -> dict[str, Any]:
    return {"text": message.text} if as_text else {"text": message.text, "blocks": list(message.blocks)}


def _metadata(identity: str) -> dict[str, Any]:
    return {"event_type": EVENT_TYPE, "event_payload": {"id": identity}}


def _api_error(error: SlackApiError, channel: str) -> SlackError:
    """What an answer other than `ok` means. Codes Slack may add later count as a refusal of the content."""
    answer = error.response
    code = str(answer.get("error", ""))
    if answer.status_code == 429 or code in _RATE_LIMITED:
        return BusyError(_retry_after(answer.headers))
    if answer.status_code >= 500 or code in _TRANSIENT or not code.replace("_", "").isalnum():
        # What is no code is a page of some proxy or load balancer in between.
        shown = f" ({code})" if code in _TRANSIENT else ""
        return BrokenOffError(f"Slack answered {answer.status_code}{shown}", stored=True)
    if code in _GONE:
        return GoneError(f"the message is gone or closed for changes ({code})")
    if code in _ACCOUNT:
        needed = f", needed: {answer.get('needed')}" if answer.get("needed") else ""
        return SetupError(f"{_ACCOUNT[code]} ({code}{needed})", everywhere=True)
    if code in _CHANNEL:
        return SetupError(f"{channel}: {_CHANNEL[code]} ({code})", everywhere=False)
    return RefusedError(f"Slack refused the message ({code})")


def _broken_off(error: Exception) -> BrokenOffError:
    """No answer. Only when no connection came about is it certain that nothing arrived."""
    cause = error.reason if isinstance(error, URLError) and isinstance(error.reason, Exception) else error
    unreachable = isinstance(cause, ConnectionRefusedError | socket.gaierror)
    words = str(cause).split("\n", 1)[0] or type(cause).__name__
    return BrokenOffError(f"no answer from Slack: {words}", stored=not unreachable, unreachable=unreachable)


def _retry_after(headers: Mapping[str, str]) -> float:
    found = {name.lower(): value for name, value in headers.items()}
    try:
        return max(0.0, float(found["retry-after"]))
    except (KeyError, ValueError):
        return 1.0


def quiet_logger() -> logging.Logger:
    """slack_sdk logs addresses, webhooks among them, at DEBUG, and each failure as an error; ours are reported."""
    logger = logging.getLogger("tsaudit.slack")
    logger.setLevel(logging.CRITICAL)
    return logger
