"""An audit's results as Dagster checks: one per rule family, and one for what was not measured.

The checks of a group's asset show how many of its targets have problems. The checks on the owners' own assets are for
targets that name one in `asset_key`. A step may only return checks of its own assets, so the audit records these checks
as separate events. They can also be executed alone: that shows the last audit again, without querying the audited
database.
"""

import dataclasses
import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Final

import dagster as dg

from dagster_tsaudit.audited import AuditedTarget, audited, history
from dagster_tsaudit.plan import AssetPlan, AuditStep, encode
from tsaudit import secrets, summary
from tsaudit.config.settings import Target
from tsaudit.engines.registry import ENGINES
from tsaudit.model.figures import Subject, utc_now
from tsaudit.model.finding import (
    DEGRADED_CODE,
    AuditResult,
    Finding,
    Limit,
    Outcome,
    RuleResult,
    Severity,
    Verdict,
    fingerprint,
    ordered,
    worst_first,
)
from tsaudit.rule import Family
from tsaudit.rules import all_rules, families
from tsaudit.text import listed, many, number
from tsaudit.text.findings import headline, tally
from tsaudit.text.findings import sentence as sentence_of
from tsaudit.text.markdown import escape, items, prose, table

if TYPE_CHECKING:
    from tsaudit.run import AuditRun

COVERAGE: Final = "coverage"
CHECK_NAMES: Final = (*families(), COVERAGE)

_SERIES_LIMIT: Final = "high-series-cardinality.max_series"

Metadata = dict[str, dg.MetadataValue]


def check_names(engines: Iterable[str]) -> tuple[str, ...]:
    """The names of the checks for targets on these engines, without families that have no rule for any of them, because
    these would never have a result.
    """
    wanted = set(engines)
    found = {rule.family for rule in all_rules() if any(map(rule.applies_to, wanted))}
    return tuple(name for name in CHECK_NAMES if name in found or name == COVERAGE)


def check_specs(key: dg.AssetKey, engines: Iterable[str], prefix: str = "") -> list[dg.AssetCheckSpec]:
    """The checks of one asset, for targets on these engines; `prefix` is part of their names."""
    whole = "Everything could be measured, the target could be reached, and no rule failed."
    wanted = frozenset(engines)
    return [
        dg.AssetCheckSpec(
            name=prefix + name, asset=key, description=whole if name == COVERAGE else _rules_of(name, wanted)
        )
        for name in check_names(wanted)
    ]


def check_results(key: dg.AssetKey, found: AuditedTarget, prefix: str = "") -> Iterator[dg.AssetCheckResult]:
    """The check results for one target, each with the summary of its worst finding. A family of which no rule applies
    passes: Dagster shows a check without a result as failed if another target fails the run.

    Only `critical` is an ERROR. What could not be measured of single measurements fails only `coverage`; a family that
    evaluated the others passes, and says what it lacks. Any other unknown result does not pass. Muted findings do not
    fail a check.
    """
    run, unmuted = found.run, found.run.unmuted
    for family in families():
        if run.result is None or unmuted is None or run.profile is None:
            yield result(key, prefix + family, run.day, Verdict.UNKNOWN, {}, _not_audited(run))
            continue
        rules = [r for r in run.result.results if r.family == family]
        verdict = unmuted.verdict_of(family)
        if verdict is None:
            yield _nothing_to_evaluate(key, prefix + family, run.day, _why_inapplicable(family, rules))
            continue
        metadata = _family_metadata(family, rules, unmuted, verdict, found)
        described = description_of(family, found)
        yield result(key, prefix + family, run.day, verdict, metadata, described, passed=run.passes(family))
    yield _coverage(key, prefix + COVERAGE, run)


def _nothing_to_evaluate(key: dg.AssetKey, name: str, day: date, why: str) -> dg.AssetCheckResult:
    """A check that passes because no rule of its family applies. It has no `value`: nothing was counted."""
    metadata: Metadata = {"verdict": text("not applicable")}
    return result(key, name, day, Verdict.OK, metadata, escape(why))


def _why_inapplicable(family: str, rules: Iterable[RuleResult]) -> str:
    """Why no rule of the family applies, in a sentence, with the codes of the rules if they have different reasons."""
    codes: dict[str, list[str]] = {}
    for rule in rules:
        codes.setdefault(rule.reason, []).append(rule.code)
    if len(codes) > 1:
        why = "; ".join(f"{reason} ({listed(of, len(of))})" for reason, of in codes.items())
    else:
        why = next(iter(codes), "") or "no rule applies to this target"
    return f"Nothing to evaluate about {family}: {why}."


def description_of(family: str, found: AuditedTarget) -> str:
    """The summary of the family's worst finding; without one, what was evaluated, with the worst note and what is
    muted. Then why something was not evaluated, each cause once. If a later audit of the day failed, or the finding is
    back although it was muted, that comes first.

    Returns Markdown. The target must have been audited.
    """
    run = found.run
    assert run.result is not None
    assert run.profile is not None
    rules = tuple(r for r in run.result.results if r.family == family)
    # The gaps of other families are in the check `coverage`, and in the checks of those families.
    own = dataclasses.replace(run.result, results=rules), dataclasses.replace(run.profile, gaps=())
    brief, causes = summary.of_result(*own, found.run.muted), _causes(rules)
    if causes and not brief.fingerprint:
        brief = dataclasses.replace(brief, first_step="")  # It is one of the causes.
    more = () if brief.fingerprint else _quiet(own[0], found.run.muted)
    left = causes[_MOST_CAUSES:]
    named = [*causes[:_MOST_CAUSES], *([f"{number(len(left))} more: see the check `{COVERAGE}`"] if left else [])]
    why = f"Not evaluated:\n\n{items(map(prose, named))}" if causes else ""
    failure = run.result.failure if run.result.failed_at else None
    failed = prose(failure.message) if failure else ""
    back = escape(found.run.back.get(brief.fingerprint, ""))
    return "\n\n".join(filter(None, (failed, back, brief.in_markdown(), *more, why, _elsewhere(family, found.run))))


_MOST_CAUSES: Final = 3
_MOST_MUTED: Final = 3


def _quiet(result: AuditResult, muted: Mapping[str, date]) -> Iterator[str]:
    """The headlines of what fails no check: of the worst note, and of what is muted."""
    notes = [f for _, f in result.without(muted.keys()).findings() if f.severity is Severity.NOTE]
    if notes:
        yield f"{'The note' if len(notes) == 1 else 'The first note'}: {escape(headline(notes[0]))}."
    silent = [headline(f) for r, f in result.findings() if fingerprint(result.target, r.code, f.subject) in muted]
    if silent:
        left = f"; {number(len(silent) - _MOST_MUTED)} more" if silent[_MOST_MUTED:] else ""
        yield f"Muted: {escape('; '.join(silent[:_MOST_MUTED]))}{left}."


def _causes(rules: Iterable[RuleResult]) -> list[str]:
    """Why rules were not evaluated, or not completely: each cause once, with its place and the codes of the rules."""
    codes: dict[str, list[str]] = {}
    for rule in rules:
        if not rule.is_lacking:
            continue
        own = [f"{f'{gap.place}: ' if gap.place else ''}{gap.detail}" for gap in rule.gaps]
        if rule.outcome is Outcome.ERROR or not own:
            own = [rule.reason]
        for cause in dict.fromkeys(own):
            codes.setdefault(cause, []).append(rule.code)
    return [f"{listed(of, len(of))}: {cause}" for cause, of in codes.items()]


def _elsewhere(family: str, run: "AuditRun") -> str:
    """Where too many values of a tag are found, if the check about series finds nothing wrong; otherwise empty."""
    if family != Family.CARDINALITY or run.verdict_of(family) is not Verdict.OK:
        return ""
    is_about = run.verdict_of(Family.TAGS) in (Verdict.WARNING, Verdict.CRITICAL)
    return f"For findings about single tags, see the check `{Family.TAGS}`." if is_about else ""


def numbers(**values: float | None) -> Metadata:
    """The given figures as numbers that Dagster plots, integers if possible. Unknown and infinite values
    are left out.
    """
    known = {name: value for name, value in values.items() if value is not None and math.isfinite(value)}
    return {
        name: dg.MetadataValue.int(int(value)) if float(value).is_integer() else dg.MetadataValue.float(float(value))
        for name, value in known.items()
    }


def result(
    key: dg.AssetKey,
    name: str,
    day: date,
    verdict: Verdict,
    metadata: Metadata,
    description: str,
    *,
    passed: bool | None = None,
) -> dg.AssetCheckResult:
    """A check's result: only `critical` is an ERROR. The result of a past day says so, because it replaces that of
    today on the page of the asset.

    `passed`: None, if only `ok` passes.
    """
    severity = dg.AssetCheckSeverity.ERROR if verdict is Verdict.CRITICAL else dg.AssetCheckSeverity.WARN
    return dg.AssetCheckResult(
        asset_key=key,
        check_name=name,
        passed=verdict is Verdict.OK if passed is None else passed,
        severity=severity,
        metadata={"verdict": text(verdict.value), "day": text(day.isoformat()), **metadata},
        description=f"{_as_of(day)}{description}",
    )


def _as_of(day: date) -> str:
    return "" if day == utc_now().date() else f"As of {day}: "


def series_limit(results: Iterable[RuleResult]) -> Limit | None:
    """The limit on the target's series; None if neither the engine nor the configuration has one."""
    limits = (limit for r in results for limit in r.limits)
    return next((limit for limit in limits if limit.name == _SERIES_LIMIT and limit.origin != "default"), None)


def text(line: str) -> dg.MetadataValue:
    return dg.MetadataValue.text(line)


def _family_metadata(
    family: str, rules: list[RuleResult], unmuted: AuditResult, verdict: Verdict, found: AuditedTarget
) -> Metadata:
    pairs = ordered(r for r in unmuted.results if r.family == family)
    open_ = [f for _, f in pairs]
    metadata = _figures(family, rules, open_, verdict, found)
    # As text: Dagster plots each number, and shows at most four in one plot.
    muted = sum(len(r.findings) for r in rules) - len(open_)
    counts = filter(None, (tally(f.severity for f in open_), f"{number(muted)} muted" if muted else ""))
    metadata["severities"] = text(", ".join(filter(None, counts)) or "no findings")
    if pairs:
        metadata["findings"] = dg.MetadataValue.md(findings_list(pairs))
    return metadata


def _figures(
    family: str, rules: list[RuleResult], findings: list[Finding], verdict: Verdict, found: AuditedTarget
) -> Metadata:
    """`value`, which Dagster plots over time, and its meaning; for cardinality with its `threshold` and `baseline`.

    The figure and its unit are the same on all days: the target's series for cardinality, otherwise the number of
    findings that are not muted. A figure that was not measured is left out, and so is the number of findings if not all
    rules could be evaluated.
    """
    profile = found.run.profile
    if family == Family.CARDINALITY:
        before = [point.value for point in found.series if point.day < found.run.day]
        limit = series_limit(rules)
        figures = numbers(
            value=profile.series if profile else None,
            threshold=limit.value if limit else None,
            baseline=before[-1] if before else None,
        )
        return {**figures, "value_of": text("series of the whole target")}
    bad = sum(f.severity is not Severity.NOTE for f in findings)
    figures = numbers(value=None if verdict is Verdict.UNKNOWN else bad)
    return {**figures, "value_of": text(f"findings about {family} at warning and above, not muted")}


def _coverage(key: dg.AssetKey, name: str, run: "AuditRun") -> dg.AssetCheckResult:
    if run.result is None or run.profile is None:
        return result(key, name, run.day, Verdict.UNKNOWN, {}, _not_audited(run))
    gaps = run.profile.gaps
    # The run's error already says what could not be audited.
    broken = [r for r in run.result.results if r.outcome == Outcome.ERROR and r is not run.result.not_audited]
    metadata = numbers(value=len(gaps))
    metadata["value_of"] = text("things not measured")
    degraded = [f"{r.code}: {f.message}" for r in run.result.results if r.code == DEGRADED_CODE for f in r.findings]
    reasons = [*([run.error] if run.error else []), *(f"{r.code}: {r.reason}" for r in broken), *degraded]
    rows = [("/".join(filter(None, (g.database, g.measurement))), g.fact, g.reason, g.detail) for g in gaps]
    if rows:
        metadata["not_measured"] = dg.MetadataValue.md(table(("where", "fact", "reason", "detail"), rows))
    verdict = Verdict.OK if run.is_complete else Verdict.UNKNOWN
    return result(key, name, run.day, verdict, metadata, _describe_coverage(run, reasons, rows))


def _describe_coverage(run: "AuditRun", reasons: Sequence[str], missing: Sequence[tuple[str, ...]]) -> str:
    """One sentence if everything was measured, otherwise a list of what was not."""
    assert run.profile is not None
    if run.is_complete:
        tables = many(len(run.profile.measurements), ENGINES[run.profile.engine].words.measurement)
        statements = many(sum(cost.statements for cost in run.profile.costs), "statement")
        return f"Everything was measured: {tables} with {statements}."
    said = [prose(reason) for reason in reasons]
    if missing:
        where, fact, _, detail = missing[0]
        example = escape(f"{fact} of {where or 'the target'}: {detail}")
        said.append(f"{many(len(missing), 'figure')} not measured, such as {example}")
    return "\n\n".join(said) or "Not every rule had all the figures it needs; see the other checks."


def _not_audited(run: "AuditRun") -> str:
    """Why a target was not audited, in one line of Markdown, and until when that is muted."""
    missed = run.result.not_audited if run.result else None
    why = run.error or (missed.reason if missed else "") or "nothing could be measured"
    known = [fingerprint(run.target, missed.code, finding.subject) for finding in missed.findings] if missed else []
    until = next((run.muted[one] for one in known if one in run.muted), None)
    return prose(f"Not audited: {why}{f'. Muted until {until}: that does not fail the run' if until else ''}")


@functools.cache
def _rules_of(family: str, engines: frozenset[str]) -> str:
    rules = [rule for rule in all_rules() if rule.family == family and any(map(rule.applies_to, engines))]
    lines = [f"- {rule.code} {rule.title}" for rule in rules]
    return "\n".join([f"Rules about {family}:", *lines])


def findings_list(pairs: Iterable[tuple[RuleResult, Finding]]) -> str:
    """The findings with what to do, in the given order.

    A list and not a table: a table of findings, or a name together with its column, is wider than Dagster's space for
    it.
    """
    return items(_finding_line(*pair) for pair in pairs)


def _finding_line(result: RuleResult, finding: Finding) -> str:
    place = Subject(finding.subject.database, finding.subject.measurement)
    where = f"{escape(result.code)} {escape(result.name)}, {escape(place)}"
    return f"**{finding.severity}** {where}: {escape(sentence_of(finding))} {escape(finding.fix)}".rstrip()


def group_check_results(key: dg.AssetKey, found: Sequence[AuditedTarget]) -> Iterator[dg.AssetCheckResult]:
    """One result per family, and one for what was not measured, each with the summary of the worst target. A family
    that applies to none of them passes.
    """
    for name in CHECK_NAMES:
        verdicts = {one.run.target: verdict for one in found if (verdict := _verdict_in(one.run, name)) is not None}
        if not verdicts:
            of = many(len(found), "target")
            yield _nothing_to_evaluate(key, name, found[0].run.day, f"Nothing to evaluate about {name} in {of}.")
            continue
        bad = sorted(
            (one for one in found if one.run.target in verdicts and not _passes(one.run, name)),
            key=lambda one: (-verdicts[one.run.target].rank, _worst_finding(one, name), one.run.target),
        )
        rows = [(one.run.target, verdicts[one.run.target]) for one in bad]
        metadata: Metadata = {
            **numbers(value=len(bad), targets=len(verdicts)),
            "value_of": text("targets that are not ok"),
            **({"not_ok": dg.MetadataValue.md(table(("target", "verdict"), rows))} if rows else {}),
        }
        worst = Verdict.worst(verdicts.values())
        described = _describe_group(key, name, bad, verdicts)
        yield result(key, name, found[0].run.day, worst, metadata, described, passed=not bad)


def _describe_group(key: dg.AssetKey, name: str, bad: Sequence[AuditedTarget], verdicts: Mapping[str, Verdict]) -> str:
    """How many targets are not OK, followed by the description of the worst target's check."""
    count, partly = len(verdicts), sum(verdict is not Verdict.OK for verdict in verdicts.values())
    if not bad:
        what = f"{partly} of them only in part, see `{COVERAGE}`" if partly else "all of them ok"
        return f"{many(count, 'target')} evaluated, {what}"
    worst = bad[0]
    (said,) = [r.description or "" for r in check_results(key, worst) if r.check_name == name]
    said = said.removeprefix(_as_of(worst.run.day))
    return f"{len(bad)} of {many(count, 'target')} not ok. The worst is {escape(worst.run.target)}:\n\n{said}"


def _worst_finding(found: AuditedTarget, name: str) -> tuple[object, ...]:
    """Sort key of a target: its worst finding in the check's family."""
    unmuted = found.run.unmuted
    results = [r for r in unmuted.results if r.family == name] if unmuted else []
    pairs = [(r, f) for r, f in ordered(results) if f.severity is not Severity.NOTE]
    return (0, worst_first(pairs[0][0].code, pairs[0][1])) if pairs else (1,)


def _passes(run: "AuditRun", name: str) -> bool:
    return run.is_complete if name == COVERAGE else run.passes(name)


def _verdict_in(run: "AuditRun", name: str) -> Verdict | None:
    """The verdict of one check for one target; None if no rule of the family applies."""
    if name == COVERAGE:
        return Verdict.OK if run.is_complete else Verdict.UNKNOWN
    return run.verdict_of(name)


def owner_checks(plan: AssetPlan) -> list[dg.AssetChecksDefinition]:
    """One op per step with targets that have an `asset_key`."""
    return [_owners_op(plan, step, named) for step in plan.steps if (named := _with_own_asset(step))]


def owner_results(target: Target, found: AuditedTarget) -> Iterator[dg.AssetCheckResult]:
    """The check results for the owner's asset; none if the target names no asset."""
    if target.asset_key:
        prefix = _owners_prefix(target)
        names = {prefix + name for name in check_names([target.engine])}
        results = check_results(dg.AssetKey(list(target.asset_key)), found, prefix)
        yield from (result for result in results if result.check_name in names)


def record(context: dg.AssetExecutionContext, result: dg.AssetCheckResult) -> None:
    """Record a check result that the current step may not return, with a link to the run, which Dagster
    would not add.
    """
    assert result.asset_key is not None
    assert result.check_name is not None
    context.instance.report_runless_asset_event(
        dg.AssetCheckEvaluation(
            asset_key=result.asset_key,
            check_name=result.check_name,
            passed=result.passed,
            metadata={**result.metadata, "run": dg.MetadataValue.dagster_run(context.run.run_id)},
            severity=result.severity,
            description=result.description,
        )
    )


def _with_own_asset(step: AuditStep) -> list[Target]:
    return [target for unit in step.units for target in unit.targets if target.asset_key]


def _owners_prefix(target: Target) -> str:
    """Prefix of the checks' names, because several targets may name the same asset, and its owner may have
    checks, too.
    """
    return f"tsaudit_{encode(target.name)}_"


def _owners_op(plan: AssetPlan, step: AuditStep, targets: list[Target]) -> dg.AssetChecksDefinition:
    specs = [
        spec
        for t in targets
        for spec in check_specs(dg.AssetKey(list(t.asset_key or ())), [t.engine], _owners_prefix(t))
    ]

    @dg.multi_asset_check(
        name=f"{step.name}_owners",
        specs=specs,
        can_subset=True,
        description="Shows the last audit on the audited asset, and queries no audited database.",
    )
    def last_audits(context: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckResult]:
        selected = {(key.asset_key, key.name) for key in context.selected_asset_check_keys}
        try:
            results = [r for found, t in _last_audits(plan, targets) for r in owner_results(t, found)]
        except Exception as error:
            # It may run together with the owner's own asset, whose run must not fail because of it.
            context.log.error(secrets.mask(f"the last audit could not be read: {error}"))
            return
        yield from (r for r in results if (r.asset_key, r.check_name) in selected)

    return last_audits


def _last_audits(plan: AssetPlan, targets: list[Target]) -> Iterator[tuple[AuditedTarget, Target]]:
    """The newest audit of each target that has been audited."""
    from tsaudit.history import decisions, incidents
    from tsaudit.run import AuditRun

    with history(plan.load()) as store:
        newest = store.newest_days()
        for target in targets:
            if (day := newest.get(target.name)) is None:
                continue
            result = store.result(target.name, day)
            profile = store.profile_of(result) if result else None
            standing = incidents.of_day(store, target.name, day)
            muted, back = incidents.muted(standing), decisions.all_back(standing)
            error = result.without(muted).error if result else None
            run = AuditRun(target.name, day, result, profile, (), None, 0.0, error, muted=muted, back=back)
            yield audited(run, store), target
