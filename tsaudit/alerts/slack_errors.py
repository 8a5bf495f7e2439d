"""What can go wrong with a call to Slack, and what Slack's error codes mean."""

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
    """Slack does not take this content."""


class GoneError(SlackError):
    """The message to edit or to reply to is not there any more, or may not be changed."""


class BusyError(SlackError):
    """Too many calls; nothing was stored."""

    def __init__(self, wait_s: float) -> None:
        super().__init__(f"Slack asks to wait {wait_s:.0f} s (rate limit)")
        self.wait_s = wait_s


class BrokenOffError(SlackError):
    """No answer came, or none that Slack gives: the call has to be tried again."""

    def __init__(self, line: str, *, stored: bool, unreachable: bool = False, late: bool = False) -> None:
        super().__init__(line)
        self.stored = stored
        """Whether the message may have arrived all the same."""
        self.unreachable = unreachable
        """No connection at all: the next message will fare no better."""
        self.late = late
        """It used up the time of a call: several more of them would use up the time of the others."""


class OutOfTimeError(SlackError):
    """The budget of the run is used up; the call was not made."""


class SetupError(SlackError):
    """Nothing will arrive until somebody changes a setting, here or in Slack."""

    def __init__(self, line: str, *, code: str, everywhere: bool) -> None:
        super().__init__(f"{line} ({code})" if code else line)
        self.code = code
        """Slack's own word for it, and the scope that it asks for; empty where Slack did not say it."""
        self.everywhere = everywhere
        """Or only in this channel."""


class LookUpError(SlackError):
    """Whether a message has arrived cannot be found out with this token or webhook."""


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
_CODE: Final = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
"""How Slack writes its error codes. Anything else is the text of some proxy in between."""
_CONTENT_REFUSED: Final = frozenset({400, 413})
"""Statuses with which a webhook refuses a message. Others with a code nobody knows are not about the message."""


def api_error(answer: Answer, data: Mapping[str, Any], channel: str) -> SlackError:
    """What an answer with `"ok": false` means. Codes Slack may add later count as a refusal of the content."""
    given = data.get("error")
    code = given if isinstance(given, str) else ""
    if answer.status == 429 or code in _RATE_LIMITED:
        return BusyError(retry_after(answer.headers))
    if answer.status >= 500 or code in _TRANSIENT:
        shown = f" ({code})" if code in _TRANSIENT else ""
        return BrokenOffError(f"Slack answered {answer.status}{shown}", stored=True)
    if code in _GONE:
        return GoneError(f"the message is gone or closed for changes ({code})")
    if code in _ACCOUNT:
        needed = f", needed: {printable(str(data['needed']), 100)}" if data.get("needed") else ""
        return SetupError(_ACCOUNT[code], code=f"{code}{needed}", everywhere=True)
    if code in _CHANNEL:
        return SetupError(f"{channel}: {_CHANNEL[code]}", code=code, everywhere=False)
    if answer.status != 200 or not _CODE.fullmatch(code):
        return odd(answer.status, "with an error that is none of Slack's")
    return RefusedError(f"Slack refused the message ({code})")


def webhook_error(answer: Answer) -> SlackError:
    """What a webhook's answer other than a 200 means."""
    code = answer.body[:100].decode("utf-8", "replace").strip()
    if answer.status == 429:
        return BusyError(retry_after(answer.headers))
    if answer.status >= 500:
        return BrokenOffError(f"Slack answered {answer.status}", stored=True)
    if code in _WEBHOOK:
        return SetupError(_WEBHOOK[code], code=code, everywhere=True)
    if answer.status in _CONTENT_REFUSED and _CODE.fullmatch(code):
        return RefusedError(f"Slack refused the message ({answer.status} {code})")
    return odd(answer.status, "with text that is no error of Slack's", redirected_to=answer.headers.get("location", ""))


def odd(status: int, why: str = "", *, redirected_to: str = "") -> BrokenOffError:
    """For an answer that Slack never gives: nothing can be concluded from it, so the call has to be tried again."""
    if 300 <= status < 400:
        why = f"with a redirect{_host_of(redirected_to)}, which tsaudit does not follow"
    line = f"something other than Slack answered: HTTP {status} {why}".rstrip()
    return BrokenOffError(f"{line}; check the proxy and `slack.base_url`", stored=True)


def no_answer(error: NoAnswerError) -> BrokenOffError:
    """For a call that got no answer. Only when no connection was made is it certain that nothing arrived."""
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
    """Seconds that Slack asks to wait; 1 where it names none that can be read."""
    try:
        asked = float(headers["retry-after"])
    except (KeyError, ValueError):
        return 1.0
    return max(0.0, asked) if math.isfinite(asked) else 1.0
