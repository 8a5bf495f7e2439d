"""One finding per cause: what follows from another finding becomes its evidence, and alike findings become one.

A rule declares in `follows_from` whose findings make its own redundant. `Reach` says how near they have to be.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from tsaudit.config.settings import Harm
from tsaudit.engines.registry import ENGINES
from tsaudit.harm import at_the_cost_of_all
from tsaudit.model.change import Diagnose, MakeField, MergeMeasurements, StopSource
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Currency, Evidence, Finding, Limit, Outcome, RuleResult, Severity
from tsaudit.model.profile import Profile
from tsaudit.rule import Reach, Rule
from tsaudit.text import listed, many, number, percent
from tsaudit.text.findings import contributors

_MOST_APART: Final = 3
"""Places where the same thing is reported place by place. With more, one program or habit is behind all of them, and
where the same tags bring several measurements near one limit, one program certainly is.
"""
_MOST_EVIDENCE: Final = 8
_Place = tuple[str, int]
"""A finding: the code of its rule, and its position among the rule's findings."""


def one_per_cause(
    profile: Profile, rules: Iterable[Rule], results: Sequence[RuleResult], harm: Harm
) -> list[RuleResult]:
    """The results without findings that follow from others, and with one finding for what is alike in many places."""
    own = {rule.code: rule for rule in rules if not rule.package}
    folded = _folded(own, results)
    return [_gathered(profile, result, harm) if result.code in own else result for result in folded]


def _folded(rules: Mapping[str, Rule], results: Sequence[RuleResult]) -> list[RuleResult]:
    found = {result.code: result.findings for result in results}
    places = _places(found)
    causes: dict[_Place, _Place] = {}
    for code, position, finding in _each(found):
        if code in rules:
            cause = _cause(rules[code], finding, found, places)
            if cause is not None:
                causes[code, position] = cause
    under: dict[_Place, list[tuple[str, Finding]]] = defaultdict(list)
    for (code, position), cause in causes.items():
        while cause in causes:
            cause = causes[cause]
        under[cause].append((code, found[code][position]))
    return [_without(result, causes, under) for result in results]


def _places(found: Mapping[str, Sequence[Finding]]) -> dict[tuple[str, Reach, Subject], list[_Place]]:
    """Rule, reach and subject to the findings that cover the subject."""
    places: dict[tuple[str, Reach, Subject], list[_Place]] = defaultdict(list)
    for code, position, finding in _each(found):
        for at in {finding.subject, *_named(finding)}:
            places[code, Reach.SUBJECT, at].append((code, position))
        for name in _members(finding):
            at = Subject(finding.subject.database, name)
            places[code, Reach.MEASUREMENT, at].append((code, position))
    return places


def _each(found: Mapping[str, Sequence[Finding]]) -> Iterator[tuple[str, int, Finding]]:
    for code, findings in found.items():
        for position, finding in enumerate(findings):
            yield code, position, finding


def _cause(
    rule: Rule,
    finding: Finding,
    found: Mapping[str, Sequence[Finding]],
    places: Mapping[tuple[str, Reach, Subject], Sequence[_Place]],
) -> _Place | None:
    """The finding that it follows from; None if it stands for itself."""
    for code, reach in rule.follows_from.items():
        subject = finding.subject
        if reach is Reach.CONTRIBUTOR:
            # The cause becomes as severe as what follows from it.
            same = (n for n, one in enumerate(found.get(code, ())) if _has_same_contributor(one, finding))
            if (position := next(same, None)) is not None:
                return code, position
            continue
        at = subject if reach is Reach.SUBJECT else Subject(subject.database, subject.measurement)
        for place in places.get((code, reach, at), ()):
            # A finding is never hidden behind a less severe one.
            if found[code][place[1]].severity.rank >= finding.severity.rank:
                return place
    return None


def _has_same_contributor(cause: Finding, finding: Finding) -> bool:
    a, b = cause.subject, finding.subject
    pairs = ((a.database, b.database), (a.measurement, b.measurement))
    will_be = cause.forecast is not None and cause.forecast.days is not None
    return (
        (cause.severity is not Severity.NOTE or finding.severity is Severity.NOTE or will_be)
        and not {*contributors(cause)}.isdisjoint(contributors(finding))
        and all("" in pair or pair[0] == pair[1] for pair in pairs)
    )


def _named(finding: Finding) -> Iterator[Subject]:
    """The measurements and columns that a finding about a whole database names: those that it would change."""
    if finding.subject.measurement:
        return
    for change in finding.changes:
        if isinstance(change, MakeField | StopSource):
            yield from (change.at, replace(change.at, column=change.tag))
        elif isinstance(change, Diagnose) and change.column:
            yield replace(change.at, column=change.column)


def _members(finding: Finding) -> set[str]:
    """The measurements it is about: its own, and those that it merges into one."""
    merged = {m.measurement for c in finding.changes if isinstance(c, MergeMeasurements) for m in c.members}
    return {finding.subject.measurement, *merged} - {""}


def _without(
    result: RuleResult, causes: Mapping[_Place, _Place], under: Mapping[_Place, Sequence[tuple[str, Finding]]]
) -> RuleResult:
    """The result with only the findings that stand for themselves, and with what follows from them as evidence."""
    if not result.findings:
        return result
    places = [(result.code, position) for position in range(len(result.findings))]
    kept = tuple(
        _with_evidence(finding, under.get(place, ()))
        for place, finding in zip(places, result.findings, strict=True)
        if place not in causes
    )
    under_others = [f for place, f in zip(places, result.findings, strict=True) if place in causes]
    result = replace(result, folded=tuple(f for f in under_others if f.severity is not Severity.NOTE))
    if kept or result.outcome is not Outcome.FAIL:
        return replace(result, findings=kept)
    others = listed(sorted({causes[place][0] for place in places}))
    reason = result.reason or f"what it found follows from {others}"
    return replace(result, findings=(), outcome=Outcome.OPEN if result.gaps else Outcome.PASS, reason=reason)


def _with_evidence(finding: Finding, under: Sequence[tuple[str, Finding]]) -> Finding:
    if not under:
        return finding
    alike = Counter((code, other.message) for code, other in under)
    shown = [
        Evidence(f"also {code}", said if count == 1 else f"{many(count, 'time')}: {said}")
        for (code, said), count in itertools.islice(alike.items(), _MOST_EVIDENCE)
    ]
    more = sum(itertools.islice(alike.values(), _MOST_EVIDENCE, None))
    shown += [Evidence("more that follows from it", many(more, "finding"))] if more else []
    # Of two that are as severe, the one that costs something says why.
    worst = max((finding, *(other for _, other in under)), key=lambda one: (one.severity.rank, one.impact is not None))
    if worst is not finding:
        finding = replace(
            finding,
            severity=worst.severity,
            severity_reason=worst.severity_reason,
            consequence=worst.consequence,
            impact=worst.impact,
            forecast=worst.forecast or finding.forecast,
        )
    changes = finding.changes
    if all(isinstance(change, Diagnose) for change in changes):
        # Changes of the others would otherwise be about what this one changes anyway. Those of notes stay theirs.
        worse = (other for _, other in under if other.severity is not Severity.NOTE)
        changes = (*changes, *(change for other in worse for change in other.changes))
    return replace(finding, changes=changes, evidence=(*finding.evidence, *shown))


def _gathered(profile: Profile, result: RuleResult, harm: Harm) -> RuleResult:
    """The result with one finding for columns of one measurement that are alike, for a column that is alike in many
    measurements, and so on.
    """
    if len(result.findings) < 2:
        return result
    schemas = {Subject(m.database, m.name): frozenset(m.columns) for m in profile.measurements}
    findings = list(result.findings)
    words = ENGINES[profile.engine].words
    terms = {"column": "column", "measurement": words.measurement, "database": words.database}
    for kind, term in terms.items():
        groups: dict[object, list[Finding]] = defaultdict(list)
        for position, finding in enumerate(findings):
            groups[_likeness(finding, kind, schemas) or position].append(finding)
        findings = [one for group in groups.values() for one in _as_one(group, kind, term, harm)]
    return replace(result, findings=tuple(findings))


def _likeness(finding: Finding, kind: str, schemas: Mapping[Subject, frozenset[str]]) -> object | None:
    """What findings in different measurements, or databases, have in common to be one; None if it stays alone.

    What has a history of its own is never one with others: each may grow and end on a day of its own. What happened on
    the same day is, if the same is said about it.
    """
    subject = finding.subject
    if finding.baseline is not None or finding.forecast is not None or not (subject.database or subject.measurement):
        return None
    if finding.since is not None:
        alike = (finding.severity, finding.since, replace(subject, **{kind: ""}), _said(finding, kind))
        return alike if getattr(subject, kind) else None
    if kind == "database":
        return (finding.severity, subject.measurement, subject.column)
    if kind == "column":
        # A message with figures of its own is about one column.
        own = _said(finding, kind)
        said = own if any(map(str.isdigit, own)) else ""
        return (finding.severity, subject.database, subject.measurement, said) if subject.column else None
    if not subject.measurement:
        return None
    if reached := _limit_reached(finding):
        return reached
    if subject.column:
        return (finding.severity, subject.database, subject.column)
    schema = schemas.get(Subject(subject.database, subject.measurement))
    # Tables of one schema may have problems of several kinds, of which one rule tells.
    said = _FIGURE.sub("#", _said(finding, kind))
    return (finding.severity, subject.database, schema, said) if schema else None


def _limit_reached(finding: Finding) -> tuple[Severity, str, Limit, frozenset[str]] | None:
    """What findings about measurements of a database have in common that come near one limit by the same tags; None if
    it is not near one, or has no such tags.
    """
    tags, subject, limit = frozenset(contributors(finding)), finding.subject, finding.limit
    is_near = finding.impact is not None and finding.impact.currency is Currency.LIMIT
    return (finding.severity, subject.database, limit, tags) if limit and tags and is_near else None


_FIGURE: Final = re.compile(r"\d[\d,.:]*( [kMGT]?B\b)?")


def _said(finding: Finding, kind: str) -> str:
    """The message without the name of the column, measurement, or database."""
    # A pattern for each name would be compiled for each of what may be tens of thousands of findings.
    name, message = getattr(finding.subject, kind), finding.message
    said, at = "", 0
    while name and (found := message.find(name, at)) >= 0:
        end = found + len(name)
        is_whole = not (_is_of_word(message[found - 1 : found]) or _is_of_word(message[end : end + 1]))
        said += message[at:found] + ("..." if is_whole else message[found])
        at = end if is_whole else found + 1
    return said + message[at:]


def _is_of_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _as_one(group: Sequence[Finding], kind: str, term: str, harm: Harm) -> Iterator[Finding]:
    """The findings as one if they are many. The first by name stands for all, so that its identity stays the same: the
    one that costs the most may be another one tomorrow.
    """
    by_limit = kind == "measurement" and _limit_reached(group[0]) is not None
    if len(group) <= (1 if by_limit else _MOST_APART):
        yield from group
        return
    first, *others = sorted(group, key=lambda finding: finding.subject)
    names = [str(getattr(finding.subject, kind)) for finding in (first, *others)]
    affected = [f.affected_series for f in group if f.affected_series is not None]
    changes = tuple(change for finding in (first, *others) for change in finding.changes)
    differ = (kind == "column" or by_limit) and len({_said(finding, kind) for finding in group}) > 1
    also = "Similar findings are about" if differ else "The same holds for"
    each = [Evidence(name, one.message) for name, one in zip(names[1:], others, strict=True)] if differ else []
    one = at_the_cost_of_all((first, *others), harm)
    impact, own, most = one.impact, first.evidence, ""
    if impact is not None and impact.places > 1:
        costs = {name: f.impact.now for name, f in zip(names, (first, *others), strict=True) if f.impact}
        dearest, *_ = by_cost = sorted(costs, key=lambda name: -costs[name])
        # What is said of one place is not to be mixed with the sum.
        own = tuple(Evidence(f"{evidence.label}, {names[0]}", evidence.value) for evidence in own)
        impact = replace(impact, how=f"of {dearest}: {impact.how}") if impact.how else impact
        # Tags of one measurement may cause the same series.
        if impact.now and len(costs) == impact.places and sum(costs.values()) <= impact.now:
            shares = {name: costs[name] / impact.now for name in by_cost}
            own = (*own, Evidence("share of the cost", listed([f"{n} {percent(shares[n])}" for n in by_cost], 8)))
            most = f" {percent(shares[dearest])} of the cost is that of {dearest}." if shares[dearest] >= 0.5 else ""
    yield replace(
        one,
        message=f"{first.message} {also} {many(len(others), f'more {term}')}: {listed(names[1:], 3)}.{most}",
        impact=impact,
        changes=changes,
        evidence=(
            *own,
            Evidence(f"in {term}s", f"{number(len(group))}: {listed(names, 20)}"),
            *each[:_MOST_EVIDENCE],
        ),
        affected_series=(max if kind == "column" else sum)(affected) if affected else None,
    )
