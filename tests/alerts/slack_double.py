"""A Slack on the loopback: keeps messages, enforces Slack's limits, and fails as it is told to.

The limits are Slack's own (https://docs.slack.dev/reference/block-kit/blocks) and the undocumented one on the sum
of all blocks (https://github.com/slackapi/bolt-js/issues/2509).
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs

from tests.serving import Handler, serving_http

TOKEN = "xoxb-test"
CHANNELS = {"C0ALERTS": "alerts", "C0DBA": "dba", "C0DEFAULT": "default"}


@dataclass
class Stored:
    """A message in a channel; `channel` is empty for those of the webhook."""

    channel: str
    ts: str
    text: str
    blocks: list[dict[str, Any]]
    thread_ts: str | None = None
    metadata: dict[str, Any] | None = None
    edits: int = 0
    reactions: dict[str, list[str]] = field(default_factory=dict)
    """Name to the people who left it."""

    def react(self, name: str, *people: str) -> None:
        """Somebody leaves a reaction."""
        self.reactions.setdefault(name, []).extend(people)

    def take_back(self, name: str, person: str) -> None:
        """The person's reaction is gone."""
        self.reactions[name].remove(person)
        if not self.reactions[name]:
            del self.reactions[name]

    @property
    def delivery(self) -> str | None:
        return self.metadata["event_payload"]["id"] if self.metadata else None


@dataclass
class Fault:
    """What goes wrong with the next call of the method."""

    method: str = "chat.postMessage"
    error: str | None = None
    """An error code in an otherwise good answer; `before` storing."""
    status: int = 200
    retry_after: int | None = None
    drop: bool = False
    """Hang up without an answer."""
    after: bool = False
    """The message was stored, nevertheless."""
    only_blocks: bool = False
    """Plain text passes."""
    action: Callable[[], None] | None = None
    """Called when the fault strikes."""
    raw: Callable[[BaseHTTPRequestHandler], None] | None = None
    """Writes the answer itself, whatever it is."""


class HangUpError(Exception):
    pass


class RawError(Exception):
    """Instead of an answer: what writes it."""

    def __init__(self, write: Callable[[BaseHTTPRequestHandler], None]) -> None:
        super().__init__()
        self.write = write


@dataclass
class SlackDouble:
    """The state behind the server. `calls` are (method, arguments, monotonic seconds)."""

    url: str = ""
    messages: list[Stored] = field(default_factory=list)
    calls: list[tuple[str, dict[str, Any], float]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    joined: set[str] = field(default_factory=lambda: set(CHANNELS))
    archived: set[str] = field(default_factory=set)
    scopes: set[str] = field(
        default_factory=lambda: {"chat:write", "channels:history", "channels:read", "reactions:read"}
    )
    page: int = 100
    least_gap_s: float = 0.0
    """Two posts to one channel within less than this are too many."""
    last: dict[str, float] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)
    clock: int = 0

    @property
    def base_url(self) -> str:
        return f"{self.url}/api/"

    @property
    def webhook(self) -> str:
        return f"{self.url}/services/T0/B0/secret"

    def methods(self) -> list[str]:
        """Of the calls about messages: `auth.test` is about the token."""
        return [method for method, _, _ in self.calls if method != "auth.test"]

    def texts(self, channel: str | None = None) -> list[str]:
        return [m.text for m in self.messages if channel in (None, m.channel)]

    def fail(self, times: int = 1, **fault: Any) -> None:
        self.faults += [Fault(**fault) for _ in range(times)]

    # -- the calls -----------------------------------------------------------------------------------------------

    def handle(self, method: str, arguments: dict[str, Any], token: str) -> tuple[int, dict[str, str], Any]:
        """Status, headers and body of the answer. Raises HangUpError."""
        with self.lock:
            self.calls.append((method, arguments, time.monotonic()))
            fault = self._fault(method, arguments)
            if fault is not None and not fault.after:
                return self._struck(fault)
            answer = self._answer(method, arguments, token)
            return answer if fault is None else self._struck(fault)

    def _fault(self, method: str, arguments: dict[str, Any]) -> Fault | None:
        for fault in self.faults:
            if fault.method == method and not (fault.only_blocks and not arguments.get("blocks")):
                self.faults.remove(fault)
                return fault
        return None

    def _struck(self, fault: Fault) -> tuple[int, dict[str, str], Any]:
        if fault.action is not None:
            fault.action()
        if fault.raw is not None:
            raise RawError(fault.raw)
        if fault.drop or fault.action is not None:
            raise HangUpError
        headers = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
        if fault.method == "webhook":
            return fault.status, headers, fault.error or "server error"
        if fault.status >= 500:
            return fault.status, headers, "<html>bad gateway</html>"
        return fault.status, headers, {"ok": False, "error": fault.error or "ratelimited"}

    def _answer(self, method: str, arguments: dict[str, Any], token: str) -> tuple[int, dict[str, str], Any]:
        if method == "webhook":
            problem = problem_of(arguments, edit=False)
            if problem is None:
                self._store("", arguments)
            return (400, {}, problem) if problem else (200, {}, "ok")
        if token != TOKEN:
            return 200, {}, {"ok": False, "error": "invalid_auth"}
        status, headers, content = self._answered(method, arguments)
        # Every response names them: https://docs.slack.dev/tools/node-slack-sdk/reference/web-api/interfaces/WebAPICallResult
        return status, headers | {"X-OAuth-Scopes": ",".join(sorted(self.scopes))}, content

    def _answered(self, method: str, arguments: dict[str, Any]) -> tuple[int, dict[str, str], Any]:
        name = method.replace(".", "_")
        answer = getattr(self, f"_{name}")(arguments)
        if answer == "ratelimited":
            return 429, {"Retry-After": "1"}, {"ok": False, "error": answer}
        if answer == "missing_scope":
            # Only for the methods whose scope is known here; Slack always names it.
            needed = {"reactions.get": "reactions:read"}.get(method)
            more = {"needed": needed, "provided": ",".join(sorted(self.scopes))} if needed else {}
            return 200, {}, {"ok": False, "error": answer} | more
        return 200, {}, {"ok": False, "error": answer} if isinstance(answer, str) else {"ok": True} | answer

    def _auth_test(self, _arguments: dict[str, Any]) -> dict[str, Any]:
        return {"user": "tsaudit", "team": "Test"}

    def _chat_postMessage(self, arguments: dict[str, Any]) -> dict[str, Any] | str:  # noqa: N802 -- Slack's name
        channel = self._channel(arguments["channel"], by_name=True)
        if channel is None:
            return "channel_not_found"
        if channel not in self.joined:
            return "not_in_channel"
        if channel in self.archived:
            return "is_archived"
        now = time.monotonic()
        if now - self.last.get(channel, float("-inf")) < self.least_gap_s:
            return "ratelimited"
        self.last[channel] = now
        thread = arguments.get("thread_ts")
        if thread is not None and self._at(channel, thread) is None:
            return "thread_not_found"
        if (problem := problem_of(arguments, edit=False)) is not None:
            return problem
        stored = self._store(channel, arguments)
        return {"channel": channel, "ts": stored.ts, "message": {"text": stored.text}}

    def _chat_update(self, arguments: dict[str, Any]) -> dict[str, Any] | str:
        if self._channel(arguments["channel"], by_name=False) is None:
            return "channel_not_found"
        found = self._at(arguments["channel"], arguments["ts"])
        if found is None:
            return "message_not_found"
        if (problem := problem_of(arguments, edit=True)) is not None:
            return problem
        found.text, found.blocks = arguments["text"], arguments.get("blocks", [])
        found.metadata = arguments.get("metadata", found.metadata)
        found.edits += 1
        return {"channel": found.channel, "ts": found.ts, "text": found.text}

    def _reactions_get(self, arguments: dict[str, Any]) -> dict[str, Any] | str:
        """https://docs.slack.dev/reference/methods/reactions.get; without `full`, the lists of people may be cut."""
        if "reactions:read" not in self.scopes:
            return "missing_scope"
        if self._channel(arguments["channel"], by_name=False) is None:
            return "channel_not_found"
        if "timestamp" not in arguments:
            return "no_item_specified"
        if not re.fullmatch(r"[0-9]+\.[0-9]+", arguments["timestamp"]):
            return "bad_timestamp"
        found = self._at(arguments["channel"], arguments["timestamp"])
        if found is None:
            return "message_not_found"
        most = None if arguments.get("full") in ("1", "true") else 1
        given = [{"name": n, "count": len(p), "users": p[:most]} for n, p in found.reactions.items()]
        message = {"type": "message", "ts": found.ts, "text": found.text} | ({"reactions": given} if given else {})
        return {"type": "message", "channel": found.channel, "message": message}

    def _conversations_history(self, arguments: dict[str, Any]) -> dict[str, Any] | str:
        return self._read(arguments, lambda m: m.thread_ts is None)

    def _conversations_replies(self, arguments: dict[str, Any]) -> dict[str, Any] | str:
        return self._read(arguments, lambda m: arguments["ts"] in (m.ts, m.thread_ts))

    def _conversations_list(self, arguments: dict[str, Any]) -> dict[str, Any] | str:
        if "channels:read" not in self.scopes:
            return "missing_scope"
        return {"channels": [{"id": i, "name": n} for i, n in CHANNELS.items()], "response_metadata": {}}

    def _read(self, arguments: dict[str, Any], chosen: Callable[[Stored], bool]) -> dict[str, Any] | str:
        if "channels:history" not in self.scopes:
            return "missing_scope"
        channel = self._channel(arguments["channel"], by_name=False)
        if channel is None:
            return "channel_not_found"
        oldest = float(arguments.get("oldest", 0))
        found = [m for m in self.messages if m.channel == channel and chosen(m) and float(m.ts) >= oldest]
        found.reverse()
        start = int(arguments.get("cursor") or 0)
        stop = start + min(self.page, int(arguments["limit"]))
        with_metadata = arguments.get("include_all_metadata") in ("1", 1, True, "true")
        shown = [
            {"ts": m.ts, "text": m.text} | ({"metadata": m.metadata} if m.metadata and with_metadata else {})
            for m in found[start:stop]
        ]
        return {"messages": shown, "response_metadata": {"next_cursor": str(stop) if stop < len(found) else ""}}

    def _channel(self, given: str, *, by_name: bool) -> str | None:
        if given in CHANNELS:
            return given
        named = {name: identity for identity, name in CHANNELS.items()}
        return named.get(given.removeprefix("#")) if by_name else None

    def _at(self, channel: str, ts: str) -> Stored | None:
        return next((m for m in self.messages if (m.channel, m.ts) == (channel, ts)), None)

    def _store(self, channel: str, arguments: dict[str, Any]) -> Stored:
        self.clock += 1
        stored = Stored(
            channel,
            f"{int(time.time())}.{self.clock:06d}",
            arguments["text"],
            arguments.get("blocks", []),
            arguments.get("thread_ts"),
            arguments.get("metadata"),
        )
        self.messages.append(stored)
        return stored


def problem_of(arguments: dict[str, Any], *, edit: bool = False) -> str | None:
    """Slack's error code for content it does not take. Stricter in one thing: text is always required."""
    text, blocks = arguments.get("text") or "", arguments.get("blocks") or []
    if not text.strip():
        return "no_text"
    if len(text) > (4_000 if edit else 40_000):
        return "msg_too_long"
    metadata = arguments.get("metadata")
    if metadata is not None and not (
        isinstance(metadata.get("event_type"), str) and isinstance(metadata.get("event_payload"), dict)
    ):
        return "invalid_metadata_format"
    if len(blocks) > 50 or not all(map(_is_valid, blocks)):
        return "invalid_blocks"
    if sum(len(o["text"]) for b in blocks for o in _text_objects(b)) > 13_200:
        return "msg_blocks_too_long"
    return None


def _text_objects(block: dict[str, Any]) -> list[dict[str, Any]]:
    if block.get("type") == "rich_text":
        return [run for part in block["elements"] for run in part["elements"] if run["type"] == "text"]
    found: list[dict[str, Any]] = [block["text"]] if "text" in block else []
    return [*found, *block.get("fields", []), *block.get("elements", [])]


def _is_named(run: dict[str, Any]) -> bool:
    """A person by their ID, or an emoji by its name."""
    key, form = {"user": ("user_id", r"[UW][A-Z0-9]+"), "emoji": ("name", r"[a-z0-9_+'-]+")}[run["type"]]
    return run.keys() == {"type", key} and re.fullmatch(form, run[key]) is not None


def _is_valid_rich_text(block: dict[str, Any]) -> bool:
    """https://docs.slack.dev/reference/block-kit/blocks/rich-text-block; stricter: nothing but text, in no style
    that tsaudit does not use, people, and emoji.
    """
    parts = block.get("elements") or []
    return bool(parts) and all(
        part["type"] in ("rich_text_section", "rich_text_preformatted")
        and part["elements"]
        and all(
            _is_named(run)
            if run["type"] in ("user", "emoji")
            else run.keys() <= {"type", "text", "style"}
            and run["type"] == "text"
            and run["text"]
            and run.get("style", {"bold": True}) == {"bold": True}
            and (part["type"] == "rich_text_section" or "style" not in run)
            for run in part["elements"]
        )
        for part in parts
    )


def _is_valid(block: dict[str, Any]) -> bool:
    if block.get("type") == "rich_text":
        return _is_valid_rich_text(block)
    objects, kind = _text_objects(block), block.get("type")
    longest = {"header": 150, "section": 3_000, "context": 3_000, "divider": 0}.get(str(kind))
    if longest is None or (kind == "context" and not 1 <= len(objects) <= 10):
        return False
    if kind == "header" and objects[0]["type"] != "plain_text":
        return False
    if kind != "divider" and not objects:
        return False
    return all(
        o["type"] in ("plain_text", "mrkdwn")
        and 1 <= len(o["text"]) <= longest
        and not (o["type"] == "mrkdwn" and "emoji" in o)
        and not (o["type"] == "plain_text" and "verbatim" in o)
        for o in objects
    )


@contextmanager
def running() -> Iterator[SlackDouble]:
    """The double, listening on a free port of the loopback."""
    double = SlackDouble()

    class Api(Handler):
        def do_POST(self) -> None:
            raw = self.content()
            method = self.path.removeprefix("/api/") if self.path.startswith("/api/") else "webhook"
            is_json = "json" in self.headers.get("Content-Type", "")
            arguments = json.loads(raw) if is_json else {k: v[0] for k, v in parse_qs(raw.decode()).items()}
            token = self.headers.get("Authorization", "").removeprefix("Bearer ")
            try:
                status, headers, body = double.handle(method, arguments, token)
            except RawError as error:
                self.close_connection = True
                error.write(self)
                return
            except HangUpError:
                self.close_connection = True
                self.connection.close()
                return
            content = (body if isinstance(body, str) else json.dumps(body)).encode()
            kind = "text/plain" if isinstance(body, str) else "application/json"
            self.answer(status, content, **{"Content-Type": kind, **headers})

    with serving_http(Api) as server:
        double.url = f"http://127.0.0.1:{server.server_port}"
        yield double
