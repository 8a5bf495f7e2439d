"""Slack as a notifier, with a bot token or with an incoming webhook.

A response that Slack never sends is a failed call: nothing counts as sent unless the response says where it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, timedelta
from typing import TYPE_CHECKING, Any, Final

from tsaudit.alerts.blocks import Message
from tsaudit.alerts.notifier import (
    CallFailedError,
    LookUpError,
    MessagePlace,
    Notice,
    NoticeRefusedError,
    Notifier,
    SetupError,
)
from tsaudit.net.watchdog import Deadline

if TYPE_CHECKING:
    from slack_sdk.web import SlackResponse

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
        from tsaudit.alerts.slack_client import SlackClient

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
            raise _odd(found, "about another message")

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
            raise _odd(found, "with reactions in an unexpected format")
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
                raise _odd(answer, f"without {key}")
            if not all(isinstance(entry, dict) and (key != "messages" or "ts" in entry) for entry in entries):
                raise _odd(answer, f"with {key} of another form")
            yield from entries
            cursor = (further or {}).get("next_cursor")
            if not isinstance(cursor, str | None):
                raise _odd(answer, "with an unreadable address of the next page")
            if not cursor:
                if answer.get("has_more"):
                    raise _odd(answer, "with more pages, but no address of the next")
                return
        raise LookUpError(f"more than {_MAX_PAGES * _PAGE} messages to look through")


class Webhook(Notifier):
    """An incoming webhook: posts to its one channel, and nothing else."""

    shows_blocks = True

    def __init__(self, url: str) -> None:
        from tsaudit.alerts.slack_client import SlackWebhook

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
        raise _odd(answer, f"with `ok`, but without `{key}`")
    return value


def _time(answer: SlackResponse) -> str:
    """The `ts` of the message. Raises CallFailedError if it is missing: the message may not exist, and could not be
    edited or found.
    """
    ts = _text(answer, "ts")
    if not _TS.fullmatch(ts):
        raise _odd(answer, "with `ok`, but an unreadable `ts`")
    return ts


def _odd(answer: SlackResponse, why: str) -> CallFailedError:
    from tsaudit.alerts.slack_client import odd

    return odd(answer.status_code, why)
