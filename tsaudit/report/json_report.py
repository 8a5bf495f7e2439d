"""The report as JSON, for programs.

One object. `schema_version` is raised when a field changes its meaning or is removed; new fields may be added at any
time.

    schema_version  1
    tsaudit_version, target, engine, server_version, day, audited_at, verdict
    complete        whether all that was needed was measured
    counts          findings by severity, of those that are not muted
    report          file name of the page
    summary         what every output shows first: headline, figures (label, value, note), first_step, statement
                    (empty where there is none to be used as it is), fingerprint (empty if it is about no finding)
    run_url         the run that created it, or null
    result          the AuditResult: every rule with outcome, limits, findings, and gaps
    fingerprints    for each rule code, the fingerprints of its findings, in the order of `result`; also the page's
                    anchors, as `#f-<fingerprint>`
    headlines       for each rule code, the headlines of its findings, in the same order
    figures         the profile's figures: name, database, measurement, column, value, how, standard_error
    gaps, costs     what was not measured, and what measuring cost
    unused_settings settings that match nothing on the server: setting, value, detail
    tables          how the audit reads the tables, where it infers that: name, kind, kind_reason, time,
                    time_reason, tags, fields (their number), override (the line for tsaudit.yaml that says the same)
    series          of each measurement whose tags were listed: database, measurement, series, worst_case (the product
                    of the tags' values), without_determined (the same without tags that others determine), determined
                    (tag to the tags that it determines), left_without (tag to the series left without it)
    listed          by database, the number of measurements and how many `include` and `exclude` skip
    incidents       fingerprint, code, state, severity, owner, first_seen, opened, resolved, decision
    changes         fingerprints of new, resolved, and no longer evaluated findings since the previous run, or null
    moved           what moved since the previous snapshot: day_before, figures (figure, before, now, not_compared, and
                    movers: database, measurement, column, before, now), not_compared (figures), or null

Sample values are redacted unless `report.values` is `full`.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from tsaudit.analysis.cardinality.contributions import determined_tags
from tsaudit.model.finding import AuditResult, Finding, RuleResult, Verdict, fingerprint
from tsaudit.model.jsonfile import to_json
from tsaudit.model.profile import Measurement, Profile
from tsaudit.model.timeline import Figure, figures
from tsaudit.report import untrusted
from tsaudit.report.changes import RunChanges
from tsaudit.report.movement import Movement
from tsaudit.report.tables import all_roles
from tsaudit.summary import Summary
from tsaudit.text.headline import headline

if TYPE_CHECKING:
    from tsaudit.history.incidents import Incident

SCHEMA_VERSION: Final = 1


def json_report(
    result: AuditResult,
    profile: Profile | None,
    incidents: Iterable[Incident],
    changes: RunChanges | None,
    counts: Mapping[str, int],
    *,
    verdict: Verdict,
    summary: Summary,
    moved: Movement | None,
    full_values: bool,
    run_url: str | None,
) -> bytes:
    """The JSON document; the same input always results in the same bytes."""
    fields: dict[str, bytes] = {
        "schema_version": _json(SCHEMA_VERSION),
        "tsaudit_version": _json(result.tsaudit_version),
        "target": _json(result.target),
        "engine": _json(result.engine),
        "server_version": _json(result.server_version),
        "day": _json(result.day.isoformat()),
        "audited_at": _json(result.audited_at.isoformat()),
        "verdict": _json(verdict.value),
        "complete": _json(result.is_complete(profile)),
        "counts": _json(dict(counts)),
        "report": _json(f"{result.day.isoformat()}.html"),
        "run_url": _json(run_url),
        "summary": _json(_summary(summary)),
        "result": to_json(_showable(result, full_values=full_values)),
        "fingerprints": _json(_of_findings(result, lambda r, f: fingerprint(result.target, r.code, f.subject))),
        "headlines": _json(_of_findings(result, lambda _, f: headline(f))),
        "figures": _json([_figure(f) for f in figures(profile)] if profile else []),
        "gaps": _list(profile.gaps if profile else ()),
        "costs": _list(profile.costs if profile else ()),
        "unused_settings": _list(profile.unused_settings if profile else ()),
        "tables": _list(all_roles(profile) if profile else ()),
        "series": _json([_series(m) for m in profile.measurements if m.tag_sets] if profile else []),
        "listed": _list(profile.listed if profile else ()),
        "incidents": _json([_incident(i) for i in sorted(incidents, key=lambda i: i.fingerprint)]),
        "changes": _json(_changes(changes)),
        "moved": _json(_moved(moved)),
    }
    return b"{" + b",".join(_json(name) + b":" + value for name, value in fields.items()) + b"}"


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _of_findings(result: AuditResult, text: Callable[[RuleResult, Finding], str]) -> dict[str, list[str]]:
    return {r.code: [text(r, finding) for finding in r.findings] for r in result.results if r.findings}


def _summary(summary: Summary) -> dict[str, Any]:
    return {
        "headline": summary.headline,
        "figures": [{"label": f.label, "value": f.value, "note": f.note} for f in summary.figures],
        "first_step": summary.first_step,
        "statement": summary.statement,
        "fingerprint": summary.fingerprint,
    }


def _moved(moved: Movement | None) -> dict[str, Any] | None:
    if moved is None:
        return None
    figures = [
        {
            "figure": one.figure,
            "before": one.total.before,
            "now": one.total.now,
            "not_compared": one.not_compared,
            "movers": [
                {
                    "database": mover.subject.database,
                    "measurement": mover.subject.measurement,
                    "column": mover.subject.column,
                    "before": mover.before,
                    "now": mover.now,
                }
                for mover in one.movers
            ],
        }
        for one in moved.figures
    ]
    return {
        "day_before": moved.day_before.isoformat(),
        "figures": figures,
        "not_compared": list(moved.not_compared),
    }


def _list(values: Iterable[object]) -> bytes:
    return b"[" + b",".join(map(to_json, values)) + b"]"


def _showable(result: AuditResult, *, full_values: bool) -> AuditResult:
    def of_finding(finding: Finding) -> Finding:
        samples = untrusted.shown(finding.samples, full=full_values, most=len(finding.samples))
        return dataclasses.replace(finding, samples=samples) if finding.samples else finding

    def of_rule(rule: RuleResult) -> RuleResult:
        return dataclasses.replace(rule, findings=tuple(map(of_finding, rule.findings)))

    return dataclasses.replace(result, results=tuple(map(of_rule, result.results)))


def _figure(figure: Figure) -> dict[str, Any]:
    return {
        "name": figure.name,
        "database": figure.subject.database,
        "measurement": figure.subject.measurement,
        "column": figure.subject.column,
        "value": figure.value,
        "how": figure.how.value,
        "standard_error": figure.standard_error,
    }


def _series(measurement: Measurement) -> dict[str, Any]:
    sets = measurement.tag_sets
    assert sets is not None
    return {
        "database": measurement.database,
        "measurement": measurement.name,
        "series": sets.series,
        "worst_case": sets.worst_case,
        "without_determined": sets.independent_bound,
        "determined": determined_tags(measurement),
        "left_without": {one.tag: one.series_left for one in sets.contributions},
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
        "not_evaluated": [c.fingerprint for c in changes.not_evaluated],
    }
