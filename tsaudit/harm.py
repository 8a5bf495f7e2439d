"""The policy: how bad a finding is, from what it costs and on what evidence. Nothing else decides a severity.

A warning rests on what the database declares or what was measured, and costs something material. Critical means that
writes are rejected or soon will be, that data are being lost, or that a limit, memory, or disk is about to be reached.
Everything else is a note. `tsaudit.config.harm.Harm` has the constants, with their reasons.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from tsaudit.config.harm import Harm
from tsaudit.model.finding import Finding, RuleResult, Severity
from tsaudit.model.impact import Basis, Currency, Impact
from tsaudit.text import impacts

_PART: Final = 0.1
"""Share of a sum of several findings from which on each of them is worth acting on."""
_SUMMED: Final = {
    # One tag in many measurements is one decision of one writer.
    Currency.SERIES: lambda finding: (finding.subject.database, finding.subject.column or finding.subject.measurement),
    # What a table wastes is one bill, whatever the ways.
    Currency.BYTES: lambda finding: (finding.subject.database, finding.subject.measurement),
    Currency.MONEY: lambda finding: (finding.subject.database, finding.subject.measurement),
}
"""By what findings of a currency are summed before they are compared with what is material."""


def decided(results: Sequence[RuleResult], harm: Harm) -> list[RuleResult]:
    """The results with the severity of each finding that has an impact or a basis, why it is so severe, and what
    happens if nothing is done.
    """
    sums = _sums(finding for result in results for finding in result.findings)
    return [
        replace(result, findings=tuple(_decided(finding, sums, harm) for finding in result.findings))
        if result.findings
        else result
        for result in results
    ]


def _decided(finding: Finding, sums: dict[object, Impact], harm: Harm) -> Finding:
    impact = finding.impact
    if impact is None:
        return finding
    severity = Severity.NOTE
    if finding.basis is not Basis.INFERRED:
        severity = severity_of(impact, harm)
        summed = sums.get(_group(finding))
        if summed is not None and _is_material_part(impact, summed, harm):
            severity = max(severity, severity_of(summed, harm), key=lambda one: one.rank)
            impact = summed if severity is not severity_of(impact, harm) else impact
    days = _days_ahead(impact, harm)
    return replace(
        finding,
        severity=severity,
        severity_reason=impacts.reason(impact, days) if severity is not Severity.NOTE else "",
        consequence=impacts.consequence(impact, days),
    )


def _sums(findings: Iterable[Finding]) -> dict[object, Impact]:
    """Group to what its findings cost together; only of groups of several."""
    groups: dict[object, list[Impact]] = defaultdict(list)
    for finding in findings:
        if finding.impact is not None and finding.basis is not Basis.INFERRED and _group(finding) is not None:
            groups[_group(finding)].append(finding.impact)
    return {group: _together(members) for group, members in groups.items() if len(members) > 1}


def _group(finding: Finding) -> object:
    if finding.impact is None or finding.impact.currency not in _SUMMED:
        return None
    return finding.impact.currency, _SUMMED[finding.impact.currency](finding)


def _together(members: Sequence[Impact]) -> Impact:
    wholes = [one.whole for one in members if one.whole is not None]
    return replace(
        max(members, key=lambda one: one.now),
        now=sum(one.now for one in members),
        per_day=sum(one.per_day for one in members),
        whole=max(wholes) if wholes else None,
    )


def _is_material_part(impact: Impact, summed: Impact, harm: Harm) -> bool:
    if impact.currency is Currency.SERIES:
        return True
    days = _days_ahead(impact, harm)
    return impact.after(days) >= _PART * summed.after(days)


def _days_ahead(impact: Impact, harm: Harm) -> float:
    """How far ahead an amount is judged."""
    return harm.horizon.days if impact.currency is Currency.BYTES else harm.warning_days


# --- The table --------------------------------------------------------------------------------------------------------


def severity_of(impact: Impact, harm: Harm) -> Severity:
    """The severity of what costs this, where it rests on what is declared or measured."""
    match impact.currency:
        case Currency.REJECTED:
            return _lost(impact, harm.max_rejected_share)
        case Currency.OVERWRITTEN:
            return _lost(replace(impact, goes_on=False), harm.max_overwritten_share)
        case Currency.LIMIT:
            return _toward_limit(impact, harm)
        case Currency.SERIES:
            return _series(impact, harm)
        case Currency.FAMILY:
            return _if(impact.after(harm.warning_days) >= harm.min_names)
        case Currency.BYTES:
            return _critical(impact, harm) or _if(
                _is_material(impact, impact.share, harm.min_bytes, harm.min_bytes_share, harm.horizon.days)
            )
        case Currency.MONEY:
            return _critical(impact, harm) or _if(
                _is_material(impact, impact.share, harm.min_money, harm.min_money_share, harm.warning_days)
            )
        case Currency.MECHANISM:
            return (_critical(impact, harm) if impact.is_enforced else None) or Severity.WARNING
        case Currency.ANSWERS:
            return Severity.WARNING
        case Currency.READS:
            return _if(impact.now >= harm.min_reads)


def _if(is_material: bool) -> Severity:
    return Severity.WARNING if is_material else Severity.NOTE


def _lost(impact: Impact, max_share: float) -> Severity:
    if impact.now <= 0:
        return Severity.NOTE
    share = impact.now / impact.whole if impact.whole else None
    is_critical = impact.goes_on or (share is not None and share >= max_share)
    return Severity.CRITICAL if is_critical else Severity.WARNING


def _toward_limit(impact: Impact, harm: Harm) -> Severity:
    if impact.is_enforced is False:
        return Severity.NOTE
    share = impact.now / impact.whole if impact.whole else 0.0
    left = impact.days_left
    if impact.is_reached or share >= harm.limit_critical or (left is not None and left <= harm.critical_days):
        return Severity.CRITICAL if impact.is_enforced else Severity.WARNING
    return _if(share >= harm.limit_warning or (left is not None and left <= harm.warning_days))


def _series(impact: Impact, harm: Harm) -> Severity:
    days = harm.warning_days
    if not _is_material(impact, impact.share_after(days), harm.min_series, harm.min_series_share, days):
        return Severity.NOTE
    held = harm.max_memory or impact.memory_bytes
    taken = impact.after(harm.critical_days) * (impact.unit_bytes or 0.0)
    return Severity.CRITICAL if held and taken >= max(harm.min_memory, held) else Severity.WARNING


def _is_material(impact: Impact, share: float | None, least: float, least_share: float, days: float) -> bool:
    """`share`: of what it is a part of; None if that is not known."""
    return impact.after(days) >= least and (share is None or share >= least_share)


def _critical(impact: Impact, harm: Harm) -> Severity | None:
    """For what ends on a day, or fills what it is in."""
    left = impact.days_left
    return Severity.CRITICAL if left is not None and left <= harm.critical_days else None
