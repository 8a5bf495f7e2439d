"""Rules that cannot be evaluated on a target: a permission that is missing or was revoked, a budget that is too small.

One audit in which a rule lacks something is `unknown` and notifies nobody. If that continues, the problems that the
rule looks for may go unnoticed, so it becomes an incident.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from tsaudit.model.finding import (
    DEGRADED_CODE,
    RULELESS_CODES,
    AuditResult,
    Evidence,
    Finding,
    Outcome,
    RuleResult,
    Severity,
)
from tsaudit.model.profile import Gap, Reason
from tsaudit.model.subject import Subject
from tsaudit.text import many

_MOST_NAMED: Final = 10
TITLE: Final = "Rules cannot be evaluated"
WHY: Final = "A rule that cannot be evaluated finds nothing, so a problem goes unnoticed."
FIX: Final = (
    "Run `tsaudit check`: it shows which permission or setting is missing, and the report lists every gap. If "
    "nothing can be done about it, mute the incident: `tsaudit mute`."
)


@dataclass(frozen=True, slots=True)
class RuleOutcomes:
    """Which rules could be evaluated on one audited day. A rule that does not apply is in neither set."""

    day: date
    evaluated: frozenset[str]
    """Codes of the rules that passed or found something."""
    unknown: frozenset[str]
    """Codes of the rules that failed, or found nothing but lacked something."""


@dataclass(frozen=True, slots=True)
class _DegradedRule:
    rule: RuleResult
    audits: int
    """Number of consecutive audits without a result, including this one."""
    since: date
    """The day of the first of these audits."""


def outcomes_of(result: AuditResult) -> RuleOutcomes:
    """Which rules were evaluated, and which could not be for a reason that nothing else reports.

    If the target could not be audited, only that is reported, and both sets are empty. Gaps in a database that could
    not be audited are ignored, too, and so are facts that cannot be known for a past day.
    """
    missed = {f.subject for f in result.not_audited.findings} if result.not_audited else set()
    evaluated, unknown = set(), set()
    for rule in result.results if Subject() not in missed else ():
        if rule.code in RULELESS_CODES:
            continue
        if rule.outcome in (Outcome.PASS, Outcome.FAIL):
            evaluated.add(rule.code)
        elif rule.outcome is Outcome.ERROR or any(
            gap.reason is not Reason.PAST_DAY for gap in _gaps_outside(rule, missed)
        ):
            unknown.add(rule.code)
    return RuleOutcomes(result.day, frozenset(evaluated), frozenset(unknown))


def degraded_rules(result: AuditResult, earlier: Sequence[RuleOutcomes], after: int) -> RuleResult | None:
    """The rules that have been unknown in the last `after` audits or more; None if there are none.

    A rule that never worked counts like one that stopped working. `earlier`: the outcomes of previous audits, newest
    first. Audits are counted, not days; an audit in which a rule is in neither set is skipped for that rule.
    """
    unknown = outcomes_of(result).unknown
    streaks = [_streak(rule, result.day, earlier) for rule in result.results if rule.code in unknown]
    found = sorted((s for s in streaks if s.audits >= after), key=lambda s: (s.since, s.rule.code))
    return _result(found) if found else None


def _streak(rule: RuleResult, today: date, earlier: Iterable[RuleOutcomes]) -> _DegradedRule:
    audits, since = 1, today
    for day in earlier:
        if rule.code in day.evaluated:
            break
        if rule.code in day.unknown:
            audits, since = audits + 1, day.day
    return _DegradedRule(rule, audits, since)


def _result(found: Sequence[_DegradedRule]) -> RuleResult:
    codes = [one.rule.code for one in found]
    more = f" and {len(codes) - _MOST_NAMED} more" if len(codes) > _MOST_NAMED else ""
    named = ", ".join(codes[:_MOST_NAMED]) + more
    fewest = min(one.audits for one in found)
    least = "" if fewest == max(one.audits for one in found) else "at least "
    have = "has" if len(found) == 1 else "have"
    finding = Finding(
        subject=Subject(),
        severity=Severity.WARNING,
        message=f"{many(len(found), 'rule')} {have} been unknown for {least}{many(fewest, 'audit')}: {named}. "
        f"First cause: {_cause(found[0].rule)}",
        fix=FIX,
        since=found[0].since,
        evidence=tuple(Evidence(one.rule.code, f"unknown since {one.since}: {_cause(one.rule)}") for one in found),
    )
    return RuleResult(
        code=DEGRADED_CODE,
        name=RULELESS_CODES[DEGRADED_CODE],
        title=TITLE,
        family="coverage",
        guidelines=(),
        outcome=Outcome.FAIL,
        findings=(finding,),
        why=WHY,
    )


def _cause(rule: RuleResult) -> str:
    """Why the rule could not be evaluated, in one line."""
    if rule.outcome is Outcome.ERROR or not rule.gaps:
        return f"{rule.code} broke: {rule.reason}" if rule.outcome is Outcome.ERROR else rule.reason
    gap = rule.gaps[0]
    where = "/".join(part for part in (gap.database, gap.measurement) if part)
    return f"{gap.fact}{f' of {where}' if where else ''} {gap.reason}: {gap.detail}"


def _gaps_outside(rule: RuleResult, missed: set[Subject]) -> list[Gap]:
    return [gap for gap in rule.gaps if Subject(gap.database or "") not in missed]
