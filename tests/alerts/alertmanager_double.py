"""A stand-in for Alertmanager's API: it refuses what the real one refuses, and knows which alerts fire.

After https://github.com/prometheus/alertmanager: `api/v2/openapi.yaml` and `api/v2/api.go` (what is refused, and that
the valid alerts of a list are taken all the same), and `Alert.Validate` and `Alert.Merge` (times).
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlsplit

from tests.serving import Handler, serving_http

_LABEL: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_NONE: Final = datetime(1, 1, 1, tzinfo=UTC)

Alert = dict[str, Any]
Answer = tuple[int, str]


class RefusedError(Exception):
    """The alert is not valid; says why."""


@dataclass
class AlertmanagerDouble:
    """The state behind the server."""

    url: str = ""
    login: str = ""
    """`user:password`; empty: it asks for none."""
    alerts: dict[frozenset[tuple[str, str]], Alert] = field(default_factory=dict)
    """By labels, which are what an alert is."""
    posts: list[list[Alert]] = field(default_factory=list)
    answers: list[Callable[[], Answer | None]] = field(default_factory=list)
    """What the next calls are answered instead; None hangs up."""
    refusals: list[str] = field(default_factory=list)

    def firing(self, now: datetime, label: str = "subject") -> list[str]:
        """That label of all alerts that fire."""
        fires = [a for a in self.alerts.values() if a["ends"] > now]
        return sorted(a["labels"][label] for a in fires)

    def take(self, kind: str, raw: bytes, now: datetime) -> Answer:
        if kind != "application/json":
            return 415, json.dumps({"code": 415, "message": f'unsupported media type "{kind}"'})
        try:
            sent = json.loads(raw)
        except ValueError as error:
            return 400, json.dumps({"code": 400, "message": str(error)})
        if not isinstance(sent, list) or not all(isinstance(one, dict) for one in sent):
            return 422, json.dumps({"code": 601, "message": "alerts in body must be of type array"})
        self.posts.append(sent)
        refused = []
        for one in sent:
            try:
                taken = _valid(one, now)
            except RefusedError as error:
                refused.append(str(error))
                continue
            self.alerts[frozenset(taken["labels"].items())] = taken
        self.refusals += refused
        return (400, json.dumps("; ".join(refused))) if refused else (200, "")


def _valid(one: Alert, now: datetime) -> Alert:
    """The alert with its times, as it is stored."""
    if unknown := one.keys() - {"labels", "annotations", "startsAt", "endsAt", "generatorURL"}:
        raise RefusedError(f"unknown {unknown}")
    labels, annotations = one.get("labels"), one.get("annotations", {})
    for texts in (labels, annotations):
        if not isinstance(texts, dict) or not all(isinstance(text, str) for text in texts.values()):
            raise RefusedError("labels and annotations in body are required to be maps of strings")
    labels = {name: text for name, text in labels.items() if text}
    for name, text in [*labels.items(), *annotations.items()]:
        if not _LABEL.fullmatch(name):
            raise RefusedError(f"invalid name {name!r}")
        text.encode()
    if not labels:
        raise RefusedError("at least one label pair required")
    begins, ends = (_time(one.get(name)) for name in ("startsAt", "endsAt"))
    if begins == _NONE:
        begins = ends if _NONE < ends < now else now
    if ends == _NONE:
        raise RefusedError("the alert would end after resolve_timeout, five minutes")
    if ends < begins:
        raise RefusedError("start time must be before end time")
    address = one.get("generatorURL", "")
    if address and not urlsplit(address).scheme:
        raise RefusedError(f"generatorURL {address!r} must be a URI")
    return {"labels": labels, "annotations": annotations, "begins": begins, "ends": ends}


def _time(text: Any) -> datetime:
    if text is None:
        return _NONE
    if not isinstance(text, str) or not _TIME.fullmatch(text):
        raise RefusedError(f"{text!r} in body must be of type date-time")
    return datetime.fromisoformat(text)


@contextmanager
def running(now: Callable[[], datetime]) -> Iterator[AlertmanagerDouble]:
    """The double, listening on a free port of the loopback. `now`: its clock."""
    double = AlertmanagerDouble()

    class Receiver(Handler):
        def do_POST(self) -> None:
            raw = self.content()
            wanted = f"Basic {base64.b64encode(double.login.encode()).decode()}" if double.login else None
            answer: Answer | None
            if double.answers:
                answer = double.answers.pop(0)()
            elif wanted and self.headers.get("Authorization") != wanted:
                answer = 401, "Unauthorized\n"
            elif self.path != "/api/v2/alerts":
                answer = 404, "404 page not found\n"
            else:
                answer = double.take(self.headers.get("Content-Type", ""), raw, now())
            if answer is None:
                self.close_connection = True
                return
            status, body = answer
            self.answer(status, body.encode())

    with serving_http(Receiver) as server:
        double.url = f"http://127.0.0.1:{server.server_port}"
        yield double
