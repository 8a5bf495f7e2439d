"""The last audits as metrics, for Prometheus and other tools that read its format.

All metrics are gauges, so the text is valid in the text format of Prometheus and in OpenMetrics: in the former, its
last line is a comment. A value that was not measured has no line; it is never reported as 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tsaudit import summary
from tsaudit.model.finding import AuditResult, Outcome, Severity, Verdict, fingerprint, first_limit
from tsaudit.model.profile import Profile
from tsaudit.report.coverage import query_cost

if TYPE_CHECKING:
    from tsaudit.history.store import Store

HELP: Final = {
    "tsaudit_target_info": "A target of the configuration, whether or not it was ever audited.",
    "tsaudit_last_audit_timestamp_seconds": "When the last audit of the target took place.",
    "tsaudit_verdict": "1 for the verdict of the last audit, 0 for the others.",
    "tsaudit_findings": "Findings of the last audit, by severity, and whether they are muted.",
    "tsaudit_rules_unknown": "Rules that could not be evaluated, because something was not measured or they failed.",
    "tsaudit_series": "Series of the whole target.",
    "tsaudit_series_limit": "The limit with which the series of the whole target are compared.",
    "tsaudit_time_left_seconds": "Time from the audit until a limit is reached, at the present rate; 0: it is reached.",
    "tsaudit_audit_duration_seconds": "How long the last audit took.",
    "tsaudit_audit_statements": "Statements that the last audit sent to the database.",
    "tsaudit_audit_statement_seconds": "How long these statements took together.",
    "tsaudit_audit_rows": "Rows that they returned.",
    "tsaudit_audit_scanned_bytes": "Bytes that the database says it read for them.",
}
"""Name and help text of every metric, in the order of the output."""

_MAX_SERIES: Final = "high-series-cardinality.max_series"
_COUNT_FIELDS: Final = "high-series-cardinality.count_fields"
_DAY_S: Final = 86_400.0
_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


@dataclass(frozen=True, slots=True)
class MetricSample:
    """One line: a value measured for a target."""

    metric: str
    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class LastAudit:
    """The last audit of a target, as stored in the history."""

    result: AuditResult
    profile: Profile | None
    muted: Collection[str]
    """Fingerprints of the findings that are muted."""
    seconds: float | None
    """How long the audit took, in seconds; None if not known."""


def last_audit(store: Store, target: str, seconds: float | None) -> LastAudit | None:
    """The newest audit that is not in the future; None if there is none, or none that this version can read."""
    from tsaudit.history import incidents

    days = store.past_days(target)
    result = store.result(target, days[-1]) if days else None
    if result is None:
        return None
    muted = incidents.muted(incidents.of_day(store, target, result.day))
    return LastAudit(result, store.profile_of(result), muted, seconds)


def samples(target: str, engine: str, audit: LastAudit | None) -> Iterator[MetricSample]:
    """All samples of the target. `audit`: None if it was never audited."""
    yield MetricSample("tsaudit_target_info", {"target": target, "engine": engine}, 1)
    for metric, more, value in _of_audit(audit) if audit else ():
        if value is not None:
            yield MetricSample(metric, {"target": target, **more}, value)


def _of_audit(audit: LastAudit) -> Iterator[tuple[str, dict[str, str], float | None]]:
    result = audit.result
    yield "tsaudit_last_audit_timestamp_seconds", {}, result.audited_at.timestamp()
    verdict = result.without(audit.muted).verdict
    for one in Verdict:
        yield "tsaudit_verdict", {"verdict": one}, one is verdict
    # A target that could not be audited has one finding that says so; it must not be reported as having 0 of all
    # others.
    found = [(f, fingerprint(result.target, r.code, f.subject) in audit.muted) for r, f in result.findings()]
    counts = Counter((f.severity, muted) for f, muted in found)
    for severity in Severity:
        for muted in (False, True):
            count = counts[severity, muted]
            yield (
                "tsaudit_findings",
                {"severity": severity, "muted": str(muted).lower()},
                count if count or result.has_profile else None,
            )
    yield "tsaudit_audit_duration_seconds", {}, audit.seconds
    if result.has_profile:
        yield "tsaudit_rules_unknown", {}, summary.rules_lacking(result.results)
        left = first_limit(f for f, muted in found if not muted)
        yield "tsaudit_time_left_seconds", {}, None if left is None else left * _DAY_S
        yield from _of_profile(result, audit.profile) if audit.profile else ()


def _of_profile(result: AuditResult, profile: Profile) -> Iterator[tuple[str, dict[str, str], float | None]]:
    yield "tsaudit_series", {}, profile.series
    yield "tsaudit_series_limit", {}, _series_limit(result) if profile.series is not None else None
    if not profile.costs:
        return
    cost = query_cost(profile)
    yield "tsaudit_audit_statements", {}, cost.statements
    yield "tsaudit_audit_statement_seconds", {}, cost.seconds
    yield "tsaudit_audit_rows", {}, cost.rows
    yield "tsaudit_audit_scanned_bytes", {}, cost.bytes_scanned


def _series_limit(result: AuditResult) -> float | None:
    """The limit on the target's series; None if no rule compares them with a limit, or if it counts other series than
    `Profile.series`.
    """
    applied = [rule for rule in result.results if rule.outcome is not Outcome.NOT_APPLICABLE]
    limits = {limit.name: limit.value for rule in applied for limit in rule.limits}
    return None if limits.get(_COUNT_FIELDS) else limits.get(_MAX_SERIES)


def text(found: Iterable[MetricSample]) -> str:
    """The samples as text, grouped by metric. No library is used, because only labels have to be escaped."""
    by_metric: dict[str, list[MetricSample]] = {metric: [] for metric in HELP}
    for sample in found:
        by_metric[sample.metric].append(sample)
    lines = [
        line
        for metric, own in by_metric.items()
        if own
        for line in (f"# HELP {metric} {HELP[metric]}", f"# TYPE {metric} gauge", *map(_line, own))
    ]
    return "\n".join([*lines, "# EOF", ""])


def _line(sample: MetricSample) -> str:
    labels = ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in sample.labels.items())
    return f"{sample.metric}{{{labels}}} {float(sample.value)!r}"
