"""Renders HTML: a result and its context become one self-contained page, and each rule one beside the reports.

Whatever templates can use is here, and how everything they show is made safe. The pages of rules have the texts that
`tsaudit explain` prints, and are written once per version.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from markupsafe import Markup

from tsaudit import summary as brief
from tsaudit.analysis.cardinality.contributions import share_of
from tsaudit.engines.registry import ENGINES
from tsaudit.history.lifecycle import IncidentState, confirms_end, is_over
from tsaudit.model.facts import FACTS
from tsaudit.model.figures import How
from tsaudit.model.finding import RULELESS_CODES, AuditResult, Finding, Severity, Verdict
from tsaudit.model.plan import Plan
from tsaudit.model.profile import Profile
from tsaudit.model.timeline import Timeline
from tsaudit.model.version import VERSION
from tsaudit.planning import describe
from tsaudit.report import changes, charts, coverage, findings, tables, untrusted
from tsaudit.report.storage import Folder
from tsaudit.rules.rule_texts import RuleText, rule_texts
from tsaudit.text import (
    NOT_KNOWN,
    change,
    compiled_templates,
    day,
    duration,
    figure,
    in_full,
    instant,
    listed,
    many,
    number,
    percent,
    plural,
    quantity,
    rounded,
    short_fingerprint,
    size,
)
from tsaudit.text.findings import baseline_offer, headline, limit_reached, of_severity, origin, pace, reason, unsaid
from tsaudit.text.impacts import hours_or_days

if TYPE_CHECKING:
    from jinja2 import Environment

    from tsaudit.history.lifecycle import Incident


@dataclass(frozen=True, slots=True)
class ReportContents:
    """Everything in a report, before it is rendered."""

    result: AuditResult
    profile: Profile | None
    timeline: Timeline
    items: Sequence[findings.Item]
    incidents: Sequence[Incident]
    run_changes: changes.RunChanges | None
    schema_changes: Sequence[changes.SchemaChange]
    movement: changes.Movement | None
    """What changed since the previous snapshot; None without one, or if nothing was measured today."""
    run_url: str | None
    verdict: Verdict
    """The verdict without muted findings."""
    full_values: bool
    warning: str
    """A problem that makes the audit itself doubtful, in one line; empty if there is none."""
    usual_scope: str
    """The scope of most exact counts: the window, in the words of the engine's collector; empty for all data."""
    summary: brief.Summary
    """The worst finding that is not muted, in brief; if there is none, what was evaluated."""
    plans: findings.PlanIndex

    @property
    def counts(self) -> dict[Severity, int]:
        """Number of findings by severity, worst first, without muted ones."""
        found = Counter(i.finding.severity for i in self.items if not i.muted)
        return {severity: found[severity] for severity in reversed(Severity)}

    @property
    def unseen(self) -> tuple[Incident, ...]:
        """Incidents, also muted ones, that nothing was measured about that day: they are neither found nor gone."""
        found, rules = {item.fingerprint for item in self.items}, {rule.code: rule for rule in self.result.results}
        standing = (i for i in self.incidents if i.state is IncidentState.OPEN and not i.is_absent)
        return tuple(i for i in standing if i.fingerprint not in found and not is_over(i.code, i.subject, rules))

    @property
    def resolved(self) -> tuple[Incident, ...]:
        """Incidents that ended on the day, and that the comparison with an earlier day does not have: an earlier audit
        of the day found them, or one before the day that is compared. Without those that this audit could not look for.
        """
        known = {item.fingerprint for item in self.items}
        known |= {change.fingerprint for change in self.run_changes.gone} if self.run_changes else set()
        ended = (i for i in self.incidents if i.state is IncidentState.RESOLVED and i.resolved == self.result.day)
        return tuple(i for i in ended if i.fingerprint not in known and confirms_end(self.result, i))

    @property
    def documents(self) -> int | None:
        """Number of documents in all measurements; None if the number is unknown for any of them."""
        counts = [m.rows for m in self.profile.measurements] if self.profile else [None]
        return None if None in counts else sum(count.value for count in counts if count)

    @property
    def databases(self) -> str:
        """The number of databases in words, and that of retention policies that are audited separately."""
        words, found = ENGINES[self.result.engine].words, self.profile.databases if self.profile else ()
        policies = sum(bool(one.policy_of) for one in found)
        own = many(len({one.server_name for one in found}), words.database)
        return f"{own} with {many(policies, 'retention policy', 'retention policies')}" if policies else own

    @property
    def rows_title(self) -> str:
        """What the figure `rows` counts: where there is a time, only rows within the window."""
        if ENGINES[self.result.engine].keeps_documents:
            return "Documents"
        if self.profile is None or all(m.time_column is None for m in self.profile.measurements):
            return "Rows"
        window = self.profile.window
        return f"Rows of the last {duration((window.end - window.start).total_seconds())}"

    @property
    def series_how(self) -> str:
        """How the number of series of the whole target was measured."""
        return _weakest(self.profile) if self.profile else ""

    @property
    def baseline_offer(self) -> str:
        """A suggestion for the first audit with many findings; empty later, and if there are none."""
        actionable = any(count for severity, count in self.counts.items() if severity is not Severity.NOTE)
        is_first = self.profile is not None and self.timeline.is_empty
        return baseline_offer(self.result.target) if actionable and is_first else ""

    def summary_of(self, item: findings.Item) -> brief.Summary:
        """One finding in brief."""
        near = self.plans.near(item.finding)
        return brief.of_finding(item.finding, item.rule.code, near, self.result.target, self.result.day)

    def plan_of(self, item: findings.Item) -> Plan | None:
        """The plan that includes the changes of the finding; None if no plan does."""
        return describe.of_finding(item.finding, self.plans.near(item.finding))

    def fix_beyond_step(self, item: findings.Item) -> str | None:
        """The rest of the fix if the fix begins with the plan's first step, so that the step is not printed twice; None
        otherwise.
        """
        plan = self.plan_of(item)
        return describe.beyond(item.finding.fix, describe.beginning(plan, self.result.target)) if plan else None


def contents_of(
    result: AuditResult,
    profile: Profile | None,
    timeline: Timeline,
    incidents: Sequence[Incident],
    *,
    full_values: bool,
    run_url: str | None,
    previous: AuditResult | None,
    warning: str = "",
) -> ReportContents:
    """Collect the contents of the page and its JSON file. `warning`: a problem that makes the audit itself doubtful."""
    schema: tuple[changes.SchemaChange, ...] = ()
    moved = None
    if profile is not None and timeline.previous is not None:
        schema = tuple(changes.schema_changes(timeline.previous, profile))
        moved = changes.movement(timeline.previous, profile)
    items = findings.items_of(result, profile, incidents)
    muted = {i.fingerprint: i.decision.until for i in items if i.muted and i.decision and i.decision.until}
    return ReportContents(
        result=result,
        profile=profile,
        timeline=timeline,
        items=items,
        incidents=[one for one in incidents if one.day <= result.day],
        run_changes=changes.compare(previous, result, muted) if previous else None,
        schema_changes=schema,
        movement=moved,
        run_url=run_url if run_url and run_url.startswith(("http://", "https://")) else None,
        verdict=result.without(muted).verdict,
        full_values=full_values,
        warning=warning,
        usual_scope=_usual_scope(profile) if profile else "",
        summary=brief.of_result(result, profile, muted),
        plans=findings.PlanIndex(result.plans),
    )


def page(contents: ReportContents) -> str:
    """The report as HTML."""
    profile, items, summary = contents.profile, contents.items, contents.summary
    arranged = findings.arrange(items)
    changed, engine = contents.run_changes, ENGINES[contents.result.engine]
    view: dict[str, Any] = {
        "contents": contents,
        "summary": summary,
        "worst": next((item for item in items if item.fingerprint == summary.fingerprint), None),
        "result": contents.result,
        "profile": profile,
        "day": contents.result.day,
        "words": engine.words,
        "nouns": plural(0, engine.words.measurement),
        "keeps_documents": engine.keeps_documents,
        "rules_evaluated": brief.rules_evaluated(contents.result.results),
        "rules_unknown": brief.rules_lacking(contents.result.results),
        "findings": arranged,
        "plans": findings.arrange_plans(arranged.full, contents.plan_of),
        "new": {change.fingerprint for change in changed.new} if changed else set(),
        "trends": charts.trends(profile, contents.timeline, [i for i in items if not i.muted]),
        "sparks": charts.of_findings(profile, contents.timeline, (*arranged.full, *arranged.muted)),
        "coverage": coverage.coverage(contents.result, profile),
        "rules": [r for r in contents.result.results if r.findings and rule_address(r.code).startswith("#")],
    }
    if profile is not None:
        roles, roles_left_out = tables.roles(profile)
        view |= {
            "roles": roles,
            "roles_left_out": roles_left_out,
            "overview": tables.overview(profile, contents.timeline, items),
            "details": tables.details(profile, items),
            "heat": tables.heat_map(profile),
            "query_cost": coverage.query_cost(profile),
            "costs": sorted(profile.costs, key=lambda c: (-c.seconds, c.fact)),
        }
    return render("report.html.j2", view)


def _usual_scope(profile: Profile) -> str:
    counts = (c for m in profile.measurements for c in (m.series, m.rows) if c is not None)
    scopes = Counter(c.source.scope for c in counts if c.source.how is How.EXACT and c.source.scope)
    return scopes.most_common(1)[0][0] if scopes else ""


def _weakest(profile: Profile) -> str:
    """How the sum was measured: `exact` only if every count in it is."""
    counts = [d.series for d in profile.wholes if d.series is not None]
    with_own = {d.name for d in profile.databases if d.series is not None}
    counts += [m.series for m in profile.measurements if m.database not in with_own and m.series is not None]
    hows = {c.source.how for c in counts}
    return next((str(how) for how in (How.SAMPLED, How.ESTIMATE) if how in hows), str(How.EXACT))


def write_rule_pages(folder: Folder) -> None:
    """Write all rule pages and their list, unless a run of this version with the same rules has already done so. Raises
    ReportError.

    Every run of a version writes the same bytes, so concurrent runs do no harm. The marker is written last, so the next
    run makes up for one that was interrupted.
    """
    pages = [*rule_texts(), *_without_rule()]
    made = repr((VERSION, sources(), [page.as_dict() for page in pages]))
    marker = f"{RULES}/_{hashlib.sha256(made.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}.json"
    if folder.read(marker) is not None:
        return
    for page in pages:
        text = render("rule.html.j2", {"version": VERSION, "page": page})
        folder.write(f"{RULES}/{page.code}.html", text.encode(errors="replace"))
    text = render("rules.html.j2", {"version": VERSION, "pages": pages})
    folder.write(f"{RULES}/index.html", text.encode(errors="replace"))
    folder.write(marker, b"{}")


def _without_rule() -> Iterator[RuleText]:
    from tsaudit.not_audited import TEXTS

    for code, name in RULELESS_CODES.items():
        about = TEXTS[code]
        text = f"## Why it matters\n\n{about.why}\n\n## Fix\n\n{about.fix}"
        yield RuleText(code, name, about.title, summary=about.why, doc=text)


_HERE: Final = Path(__file__).parent
WORDS: Final = {"ok": "OK", "unknown": "Unknown", "note": "Note", "warning": "Warning", "critical": "Critical"}
"""The words for verdicts and severities."""
RULES: Final = "rules"
"""Name of the folder with the pages of rules."""


def render(template: str, view: Mapping[str, Any]) -> str:
    """The filled-in template of this package. Everything in `view` is escaped and made safe."""
    return _environment().get_template(template).render(view)


def sources() -> tuple[str, ...]:
    """The style sheet, the script, and the templates that determine how every page looks."""
    return tuple(_asset(name) for name in ("style.css", "script.js", "base.html.j2", "rule.html.j2", "rules.html.j2"))


def rule_address(code: str) -> str:
    """The address that a report links to for a code: its page or, if there is none, the text on the report itself."""
    has_page = code in RULELESS_CODES or any(text.code == code for text in rule_texts())
    return f"../{RULES}/{code}.html" if has_page else f"#r-{code}"


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_HERE),
        # Compiling the templates takes a third as long as the audit of a small database.
        bytecode_cache=compiled_templates.beside(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_harmless,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        number=number,
        percent=percent,
        short_fingerprint=short_fingerprint,
        change=change,
        day=lambda moment: untrusted.unbroken(day(moment)),
        instant=instant,
        duration=duration,
        hours_or_days=hours_or_days,
        size=lambda count: NOT_KNOWN if count is None else size(count),
        many=many,
        plural=plural,
        rounded=rounded,
        listed=listed,
        limit_reached=lambda forecast: _capitalized(limit_reached(forecast)),
        pace=pace,
        cut=untrusted.cut,
        code=untrusted.with_code,
        preformatted=lambda text: Markup.escape(untrusted.beginning(untrusted.block(text), findings.LONGEST_TEXT)),
        statement=lambda text: Markup.escape(untrusted.block(text)),
        markdown=untrusted.markdown,
        inline=untrusted.markdown_line,
        in_full=in_full,
        prose=lambda text: untrusted.prose(untrusted.cut(text, findings.LONGEST_TEXT)),
        is_exact=lambda text: untrusted.block(text) == text,
        verdict_word=WORDS.__getitem__,
        heat_level=_heat_level,
        reason=reason,
        origin=lambda limit: untrusted.cut(origin(limit), 60),
        last_day=lambda window: untrusted.unbroken(day(window.end - timedelta(microseconds=1))),
        trend_note=_trend_note,
        spark=lambda trend: charts.sparkline([p.value for p in trend.points], trend.limit),
        identity=id,
        headline=headline,
        tally=_tally,
        unsaid=unsaid,
        tallies=_tallies,
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
        dependency_graph=charts.dependency_graph,
        share_of=share_of,
        most_names=tables.MOST_NAMES,
        statements=findings.statements,
        samples=untrusted.shown,
        limit_text=_limit_text,
        verdict_definitions=_VERDICTS,
        figure_definitions=_FIGURES,
        longest_statement=findings.LONGEST_TEXT,
        meaning_of=_meaning_of,
        describe=describe,
        rule_address=rule_address,
        describe_schema_changes=changes.describe,
        Severity=Severity,
    )
    return environment


def _harmless(value: object) -> object:
    """Makes a value safe. Applied to every value in a template, so that no template can forget it."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return untrusted.line(value)


def _asset(name: str) -> Markup:
    # Our own file: escaping would break it.
    return Markup(_HERE.joinpath(name).read_text(encoding="utf-8"))  # noqa: S704


def _hash(text: str) -> str:
    """Hash for a Content-Security-Policy, which allows only exactly this script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _heat_level(ratio: float) -> int:
    """The color level: 0 for no nulls, 1 to 5 for up to all."""
    return 0 if ratio <= 0 else min(5, 1 + int(ratio * 4.999))


def _limit_text(finding: Finding) -> str:
    return quantity(finding.limit.value, finding.limit.unit) if finding.limit else ""


def _trend_note(trend: charts.Trend) -> str:
    write = percent if trend.is_ratio else number
    first, now = trend.points[0], trend.points[-1]
    parts = [f"{write(now.value)} on {day(now.day)}, {write(first.value)} on {day(first.day)}"]
    if trend.limit is not None:
        parts.append(f"limit {write(trend.limit)}")
    if trend.forecast is not None and (ahead := limit_reached(trend.forecast)):
        parts.append(ahead)
    return "; ".join(parts) + "."


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def _tally(count: int, kind: Severity | Verdict) -> str:
    """A count with its word: `1 critical`, `2 warnings`, `3 notes`, `4 unknown`, `5 OK`."""
    if kind in ("ok", "unknown"):
        return f"{number(count)} {'OK' if kind == 'ok' else 'unknown'}"
    return of_severity(count, kind)


def _tallies(counts: Mapping[Verdict, int]) -> str:
    """All counts except zeros, worst first: `1 critical, 2 warnings, 3 OK`."""
    return ", ".join(_tally(counts[verdict], verdict) for verdict in reversed(Verdict) if counts.get(verdict))


class _Definition(NamedTuple):
    """A term and its meaning."""

    word: str
    meaning: str


_VERDICTS: Final = (
    _Definition("Critical", "At least one finding harms the database or the data, or is about to."),
    _Definition("Warning", "At least one finding will cost storage, speed, or correct answers if it is ignored."),
    _Definition(
        "Unknown",
        "Nothing wrong was found, but something could not be measured. Never shown as OK, and never hides a finding.",
    ),
    _Definition("OK", "Every rule that applies was evaluated on complete figures and found nothing."),
)

_FIGURES: Final = (
    _Definition("Exact", "Counted. Figures without a mark are exact and from the audited day."),
    _Definition(
        "Estimate ≈",
        "Computed from statistics, by the engine or by tsaudit; ± is one standard error, if known.",
    ),
    _Definition("Sampled", "Exact for the named part of the data only."),
    _Definition("As of", "Reused from an earlier day, because the measurement had not changed since."),
    _Definition(NOT_KNOWN, "Not measured. For the reason, see “Not audited”."),
)


_FORMAT_OF_ROWS: Final = re.compile(": rows of the kind |;")


def _meaning_of(name: str) -> str:
    """The meaning of the fact, without the format of its rows; empty for an unknown one."""
    return _FORMAT_OF_ROWS.split(FACTS[name].meaning)[0] if name in FACTS else ""
