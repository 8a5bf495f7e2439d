"""The pure stage: a profile, the days before and the limits in; verdicts out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from tsaudit import not_audited, plugins
from tsaudit.model.finding import AuditResult, Finding, Outcome, RuleResult, Severity, worst_first
from tsaudit.model.jsonfile import from_json, to_json
from tsaudit.model.profile import Gap, Profile, utc_now
from tsaudit.model.timeline import Timeline
from tsaudit.model.version import VERSION
from tsaudit.planning.plans import plans_of, with_words
from tsaudit.rule import Case, LimitPolicy, Rule, RulePolicy
from tsaudit.rules import all_rules, foreign
from tsaudit.rules import unusable as rules_unusable
from tsaudit.text import many


def audit(
    profile: Profile,
    timeline: Timeline | None = None,
    policy: LimitPolicy | None = None,
    rules: Iterable[Rule] | None = None,
    now: datetime | None = None,
    switches: RulePolicy | None = None,
) -> AuditResult:
    """Judge the profile by every rule. A rule that breaks is an `error` result; the others go on.

    What was not audited, the whole target or a database, is a result as well, unless `rules` are given: `None` stands
    for all of them. Where nothing was looked at it is the only one, because no rule could say more. `switches`: rules
    that the configuration switches off, or whose findings it gives another severity; None for none.
    """
    chosen = all_rules() if rules is None else tuple(rules)
    if rules is None and not_audited.unseen(profile) is not None:
        chosen = ()
    days, limits, switched = timeline or Timeline(), policy or LimitPolicy(), switches or RulePolicy()
    results = [_apply(rule, profile, days, limits, switched) for rule in chosen]
    if rules is None and (missed := not_audited.missed(profile, results, timeline.previous if timeline else None)):
        results.append(not_audited.result_of(missed))
    if rules is None and (unusable := foreign.result_of(rules_unusable())):
        results.append(unusable)
    plans = plans_of(profile, results)
    return AuditResult(
        target=profile.target,
        engine=profile.engine,
        server_version=profile.server_version,
        day=profile.day,
        audited_at=now or utc_now(),
        tsaudit_version=VERSION,
        results=tuple(with_words(profile, result) for result in results),
        plans=plans,
    )


def required_facts(engine: str, rules: Iterable[Rule] | None = None) -> frozenset[str]:
    """The facts that the rules applying to the engine look at."""
    chosen = all_rules() if rules is None else tuple(rules)
    return frozenset().union(*(r.requires | r.uses for r in chosen if engine in r.engines))


def _apply(rule: Rule, profile: Profile, timeline: Timeline, policy: LimitPolicy, switches: RulePolicy) -> RuleResult:
    case = Case(rule, profile, timeline, policy)
    limits = tuple(case.limit(t.name) for t in rule.thresholds)

    def result(
        outcome: Outcome, findings: tuple[Finding, ...] = (), gaps: tuple[Gap, ...] = (), reason: str = ""
    ) -> RuleResult:
        return RuleResult(
            code=rule.code,
            name=rule.name,
            title=rule.title,
            family=rule.family,
            guidelines=rule.guidelines,
            outcome=outcome,
            findings=findings,
            gaps=gaps,
            reason=reason,
            limits=limits,
            why=" ".join(rule.section("Why it matters").split()),
        )

    if switches.is_off(rule.code, rule.name):
        off = result(Outcome.NOT_APPLICABLE, reason="switched off by `rules` in tsaudit.yaml")
        return replace(off, switched_off=True)
    product = f"{profile.engine} {profile.edition}"
    if profile.engine not in rule.engines or product in rule.moot:
        name = product if product in rule.moot else profile.engine
        because = f": {rule.moot[name]}" if name in rule.moot else ""
        return result(Outcome.NOT_APPLICABLE, reason=f"does not apply to {name}{because}")
    missing = rule.requires - set(profile.facts)
    if missing:
        return result(Outcome.NOT_APPLICABLE, reason=f"{profile.engine} does not offer {', '.join(sorted(missing))}")
    gaps = tuple(gap for gap in profile.gaps if gap.fact in rule.gaps_matter_in and _is_on(rule, switches, gap))
    try:
        found = (_with_severity(rule, switches, finding) for finding in rule.check(case))
        kept = with_series(profile, [finding for finding in found if finding is not None])
        findings = tuple(sorted(kept, key=lambda finding: worst_first(rule.code, finding)))
        if rule.package:
            findings = _storable(findings)
    except (Exception, SystemExit) as error:
        # The code of another package may even try to leave.
        return result(Outcome.ERROR, gaps=gaps, reason=plugins.why(error))
    reason = f"{many(len(gaps), 'gap')}, the first: {gaps[0].detail}" if gaps else ""
    if findings:
        return result(Outcome.FAIL, findings, gaps, reason)
    return result(Outcome.OPEN if gaps else Outcome.PASS, (), gaps, reason)


def _storable(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The findings as the history would give them back: what is not as it should be breaks its rule, not the report."""
    for change in (change for finding in findings for change in finding.changes):
        # The plan asks for both; a kind of change that another package brings must not break it there.
        change.claims()
        change.relies_on()
    try:
        return from_json(tuple[Finding, ...], to_json(findings))
    except ValueError as error:
        raise TypeError(f"a finding cannot be stored: {' '.join(str(error).split())}") from error


def with_series(profile: Profile, findings: Sequence[Finding]) -> Iterator[Finding]:
    """The findings with the series each of them affects."""
    known = profile.measurements if findings else ()
    series = {(m.database, m.name): m.series.value if m.series else None for m in known}
    for finding in findings:
        subject, share = finding.subject, 1.0 if finding.share is None else finding.share
        count = series.get((subject.database, subject.measurement), profile.series)
        yield replace(finding, affected_series=None if count is None else count * share)


def _is_on(rule: Rule, switches: RulePolicy, gap: Gap) -> bool:
    """Whether the rule is to judge what the gap is about."""
    if not switches.measurements or gap.measurement is None:
        return True
    return switches.setting(rule.code, rule.name, gap.measurement) != "off"


def _with_severity(rule: Rule, switches: RulePolicy, finding: Finding) -> Finding | None:
    """The finding as the configuration wants it; None where the rule is switched off."""
    setting = switches.setting(rule.code, rule.name, finding.subject.measurement)
    if setting is None or setting == "on":
        return finding
    return None if setting == "off" else replace(finding, severity=Severity(setting))
