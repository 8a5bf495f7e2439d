"""An audit's results as metadata of a materialization: numbers that Dagster plots, and text."""

import base64
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

import dagster as dg

from dagster_tsaudit.audited import AuditedTarget
from dagster_tsaudit.checks import Metadata, findings_list, numbers, series_limit
from tsaudit import summary
from tsaudit.model.figures import Cost
from tsaudit.model.finding import AuditResult, Severity, Verdict, first_limit
from tsaudit.model.profile import Profile
from tsaudit.model.timeline import Point
from tsaudit.text import many, size, sparkline
from tsaudit.text.findings import headline as headline_of
from tsaudit.text.markdown import code, escape, table

if TYPE_CHECKING:
    from tsaudit.report import ReportLocation
    from tsaudit.run import AuditRun

_OF_ADDRESSES = ":/?#[]@!$&'()*+,;=%~"
"""Characters of an address that are not escaped."""
_PART = 24
"""Maximum number of characters of a path that are kept on one line: as wide as the picture."""
_PICTURE_WIDTH = 200
"""Width in pixels: a wider picture would widen Dagster's table, which cuts off the text beside it."""


def target_metadata(found: AuditedTarget, result: AuditResult, profile: Profile) -> Metadata:
    """Metadata for one audited target. Figures that were not measured are left out."""
    run = found.run
    metadata: Metadata = {
        "verdict": dg.MetadataValue.text(found.run.verdict.value),
        "day": dg.MetadataValue.text(run.day.isoformat()),
        "summary": dg.MetadataValue.md(summary.of_result(result, profile, found.run.muted).in_markdown()),
    }
    if run.report:
        metadata["report"] = link(run.report)
    if picture := _picture(result, found.series):
        metadata["series_over_time"] = dg.MetadataValue.md(picture)
    pairs = [(r, f) for r, f in result.without(run.muted).findings() if f.severity is not Severity.NOTE]
    if pairs:
        metadata["findings"] = dg.MetadataValue.md(findings_list(pairs))
    metadata |= _counts(found, result, profile) | _query_cost(profile.costs)
    if profile.costs:
        metadata["cost"] = dg.MetadataValue.md(_costs(profile.costs))
    return metadata


def observation_metadata(found: AuditedTarget, result: AuditResult, profile: Profile) -> Metadata:
    """Metadata that the owner of the audited database sees on their own asset."""
    metadata: Metadata = {
        "tsaudit_verdict": dg.MetadataValue.text(found.run.verdict.value),
        "tsaudit_summary": dg.MetadataValue.md(summary.of_result(result, profile, found.run.muted).in_markdown()),
    }
    if found.run.report:
        metadata["report"] = link(found.run.report)
    return metadata | _counts(found, result, profile)


def group_metadata(found: Sequence[AuditedTarget]) -> Metadata:
    """A group's targets counted by verdict, and the worst of them."""
    runs = [one.run for one in found]
    verdicts = [run.verdict for run in runs]
    counts = {f"targets_{v}": float(sum(one is v for one in verdicts)) for v in Verdict}
    ordered = sorted(found, key=lambda one: (-one.run.verdict.rank, -_weight(one.run), one.run.target))
    rows = [(o.run.target, o.run.verdict, headline(o.run), o.run.report.url if o.run.report else "") for o in ordered]
    return {
        "verdict": dg.MetadataValue.text(Verdict.worst(verdicts).value),
        **numbers(targets=len(runs), audit_seconds=round(sum(run.seconds for run in runs), 3), **counts),
        **_query_cost([cost for run in runs if run.profile for cost in run.profile.costs]),
        "worst_targets": dg.MetadataValue.md(table(("target", "verdict", "headline", "report"), rows)),
    }


def link(report: "ReportLocation") -> dg.MetadataValue:
    """A link to the report if a browser can open it, otherwise the whole path, in parts between which it can wrap.

    Text that does not wrap widens Dagster's table, which cuts off the summary. The run's log has the path in one piece.
    """
    if report.url.startswith(("http://", "https://")):
        return dg.MetadataValue.md(f"[open the report]({address(report.url)})")
    parts = [""]
    for piece in re.findall(r"[^/\\]+[/\\]*|[/\\]+", report.path):
        if parts[-1] and len(parts[-1]) + len(piece) > _PART:
            parts.append("")
        parts[-1] += piece
    return dg.MetadataValue.md(" ".join(map(code, parts)))


def address(url: str) -> str:
    """The address, escaped for a link in Markdown."""
    return f"<{quote(url, safe=_OF_ADDRESSES)}>"


def _counts(found: AuditedTarget, result: AuditResult, profile: Profile) -> Metadata:
    run = found.run
    findings = [f for _, f in run.unmuted.findings()] if run.unmuted else []
    limit = series_limit(result.results)
    left = first_limit(findings)
    first = [f for f in findings if left is not None and f.days_left == left and f.severity is not Severity.NOTE]
    of: Metadata = {"days_to_limit_of": dg.MetadataValue.text(headline_of(first[0]))} if first else {}
    return of | numbers(
        series=profile.series,
        series_limit=limit.value if limit else None,
        rows_in_window=_rows(profile),
        measurements=len(profile.measurements) if profile.all_listed() else None,
        audit_seconds=round(run.seconds, 3),
        not_measured=len(profile.gaps),
        days_to_limit=None if left is None else round(left, 1),
        findings_muted=len(list(result.findings())) - len(findings),
        **{f"findings_{s}": float(sum(f.severity is s for f in findings)) for s in Severity},
    )


def _rows(profile: Profile) -> int | None:
    """The rows of the window in all measurements; None if some were not counted: the sum would look like all rows."""
    rows = [m.rows.value for m in profile.measurements if m.rows is not None]
    complete = rows and len(rows) == len(profile.measurements) and profile.all_listed()
    return sum(rows) if complete else None


def _query_cost(costs: Sequence[Cost]) -> Metadata:
    """What the audit cost the database; bytes only if they are known for all statements."""
    return numbers(
        statements=sum(cost.statements for cost in costs),
        database_seconds=round(sum(cost.seconds for cost in costs), 3),
        rows_read=sum(cost.rows for cost in costs),
        bytes_received=_total(cost.bytes for cost in costs),
        bytes_scanned=_total(cost.bytes_scanned for cost in costs),
        bytes_billed=_total(cost.bytes_metered for cost in costs),
    )


def _total(parts: Iterable[int | None]) -> int | None:
    known = list(parts)
    found = [part for part in known if part is not None]
    return sum(found) if found and len(found) == len(known) else None


def _costs(costs: Iterable[Cost]) -> str:
    """The facts with what they cost, most expensive first, without what the driver does not report.

    Formatted as a list, because a table this wide does not wrap.
    """
    lines = []
    for cost in sorted(costs, key=lambda cost: (-cost.seconds, cost.fact)):
        parts = [
            many(cost.statements, "statement"),
            many(cost.seconds, "second"),
            many(cost.rows, "row"),
            *(
                f"{size(count)} {done}"
                for count, done in (
                    (cost.bytes, "received"),
                    (cost.bytes_scanned, "scanned"),
                    (cost.bytes_metered, "billed"),
                )
                if count is not None
            ),
        ]
        lines.append(f"- {escape(cost.fact)}: {', '.join(parts)}")
    return "\n".join(lines)


def _picture(result: AuditResult, series: Sequence[Point]) -> str:
    limit = series_limit(result.results)
    drawn = sparkline.svg([point.value for point in series], limit.value if limit else None, _PICTURE_WIDTH)
    # Dagster renders Markdown, but no HTML.
    image = base64.b64encode(drawn.encode()).decode()
    return f"![series over time](data:image/svg+xml;base64,{image})" if drawn else ""


def _weight(run: "AuditRun") -> int:
    unmuted = run.unmuted
    return sum(f.severity is not Severity.NOTE for _, f in unmuted.findings()) if unmuted else 0


def headline(run: "AuditRun") -> str:
    """The worst of what was found in a line; without a finding, what was evaluated, or why nothing was."""
    if run.result is None or run.profile is None:
        return run.error or "not audited"
    return summary.of_result(run.result, run.profile, run.muted).headline
