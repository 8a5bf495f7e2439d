"""An audit's results as Dagster checks: one per rule family, and one for what was not measured."""

import dataclasses
import functools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import dagster as dg

from dagster_tsaudit.audited import AuditedTarget
from dagster_tsaudit.formatting import findings_list
from tsaudit import summary
from tsaudit.model.finding import (
    DEGRADED_CODE,
    AuditResult,
    Finding,
    Limit,
    Outcome,
    RuleResult,
    Severity,
    Verdict,
    ordered,
)
from tsaudit.rule import Family
from tsaudit.rules import all_rules, families
from tsaudit.text import many, number
from tsaudit.text.findings import tally
from tsaudit.text.markdown import escape, table

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
    return [
        dg.AssetCheckSpec(name=prefix + name, asset=key, description=whole if name == COVERAGE else _rules_of(name))
        for name in check_names(engines)
    ]


def check_results(key: dg.AssetKey, found: AuditedTarget, prefix: str = "") -> Iterator[dg.AssetCheckResult]:
    """The check results for one target, each with the summary of its worst finding. A family has no result if none of
    its rules applies.

    Only `ok` passes; only `critical` is an ERROR. Unknown results do not pass, and say why. Muted findings do not fail
    a check.
    """
    run, unmuted = found.run, found.run.unmuted
    for family in families():
        if run.result is None or unmuted is None or run.profile is None:
            why = _why_not(run)
            reason = {"reason": text(f"not audited: {why}")}
            yield result(key, prefix + family, Verdict.UNKNOWN, reason, escape(f"Not audited: {why}"))
            continue
        rules = [r for r in run.result.results if r.family == family]
        verdict = unmuted.verdict_of(family)
        if verdict is not None:
            metadata = _family_metadata(family, rules, unmuted, verdict, found)
            yield result(key, prefix + family, verdict, metadata, description_of(family, found))
    yield _coverage(key, prefix + COVERAGE, run)


def description_of(family: str, found: AuditedTarget) -> str:
    """The summary of the family's worst finding; without one, what was evaluated, and why something was not.

    Returns Markdown. The target must have been audited.
    """
    run = found.run
    assert run.result is not None
    assert run.profile is not None
    rules = tuple(r for r in run.result.results if r.family == family)
    # The gaps of other families are in the check `coverage`, and in the checks of those families.
    own = dataclasses.replace(run.result, results=rules), dataclasses.replace(run.profile, gaps=())
    text = summary.of_result(*own, found.run.muted).in_markdown()
    reasons = [escape(reason) for reason in _reasons(rules)]
    return "\n\n".join([text, *([f"Not evaluated: {'; '.join(reasons)}"] if reasons else [])])


def numbers(**values: float | None) -> Metadata:
    """The given figures as numbers that Dagster plots, integers if possible. Unknown and infinite values
    are left out.
    """
    known = {name: value for name, value in values.items() if value is not None and math.isfinite(value)}
    return {
        name: dg.MetadataValue.int(int(value)) if float(value).is_integer() else dg.MetadataValue.float(float(value))
        for name, value in known.items()
    }


def result(key: dg.AssetKey, name: str, verdict: Verdict, metadata: Metadata, description: str) -> dg.AssetCheckResult:
    """A check's result: only `ok` passes, and only `critical` is an ERROR."""
    severity = dg.AssetCheckSeverity.ERROR if verdict is Verdict.CRITICAL else dg.AssetCheckSeverity.WARN
    return dg.AssetCheckResult(
        asset_key=key,
        check_name=name,
        passed=verdict is Verdict.OK,
        severity=severity,
        metadata={"verdict": text(verdict.value), **metadata},
        description=description,
    )


def series_limit(results: Iterable[RuleResult]) -> Limit | None:
    """The limit on the target's series; None if no rule has one."""
    return next((limit for r in results for limit in r.limits if limit.name == _SERIES_LIMIT), None)


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
    if reasons := _reasons(rules):
        metadata["reason"] = text("\n".join(reasons))
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


def _reasons(rules: Iterable[RuleResult]) -> list[str]:
    """Why rules are unknown, or could not be evaluated completely."""
    return [f"{r.code}: {r.reason}" for r in rules if r.verdict is Verdict.UNKNOWN or (r.findings and r.gaps)]


def _coverage(key: dg.AssetKey, name: str, run: "AuditRun") -> dg.AssetCheckResult:
    if run.result is None or run.profile is None:
        why = _why_not(run)
        return result(key, name, Verdict.UNKNOWN, {"reason": text(why)}, escape(f"Not audited: {why}"))
    gaps = run.profile.gaps
    # The run's error already says what could not be audited.
    broken = [r for r in run.result.results if r.outcome == Outcome.ERROR and r is not run.result.not_audited]
    metadata = numbers(value=len(gaps))
    metadata["value_of"] = text("things not measured")
    degraded = [f"{r.code}: {f.message}" for r in run.result.results if r.code == DEGRADED_CODE for f in r.findings]
    reasons = [*([run.error] if run.error else []), *(f"{r.code}: {r.reason}" for r in broken), *degraded]
    if reasons:
        metadata["reason"] = text("\n".join(reasons))
    rows = [("/".join(filter(None, (g.database, g.measurement))), g.fact, g.reason, g.detail) for g in gaps]
    if rows:
        metadata["not_measured"] = dg.MetadataValue.md(table(("where", "fact", "reason", "detail"), rows))
    verdict = Verdict.OK if run.is_complete else Verdict.UNKNOWN
    return result(key, name, verdict, metadata, _describe_coverage(run, reasons, rows))


def _describe_coverage(run: "AuditRun", reasons: Sequence[str], missing: Sequence[tuple[str, ...]]) -> str:
    """One sentence if everything was measured, otherwise a list of what was not."""
    assert run.profile is not None
    if run.is_complete:
        tables = many(len(run.profile.measurements), "measurement")
        statements = many(sum(cost.statements for cost in run.profile.costs), "statement")
        return f"Everything was measured: {tables} with {statements}."
    said = [escape(reason) for reason in reasons]
    if missing:
        where, fact, _, detail = missing[0]
        example = escape(f"{fact} of {where or 'the target'}: {detail}")
        said.append(f"{many(len(missing), 'figure')} not measured, such as {example}")
    return "\n\n".join(said) or "Not every rule had all the figures it needs; see the other checks."


def _why_not(run: "AuditRun") -> str:
    """Why a target was not audited, in one line."""
    missed = run.result.not_audited if run.result else None
    return run.error or (missed.reason if missed else "") or "nothing could be measured"


@functools.cache
def _rules_of(family: str) -> str:
    lines = [f"- {rule.code} {rule.title}" for rule in all_rules() if rule.family == family]
    return "\n".join([f"Rules about {family}:", *lines])
