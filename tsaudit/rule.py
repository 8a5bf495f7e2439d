"""What a rule is, how its limits are resolved, and what it gets to see."""

from __future__ import annotations

import enum
import functools
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from tsaudit.engines.engine import Engine
from tsaudit.engines.queries import query_files
from tsaudit.engines.quoting import Qualified, quote_name
from tsaudit.engines.registry import ENGINES
from tsaudit.guidelines import engines_of
from tsaudit.model.facts import offered, sources_of
from tsaudit.model.finding import Finding, Limit, Severity
from tsaudit.model.profile import Measurement, Profile
from tsaudit.model.subject import Subject
from tsaudit.model.timeline import Point, Timeline

SECTIONS = ("Why it matters", "Example", "Fix", "References")
"""The sections of a rule's docstring, in this order."""


class Family(enum.StrEnum):
    """Groups of tsaudit's own rules; each is one check in Dagster. The code's letters in the comment."""

    CARDINALITY = "cardinality"  # CAR
    TAGS = "tags"  # TAG
    FIELDS = "fields"  # FLD
    NAMES = "names"  # NAM
    LAYOUT = "layout"  # LAY
    STORAGE = "storage"  # STO: keys, indexes, partitions, storage options
    RETENTION = "retention"  # RET
    DRIFT = "drift"  # DRF
    DOCUMENTS = "documents"  # DOC: collections of documents


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
}


@dataclass(frozen=True, slots=True)
class Threshold:
    """A number a rule compares with."""

    name: str
    default: float
    unit: str
    source: str
    """A vendor's page, or `our default: ...` with the reasoning."""
    engines: Mapping[str, tuple[float, str]] = field(default_factory=dict)
    """Engine to (default there, its source); `engine edition` where it differs between products of one engine."""


@dataclass(frozen=True, slots=True)
class LimitPolicy:
    """What the configuration says about limits; most general first.

    `<rule name>.<threshold>` to value, for all targets, by plan, for the target, and by pattern of measurement names.
    """

    everywhere: Mapping[str, float] = field(default_factory=dict)
    plan_name: str = ""
    plan: Mapping[str, tuple[float, str]] = field(default_factory=dict)
    """Value and its source."""
    target: Mapping[str, float] = field(default_factory=dict)
    measurements: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RulePolicy:
    """What the configuration says about rules; most general first.

    Code or name, or a pattern of them, to `off`, `on` or a severity: for all targets, for the target, and by pattern of
    measurement names. The most special that says something of a rule decides.
    """

    everywhere: Mapping[str, str] = field(default_factory=dict)
    target: Mapping[str, str] = field(default_factory=dict)
    measurements: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def setting(self, code: str, name: str, measurement: str = "") -> str | None:
        """What applies to the rule on the measurement, or on the target as a whole; None for nothing."""
        special = (s for pattern, s in self.measurements.items() if measurement and fnmatchcase(measurement, pattern))
        for settings in (*special, self.target, self.everywhere):
            if (found := _said_of(code, name, settings)) is not None:
                return found
        return None

    def is_off(self, code: str, name: str) -> bool:
        """Whether it judges nothing: switched off, and not on again for any measurement."""
        again = (_said_of(code, name, settings) for settings in self.measurements.values())
        return self.setting(code, name) == "off" and all(one in (None, "off") for one in again)


def _said_of(code: str, name: str, settings: Mapping[str, str]) -> str | None:
    words = {plain(word): setting for word, setting in settings.items()}
    exact = next((words[one] for one in (code.lower(), name) if one in words), None)
    return exact or next((setting for word, setting in words.items() if takes_in(word, code, name)), None)


def plain(word: str) -> str:
    """A rule's code, name, or a pattern of them, as they are compared: case and `_` for `-` do not count."""
    return word.lower().replace("_", "-")


def takes_in(word: str, code: str, name: str) -> bool:
    """Whether the word is the rule's code or name, or a pattern that one of them fits."""
    return fnmatchcase(code.lower(), plain(word)) or fnmatchcase(name, plain(word))


def resolve_limit(
    rule_name: str,
    threshold: Threshold,
    engine: str,
    policy: LimitPolicy,
    measurement: str | None = None,
    edition: str = "",
) -> Limit:
    """The limit that applies, and who set it: measurement, target, plan, everywhere, edition, engine, default."""
    name = f"{rule_name}.{threshold.name}"

    def limit(value: float, origin: str, source: str = threshold.source) -> Limit:
        return Limit(name, value, threshold.unit, source, origin)

    if measurement is not None:
        for pattern, values in policy.measurements.items():
            if name in values and fnmatchcase(measurement, pattern):
                return limit(values[name], f"measurement {pattern}", "set in tsaudit.yaml")
    if name in policy.target:
        return limit(policy.target[name], "target", "set in tsaudit.yaml")
    if name in policy.plan:
        value, source = policy.plan[name]
        return limit(value, f"plan {policy.plan_name}", source)
    if name in policy.everywhere:
        return limit(policy.everywhere[name], "all targets", "set in tsaudit.yaml")
    for name_of_engine in (f"{engine} {edition}", engine):
        if name_of_engine in threshold.engines:
            value, source = threshold.engines[name_of_engine]
            return limit(value, f"engine {name_of_engine}", source)
    return limit(threshold.default, "default")


@dataclass(frozen=True, slots=True)
class Case:
    """One target as a rule sees it: today's profile, the days before, and the limits."""

    rule: Rule
    profile: Profile
    timeline: Timeline
    policy: LimitPolicy

    @property
    def engine(self) -> Engine:
        """What is true of the target's engine."""
        return ENGINES[self.profile.engine]

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        return self.profile.measurements

    def limit(self, threshold: str, measurement: Measurement | None = None) -> Limit:
        """The named threshold as it applies to the measurement, or to the target."""
        found = next(t for t in self.rule.thresholds if t.name == threshold)
        name = measurement.name if measurement else None
        return resolve_limit(self.rule.name, found, self.profile.engine, self.policy, name, self.profile.edition)

    def usual(self, name: str, subject: Subject) -> tuple[Point, ...]:
        """The figure's values before today, oldest first, without this rule's known incidents that came and went."""
        return self.timeline.usual(name, subject, self.rule.code)

    def quoted(self, names: Iterable[str | Qualified]) -> str:
        """The names as identifiers of the engine, with commas between."""
        return ", ".join(quote_name(self.profile.engine, name) for name in names)


Check = Callable[[Case], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: its texts, what it needs, and the function that finds."""

    code: str
    name: str
    title: str
    severity: Severity
    """Of most of its findings; a finding may be milder or worse."""
    guidelines: tuple[str, ...]
    requires: frozenset[str]
    """Facts without which it cannot judge."""
    thresholds: tuple[Threshold, ...]
    doc: str
    check: Check
    uses: frozenset[str] = frozenset()
    """Facts it looks at where the engine offers them."""
    moot: Mapping[str, str] = field(default_factory=dict)
    """Engines, or single products of one (`engine edition`), on which its guidelines matter and it has nothing to say,
    with the reason."""
    group: str = ""
    """Its family; empty for the one that its code's letters stand for."""
    only: frozenset[str] | None = None
    """The engines it is about; None for all that offer what it requires."""
    package: str = ""
    """The distribution that brings it, and its version; empty for tsaudit itself."""

    @property
    def engines(self) -> frozenset[str]:
        """Those that can be audited, offer the facts it requires, and on which one of its guidelines matters.

        A rule without guidelines applies wherever its facts are offered.
        """
        able = _able(tuple(ENGINES), self.guidelines, self.requires) - self.moot.keys()
        return able if self.only is None else able & self.only

    @property
    def family(self) -> str:
        """One of `Family`, or another that a package brings."""
        letters = self.code.rstrip("0123456789")
        return self.group or str(LETTERS.get(letters, letters.lower()))

    @property
    def summary(self) -> str:
        """The docstring's first paragraph."""
        return self.doc.split("\n\n", 1)[0].replace("\n", " ")

    @property
    def gaps_matter_in(self) -> frozenset[str]:
        """Facts a gap in which keeps it from passing: those it requires or uses, and all they are worked out of."""
        return frozenset().union(*(sources_of(fact) for fact in self.requires | self.uses))

    def section(self, heading: str) -> str:
        """The text below `## heading` in the docstring; empty when there is no such section."""
        match = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", self.doc, re.DOTALL | re.MULTILINE)
        return match[1].strip() if match else ""


@functools.cache
def _able(engines: tuple[str, ...], guidelines: tuple[str, ...], required: frozenset[str]) -> frozenset[str]:
    """Those of the engines that offer all of the facts, and on which one of the guidelines, if any, matters."""
    fitting = engines_of(guidelines) if guidelines else frozenset(engines)
    return frozenset(e for e in engines if e in fitting and required <= offered(frozenset(query_files(e))))


def rule(
    *,
    code: str,
    title: str,
    severity: Severity,
    guidelines: tuple[str, ...] = (),
    requires: set[str],
    thresholds: tuple[Threshold, ...] = (),
    uses: Iterable[str] = (),
    moot: Mapping[str, str] | None = None,
    family: str = "",
    engines: Iterable[str] | None = None,
) -> Callable[[Check], Rule]:
    """Turn a function into the Rule of its name (`_` becomes `-`); its docstring is the rule's page.

    `family`: where the code's letters do not stand for it. `engines`: those it is about, None for all that offer the
    facts it `requires`. Rules of other packages need no guidelines.
    """

    def decorate(check: Check) -> Rule:
        return Rule(
            code=code,
            name=check.__name__.replace("_", "-"),
            title=title,
            severity=severity,
            guidelines=guidelines,
            requires=frozenset(requires),
            thresholds=thresholds,
            doc=inspect.getdoc(check) or "",
            check=check,
            uses=frozenset(uses),
            moot=moot or {},
            group=family,
            only=None if engines is None else frozenset(engines),
        )

    return decorate


def table_of(measurement: Measurement, name: str = "") -> Qualified:
    """The measurement's name as statements have it; with `name` that of another table beside it."""
    return Qualified(measurement.database, name or measurement.name, measurement.path)


def subject_of(measurement: Measurement, column: str = "") -> Subject:
    """The subject that is a measurement, or one of its columns."""
    return Subject(measurement.database, measurement.name, column)
