"""The results of an audit: limits, findings and what they cost, the outcome of each rule, and the verdict."""

from __future__ import annotations

import enum
import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Final

from tsaudit.model.change import AnyChange
from tsaudit.model.figures import Gap, Source, Subject
from tsaudit.model.plan import Plan, Requested

if TYPE_CHECKING:
    from tsaudit.model.profile import Profile


class Basis(enum.StrEnum):
    """The kind of evidence that a finding rests on."""

    DECLARED = "declared"
    """The database or its owner says so: tags of an engine that has them, keys, indexes, partitions, `columns:`."""
    MEASURED = "measured"
    """Counted or read, without any inference."""
    INFERRED = "inferred"
    """Roles of columns that were inferred from names, values, or the interval between rows."""


class Currency(enum.StrEnum):
    """What a finding costs: points, series, bytes, money, reads, or something that no longer works."""

    REJECTED = "points rejected or dropped"
    OVERWRITTEN = "rows overwritten"
    LIMIT = "a limit"
    SERIES = "avoidable series"
    FAMILY = "names of one family"
    BYTES = "avoidable bytes"
    MONEY = "avoidable dollars a month"
    MECHANISM = "a mechanism that fails"
    ANSWERS = "wrong answers"
    READS = "rows read unnecessarily a day"


@dataclass(frozen=True, slots=True)
class Impact:
    """What a problem costs. Only avoidable cost counts: legitimate series and rows are what a server is for."""

    currency: Currency
    now: float = 0.0
    """The amount today: avoidable series, bytes, names, dollars a month, rows a day. For a limit: how much of it is
    used. For lost data: the number since the previous audit.
    """
    whole: float | None = None
    """The total that `now` is a part of: the series of the database, the bytes of the table, the query cost, the rows
    written; for a limit, the limit itself. None: not known, so no share is evaluated.
    """
    per_day: float | None = None
    """By how much `now` grows a day at the present rate; 0 if it is known not to grow, None if that is not known."""
    added_share: float | None = None
    """For bytes: share of what rows add now that is avoidable, 0 to 1, where it has become more; None if it has not."""
    kept_days: float | None = None
    """After how many days added data is removed again; None for never."""
    ahead_days: float | None = None
    """For how many days ahead the rate may be expected to hold; None for the whole horizon."""
    room: float | None = None
    """By how much `now` can grow until the server rejects what is added; None if nothing stops it."""
    days_left: float | None = None
    """Days until a limit is reached, or a mechanism ends; negative if it ended so long ago. None: neither in sight."""
    is_enforced: bool | None = True
    """Whether the loss is certain: the server rejects what exceeds the limit, or rows that no partition accepts. None:
    not proven, for example because overwritten rows may have been identical.
    """
    is_owners: bool = False
    """For a limit: whether the owner of the database set it, so that it applies even if the server would accept more.
    """
    is_used_up: bool = False
    """For a limit: whether what is used is never free again, as IDs. At a known rate, only the time left counts."""
    counted_s: float | None = None
    """For rows a day: the seconds in which `now` was counted, if less than a day; None for a day."""
    goes_on: bool = False
    """Whether the problem was already there on the day before."""
    places: int = 1
    """In how many places it is caused: of a finding that stands for several, the amounts are those of all."""
    unit_bytes: float | None = None
    """Memory of one series in bytes, by the price named in `how`; None: no price is known."""
    unit: str = ""
    """Unit of `now` and `whole` if the currency does not define it: for a limit, `series` or `columns`."""
    tags: tuple[str, ...] = ()
    """For series: the tags that cause them together, which may be more than the finding is about."""
    findings: int = 1
    """Of how many findings about one measurement, or one column, it is the sum."""
    is_saved_by_writer: bool = False
    """For bytes: whether only a changed writer can save them, by rows of another form, or fewer of them."""
    consequence: str = ""
    """What happens if nothing is done, where the currency does not say it; empty if a mechanism stays."""
    how: str = ""
    """How the amount was measured and priced, with the source of the price."""

    def after(self, days: float) -> float:
        """The amount after this many days at the present rate, without what is removed by then; the amount today if the
        rate is not known.
        """
        per_day = self.per_day or 0.0
        grown = self.now + per_day * self._growing_days(days)
        return grown if self.kept_days is None else min(grown, max(self.now, per_day * self.kept_days))

    def _growing_days(self, days: float) -> float:
        """For how many of these days more is added."""
        return min(days, self._full_days, math.inf if self.ahead_days is None else self.ahead_days)

    @property
    def _full_days(self) -> float:
        """Days until the server rejects what is added; infinite if nothing stops it."""
        is_filling = self.room is not None and self.per_day is not None and self.per_day > 0
        return (self.room or 0.0) / (self.per_day or 1.0) if is_filling else math.inf

    def stops_after(self, days: float) -> float:
        """The number of days, at most `days`, after which the amount is what `after` says and grows no further."""
        days = self._growing_days(days)
        if self.kept_days is None or not self.per_day:
            return days
        return min(days, max(self.kept_days - self.now / self.per_day, 0.0))

    def levels_off(self, days: float) -> bool:
        """Whether as much is removed as is added before this many days are over, so that the amount stays the same."""
        return self.kept_days is not None and self.stops_after(days) < self._growing_days(days)

    def fills_up(self, days: float) -> bool:
        """Whether the server rejects what is added before this many days are over, and before the growth ends."""
        return self._full_days < days and self.stops_after(days) == self._full_days

    @property
    def share(self) -> float | None:
        """Share of the whole today, 0 to 1; None if the whole is not known."""
        return self.now / self.whole if self.whole else None

    def share_after(self, days: float) -> float | None:
        """Share of the whole after this many days, if nothing else grows; None if the whole is not known."""
        if self.whole is None:
            return None
        amount = self.after(days)
        whole = self.whole - self.now + amount
        return amount / whole if whole > 0 else None


class Severity(enum.StrEnum):
    """How bad a finding is."""

    NOTE = "note"
    """For information; does not affect the verdict and opens no incident."""
    WARNING = "warning"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        return list(Severity).index(self)


class Outcome(enum.StrEnum):
    """The outcome of a rule: the values of SARIF 2.1's `kind`, and `error`."""

    PASS = "pass"  # noqa: S105 -- an outcome, not a password
    FAIL = "fail"
    OPEN = "open"
    """Nothing was found, but something that the rule needed was not measured."""
    NOT_APPLICABLE = "notApplicable"
    ERROR = "error"
    """The rule itself failed."""


class Verdict(enum.StrEnum):
    """The verdict on a target, a table, or a group of rules, best first.

    `unknown` is worse than `ok` and better than a finding: it never hides a finding and never counts as passed.
    """

    OK = "ok"
    UNKNOWN = "unknown"
    WARNING = "warning"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        return list(Verdict).index(self)

    @classmethod
    def worst(cls, verdicts: Iterable[Verdict]) -> Verdict:
        """The worst of the given verdicts; `ok` if there are none."""
        return max(verdicts, key=lambda v: v.rank, default=cls.OK)


def fingerprint(target: str, code: str, subject: Subject) -> str:
    """One ID per (target, rule, subject): the same in report anchors, Slack, Dagster, JSON, and the history.

    It does not include the measured value, so it stays the same from day to day. 16 hex digits.
    """
    import hashlib  # This loads OpenSSL, which code that only lists rules does not need.

    text = "\x1f".join((target, code, subject.key))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Limit:
    """A threshold as applied to one subject."""

    name: str
    """`<rule name>.<threshold name>`."""
    value: float
    unit: str
    source: str
    """The reason for this number: a vendor's page, or `our default: ...` with the reason."""
    origin: str
    """Where it was set: `default`, `engine influxdb1`, `plan influxdb-cloud-free`, `target`, `measurement http_*`."""


SERVER: Final = "server"
"""Origin of a limit that was read from the server."""

INTERVAL_DAYS = 60.0
"""Forecasts up to this many days have useful 80% intervals: on real counts, they held 70 to 90% of the outcomes, but
over 90 days only 60%.
"""
_FORESEEABLE_DAYS: Final = 365.0
"""Who plots the days to a limit wants to see what approaches, not that there are decades left."""
_APART: Final = 1.1
"""A forecast is not that of the present rate if one of the two is this many times as far away as the other."""


@dataclass(frozen=True, slots=True)
class Jump:
    """The last change of a figure, which is unlike the days before."""

    since: date
    """The day of the figure before it."""
    added: float
    """How much was added; negative after a fall."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """When a growing figure is expected to reach its limit. Days are from the audited day; None: beyond the horizon."""

    limit: float
    days: float | None
    days_low: float | None
    """Days before which 10% of the outcomes are expected."""
    days_high: float | None
    """Days after which 10% of the outcomes are expected."""
    growth_per_day: float
    """Relative growth: 0.05 is 5% a day."""
    onset: date | None
    shape: str
    """`steady` (the same amount is added every day), `speeding up`, `slowing`, or `undecided`. In results up to version
    0.1: `linear` or `exponential`.
    """
    provisional: bool
    """Whether there is too little history to rely on the forecast."""
    unit: str = ""
    """Unit of `limit`, as in `Limit`."""
    from_day: date | None = None
    """The audited day, from which the days count; None in results up to version 0.1."""
    days_at_rate: float | None = None
    """Days at the present rate: fewer than `days` if growth usually slows down. None: unknown, or `days` is None."""
    compounds: bool = False
    """Whether the present rate is a share that is added every day, rather than an amount."""
    has_season: bool = False
    """Whether the days are those of the busiest weekday."""
    jump: Jump | None = None
    """The last change, if the rate is that of the days before it; after a fall, the days are those without it, too."""

    @property
    def slows_down(self) -> bool:
        """Whether the limit is expected later than at the present rate."""
        return bool(self.days and self.days_at_rate and self.days > _APART * self.days_at_rate)

    @property
    def speeds_up(self) -> bool:
        """Whether the limit is expected sooner than at the present rate."""
        return bool(self.days and self.days_at_rate and self.days_at_rate > _APART * self.days)

    @property
    def has_interval(self) -> bool:
        """Whether the limit is near enough for `days_low` and `days_high` to hold 80% of the outcomes.

        Farther away, real growth has changed its rate: `days` then only extrapolates the present rate.
        """
        return self.days is not None and self.days <= INTERVAL_DAYS


@dataclass(frozen=True, slots=True)
class Evidence:
    """One labeled figure or fact that supports a finding, as text for people."""

    label: str
    value: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem: what is wrong, where, by how much, and what to change."""

    subject: Subject
    message: str
    """One sentence with the figures in it."""
    severity: Severity = field(default=Severity.NOTE, kw_only=True)
    """Decided by the policy (`tsaudit.harm`) from `impact` and `basis`."""
    headline: str = field(default="", kw_only=True)
    """What is wrong, its cause, and since when, in a few words, without the place. Empty: the message is shortened."""
    severity_reason: str = field(default="", kw_only=True)
    """Why it has this severity, in a few words; empty if figure and limit show it. Or why it has no impact."""
    impact: Impact | None = field(default=None, kw_only=True)
    """What the finding costs, from which the policy decides the severity; None if it cannot be priced."""
    basis: Basis = field(default=Basis.MEASURED, kw_only=True)
    """The kind of evidence that the finding rests on."""
    consequence: str = field(default="", kw_only=True)
    """One sentence: what happens if nothing is done; empty if it has no impact."""
    per_day: float | None = field(default=None, kw_only=True)
    """By how much `observed` grows a day at the present rate; None if it does not grow, or this is not known."""
    jump: Jump | None = field(default=None, kw_only=True)
    """The last change, if `per_day` is the rate of the days before it; None if it is the rate of all days."""
    fix: str = ""
    """What to change, in words. The audit adds the engine's advice about the changes."""
    stopgap: str = field(default="", kw_only=True)
    """The part of `fix` that gains time until the cause is gone, in complete sentences; empty if there is none."""
    changes: tuple[AnyChange, ...] = ()
    """The changes of `fix` as data, from which the plan of the measurement is built. Empty if people have to decide."""
    observed: float | None = None
    limit: Limit | None = None
    unit: str = ""
    """Unit of `observed`."""
    baseline: float | None = None
    """The figure of the previous snapshot, if the rule compares."""
    main_contributor: str | None = None
    """The tag or column that contributes most."""
    together_with: tuple[str, ...] = field(default=(), kw_only=True)
    """The other tags without which the main contributor would hardly contribute anything; `share` is that of all."""
    share: float | None = None
    """The main contributor's share of the damage, 0 to 1."""
    samples: tuple[str, ...] = ()
    """Values as read; the code that displays them redacts them."""
    evidence: tuple[Evidence, ...] = ()
    since: date | None = None
    """The day the problem started, if the history shows it."""
    forecast: Forecast | None = None
    facts: tuple[str, ...] = ()
    """The facts that the finding is based on; the report shows their statements."""
    source: Source | None = None
    affected_series: float | None = None
    """The number of series in its measurement (or target, if the finding is about more than one measurement) times
    `share`; None: not known.
    """

    @property
    def days_left(self) -> float | None:
        """Days from the audited day until the finding's limit is reached or its mechanism ends; 0 if that has happened,
        None if no end is in sight. Metrics, JSON, the index, and the order of findings use this number.
        """
        known = [self.forecast.days if self.forecast else None, self.impact.days_left if self.impact else None]
        if self.observed is not None and self.limit is not None and self.unit == self.limit.unit == "series":
            known.append(0.0 if self.observed >= self.limit.value > 0 else None)
        return min((max(days, 0.0) for days in known if days is not None), default=None)


def first_limit(findings: Iterable[Finding]) -> float | None:
    """Days until the first limit is reached, not counting notes. None: within a year, none is."""
    left = (one.days_left for one in findings if one.severity is not Severity.NOTE)
    return min((days for days in left if days is not None and days <= _FORESEEABLE_DAYS), default=None)


def worst_first(code: str, finding: Finding, severity: Severity | None = None) -> tuple[object, ...]:
    """Sort key of findings, the same in every output: by severity, days left, affected series, how far the limit is
    exceeded, and whether answers are wrong.

    Days beyond `INTERVAL_DAYS` count as no days, because forecasts are unreliable there. Ties are sorted by rule and
    subject. `severity`: the severity of the incident, if it differs.
    """
    rank, excess = (severity or finding.severity).rank, 0.0
    if finding.observed is not None and finding.limit is not None and finding.limit.value > 0:
        excess = finding.observed / finding.limit.value
    over = 0.0 if math.isnan(excess) else excess
    left = finding.days_left
    if finding.severity is Severity.NOTE or left is None or not left <= INTERVAL_DAYS:
        left = math.inf
    is_wrong = finding.impact is not None and finding.impact.currency is Currency.ANSWERS
    return (-rank, left, -(finding.affected_series or 0.0), -over, not is_wrong, code, finding.subject)


@dataclass(frozen=True, slots=True)
class RuleResult:
    """The result of one rule on one target. With the rule's texts, so that readers do not need the rule."""

    code: str
    name: str
    title: str
    family: str
    guidelines: tuple[str, ...]
    outcome: Outcome
    findings: tuple[Finding, ...] = ()
    folded: tuple[Finding, ...] = ()
    """Findings, except notes, that follow from those of another rule, which have them as evidence. They open no
    incident, and end none.
    """
    gaps: tuple[Gap, ...] = ()
    """What the rule needed but could not be measured, whatever the outcome."""
    reason: str = ""
    """Why it is open, not applicable, or failed; otherwise empty."""
    limits: tuple[Limit, ...] = ()
    """The target-wide limits that the rule used."""
    why: str = ""
    """The rule's section "Why it matters"."""
    not_evaluated: str = ""
    """Which measurements the rule did not evaluate because of their kind of rows, and what else it left out, in words;
    empty if it evaluated all.
    """
    switched_off: bool = False
    """Whether the configuration switches the rule off for this target; its outcome is then `notApplicable`."""

    @property
    def leaves_out(self) -> bool:
        """Whether it applies, but leaves something out."""
        return bool(self.not_evaluated) and self.outcome is not Outcome.NOT_APPLICABLE

    @property
    def is_lacking(self) -> bool:
        """Whether it applied, but failed, or lacked something, even if it found problems in the rest."""
        return self.outcome in (Outcome.OPEN, Outcome.ERROR) or bool(self.gaps)

    @property
    def verdict(self) -> Verdict | None:
        """The verdict of the rule: None if it does not apply; `unknown` if it failed, whatever it found.

        Findings of severity `note` leave the verdict `ok`.
        """
        if self.outcome is Outcome.NOT_APPLICABLE:
            return None
        if self.outcome is Outcome.ERROR:
            return Verdict.UNKNOWN
        worst = Verdict.worst(Verdict(f.severity) for f in self.findings if f.severity is not Severity.NOTE)
        if worst is not Verdict.OK:
            return worst
        return Verdict.UNKNOWN if self.gaps else Verdict.OK


@dataclass(frozen=True, slots=True)
class AuditResult:
    """The results of all rules on one target on one day."""

    target: str
    engine: str
    server_version: str
    day: date
    audited_at: datetime
    """When the audit ended whose results these are."""
    tsaudit_version: str
    results: tuple[RuleResult, ...]
    plans: tuple[Plan, ...] = ()
    """What to do about warnings and critical findings, the plan for the worst one first. Findings that ask for the same
    changes share a plan, and so do those about one measurement.
    """
    failed_at: datetime | None = None
    """When a later audit of the day failed, which measured less: its failure is a finding of `UNREACHABLE_CODE`, and
    everything else is from `audited_at`. None: there was none.
    """

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of the rules that apply; `unknown` if none could be evaluated at all."""
        verdicts = [v for r in self.results if (v := r.verdict) is not None]
        return Verdict.worst(verdicts) if verdicts else Verdict.UNKNOWN

    def verdict_of(self, family: str) -> Verdict | None:
        """The worst verdict of the family's rules; None if none applies. After a failed audit, nothing passes."""
        verdicts = [v for r in self.results if r.family == family and (v := r.verdict) is not None]
        failed = [Verdict.UNKNOWN] if self.failed_at else []
        return Verdict.worst([*verdicts, *failed]) if verdicts else None

    @property
    def has_measured(self) -> bool:
        """Whether any rule had what it needed. If none had, for example because the target could not be reached, the
        absence of a finding shows nothing.
        """
        own = (r for r in self.results if r.code not in RULELESS_CODES)
        return any(r.outcome in (Outcome.PASS, Outcome.FAIL) for r in own)

    @property
    def has_profile(self) -> bool:
        """Whether rules were evaluated on a profile: False if the target could not be reached."""
        return any(r.code not in RULELESS_CODES for r in self.results)

    @property
    def not_audited(self) -> RuleResult | None:
        """The result about what could not be audited: the whole target, or databases; None if all was audited."""
        return next((r for r in self.results if r.code == UNREACHABLE_CODE), None)

    @property
    def error(self) -> str | None:
        """What could not be audited, in the line that fails the run; None if everything was, or that is muted."""
        missed = self.not_audited
        return missed.reason if missed and missed.findings else None

    @property
    def failure(self) -> Finding | None:
        """Why the target as a whole could not be audited; None if at least a part of it was."""
        missed = self.not_audited
        return next((one for one in missed.findings if one.subject == Subject()), None) if missed else None

    def without(self, muted: Collection[str]) -> AuditResult:
        """The result without the findings that have these fingerprints. What could not be measured stays unknown."""

        if not muted:
            return self

        def kept(rule: RuleResult) -> tuple[Finding, ...]:
            return tuple(f for f in rule.findings if fingerprint(self.target, rule.code, f.subject) not in muted)

        return replace(self, results=tuple(replace(rule, findings=kept(rule)) for rule in self.results))

    def findings(self) -> Iterator[tuple[RuleResult, Finding]]:
        """All findings, worst first."""
        yield from ordered(self.results)

    def wanted(self) -> Iterator[Requested]:
        """All changes that findings ask for, including notes, and those of the plans, which may be more specific."""
        yield from (one for plan in self.plans for one in plan.changes)
        yield from (Requested(change, (rule.code,)) for rule, finding in self.findings() for change in finding.changes)

    def is_complete(self, profile: Profile | None) -> bool:
        """Whether everything needed was measured: no gap, no rule that failed or lacked something, no code in
        `RULELESS_CODES`.

        `profile`: what was measured; None if nothing could be queried.
        """
        if profile is None or profile.gaps:
            return False
        lacking = (Outcome.OPEN, Outcome.ERROR)
        return not any(r.gaps or r.outcome in lacking or r.code in RULELESS_CODES for r in self.results)


def ordered(results: Iterable[RuleResult]) -> list[tuple[RuleResult, Finding]]:
    """The findings of the given rules, worst first."""
    pairs = ((r, f) for r in results for f in r.findings)
    return sorted(pairs, key=lambda pair: worst_first(pair[0].code, pair[1]))


UNREACHABLE_CODE: Final = "TGT001"
"""Code of the finding that a target, or one of its databases, could not be audited; not a rule."""

DEGRADED_CODE: Final = "TGT002"
"""Code of the finding that rules cannot be evaluated, audit after audit; not a rule."""

PLUGIN_CODE: Final = "TGT003"
"""Code of the finding that rules of another package cannot be used; not a rule."""

RULELESS_CODES: Final = {
    UNREACHABLE_CODE: "target-not-audited",
    DEGRADED_CODE: "rules-not-evaluated",
    PLUGIN_CODE: "plug-in-not-usable",
}
"""Codes and names of findings without a rule, by which a route can select them."""
