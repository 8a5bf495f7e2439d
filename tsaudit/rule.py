"""The definition of a rule, how its limits are resolved, and what it receives."""

from __future__ import annotations

import enum
import functools
import inspect
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from math import inf
from typing import TYPE_CHECKING

from tsaudit.config.settings import Harm
from tsaudit.engines.engine import Engine, ServerLimit
from tsaudit.engines.queries import query_files
from tsaudit.engines.quoting import Qualified
from tsaudit.engines.registry import ENGINES
from tsaudit.guidelines import matters
from tsaudit.model.facts import offered
from tsaudit.model.figures import Subject, TableKind
from tsaudit.model.finding import SERVER, Currency, Evidence, Finding, Limit
from tsaudit.model.profile import Database, Measurement, Profile
from tsaudit.model.timeline import Point, Timeline
from tsaudit.policy import LimitPolicy
from tsaudit.text.findings import SET_IN_FILE

if TYPE_CHECKING:
    from tsaudit.analysis.collection_families import CollectionFamily
    from tsaudit.analysis.shapes.name_families import NameFamily


class Family(enum.StrEnum):
    """Families of tsaudit's own rules; each is one check in Dagster. The comments show the letters of their codes."""

    CARDINALITY = "cardinality"  # CAR
    TAGS = "tags"  # TAG
    FIELDS = "fields"  # FLD
    NAMES = "names"  # NAM
    LAYOUT = "layout"  # LAY
    STORAGE = "storage"  # STO: keys, indexes, partitions, storage options
    RETENTION = "retention"  # RET
    DRIFT = "drift"  # DRF
    DOCUMENTS = "documents"  # DOC: collections of documents
    SERVER = "server"  # SRV: problems that the server itself reports


LETTERS: Mapping[str, Family] = {
    "CAR": Family.CARDINALITY,
    "TAG": Family.TAGS,
    "FLD": Family.FIELDS,
    "NAM": Family.NAMES,
    "LAY": Family.LAYOUT,
    "STO": Family.STORAGE,
    "RET": Family.RETENTION,
    "DRF": Family.DRIFT,
    "DOC": Family.DOCUMENTS,
    "SRV": Family.SERVER,
}


class Reach(enum.StrEnum):
    """How close the subject of another rule's finding must be to make a finding redundant."""

    SUBJECT = "subject"
    """The other finding is about the same subject: the same column, for example."""
    MEASUREMENT = "measurement"
    """The other finding is about the same measurement, one of its columns, or a family that the measurement
    belongs to.
    """
    CONTRIBUTOR = "contributor"
    """The other finding has the same main contributor, and is about the same place, a part of it, or the whole that it
    belongs to.
    """


@dataclass(frozen=True, slots=True)
class Threshold:
    """A number that a rule compares a figure with."""

    name: str
    default: float | None
    """None: only engines have a value, or the owner sets one. `Engine.limits` has the values that differ by engine."""
    unit: str
    source: str
    """A vendor's page, or `our default: ...` with the reason; if there is no default, what is counted."""


def resolve_limit(
    rule_name: str, threshold: Threshold, profile: Profile, policy: LimitPolicy, measurement: Measurement | None = None
) -> Limit:
    """The limit that applies, taken from the first of: measurement, target, plan, all targets, server, engine, default.

    A lower limit of the server takes precedence over the owner's setting. Without any limit, the value is infinite.
    """
    name = f"{rule_name}.{threshold.name}"
    declared = declared_limit(profile, name, measurement)
    set_by_owner = _set_by_owner(name, policy, measurement.name if measurement else None)
    settings = profile.server.settings if profile.server and declared and declared.setting else {}
    said = settings.get(declared.setting) if declared else None
    found = (threshold.default if threshold.default is not None else inf, threshold.source, "default")
    if set_by_owner is not None and not (said and said < set_by_owner[0]):
        found = set_by_owner
    elif said and declared:
        setting = declared.settings or f"setting {declared.setting.replace('_', '-')}"
        found = (said, f"the server's {setting}", SERVER)
    elif declared and declared.value is not None and said is None:
        found = (declared.value, declared.source, f"engine {profile.engine} {declared.edition}".rstrip())
    value, source, origin = found
    return Limit(name, value, threshold.unit, source, origin)


def _set_by_owner(name: str, policy: LimitPolicy, measurement: str | None) -> tuple[float, str, str] | None:
    """Value, source, and origin of the limit in the file or the plan; None if neither sets it."""
    if measurement is not None:
        for pattern, values in policy.measurements.items():
            if name in values and fnmatchcase(measurement, pattern):
                return values[name], SET_IN_FILE, f"measurement {pattern}"
    if name in policy.target:
        return policy.target[name], SET_IN_FILE, "target"
    if name in policy.plan:
        return (*policy.plan[name], f"plan {policy.plan_name}")
    return (policy.everywhere[name], SET_IN_FILE, "all targets") if name in policy.everywhere else None


def declared_limit(profile: Profile, name: str, measurement: Measurement | None = None) -> ServerLimit | None:
    """The limit that the engine declares for this edition, or for the format of the measurement; None if
    there is none.
    """
    if profile.engine not in ENGINES:
        return None
    engine = ENGINES[profile.engine]
    of_name = [one for one in engine.limits if one.name == name and not one.plan]
    if not of_name:
        return None
    edition = engine.edition(profile, measurement) if measurement else profile.edition
    own = [one for one in of_name if one.edition in ("", edition)]
    return max(own, key=lambda one: one.edition, default=None)


@dataclass(frozen=True, slots=True)
class Case:
    """One target as a rule sees it: today's profile, earlier days, and the limits."""

    rule: Rule
    profile: Profile
    timeline: Timeline
    policy: LimitPolicy
    harm: Harm = field(default_factory=Harm)
    """The costs from which a finding is a warning, for rules that report nothing below them."""
    families: dict[frozenset[str], tuple[NameFamily, ...]] = field(default_factory=dict, repr=False, compare=False)
    """Cached results of `name_families`, shared by all rules of one audit."""

    @property
    def engine(self) -> Engine:
        """What the target's engine declares."""
        return ENGINES[self.profile.engine]

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """The measurements whose kind of rows the rule evaluates."""
        return tuple(m for m in self.profile.measurements if self.evaluates(m))

    def evaluates(self, measurement: Measurement) -> bool:
        """Whether the rule evaluates the measurement's kind of rows."""
        kinds, kind = self.rule.kinds, measurement.kind
        if kinds is None or kind is None or kind in kinds:
            return True
        # If the engine declares tags, they are indexed, whatever the kind of rows is.
        return kind is TableKind.EVENTS and not self.engine.infers_roles and TableKind.SERIES in kinds

    def inside(self, database: Database) -> tuple[Measurement, ...]:
        """The measurements of a database, including those in its other retention policies."""
        return tuple(m for m in self.profile.inside(database) if self.evaluates(m))

    def once_for_family(self, found_in: Callable[[Measurement], Iterable[Finding]]) -> Iterator[Finding]:
        """The findings about each measurement that the rule evaluates. For a family of collections, findings are
        reported only once, for the newest collection that has them.

        Their subject is the family, so that it stays the same when the next period begins.
        """
        families: dict[tuple[str, str], CollectionFamily] = {}
        if self.engine.keeps_documents:
            from tsaudit.analysis.collection_families import families_by_member

            families = families_by_member(self.profile)
        known: set[Subject] = set()
        for measurement in reversed(self.measurements):
            family = families.get((measurement.database, measurement.name))
            for finding in found_in(measurement):
                if family is None:
                    yield finding
                    continue
                subject = replace(finding.subject, measurement=family.template)
                if subject not in known:
                    known.add(subject)
                    evidence = (Evidence("seen in", measurement.name), *finding.evidence)
                    yield replace(finding, subject=subject, evidence=evidence)

    def name_families(self, names: Iterable[str]) -> tuple[NameFamily, ...]:
        """The families among the names, by template. Cached for one audit."""
        key = frozenset(names)
        if not key:
            return ()
        if key not in self.families:
            from tsaudit.analysis.shapes.name_families import name_families

            self.families[key] = tuple(name_families(list(key)))
        return self.families[key]

    def limit(self, threshold: str, measurement: Measurement | None = None) -> Limit:
        """The named threshold as it applies to the measurement, or to the target."""
        found = next(t for t in self.rule.thresholds if t.name == threshold)
        return resolve_limit(self.rule.name, found, self.profile, self.policy, measurement)

    def usual(self, name: str, subject: Subject) -> tuple[Point, ...]:
        """The figure's values before today, oldest first, without this rule's resolved incidents."""
        return self.timeline.usual(name, subject, self.rule.code)

    def quoted(self, names: Iterable[str | Qualified]) -> str:
        """The names as quoted identifiers of the engine, separated by commas."""
        return ", ".join(self.engine.quoted(name) for name in names)


Check = Callable[[Case], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: its texts, what it needs, and the function that finds problems."""

    code: str
    name: str
    title: str
    costs: frozenset[Currency]
    """The currencies of its findings' impacts."""
    guidelines: tuple[str, ...]
    requires: frozenset[str]
    """Facts without which the rule cannot be evaluated."""
    thresholds: tuple[Threshold, ...]
    doc: str
    check: Check
    uses: frozenset[str] = frozenset()
    """Facts that the rule uses if the engine offers them: if one is missing, the rule cannot conclude that there is no
    problem.
    """
    shows: frozenset[str] = frozenset()
    """Facts that only add figures to its findings: if one is missing, the rule finds the same problems."""
    not_applicable: Mapping[str, str] = field(default_factory=dict)
    """Engines, or single products of one (`engine edition`), on which its guidelines matter but the rule does not
    apply, with the reason. Engines that extend one of these included.
    """
    group: str = ""
    """The rule's family; empty for the one that the letters of its code stand for."""
    only: Callable[[Engine], bool] | None = None
    """Decides whether the rule applies to an engine that offers the facts it requires; None: it always does."""
    follows_from: Mapping[str, Reach] = field(default_factory=dict)
    """Codes of rules whose findings make this rule's findings redundant. A redundant finding becomes evidence of the
    other one if that is as severe.
    """
    package: str = ""
    """The distribution that provides the rule, and its version; empty for tsaudit itself."""
    kinds: frozenset[TableKind] | None = None
    """The kinds of tables that the rule evaluates; None for all."""
    leaves_out: Callable[[Case], str] | None = None
    """What else it does not evaluate in a target, in words; empty if nothing."""
    by_name: bool = False
    """Whether the names of measurements are enough for those that `budget.max_measurements` leaves out, on engines that
    declare tags: tables of SQL also differ in their columns.
    """

    @property
    def engines(self) -> frozenset[str]:
        """The engines that the rule applies to: they offer the facts it requires, and one of its guidelines matters
        there.

        A rule without guidelines applies wherever its facts are offered.
        """
        return frozenset(filter(self.applies_to, ENGINES))

    def applies_to(self, engine: str) -> bool:
        """Whether the engine is one of `engines`; does not load other engines."""
        if engine not in ENGINES or self.why_not_on(engine):
            return False
        if self.only is not None and not self.only(ENGINES[engine]):
            return False
        return _is_able(engine, self.guidelines, self.requires)

    def why_not_on(self, engine: str) -> str:
        """Why `not_applicable` excludes the engine, or one that it extends; empty if it does not."""
        if not self.not_applicable or engine not in ENGINES:
            return ""
        names = [str(vars(one).get("name")) for one in type(ENGINES[engine]).__mro__]
        return next((self.not_applicable[name] for name in names if name in self.not_applicable), "")

    @property
    def family(self) -> str:
        """The rule's family: one of `Family`, or one that another package defines."""
        letters = self.code.rstrip("0123456789")
        return self.group or str(LETTERS.get(letters, letters.lower()))

    def by_engine(self, threshold: Threshold) -> Mapping[str, tuple[float | None, str]]:
        """Engine, followed by its edition if only that has the limit, to the value and its source; None as the value if
        the server reports it.
        """
        name = f"{self.name}.{threshold.name}"
        declared = {
            f"{engine} {one.edition}".rstrip(): (one.value, one.source)
            for engine in ENGINES
            for one in ENGINES[engine].limits
            if one.name == name and not one.plan
        }
        return dict(sorted(declared.items()))

    @property
    def summary(self) -> str:
        """The docstring's first paragraph."""
        return self.doc.split("\n\n", 1)[0].replace("\n", " ")

    def section(self, heading: str) -> str:
        """The text below `## heading` in the docstring; empty if there is no such section."""
        match = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", self.doc, re.DOTALL | re.MULTILINE)
        return match[1].strip() if match else ""


@functools.cache
def _is_able(engine: str, guidelines: tuple[str, ...], required: frozenset[str]) -> bool:
    """Whether the engine offers all of the facts, and one of the guidelines, if any, matters on it."""
    fits = not guidelines or any(matters(guideline, engine) for guideline in guidelines)
    return fits and required <= offered(frozenset(query_files(engine)))


def rule(
    *,
    code: str,
    title: str,
    costs: Collection[Currency] = (),
    guidelines: tuple[str, ...] = (),
    requires: set[str],
    thresholds: tuple[Threshold, ...] = (),
    uses: Iterable[str] = (),
    shows: Iterable[str] = (),
    not_applicable: Mapping[str, str] | None = None,
    family: str = "",
    engines: Collection[str] | Callable[[Engine], bool] | None = None,
    follows_from: Mapping[str, Reach] | None = None,
    kinds: Iterable[TableKind] | None = None,
    leaves_out: Callable[[Case], str] | None = None,
    by_name: bool = False,
) -> Callable[[Check], Rule]:
    """Turn a function into the Rule with its name (`_` becomes `-`); its docstring is the rule's page.

    `costs`: the currencies of its findings' impacts; a rule without any returns only notes. `family`: only needed if
    the letters of the code do not stand for it. `engines`: the names of the engines it applies to, or a function that
    decides it for an engine; None for all that offer the facts in `requires`. A rule in an engine's package applies
    only to that engine, whatever `engines` is. `kinds`: the kinds of tables it evaluates; None for all. `leaves_out`:
    what else it does not evaluate in a target, in words; not for rules of other packages, which need no guidelines.
    `by_name`: whether names are enough for the measurements that the budget leaves out.
    """

    def decorate(check: Check) -> Rule:
        return Rule(
            code=code,
            name=check.__name__.replace("_", "-"),
            title=title,
            costs=frozenset(costs),
            guidelines=guidelines,
            requires=frozenset(requires),
            thresholds=thresholds,
            doc=inspect.getdoc(check) or "",
            check=check,
            uses=frozenset(uses),
            shows=frozenset(shows),
            not_applicable=not_applicable or {},
            group=family,
            only=_only(engines, check.__module__),
            follows_from=follows_from or {},
            kinds=None if kinds is None else frozenset(kinds),
            leaves_out=leaves_out,
            by_name=by_name,
        )

    return decorate


def _only(engines: Collection[str] | Callable[[Engine], bool] | None, module: str) -> Callable[[Engine], bool] | None:
    """`Rule.only` of a rule in this module."""
    if home := re.match(r"tsaudit\.engines\.(\w+)\.rules\.", module or ""):
        engines = (home[1],)
    if engines is None or callable(engines):
        return engines
    names = frozenset(engines)
    return lambda engine: engine.name in names


def table_of(measurement: Measurement) -> Qualified:
    """The measurement's name for use in statements."""
    return Qualified(measurement.database, measurement.name, measurement.path)


def subject_of(measurement: Measurement, column: str = "") -> Subject:
    """The measurement, or one of its columns, as a subject."""
    return Subject(measurement.database, measurement.name, column)
