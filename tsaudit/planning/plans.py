"""The plans of an audit: what all its findings ask for, by measurement, as steps of the engine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from tsaudit import plugins
from tsaudit.engines.registry import ENGINES
from tsaudit.engines.rendering import Place, Renderer, renderers_of
from tsaudit.engines.sql.types import is_text
from tsaudit.engines.value_kinds import kind_of_texts
from tsaudit.model.change import AnyChange, ChangeType, MakeField, MakeTag
from tsaudit.model.finding import Finding, RuleResult, worst_first
from tsaudit.model.plan import Asked, Phase, Plan, SetAside, Step
from tsaudit.model.profile import Measurement, Profile
from tsaudit.model.subject import Subject
from tsaudit.planning.effects import effect_of
from tsaudit.planning.merging import Wanted, apart, merge, without_repeats
from tsaudit.text import listed


def plans_of(profile: Profile, results: Iterable[RuleResult]) -> tuple[Plan, ...]:
    """One plan for each measurement, and for each database, that findings want changed; by subject."""
    wanted: dict[Subject, list[Wanted]] = defaultdict(list)
    pairs = [(result, finding) for result in results for finding in result.findings]
    for result, finding in sorted(pairs, key=lambda pair: worst_first(pair[0].code, pair[1])):
        for change in finding.changes:
            wanted[change.at].append(Wanted(change, result.code, finding.severity))
    measurements = {Subject(m.database, m.name): m for m in profile.measurements}
    each = apart(wanted)
    plans = (_plan(profile, at, measurements.get(at), each.wanted[at]) for at in sorted(each.wanted))
    return tuple(replace(plan, set_aside=(*each.aside.get(plan.subject, ()), *plan.set_aside)) for plan in plans)


def _plan(profile: Profile, at: Subject, measurement: Measurement | None, wanted: Sequence[Wanted]) -> Plan:
    asked, aside = merge(_typed(profile, measurement, wanted))
    asked, unknown = _rendered_by(profile, without_repeats(asked))
    asked, last = _with_a_field(profile, measurement, asked)
    place = _place(profile, at, measurement, asked)
    steps = list(_steps(place, asked))
    steps = sorted([*_free_names(place), *steps], key=lambda step: step.phase.rank)
    return Plan(at, asked, tuple(steps), place.effect, (*aside, *unknown, *last))


def _rendered_by(profile: Profile, asked: Sequence[Asked]) -> tuple[tuple[Asked, ...], tuple[SetAside, ...]]:
    """The changes that the engine has steps for, and the others with the reason."""
    try:
        known = set(renderers_of(profile.engine))
    except (Exception, SystemExit):
        return tuple(asked), ()  # The steps say so, or the error is raised there.
    reason = f"tsaudit knows no steps for this on {profile.engine}"
    others = tuple(SetAside(one.change, one.rules, reason) for one in asked if type(one.change) not in known)
    return tuple(one for one in asked if type(one.change) in known), others


def _typed(profile: Profile, measurement: Measurement | None, wanted: Sequence[Wanted]) -> Sequence[Wanted]:
    """With the type for tags that are text only because they are tags: as fields, they would be found to lack it."""
    if measurement is None or profile.engine not in ENGINES:
        return wanted
    types = {
        tag.key: kind_of_texts(tag.key, tag.sample, ENGINES[profile.engine])
        for tag in measurement.tags
        if is_text(tag.data_type)
    }
    typed = {one.change.column for one in wanted if isinstance(one.change, ChangeType)}
    return [
        replace(one, change=replace(one.change, to=types.get(one.change.tag, "")))
        if isinstance(one.change, MakeField) and not one.change.to and one.change.tag not in typed
        else one
        for one in wanted
    ]


def _with_a_field(
    profile: Profile, measurement: Measurement | None, asked: tuple[Asked, ...]
) -> tuple[tuple[Asked, ...], tuple[SetAside, ...]]:
    """The changes without those that make tags of all fields, if the engine keeps no row without a field."""
    if measurement is None or profile.engine not in ENGINES or not ENGINES[profile.engine].takes_line_protocol:
        return asked, ()
    gone = {name for one in asked for (aspect, name), to in one.change.claims().items() if _ends_field(aspect, to)}
    made = any(isinstance(one.change, MakeField) for one in asked)
    if made or not measurement.fields or any(field.key not in gone for field in measurement.fields):
        return asked, ()
    reason = "no field would be left, and a row without a field is not stored"
    tags = [one for one in asked if isinstance(one.change, MakeTag)]
    return tuple(one for one in asked if one not in tags), tuple(SetAside(o.change, o.rules, reason) for o in tags)


def _ends_field(aspect: str, to: str) -> bool:
    return aspect == "role" and to in ("tag", "none")


def _free_names(place: Place) -> Iterator[Step]:
    """What to look up first: names that the steps give and that the audit cannot have seen."""
    if place.unproven:
        noun = place.engine.words.measurement
        yield Step(
            Phase.LOOK,
            f"Make sure that the database has no {noun} {listed(place.unproven, 8)}: the audit did not look at all of "
            f"its {noun}s, and one of that name would be replaced or mixed with others.",
        )


def _place(profile: Profile, at: Subject, measurement: Measurement | None, asked: Iterable[Asked]) -> Place:
    place = Place(profile, at.database, measurement)
    if measurement is None:
        return place
    return replace(place, effect=effect_of(measurement, (one.change for one in asked)))


def _steps(place: Place, asked: Sequence[Asked]) -> Iterator[Step]:
    """What the engine says of the changes. Each step carries the rules that ask for what it is about."""
    groups: dict[Renderer, list[Asked]] = defaultdict(list)
    try:
        renderers = dict(renderers_of(place.profile.engine))
    except (Exception, SystemExit) as error:
        if not place.engine.package:
            raise
        yield _unsaid(place, error)
        return
    for kind, renderer in renderers.items():
        groups[renderer] += [one for one in asked if type(one.change) is kind]
    for renderer, group in groups.items():
        if group:
            rules = tuple(dict.fromkeys(rule for one in group for rule in one.rules))
            for step in _rendered(place, renderer, [one.change for one in group]):
                yield replace(step, rules=step.rules or rules)


def _rendered(place: Place, renderer: Renderer, changes: Sequence[AnyChange]) -> Sequence[Step]:
    """What the renderer says of the changes; one of another package that breaks is a step that says so."""
    try:
        return list(renderer(place, changes))
    except (Exception, SystemExit) as error:
        if not place.engine.package:
            raise
        return [_unsaid(place, error)]


def _unsaid(place: Place, error: BaseException) -> Step:
    words = f"{place.engine.package} cannot say how {place.engine.name} makes this change: {plugins.why(error)}."
    return Step(Phase.LOOK, words)


def with_words(profile: Profile, result: RuleResult) -> RuleResult:
    """The result, each finding of which says in the engine's words what is to change; statements stand in the plans."""
    measurements = {Subject(m.database, m.name): m for m in profile.measurements}
    findings = tuple(_said(profile, measurements, finding) for finding in result.findings)
    return replace(result, findings=findings) if findings else result


def _said(profile: Profile, measurements: Mapping[Subject, Measurement], finding: Finding) -> Finding:
    words: list[str] = []
    changes: dict[Subject, list[Asked]] = defaultdict(list)
    for change in finding.changes:
        changes[change.at].append(Asked(change, ()))
    for at, asked in changes.items():
        place = _place(profile, at, measurements.get(at), asked)
        words += [step.words for step in _first(list(_steps(place, asked)))]
    return replace(finding, fix=" ".join(filter(None, (*dict.fromkeys(words), finding.fix)))) if words else finding


def _first(steps: Sequence[Step]) -> Sequence[Step]:
    """The steps that say what it is about: what is to be written, or else what is to be done first."""
    written = [step for step in steps if (step.phase is Phase.WRITE and not step.text) or step.language == "yaml"]
    return written or [step for step in steps if step.phase is not Phase.LOOK][:1] or steps[:1]
