"""The pure stage of an audit: takes a profile, earlier days, and limits, and returns verdicts."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, replace
from datetime import datetime
from math import isfinite
from typing import TYPE_CHECKING, Final

from tsaudit import not_audited, plugins
from tsaudit.config.settings import Harm
from tsaudit.engines.registry import ENGINES
from tsaudit.harm import decided
from tsaudit.model.columns import Tag
from tsaudit.model.facts import sources_of
from tsaudit.model.figures import Gap, TableKind, utc_now
from tsaudit.model.finding import AuditResult, Basis, Finding, Outcome, RuleResult, Severity, worst_first
from tsaudit.model.jsonfile import from_json, to_json
from tsaudit.model.profile import Profile
from tsaudit.model.timeline import Timeline
from tsaudit.model.version import VERSION
from tsaudit.net.watchdog import Deadline, OutOfTimeError, within
from tsaudit.policy import LimitPolicy, RulePolicy
from tsaudit.rule import Case, Family, Rule
from tsaudit.rules import rules_for
from tsaudit.rules import unusable as rules_unusable
from tsaudit.text import listed, many, number, printable
from tsaudit.text.table_roles import is_guess

if TYPE_CHECKING:
    from tsaudit.analysis.shapes.name_families import NameFamily
    from tsaudit.model.plan import Plan

_PLUGIN_S: Final = 30.0
"""Seconds that all rules of other packages together may take in one audit: tsaudit's own rules take less than one."""


def evaluate(
    profile: Profile,
    timeline: Timeline | None = None,
    policy: LimitPolicy | None = None,
    rules: Iterable[Rule] | None = None,
    now: datetime | None = None,
    switches: RulePolicy | None = None,
    harm: Harm | None = None,
) -> AuditResult:
    """Run all rules on the profile. A rule that fails is an `error` result; the others continue.

    `rules`: the rules to run; None for all. In that case, a target or database that could not be audited is a result,
    too. If nothing could be measured, it is the only result, because rules could not add anything. `switches`: rules
    that the configuration switches off, or whose severity it sets; None for none. `harm`: the costs from which a
    finding is a warning, or critical; None for the defaults.
    """
    chosen = rules_for(profile.engine) if rules is None else tuple(rules)
    if rules is None and not_audited.unseen(profile) is not None:
        chosen = ()
    days, limits, switched = timeline or Timeline(), policy or LimitPolicy(), switches or RulePolicy()
    plugin_time = Deadline(_PLUGIN_S)
    families: dict[frozenset[str], tuple[NameFamily, ...]] = {}
    prices = harm or Harm()
    unmeasured = Unmeasured(profile)
    cases = (Case(rule, profile, days, limits, prices, families) for rule in chosen)
    results = decided([_apply(case, switched, unmeasured, plugin_time) for case in cases], prices)
    results = [_with_severities(result, switched) for result in results]
    if any(result.findings for result in results):
        from tsaudit.rules.causes import one_per_cause

        results = one_per_cause(profile, chosen, results, prices)
    if rules is None and (missed := not_audited.missed(profile, results, timeline.previous if timeline else None)):
        results.append(not_audited.result_of(missed))
    if rules is None and (unusable := not_audited.unusable_rules(rules_unusable())):
        results.append(unusable)
    plans: tuple[Plan, ...] = ()
    if any(finding.changes for result in results for finding in result.findings):
        from tsaudit.planning.plans import plans_of, with_advice, without_contradictions

        plans = plans_of(profile, results)
        results = [with_advice(profile, result) for result in without_contradictions(results)]
    return AuditResult(
        target=profile.target,
        engine=profile.engine,
        server_version=profile.server_version,
        day=profile.day,
        audited_at=now or utc_now(),
        tsaudit_version=VERSION,
        results=tuple(results),
        plans=plans,
    )


def required_facts(engine: str, rules: Iterable[Rule] | None = None) -> frozenset[str]:
    """The facts that the rules for the engine use."""
    chosen = rules_for(engine) if rules is None else tuple(rules)
    return frozenset().union(*(r.requires | r.uses | r.shows for r in chosen if r.applies_to(engine)))


def _apply(case: Case, switches: RulePolicy, unmeasured: Unmeasured, plugin_time: Deadline) -> RuleResult:
    rule, profile = case.rule, case.profile
    limits = tuple(limit for t in rule.thresholds if isfinite((limit := case.limit(t.name)).value))
    left_out = ""

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
            not_evaluated="; ".join(filter(None, (of_other_kinds(case), left_out, of_names_alone(case)))),
        )

    if switches.is_off(rule.code, rule.name):
        off = result(Outcome.NOT_APPLICABLE, reason="switched off by `rules` in tsaudit.yaml")
        return replace(off, switched_off=True)
    product = f"{profile.engine} {profile.edition}"
    if not rule.applies_to(profile.engine) or product in rule.not_applicable:
        name = product if product in rule.not_applicable else profile.engine
        why = rule.not_applicable.get(product) or rule.why_not_on(profile.engine)
        return result(Outcome.NOT_APPLICABLE, reason=f"does not apply to {name}{f': {why}' if why else ''}")
    missing = rule.requires - set(profile.facts)
    if missing:
        return result(Outcome.NOT_APPLICABLE, reason=f"{profile.engine} does not offer {', '.join(sorted(missing))}")
    if profile.measurements and not case.measurements:
        return result(Outcome.NOT_APPLICABLE, reason=f"there are only {of_other_kinds(case)}")
    others = {(m.database, m.name) for m in profile.measurements if not case.evaluates(m)}
    gaps = tuple(
        gap
        for gap in profile.gaps
        if unmeasured.concerns(rule, gap)
        and _is_on(rule, switches, gap)
        and (gap.database, gap.measurement) not in others
    )
    try:
        if rule.package and plugin_time.left() <= 0:
            reason = f"other rules of installed packages took the {plugin_time.seconds:.3g} s that all of them have"
            return result(Outcome.ERROR, gaps=gaps, reason=f"not run: {reason}")
        if rule.package:
            # In a separate thread: one that never returns is left behind, and ends with the process.
            findings = within(plugin_time.left(), lambda: _storable(_found(case, switches)))
        else:
            findings = _found(case, switches)
            left_out = rule.leaves_out(case) if rule.leaves_out else ""
    except OutOfTimeError:
        reason = f"it did not return within the {plugin_time.seconds:.3g} s that rules of installed packages have"
        return result(Outcome.ERROR, gaps=gaps, reason=reason)
    except (Exception, SystemExit) as error:
        # Code of another package may even call sys.exit.
        return result(Outcome.ERROR, gaps=gaps, reason=plugins.why(error))
    reason = f"{many(len(gaps), 'gap')}, the first: {_first_of(gaps)}" if gaps else ""
    if findings:
        return result(Outcome.FAIL, findings, gaps, reason)
    return result(Outcome.OPEN if gaps else Outcome.PASS, (), gaps, reason)


def _first_of(gaps: Sequence[Gap]) -> str:
    """Why the first gap is there, after the place, and how many more places have one for the same reason."""
    detail = gaps[0].detail
    places = list(dict.fromkeys(gap.place for gap in gaps if gap.detail == detail and gap.place))
    if not places:
        return detail
    others = f" and {number(len(places) - 1)} more" if places[1:] else ""
    return f"{printable(places[0], _LONGEST_PLACE)}{others}: {detail}"


class Unmeasured:
    """What the gaps of a profile leave unknown, by rule."""

    def __init__(self, profile: Profile) -> None:
        self._answered = {(m.database, m.name): set(m.statements) for m in profile.measurements}
        listed = (gap for gap in profile.gaps if gap.fact == "measurements" and profile.is_named(gap))
        # In SQL, measurements of one name are only alike if their columns are.
        self._by_name = profile.engine in ENGINES and not ENGINES[profile.engine].infers_roles
        self._named = {(gap.database, gap.detail) for gap in listed}
        for gap in profile.gaps:
            self._answered.get((gap.database or "", gap.measurement or ""), set()).discard(gap.fact)

    def concerns(self, rule: Rule, gap: Gap) -> bool:
        """Whether the rule lacks something because of the gap. It does not if everything that it derives from this fact
        was measured in another way, or if the budget leaves out measurements whose names are enough.
        """
        is_known = gap.fact == "measurements" or (rule.by_name and self._by_name)
        if is_known and (gap.database, gap.detail) in self._named:
            return False
        answered = self._answered.get((gap.database or "", gap.measurement or ""), set())
        derived = [fact for fact in rule.requires | rule.uses if gap.fact in sources_of(fact)]
        return any(fact == gap.fact or not sources_of(fact) & answered for fact in derived)


_MOST_NAMED: Final = 3
_LONGEST_PLACE: Final = 60


def of_other_kinds(case: Case) -> str:
    """Which measurements the rule does not evaluate because of their kind of rows; empty if it evaluates all."""
    by_kind: dict[TableKind, list[str]] = {}
    for measurement in case.profile.measurements:
        if measurement.kind is not None and not case.evaluates(measurement):
            by_kind.setdefault(measurement.kind, []).append(measurement.name)
    return "; ".join(
        f"{many(len(names), 'table')} with {kind.words} ({listed(names, _MOST_NAMED)})"
        for kind, names in sorted(by_kind.items())
    )


def of_names_alone(case: Case) -> str:
    """What the rule does not evaluate of the measurements of which it only knows the names; empty if nothing."""
    count = sum(map(len, case.profile.beyond_budget.values()))
    if not count or not case.rule.by_name or case.engine.infers_roles:
        return ""
    return f"the columns of {many(count, case.engine.words.measurement)} that budget.max_measurements leaves out"


_LEAVE_SERIES: Final = (Family.FIELDS, Family.NAMES, Family.STORAGE, Family.RETENTION)
"""Families of rules whose findings neither add nor endanger series, so the number of affected series says nothing about
how bad they are. A redundant index, for example, must not come before a tag whose values grow without bound.
"""


def _found(case: Case, switches: RulePolicy) -> tuple[Finding, ...]:
    rule = case.rule
    kept = [finding for finding in rule.check(case) if _setting(rule, switches, finding) != "off"]
    kept = kept if rule.family in _LEAVE_SERIES else list(with_series(case.profile, kept))
    kept = list(_based(case, kept))
    tags = {(m.database, m.name, t.key): t for m in case.measurements for t in m.tags if t.metrics} if kept else {}
    return tuple(_in_metric(tags.get(astuple(finding.subject)), finding) for finding in kept)


_OF_TAGS: Final = (Family.CARDINALITY, Family.TAGS)
"""Families of rules whose figures depend on the tags."""


def _based(case: Case, findings: Sequence[Finding]) -> Iterator[Finding]:
    """The findings. Those whose figure another figure contradicts, or that mostly count series of tags that tsaudit
    guessed, are marked as resting on inferred roles.
    """
    counts_tags = bool(findings) and case.rule.family in _OF_TAGS and case.engine.infers_roles
    guessed = _guessed(case.profile) if counts_tags else frozenset[tuple[str, str]]()
    for finding in findings:
        is_contradicted = finding.source is not None and bool(finding.source.contradicted_by)
        is_guessed = (finding.subject.database, finding.subject.measurement) in guessed
        if is_contradicted or (is_guessed and finding.basis is Basis.MEASURED):
            yield replace(finding, basis=Basis.INFERRED)
        else:
            yield finding


def _guessed(profile: Profile) -> frozenset[tuple[str, str]]:
    """Database and measurement, empty for all of them, of each place whose series are mostly of guessed tags."""
    counted, guessed = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for m in profile.measurements:
        series = m.series.value if m.series else 1
        is_guessed = any(is_guess(tag.role_reason) for tag in m.tags)
        for place in itertools.product({"", m.database}, {"", m.name}):
            counted[place] += series
            guessed[place] += series if is_guessed else 0
    return frozenset(place for place, total in counted.items() if 2 * guessed[place] > total)


def _in_metric(tag: Tag | None, finding: Finding) -> Finding:
    """The finding, with the metric's name in it if it is about a label that only some metrics of a table have."""
    if tag is None:
        return finding
    where = f"{many(len(tag.metrics), 'metric')}: {listed(tag.metrics, 4)}" if tag.metrics[1:] else tag.metrics[0]
    return replace(
        finding,
        subject=replace(finding.subject, measurement=tag.metrics[0]),
        message=f"{finding.message} It is a label of {where}.",
    )


def _storable(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The findings as read back from the history: an invalid finding then fails its rule, not the report."""
    for change in (change for finding in findings for change in finding.changes):
        # The plan needs both; an invalid kind of change of another package must not break it there.
        change.claims()
        change.relies_on()
    try:
        return from_json(tuple[Finding, ...], to_json(findings))
    except ValueError as error:
        raise TypeError(f"a finding cannot be stored: {' '.join(str(error).split())}") from error


def with_series(profile: Profile, findings: Sequence[Finding]) -> Iterator[Finding]:
    """The findings with the series each of them affects."""
    if not findings:
        return
    # The series of the whole target are those of all its measurements: not added up for each finding.
    whole = profile.series
    series = {(m.database, m.name): m.series.value if m.series else None for m in profile.measurements}
    for finding in findings:
        subject, share = finding.subject, 1.0 if finding.share is None else finding.share
        count = series.get((subject.database, subject.measurement), whole)
        yield replace(finding, affected_series=None if count is None else count * share)


def _is_on(rule: Rule, switches: RulePolicy, gap: Gap) -> bool:
    if not switches.measurements or gap.measurement is None:
        return True
    return switches.setting(rule.code, rule.name, gap.measurement) != "off"


def _setting(rule: Rule | RuleResult, switches: RulePolicy, finding: Finding) -> str | None:
    return switches.setting(rule.code, rule.name, finding.subject.measurement)


_SET: Final = "`rules` in tsaudit.yaml says so"


def _with_severities(result: RuleResult, switches: RulePolicy) -> RuleResult:
    """The result with the severities that the configuration sets, worst first."""
    if not result.findings:
        return result
    findings = []
    for finding in result.findings:
        setting = _setting(result, switches, finding)
        if setting not in (None, "on", finding.severity):
            finding = replace(finding, severity=Severity(setting), severity_reason=_SET)
        findings.append(finding)
    return replace(result, findings=tuple(sorted(findings, key=lambda one: worst_first(result.code, one))))
