"""What an audit should have measured and did not: the whole target, or some of its databases.

This is derived from the profile, never from a particular error: however an engine responds, what counts is whether a
measurement was read and whether a rule could be evaluated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tsaudit.engines.registry import ENGINES
from tsaudit.model.facts import FACTS, STRUCTURE, Scope
from tsaudit.model.finding import RULELESS_CODES, UNREACHABLE_CODE, Finding, Outcome, RuleResult, Severity
from tsaudit.model.profile import Gap, Profile, Reason
from tsaudit.model.subject import Subject
from tsaudit.text import many

TITLE: Final = "The target could not be audited"
WHY: Final = (
    "While a target cannot be audited, changes of its schema go unnoticed. Missing data proves nothing: no "
    "finding is closed, and nothing counts as deleted."
)
FIX: Final = "Run `tsaudit check` on the machine that audits; it shows which permission, address, or driver is missing."
_FIX_EMPTY: Final = (
    "Check the address, and compare `databases`, `include`, and `exclude` with the databases on the server; "
    "`tsaudit check` helps with both. If the target is meant to be empty, mute the incident: "
    "`tsaudit mute`."
)
_FIX_DATABASE: Final = (
    "Grant the user the permissions that `tsaudit check` lists, or list only the databases to audit under `databases`."
)
_ORDER: Final = ("databases", "policies", "measurements", "columns", "tag_keys", "field_types")
"""Facts in the order in which they depend on each other: the gap of the first one is the cause."""
_MOST_CAUSES: Final = 2
_REFUSED: Final = frozenset({Reason.DENIED, Reason.FAILED})


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
            return (whole(cause),)
        before = len(previous.measurements) if previous else 0
        then = (
            f"; on {previous.day} {many(before, 'measurement')} {'was' if before == 1 else 'were'} audited"
            if previous and before
            else ""
        )
        return (whole(cause + then, _FIX_EMPTY),)
    if (gone := next((g for g in profile.gaps if g.reason is Reason.UNREACHABLE), None)) is not None:
        message = f"The target became unreachable during the audit: {gone.detail}"
        return (Missed(Subject(), gone.detail, message, FIX),)
    if results is not None and (cause := _not_evaluated(profile, results)) is not None:
        return (Missed(Subject(), cause, f"No rule could be evaluated on the target: {cause}", FIX),)
    return tuple(_databases(profile))


def whole(cause: str, fix: str = FIX) -> Missed:
    """The entry for a target that could not be audited at all."""
    return Missed(Subject(), cause, f"The target could not be audited: {cause}", fix)


def result_of(found: Sequence[Missed]) -> RuleResult:
    """The entries as the result of a rule, so that they become incidents, messages, and part of the report like any
    other.
    """
    return RuleResult(
        code=UNREACHABLE_CODE,
        name=RULELESS_CODES[UNREACHABLE_CODE],
        title=TITLE,
        family="coverage",
        guidelines=(),
        outcome=Outcome.ERROR,
        findings=tuple(Finding(m.subject, m.message, severity=Severity.WARNING, fix=m.fix) for m in found),
        reason=_listed(m.cause if m.subject == Subject() else f"{m.subject.database}: {m.cause}" for m in found),
        why=WHY,
    )


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
        message = f"Database {name} could not be audited: {cause}"
        yield Missed(Subject(name), cause, message, _FIX_DATABASE)


def _seen(profile: Profile) -> set[str]:
    """The databases with a measurement that was at least partly read. A measurement without columns and without a gap
    is empty.
    """
    unknown = {(g.database, g.measurement) for g in profile.gaps if g.fact in STRUCTURE}
    not_read = unread(profile)
    return {
        m.database
        for m in profile.measurements
        if (m.columns or (m.database, m.name) not in unknown) and (m.database, m.name) not in not_read
    }


def _gaps(profile: Profile) -> list[Gap]:
    """The gaps, except for those of column roles if the columns are known: these only follow from rows that were not
    read.
    """
    described = {(m.database, m.name) for m in profile.measurements if m.columns}
    return [g for g in profile.gaps if g.fact != "columns" or (g.database, g.measurement) not in described]


def _not_evaluated(profile: Profile, results: Sequence[RuleResult]) -> str | None:
    """Why no rule could be evaluated, in one line; None if one could, even for part of the target."""
    applying = [r for r in results if r.outcome is not Outcome.NOT_APPLICABLE]
    if any(_evaluated_some(r, profile) for r in applying):
        return None
    if not applying:
        return "all rules are switched off" if any(r.switched_off for r in results) else "no rule applies to it"
    broken = next((f"{r.code} broke: {r.reason}" for r in applying if r.outcome is Outcome.ERROR), None)
    return _cause(g for r in applying for g in r.gaps) or broken or applying[0].reason or "no rule could be evaluated"


def _evaluated_some(rule: RuleResult, profile: Profile) -> bool:
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
