"""What an audit should have measured and did not: the whole target, some of its databases, or what rules need.

This is derived from the profile, never from a particular error: however an engine responds, what counts is whether a
measurement was read and whether a rule could be evaluated.

One audit in which a rule lacks something is `unknown` and notifies nobody: a lock or a busy server may be gone
tomorrow. If that continues, the problems that the rule looks for may go unnoticed, so it becomes an incident. It
becomes one at once if the rule worked in the audit before, and what it lacks does not come back by itself: a permission
that was taken away, or a table that has outgrown the budget. Growth itself may be what hides it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date
from typing import Final, NamedTuple

from tsaudit.engines.registry import ENGINES
from tsaudit.model.facts import FACTS, STRUCTURE, Scope
from tsaudit.model.figures import Gap, Reason, Subject
from tsaudit.model.finding import (
    DEGRADED_CODE,
    PLUGIN_CODE,
    RULELESS_CODES,
    UNREACHABLE_CODE,
    AuditResult,
    Evidence,
    Finding,
    Outcome,
    RuleResult,
    Severity,
)
from tsaudit.model.profile import Profile
from tsaudit.model.timeline import SAME_DAY
from tsaudit.plugins import Problem
from tsaudit.text import ended, instant, many, number


class Texts(NamedTuple):
    """What a code without a rule means."""

    title: str
    why: str
    """Why it matters."""
    fix: str


TEXTS: Final[Mapping[str, Texts]] = {
    UNREACHABLE_CODE: Texts(
        "The target could not be audited",
        "While a target cannot be audited, changes of its schema go unnoticed. No finding is closed, and nothing "
        "counts as deleted, until it can be audited again.",
        "Run `tsaudit check` on the machine that audits: it connects in the same way, and shows when that works again.",
    ),
    DEGRADED_CODE: Texts(
        "Rules cannot be evaluated",
        "A rule that cannot be evaluated finds nothing, so a problem goes unnoticed.",
        "Run `tsaudit check`: it shows which permission or setting is missing, and the report lists every gap. List "
        "what is not to be audited under `exclude`. If nothing can be done about it, mute the incident: "
        "`tsaudit mute`.",
    ),
    PLUGIN_CODE: Texts(
        "A rule plug-in cannot be used",
        "The rules of a plug-in that cannot be used are not evaluated, so a problem they watch for goes unnoticed. "
        "Incidents they opened stay as they are.",
        "Run `tsaudit version`: it lists the plug-ins and what is wrong with them. Fix, update or uninstall the "
        "package.",
    ),
}
"""Texts of the codes in `RULELESS_CODES`."""
_FIX: Final = TEXTS[UNREACHABLE_CODE].fix
_FIX_EMPTY: Final = (
    "Check the address, and compare `databases`, `include`, and `exclude` with the databases on the server; "
    "`tsaudit check` helps with both. If the target is meant to be empty, mute the incident: "
    "`tsaudit mute`."
)
_FIX_REFUSED: Final = (
    f"Grant these permissions, or remove the target from tsaudit.yaml if nothing of it is to be audited. {_FIX}"
)
_FIX_DATABASE: Final = (
    "Grant the user the permissions that `tsaudit check` lists, or list only the databases to audit under `databases`."
)
NO_ROWS_THEN: Final = "no table has a row within the window of that day: there were none, or they have been deleted"
"""Why a past day could not be audited: another attempt would find nothing, either."""
_FIX_DAY: Final = "Audit a day of which the database still has rows, or set a longer `window`."
_ORDER: Final = ("databases", "policies", "measurements", "columns", "tag_keys", "field_types")
"""Facts in the order in which they depend on each other: the gap of the first one is the cause."""
_MOST_CAUSES: Final = 2
_REFUSED: Final = frozenset({Reason.DENIED, Reason.FAILED})
_LASTING: Final = frozenset({Reason.DENIED, Reason.OVER_BUDGET})
"""Reasons that are the same tomorrow, unless somebody changes a permission or a setting."""


@dataclass(frozen=True, slots=True)
class Missed:
    """What was not audited, with the reason."""

    subject: Subject
    """A database, or the whole target."""
    cause: str
    """The reason, in one line."""
    message: str
    """The reason as a sentence."""
    fix: str


def unseen(profile: Profile) -> str | None:
    """Why no measurement of the target could be measured, in one line; None if one could."""
    if _seen(profile):
        return None
    listed = _cause(g for g in _gaps(profile) if g.fact in STRUCTURE)
    return listed or _cause(unread(profile).values()) or "no measurement could be read"


def _is_without_rows(profile: Profile) -> bool:
    """Whether a past day was audited in whose window no measurement has rows."""
    if profile.collected_at - profile.window.end <= SAME_DAY or not profile.measurements:
        return False
    return all(one.rows is not None and one.rows.value == 0 for one in profile.measurements)


def most_lost(profile: Profile, earlier: Profile) -> Missed | None:
    """Why most of what an earlier audit of the day measured was not measured again; None if it was, or is gone."""
    before = _measured(earlier)
    lost = {at: gap for at in before - _measured(profile) if (gap := _lost_to(profile, *at)) is not None}
    if 2 * len(lost) <= len(before):
        return None
    noun = ENGINES[profile.engine].words.measurement
    read = f"only {number(len(before) - len(lost))} of {many(len(before), noun)} could be measured"
    return whole(f"{read}: {_cause(lost.values())}", _FIX)


def _measured(profile: Profile) -> set[tuple[str, str]]:
    """Database and name of the measurements of which more than the catalog was read."""
    return {(m.database, m.name) for m in profile.measurements if m.statements or m.series is not None}


def _lost_to(profile: Profile, database: str, name: str) -> Gap | None:
    """The gap because of which it was not measured; None if there is none: it is gone, or was left out on purpose."""
    is_listed = any((m.database, m.name) == (database, name) for m in profile.measurements)
    gaps = (g for g in _gaps(profile) if g.covers(database, name) and not profile.is_named(g))
    return next((g for g in gaps if is_listed or g.fact in STRUCTURE), None)


def after_failure(earlier: AuditResult, failed: AuditResult, why: Missed | None = None) -> AuditResult:
    """The result of a day on which a later audit failed: that of the earlier one, and the failure.

    `why`: None for what the failed result says, which then must be a failure of the whole target.
    """
    failure, at = (result_of([why]).findings[0] if why else failed.failure), instant(earlier.audited_at)
    assert failure is not None
    when = f"That was at {instant(failed.audited_at)}; the figures and all other findings of the day are from {at}."
    missed = earlier.not_audited
    found = [
        replace(failure, headline=failure.message, message=f"{ended(failure.message)} {when}"),
        *(one for one in (missed.findings if missed else ()) if one.subject != Subject()),
    ]
    reason = why.cause if why else failed.not_audited.reason if failed.not_audited else ""
    own = without_rule(UNREACHABLE_CODE, Outcome.ERROR, found, reason)
    results = (*(r for r in earlier.results if r.code != UNREACHABLE_CODE), own)
    return replace(earlier, results=results, failed_at=failed.audited_at)


def unread(profile: Profile) -> dict[tuple[str, str], Gap]:
    """Measurements that could not be read at all, by database and name, each with the reason.

    The catalog may list a table and its columns to users who may not read a single row. An index of series, however,
    lists only the tags and fields of stored points: whoever can read it has read something.
    """
    if ENGINES[profile.engine].has_series_index:
        return {}
    answered = {(m.database, m.name) for m in profile.measurements if m.statements or m.series is not None}
    known = {(m.database, m.name) for m in profile.measurements} - answered
    found: dict[tuple[str, str], Gap] = {}
    for gap in _gaps(profile):
        at = (gap.database or "", gap.measurement or "")
        is_refused = gap.reason in _REFUSED and (gap.fact == "columns" or FACTS[gap.fact].scope is Scope.MEASUREMENT)
        if at in known and is_refused:
            found.setdefault(at, gap)
    return found


def missed(
    profile: Profile, results: Sequence[RuleResult] | None = None, previous: Profile | None = None
) -> tuple[Missed, ...]:
    """What was not audited, according to the profile and the rules' results; empty if everything was.

    There is a single entry for the whole target, or one for each database of which no measurement could be read.
    `results`: None if no rule has run yet. `previous`: the previous snapshot, which distinguishes an emptied server
    from a new one; None if there is none.
    """
    if (cause := unseen(profile)) is not None:
        if not any(g.reason is Reason.NOTHING_THERE for g in profile.gaps):
            is_refused = any(g.reason is Reason.DENIED and g.measurement for g in profile.gaps)
            return (whole(cause, _FIX_REFUSED if is_refused else None),)
        before, noun = len(previous.measurements) if previous else 0, ENGINES[profile.engine].words.measurement
        then = (
            f"; on {previous.day} {many(before, noun)} {'was' if before == 1 else 'were'} audited"
            if previous and before
            else ""
        )
        return (whole(cause + then, _FIX_EMPTY),)
    if _is_without_rows(profile):
        return (whole(NO_ROWS_THEN, _FIX_DAY),)
    if (gone := next((g for g in profile.gaps if g.reason is Reason.UNREACHABLE), None)) is not None:
        message = f"The target became unreachable during the audit: {gone.detail}"
        return (Missed(Subject(), gone.detail, message, _FIX),)
    if results is not None and (cause := _not_evaluated(profile, results)) is not None:
        return (Missed(Subject(), cause, f"No rule could be evaluated on the target: {cause}", _FIX),)
    return tuple(_databases(profile))


def whole(cause: str, fix: str | None = None) -> Missed:
    """The entry for a target that could not be audited at all. `fix`: None for what the cause itself advises."""
    return Missed(Subject(), cause, f"The target could not be audited: {cause}", fix or _fix_of(cause))


def _fix_of(cause: str) -> str:
    """What the error says to do, which is its part after a semicolon, and how to try that."""
    _, separator, advice = cause.partition("; ")
    if not separator or "; " in advice or advice.startswith("and "):
        return _FIX  # several causes, or none that says what to do
    return f"{advice[0].upper()}{advice[1:]}{'' if advice[-1] in '.?' else '.'} {_FIX}"


def result_of(found: Sequence[Missed]) -> RuleResult:
    """The entries as the result of a rule."""
    findings = [Finding(m.subject, m.message, severity=Severity.WARNING, fix=m.fix) for m in found]
    reason = _listed(m.cause if m.subject == Subject() else f"{m.subject.database}: {m.cause}" for m in found)
    return without_rule(UNREACHABLE_CODE, Outcome.ERROR, findings, reason)


def without_rule(code: str, outcome: Outcome, findings: Iterable[Finding], reason: str = "") -> RuleResult:
    """Findings without a rule as the result of one, so that they are treated like any other."""
    return RuleResult(
        code=code,
        name=RULELESS_CODES[code],
        title=TEXTS[code].title,
        family="coverage",
        guidelines=(),
        outcome=outcome,
        findings=tuple(findings),
        reason=reason,
        why=TEXTS[code].why,
    )


def unusable_rules(problems: Iterable[Problem]) -> RuleResult | None:
    """The result that reports plug-ins whose rules were not evaluated; None if there are none."""
    lines = [str(problem) for problem in problems]
    if not lines:
        return None
    more = f"; and {len(lines) - 1} more, which `tsaudit version` lists" if len(lines) > 1 else ""
    said = f"Not all rules could be evaluated: {lines[0]}{more}"
    finding = Finding(Subject(), said, severity=Severity.WARNING, fix=TEXTS[PLUGIN_CODE].fix)
    return without_rule(PLUGIN_CODE, Outcome.ERROR, [finding], "; ".join(lines))


def _databases(profile: Profile) -> Iterator[Missed]:
    """Databases of which no measurement could be read, although there was something to measure.

    A database that is only empty has no gap and is not included: new databases are empty for a while, and the rest of
    the target shows that this is the right server.
    """
    seen = _seen(profile)
    gaps = [g for g in _gaps(profile) if g.fact in STRUCTURE]
    gaps = [g for g in (*gaps, *unread(profile).values()) if g.database is not None and g.database not in seen]
    for name in sorted({g.database for g in gaps if g.database is not None}):
        cause = _cause(g for g in gaps if g.database == name) or ""
        message = f"{ENGINES[profile.engine].words.database.capitalize()} {name} could not be audited: {cause}"
        yield Missed(Subject(name), cause, message, _FIX_DATABASE)


def _seen(profile: Profile) -> set[str]:
    """The databases with a measurement that was at least partly read. One without columns and a gap is empty."""
    unknown = {(g.database, g.measurement) for g in profile.gaps if g.fact in STRUCTURE}
    not_read = unread(profile)
    return {
        m.database
        for m in profile.measurements
        if (m.columns or (m.database, m.name) not in unknown) and (m.database, m.name) not in not_read
    }


def _gaps(profile: Profile) -> list[Gap]:
    """The gaps, except for those of column roles if the columns are known: they follow from rows not read."""
    described = {(m.database, m.name) for m in profile.measurements if m.columns}
    return [g for g in profile.gaps if g.fact != "columns" or (g.database, g.measurement) not in described]


def _not_evaluated(profile: Profile, results: Sequence[RuleResult]) -> str | None:
    """Why no rule could be evaluated, in one line; None if one could, even for part of the target."""
    applying = [r for r in results if r.outcome is not Outcome.NOT_APPLICABLE]
    if any(evaluated_some(r, profile) for r in applying):
        return None
    if not applying:
        return "all rules are switched off" if any(r.switched_off for r in results) else "no rule applies to it"
    broken = next((f"{r.code} broke: {r.reason}" for r in applying if r.outcome is Outcome.ERROR), None)
    return _cause(g for r in applying for g in r.gaps) or broken or applying[0].reason or "no rule could be evaluated"


def evaluated_some(rule: RuleResult, profile: Profile) -> bool:
    """Whether the rule was evaluated on at least one measurement, even if there are gaps elsewhere."""
    if rule.outcome in (Outcome.PASS, Outcome.FAIL):
        return True
    if rule.outcome is Outcome.ERROR or not rule.gaps:
        return False
    # Measurements beyond the budget are gaps in their database, although the measurements within it were measured.
    beyond = {(g.database, g.detail) for g in profile.gaps if g.fact == "measurements" and g.measurement is None}
    lacking = [
        g
        for g in rule.gaps
        if not (g.reason is Reason.OVER_BUDGET and g.measurement is None and (g.database, g.detail) in beyond)
    ]
    everywhere = {g.database for g in lacking if g.measurement is None}
    singly = {(g.database, g.measurement) for g in lacking}
    return any(not everywhere & {None, m.database} and (m.database, m.name) not in singly for m in profile.measurements)


def _cause(gaps: Iterable[Gap]) -> str | None:
    """The details of the gaps that cause the others, without duplicates; None if there are none."""
    ranked = sorted(gaps, key=lambda g: _ORDER.index(g.fact) if g.fact in _ORDER else len(_ORDER))
    # A gap that depends on another one repeats its text.
    first = [g.detail for g in ranked if g.fact == ranked[0].fact]
    return _listed(dict.fromkeys(first)) or None


def _listed(lines: Iterable[str]) -> str:
    """The lines joined to one, limited to what people would read."""
    found = list(lines)
    more = f"; and {len(found) - _MOST_CAUSES} more" if len(found) > _MOST_CAUSES else ""
    return "; ".join(found[:_MOST_CAUSES]) + more


_MOST_NAMED: Final = 10


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
    is_lost: bool
    """Whether the rule worked in the audit before, and what it lacks does not come back by itself."""


def outcomes_of(result: AuditResult) -> RuleOutcomes:
    """Which rules were evaluated, and which could not be for a reason that nothing else reports.

    If the target could not be audited, only that is reported, and both sets are empty, unless an earlier audit of the
    day succeeded. Gaps in a database that could not be audited are ignored, too, and so are facts that cannot be known
    for a past day. Past days, of which many may be audited within minutes, show no rule that is unknown for long.
    """
    is_past = result.audited_at.astimezone(UTC).date() - result.day > SAME_DAY
    missed = {f.subject for f in result.not_audited.findings} if result.not_audited else set()
    evaluated, unknown = set(), set()
    for rule in result.results if Subject() not in missed or result.failed_at else ():
        if rule.code in RULELESS_CODES:
            continue
        if rule.outcome in (Outcome.PASS, Outcome.FAIL):
            evaluated.add(rule.code)
        elif is_past:
            continue
        elif rule.outcome is Outcome.ERROR or any(
            gap.reason is not Reason.PAST_DAY and Subject(gap.database or "") not in missed for gap in rule.gaps
        ):
            unknown.add(rule.code)
    return RuleOutcomes(result.day, frozenset(evaluated), frozenset(unknown))


def degraded_rules(result: AuditResult, earlier: Sequence[RuleOutcomes], after: int) -> RuleResult | None:
    """The rules that have been unknown in the last `after` audits or more, and those that were lost in this one; None
    if there are none.

    A rule that never worked counts like one that stopped working, unless all that it lacks is what the server does not
    support: it does not apply there, which the report says, and nobody can change that. `earlier`: the outcomes of
    previous audits, newest first. Audits are counted, not days; an audit in which a rule is in neither set is skipped
    for that rule.
    """
    unknown = outcomes_of(result).unknown
    streaks = [_streak(rule, result.day, earlier) for rule in result.results if rule.code in unknown]
    long = (s for s in streaks if s and (s.is_lost or s.audits >= after))
    found = sorted(long, key=lambda s: (s.since, s.rule.code))
    return _result(found) if found else None


def _streak(rule: RuleResult, today: date, earlier: Iterable[RuleOutcomes]) -> _DegradedRule | None:
    """None for a rule that does not apply to the server."""
    audits, since, has_worked = 1, today, False
    for day in earlier:
        if rule.code in day.evaluated:
            has_worked = True
            break
        if rule.code in day.unknown:
            audits, since = audits + 1, day.day
    # A statement that took too long today has not been the cause until now.
    others = {gap.reason for gap in rule.gaps if not _is_of_server(gap)}
    if not has_worked and any(map(_is_of_server, rule.gaps)) and others <= {Reason.TIMED_OUT}:
        return None
    is_lost = has_worked and any(gap.reason in _LASTING for gap in rule.gaps)
    return _DegradedRule(rule, audits, since, is_lost)


def _is_of_server(gap: Gap) -> bool:
    """Whether the server does not support it, for no measurement, and nothing is known to help."""
    return gap.reason is Reason.UNSUPPORTED and gap.measurement is None and not gap.fix


def _result(found: Sequence[_DegradedRule]) -> RuleResult:
    codes = [one.rule.code for one in found]
    more = f" and {len(codes) - _MOST_NAMED} more" if len(codes) > _MOST_NAMED else ""
    named = ", ".join(codes[:_MOST_NAMED]) + more
    fewest = min(one.audits for one in found)
    least = "" if fewest == max(one.audits for one in found) else "at least "
    is_one = len(found) == 1
    if fewest > 1:
        how = f"{'has' if is_one else 'have'} been unknown for {least}{many(fewest, 'audit')}"
    else:
        how = f"{'that worked before ' if all(one.is_lost for one in found) else ''}{'is' if is_one else 'are'} unknown"
    causes = [_why_unknown(one.rule) for one in found]
    cause, advice = causes[0]
    others = len(found) - causes.count(causes[0])
    finding = Finding(
        subject=Subject(),
        severity=Severity.WARNING,
        message=f"{cause}, so {many(len(found), 'rule')} {how}"
        f"{f' ({others} for other reasons)' if others else ''}: {named}",
        fix=f"{advice}. {TEXTS[DEGRADED_CODE].fix}" if advice else TEXTS[DEGRADED_CODE].fix,
        since=found[0].since,
        evidence=tuple(
            Evidence(one.rule.code, f"unknown since {one.since}: {cause}")
            for one, (cause, _) in zip(found, causes, strict=True)
        ),
    )
    return without_rule(DEGRADED_CODE, Outcome.FAIL, [finding])


def _why_unknown(rule: RuleResult) -> tuple[str, str]:
    """Why the rule is unknown, the place first, and what would help; empty if nothing is known to."""
    if rule.outcome is Outcome.ERROR or not rule.gaps:
        return (f"{rule.code} broke: {rule.reason}" if rule.outcome is Outcome.ERROR else rule.reason), ""
    gap = next((gap for gap in rule.gaps if gap.reason in _LASTING), rule.gaps[0])
    # A statement is copied as it is; what to set is a sentence.
    fix = gap.fix[:1].upper() + gap.fix[1:]
    return f"{gap.place or gap.fact}: {gap.cause}", fix
