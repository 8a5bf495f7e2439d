"""How severe a finding is, from what it costs and on what evidence. Nothing else decides a severity.

A warning rests on what the database declares or what was measured, and costs something material. Critical means that
writes are rejected or soon will be, that data is being lost, or that a limit, memory, or disk is about to be reached.
Everything else is a note. `tsaudit.config.settings.Harm` has the constants, with their reasons.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from tsaudit.config.settings import Harm
from tsaudit.model.finding import Basis, Currency, Finding, Impact, Limit, RuleResult, Severity
from tsaudit.text import impacts, many, number, percent, size

_PART: Final = 0.1
"""Share of what the worst of several findings costs from which on each of them is worth acting on."""


def decided(results: Sequence[RuleResult], harm: Harm) -> list[RuleResult]:
    """The results with the severity of each finding, why it is so severe, and what happens if nothing is done."""
    sums = _sums(((result.code, finding) for result in results for finding in result.findings), harm)
    return [
        replace(result, findings=tuple(_decided(finding, sums, harm) for finding in result.findings))
        if result.findings
        else result
        for result in results
    ]


def _decided(finding: Finding, sums: Mapping[_Group, tuple[Impact, float]], harm: Harm) -> Finding:
    impact = finding.impact
    if impact is None:
        why = finding.severity_reason or _NO_COST
        return replace(finding, severity=Severity.NOTE, severity_reason=why, consequence="")
    severity, reason = Severity.NOTE, impact
    if finding.basis is not Basis.INFERRED:
        severity = severity_of(impact, harm)
        for group in _groups(finding):
            summed, largest = sums.get(group, (impact, 0.0))
            worse, part = severity_of(summed, harm), impact.after(_days_ahead(impact, harm))
            if worse.rank > severity.rank and (group[0] == _OF_COLUMN or part >= _PART * largest):
                severity, reason = worse, summed
    return _described(replace(finding, severity=severity), reason, harm)


def _described(finding: Finding, reason: Impact, harm: Harm) -> Finding:
    """The finding with why it is so severe, and what happens if nothing is done."""
    days = _days_ahead(reason, harm)
    return replace(
        finding,
        severity_reason=_doubt(finding)
        if finding.basis is Basis.INFERRED
        else impacts.reason(reason, days)
        + (_from(reason, harm) if finding.severity is Severity.NOTE else _but(reason, finding.limit, harm)),
        consequence=impacts.consequence(reason, days),
    )


_NO_COST: Final = "it costs nothing that can be measured"


def _doubt(finding: Finding) -> str:
    if finding.source is not None and finding.source.contradicted_by:
        return "another figure contradicts it"
    return "it rests on what was inferred, such as the role of a column"


def _from(impact: Impact, harm: Harm) -> str:
    """From where on this is a warning, as the end of the reason; empty where that is no amount."""
    match impact.currency:
        case Currency.LIMIT if impact.is_enforced is False:
            return "; the server does not enforce it"
        case Currency.LIMIT:
            time = f"{many(harm.warning_days, 'day')} before it is reached"
            # Of what is used up at a known rate, only the time that is left counts.
            part = "" if impact.is_used_up and impact.per_day else f"{percent(harm.limit_warning)} on, or "
            return f"; a warning from {part}{time}"
        case Currency.SERIES:
            least = f"{number(_least_series(impact, harm))} and {percent(harm.min_series_share)} of all"
        case Currency.FAMILY:
            least = number(harm.min_names)
        case Currency.BYTES:
            least = f"{size(_least_bytes(impact, harm))} and {percent(_least_bytes_share(impact, harm))} of the table"
        case Currency.MONEY:
            least = f"${number(harm.min_money)} a month and {percent(harm.min_money_share)} of the cost"
        case Currency.READS:
            least = f"{number(harm.min_reads)} a day"
        case Currency.OVERWRITTEN:
            least = percent(harm.max_overwritten_share)
        case _:
            return ""
    return f"; a warning from {least} on{', in one of them' if impact.places > 1 else ''}"


def at_the_cost_of_all(findings: Sequence[Finding], harm: Harm) -> Finding:
    """The first of several findings of one rule that become one, with what all of them cost if costs add up. It stays
    as severe as it is in each place: in each, somebody has to change something else to save the cost.

    Tags of one measurement may cause the same series: of findings about one measurement, the largest counts.
    """
    priced = [(finding.subject, finding.impact) for finding in findings if finding.impact is not None]
    currencies = {impact.currency for _, impact in priced}
    if len(priced) < len(findings) or len(currencies) > 1 or not currencies <= _ADDED_UP:
        return findings[0]
    parts = [impact for _, impact in priced]
    wholes: dict[Hashable, float | None]
    if Currency.SERIES in currencies:
        parts = _largest(((f.subject.database, f.subject.measurement), f) for f in findings)
        wholes = {at.database: impact.whole for at, impact in priced}
    elif Currency.BYTES in currencies:
        wholes = {(at.database, at.measurement): impact.whole for at, impact in priced}
    else:
        # There is one bill.
        wholes = {"": parts[0].whole}
    whole = sum(known) if len(known := [one for one in wholes.values() if one is not None]) == len(wholes) else None
    impact = replace(_together(parts, whole), places=len(findings), findings=1)
    return _described(replace(findings[0], impact=impact), impact, harm)


_ADDED_UP: Final = frozenset({Currency.SERIES, Currency.BYTES, Currency.MONEY})
_Group = tuple[str, Currency, str, str, bool]
_OF_COLUMN, _OF_TABLE = "column", "table"


def _groups(finding: Finding) -> Iterator[_Group]:
    """What the finding costs something together with: one tag in many measurements is one decision of one writer, and
    what a table wastes is one bill, but for what only a changed writer can save.
    """
    if finding.impact is None:
        return
    at, currency, is_saved_by_writer = finding.subject, finding.impact.currency, finding.impact.is_saved_by_writer
    if currency is Currency.SERIES and at.column:
        yield _OF_COLUMN, currency, at.database, at.column, is_saved_by_writer
    if currency in _ADDED_UP and at.measurement:
        yield _OF_TABLE, currency, at.database, at.measurement, is_saved_by_writer


def _sums(findings: Iterable[tuple[str, Finding]], harm: Harm) -> dict[_Group, tuple[Impact, float]]:
    """Group to what its findings cost together, and what the worst of them will cost; only of groups of several."""
    groups: dict[_Group, list[tuple[str, Finding]]] = defaultdict(list)
    for code, finding in findings:
        if finding.basis is not Basis.INFERRED:
            for group in _groups(finding):
                groups[group].append((code, finding))
    sums = {}
    for group, members in groups.items():
        kind, currency, *_ = group
        if kind == _OF_COLUMN:
            parts = _largest((finding.subject.measurement, finding) for _, finding in members)
        elif currency is Currency.SERIES:
            parts = _apart(members)
        else:
            parts = [finding.impact for _, finding in members if finding.impact]
        if len(parts) > 1:
            wholes = [one.whole for one in parts if one.whole is not None]
            largest = max(one.after(_days_ahead(one, harm)) for one in parts)
            sums[group] = _together(parts, max(wholes) if wholes else None), largest
    return sums


def _largest(members: Iterable[tuple[Hashable, Finding]]) -> list[Impact]:
    found: dict[Hashable, Impact] = {}
    for key, finding in members:
        if finding.impact is not None and (key not in found or finding.impact.now > found[key].now):
            found[key] = finding.impact
    return list(found.values())


def _apart(members: Iterable[tuple[str, Finding]]) -> list[Impact]:
    """The impacts of rules that report different tags of one measurement, the largest first. A rule counts the series
    of all tags that it reports there together, in each of its findings; what several rules report counts once.
    """
    by_rule: dict[str, list[Finding]] = defaultdict(list)
    for code, finding in members:
        by_rule[code].append(finding)
    parts: list[Impact] = []
    counted: set[str] = set()
    for found in sorted(by_rule.values(), key=lambda one: -_largest(("", f) for f in one)[0].now):
        columns = {finding.subject.column for finding in found}
        # One without a column is about the whole measurement.
        if not parts or ("" not in columns and columns.isdisjoint(counted)):
            parts += _largest(("", finding) for finding in found)
            counted |= columns
    return [] if "" in counted else parts


def _together(members: Sequence[Impact], whole: float | None) -> Impact:
    """`whole`: what all of them are a part of."""
    now = sum(one.now for one in members)
    return replace(
        max(members, key=lambda one: one.now),
        now=now if whole is None else min(now, whole),
        per_day=_rate_of(members),
        whole=whole,
        findings=len(members),
        tags=tuple(dict.fromkeys(tag for one in members for tag in one.tags)),
    )


def _rate_of(members: Sequence[Impact]) -> float | None:
    """How much they grow a day together, as far as that is known; None if none is known to grow, and some may."""
    known = [one.per_day for one in members if one.per_day is not None]
    return None if len(known) < len(members) and not any(known) else sum(known)


def _days_ahead(impact: Impact, harm: Harm) -> float:
    """How far ahead an amount is judged."""
    days = harm.horizon.days if impact.currency in (Currency.BYTES, Currency.SERIES) else harm.warning_days
    return days if impact.ahead_days is None else min(days, impact.ahead_days)


# --- The table --------------------------------------------------------------------------------------------------------


def severity_of(impact: Impact, harm: Harm) -> Severity:
    """The severity of what costs this, where it rests on what is declared or measured."""
    match impact.currency:
        case Currency.REJECTED:
            return _lost(impact, harm.max_rejected_share)
        case Currency.OVERWRITTEN:
            if impact.is_enforced is None:
                return _if((impact.share or 0.0) >= harm.max_overwritten_share)
            return _lost(replace(impact, goes_on=False), harm.max_overwritten_share)
        case Currency.LIMIT:
            return _toward_limit(impact, harm)
        case Currency.SERIES:
            return _series(impact, harm)
        case Currency.FAMILY:
            return _if(impact.after(harm.warning_days) >= harm.min_names)
        case Currency.BYTES:
            least = _least_bytes(impact, harm)
            share = impact.share if impact.added_share is None else max(impact.share or 0.0, impact.added_share)
            return _if(_is_material(impact, share, least, _least_bytes_share(impact, harm), harm.horizon.days))
        case Currency.MONEY:
            return _if(_is_material(impact, impact.share, harm.min_money, harm.min_money_share, harm.warning_days))
        case Currency.MECHANISM:
            ends = impact.is_enforced and impact.days_left is not None and impact.days_left <= harm.critical_days
            return Severity.CRITICAL if ends else Severity.WARNING
        case Currency.ANSWERS:
            return Severity.WARNING
        case Currency.READS:
            return _if(impact.now >= harm.min_reads)


_NEVER_CRITICAL: Final = frozenset({Currency.FAMILY, Currency.BYTES, Currency.MONEY, Currency.ANSWERS, Currency.READS})


def worst_of(currencies: Collection[Currency]) -> Severity:
    """The worst that something can be that costs only these."""
    if not currencies:
        return Severity.NOTE
    return Severity.WARNING if _NEVER_CRITICAL.issuperset(currencies) else Severity.CRITICAL


def _if(is_material: bool) -> Severity:
    return Severity.WARNING if is_material else Severity.NOTE


def _lost(impact: Impact, max_share: float) -> Severity:
    if impact.now <= 0:
        return Severity.NOTE
    share = impact.now / impact.whole if impact.whole else None
    is_critical = impact.goes_on or (share is not None and share >= max_share)
    return Severity.CRITICAL if is_critical else Severity.WARNING


def _but(impact: Impact, limit: Limit | None, harm: Harm) -> str:
    """Why a limit that is about to be reached is not critical, and the setting that makes it so, as the end of the
    reason; empty if it is critical, or would not be in any case.
    """
    if impact.currency is not Currency.LIMIT or impact.is_enforced is not None:
        return ""
    is_so = _toward_limit(replace(impact, is_enforced=True), harm) is not _toward_limit(impact, harm)
    if not is_so:
        return ""
    is_named = limit is not None and limit.value == impact.whole
    setting = f"; if it does, set `limits: {{{limit.name}: {limit.value:.15g}}}`" if limit and is_named else ""
    return f"; critical if this server enforces it, which it does not report{setting}"


def _toward_limit(impact: Impact, harm: Harm) -> Severity:
    if impact.is_enforced is False:
        return Severity.NOTE
    share = impact.now / impact.whole if impact.whole else 0.0
    if impact.is_used_up and impact.per_day is not None and share < 1:
        if not impact.per_day:
            # Nothing is used at present, and nothing is known of when that changes.
            return _if(share >= harm.limit_warning)
        share = 0.0
    left = impact.days_left
    if share >= harm.limit_critical or (left is not None and left <= harm.critical_days):
        return Severity.CRITICAL if impact.is_enforced else Severity.WARNING
    return _if(share >= harm.limit_warning or (left is not None and left <= harm.warning_days))


def _series(impact: Impact, harm: Harm) -> Severity:
    days = harm.horizon.days
    least = _least_series(impact, harm)
    if not _is_material(impact, impact.share_after(days), least, harm.min_series_share, days):
        return Severity.NOTE
    taken = impact.after(harm.critical_days) * (impact.unit_bytes or 0.0)
    is_full = harm.max_memory is not None and taken >= max(harm.min_memory, harm.max_memory)
    return Severity.CRITICAL if is_full else Severity.WARNING


def _least_bytes(impact: Impact, harm: Harm) -> float:
    return max(harm.min_bytes, harm.min_bytes_by_writer) if impact.is_saved_by_writer else harm.min_bytes


def _least_bytes_share(impact: Impact, harm: Harm) -> float:
    return max(harm.min_bytes_share, harm.min_bytes_share_by_writer if impact.is_saved_by_writer else 0.0)


def _least_series(impact: Impact, harm: Harm) -> float:
    # What is not known to be at rest may grow.
    return min(harm.min_series, harm.min_unmeasured_series) if impact.per_day is None else harm.min_series


def _is_material(impact: Impact, share: float | None, least: float, least_share: float, days: float) -> bool:
    """`share`: of what it is a part of; None if that is not known."""
    return impact.after(days) >= least and (share is None or share >= least_share)
