"""slack_sdk's clients over our own transport.

slack_sdk builds the calls; `slack_transport` sends each of them once. slack_sdk would repeat a broken call without
checking whether the message had arrived, and so duplicate it.
"""

from __future__ import annotations

import json as jsonlib
import logging
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode, urljoin

from slack_sdk import WebClient
from slack_sdk.web import SlackResponse
from slack_sdk.webhook import WebhookClient, WebhookResponse

from tsaudit.alerts.slack_errors import BrokenOffError, api_error, no_answer, odd, webhook_error
from tsaudit.alerts.slack_transport import Answer, NoAnswerError, post

CallTime = Callable[[], float]
"""Seconds that the next call may take. Raises OutOfTimeError if no call may be made any more."""


class Client(WebClient):
    """Slack's web API. Each method raises SlackError, or returns a response with `"ok": true`."""

    def __init__(self, token: str, base_url: str, call_s: CallTime) -> None:
        super().__init__(token=token, base_url=base_url, retry_handlers=[], logger=_quiet_logger())
        self._call_s = call_s
        self.scopes: frozenset[str] | None = None
        """What the token may do, as the newest response says; None before the first, or if none says."""

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
        """Call the method with the arguments given as `params` or `json`; tsaudit uses only such methods."""
        assert not files and not data and not auth  # noqa: PT018 -- one thing: no other way to give arguments
        content, kind = _body(params, json)
        sent = {**self.headers, **(headers or {}), "Authorization": f"Bearer {self.token}", "Content-Type": kind}
        answer = _exchanged(urljoin(self.base_url, api_method), content, sent, self._call_s(), self.proxy)
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


class Hook(WebhookClient):
    """An incoming webhook. Raises SlackError unless Slack confirms the message."""

    def __init__(self, url: str, call_s: CallTime) -> None:
        super().__init__(url, retry_handlers=[], logger=_quiet_logger())
        self._call_s = call_s

    def send_dict(self, body: dict[str, Any], headers: dict[str, str] | None = None) -> WebhookResponse:
        """Post the message."""
        content, kind = _body(None, body)
        sent = {**self.default_headers, **(headers or {}), "Content-Type": kind}
        answer = _exchanged(self.url, content, sent, self._call_s(), self.proxy)
        if answer.status != 200:
            raise webhook_error(answer)
        if answer.body.strip() != b"ok":
            raise odd(200, "without the word `ok`")
        return WebhookResponse(url="", status_code=200, body="ok", headers=dict(answer.headers))


def _body(params: Mapping[str, Any] | None, content: Mapping[str, Any] | None) -> tuple[bytes, str]:
    """The body of a request and its type: a form, in which Slack reads 1 as true, or JSON."""
    if params is not None:
        given = {key: int(v) if isinstance(v, bool) else v for key, v in params.items() if v is not None}
        return urlencode(given).encode(), "application/x-www-form-urlencoded"
    given = {key: value for key, value in (content or {}).items() if value is not None}
    return jsonlib.dumps(given).encode(), "application/json;charset=utf-8"


def _exchanged(url: str, body: bytes, headers: Mapping[str, str], timeout_s: float, proxy: str | None) -> Answer:
    try:
        return post(url, body, headers, timeout_s, proxy)
    except NoAnswerError as error:
        raise no_answer(error) from None


def _checked(answer: Answer, channel: str) -> dict[str, Any]:
    """The object in Slack's response to a successful call. SlackError for any other response."""
    found = _decoded(answer)
    if isinstance(found, BrokenOffError):
        # Slack's own servers send these statuses with HTML pages, too.
        raise api_error(answer, {}, channel) if answer.status == 429 or answer.status >= 500 else found
    if found["ok"] is not True:
        raise api_error(answer, found, channel)
    if answer.status != 200:
        raise odd(answer.status, "with a response that contains `ok`")
    return found


def _decoded(answer: Answer) -> dict[str, Any] | BrokenOffError:
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
    """slack_sdk logs addresses, including webhooks, at DEBUG, and each failure as an error; ours are reported."""
    logger = logging.getLogger("tsaudit.slack")
    logger.setLevel(logging.CRITICAL)
    return logger
