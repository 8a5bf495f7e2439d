"""Builds the plans of an audit: the changes that its warnings and critical findings ask for, as steps for
the engine.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tsaudit import plugins
from tsaudit.analysis.cardinality.contributions import series_left
from tsaudit.analysis.columns.columns import is_text
from tsaudit.engines.advice import Place
from tsaudit.engines.registry import ENGINES
from tsaudit.engines.value_kinds import kind_of_texts
from tsaudit.model.change import Change, ChangeType, Claim, MakeField, MakeTag, MergeMeasurements, kind_of
from tsaudit.model.columns import TagSets
from tsaudit.model.figures import How, Subject
from tsaudit.model.finding import Finding, RuleResult, Severity, worst_first
from tsaudit.model.plan import Effect, LeftOut, Loss, Plan, Requested, Step, StepKind
from tsaudit.model.profile import Measurement, Profile
from tsaudit.planning import describe
from tsaudit.text import listed, many


@dataclass(frozen=True, slots=True)
class _Unit:
    """The changes to one measurement, or to one database as a whole."""

    subject: Subject
    changes: tuple[Requested, ...]
    left_out: tuple[LeftOut, ...]
    findings: tuple[Finding, ...]
    """The findings that ask for the changes."""

    @property
    def likeness(self) -> Hashable:
        """A key: units with the same key share one plan."""
        return bool(self.subject.measurement), tuple(sorted(_key(one.change) for one in self.changes))


def _key(change: Change) -> tuple[str, str]:
    """A key that is equal for changes of several measurements that one plan can make."""
    return kind_of(change), repr(change.likeness())


def plans_of(profile: Profile, results: Iterable[RuleResult]) -> tuple[Plan, ...]:
    """The plans, beginning with that of the worst finding. Notes have no plan, and their changes are in no
    other plan.
    """
    pairs = [(r, f) for r in results for f in r.findings if f.severity is not Severity.NOTE]
    units: dict[Hashable, list[tuple[str, Finding, Change]]] = defaultdict(list)
    for result, finding in sorted(pairs, key=lambda pair: worst_first(pair[0].code, pair[1])):
        for change in finding.changes:
            # Changes to a database, which are about a family of names, are kept separate: families have nothing to do
            # with each other.
            alone = change.likeness() if isinstance(change, MergeMeasurements) else None
            units[change.at, alone].append((result.code, finding, change))
    measurements = {Subject(m.database, m.name): m for m in profile.measurements}
    groups: dict[Hashable, list[_Unit]] = defaultdict(list)
    for asked in units.values():
        unit = _unit(profile, measurements.get(asked[0][2].at), asked)
        groups[unit.likeness].append(unit)
    plans = (_plan(profile, measurements, group) for group in groups.values() if group[0].changes)
    return tuple(plan for plan in plans if plan.steps)


def _unit(profile: Profile, measurement: Measurement | None, asked: Sequence[tuple[str, Finding, Change]]) -> _Unit:
    changes = _typed(profile, measurement, [change for _, _, change in asked])
    kept, left_out = merge(Requested(change, (code,)) for (code, _, _), change in zip(asked, changes, strict=True))
    kept, fieldless = _with_a_field(profile, measurement, kept)
    kept, unknown = _handled(profile, kept)
    # By identity: one that is about a thousand tables would be hashed with all its changes, for each of the tables.
    findings = tuple({id(finding): finding for _, finding, _ in asked}.values())
    return _Unit(asked[0][2].at, kept, (*left_out, *fieldless, *unknown), findings)


def _handled(profile: Profile, changes: Sequence[Requested]) -> tuple[tuple[Requested, ...], tuple[LeftOut, ...]]:
    """The changes that the engine has steps for, and the others with the reason."""
    try:
        handled = ENGINES[profile.engine].advice().handles
    except (Exception, SystemExit):
        # The module of the engine, which belongs to another package, cannot be imported: the plan's only step reports
        # that.
        if not ENGINES[profile.engine].package:
            raise
        return tuple(changes), ()
    reason = f"tsaudit knows no statement for this on {profile.engine}"
    others = tuple(LeftOut(one.change, one.rules, reason) for one in changes if type(one.change) not in handled)
    return tuple(one for one in changes if type(one.change) in handled), others


def _broken(engine: str, error: BaseException) -> str:
    return f"{ENGINES[engine].package} cannot say how {engine} makes this change: {plugins.why(error)}"


def _typed(profile: Profile, measurement: Measurement | None, changes: Sequence[Change]) -> Sequence[Change]:
    """The changes, with a type for tags that are text only because tags always are: as fields, the next audit would
    find that they lack it.
    """
    if measurement is None:
        return changes
    types = {
        tag.key: kind_of_texts(tag.key, tag.sample, ENGINES[profile.engine])
        for tag in measurement.tags
        if is_text(tag.data_type)
    }
    typed = {change.column for change in changes if isinstance(change, ChangeType)}
    return [
        replace(change, to=types.get(change.tag, ""))
        if isinstance(change, MakeField) and not change.to and change.tag not in typed
        else change
        for change in changes
    ]


def _with_a_field(
    profile: Profile, measurement: Measurement | None, changes: tuple[Requested, ...]
) -> tuple[tuple[Requested, ...], tuple[LeftOut, ...]]:
    """The changes except for those that turn all fields into tags, if the engine does not store rows
    without a field.
    """
    if measurement is None or not ENGINES[profile.engine].takes_line_protocol:
        return changes, ()
    gone = {name for one in changes for (aspect, name), to in one.change.claims().items() if _ends_field(aspect, to)}
    made = any(isinstance(one.change, MakeField) for one in changes)
    if made or not measurement.fields or any(field.key not in gone for field in measurement.fields):
        return changes, ()
    reason = "no field would be left, and a row without a field is not stored"
    tags = [one for one in changes if isinstance(one.change, MakeTag)]
    return tuple(one for one in changes if one not in tags), tuple(LeftOut(o.change, o.rules, reason) for o in tags)


def _ends_field(aspect: str, to: str) -> bool:
    return aspect == "role" and to in ("tag", "none")


def _plan(profile: Profile, measurements: Mapping[Subject, Measurement], units: Sequence[_Unit]) -> Plan:
    places = [
        replace(
            _place(profile, measurements.get(unit.subject), unit.subject, [one.change for one in unit.changes]),
            stopgap=next((one.stopgap for one in unit.findings if one.severity is Severity.CRITICAL), ""),
        )
        for unit in units
    ]
    first, place = units[0], places[0]
    effect = together([one.effect for one in places])
    if place.measurement is not None:
        gone = tags_ended(place.measurement, [one.change for one in first.changes])
        findings = [finding for unit in units for finding in unit.findings]
        own = with_next(place.effect, place.measurement, gone, findings)
        effect = replace(effect, limit=own.limit, next_tag=own.next_tag, enough=own.enough)
    if ENGINES[profile.engine].infers_roles:
        # A column stays in its row whatever it is called, so no row is lost; a key that uses the column keeps it.
        effect = replace(effect, loss=None, loss_unknown="")
    rules: dict[Hashable, dict[str, None]] = defaultdict(dict)
    for one in (one for unit in units for one in unit.changes):
        rules[_key(one.change)] |= dict.fromkeys(one.rules)
    left_out = {(_key(one.change), one.reason): one for unit in reversed(units) for one in unit.left_out}
    return Plan(
        first.subject,
        tuple(replace(one, rules=tuple(rules[_key(one.change)])) for one in first.changes),
        tuple(_steps(places, [[one.change for one in unit.changes] for unit in units])),
        effect,
        tuple(unit.subject for unit in units[1:]),
        tuple(left_out.values()),
    )


def _place(profile: Profile, measurement: Measurement | None, at: Subject, changes: Sequence[Change]) -> Place:
    place = Place(profile, ENGINES[profile.engine].quoted, at.database, measurement)
    if measurement is None:
        return place
    removed = frozenset(change.tag for change in changes if isinstance(change, MakeField))
    return replace(place, effect=effect_of(profile.engine, measurement, changes), removed_tags=removed)


def _steps(
    places: Sequence[Place], changes: Sequence[Sequence[Change]], kinds: Sequence[StepKind] = ()
) -> Iterator[Step]:
    """The engine's steps, at most one of each kind. `changes`: of each place. `kinds`: only these, in this order."""
    engine = places[0].profile.engine
    try:
        make = ENGINES[engine].advice()
        each = list(map(make, places, changes))
        advice = replace(each[0], also=each[1:])
        # The name of each kind is the name of the method for it.
        made = ((kind, getattr(advice, kind)()) for kind in kinds or advice.order)
        yield from (replace(step, kind=kind) for kind, step in made if step is not None)
    except (Exception, SystemExit) as error:
        # An engine of another package may raise any error.
        if not ENGINES[engine].package:
            raise
        yield Step(StepKind.FIND, f"{_broken(engine, error)}.")


_MOST_SAID: Final = 3
"""Most places for each of which a fix has a sentence of its own."""


def with_advice(profile: Profile, result: RuleResult) -> RuleResult:
    """The result, with the changes added to each finding's fix in the engine's terms; the plans have the statements."""
    if not result.findings:
        return result
    measurements = {Subject(m.database, m.name): m for m in profile.measurements}
    return replace(result, findings=tuple(_said(profile, measurements, finding) for finding in result.findings))


def _said(profile: Profile, measurements: Mapping[Subject, Measurement], finding: Finding) -> Finding:
    changes: dict[Subject, list[Change]] = defaultdict(list)
    for change in finding.changes:
        changes[change.at].append(change)
    # Of some places, several columns are named.
    are_alike = len({frozenset(map(type, own)) for own in changes.values()}) == 1
    each = list(changes.items())[: 1 if are_alike and len(changes) > _MOST_SAID else None]
    said: dict[str, None] = {}
    for at, own in each:
        said |= dict.fromkeys(_sentence(profile, measurements.get(at), at, own, finding.severity))
    if said and len(each) < len(changes):
        said[f"Do the same in the {many(len(changes) - 1, 'other place')}."] = None
    return replace(finding, fix=" ".join(filter(None, (*said, finding.fix))))


def _sentence(
    profile: Profile, measurement: Measurement | None, at: Subject, changes: Sequence[Change], severity: Severity
) -> Iterator[str]:
    """What to change, in the engine's terms: the first sentence of the step that explains it. More of them are about
    the step's statement, which notes do not have.
    """
    handled, _ = _handled(profile, [Requested(change, ()) for change in changes])
    if not handled:
        return
    place, own = _place(profile, measurement, at, changes), [one.change for one in handled]
    says_most = (StepKind.WRITER, StepKind.SCHEMA, StepKind.STORED, StepKind.FIND)
    for step in itertools.islice(_steps([place], [own], says_most), 1):
        is_bare = severity is Severity.NOTE and step.text
        yield describe.brief(step.words, most=0) if is_bare else describe.brief(step.words)


def merge(wanted: Iterable[Requested]) -> tuple[tuple[Requested, ...], tuple[LeftOut, ...]]:
    """The changes of one measurement that can be made together, and those that cannot, with the reason for each.

    `wanted`: the changes, those of the worst finding first.
    """
    kept: list[Requested] = []
    left_out: list[LeftOut] = []
    for one in wanted:
        same = next((known for known in kept if _one_of(known.change, one.change) is not None), None)
        change = one.change if same is None else _one_of(same.change, one.change) or one.change
        rules = tuple(dict.fromkeys((*(same.rules if same else ()), *one.rules)))
        others = [known for known in kept if known is not same]
        if reason := _conflict(change, others):
            left_out.append(LeftOut(one.change, one.rules, reason))
        elif same is not None:
            kept[kept.index(same)] = Requested(change, rules)
        else:
            kept.append(Requested(change, rules))
    return tuple(kept), tuple(left_out)


def without_contradictions(results: Sequence[RuleResult]) -> list[RuleResult]:
    """The results, in which no two findings ask for opposite changes: of those that contradict each other, only the
    worse finding keeps its change, and the other one says why it has none.
    """
    decided: dict[tuple[Subject, Claim], tuple[str, str]] = {}
    needed: dict[tuple[Subject, Claim], tuple[str, str]] = {}
    changed: dict[int, Finding] = {}
    pairs = [(result.code, finding) for result in results for finding in result.findings if finding.changes]
    for code, finding in sorted(pairs, key=lambda pair: worst_first(*pair)):
        kept, reasons = [], dict[str, None]()
        for change in finding.changes:
            claims = {(change.at, claim): value for claim, value in change.claims().items()}
            needs = {(change.at, claim): value for claim, value in change.relies_on().items()}
            broken = (
                (known[key][1], key[1])
                for wanted, known in ((claims, decided), (needs, decided), (claims, needed))
                for key, value in wanted.items()
                if known.get(key, (value,))[0] != value
            )
            if (first := next(broken, None)) is not None:
                reasons[f"Not as long as {first[0]} asks for something else for {_named(first[1])}."] = None
                continue
            kept.append(change)
            for wanted, known in ((claims, decided), (needs, needed)):
                for key, value in wanted.items():
                    known.setdefault(key, (value, code))
        if reasons:
            # Without any of its changes, what it says of them has no subject.
            fix = " ".join((*filter(None, [finding.fix if kept else ""]), *reasons))
            changed[id(finding)] = replace(finding, changes=tuple(kept), fix=fix)
    return [
        replace(result, findings=tuple(changed.get(id(finding), finding) for finding in result.findings))
        if changed and result.findings
        else result
        for result in results
    ]


def _one_of(known: Change, other: Change) -> Change | None:
    """The change that covers both; None if neither covers the other."""
    if known == other:
        return known
    mine, its = known.claims(), other.claims()
    if type(known) is not type(other) or not mine or not its:
        return None
    if mine == its:
        # If one of them relies on nothing, the change is wanted whatever else is changed.
        return min(known, other, key=lambda one: len(one.relies_on()))
    if its.items() <= mine.items():
        return known
    return other if mine.items() <= its.items() else None


def _conflict(change: Change, kept: Sequence[Requested]) -> str:
    """Why the change cannot be made together with the kept ones; empty if it can."""
    for other in kept:
        rules = ", ".join(other.rules)
        if (claim := _broken_claim(change.claims(), other.change.claims())) is not None:
            return f"{rules} asks for something else for {_named(claim)}, and comes first"
        if (claim := _broken_claim(change.relies_on(), other.change.claims())) is not None:
            return f"it depends on {_named(claim)}, which {rules} changes"
        if (claim := _broken_claim(other.change.relies_on(), change.claims())) is not None:
            return f"{rules} depends on {_named(claim)}"
    return ""


def _broken_claim(needed: Mapping[Claim, str], decided: Mapping[Claim, str]) -> Claim | None:
    return next((claim for claim, value in decided.items() if needed.get(claim, value) != value), None)


def _named(claim: Claim) -> str:
    aspect, name = claim[0], ", ".join(filter(None, claim[1].split("\x1f")))
    return f"the {aspect} of {name}" if name else f"the {aspect}"


_TOO_MANY: Final = 0.5
"""Share of the series: if more than that are left, the plan names the tag to change next."""


def effect_of(engine: str, measurement: Measurement, changes: Iterable[Change]) -> Effect:
    """The number of series left, and of rows that would overwrite each other, without the tags that the changes drop or
    turn into fields.
    """
    gone = tags_ended(measurement, changes)
    if not gone:
        return Effect()
    now, tag_sets = measurement.series.value if measurement.series else None, measurement.tag_sets
    after, exact = _series_left(tag_sets, gone)
    scope = tag_sets.source.words if tag_sets and tag_sets.source.how is How.SAMPLED else ""
    if tag_sets is not None and scope:
        # A part of the rows has fewer series than all rows, both before and after the changes.
        now = tag_sets.series
    loss, unknown = (None, "") if ENGINES[engine].keeps_documents else _loss(measurement, gone)
    return Effect(now, after, exact, scope, loss=loss, loss_unknown=unknown)


def tags_ended(measurement: Measurement, changes: Iterable[Change]) -> frozenset[str]:
    """Tags that the changes drop or turn into fields."""
    claims = {claim: to for change in changes for claim, to in change.claims().items()}
    ended = {name for (aspect, name), to in claims.items() if aspect == "role" and to in ("field", "none")}
    return frozenset(ended & {tag.key for tag in measurement.tags})


def with_next(effect: Effect, measurement: Measurement, gone: Collection[str], findings: Iterable[Finding]) -> Effect:
    """The effect, completed with what else to change if too many series are left: more than half, or more than the
    series limit of a finding.
    """
    now, after = effect.series_now, effect.series_after
    if now is None or after is None or measurement.tag_sets is None:
        return effect
    limits = list(_limits(findings, now))
    effect = replace(effect, limit=min((limit for limit, _ in limits), default=None))
    most = min([_TOO_MANY * now, *(room for _, room in limits)])
    if after <= most:
        return effect
    next_tag, together = "", list(dict.fromkeys(sorted(gone)))
    for one in measurement.tag_sets.drop_curve:
        further = [tag for tag in (one.tag, *one.together_with) if tag not in together]
        together += further
        next_tag = next_tag or next(iter(further), "")
        if one.series_left <= most and len(together) < len(measurement.tags):
            return replace(effect, next_tag=next_tag, enough=tuple(together))
    return replace(effect, next_tag=next_tag)


def _limits(findings: Iterable[Finding], now: int) -> Iterator[tuple[float, float]]:
    """The series limits of the findings, each with the number of series that this measurement may have to stay below
    it.
    """
    for finding in findings:
        if finding.limit is not None and finding.unit == "series" and finding.observed is not None:
            others = max(0.0, finding.observed - now)
            yield finding.limit.value, finding.limit.value - others


def together(effects: Collection[Effect]) -> Effect:
    """The effect of the same changes on several measurements. The tag to change next is that of the first one."""
    first, *others = effects
    if not others:
        return first
    now = [one.series_now for one in effects if one.series_now is not None]
    after = [one.series_after for one in effects if one.series_after is not None]
    losses = [one.loss for one in effects if one.loss is not None]
    return replace(
        first,
        series_now=sum(now) if len(now) == len(effects) else None,
        series_after=sum(after) if len(after) == len(effects) else None,
        is_exact=all(one.is_exact for one in effects),
        loss=_sum(losses) if losses else None,
        loss_unknown=next((one.loss_unknown for one in effects if one.loss_unknown), ""),
    )


def _sum(losses: Collection[Loss]) -> Loss:
    return Loss(
        sum(one.rows for one in losses),
        sum(one.compared for one in losses),
        next((one.scope for one in losses if one.scope), ""),
        all(one.is_exact for one in losses),
    )


def _series_left(tag_sets: TagSets | None, gone: Collection[str]) -> tuple[int | None, bool]:
    """The number of series left without these tags, None if not known; and whether it is exact or an upper bound."""
    if tag_sets is None:
        return None, False
    is_whole = _is_whole(tag_sets)
    if is_whole and tag_sets.minimal_key and not set(tag_sets.minimal_key) & set(gone):
        return tag_sets.series, True
    left, is_counted = series_left(tag_sets, frozenset(gone))
    return left, is_counted and is_whole


def _is_whole(tag_sets: TagSets) -> bool:
    """Whether every series was examined, and none is counted that no longer exists."""
    return tag_sets.sampled is None and tag_sets.source.how is How.EXACT


def _loss(measurement: Measurement, gone: Collection[str]) -> tuple[Loss | None, str]:
    """The rows that would overwrite others; or the reason why no rows were compared."""
    tag_sets, apart = measurement.tag_sets, measurement.rows_apart
    if (
        tag_sets is not None
        and _is_whole(tag_sets)
        and tag_sets.minimal_key
        and not set(tag_sets.minimal_key) & {*gone}
    ):
        # No two series become the same: neither those in the index, nor those of the rows read.
        read = measurement.rows.value if measurement.rows else 0
        scope = tag_sets.source.scope
        return (Loss(0, read, _beyond(measurement, read, scope)) if scope else None), ""
    if apart is None or not apart.rows:
        return None, "no rows with times were read" if apart is None else "there are no rows within the window"
    rows, exact = apart.lost(gone)
    if not rows and not apart.covers(gone):
        absent = [tag for tag in apart.absent if tag in gone]
        which = f"none of the rows read has {listed(absent)}" if absent else ""
        return None, which or "the rows read are only some of those that share a time"
    return Loss(rows, apart.rows, _beyond(measurement, apart.rows, apart.source.scope), exact), ""


def _beyond(measurement: Measurement, read: int, scope: str) -> str:
    """Which rows were read, in words; empty if there are no others, not even older ones."""
    total = measurement.rows_total
    return "" if total is not None and total.source.how is How.EXACT and total.value <= read else scope
