"""What every rule's test declares: databases that break the rule and ones that keep it, for all its engines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from tests.builders import DAY
from tests.databases import Dataset, Row, Table, Value, times
from tsaudit.config.settings import Harm
from tsaudit.evaluation import evaluate
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Finding, RuleResult, Severity
from tsaudit.model.plan import Plan, StepKind
from tsaudit.model.profile import Profile
from tsaudit.model.timeline import Point, Timeline
from tsaudit.planning.plans import plans_of
from tsaudit.policy import LimitPolicy
from tsaudit.rule import Rule

History = Callable[[Profile], Timeline]


@dataclass(frozen=True, slots=True)
class Case:
    """One way to break a rule, and the same done right. `engines`: empty for all that the rule declares."""

    breaks: Dataset
    keeps: Dataset
    subject: Subject
    """Of a finding on the database that breaks it; a name of the database that is not given is filled in."""
    main_contributor: str | None = None
    engines: frozenset[str] = frozenset()
    limits: Mapping[str, float] = field(default_factory=dict)
    harm: Harm = field(default_factory=Harm)
    before: Dataset | None = None
    """What the database held a day earlier, for both."""
    history: History | None = None
    """The days before, made up from today's profile, of the database that breaks it."""
    quiet_history: History | None = None
    """The same for the one that keeps it."""
    whole_target: bool = False
    """The finding is about all databases together, and no name is filled in."""


def table(
    name: str,
    series: Iterable[Mapping[str, str | None]],
    fields: Mapping[str, str] | None = None,
    value: Callable[[int, int], Mapping[str, Value]] | None = None,
    rows: int = 2,
    key: bool = True,
    **settings: Any,
) -> Table:
    """A table with `rows` rows per series, a minute apart; `value` gives the fields of (series number, row number)."""
    tag_sets = list(series)
    tags = sorted({tag for tags in tag_sets for tag in tags})
    made = value or (lambda s, r: {"usage": 1.5 + s + r / 7})
    written = [
        Row(time, tag_set, made(s, r))
        for r, time in enumerate(times(rows, timedelta(minutes=10)))
        for s, tag_set in enumerate(tag_sets)
    ]
    members = ("time", *tags) if key else None
    return Table(name, tags, fields or {"usage": "float"}, written, key=members, **settings)


def dataset(*tables: Table, **settings: Any) -> Dataset:
    return Dataset(tables, **settings)


def hosts(count: int, **more: str) -> list[dict[str, str | None]]:
    return [{"host": f"web-{i:03}", **more} for i in range(count)]


def history_of(profile: Profile, factors: Sequence[float], tag: str | None = None) -> Timeline:
    """A timeline that ends yesterday, in which today's series, and the values of one tag, were `factors` of today's."""
    points: dict[tuple[str, Subject], tuple[Point, ...]] = {}

    def add(name: str, subject: Subject, today: float) -> None:
        days = [DAY - timedelta(days=len(factors) - i) for i in range(len(factors))]
        points[name, subject] = tuple(
            Point(day, max(1.0, round(today * f))) for day, f in zip(days, factors, strict=True)
        )

    for database in profile.databases:
        if database.series is not None:
            add("series", Subject(database.name), database.series.value)
    for m in profile.measurements:
        if m.series is not None:
            add("series", Subject(m.database, m.name), m.series.value)
        for t in m.tags:
            if t.values is not None:
                points["tag_values", Subject(m.database, m.name, t.key)] = tuple(
                    Point(p.day, max(1.0, round(t.values.value * (f if t.key == tag else 1.0))))
                    for p, f in zip(points.get(("series", Subject(m.database, m.name)), ()), factors, strict=False)
                )
    return Timeline(points=points)


def plans(
    rule: Rule, profile: Profile, limits: Mapping[str, float] | None = None, timeline: Timeline | None = None
) -> tuple[Plan, ...]:
    """The plans that come of what one rule finds in the profile, as they would if its notes were warnings."""
    result = run_rule(rule, profile, limits, timeline)
    return plans_of(profile, [replace(result, findings=tuple(map(as_warning, result.findings)))])


def as_warning(finding: Finding) -> Finding:
    """The finding, at least as a warning."""
    return replace(finding, severity=max(finding.severity, Severity.WARNING, key=lambda one: one.rank))


def text_of(kind: StepKind, rule: Rule, profile: Profile, limits: Mapping[str, float] | None = None) -> str:
    """The text of that step of the only plan."""
    ((text,),) = ([step.text for step in plan.steps if step.kind is kind] for plan in plans(rule, profile, limits))
    return text


def planned(rule: Rule, profile: Profile, limits: Mapping[str, float] | None = None) -> str:
    """What the steps of all those plans say and propose, one after the other."""
    steps = [step for plan in plans(rule, profile, limits) for step in plan.steps]
    return "\n".join(f"{step.words}\n{step.text}" for step in steps)


def with_steps(
    rule: Rule, profile: Profile, limits: Mapping[str, float] | None = None, timeline: Timeline | None = None
) -> tuple[Finding, ...]:
    """What one rule finds, each finding with the steps of its own changes below its words."""
    result = run_rule(rule, profile, limits, timeline)
    found = []
    for finding in result.findings:
        own = replace(result, findings=(as_warning(finding),))
        steps = [step for plan in plans_of(profile, [own]) for step in plan.steps]
        lines = "\n".join(f"{step.words}\n{step.text}" for step in steps)
        found.append(replace(finding, fix=f"{finding.fix}\n{lines}"))
    return tuple(found)


def run_rule(
    rule: Rule, profile: Profile, limits: Mapping[str, float] | None = None, timeline: Timeline | None = None
) -> RuleResult:
    """What one rule says of the profile; `limits` by the threshold's own name."""
    assert {*(limits or {})} <= {threshold.name for threshold in rule.thresholds}
    policy = LimitPolicy(target={f"{rule.name}.{name}": value for name, value in (limits or {}).items()})
    (result,) = evaluate(profile, timeline, policy, [rule]).results
    return result
