"""Settings, incidents and audited days for the tests of alerts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

import pytest

from tests.alerts.slack_double import TOKEN, SlackDouble
from tests.builders import DAY, a_finding, a_result, a_rule_result
from tsaudit import alerts
from tsaudit.alerts.calls import SendingPace
from tsaudit.config.settings import Settings
from tsaudit.history import incidents
from tsaudit.history.lifecycle import Incident, IncidentState
from tsaudit.history.store import Store
from tsaudit.model.figures import Subject
from tsaudit.model.finding import AuditResult, Finding, Severity, fingerprint

REPORT = "https://reports.example/demo/2026-03-31.html"
RUN = "https://dagster.example/runs/1"


def settings(**changes: Any) -> Settings:
    """Without Slack; one target, `demo`."""
    content: dict[str, Any] = {
        "owners": {"default": {"channel": "#default"}, "dba": {"channel": "#dba", "mention": "U0DBA"}},
        "targets": [{"name": "demo", "engine": "duckdb", "url": "duckdb:///x"}],
        "incidents": {"resolve_after": 1},
    }
    return Settings.model_validate(content | changes)


def with_token(double: SlackDouble, **changes: Any) -> Settings:
    return settings(slack={"token": TOKEN, "base_url": double.base_url}, **changes)


def with_webhook(double: SlackDouble, **changes: Any) -> Settings:
    return settings(slack={"webhook": double.webhook}, **changes)


def fast(slept: list[float] | None = None) -> alerts.SendingPace:
    """A pace that never sleeps, but notes for how long it would have."""
    return SendingPace(sleep=(slept if slept is not None else []).append, lock_wait_s=5)


@pytest.fixture
def fast_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Audits send their messages at that pace."""
    monkeypatch.setattr(alerts, "SendingPace", fast)


def a_context(day: date = DAY, **changes: Any) -> alerts.RunContext:
    values: dict[str, Any] = {
        "target": "demo",
        "engine": "duckdb",
        "day": day,
        "verdict": a_result().verdict,
        "report_url": REPORT,
        "run_url": RUN,
    }
    return alerts.RunContext(**values | changes)


def an_incident(finding: Finding | None = None, **changes: Any) -> Incident:
    found = finding or a_finding()
    target, code = changes.get("target", "demo"), changes.get("code", "CAR001")
    values: dict[str, Any] = {
        "target": target,
        "fingerprint": fingerprint(target, code, found.subject),
        "code": code,
        "rule": "high-series-cardinality",
        "subject": found.subject,
        "state": IncidentState.OPEN,
        "severity": found.severity,
        "owner": "default",
        "first_seen": DAY - timedelta(days=3),
        "opened": DAY,
        "resolved": None,
        "day": DAY,
        "finding": found,
        "decision": None,
    }
    return Incident(**values | changes)


def subject(number: int) -> Subject:
    return Subject("main", f"table_{number}", "host")


def found(*numbers: int, severity: Severity = Severity.WARNING, **changes: Any) -> list[Finding]:
    return [a_finding(subject(n), severity, message=f"Table {n} is bad.", **changes) for n in numbers]


@dataclass
class History:
    """A store, and the days audited so far, one after the other."""

    store: Store
    settings: Settings
    day: date = DAY
    reports: list[alerts.SendReport] = field(default_factory=list)

    def audit(self, findings: Sequence[Finding], *, target: str = "demo", **context: Any) -> list[str]:
        """Audit the present day: save, carry the incidents on, queue. The ids of the messages."""
        result = a_result(a_rule_result(*findings), target=target, day=self.day)
        return self.conclude(result, **context)

    def conclude(self, result: AuditResult, **context: Any) -> list[str]:
        self.store.save(None, result, REPORT)
        target = next((t for t in self.settings.targets if t.name == result.target), self.settings.targets[0])
        owner = alerts.owner_of(self.settings, target)
        changes = incidents.update(self.store, result, self.settings.incidents, owner)
        seen = a_context(result.day, target=result.target, verdict=result.verdict, **context)
        return alerts.queue(self.store, self.settings, changes, seen)

    def next_day(self, findings: Sequence[Finding], **context: Any) -> list[str]:
        self.day += timedelta(days=1)
        return self.audit(findings, **context)

    def send(self, out: Callable[[str], None] = print, pace: alerts.SendingPace | None = None) -> alerts.SendReport:
        report = alerts.send(self.store, self.settings, out, pace or fast())
        self.reports.append(report)
        return report
