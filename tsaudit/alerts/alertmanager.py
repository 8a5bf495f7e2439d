"""Alertmanager as a notifier: each incident is an alert, and Alertmanager decides who is notified.

An alert expires unless its client sends it again, so that nothing fires forever when the client is gone. All alerts of
an owner and a target are sent after each audit, and last until the next one, with some reserve.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from datetime import UTC, datetime, time, timedelta
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import unquote

from pydantic import TypeAdapter, ValidationError

from tsaudit import secrets
from tsaudit.alerts.http_post import HttpAnswer, NoAnswerError, post
from tsaudit.alerts.notifier import (
    CallFailedError,
    MessagePlace,
    Notice,
    NoticeRefusedError,
    Notifier,
    NotifyError,
    ReportedIncident,
    SetupError,
)
from tsaudit.config.types import Duration
from tsaudit.model.figures import utc_now
from tsaudit.net import addresses
from tsaudit.text import listed, printable

_PATH: Final = "/api/v2/alerts"
_KEYS: Final = ("url", "expires_after")
_EXPIRES_AFTER: Final = "49h"
"""Two daily audits and an hour: one may fail."""
_PART: Final = 0.9
"""Share of a call's time limit that may be spent on HTTP; the rest is left for reporting that no answer came."""


class Alertmanager(Notifier):
    """Sends alerts to the API of one Alertmanager."""

    edits = True

    def __init__(self, settings: Mapping[str, str]) -> None:
        if unknown := sorted(settings.keys() - set(_KEYS)):
            raise SetupError(f"`{printable(unknown[0], 60)}` is no key of it; it takes {listed(_KEYS)}")
        address = addresses.read(settings.get("url", ""))
        if address is None or address.scheme not in ("http", "https") or not address.host or address.query:
            raise SetupError("`url` must be the address of an Alertmanager, such as http://alertmanager:9093")
        self._where = f"{address.scheme}://{address.hosts}{address.path.rstrip('/').removesuffix(_PATH)}"
        self._headers = {"Content-Type": "application/json"}
        if address.username is not None:
            user, password = unquote(address.username), unquote(address.password or "")
            secrets.remember_login(user, password)
            self._headers["Authorization"] = f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"
        try:
            self._expires_after: timedelta = TypeAdapter(Duration).validate_python(
                settings.get("expires_after", _EXPIRES_AFTER)
            )
        except ValidationError as error:
            raise SetupError(f"`expires_after`: {error.errors()[0]['msg']}") from error
        if not self._expires_after:
            raise SetupError("`expires_after` must be longer than 0s: alerts would never fire")

    def notify(self, notice: Notice, timeout_s: float) -> MessagePlace:
        """Send the alerts of all incidents in the notice; a digest has none."""
        self._send(notice, timeout_s)
        return MessagePlace(message_id=notice.id)

    def edit(self, notice: Notice, timeout_s: float) -> None:
        """Send the incidents' alerts again, in their current state."""
        self._send(notice, timeout_s)

    def find(self, notice: Notice, timeout_s: float) -> MessagePlace | None:  # noqa: ARG002 -- nothing to look up
        """Always None: nothing has to be looked up, because Alertmanager treats a repeated alert as the same alert."""
        return None

    def _send(self, notice: Notice, timeout_s: float) -> None:
        now = utc_now()
        alerts = [_alert(notice, incident, now, self._expires_after) for incident in notice.incidents]
        if not alerts:
            return
        try:
            answer = post(f"{self._where}{_PATH}", json.dumps(alerts).encode(), self._headers, timeout_s * _PART)
        except NoAnswerError as error:
            line = f"no answer from {self._where}: {error}"
            # It does not matter whether the request arrived: Alertmanager treats a repeated alert as the same alert.
            raise CallFailedError(line, stored=False, everywhere=True, late=error.late) from error
        _check(answer, self._where)


def _alert(notice: Notice, incident: ReportedIncident, now: datetime, expires_after: timedelta) -> dict[str, Any]:
    """The incident as an alert for Alertmanager's API. Alertmanager identifies an alert by its labels, so the labels
    contain no figure, which would change from day to day.
    """
    ends = now + expires_after if incident.is_open else now
    begins = min(datetime.combine(incident.opened, time(), UTC), now)
    annotations = {"summary": incident.headline, "impact": incident.figures, "report": incident.link}
    alert: dict[str, Any] = {
        "labels": {
            "alertname": incident.rule,
            "target": notice.target,
            "rule": incident.code,
            "subject": incident.subject,
            "severity": incident.severity,
            "owner": notice.owner,
            "fingerprint": incident.fingerprint,
        },
        "annotations": {name: text for name, text in annotations.items() if text},
        "startsAt": begins.isoformat(),
        "endsAt": ends.isoformat(),
    }
    return alert | ({"generatorURL": incident.link} if incident.link else {})


def _check(answer: HttpAnswer, where: str) -> None:
    """Raise NotifyError unless Alertmanager accepted the alerts: 200 with an empty body. It explains a rejection in
    JSON.
    """
    body = answer.body.decode(errors="replace").strip()
    if answer.status == HTTPStatus.OK and not body:
        return
    said = f"HTTP {answer.status}: {printable(body)}" if body else f"HTTP {answer.status}"
    if answer.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        raise SetupError(f"{where} rejects the login in `url` (HTTP {answer.status})")
    if answer.status in (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY) and body[:1] in ('"', "{"):
        raise NoticeRefusedError(f"{where} refuses the alerts ({said})")
    if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise NotifyError(f"{where} is busy or down ({said})", everywhere=True)
    raise SetupError(f"something other than Alertmanager answers at {where} ({said}); check `url`")
