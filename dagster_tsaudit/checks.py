"""An audit's results as Dagster checks: one per rule family, and one for what was not measured."""

import functools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import dagster as dg

from dagster_tsaudit.words import findings_table, first_steps, sentence, table
from tsaudit.model.finding import SILENCED_CODE, Finding, Limit, Outcome, RuleResult, Severity, Verdict, ordered
from tsaudit.model.timeline import Point
from tsaudit.rule import Family
from tsaudit.rules import all_rules, families

if TYPE_CHECKING:
    from tsaudit.run import AuditRun

COVERAGE: Final = "coverage"
CHECK_NAMES: Final = (*families(), COVERAGE)

_SERIES_LIMIT: Final = "high-series-cardinality.max_series"

Metadata = dict[str, dg.MetadataValue]


def check_specs(key: dg.AssetKey) -> list[dg.AssetCheckSpec]:
    """The checks of one audit asset."""
    specs = [dg.AssetCheckSpec(name=family, asset=key, description=_rules_of(family)) for family in families()]
    what = "Everything could be measured, the target could be reached, and no rule failed."
    return [*specs, dg.AssetCheckSpec(name=COVERAGE, asset=key, description=what)]


def check_results(key: dg.AssetKey, run: "AuditRun", series: Sequence[Point]) -> Iterator[dg.AssetCheckResult]:
    """The checks' results for one target. None for a family if none of its rules applies.

    `series` is the target's series over the days up to the audited one. Only `ok` passes; only `critical` is an ERROR.
    Unknown results do not pass, and say why.
    """
    for family in families():
        found = [r for r in run.result.results if r.family == family] if run.result else []
        if run.result is None or run.profile is None:
            yield _result(key, family, Verdict.UNKNOWN, {"reason": _text(f"not audited: {run.error}")})
            continue
        verdicts = [v for r in found if (v := r.verdict) is not None]
        if verdicts:
            metadata = _family_metadata(family, found, run, series)
            steps = first_steps([f for _, f in ordered(found)], run.result.plans, run.target)
            yield _result(key, family, Verdict.worst(verdicts), metadata, steps)
    yield _coverage(key, run)


def worst_with_figure(findings: Iterable[Finding]) -> Finding | None:
    """The first of the worst findings that has a figure; None if none has one."""
    return max((f for f in findings if f.observed is not None), key=lambda f: f.severity.rank, default=None)


def number(value: float) -> dg.MetadataValue | None:
    """As a number that Dagster plots: an integer if it is whole. None if it is not finite."""
    if not math.isfinite(value):
        return None
    return dg.MetadataValue.int(int(value)) if float(value).is_integer() else dg.MetadataValue.float(float(value))


def numbers(**values: float | None) -> Metadata:
    """The given figures without unknown ones."""
    found = {name: number(value) for name, value in values.items() if value is not None}
    return {name: value for name, value in found.items() if value is not None}


def _result(
    key: dg.AssetKey, name: str, verdict: Verdict, metadata: Metadata, description: str = ""
) -> dg.AssetCheckResult:
    severity = dg.AssetCheckSeverity.ERROR if verdict is Verdict.CRITICAL else dg.AssetCheckSeverity.WARN
    return dg.AssetCheckResult(
        asset_key=key,
        check_name=name,
        passed=verdict is Verdict.OK,
        severity=severity,
        metadata={"verdict": _text(verdict.value), **metadata},
        description=description or None,
    )


def _family_metadata(family: str, found: list[RuleResult], run: "AuditRun", series: Sequence[Point]) -> Metadata:
    findings = [f for _, f in ordered(found)]
    metadata = _figures(family, found, findings, run, series)
    for severity in Severity:
        metadata[f"findings_{severity}"] = dg.MetadataValue.int(sum(f.severity is severity for f in findings))
    reasons = [f"{r.code}: {r.reason}" for r in found if r.verdict is Verdict.UNKNOWN or (r.findings and r.gaps)]
    if reasons:
        metadata["reason"] = _text("\n".join(reasons))
    if findings:
        pairs = ordered(found)
        metadata["worst_finding"] = _text(sentence(*pairs[0]))
        metadata["findings"] = dg.MetadataValue.md(findings_table(pairs))
    return metadata


def _figures(
    family: str, found: list[RuleResult], findings: list[Finding], run: "AuditRun", series: Sequence[Point]
) -> Metadata:
    """`value`, `threshold`, and `baseline`, plotted over time by Dagster, and what they describe.

    Cardinality always shows the target's series, so that the plot has one meaning; the others show their worst finding.
    """
    if family == Family.CARDINALITY and run.profile and run.profile.series is not None:
        before = [point.value for point in series if point.day < run.day]
        limit = series_limit(found)
        figures = numbers(
            value=run.profile.series,
            threshold=limit.value if limit else None,
            baseline=before[-1] if before else None,
        )
        return {**figures, "value_of": _text("series of the whole target")}
    worst = worst_with_figure(findings)
    if worst is None or worst.observed is None:
        return numbers(value=0, threshold=0) | {"value_of": _text("findings")} if not findings else {}
    threshold = worst.limit.value if worst.limit else None
    figures = numbers(value=worst.observed, threshold=threshold, baseline=worst.baseline)
    return {**figures, "value_of": _text(f"{worst.subject}: {worst.limit.name if worst.limit else worst.unit}")}


def series_limit(results: Iterable[RuleResult]) -> Limit | None:
    """The target's limit of series; None if no rule has one."""
    return next((limit for r in results for limit in r.limits if limit.name == _SERIES_LIMIT), None)


def _coverage(key: dg.AssetKey, run: "AuditRun") -> dg.AssetCheckResult:
    if run.result is None or run.profile is None:
        return _result(key, COVERAGE, Verdict.UNKNOWN, {"reason": _text(run.error or "not audited")})
    gaps = run.profile.gaps
    # What could not be audited is in the run's error already.
    broken = [r for r in run.result.results if r.outcome == Outcome.ERROR and r is not run.result.not_audited]
    metadata = numbers(value=len(gaps), threshold=0)
    metadata["value_of"] = _text("things not measured")
    silenced = [f"{r.code}: {f.message}" for r in run.result.results if r.code == SILENCED_CODE for f in r.findings]
    reasons = [*([run.error] if run.error else []), *(f"{r.code}: {r.reason}" for r in broken), *silenced]
    if reasons:
        metadata["reason"] = _text("\n".join(reasons))
    if gaps:
        rows = (("/".join(filter(None, (g.database, g.measurement))), g.fact, g.reason, g.detail) for g in gaps)
        metadata["not_measured"] = dg.MetadataValue.md(table(("where", "fact", "reason", "detail"), rows))
    return _result(key, COVERAGE, Verdict.OK if run.is_complete else Verdict.UNKNOWN, metadata)


def _text(text: str) -> dg.MetadataValue:
    return dg.MetadataValue.text(text)


@functools.cache
def _rules_of(family: str) -> str:
    lines = [f"- {rule.code} {rule.title}" for rule in all_rules() if rule.family == family]
    return "\n".join([f"Rules about {family}:", *lines])
