"""Slack as a notifier, with a bot token or with an incoming webhook.

A response that Slack never sends is a failed call: nothing counts as sent unless the response says where it is.
slack_sdk builds the calls; `http_post` sends each of them once. slack_sdk would repeat a broken call without checking
whether the message had arrived, and so duplicate it.
"""

from __future__ import annotations

import json as jsonlib
import logging
import math
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, timedelta
from typing import Any, Final
from urllib.parse import urlencode, urljoin, urlsplit

from slack_sdk import WebClient
from slack_sdk.web import SlackResponse
from slack_sdk.webhook import WebhookClient, WebhookResponse

from tsaudit.alerts.blocks import Message
from tsaudit.alerts.http_post import HttpAnswer, NoAnswerError, post
from tsaudit.alerts.notifier import (
    BusyError,
    CallFailedError,
    LookUpError,
    MessageGoneError,
    MessagePlace,
    Notice,
    NoticeRefusedError,
    Notifier,
    NotifyError,
    SetupError,
)
from tsaudit.net.watchdog import Deadline
from tsaudit.text import printable

EVENT_TYPE: Final = "tsaudit_delivery"
"""Type of the metadata that contains a delivery's ID in its message."""

READS_REACTIONS: Final = "reactions:read"
"""The scope that reading reactions needs."""

_PAGE: Final = 200
_MAX_PAGES: Final = 25
_CLOCK_SKEW: Final = timedelta(minutes=10)
_PERSON: Final = re.compile(r"[A-Z][A-Z0-9]{1,30}")
_TS: Final = re.compile(r"[0-9]{1,20}\.[0-9]{1,10}")


class BotToken(Notifier):
    """Slack's web API with a bot token: posts, edits, replies, and finds what it posted."""

    edits = True
    shows_blocks = True

    def __init__(self, token: str, base_url: str, channel_ids: Callable[[str], str | None]) -> None:
        self._client = SlackClient(token, base_url)
        self._channel_ids = channel_ids
        """Slack's channel ID for a name, if it was found earlier: Slack posts to a name, but reads only by ID."""

    def who(self, timeout_s: float) -> str:
        """The user and team of the token: `user in team`. Raises NotifyError."""
        self._client.deadline = Deadline(timeout_s)
        found = self._client.auth_test()
        return f"{_text(found, 'user')} in {_text(found, 'team')}"

    def reads_reactions(self) -> bool:
        """Whether the app has the scope to read reactions, according to the newest response; False without one."""
        return READS_REACTIONS in (self._client.scopes or ())

    def notify(self, notice: Notice, timeout_s: float) -> MessagePlace:
        self._client.deadline = Deadline(timeout_s)
        found = self._client.chat_postMessage(
            channel=notice.place.channel,
            thread_ts=notice.place.message_id,
            metadata=_metadata(notice.id),
            unfurl_links=False,
            unfurl_media=False,
            **_content(notice.message),
        )
        return MessagePlace(_text(found, "channel"), _time(found))

    def edit(self, notice: Notice, timeout_s: float) -> None:
        self._client.deadline = Deadline(timeout_s)
        ts = notice.place.message_id
        assert ts is not None
        found = self._client.chat_update(
            channel=notice.place.channel, ts=ts, metadata=_metadata(notice.id), **_content(notice.message)
        )
        if _time(found) != ts:
            raise odd(found.status_code, "about another message")

    def find(self, notice: Notice, timeout_s: float) -> MessagePlace | None:
        self._client.deadline = Deadline(timeout_s)
        channel = self._channel_id(notice.place.channel)
        oldest = f"{(notice.queued_at.astimezone(UTC) - _CLOCK_SKEW).timestamp():.6f}"
        asked = {"channel": channel, "oldest": oldest, "include_all_metadata": True}
        if notice.place.message_id is None:
            found = self._pages(self._client.conversations_history, "messages", asked)
        else:
            found = self._pages(self._client.conversations_replies, "messages", asked | {"ts": notice.place.message_id})
        for message in found:
            if _delivery_in(message) == notice.id:
                return MessagePlace(channel, str(message["ts"]))
        return None

    def reactions(self, place: MessagePlace, timeout_s: float) -> dict[str, tuple[str, ...]]:
        """Name of each reaction on the message to the IDs of the people who left it. Raises NotifyError."""
        self._client.deadline = Deadline(timeout_s)
        found = self._client.reactions_get(channel=place.channel, timestamp=place.message_id, full=True)
        message = found.get("message")
        # Slack leaves the key out if the message has no reactions.
        given = message.get("reactions", []) if isinstance(message, dict) else None
        if not isinstance(given, list) or not all(map(_is_reaction, given)):
            raise odd(found.status_code, "with reactions in an unexpected format")
        people: dict[str, tuple[str, ...]] = {}
        for one in given:
            # `thumbsup::skin-tone-2` is the same reaction.
            name = one["name"].partition("::")[0]
            people[name] = tuple(dict.fromkeys((*people.get(name, ()), *one["users"])))
        return people

    def _channel_id(self, channel: str) -> str:
        if not channel.startswith("#"):
            return channel
        known = self._channel_ids(channel)
        if known is not None:
            return known
        for types in ("public_channel", "private_channel"):
            asked = {"exclude_archived": True, "types": types}
            for found in self._pages(self._client.conversations_list, "channels", asked):
                if found.get("name") == channel.removeprefix("#") and isinstance(found.get("id"), str):
                    return str(found["id"])
        raise LookUpError(f"the ID of {channel} is not known; set the ID as the owner's `channel`")

    def _pages(
        self, method: Callable[..., SlackResponse], key: str, asked: Mapping[str, Any]
    ) -> Iterator[dict[str, Any]]:
        """Every entry of all pages. Raises CallFailedError for an invalid page, which proves nothing about what
        arrived.
        """
        cursor = None
        for _ in range(_MAX_PAGES):
            try:
                answer = method(**asked, limit=_PAGE, cursor=cursor)
            except (SetupError, NoticeRefusedError) as error:
                raise LookUpError(
                    "the token has no permission to read the channel (scopes channels:history, "
                    f"groups:history, channels:read, groups:read): {error}"
                ) from error
            entries, further = answer.get(key), answer.get("response_metadata")
            if not isinstance(entries, list) or not isinstance(further, dict | None):
                raise odd(answer.status_code, f"without {key}")
            if not all(isinstance(entry, dict) and (key != "messages" or "ts" in entry) for entry in entries):
                raise odd(answer.status_code, f"with {key} of another form")
            yield from entries
            cursor = (further or {}).get("next_cursor")
            if not isinstance(cursor, str | None):
                raise odd(answer.status_code, "with an unreadable address of the next page")
            if not cursor:
                if answer.get("has_more"):
                    raise odd(answer.status_code, "with more pages, but no address of the next")
                return
        raise LookUpError(f"more than {_MAX_PAGES * _PAGE} messages to look through")


class Webhook(Notifier):
    """An incoming webhook: posts to its one channel, and nothing else."""

    shows_blocks = True

    def __init__(self, url: str) -> None:
        self._client = SlackWebhook(url)

    def notify(self, notice: Notice, timeout_s: float) -> None:
        self._client.deadline = Deadline(timeout_s)
        self._client.send(unfurl_links=False, unfurl_media=False, **_content(notice.message))


def _content(message: Message) -> dict[str, Any]:
    return {"text": message.text, "blocks": list(message.blocks)} if message.blocks else {"text": message.text}


def _metadata(identity: str) -> dict[str, Any]:
    return {"event_type": EVENT_TYPE, "event_payload": {"id": identity}}


def _delivery_in(message: Mapping[str, Any]) -> str | None:
    """The ID of the delivery that a message contains; None for other messages."""
    metadata = message.get("metadata")
    if not isinstance(metadata, dict) or metadata.get("event_type") != EVENT_TYPE:
        return None
    payload = metadata.get("event_payload")
    return payload.get("id") if isinstance(payload, dict) else None


def _is_reaction(found: object) -> bool:
    if not isinstance(found, dict) or not isinstance(found.get("name"), str):
        return False
    people = found.get("users")
    return isinstance(people, list) and all(isinstance(p, str) and _PERSON.fullmatch(p) for p in people)


def _text(answer: SlackResponse, key: str) -> str:
    value = answer.get(key)
    if not isinstance(value, str) or not value:
        raise odd(answer.status_code, f"with `ok`, but without `{key}`")
    return value


def _time(answer: SlackResponse) -> str:
    """The `ts` of the message. Raises CallFailedError if it is missing: the message may not exist, and could not be
    edited or found.
    """
    ts = _text(answer, "ts")
    if not _TS.fullmatch(ts):
        raise odd(answer.status_code, "with `ok`, but an unreadable `ts`")
    return ts


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
    "not_allowed_token_type": "`slack.token` must be a bot token (xoxb-...)",
    "missing_scope": "the app lacks the scope `chat:write`; add it and install the app again",
    "no_permission": "the app may not post; ask an administrator of the workspace",
    "access_denied": "the app may not post; ask an administrator of the workspace",
    "team_access_not_granted": "the app has no access to this workspace; ask an administrator",
    "ekm_access_denied": "an administrator has suspended posting",
}
_CHANNEL: Final = {
    "channel_not_found": (
        "Slack knows no such channel; check the owner's `channel`, or invite the app if it is private"
    ),
    "not_in_channel": "the app is not in the channel; type /invite @tsaudit there",
    "is_archived": "the channel is archived; give the owner another `channel`",
    "restricted_action": "the channel does not accept messages from the app; ask its manager",
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
_CODE: Final = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
"""The form of Slack's error codes. Other text comes from a proxy in between."""
_CONTENT_REFUSED: Final = frozenset({400, 413})
"""Statuses with which a webhook rejects a message. Another status with an unknown code is not about the message."""


class SlackClient(WebClient):
    """Slack's web API. Each method raises NotifyError, or returns a response with `"ok": true`."""

    def __init__(self, token: str, base_url: str) -> None:
        super().__init__(token=token, base_url=base_url, retry_handlers=[], logger=_quiet_logger())
        self.deadline = Deadline(0.0)
        """By when the calls have to end, all together."""
        self.scopes: frozenset[str] | None = None
        """The token's permissions, according to the newest response that lists them; None until there is one."""

    def api_call(
        self,
        api_method: str,
        *,
        http_verb: str = "POST",
        files: dict[str, Any] | None = None,
        data: dict[str, Any] | None = None,
        params: dict[str, Any] | None = None,
        json: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
        auth: dict[str, Any] | None = None,
    ) -> SlackResponse:
        """Call the method with the arguments given as `params` or `json`; tsaudit uses no other methods."""
        assert not files and not data and not auth  # noqa: PT018 -- one thing: no other way to give arguments
        content, kind = _body(params, json)
        sent = {**self.headers, **(headers or {}), "Authorization": f"Bearer {self.token}", "Content-Type": kind}
        answer = _exchanged(urljoin(self.base_url, api_method), content, sent, self.deadline, self.proxy)
        if (named := answer.headers.get("x-oauth-scopes")) is not None:
            self.scopes = frozenset(scope.strip() for scope in named.split(","))
        found = _checked(answer, str((params or json or {}).get("channel", "")))
        return SlackResponse(
            client=self,
            http_verb=http_verb,
            api_url=api_method,
            req_args={},
            data=found,
            headers=dict(answer.headers),
            status_code=answer.status,
        )


class SlackWebhook(WebhookClient):
    """An incoming webhook. Raises NotifyError unless Slack confirms the message."""

    def __init__(self, url: str) -> None:
        super().__init__(url, retry_handlers=[], logger=_quiet_logger())
        self.deadline = Deadline(0.0)
        """By when the call has to end."""

    def send_dict(self, body: dict[str, Any], headers: dict[str, str] | None = None) -> WebhookResponse:
        """Post the message."""
        content, kind = _body(None, body)
        sent = {**self.default_headers, **(headers or {}), "Content-Type": kind}
        answer = _exchanged(self.url, content, sent, self.deadline, self.proxy, "slack.webhook")
        if answer.status != 200:
            raise webhook_error(answer)
        if answer.body.strip() != b"ok":
            raise odd(200, "without the word `ok`", setting="slack.webhook")
        return WebhookResponse(url="", status_code=200, body="ok", headers=dict(answer.headers))


def _body(params: Mapping[str, Any] | None, content: Mapping[str, Any] | None) -> tuple[bytes, str]:
    """The body of a request and its type: a form, in which Slack reads 1 as true, or JSON."""
    if params is not None:
        given = {key: int(v) if isinstance(v, bool) else v for key, v in params.items() if v is not None}
        return urlencode(given).encode(), "application/x-www-form-urlencoded"
    given = {key: value for key, value in (content or {}).items() if value is not None}
    return jsonlib.dumps(given).encode(), "application/json;charset=utf-8"


def _exchanged(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    deadline: Deadline,
    proxy: str | None,
    setting: str = "slack.base_url",
) -> HttpAnswer:
    if (left := deadline.left()) <= 0:
        raise CallFailedError(f"no response from Slack within {deadline.seconds:.3g} s", stored=False, late=True)
    try:
        return post(url, body, headers, left, proxy)
    except NoAnswerError as error:
        raise no_answer(error, url, setting) from None


def _checked(answer: HttpAnswer, channel: str) -> dict[str, Any]:
    """The object in Slack's response to a successful call. NotifyError for any other response."""
    found = _decoded(answer)
    if isinstance(found, CallFailedError):
        # Slack's own servers send these statuses with HTML pages, too.
        raise api_error(answer, {}, channel) if answer.status == 429 or answer.status >= 500 else found
    if found["ok"] is not True:
        raise api_error(answer, found, channel)
    if answer.status != 200:
        raise odd(answer.status, "with a response that contains `ok`")
    return found


def _decoded(answer: HttpAnswer) -> dict[str, Any] | CallFailedError:
    if 300 <= answer.status < 400:
        return odd(answer.status, redirected_to=answer.headers.get("location", ""))
    kind = answer.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if kind != "application/json":
        return odd(answer.status, "with something other than JSON")
    try:
        found = jsonlib.loads(answer.body)
    except (ValueError, RecursionError):
        return odd(answer.status, "with broken JSON")
    if not isinstance(found, dict) or not isinstance(found.get("ok"), bool):
        return odd(answer.status, "with JSON that lacks `ok`")
    return found


def _quiet_logger() -> logging.Logger:
    """A logger that drops everything: slack_sdk logs addresses, including webhooks, at DEBUG, and each failure as an
    error, which tsaudit reports itself.
    """
    logger = logging.getLogger("tsaudit.slack")
    logger.setLevel(logging.CRITICAL)
    return logger


def api_error(answer: HttpAnswer, data: Mapping[str, Any], channel: str) -> NotifyError:
    """The meaning of a response with `"ok": false`. Codes that Slack adds later count as rejected content."""
    given = data.get("error")
    code = given if isinstance(given, str) else ""
    if answer.status == 429 or code in _RATE_LIMITED:
        return _busy(answer)
    if answer.status >= 500 or code in _TRANSIENT:
        shown = f" ({code})" if code in _TRANSIENT else ""
        return CallFailedError(f"Slack answered {answer.status}{shown}", stored=True)
    if code in _GONE:
        return MessageGoneError(f"the message is gone or can no longer be changed ({code})")
    if code in _ACCOUNT:
        needed = f", needed: {printable(str(data['needed']), 100)}" if data.get("needed") else ""
        return SetupError(_ACCOUNT[code], code=f"{code}{needed}", everywhere=True)
    if code in _CHANNEL:
        return SetupError(f"{channel}: {_CHANNEL[code]}", code=code, everywhere=False)
    if answer.status != 200 or not _CODE.fullmatch(code):
        return odd(answer.status, "with an error that does not come from Slack")
    return NoticeRefusedError(f"Slack rejected the message ({code})")


def webhook_error(answer: HttpAnswer) -> NotifyError:
    """The meaning of a webhook response other than 200."""
    code = answer.body[:100].decode("utf-8", "replace").strip()
    if answer.status == 429:
        return _busy(answer)
    if answer.status >= 500:
        return CallFailedError(f"Slack answered {answer.status}", stored=True)
    if code in _WEBHOOK:
        return SetupError(_WEBHOOK[code], code=code, everywhere=True)
    if answer.status in _CONTENT_REFUSED and _CODE.fullmatch(code):
        return NoticeRefusedError(f"Slack rejected the message ({answer.status} {code})")
    where = answer.headers.get("location", "")
    return odd(answer.status, "with text that is not a Slack error", redirected_to=where, setting="slack.webhook")


def _busy(answer: HttpAnswer) -> BusyError:
    wait_s = retry_after(answer.headers)
    return BusyError(f"Slack asks to wait {wait_s:.0f} s (rate limit)", wait_s)


def odd(status: int, why: str = "", *, redirected_to: str = "", setting: str = "slack.base_url") -> CallFailedError:
    """For a response that Slack never sends: it proves nothing, so the call has to be repeated. `setting`: the key of
    the address that was called.
    """
    if 300 <= status < 400:
        why = f"with a redirect{_host_of(redirected_to)}, which tsaudit does not follow"
    line = f"something other than Slack answered: HTTP {status} {why}".rstrip()
    return CallFailedError(f"{line}; check the proxy and `{setting}`", stored=True)


def no_answer(error: NoAnswerError, url: str, setting: str) -> CallFailedError:
    """For a call without a response. Only if no connection was made is it certain that nothing arrived."""
    place = printable(urlsplit(url).netloc.rpartition("@")[2], 80)
    return CallFailedError(
        f"no response from Slack at {place}: {error}; check the network, the proxy, and `{setting}`",
        stored=error.sent,
        everywhere=not error.sent,
        late=error.late,
    )


def _host_of(address: str) -> str:
    try:
        host = urlsplit(address).hostname
    except ValueError:
        return ""
    return f" to {printable(host, 80)}" if host else ""


def retry_after(headers: Mapping[str, str]) -> float:
    """Seconds that Slack asks to wait; 1 if there is no readable number."""
    try:
        asked = float(headers["retry-after"])
    except (KeyError, ValueError):
        return 1.0
    return max(0.0, asked) if math.isfinite(asked) else 1.0
