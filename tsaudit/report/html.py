"""Renders the page: a result and its context become one self-contained HTML document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tsaudit import summary as brief
from tsaudit.engines.registry import ENGINES
from tsaudit.model.finding import AuditResult, Severity, Verdict
from tsaudit.model.plan import Plan
from tsaudit.model.profile import How, Profile
from tsaudit.model.timeline import Timeline
from tsaudit.planning import describe
from tsaudit.report import changes, charts, coverage, findings, tables, templates
from tsaudit.text import plural
from tsaudit.text.findings import baseline_offer

if TYPE_CHECKING:
    from tsaudit.history.lifecycle import Incident


@dataclass(frozen=True, slots=True)
class ReportContents:
    """Everything in a report, before it is rendered."""

    result: AuditResult
    profile: Profile | None
    timeline: Timeline
    items: Sequence[findings.Item]
    incidents: Sequence[Incident]
    run_changes: changes.RunChanges | None
    schema_changes: Sequence[changes.SchemaChange]
    movement: changes.Movement | None
    """What changed since the previous snapshot; None without one, or if nothing was measured today."""
    run_url: str | None
    verdict: Verdict
    """The verdict without muted findings."""
    full_values: bool
    warning: str
    """A problem that makes the audit itself doubtful, in one line; empty if there is none."""
    usual_scope: str
    """The scope of most exact counts: the window, in the words of the engine's collector; empty for all data."""
    summary: brief.Summary
    """The worst finding that is not muted, in brief; if there is none, what was evaluated."""
    plans: findings.PlanIndex

    @property
    def counts(self) -> dict[Severity, int]:
        """Number of findings by severity, worst first, without muted ones."""
        found = Counter(i.finding.severity for i in self.items if not i.muted)
        return {severity: found[severity] for severity in reversed(Severity)}

    @property
    def documents(self) -> int | None:
        """Number of documents in all measurements; None if the number is unknown for any of them."""
        counts = [m.rows for m in self.profile.measurements] if self.profile else [None]
        return None if None in counts else sum(count.value for count in counts if count)

    @property
    def series_how(self) -> str:
        """How the number of series of the whole target was measured."""
        return _weakest(self.profile) if self.profile else ""

    @property
    def baseline_offer(self) -> str:
        """A suggestion for the first audit with many findings; empty later, and if there are none."""
        actionable = any(count for severity, count in self.counts.items() if severity is not Severity.NOTE)
        is_first = self.profile is not None and self.timeline.is_empty
        return baseline_offer(self.result.target) if actionable and is_first else ""

    def summary_of(self, item: findings.Item) -> brief.Summary:
        """One finding in brief."""
        near = self.plans.near(item.finding)
        return brief.of_finding(item.finding, item.rule.code, near, self.result.target, self.result.day)

    def plan_of(self, item: findings.Item) -> Plan | None:
        """The plan that includes the changes of the finding; None if no plan does."""
        return describe.of_finding(item.finding, self.plans.near(item.finding))

    def fix_beyond_step(self, item: findings.Item) -> str | None:
        """The rest of the fix if the fix begins with the plan's first step, so that the step is not printed twice; None
        otherwise.
        """
        plan = self.plan_of(item)
        return describe.beyond(item.finding.fix, describe.beginning(plan, self.result.target)) if plan else None


def contents_of(
    result: AuditResult,
    profile: Profile | None,
    timeline: Timeline,
    incidents: Sequence[Incident],
    *,
    full_values: bool,
    run_url: str | None,
    previous: AuditResult | None,
    warning: str = "",
) -> ReportContents:
    """Collect the contents of the page and its JSON file. `warning`: a problem that makes the audit itself doubtful."""
    schema: tuple[changes.SchemaChange, ...] = ()
    moved = None
    if profile is not None and timeline.previous is not None:
        schema = tuple(changes.schema_changes(timeline.previous, profile))
        moved = changes.movement(timeline.previous, profile)
    items = findings.items_of(result, profile, incidents)
    muted = {item.fingerprint for item in items if item.muted}
    return ReportContents(
        result=result,
        profile=profile,
        timeline=timeline,
        items=items,
        incidents=incidents,
        run_changes=changes.compare(previous, result, muted) if previous else None,
        schema_changes=schema,
        movement=moved,
        run_url=run_url if run_url and run_url.startswith(("http://", "https://")) else None,
        verdict=result.without(muted).verdict,
        full_values=full_values,
        warning=warning,
        usual_scope=_usual_scope(profile) if profile else "",
        summary=brief.of_result(result, profile, muted),
        plans=findings.PlanIndex(result.plans),
    )


def page(contents: ReportContents) -> str:
    """The report as HTML."""
    profile, items, summary = contents.profile, contents.items, contents.summary
    arranged = findings.arrange(items)
    changed, engine = contents.run_changes, ENGINES[contents.result.engine]
    view: dict[str, Any] = {
        "contents": contents,
        "summary": summary,
        "worst": next((item for item in items if item.fingerprint == summary.fingerprint), None),
        "result": contents.result,
        "profile": profile,
        "day": contents.result.day,
        "words": engine.words,
        "nouns": plural(0, engine.words.measurement),
        "keeps_documents": engine.keeps_documents,
        "rules_evaluated": brief.rules_evaluated(contents.result),
        "rules_unknown": brief.rules_unknown(contents.result),
        "findings": arranged,
        "plans": findings.arrange_plans(arranged.full, contents.plan_of),
        "new": {change.fingerprint for change in changed.new} if changed else set(),
        "trends": charts.trends(profile, contents.timeline, [i for i in items if not i.muted]),
        "sparks": charts.of_findings(profile, contents.timeline, (*arranged.full, *arranged.muted)),
        "coverage": coverage.coverage(contents.result, profile),
        "rules": [r for r in contents.result.results if r.findings and templates.rule_address(r.code).startswith("#")],
    }
    if profile is not None:
        roles, roles_left_out = tables.roles(profile)
        view |= {
            "roles": roles,
            "roles_left_out": roles_left_out,
            "overview": tables.overview(profile, contents.timeline, items),
            "details": tables.details(profile, items),
            "heat": tables.heat_map(profile),
            "query_cost": coverage.query_cost(profile),
            "costs": sorted(profile.costs, key=lambda c: (-c.seconds, c.fact)),
        }
    return templates.render("report.html.j2", view)


def _usual_scope(profile: Profile) -> str:
    counts = (c for m in profile.measurements for c in (m.series, m.rows) if c is not None)
    scopes = Counter(c.source.scope for c in counts if c.source.how is How.EXACT and c.source.scope)
    return scopes.most_common(1)[0][0] if scopes else ""


def _weakest(profile: Profile) -> str:
    """How the sum was measured: `exact` only if every count in it is."""
    counts = [d.series for d in profile.wholes if d.series is not None]
    with_own = {d.name for d in profile.databases if d.series is not None}
    counts += [m.series for m in profile.measurements if m.database not in with_own and m.series is not None]
    hows = {c.source.how for c in counts}
    return next((str(how) for how in (How.SAMPLED, How.ESTIMATE) if how in hows), str(How.EXACT))
