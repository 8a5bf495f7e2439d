"""Audit results as dictionaries: the command's JSON, from which all other formats are made."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

from tsaudit.text.findings import sentence

if TYPE_CHECKING:
    from tsaudit.model.finding import AuditResult, Finding, RuleResult
    from tsaudit.model.plan import Plan
    from tsaudit.model.profile import Profile
    from tsaudit.run import AuditRun


def of_run(run: AuditRun, *, news_first: bool = False) -> dict[str, Any]:
    """The result of one audited target, with the keys that `docs/cli.md` lists. `news_first`: whether its summary is
    about the worst new finding, if there is one.
    """
    from tsaudit.history.lifecycle import confirms_end

    nothing = _empty(run.target, run.day.isoformat(), str(run.verdict))
    news = [incident.fingerprint for incident in run.new] if news_first else []
    decided = (run.muted, run.acknowledged)
    found = of_result(run.result, run.profile, *decided, news) if run.result else nothing
    return found | {
        "error": run.error,
        "final": run.is_final,
        "changes": [
            {
                "kind": str(change.kind),
                "fingerprint": change.incident.fingerprint,
                "severity": str(change.incident.severity),
                "code": change.incident.code,
                "subject": str(change.incident.subject),
            }
            for change in run.changes
            if change.kind != "continued"
            if change.kind != "resolved" or run.result is None or confirms_end(run.result, change.incident)
        ],
        "new": [f"{incident.code} {incident.subject}" for incident in run.new],
        "complete": run.is_complete,
        "first": run.is_first,
        "report": run.report.url if run.report else None,
        "seconds": run.seconds,
        "cost": _cost(run.profile) if run.profile else None,
    }


def of_result(
    result: AuditResult,
    profile: Profile | None,
    muted: Mapping[str, date] | None = None,
    acknowledged: Mapping[str, str] | None = None,
    news: Collection[str] = (),
) -> dict[str, Any]:
    """The same dictionary for a stored result and its profile, without report and changes.

    `muted`, `news`: the findings that the summary does not lead with, and those that it does, as for
    `summary.of_result`. `acknowledged`: fingerprint to who acknowledged it.
    """
    muted, acknowledged = muted or {}, acknowledged or {}
    from tsaudit import summary
    from tsaudit.model.finding import fingerprint
    from tsaudit.planning import describe

    unmuted = result.without(muted)
    return _empty(result.target, result.day.isoformat(), str(unmuted.verdict)) | {
        "engine": result.engine,
        "server_version": result.server_version,
        "summary": dataclasses.asdict(summary.of_result(result, profile, muted, news)),
        "findings": [
            of_finding(result, rule, finding, key in muted, acknowledged.get(key))
            for rule, finding in result.findings()
            for key in (fingerprint(result.target, rule.code, finding.subject),)
        ],
        "plans": [_plan(plan, result.target) for plan in result.plans if not muted or describe.behind(plan, unmuted)],
        "not_evaluated": [
            {"code": r.code, "name": r.name, "outcome": str(r.outcome), "reason": r.reason}
            for r in result.results
            if r.is_lacking
        ],
        "left_out": [
            {"code": r.code, "name": r.name, "left_out": r.not_evaluated} for r in result.results if r.leaves_out
        ],
        "complete": result.is_complete(profile),
        "measured": _measured(profile) if profile else None,
        "rules": [
            {"code": r.code, "name": r.name, "title": r.title, "outcome": str(r.outcome)} for r in result.results
        ],
        "error": result.not_audited.reason if result.not_audited else None,
        "audited_at": result.audited_at.isoformat(),
        "failed_at": result.failed_at and result.failed_at.isoformat(),
    }


def unknown_rules(found: dict[str, Any]) -> list[dict[str, Any]]:
    """The rules that could not be evaluated, except for codes that are findings already, such as a database that was
    not audited.
    """
    codes = {one["code"] for one in found["findings"]}
    return [one for one in found["not_evaluated"] if one["outcome"] != "error" or one["code"] not in codes]


def _empty(target: str, day: str, verdict: str) -> dict[str, Any]:
    from tsaudit.summary import Summary

    return {
        "target": target,
        "day": day,
        "verdict": verdict,
        "engine": "",
        "server_version": "",
        "summary": dataclasses.asdict(Summary("")),
        "findings": [],
        "plans": [],
        "not_evaluated": [],
        "left_out": [],
        "complete": False,
        "first": False,
        "measured": None,
        "rules": [],
        "changes": [],
        "new": [],
        "error": None,
        "final": False,
        "audited_at": None,
        "failed_at": None,
        "report": None,
        "seconds": None,
        "cost": None,
    }


def _measured(profile: Profile) -> dict[str, Any]:
    """The size of the target; null where it is not known."""
    from tsaudit.text.table_roles import guessed_tags

    return {
        "measurements": len(profile.measurements) if profile.all_listed() else None,
        "series": profile.series,
        "guessed_tags": sum(len(guessed_tags(measurement)) for measurement in profile.measurements),
        "not_measured": len(profile.gaps),
    }


def _cost(profile: Profile) -> dict[str, Any]:
    """What the audit cost the database; null if the engine does not report it."""
    from tsaudit.report.coverage import query_cost

    total = query_cost(profile)
    return {name: getattr(total, name) for name in ("statements", "seconds", "rows", "bytes_scanned", "bytes_metered")}


def of_finding(
    result: AuditResult, rule: RuleResult, finding: Finding, muted: bool, acknowledged_by: str | None
) -> dict[str, Any]:
    """One finding of the result, as a dictionary. `acknowledged_by`: None if nobody acknowledged it."""
    from tsaudit.model.finding import fingerprint
    from tsaudit.text.findings import headline

    limit = finding.limit
    return {
        "fingerprint": fingerprint(result.target, rule.code, finding.subject),
        "muted": muted,
        "acknowledged_by": acknowledged_by,
        "severity": str(finding.severity),
        "code": rule.code,
        "name": rule.name,
        "subject": str(finding.subject),
        "headline": headline(finding),
        "message": finding.message,
        "sentence": sentence(finding),
        "fix": finding.fix,
        "main_contributor": finding.main_contributor,
        "together_with": list(finding.together_with),
        "share": finding.share,
        "observed": finding.observed,
        "unit": finding.unit,
        "limit": limit and {"name": limit.name, "value": limit.value, "unit": limit.unit, "origin": limit.origin},
        "basis": str(finding.basis),
        "impact": finding.impact
        and {
            "currency": str(finding.impact.currency),
            "now": finding.impact.now,
            "whole": finding.impact.whole,
            "per_day": finding.impact.per_day,
            "days_left": finding.impact.days_left,
            "how": finding.impact.how,
        },
        "severity_reason": finding.severity_reason,
        "if_nothing_is_done": finding.consequence,
        "since": finding.since and finding.since.isoformat(),
        "days_to_limit": finding.days_left,
    }


def _plan(plan: Plan, target: str) -> dict[str, Any]:
    """The plan's measurements, its first step, and its number of steps; `tsaudit plan` prints all steps."""
    from tsaudit.planning import describe

    begins = describe.beginning(plan, target)
    return {
        "subject": str(plan.subject),
        "also": [str(one) for one in plan.also],
        "steps": len(plan.steps),
        "first_step": begins.sentence,
        "statement": begins.statement,
        "command": begins.rest,
    }
