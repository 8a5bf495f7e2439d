"""An audit's results as metadata of a materialization: numbers that Dagster plots, and text."""

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING

import dagster as dg

from dagster_tsaudit.checks import Metadata, numbers, series_limit
from dagster_tsaudit.words import findings_table, first_steps, sentence, table
from tsaudit.model.finding import AuditResult, Finding, Forecast, Severity, Verdict
from tsaudit.model.profile import Measurement, Profile
from tsaudit.model.timeline import Point
from tsaudit.text import many, percent, sparkline

if TYPE_CHECKING:
    from tsaudit.report import ReportLocation
    from tsaudit.run import AuditRun

_MAX_COLUMNS = 200


def soonest(result: AuditResult) -> tuple[Finding, Forecast] | None:
    """The finding whose limit will be reached first, and when; None if no limit is in sight."""
    dated = [(f, f.forecast) for _, f in result.findings() if f.forecast and f.forecast.days is not None]
    return min(dated, key=lambda pair: pair[1].days or 0.0, default=None)


def target_metadata(run: "AuditRun", result: AuditResult, profile: Profile, series: Sequence[Point]) -> Metadata:
    """Everything about one audited target. Figures that were not measured are left out."""
    metadata: Metadata = {
        "verdict": dg.MetadataValue.text(result.verdict.value),
        "day": dg.MetadataValue.text(run.day.isoformat()),
    }
    if run.report:
        metadata["report"] = link(run.report)
    if picture := _picture(result, series):
        metadata["series_over_time"] = dg.MetadataValue.md(picture)
    pairs = [(r, f) for r, f in result.findings() if f.severity is not Severity.INFO]
    if pairs:
        metadata["worst_finding"] = dg.MetadataValue.text(sentence(*pairs[0]))
        metadata["findings"] = dg.MetadataValue.md(findings_table(pairs))
    if steps := first_steps([f for _, f in result.findings()], result.plans, result.target):
        metadata["what_to_do"] = dg.MetadataValue.md(steps)
    return metadata | _counts(run, result, profile) | _biggest_table(profile)


def observation_metadata(run: "AuditRun", result: AuditResult, profile: Profile) -> Metadata:
    """What the owner of the audited database sees on their own asset."""
    metadata = {"tsaudit_verdict": dg.MetadataValue.text(result.verdict.value)} | _counts(run, result, profile)
    if run.report:
        metadata["report"] = link(run.report)
    return metadata


def group_metadata(runs: Sequence["AuditRun"]) -> Metadata:
    """A group's targets counted by verdict, and the worst of them."""
    verdicts = [run.verdict for run in runs]
    counts = {f"targets_{v}": float(sum(found is v for found in verdicts)) for v in Verdict}
    ordered = sorted(runs, key=lambda run: (-run.verdict.rank, -_weight(run), run.target))
    rows = [(run.target, run.verdict, _first(run), run.report.url if run.report else "") for run in ordered]
    return {
        "verdict": dg.MetadataValue.text(Verdict.worst(verdicts).value),
        **numbers(targets=len(runs), seconds=round(sum(run.seconds for run in runs), 3), **counts),
        "worst_targets": dg.MetadataValue.md(table(("target", "verdict", "first finding", "report"), rows)),
    }


def link(report: "ReportLocation") -> dg.MetadataValue:
    """A link if a browser can follow it, otherwise the path as text."""
    if report.url.startswith(("http://", "https://")):
        return dg.MetadataValue.url(report.url)
    return dg.MetadataValue.path(report.path)


def _counts(run: "AuditRun", result: AuditResult, profile: Profile) -> Metadata:
    findings = [f for _, f in result.findings()]
    rows = [m.rows.value for m in profile.measurements if m.rows is not None]
    limit = series_limit(result.results)
    forecast = soonest(result)
    metadata = numbers(
        series=profile.series,
        series_limit=limit.value if limit else None,
        measurements=len(profile.measurements) if profile.all_listed() else None,
        seconds=round(run.seconds, 3),
        statements=sum(cost.statements for cost in profile.costs),
        not_measured=len(profile.gaps),
        days_to_limit=round(forecast[1].days, 1) if forecast and forecast[1].days is not None else None,
        **{f"findings_{s}": float(sum(f.severity is s for f in findings)) for s in Severity},
    )
    if rows and len(rows) == len(profile.measurements) and profile.all_listed():
        # Some of the rows would look like all of them.
        metadata["dagster/row_count"] = dg.MetadataValue.int(sum(rows))
    return metadata


def _picture(result: AuditResult, series: Sequence[Point]) -> str:
    limit = series_limit(result.results)
    drawn = sparkline.svg([point.value for point in series], limit.value if limit else None)
    # Dagster renders Markdown but no HTML.
    image = base64.b64encode(drawn.encode()).decode()
    return f"![series over time](data:image/svg+xml;base64,{image})" if drawn else ""


def _biggest_table(profile: Profile) -> Metadata:
    """Columns of the table with the most rows; the asset represents all tables, but Dagster shows one schema."""
    biggest = max(profile.measurements, key=_rows, default=None)
    if biggest is None:
        return {}
    name = "/".join(filter(None, (biggest.database, biggest.name)))
    place = (
        f"the largest of {many(len(profile.measurements), 'table')}"
        if len(profile.measurements) > 1
        else "the only table"
    )
    return {
        "dagster/table_name": dg.MetadataValue.text(name),
        "dagster/column_schema": dg.MetadataValue.table_schema(_schema(biggest, place)),
    }


def _rows(measurement: Measurement) -> tuple[int, int]:
    rows, series = measurement.rows, measurement.series
    return (rows.value if rows else 0, series.value if series else 0)


def _schema(measurement: Measurement, place: str) -> dg.TableSchema:
    columns = []
    if measurement.time_column is not None:
        columns.append(dg.TableColumn(measurement.time_column, "time", f"time of {measurement.name}, {place}"))
    for tag in measurement.tags:
        values = f", {many(tag.values.value, 'value')}" if tag.values else ""
        absent = f", absent in {percent(tag.absent.value)} of the series" if tag.absent and tag.absent.value else ""
        columns.append(dg.TableColumn(tag.key, tag.data_type or "string", f"tag{values}{absent}"))
    for field in measurement.fields:
        nulls = (
            f", null in {percent(field.null_ratio.value)} of the rows" if field.null_ratio else ", nulls not measured"
        )
        columns.append(dg.TableColumn(field.key, " or ".join(field.types) or "unknown", f"field{nulls}"))
    return dg.TableSchema(columns=columns[:_MAX_COLUMNS])


def _weight(run: "AuditRun") -> int:
    return sum(f.severity is not Severity.INFO for _, f in run.result.findings()) if run.result else 0


def _first(run: "AuditRun") -> str:
    finding = next((f for _, f in run.result.findings()), None) if run.result else None
    return finding.message if finding else run.error or ""
