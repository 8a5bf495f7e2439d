"""Answers that Slack never gives: tried again, one line each, never taken for sent, refused for good, or a crash.

Expected of every one of them: the message is not lost and not doubled, the report says in one line what answered, and
once Slack is back the message arrives once.
"""

from __future__ import annotations

import dataclasses
import gzip
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from tests.alerts import builders
from tests.alerts.builders import History, found
from tests.alerts.slack_double import SlackDouble
from tests.alerts.test_outbox import states
from tests.serving import Handler, serving_http
from tsaudit import alerts
from tsaudit.alerts import http_post
from tsaudit.history.store import Store

pytestmark = pytest.mark.wall_clock

Write = Callable[[BaseHTTPRequestHandler], None]
BOTH = ("chat.postMessage", "conversations.history")


def answer(body: bytes, status: int = 200, kind: str | None = "application/json", **headers: str) -> Write:
    def write(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        if kind is not None:
            handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", headers.pop("length", str(len(body))))
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    return write


def raw(data: bytes) -> Write:
    return lambda handler: [handler.wfile.write(data), handler.wfile.flush()][1]


OK = b'{"ok": true, "channel": "C0DEFAULT", "ts": "1.000001"}'
ODD: dict[str, Write] = {
    "list": answer(b"[]"),
    "null": answer(b"null"),
    "number": answer(b"7"),
    "text": answer(b'"ok"'),
    "no object at all": answer(b""),
    "empty object": answer(b"{}"),
    "ok is text": answer(b'{"ok": "true", "channel": "C0DEFAULT", "ts": "1.000001"}'),
    "ok alone": answer(b'{"ok": true}'),
    "no ts": answer(b'{"ok": true, "channel": "C0DEFAULT"}'),
    "no channel": answer(b'{"ok": true, "ts": "1.000001"}'),
    "ts is a number": answer(b'{"ok": true, "channel": "C0DEFAULT", "ts": 1.5}'),
    "ts is no time": answer(b'{"ok": true, "channel": "C0DEFAULT", "ts": "soon"}'),
    "channel is null": answer(b'{"ok": true, "channel": null, "ts": "1.000001"}'),
    "refused without a reason": answer(b'{"ok": false}'),
    "reason is a list": answer(b'{"ok": false, "error": ["x"]}'),
    "reason is a sentence": answer(b'{"ok": false, "error": "Please log in."}'),
    "unknown reason of a gateway": answer(b'{"ok": false, "error": "blocked"}', 403),
    "html 200": answer(b"<html>Please log in</html>", kind="text/html"),
    "html 403": answer(b"<html>Forbidden</html>", 403, "text/html"),
    "json as html": answer(OK, kind="text/html"),
    "json of status 201": answer(OK, 201),
    "no content": answer(b"", 204),
    "cut off": answer(OK[:20], length=str(len(OK))),
    "cut off json": answer(OK[:20]),
    "unknown charset": answer(b"\xff\xfe{}", kind="application/json; charset=klingon"),
    "compressed": answer(gzip.compress(OK), Content_Encoding="gzip"),
    "deep": answer(b"[" * 200_000),
    "bomb": answer(gzip.compress(b"0" * 30_000_000), Content_Encoding="gzip"),
    "redirect": answer(b"", 302, Location="http://127.0.0.1:9/login"),
    "permanent redirect": answer(b"", 308, Location="http://127.0.0.1:9/login"),
    "redirect to nowhere": answer(b"", 302, Location="http://[broken"),
    "no http": raw(b"220 mail.example.com ESMTP\r\n"),
    "a thousand headers": raw(b"HTTP/1.1 200 OK\r\n" + b"X-A: b\r\n" * 1000 + b"\r\n"),
    "long header": raw(b"HTTP/1.1 200 OK\r\nX-A: " + b"b" * 100_000 + b"\r\n\r\n"),
    "bad chunks": raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
    "proxy login": answer(b"", 407, "text/html"),
}


@pytest.mark.parametrize("odd", ODD, ids=str)
def test_an_odd_answer_is_tried_again_and_loses_nothing(history: History, slack: SlackDouble, odd: str) -> None:
    history.audit(found(1))
    for method in BOTH:
        slack.fail(9, method=method, raw=ODD[odd])
    report = history.send()
    assert (report.sent, report.failed, report.waiting) == (0, 0, 1)
    (line,) = report.errors
    assert "Slack" in line
    assert "\n" not in line
    assert "<" not in line
    slack.faults.clear()
    assert history.send(lambda _: None) == alerts.SendReport(sent=1)
    assert len(slack.messages) == 1


@pytest.mark.parametrize("odd", ["list", "ok alone", "html 200", "redirect", "cut off json"])
def test_what_arrived_behind_an_odd_answer_is_not_doubled(history: History, slack: SlackDouble, odd: str) -> None:
    history.audit(found(1))
    slack.fail(raw=ODD[odd], after=True)
    assert history.send() == alerts.SendReport(sent=1)
    assert len(slack.messages) == 1
    assert slack.methods().count("chat.postMessage") == 1


@pytest.mark.parametrize(
    "page",
    [
        b'{"ok": true}',
        b'{"ok": true, "messages": null}',
        b'{"ok": true, "messages": {}}',
        b'{"ok": true, "messages": ["x"]}',
        b'{"ok": true, "messages": [{}]}',
        b'{"ok": true, "messages": [], "has_more": true}',
        b'{"ok": true, "messages": [], "response_metadata": []}',
    ],
    ids=str,
)
def test_a_page_that_is_none_does_not_count_as_not_found(history: History, slack: SlackDouble, page: bytes) -> None:
    history.settings = builders.with_token(slack, owners={"default": {"channel": "C0DEFAULT"}})
    history.audit(found(1))
    slack.fail(drop=True, after=True)
    slack.fail(9, method="conversations.history", raw=answer(page))
    assert history.send().waiting == 1
    assert len(slack.messages) == 1, "posting it again would have doubled it"
    slack.faults.clear()
    assert history.send() == alerts.SendReport(sent=1)
    assert len(slack.messages) == 1


def test_metadata_of_others_is_passed_over(history: History, slack: SlackDouble) -> None:
    history.settings = builders.with_token(slack, owners={"default": {"channel": "C0DEFAULT"}})
    history.audit(found(1))
    slack.fail(drop=True, after=True)
    others: list[Any] = [
        "x",
        {},
        {"event_type": "tsaudit_delivery"},
        {"event_type": "tsaudit_delivery", "event_payload": 1},
    ]
    for number, metadata in enumerate(others):
        slack._store("C0DEFAULT", {"text": "chatter", "metadata": metadata, "number": number})
    assert history.send() == alerts.SendReport(sent=1)


@pytest.mark.parametrize("body", [b'{"ok": true}', b'{"ok": true, "ts": "9.000009", "channel": "C0DEFAULT"}'], ids=str)
def test_an_edit_counts_only_when_the_answer_is_about_it(history: History, slack: SlackDouble, body: bytes) -> None:
    history.audit(found(1))
    history.send()
    history.next_day(found(1))
    slack.fail(9, method="chat.update", raw=answer(body))
    report = history.send()
    assert (report.edited, report.waiting, len(report.errors)) == (0, 1, 1)
    slack.faults.clear()
    assert history.send().edited == 1


# -- webhooks ------------------------------------------------------------------------------------------------------

WEBHOOK_ODD: dict[str, Write] = {
    "html 200": ODD["html 200"],
    "json 200": answer(b'{"ok": true}'),
    "empty 200": answer(b"", kind="text/html"),
    "cut off": answer(b"o", kind="text/html", length="2"),
    "html 403": ODD["html 403"],
    "html 404": answer(b"<html>not found</html>", 404, "text/html"),
    "a word 403": answer(b"forbidden", 403, "text/plain"),
    "redirect": ODD["redirect"],
    "no content": ODD["no content"],
}


@pytest.mark.parametrize("odd", WEBHOOK_ODD, ids=str)
def test_a_webhook_took_the_message_only_if_it_says_so(store: Store, slack: SlackDouble, odd: str) -> None:
    hooked = History(store, builders.with_webhook(slack))
    hooked.audit(found(1))
    slack.fail(9, method="webhook", raw=WEBHOOK_ODD[odd])
    report = hooked.send(lambda _: None)
    assert (report.sent, report.failed, report.waiting) == (0, 0, 1)
    (line,) = report.errors
    assert "secret" not in line
    assert "base_url" not in line
    slack.faults.clear()
    assert hooked.send(lambda _: None).sent == 1


# -- other hosts ---------------------------------------------------------------------------------------------------


@pytest.fixture
def elsewhere() -> Iterator[tuple[str, list[str]]]:
    """Another server: its address, and the headers it was sent."""
    seen: list[str] = []

    class Other(Handler):
        def do_GET(self) -> None:
            seen.append(str(self.headers))
            answer(OK)(self)

        def do_POST(self) -> None:
            self.do_GET()

    with serving_http(Other) as server:
        yield f"http://localhost:{server.server_port}/api/chat.postMessage", seen


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("way", [builders.with_token, builders.with_webhook])
def test_no_redirect_is_followed(
    store: Store, slack: SlackDouble, elsewhere: tuple[str, list[str]], status: int, way: Any
) -> None:
    address, seen = elsewhere
    history = History(store, way(slack))
    history.audit(found(1))
    for method in (*BOTH, "conversations.list", "webhook"):
        slack.fail(9, method=method, raw=answer(b"", status, Location=address))
    report = history.send(lambda _: None)
    assert report.sent == 0
    assert "a redirect to localhost, which tsaudit does not follow" in report.errors[0]
    assert seen == []


def test_a_proxy_is_used_unless_no_proxy_names_the_host(
    history: History, slack: SlackDouble, elsewhere: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy's refusal to connect is not Slack's: nothing was sent, and nothing can have arrived."""
    proxy = elsewhere[0].partition("/api/")[0]
    history.audit(found(1))
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    history.settings = builders.settings(slack={"token": "xoxb-test", "base_url": "https://slack.invalid/api/"})
    report = history.send()
    (line,) = report.errors
    assert "at slack.invalid: Tunnel connection failed: 501 Unsupported method ('CONNECT'); check the network" in line
    assert states(history.store) == [("alert", "queued")]
    history.settings = builders.with_token(slack)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert history.send().sent == 1
    assert elsewhere[1] == []


# -- time ----------------------------------------------------------------------------------------------------------


def drip(handler: BaseHTTPRequestHandler, head: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n") -> None:
    """A byte every 50 ms, for 20 s at most."""
    try:
        handler.wfile.write(head)
        for _ in range(400):
            handler.wfile.write(b" ")
            time.sleep(0.05)
    except OSError:
        return


def drip_in_header(handler: BaseHTTPRequestHandler) -> None:
    drip(handler, b"HTTP/1.1 200 OK\r\nX-A: ")


def silence(handler: BaseHTTPRequestHandler) -> None:
    time.sleep(3)


def endless(handler: BaseHTTPRequestHandler) -> None:
    try:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
        for _ in range(2_000):
            handler.wfile.write(b" " * 100_000)
    except OSError:
        return


def continues(handler: BaseHTTPRequestHandler) -> None:
    try:
        for _ in range(1_000_000):
            handler.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    except OSError:
        return


SLOW: dict[str, Write] = {
    "drip": drip,
    "drip in a header": drip_in_header,
    "silence": silence,
    "endless": endless,
    "continue without end": continues,
}


@pytest.mark.wall_clock
@pytest.mark.parametrize("slow", SLOW, ids=str)
def test_a_call_ends_on_the_wall_clock(slack: SlackDouble, slow: str) -> None:
    slack.fail(raw=SLOW[slow])
    began = time.monotonic()
    with pytest.raises(http_post.NoAnswerError) as caught:
        http_post.post(f"{slack.base_url}chat.postMessage", b"a=b", {}, 0.5)
    assert time.monotonic() - began < 1.5
    assert caught.value.sent


def test_a_call_given_up_before_it_was_connected_sends_nothing_later(
    slack: SlackDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is reported as not sent, and the message is queued again: once the name is known it must not go out too."""
    look_up = socket.getaddrinfo

    def slowly(*arguments: Any, **named: Any) -> Any:
        time.sleep(0.5)
        return look_up(*arguments, **named)

    monkeypatch.setattr(socket, "getaddrinfo", slowly)
    with pytest.raises(http_post.NoAnswerError) as caught:
        http_post.post(f"{slack.base_url}auth.test", b"", {}, 0.1)
    assert not caught.value.sent
    for thread in threading.enumerate():
        if thread.name == "tsaudit-slack":
            thread.join(10)
    assert slack.calls == []


@pytest.mark.wall_clock
def test_hanging_channels_do_not_add_up(store: Store, slack: SlackDouble) -> None:
    """Ten channels that hang, 2 s for telling: not ten times the time of a call, and a line that says so."""
    owners = {f"o{n}": {"channel": f"C0{n}"} for n in range(10)} | {"default": {"channel": "#default"}}
    routes = [{"owner": f"o{n}", "measurements": [f"table_{n}"]} for n in range(10)]
    settings = builders.settings(
        slack={"token": "xoxb-test", "base_url": slack.base_url, "deadline_s": 2}, owners=owners, routes=routes
    )
    history = History(store, settings)
    history.audit(found(*range(10)))
    slack.fail(99, raw=drip)
    began = time.monotonic()
    report = history.send(pace=alerts.SendingPace(call_s=0.6, least_call_s=0.5, doubt_s=0.05, backoff_s=0.05))
    assert time.monotonic() - began < 4
    assert (report.sent, report.waiting) == (0, 10)
    assert report.errors[-1] == "sending stopped after 2 s (`slack.deadline_s`); the rest stays queued for the next run"
    assert report.errors[0].startswith("no response from Slack at 127.0.0.1:")


def test_a_wait_longer_than_the_budget_leaves_the_message_at_once(store: Store, slack: SlackDouble) -> None:
    history = History(
        store, builders.settings(slack={"token": "xoxb-test", "base_url": slack.base_url, "deadline_s": 30})
    )
    history.audit(found(1))
    slack.fail(status=429, retry_after=31)
    slept: list[float] = []
    report = history.send(pace=builders.fast(slept))
    assert (report.waiting, report.errors, slept) == (1, ("Slack asks to wait 31 s (rate limit)",), [])
    assert states(store) == [("alert", "queued")]
    assert history.send(pace=builders.fast(slept)).sent == 1


def test_what_the_budget_leaves_over_goes_out_next_time_each_once(store: Store, slack: SlackDouble) -> None:
    targets = [{"name": f"t{n}", "engine": "duckdb", "url": "x"} for n in range(6)]
    settings = builders.settings(
        slack={"token": "xoxb-test", "base_url": slack.base_url, "deadline_s": 100}, targets=targets
    )
    history, clock = History(store, settings), [0.0]
    for target in targets:
        history.audit(found(1), target=target["name"])

    def sleep(seconds: float) -> None:
        clock[0] += seconds

    pace = alerts.SendingPace(message_s=40, now=lambda: clock[0], sleep=sleep)
    assert history.send(pace=pace).sent == 3
    assert {state for _, state in states(store)} == {"sent", "queued"}
    assert history.send(pace=pace).sent == 3
    assert len(slack.messages) == 6
    assert clock[0] <= 200


def test_whoever_is_given_less_time_sends_for_less(store: Store, slack: SlackDouble) -> None:
    history = History(store, builders.with_token(slack))
    history.audit(found(1))
    slack.fail(status=429, retry_after=31)
    assert history.send(pace=dataclasses.replace(builders.fast(), longest_s=30)).waiting == 1
    slack.fail(status=429, retry_after=31)
    assert history.send().sent == 1


@pytest.mark.wall_clock
def test_a_sender_that_waits_for_another_keeps_to_the_budget(store: Store, slack: SlackDouble) -> None:
    from tsaudit.history import deliveries

    history = History(
        store, builders.settings(slack={"token": "xoxb-test", "base_url": slack.base_url, "deadline_s": 0.5})
    )
    history.audit(found(1))
    began = time.monotonic()
    with deliveries.sole_sender(store.engine, 0):
        report = history.send(pace=alerts.SendingPace())
    assert time.monotonic() - began < 3
    line = "another tsaudit is sending and has not finished in time; 1 message waits"
    assert report == alerts.SendReport(waiting=1, errors=(line,), out_of_time=(line,))


def test_the_answers_of_the_double_are_as_slack_writes_them(slack: SlackDouble) -> None:
    """The double would hide a client that is too strict: what it says is what Slack documents."""
    found_ = http_post.post(f"{slack.base_url}auth.test", b"", {"Authorization": "Bearer wrong"}, 5)
    assert json.loads(found_.body) == {"ok": False, "error": "invalid_auth"}


@pytest.mark.parametrize("status", [500, 502, 503])
@pytest.mark.parametrize("code", ["invalid_blocks", "channel_not_found", "invalid_auth", "nobody_knows"])
def test_a_server_error_is_not_about_the_message(history: History, slack: SlackDouble, status: int, code: str) -> None:
    """Whatever code it carries: with status 200 these would drop the message or stop the run."""
    history.audit(found(1))
    slack.fail(4, raw=answer(json.dumps({"ok": False, "error": code}).encode(), status))
    report = history.send()
    assert (report.sent, report.failed, report.waiting) == (0, 0, 1)
    assert report.errors == (f"Slack answered {status}",)
    slack.faults.clear()
    assert history.send().sent == 1
    assert slack.messages[0].blocks


@pytest.mark.parametrize("code", ["internal_error", "fatal_error", "service_unavailable", "request_timeout"])
def test_a_failure_within_slack_is_tried_again(history: History, slack: SlackDouble, code: str) -> None:
    history.audit(found(1))
    slack.fail(3, error=code)
    assert history.send() == alerts.SendReport(sent=1)
    slack.fail(4, error=code)
    history.next_day(found(1, 2))
    report = history.send()
    assert (report.failed, report.errors) == (0, (f"Slack answered 200 ({code})",))


@pytest.mark.parametrize("code", ["ratelimited", "rate_limited"])
def test_a_rate_limit_is_one_by_its_code_too(history: History, slack: SlackDouble, code: str) -> None:
    history.audit(found(1))
    slack.fail(error=code)
    slept: list[float] = []
    assert history.send(pace=dataclasses.replace(builders.fast(slept), message_s=0.0)).sent == 1
    assert slept == [1], "a second, where Slack names none"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"<html>Too many requests</html>", "text/html"),
        (b"", None),
        (b'{"ok": false}', "application/json"),
        (b'{"ok": false, "error": "nobody_knows"}', "application/json"),
    ],
)
def test_a_rate_limit_is_one_by_its_status_too(
    history: History, slack: SlackDouble, body: bytes, kind: str | None
) -> None:
    """Whatever comes with it: nothing was stored, so nothing is looked up, and it is waited for as long as asked."""
    history.audit(found(1))
    slack.fail(raw=answer(body, 429, kind, Retry_After="7"))
    slept: list[float] = []
    assert history.send(pace=dataclasses.replace(builders.fast(slept), message_s=0.0)) == alerts.SendReport(sent=1)
    assert slept == [7]
    assert slack.methods() == ["chat.postMessage"] * 2
