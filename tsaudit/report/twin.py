"""The report's JSON twin: what programs read instead of the page.

One object. `schema_version` is raised when a field changes its meaning or goes; new fields may come at any time.

    schema_version  1
    tsaudit_version, target, engine, server_version, day, audited_at, verdict
    counts          findings by severity, of those that are neither accepted nor snoozed
    report          file name of the page
    run_url         the run that made it, or null
    result          the AuditResult: every rule with outcome, limits, findings and gaps
    fingerprints    for each rule code, the fingerprints of its findings, in the order of `result`; also the page's
                    anchors, as `#f-<fingerprint>`
    figures         the profile's figures: name, database, measurement, column, value, how, standard_error
    gaps, costs     what was not measured, and what measuring cost
    incidents       fingerprint, code, state, severity, owner, first_seen, opened, resolved, decision
    changes         fingerprints of new, gone and no longer judged findings against the run before, or null

Sample values are redacted unless `report.values` is `full`.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from tsaudit.finding import AuditResult, Finding, RuleResult, fingerprint
from tsaudit.jsonfile import to_json
from tsaudit.profile import Profile
from tsaudit.report import foreign
from tsaudit.report.changes import RunChanges
from tsaudit.timeline import figures

if TYPE_CHECKING:
    from tsaudit.history.incidents import Incident

SCHEMA_VERSION: Final = 1


def twin(
    result: AuditResult,
    profile: Profile | None,
    incidents: Iterable[Incident],
    changes: RunChanges | None,
    counts: Mapping[str, int],
    *,
    full_values: bool,
    run_url: str | None,
) -> bytes:
    """The JSON document; the same input always gives the same bytes."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "tsaudit_version": result.tsaudit_version,
        "target": result.target,
        "engine": result.engine,
        "server_version": result.server_version,
        "day": result.day.isoformat(),
        "audited_at": result.audited_at.isoformat(),
        "verdict": result.verdict.value,
        "counts": dict(counts),
        "report": f"{result.day.isoformat()}.html",
        "run_url": run_url,
        "result": _plain(_showable(result, full_values=full_values)),
        "fingerprints": {
            r.code: [fingerprint(result.target, r.code, f.subject) for f in r.findings]
            for r in result.results
            if r.findings
        },
        "figures": [_figure(f) for f in figures(profile)] if profile else [],
        "gaps": [_plain(gap) for gap in profile.gaps] if profile else [],
        "costs": [_plain(cost) for cost in profile.costs] if profile else [],
        "incidents": [_incident(i) for i in sorted(incidents, key=lambda i: i.fingerprint)],
        "changes": _changes(changes),
    }
    return json.dumps(document, separators=(",", ":"), ensure_ascii=True).encode()


def _plain(value: object) -> Any:
    return json.loads(to_json(value))


def _showable(result: AuditResult, *, full_values: bool) -> AuditResult:
    def of_finding(finding: Finding) -> Finding:
        samples = foreign.shown(finding.samples, full=full_values, most=len(finding.samples))
        return dataclasses.replace(finding, samples=samples) if finding.samples else finding

    def of_rule(rule: RuleResult) -> RuleResult:
        return dataclasses.replace(rule, findings=tuple(map(of_finding, rule.findings)))

    return dataclasses.replace(result, results=tuple(map(of_rule, result.results)))


def _figure(figure: Any) -> dict[str, Any]:
    return {
        "name": figure.name,
        "database": figure.subject.database,
        "measurement": figure.subject.measurement,
        "column": figure.subject.column,
        "value": figure.value,
        "how": figure.how.value,
        "standard_error": figure.standard_error,
    }


def _incident(incident: Incident) -> dict[str, Any]:
    decision = incident.decision
    return {
        "fingerprint": incident.fingerprint,
        "code": incident.code,
        "state": str(incident.state),
        "severity": str(incident.severity),
        "owner": incident.owner,
        "first_seen": incident.first_seen.isoformat(),
        "opened": incident.opened.isoformat() if incident.opened else None,
        "resolved": incident.resolved.isoformat() if incident.resolved else None,
        "decision": {
            "kind": str(decision.kind),
            "owner": decision.owner,
            "reason": decision.reason,
            "until": decision.until.isoformat() if decision.until else None,
        }
        if decision
        else None,
    }


def _changes(changes: RunChanges | None) -> dict[str, Any] | None:
    if changes is None:
        return None
    return {
        "day_before": changes.day_before.isoformat(),
        "verdict_before": changes.verdict_before.value,
        "new": [c.fingerprint for c in changes.new],
        "gone": [c.fingerprint for c in changes.gone],
        "not_judged": [c.fingerprint for c in changes.not_judged],
    }
