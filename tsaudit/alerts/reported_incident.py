"""The incidents of a message one by one, for notifiers that track each incident, such as Alertmanager."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from tsaudit.model.finding import Severity
from tsaudit.summary import of_finding
from tsaudit.text import printable
from tsaudit.text.headline import headline

if TYPE_CHECKING:
    from tsaudit.alerts.message import RunContext
    from tsaudit.history.incidents import Incident


@dataclass(frozen=True, slots=True)
class ReportedIncident:
    """An incident in a notice. All texts are one line without control characters."""

    fingerprint: str
    code: str
    """Code of the rule."""
    rule: str
    """The rule's name."""
    subject: str
    """Database, table, and column of the finding, as text."""
    severity: str
    """`warning` or `critical`."""
    is_open: bool
    """Whether the incident is open. False: it ended, has another severity now, or has another owner."""
    opened: date
    headline: str
    figures: str
    """The cost, the measured value, and the time left, as far as known."""
    link: str
    """Address of the finding in the report; empty if the report has none that people can open."""

    @classmethod
    def of(cls, incident: Incident, severity: Severity, context: RunContext, *, is_open: bool) -> ReportedIncident:
        """The incident at a severity that it has now or had before."""
        summary = of_finding(incident.finding, incident.code, context.plans, context.target, context.day)
        page = context.report_url or ""
        return cls(
            fingerprint=incident.fingerprint,
            code=incident.code,
            rule=printable(incident.rule),
            subject=printable(str(incident.subject), 400),
            severity=str(severity),
            is_open=is_open,
            opened=incident.opened or incident.first_seen,
            headline=printable(headline(incident.finding), 400),
            figures=printable("; ".join(f"{f.label}: {f.text.rstrip('.')}" for f in summary.figures), 1000),
            link=f"{page}#f-{incident.fingerprint}" if page.lower().startswith("http") else "",
        )

    def to_payload(self) -> dict[str, Any]:
        """The incident as JSON values."""
        return dataclasses.asdict(self) | {"opened": self.opened.isoformat()}

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> ReportedIncident:
        """The incident from the output of `to_payload`."""
        values = dict(payload)
        return cls(**values | {"opened": date.fromisoformat(values["opened"])})
