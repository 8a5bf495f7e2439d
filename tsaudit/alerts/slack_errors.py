"""What can go wrong in a call to Slack, and the meaning of Slack's error codes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from tsaudit.alerts.slack_transport import Answer, NoAnswerError
from tsaudit.secrets import MaskedError
from tsaudit.text import printable


class SlackError(MaskedError):
    """A call failed. The text is one line for people."""


class RefusedError(SlackError):
    """Slack rejects this content."""


class GoneError(SlackError):
    """The message to edit or reply to no longer exists, or cannot be changed."""


class BusyError(SlackError):
    """Too many calls; nothing was stored."""

    def __init__(self, wait_s: float) -> None:
        super().__init__(f"Slack asks to wait {wait_s:.0f} s (rate limit)")
        self.wait_s = wait_s


class BrokenOffError(SlackError):
    """There was no response, or none that Slack sends: the call has to be repeated."""

    def __init__(self, line: str, *, stored: bool, unreachable: bool = False, late: bool = False) -> None:
        super().__init__(line)
        self.stored = stored
        """Whether the message may have arrived all the same."""
        self.unreachable = unreachable
        """No connection at all: the next message will fail too."""
        self.late = late
        """It used up the time of a call: a few more would use up the time of the others."""


class OutOfTimeError(SlackError):
    """The time budget of the run is used up; the call was not made."""


class SetupError(SlackError):
    """Nothing will arrive until somebody changes a setting, here or in Slack."""

    def __init__(self, line: str, *, code: str, everywhere: bool) -> None:
        super().__init__(f"{line} ({code})" if code else line)
        self.code = code
        """Slack's own word for it, and the scope that it asks for; empty where Slack did not say it."""
        self.everywhere = everywhere
        """Only for this channel."""


class LookUpError(SlackError):
    """This token or webhook cannot check whether a message has arrived."""


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
"""The form of Slack's error codes. Anything else is the text of a proxy in between."""
_CONTENT_REFUSED: Final = frozenset({400, 413})
"""Statuses with which a webhook rejects a message. Others with an unknown code are not about the message."""


def api_error(answer: Answer, data: Mapping[str, Any], channel: str) -> SlackError:
    """The meaning of a response with `"ok": false`. Codes that Slack adds later count as rejected content."""
    given = data.get("error")
    code = given if isinstance(given, str) else ""
    if answer.status == 429 or code in _RATE_LIMITED:
        return BusyError(retry_after(answer.headers))
    if answer.status >= 500 or code in _TRANSIENT:
        shown = f" ({code})" if code in _TRANSIENT else ""
        return BrokenOffError(f"Slack answered {answer.status}{shown}", stored=True)
    if code in _GONE:
        return GoneError(f"the message is gone or can no longer be changed ({code})")
    if code in _ACCOUNT:
        needed = f", needed: {printable(str(data['needed']), 100)}" if data.get("needed") else ""
        return SetupError(_ACCOUNT[code], code=f"{code}{needed}", everywhere=True)
    if code in _CHANNEL:
        return SetupError(f"{channel}: {_CHANNEL[code]}", code=code, everywhere=False)
    if answer.status != 200 or not _CODE.fullmatch(code):
        return odd(answer.status, "with an error that does not come from Slack")
    return RefusedError(f"Slack rejected the message ({code})")


def webhook_error(answer: Answer) -> SlackError:
    """The meaning of a webhook response other than 200."""
    code = answer.body[:100].decode("utf-8", "replace").strip()
    if answer.status == 429:
        return BusyError(retry_after(answer.headers))
    if answer.status >= 500:
        return BrokenOffError(f"Slack answered {answer.status}", stored=True)
    if code in _WEBHOOK:
        return SetupError(_WEBHOOK[code], code=code, everywhere=True)
    if answer.status in _CONTENT_REFUSED and _CODE.fullmatch(code):
        return RefusedError(f"Slack rejected the message ({answer.status} {code})")
    return odd(answer.status, "with text that is not a Slack error", redirected_to=answer.headers.get("location", ""))


def odd(status: int, why: str = "", *, redirected_to: str = "") -> BrokenOffError:
    """For a response that Slack never sends: it proves nothing, so the call has to be repeated."""
    if 300 <= status < 400:
        why = f"with a redirect{_host_of(redirected_to)}, which tsaudit does not follow"
    line = f"something other than Slack answered: HTTP {status} {why}".rstrip()
    return BrokenOffError(f"{line}; check the proxy and `slack.base_url`", stored=True)


def no_answer(error: NoAnswerError) -> BrokenOffError:
    """For a call without a response. Only if no connection was made is it certain that nothing arrived."""
    return BrokenOffError(
        f"no response from Slack: {error}", stored=error.sent, unreachable=not error.sent, late=error.late
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
