"""Audit results as dictionaries for JSON, and as lines for people; both have the same content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from tsaudit.cli import show
from tsaudit.text import many, size
from tsaudit.text.findings import baseline_offer, sentence

if TYPE_CHECKING:
    from tsaudit.model.finding import AuditResult, Finding, RuleResult
    from tsaudit.model.plan import Plan
    from tsaudit.model.profile import Profile
    from tsaudit.run import AuditRun

_WORST: Final = 20
"""Findings printed per target without `--all`; the report has the rest."""
_FIRST_STEPS: Final = 5
"""Plans per target whose first step is printed without `--all`."""


def of_run(run: AuditRun) -> dict[str, Any]:
    """One audited target, with the keys that `docs/cli.md` lists."""
    nothing = _empty(run.target, run.day.isoformat(), str(run.verdict))
    found = of_result(run.result, run.profile) if run.result else nothing
    return found | {
        "error": run.error,
        "complete": run.is_complete,
        "first": run.is_first,
        "report": run.report.url if run.report else None,
        "seconds": run.seconds,
        "cost": _cost(run.profile) if run.profile else None,
    }


def of_result(result: AuditResult, profile: Profile | None) -> dict[str, Any]:
    """The same for a result alone, with its profile: no report, no error."""
    return _empty(result.target, result.day.isoformat(), str(result.verdict)) | {
        "engine": result.engine,
        "server_version": result.server_version,
        "findings": [_finding(result, rule, finding) for rule, finding in result.findings()],
        "plans": [_plan(plan, result.target) for plan in result.plans],
        "not_judged": [
            {"code": r.code, "name": r.name, "outcome": str(r.outcome), "reason": r.reason}
            for r in result.results
            if r.verdict == "unknown" or (r.gaps and r.findings)
        ],
        "complete": result.is_complete(profile),
        "rules": [{"code": r.code, "name": r.name, "outcome": str(r.outcome)} for r in result.results],
        "error": result.not_audited.reason if result.not_audited else None,
    }


def _empty(target: str, day: str, verdict: str) -> dict[str, Any]:
    return {
        "target": target,
        "day": day,
        "verdict": verdict,
        "engine": "",
        "server_version": "",
        "findings": [],
        "plans": [],
        "not_judged": [],
        "complete": False,
        "first": False,
        "rules": [],
        "error": None,
        "report": None,
        "seconds": None,
        "cost": None,
    }


def _cost(profile: Profile) -> dict[str, Any]:
    """What the audit cost the database; null if the engine does not report it."""
    from tsaudit.report.coverage import bill

    total = bill(profile).total
    return {name: getattr(total, name) for name in ("statements", "seconds", "rows", "bytes_scanned", "bytes_metered")}


def _finding(result: AuditResult, rule: RuleResult, finding: Finding) -> dict[str, Any]:
    from tsaudit.model.finding import fingerprint

    limit = finding.limit
    return {
        "fingerprint": fingerprint(result.target, rule.code, finding.subject),
        "severity": str(finding.severity),
        "code": rule.code,
        "name": rule.name,
        "subject": str(finding.subject),
        "message": finding.message,
        "sentence": sentence(finding),
        "fix": finding.fix,
        "guilty": finding.guilty,
        "share": finding.share,
        "observed": finding.observed,
        "unit": finding.unit,
        "limit": limit and {"name": limit.name, "value": limit.value, "unit": limit.unit, "origin": limit.origin},
        "since": finding.since and finding.since.isoformat(),
        "days_to_limit": finding.forecast and finding.forecast.days,
    }


def _plan(plan: Plan, target: str) -> dict[str, Any]:
    """The subject of the plan, its first step, and its length; `tsaudit plan` prints all steps."""
    from tsaudit.planning import words

    begins = words.beginning(plan, target)
    return {
        "subject": str(plan.subject),
        "steps": len(plan.steps),
        "need_a_decision": sum(step.needs_decision for step in plan.steps),
        "first_step": begins and begins.sentence,
        "statement": begins.statement if begins else "",
        "command": words.command(plan.subject, target),
    }


def print_text(found: dict[str, Any], everything: bool) -> None:
    """The target's verdict, its findings with their fixes, what was not evaluated and why, and the report's address."""
    engine = f"{found['engine']} {found['server_version']}".strip()
    heading = "  ".join(part for part in (engine, found["day"]) if part)
    click.echo(f"{click.style(found['target'], bold=True)}  {show.word(found['verdict'])}  {heading}")
    findings = found["findings"]
    for one in findings if everything else findings[:_WORST]:
        where = f"{one['code']}  {one['subject']}"
        click.echo(f"  {show.word(one['severity'], 8)}  ", nl=False)
        show.line(where)
        show.paragraph(one["sentence"], "    ")
        show.paragraphs(f"Fix: {one['fix']}", "    ")
    if not everything and len(findings) > _WORST:
        show.line(f"  ... and {many(len(findings) - _WORST, 'finding')} more; pass --all to print them")
    if found["plans"]:
        _print_plans(found, everything)
    if not found["complete"] and not found["not_judged"] and not found["error"]:
        show.line("  incomplete: not everything was measured, though no rule lacked it; the report lists the gaps")
    for reason, codes in _not_judged(found).items():
        click.echo(f"  {show.word('unknown', 8)}  {', '.join(codes)}")
        show.paragraph(reason, "    ")
    if (cost := found["cost"]) and cost["bytes_metered"] is not None:
        show.line(f"  cost    {_charged(cost)}")
    if found["first"] and any(one["severity"] != "info" for one in findings):
        show.paragraph(baseline_offer(found["target"]), "  ")
    if found["report"]:
        show.line(f"  report  {found['report']}")


def _print_plans(found: dict[str, Any], everything: bool) -> None:
    plans = found["plans"]
    show.line(f"  plans   {many(len(plans), 'plan')}; see `tsaudit plan {found['target']}`")
    for one in plans if everything else plans[:_FIRST_STEPS]:
        if one["first_step"]:
            show.paragraph(f"{one['subject']}: {one['first_step']}", "    ")
        if one["statement"]:
            show.paragraphs(one["statement"], "      ")


def _charged(cost: dict[str, Any]) -> str:
    """What the provider will bill."""
    scanned, metered = size(cost["bytes_scanned"] or 0), size(cost["bytes_metered"])
    return f"{many(cost['statements'], 'statement')}, {scanned} scanned, {metered} billed"


def _not_judged(found: dict[str, Any]) -> dict[str, list[str]]:
    """Reason to the codes of the rules that could not be evaluated because of it, without those that are findings
    already.
    """
    alike: dict[str, list[str]] = {}
    for one in found["not_judged"]:
        reason = one["reason"] or one["outcome"]
        # A database that was not audited is a finding itself.
        if not any(f["code"] == one["code"] and one["outcome"] == "error" for f in found["findings"]):
            alike.setdefault(reason, []).append(one["code"])
    return alike
