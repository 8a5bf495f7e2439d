"""One HTTP POST: follows no redirect, is limited by the wall clock, and reads a limited number of bytes.

slack_sdk sends with `urllib.request.urlopen`, which follows a redirect to any host with the token in its headers, and
whose timeout restarts with every byte.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit
from urllib.request import proxy_bypass

from tsaudit.errors import TsauditError
from tsaudit.net import http
from tsaudit.net.http import BoundedPool, RedirectedError, through, whole

MOST_BYTES: Final = 8 << 20
"""Maximum size of a response. A page of 200 messages with all their blocks is smaller, and its parsed JSON fits in
memory.
"""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """The HTTP response, whatever its status."""

    status: int
    headers: Mapping[str, str]
    """Header values by lower-case name."""
    body: bytes


class NoAnswerError(TsauditError):
    """No complete response arrived. The error's text is one line."""

    def __init__(self, line: str, *, sent: bool, late: bool) -> None:
        super().__init__(line)
        self.sent = sent
        """Whether the request may have arrived; False if no connection was made."""
        self.late = late
        """Whether the call was abandoned because its time was up."""


def post(url: str, body: bytes, headers: Mapping[str, str], timeout_s: float, proxy: str | None = None) -> HttpAnswer:
    """The response to the request. Raises NoAnswerError, at most `timeout_s` seconds after the call.

    `proxy` is used unless NO_PROXY names the host.
    """
    pool = through(proxy) if proxy and not proxy_bypass(urlsplit(url).hostname or "") else BoundedPool()
    try:
        with pool, pool.until(timeout_s):
            response = pool.urlopen(
                "POST", url, body=body, headers=dict(headers), timeout=timeout_s, preload_content=False
            )
            names = {name.lower(): value for name, value in response.headers.items()}
            # The bodies of errors have already been read.
            answer = whole(response, MOST_BYTES) if 200 <= response.status < 300 else response.data
            return HttpAnswer(response.status, names, answer)
    except RedirectedError as error:
        return HttpAnswer(error.status, {"location": error.place}, b"")
    except Exception as error:
        # Any exception of the HTTP client, whatever the server sent, is a failed call.
        is_late = http.is_late(error)
        line = f"no complete response within {timeout_s:.3g} s" if is_late else http.cause_of(error)
        raise NoAnswerError(line, sent=pool.has_connected, late=is_late) from None
