"""The summary that an owner can read in ten seconds: what is wrong, its cause, the time left, and the first thing to
do.

Report, Slack, command line, Dagster, and JSON show the same summary, in the same order.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType
from typing import Any, Final

from tsaudit.engines.registry import ENGINES
from tsaudit.model.finding import (
    RULELESS_CODES,
    AuditResult,
    Currency,
    Finding,
    Outcome,
    RuleResult,
    Severity,
    fingerprint,
)
from tsaudit.model.plan import Plan
from tsaudit.model.profile import Profile
from tsaudit.planning import describe
from tsaudit.text import amount, findings, listed, many, markdown, number, percent, printable, quantity, rounded
from tsaudit.text import day as formatted_day
from tsaudit.text.findings import headline, is_growing, origin, tally
from tsaudit.text.impacts import hours_or_days
from tsaudit.text.table_roles import guessed_tags


@dataclass(frozen=True, slots=True)
class SummaryFigure:
    """One of the figures below a headline."""

    label: str
    """`Why critical` or `Limit`, `If nothing is done`, `Now`, `Time left` or `Growing since` or `Began`, and
    `After the plan`.
    """
    value: str
    note: str = ""
    """Additional information in a few words; may be empty."""

    @property
    def text(self) -> str:
        """The value and the note in one line: `36,096 series (768 before, 3,072 more a day)`."""
        return f"{self.value} ({self.note})" if self.note else self.value


@dataclass(frozen=True, slots=True)
class Summary:
    """One finding, or the result of a target, in brief."""

    headline: str
    """What is wrong, its cause, and since when; at most 25 words."""
    figures: tuple[SummaryFigure, ...] = ()
    """The known ones of: the cost, or the limit; what happens if nothing is done; the current value and its growth; the
    time left, or since when; what the plan achieves.
    """
    first_step: str = ""
    """What to do first, in words, or what keeps rules from being evaluated; empty if nothing has to be done."""
    statement: str = ""
    """The statement of the first step, ready to use; may be empty."""
    rest: str = ""
    """The command that prints the whole plan; empty if there is no plan."""
    fingerprint: str = ""
    """Fingerprint of the finding; empty if the summary is about no finding."""

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Summary:
        """The summary from the output of `dataclasses.asdict`."""
        return cls(**{**given, "figures": tuple(SummaryFigure(**figure) for figure in given["figures"])})

    def in_markdown(self) -> str:
        """As Markdown, in the order of all outputs: headline, figures, first step with its statement, and the rest."""
        parts = [f"**{markdown.escape(self.headline)}**"] if self.headline else []
        if self.figures:
            lines = (f"- {markdown.escape(figure.label)}: {markdown.escape(figure.text)}" for figure in self.figures)
            parts.append("\n".join(lines))
        if self.first_step:
            parts.append(markdown.prose(self.first_step))
        if self.statement:
            parts.append(markdown.statement(self.statement))
        if self.rest:
            parts.append(f"The whole plan: {markdown.code(self.rest)}")
        return "\n\n".join(parts)


def of_finding(finding: Finding, code: str, plans: Iterable[Plan], target: str, day: date) -> Summary:
    """The summary of one finding. `day`: the audited day."""
    plan = describe.of_finding(finding, plans)
    begins = describe.beginning(plan, target) if plan else None
    outlook = SummaryFigure("If nothing is done", finding.consequence) if finding.consequence else None
    cost = (_reason(finding), outlook)
    # The cost comes first; without a cost, the figure itself.
    figures = (
        *((*cost, _now(finding)) if finding.impact is not None else (_now(finding), *cost)),
        _time(finding, day),
        _afterward(finding, plan) if plan and _is_about_series(finding) else None,
    )
    return Summary(
        headline(finding),
        tuple(figure for figure in figures if figure is not None),
        begins.sentence if begins else _first_sentence(finding.fix),
        begins.statement if begins else "",
        begins.rest if begins else "",
        fingerprint(target, code, finding.subject),
    )


_NO_MUTES: Final[Mapping[str, date]] = MappingProxyType({})
_ABOUT_TAGS: Final = frozenset({"cardinality", "tags", "layout"})
"""Families of rules to which it matters whether a role was guessed."""


def of_result(
    result: AuditResult,
    profile: Profile | None,
    muted: Mapping[str, date] = _NO_MUTES,
    news: Collection[str] = (),
) -> Summary:
    """The summary of the worst finding; if there is none, what is muted or noted, and what was evaluated.

    `muted`: fingerprint to the last muted day, of the findings that it does not lead with. `news`: fingerprints of
    findings that come before others. `profile`: None if nothing could be queried.
    """
    silent: list[tuple[Severity, date]] = []
    notes = 0

    def identity(rule: RuleResult, finding: Finding) -> str:
        return fingerprint(result.target, rule.code, finding.subject)

    found = result.findings()
    for rule, finding in sorted(found, key=lambda one: identity(*one) not in news) if news else found:
        if until := muted.get(identity(rule, finding)):
            silent.append((finding.severity, until))
        elif finding.severity is not Severity.NOTE:
            return of_finding(finding, rule.code, result.plans, result.target, result.day)
        else:
            notes += 1
    is_about_tags = any(rule.family in _ABOUT_TAGS for rule in result.results)
    guessed = _to_confirm(result.target, profile) if is_about_tags and not silent else ""
    known = [_muted(silent)] if silent else ["No warnings"] if notes else []
    known += [many(notes, "note")] if notes else []
    return Summary(_nothing_wrong(result, profile, known), first_step=_lacking(result) or guessed)


def rules_evaluated(results: Iterable[RuleResult]) -> int:
    """Number of rules that applied and had everything they needed."""
    return sum(r.outcome is not Outcome.NOT_APPLICABLE and not r.is_lacking for r in _rules(results))


def rules_lacking(results: Iterable[RuleResult]) -> int:
    """Number of rules that applied but lacked something, or failed."""
    return sum(r.is_lacking for r in _rules(results))


def _rules(results: Iterable[RuleResult]) -> list[RuleResult]:
    return [r for r in results if r.code not in RULELESS_CODES]


def _lacking(result: AuditResult) -> str:
    """What keeps most rules from being evaluated, and what would help; empty if none of them lacks anything.

    An unknown verdict says nothing about the target, so this is the first thing to do.
    """
    rules = [r for r in _rules(result.results) if r.is_lacking]
    causes = Counter(cause for r in rules for cause in {(g.database, g.measurement, g.detail) for g in r.gaps})
    if causes:
        # Of causes that are equally frequent, always the same one.
        (database, measurement, detail), count = min(causes.items(), key=lambda one: (-one[1], *map(str, one[0])))
        where = printable("/".join(part for part in (database, measurement) if part), 60)
        # In the words of the headline.
        partly = f"{'was' if count == 1 else 'were'} evaluated only in part"
        lacked = partly if rules_evaluated(result.results) else "could not be evaluated"
        lacked += f" on {where}" if where else ""
    else:
        broken = [r for r in rules if r.reason]
        if not broken:
            return ""
        count, lacked, detail = len(broken), "could not be evaluated", f"{broken[0].code}: {broken[0].reason}"
    return f"{many(count, 'rule')} {lacked}: {detail}{'' if detail.endswith(('.', '?')) else '.'}"


def _muted(silent: Sequence[tuple[str, date]]) -> str:
    """Muted findings, each as its severity and its last muted day: `1 critical, 2 warnings muted until 2026-12-12`."""
    days = {until for _, until in silent}
    first = ", the first" if len(days) > 1 else ""
    return f"{tally(severity for severity, _ in silent)} muted{first} until {min(days)}"


def _nothing_wrong(result: AuditResult, profile: Profile | None, known: Sequence[str]) -> str:
    """What was evaluated, after what is known: muted findings and notes."""
    evaluated, unsure = rules_evaluated(result.results), rules_lacking(result.results)
    rules, found = many(evaluated, "rule"), "Nothing wrong was found"
    parts = _not_evaluated_on(result, profile) if profile and unsure and not evaluated else ()
    if parts:
        rest = f"{many(unsure, 'rule')} evaluated except on {listed(parts, 3)}"
        return f"{', '.join(known) or f'{found} in what was measured'}{'; ' if known else ': '}{rest}"
    if not evaluated and known:
        rest = "no rule could be evaluated completely" if unsure else "nothing could be evaluated"
        return f"{', '.join(known)}; {rest}"
    if not evaluated and not unsure:
        return "No rule applies to this target, so nothing could be evaluated"
    if not evaluated:
        return f"{many(unsure, 'rule')} could not be evaluated, and no other rule applies"
    if unsure:
        found, rest = f"{found} in what was measured", f"evaluated, {number(unsure)} only in part"
    elif not result.is_complete(profile):
        rest = "evaluated, but not everything was measured"
    else:
        unread = _unread(profile)
        but = f", but no row of {listed(unread, 3)} is in the window" if unread else _left_out(result, profile)
        rest = f"evaluated on complete figures{but}"
    return f"{', '.join(known)}; {rules} {rest}" if known else f"{found}: {rules} {rest}"


def _not_evaluated_on(result: AuditResult, profile: Profile) -> list[str]:
    """The measurements on which rules could not be evaluated, if each was evaluated on all others; or empty."""
    # Most audits need nothing of this, nor does a command that shows one.
    from tsaudit.not_audited import evaluated_some

    rules = [r for r in _rules(result.results) if r.is_lacking]
    gaps = [gap for rule in rules for gap in rule.gaps]
    if not all(evaluated_some(rule, profile) and rule.gaps for rule in rules) or not all(g.measurement for g in gaps):
        return []
    return sorted({printable(gap.measurement or "", 60) for gap in gaps})


def _left_out(result: AuditResult, profile: Profile | None) -> str:
    """What a first audit cannot tell of an index, whose series have no time; empty if it can."""
    if profile is None or not ENGINES[profile.engine].has_series_index:
        return ""
    left_out = next((one.not_evaluated for one in result.results if one.code == "CAR004" and one.leaves_out), "")
    return f", except {left_out}" if left_out else ""


def _unread(profile: Profile | None) -> list[str]:
    """The measurements of which only the index shows that they are stored."""
    if profile is None or not ENGINES[profile.engine].has_series_index:
        return []
    written = {m.name for m in profile.measurements if m.rows is None or m.rows.value}
    # What another retention policy has rows of went there.
    return sorted({m.name for m in profile.measurements} - written)


def _to_confirm(target: str, profile: Profile | None) -> str:
    """What to do about roles that were guessed, by which nothing is more than a note; empty if none was."""
    roles = [len(tags) for m in profile.measurements if (tags := guessed_tags(m))] if profile else []
    return confirm(target, sum(roles), len(roles)) if roles else ""


def confirm(target: str, roles: int, tables: int) -> str:
    """How to make more than notes of what rests on guessed roles. `roles`: in so many tables."""
    guessed = f"{many(roles, 'role')} in {many(tables, 'table')} {'was' if roles == 1 else 'were'} guessed"
    command = f"tsaudit check {shlex.quote(target)} --roles"
    return f"{guessed}, so findings about tags there are notes only. To confirm what is right: `{command}`."


# --- The three figures ------------------------------------------------------------------------------------------------


def _now(finding: Finding) -> SummaryFigure | None:
    """The measured figure, with its previous value and its growth."""
    if finding.observed is None:
        return None
    notes = []
    # A target, its databases, and its tables all have series: the figure must say which of them are counted.
    if finding.unit == "series":
        notes.append(f"in {printable(finding.subject.measurement or finding.subject.database or 'all databases', 60)}")
    if finding.baseline is not None and finding.baseline != finding.observed:
        notes.append(f"{amount(finding.baseline, finding.unit)} before")
    if finding.jump is not None:
        notes.append(findings.jumped(finding.jump, finding.unit))
    if finding.per_day:
        before = " before that" if finding.jump else ""
        notes.append(f"{amount(finding.per_day, finding.unit)} more a day{before}{_changing(finding)}")
    # What share of the rows read it is was counted, and the message says it with the same digits.
    of_the_read = finding.unit.endswith("of the rows read")
    sampled = finding.source is not None and finding.source.how != "exact" and not of_the_read
    value = quantity(rounded(finding.observed) if sampled else finding.observed, finding.unit)
    return SummaryFigure("Now", f"about {value}" if sampled else value, ", ".join(notes))


def _changing(finding: Finding) -> str:
    shape = finding.forecast.shape if finding.forecast else ""
    return f", {shape}" if shape in ("speeding up", "slowing") else ""


def _reason(finding: Finding) -> SummaryFigure | None:
    """Why the finding has its severity: in words, or as the limit."""
    limit, observed = finding.limit, finding.observed
    part = ""
    if limit is not None and observed is not None and limit.value > 0 and limit.unit == finding.unit:
        if observed >= 2 * limit.value:
            part = f"now {number(observed / limit.value)} times that"
        elif finding.per_day or finding.forecast:
            part = f"{percent(observed / limit.value)} of it reached"
    if finding.severity_reason:
        note = f"limit {quantity(limit.value, limit.unit)}" if limit and finding.impact is None else ""
        part = "" if finding.impact is not None else part
        severity = "critical" if finding.severity is Severity.CRITICAL else f"a {finding.severity}"
        return SummaryFigure(f"Why {severity}", finding.severity_reason, ", ".join(filter(None, (note, part))))
    if limit is None:
        return None
    return SummaryFigure("Limit", quantity(limit.value, limit.unit), ", ".join(filter(None, (origin(limit), part))))


def _time(finding: Finding, day: date) -> SummaryFigure | None:
    """The time until the limit is reached; otherwise since when the problem exists."""
    forecast = finding.forecast
    if forecast is not None and forecast.days is not None:
        if forecast.days <= 0:
            return SummaryFigure("Time left", "none", "the limit is reached")
        left = findings.about(forecast).removeprefix("in ")
        between, rate = findings.interval(forecast), findings.at_rate(forecast) or findings.condition(forecast)
        note = between if between and rate == findings.AT_THIS_RATE else "; ".join(filter(None, (between, rate)))
        return SummaryFigure("Time left", left, note)
    impact = finding.impact
    if impact is not None and impact.currency is Currency.MECHANISM and impact.days_left is not None:
        return None  # The reason of the severity says when it ends.
    if impact is not None and impact.days_left is not None and finding.days_left is not None:
        return SummaryFigure("Time left", hours_or_days(finding.days_left) if finding.days_left else "none")
    since = finding.since
    if since is None:
        return None
    days = (day - since).days
    label = "Growing since" if is_growing(finding) else "Began"
    return SummaryFigure(label, formatted_day(since), f"{many(days, 'day')} ago" if days > 0 else "")


def _is_about_series(finding: Finding) -> bool:
    return finding.unit == "series" or (finding.impact is not None and finding.impact.currency is Currency.SERIES)


def _afterward(finding: Finding, plan: Plan) -> SummaryFigure | None:
    """What the plan achieves; None if the series that it leaves are not known, or as many as before."""
    effect = plan.effect
    if effect.series_now is None or effect.series_after is None or effect.series_after >= effect.series_now:
        return None
    now = effect.series_now
    if finding.unit == "series" and finding.observed is not None and not finding.subject.measurement:
        # The plan is about some measurements of a database, and the finding about all of them.
        if effect.scope:
            return None
        now = max(round(finding.observed), now)
    after = now - effect.series_now + effect.series_after
    at_most = "" if effect.is_exact or effect.scope else "at most "
    notes = [f"{percent(1 - after / now)} fewer"]
    if effect.scope:
        notes.append(effect.scope)
    if effect.next_tag:
        notes.append(f"still too many: change {effect.next_tag}, too")
    return SummaryFigure("After the plan", f"{at_most}{quantity(after, 'series')}", ", ".join(notes))


def _first_sentence(fix: str) -> str:
    first = fix.strip().split("\n", 1)[0]
    head, period, _ = first.partition(". ")
    return head + "." if period else first
