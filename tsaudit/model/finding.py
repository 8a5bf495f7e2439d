"""What an audit says: limits, findings, the outcome of each rule, and the verdict."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from tsaudit.model.change import AnyChange
from tsaudit.model.plan import Plan
from tsaudit.model.profile import Gap, Profile, Source
from tsaudit.model.subject import Subject


class Severity(enum.StrEnum):
    """How bad a finding is."""

    INFO = "info"
    """Worth knowing; changes no verdict and opens no incident."""
    WARN = "warn"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        return list(Severity).index(self)


class Outcome(enum.StrEnum):
    """What became of a rule; the words of SARIF 2.1's `kind`, and `error`."""

    PASS = "pass"  # noqa: S105 -- an outcome, not a password
    FAIL = "fail"
    OPEN = "open"
    """Nothing found, but something it needed was not measured."""
    NOT_APPLICABLE = "notApplicable"
    ERROR = "error"
    """The rule itself broke."""


class Verdict(enum.StrEnum):
    """What a target, a table or a group of rules comes to, best first.

    `unknown` is worse than `ok` and milder than a finding: it never hides one and is never green.
    """

    OK = "ok"
    UNKNOWN = "unknown"
    WARN = "warn"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        return list(Verdict).index(self)

    @classmethod
    def worst(cls, verdicts: Iterable[Verdict]) -> Verdict:
        """The worst of the given; `ok` of none."""
        return max(verdicts, key=lambda v: v.rank, default=cls.OK)


def fingerprint(target: str, code: str, subject: Subject) -> str:
    """One id per (target, rule, subject): the same in report anchor, Slack, Dagster, JSON and history.

    The measured value is no part of it, so it stays the same from day to day. 16 hex digits.
    """
    import hashlib  # loads OpenSSL, which whoever only lists rules can do without

    text = "\x1f".join((target, code, subject.key))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Limit:
    """A threshold as it applied to one subject."""

    name: str
    """`<rule name>.<threshold name>`."""
    value: float
    unit: str
    source: str
    """Why this number: a vendor's page, or `our default: ...` with the reason."""
    origin: str
    """Who set it: `default`, `engine influxdb1`, `plan influxdb-cloud-free`, `target`, `measurement http_*`."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """When a growing figure reaches its limit. Days count from the audited day; None: not within the horizon."""

    limit: float
    days: float | None
    days_low: float | None
    """10% of the outcomes are sooner."""
    days_high: float | None
    """10% are later."""
    growth_per_day: float
    """Relative: 0.05 is 5% a day."""
    onset: date | None
    shape: str
    """`linear`, `exponential` or `undecided`."""
    provisional: bool
    """Too little history to rely on it."""
    unit: str = ""
    """Of `limit`, as in `Limit`."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One labelled figure or fact behind a finding, as text for people."""

    label: str
    value: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, where, by how much, and what to change."""

    subject: Subject
    severity: Severity
    message: str
    """One sentence with the figures in it."""
    fix: str = ""
    """What to change, in words. The audit adds what the engine has to say of the changes."""
    changes: tuple[AnyChange, ...] = ()
    """The same as data: what the plan of its measurement is made of. Empty where only people can decide."""
    observed: float | None = None
    limit: Limit | None = None
    unit: str = ""
    """Of `observed`."""
    baseline: float | None = None
    """The figure of the snapshot before, where the rule compares."""
    guilty: str | None = None
    """The tag or column to blame."""
    share: float | None = None
    """The guilty one's share of the damage, 0 to 1."""
    samples: tuple[str, ...] = ()
    """Values as read; whoever shows them redacts them."""
    evidence: tuple[Evidence, ...] = ()
    since: date | None = None
    """The day it began, where history shows it."""
    forecast: Forecast | None = None
    facts: tuple[str, ...] = ()
    """The facts it rests on, by which the statements behind it are found."""
    source: Source | None = None
    affected_series: float | None = None
    """Series of its measurement, or of the target where it is about more, times `share`; None: not known."""


def worst_first(code: str, finding: Finding, severity: Severity | None = None) -> tuple[object, ...]:
    """Sort key of findings, the same in every output: by severity, by series affected, by how far over the limit.

    What is alike in these comes by rule and subject. `severity`: of the incident, where that is another.
    """
    rank, excess = (severity or finding.severity).rank, 0.0
    if finding.observed is not None and finding.limit is not None and finding.limit.value > 0:
        excess = finding.observed / finding.limit.value
    over = 0.0 if math.isnan(excess) else excess
    return (-rank, -(finding.affected_series or 0.0), -over, code, finding.subject)


@dataclass(frozen=True, slots=True)
class RuleResult:
    """What one rule came to on one target. Carries the rule's texts, so that no reader needs the rule."""

    code: str
    name: str
    title: str
    family: str
    guidelines: tuple[str, ...]
    outcome: Outcome
    findings: tuple[Finding, ...] = ()
    gaps: tuple[Gap, ...] = ()
    """What the rule needed and was not measured, whatever the outcome."""
    reason: str = ""
    """Why it is open, not applicable or broken; empty otherwise."""
    limits: tuple[Limit, ...] = ()
    """The target-wide limits it used."""
    why: str = ""
    """The rule's section "Why it matters"."""
    switched_off: bool = False
    """Whether the configuration switches it off here; its outcome is then that it does not apply."""

    @property
    def verdict(self) -> Verdict | None:
        """None for a rule that does not apply; `unknown` for a broken one, whatever it found.

        Findings of severity `info` leave it `ok`.
        """
        if self.outcome is Outcome.NOT_APPLICABLE:
            return None
        if self.outcome is Outcome.ERROR:
            return Verdict.UNKNOWN
        worst = Verdict.worst(Verdict(f.severity) for f in self.findings if f.severity is not Severity.INFO)
        if worst is not Verdict.OK:
            return worst
        return Verdict.UNKNOWN if self.gaps else Verdict.OK


@dataclass(frozen=True, slots=True)
class AuditResult:
    """What all rules came to on one target on one day."""

    target: str
    engine: str
    server_version: str
    day: date
    audited_at: datetime
    tsaudit_version: str
    results: tuple[RuleResult, ...]
    plans: tuple[Plan, ...] = ()
    """What is to be done, by subject: one plan for a measurement, whatever the number of findings about it."""

    @property
    def verdict(self) -> Verdict:
        """The worst of the rules that apply; `unknown` when none could be judged at all."""
        verdicts = [v for r in self.results if (v := r.verdict) is not None]
        return Verdict.worst(verdicts) if verdicts else Verdict.UNKNOWN

    @property
    def not_audited(self) -> RuleResult | None:
        """The result that says what could not be audited, the whole target or databases; None where all was."""
        return next((r for r in self.results if r.code == UNREACHABLE_CODE), None)

    def findings(self) -> Iterator[tuple[RuleResult, Finding]]:
        """All findings, worst first."""
        yield from ordered(self.results)

    def is_complete(self, profile: Profile | None) -> bool:
        """Whether all that was needed was measured: no gap, no rule that lacked something or broke, no code of
        `RULELESS_CODES`. `profile`: what the result is of; None where nothing could be asked."""
        if profile is None or profile.gaps:
            return False
        lacking = (Outcome.OPEN, Outcome.ERROR)
        return not any(r.gaps or r.outcome in lacking or r.code in RULELESS_CODES for r in self.results)


def ordered(results: Iterable[RuleResult]) -> list[tuple[RuleResult, Finding]]:
    """The findings of the given rules, worst first."""
    pairs = ((r, f) for r in results for f in r.findings)
    return sorted(pairs, key=lambda pair: worst_first(pair[0].code, pair[1]))


UNREACHABLE_CODE: Final = "TGT001"
"""The code under which it is reported that a target, or a database of it, could not be audited; no rule has it."""

SILENCED_CODE: Final = "TGT002"
"""The code under which it is reported that rules which used to judge have stopped; no rule has it."""

PLUGIN_CODE: Final = "TGT003"
"""The code under which it is reported that rules of another package cannot be used; no rule has it."""

RULELESS_CODES: Final = {
    UNREACHABLE_CODE: "target-not-audited",
    SILENCED_CODE: "rules-no-longer-judged",
    PLUGIN_CODE: "plug-in-not-usable",
}
"""Codes with their names of what an audit reports without a rule, by which a route may pick it."""
