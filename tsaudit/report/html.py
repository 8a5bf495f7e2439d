"""The page: from a result and its context to one self-contained HTML document."""

from __future__ import annotations

import base64
import functools
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from tsaudit.analysis.cardinality.contributions import share_of
from tsaudit.engines.registry import ENGINES
from tsaudit.model.finding import RULELESS_CODES, AuditResult, Finding, Limit, Outcome, RuleResult, Severity, Verdict
from tsaudit.model.profile import How, Profile
from tsaudit.model.timeline import Timeline
from tsaudit.report import (
    changes,
    charts,
    coverage,
    definitions,
    dependency_graph,
    findings,
    foreign,
    migration,
    plans,
    tables,
    trends,
)
from tsaudit.text import (
    change,
    day,
    duration,
    forecasts,
    instant,
    listed,
    many,
    number,
    percent,
    plural,
    quantity,
    size,
)
from tsaudit.text.figures import figure
from tsaudit.text.findings import baseline_offer
from tsaudit.text.numbers import NOT_KNOWN

if TYPE_CHECKING:
    from jinja2 import Environment

    from tsaudit.history.incidents import Incident

_HERE: Final = Path(__file__).parent
WORDS: Final = {"ok": "OK", "unknown": "Unknown", "info": "Note", "warn": "Warning", "critical": "Critical"}
"""The words for verdicts and severities."""


@dataclass(frozen=True, slots=True)
class Story:
    """Everything in a report, before it is put into words."""

    result: AuditResult
    profile: Profile | None
    timeline: Timeline
    items: Sequence[findings.Item]
    incidents: Sequence[Incident]
    run_changes: changes.RunChanges | None
    schema_changes: Sequence[changes.SchemaChange]
    run_url: str | None
    verdict: Verdict
    full_values: bool
    alarm: str
    """A problem that makes the audit itself doubtful, in one line; empty for none."""
    usual_scope: str
    """What most exact counts cover: the window, as the engine's collector words it; empty for everything."""

    @property
    def counts(self) -> dict[Severity, int]:
        """Findings by severity, worst first; without accepted and snoozed ones."""
        found = Counter(i.finding.severity for i in self.items if not i.settled)
        return {severity: found[severity] for severity in reversed(Severity)}

    @property
    def keeps_documents(self) -> bool:
        """Whether the engine counts documents, not series."""
        return ENGINES[self.result.engine].keeps_documents

    @property
    def documents(self) -> int | None:
        """In all measurements; None if the number is unknown for any of them."""
        counts = [m.rows for m in self.profile.measurements] if self.profile else [None]
        return None if None in counts else sum(count.value for count in counts if count)

    @property
    def series_how(self) -> str:
        """How the number of series of the whole target was measured."""
        return _weakest(self.profile) if self.profile else ""

    @property
    def rules_judged(self) -> int:
        """Rules that applied and had everything they needed."""
        return sum(r.outcome in (Outcome.PASS, Outcome.FAIL) and not r.gaps for r in self._rules)

    @property
    def rules_unknown(self) -> int:
        """Rules that applied and lacked something, or failed."""
        return sum(r.outcome is not Outcome.NOT_APPLICABLE for r in self._rules) - self.rules_judged

    @property
    def _rules(self) -> list[RuleResult]:
        return [r for r in self.result.results if r.code not in RULELESS_CODES]

    @property
    def baseline_offer(self) -> str:
        """What to do about many findings at first; empty later, and if there are none."""
        loud = any(count for severity, count in self.counts.items() if severity is not Severity.INFO)
        is_first = self.profile is not None and self.timeline.is_empty
        return baseline_offer(self.result.target) if loud and is_first else ""

    @property
    def headline(self) -> str:
        """The verdict in one sentence."""
        loud = [i for i in self.items if not i.settled and i.finding.severity is not Severity.INFO]
        if loud:
            return findings.headline(loud[0])
        unsure, judged = self.rules_unknown, self.rules_judged
        if not judged and not unsure:
            return "No rule applies to this target, so nothing could be evaluated."
        rules = many(judged, "rule")
        if unsure:
            lacking = many(unsure, "rule")
            return f"No finding in what was measured, but {lacking} could not be evaluated; {rules} could."
        settled = sum(i.settled for i in self.items)
        if settled:
            return f"Nothing new: {many(settled, 'finding')} accepted or snoozed, {rules} evaluated."
        if not self.result.is_complete(self.profile):
            return f"Nothing wrong was found: {rules} evaluated, but not everything was measured."
        return f"Nothing wrong was found: {rules} evaluated on complete figures."


def tell(
    result: AuditResult,
    profile: Profile | None,
    timeline: Timeline,
    incidents: Sequence[Incident],
    *,
    full_values: bool,
    run_url: str | None,
    previous: AuditResult | None,
    alarm: str = "",
) -> Story:
    """Collect the contents of the page and its JSON file. `alarm`: a problem that makes the audit itself doubtful."""
    schema: tuple[changes.SchemaChange, ...] = ()
    if profile is not None and timeline.previous is not None:
        schema = tuple(changes.schema_changes(timeline.previous, profile))
    return Story(
        result=result,
        profile=profile,
        timeline=timeline,
        items=findings.items_of(result, profile, incidents),
        incidents=incidents,
        run_changes=changes.compare(previous, result) if previous else None,
        schema_changes=schema,
        run_url=run_url if run_url and run_url.startswith(("http://", "https://")) else None,
        verdict=result.verdict,
        full_values=full_values,
        alarm=alarm,
        usual_scope=_usual_scope(profile) if profile else "",
    )


def page(story: Story) -> str:
    """The report as HTML."""
    profile, items = story.profile, story.items
    view: dict[str, Any] = {
        "story": story,
        "result": story.result,
        "profile": profile,
        "day": story.result.day,
        "noun": definitions.noun(story.result.engine),
        "findings": findings.arrange(items),
        "plans": plans.arrange(story.result.plans, items),
        "trends": trends.trends(profile, story.timeline, [i for i in items if not i.settled]),
        "coverage": coverage.coverage(story.result, profile),
        "rules": sorted({i.rule.code: i.rule for i in items}.values(), key=lambda r: r.code),
        "series_meaning": definitions.series(story.result.engine),
    }
    if profile is not None:
        shares, shares_left_out = tables.name_shares(profile, story.timeline.previous)
        roles, roles_left_out = tables.roles(profile)
        view |= {
            "roles": roles,
            "roles_left_out": roles_left_out,
            "overview": tables.overview(profile, story.timeline, items),
            "details": tables.details(profile, items),
            "heat": tables.heat_map(profile),
            "shares": shares,
            "shares_left_out": shares_left_out,
            "bill": coverage.bill(profile),
            "moves": migration.moves(profile),
        }
    return render("report.html.j2", view)


def render(template: str, view: Mapping[str, Any]) -> str:
    """A template of this package, filled in. Everything in `view` is escaped and made safe."""
    return _environment().get_template(template).render(view)


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_harmless,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        number=number,
        percent=percent,
        quantity=quantity,
        change=change,
        day=day,
        instant=instant,
        duration=duration,
        size=lambda count: NOT_KNOWN if count is None else size(count),
        many=many,
        plural=plural,
        listed=listed,
        about=forecasts.about,
        interval=forecasts.interval,
        pace=forecasts.pace,
        cut=foreign.cut,
        code=foreign.with_code,
        preformatted=lambda text: Markup.escape(foreign.cut(foreign.block(text), findings.LONGEST_TEXT)),
        statement=lambda text: Markup.escape(foreign.block(text)),
        verdict_word=WORDS.__getitem__,
        heat_level=_heat_level,
        origin=_origin,
        last_day=lambda window: (window.end - timedelta(microseconds=1)).date(),
        trend_note=_trend_note,
        tally=_tally,
        web_address=lambda text: text.startswith(("https://", "http://")) and not set(text) & set(" \"'<>"),
    )
    style, script = _asset("style.css"), _asset("script.js")
    environment.globals.update(
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
        figure=figure,
        bar=charts.bar,
        sparkline=charts.sparkline,
        trend_chart=charts.trend,
        dependency_graph=dependency_graph.draw,
        share_of=share_of,
        most_names=tables.MOST_NAMES,
        most_keys=migration.MOST_KEYS,
        statements=findings.statements,
        samples=foreign.shown,
        limit_text=_limit_text,
        definitions=definitions,
        Severity=Severity,
    )
    return environment


def _harmless(value: object) -> object:
    """Applied to every value put into a template, so no template can forget it."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return foreign.line(value)


def _asset(name: str) -> Markup:
    # Our own files; escaping would break them.
    return Markup(_HERE.joinpath(name).read_text(encoding="utf-8"))  # noqa: S704


def _hash(text: str) -> str:
    """For a Content-Security-Policy: only exactly this script or style is allowed."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _heat_level(ratio: float) -> int:
    """0 for none, 1 to 5 for up to all."""
    return 0 if ratio <= 0 else min(5, 1 + int(ratio * 4.999))


def _limit_text(finding: Finding) -> str:
    return quantity(finding.limit.value, finding.limit.unit) if finding.limit else ""


def _origin(limit: Limit) -> str:
    """Who set the limit, in words."""
    kind, _, name = limit.origin.partition(" ")
    name = foreign.cut(name, 60)
    if limit.origin == "default":
        return "tsaudit's default"
    if kind == "target":
        return "set for this target"
    if limit.origin == "all targets":
        return "set for all targets"
    if kind == "measurement":
        return f"set for {name}"
    return f"of {kind} {name}"


def _trend_note(trend: trends.Trend) -> str:
    """What a chart shows, in one line."""
    write = percent if trend.is_ratio else number
    first, now = trend.points[0], trend.points[-1]
    parts = [f"{write(now.value)} on {day(now.day)}, {write(first.value)} on {day(first.day)}"]
    if trend.limit is not None:
        parts.append(f"limit {write(trend.limit)}")
    if trend.forecast is not None and (ahead := forecasts.limit_reached(trend.forecast)):
        parts.append(ahead)
    return "; ".join(parts) + "."


def _tally(count: int, severity: Severity) -> str:
    """`1 critical`, `2 warnings`, `3 notes`."""
    word = WORDS[severity].lower()
    return many(count, word, word if severity is Severity.CRITICAL else f"{word}s")


def _usual_scope(profile: Profile) -> str:
    counts = (c for m in profile.measurements for c in (m.series, m.rows) if c is not None)
    scopes = Counter(c.source.scope for c in counts if c.source.how is How.EXACT and c.source.scope)
    return scopes.most_common(1)[0][0] if scopes else ""


def _weakest(profile: Profile) -> str:
    """`exact` only if every count in the sum is."""
    counts = [d.series for d in profile.wholes if d.series is not None]
    with_own = {d.name for d in profile.databases if d.series is not None}
    counts += [m.series for m in profile.measurements if m.database not in with_own and m.series is not None]
    hows = {c.source.how for c in counts}
    return next((str(how) for how in (How.SAMPLED, How.ESTIMATE) if how in hows), str(How.EXACT))
