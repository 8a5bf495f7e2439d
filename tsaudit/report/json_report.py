"""The report as JSON, for programs.

One object of at most 10 MB. `schema_version` is raised when a field changes its meaning or is removed; new fields may
be added at any time.

    schema_version  3
    tsaudit_version, target, engine, server_version, day, audited_at, verdict
    failed_at       when a later audit of the day failed, which changed nothing else; null if none did
    complete        whether all that was needed was measured
    counts          findings by severity, of those that are not muted
    report          file name of the page
    summary         what every output shows first: headline, figures (label, value, note), first_step, statement
                    (empty where there is none to be used as it is), fingerprint (empty if it is about no finding)
    run_url         the run that created it, or null
    rules           for each code, the RuleResult without its findings, with the names of the facts in its gaps
    findings        worst first: rule (the code), fingerprint, database, measurement, column, headline, and the other
                    fields of Finding, incident (state, severity, owner, first_seen, opened, resolved, decision), and
                    plan (its id). What is null or empty is left out. The page's anchors are `#f-<fingerprint>`
    brief           further findings, grouped: rule, severity, database, and findings, each of these as
                    [fingerprint, measurement, column]
    plans           what findings ask for: id, also the page's anchor, and the fields of Plan
    figures         the profile's figures, each as [name, database, measurement, column, value, how, standard_error]
    gaps, costs     what was not measured, and what measuring cost
    unused_settings settings that match nothing on the server: setting, value, detail
    tables          how the audit reads the tables, where it infers that: name, kind, kind_reason, time, time_reason,
                    tags, fields (their number)
    series          of each measurement whose tags were listed: database, measurement, series, worst_case (the product
                    of the tags' values), without_determined (the same without tags that others determine), determined
                    (tag to the tags that it determines), left_without (tag to the series left without it)
    listed          by database, the number of measurements and how many `include` and `exclude` skip
    incidents       those without a finding today: fingerprint, code, and the same as in `findings`
    changes         fingerprints of new, gone, and no longer evaluated findings since the last audit that measured, or
                    null
    moved           what moved since the previous snapshot: day_before, figures (figure, before, now, not_compared, and
                    movers: database, measurement, column, before, now), not_compared (figures), or null
    left_out        for each list without room for all of it, how many it lacks. `tsaudit show` prints all findings,
                    `tsaudit plan` all plans, `tsaudit incidents` all incidents, and `tsaudit collect` all figures

Sample values are redacted unless `report.values` is `full`.
"""

from __future__ import annotations

import dataclasses
from bisect import bisect
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from tsaudit.analysis.cardinality.contributions import determined_tags
from tsaudit.engines.registry import ENGINES
from tsaudit.model.finding import RuleResult
from tsaudit.model.jsonfile import to_json, to_plain
from tsaudit.model.plan import Plan
from tsaudit.model.profile import Measurement, Profile
from tsaudit.model.timeline import Figure, figures
from tsaudit.planning import describe
from tsaudit.report import untrusted
from tsaudit.report.changes import Movement, RunChanges
from tsaudit.report.findings import Item
from tsaudit.report.html import ReportContents
from tsaudit.summary import Summary
from tsaudit.text.findings import headline
from tsaudit.text.table_roles import table_roles

if TYPE_CHECKING:
    from tsaudit.history.lifecycle import Incident

SCHEMA_VERSION: Final = 3
FINDINGS_BYTES: Final = 6_000_000
"""Maximum bytes of all findings: the room not used by findings in brief is for the worst ones in full."""
LIST_BYTES: Final = 350_000
"""Maximum bytes of any other list that grows with the database."""
_FIGURES_BYTES: Final = 1_000_000
_BRIEF_BYTES: Final = 28
"""Bytes of a finding in brief without its names."""
_LEAST_FULL_BYTES: Final = 500_000
"""Minimum bytes for findings in full, however many there are."""


def json_report(contents: ReportContents) -> bytes:
    """The JSON document; the same input always results in the same bytes."""
    result, profile = contents.result, contents.profile
    fit = _Fitting()
    shown = {item.fingerprint for item in contents.items}
    rest = sorted((i for i in contents.incidents if i.fingerprint not in shown), key=lambda i: i.fingerprint)
    fields: dict[str, bytes] = {
        "schema_version": to_json(SCHEMA_VERSION),
        "tsaudit_version": to_json(result.tsaudit_version),
        "target": to_json(result.target),
        "engine": to_json(result.engine),
        "server_version": to_json(result.server_version),
        "day": to_json(result.day.isoformat()),
        "audited_at": to_json(result.audited_at.isoformat()),
        "failed_at": to_json(result.failed_at and result.failed_at.isoformat()),
        "verdict": to_json(contents.verdict.value),
        "complete": to_json(result.is_complete(profile)),
        "counts": to_json({str(severity): count for severity, count in contents.counts.items()}),
        "report": to_json(f"{result.day.isoformat()}.html"),
        "run_url": to_json(contents.run_url),
        "summary": to_json(_summary(contents.summary)),
        **_findings(contents, fit),
        "plans": fit.array("plans", _plan, result.plans),
        "figures": fit.array("figures", _figure, figures(profile) if profile else (), _FIGURES_BYTES),
        "gaps": fit.array("gaps", to_json, profile.gaps if profile else ()),
        "costs": fit.array("costs", to_json, profile.costs if profile else ()),
        "unused_settings": fit.array("unused_settings", to_json, profile.unused_settings if profile else ()),
        "tables": fit.array("tables", _table, _inferred(profile) if profile else ()),
        "series": fit.array("series", _series, (m for m in profile.measurements if m.tag_sets) if profile else ()),
        "listed": fit.array("listed", to_json, profile.listed if profile else ()),
        "incidents": fit.array("incidents", _alone, rest),
        "changes": _changes(contents.run_changes, fit),
        "moved": to_json(_moved(contents.movement)),
    }
    fields["left_out"] = to_json(fit.left_out)
    return _object(fields)


class _Fitting:
    """Builds lists of limited size, and counts how much of each was left out."""

    def __init__(self) -> None:
        self.left_out: dict[str, int] = {}

    def array(self, name: str, encode: Callable[[Any], bytes], values: Iterable[Any], room: int = 0) -> bytes:
        """As many of the values as fit, in order, as a JSON array."""
        room = room or LIST_BYTES
        kept: list[bytes] = []
        rest = iter(values)
        for value in rest:
            text = encode(value)
            room -= len(text) + 1
            if room < 0:
                self.left_out[name] = 1 + sum(1 for _ in rest)
                break
            kept.append(text)
        return _array(kept)


def _array(values: Iterable[bytes]) -> bytes:
    return b"[" + b",".join(values) + b"]"


def _object(fields: Mapping[str, bytes]) -> bytes:
    return b"{" + b",".join(to_json(name) + b":" + value for name, value in fields.items()) + b"}"


# --- Findings ---------------------------------------------------------------------------------------------------------


def _findings(contents: ReportContents, fit: _Fitting) -> dict[str, bytes]:
    """The rules, the worst findings in full, and the others in brief."""
    items = contents.items
    room = max(_LEAST_FULL_BYTES, FINDINGS_BYTES - sum(map(_brief_size, items)))
    full: list[bytes] = []
    for item in items:
        text = to_json(_finding(item, contents))
        room -= len(text) + 1
        if room < 0:
            break
        full.append(text)
    return {
        "rules": to_json({rule.code: _rule(rule) for rule in contents.result.results}),
        "findings": _array(full),
        "brief": _brief(items[len(full) :], fit),
    }


def _finding(item: Item, contents: ReportContents) -> dict[str, Any]:
    """All fields of the finding that are not empty."""
    finding, subject = item.finding, item.finding.subject
    plan = contents.plan_of(item)
    fields: dict[str, Any] = to_plain(finding)
    fields |= {
        "rule": item.rule.code,
        "fingerprint": item.fingerprint,
        "database": subject.database,
        "measurement": subject.measurement,
        "column": subject.column,
        "headline": headline(finding),
        "samples": list(untrusted.shown(finding.samples, full=contents.full_values, most=len(finding.samples))),
        "incident": _incident(item.incident) if item.incident else None,
        "plan": describe.anchor(plan) if plan else "",
    }
    del fields["subject"]
    return {name: value for name, value in fields.items() if value not in (None, "", [])}


def _rule(rule: RuleResult) -> dict[str, Any]:
    fields: dict[str, Any] = to_plain(dataclasses.replace(rule, findings=(), gaps=()))
    del fields["code"], fields["findings"]
    fields["gaps"] = sorted({gap.fact for gap in rule.gaps})
    return fields


def _brief(items: Sequence[Item], fit: _Fitting) -> bytes:
    listed = bisect(list(accumulate(map(_brief_size, items))), FINDINGS_BYTES)
    if listed < len(items):
        fit.left_out["findings"] = len(items) - listed
    groups: dict[tuple[str, str, str], list[list[str]]] = defaultdict(list)
    for item in items[:listed]:
        subject = item.finding.subject
        group = groups[item.rule.code, str(item.finding.severity), subject.database]
        group.append([item.fingerprint, subject.measurement, subject.column])
    names = ("rule", "severity", "database", "findings")
    return to_json([dict(zip(names, (*key, found), strict=True)) for key, found in groups.items()])


def _brief_size(item: Item) -> int:
    subject = item.finding.subject
    return _BRIEF_BYTES + len(subject.measurement) + len(subject.column)


def _incident(incident: Incident) -> dict[str, Any]:
    decision = incident.decision
    return {
        "state": str(incident.state),
        "severity": str(incident.severity),
        "owner": incident.owner,
        "first_seen": incident.first_seen.isoformat(),
        "opened": incident.opened.isoformat() if incident.opened else None,
        "resolved": incident.resolved.isoformat() if incident.resolved else None,
        "decision": {
            "kind": str(decision.kind),
            "owner": decision.owner,
            "reason": decision.reason,
            "until": decision.until.isoformat() if decision.until else None,
        }
        if decision
        else None,
    }


def _alone(incident: Incident) -> bytes:
    return to_json({"fingerprint": incident.fingerprint, "code": incident.code} | _incident(incident))


def _plan(plan: Plan) -> bytes:
    return to_json({"id": describe.anchor(plan)} | to_plain(plan))


# --- Other parts ------------------------------------------------------------------------------------------------------


def _summary(summary: Summary) -> dict[str, Any]:
    return {
        "headline": summary.headline,
        "figures": [{"label": f.label, "value": f.value, "note": f.note} for f in summary.figures],
        "first_step": summary.first_step,
        "statement": summary.statement,
        "fingerprint": summary.fingerprint,
    }


def _moved(moved: Movement | None) -> dict[str, Any] | None:
    if moved is None:
        return None
    figures = [
        {
            "figure": one.figure,
            "before": one.total.before,
            "now": one.total.now,
            "not_compared": one.not_compared,
            "movers": [
                {
                    "database": mover.subject.database,
                    "measurement": mover.subject.measurement,
                    "column": mover.subject.column,
                    "before": mover.before,
                    "now": mover.now,
                }
                for mover in one.movers
            ],
        }
        for one in moved.figures
    ]
    return {
        "day_before": moved.day_before.isoformat(),
        "figures": figures,
        "not_compared": list(moved.not_compared),
    }


def _figure(figure: Figure) -> bytes:
    at = figure.subject
    place = (at.database, at.measurement, at.column)
    return to_json([figure.name, *place, figure.value, figure.how.value, figure.standard_error])


def _inferred(profile: Profile) -> Sequence[Measurement]:
    """The tables whose roles the engine does not declare."""
    return profile.measurements if ENGINES[profile.engine].infers_roles else ()


def _table(measurement: Measurement) -> bytes:
    return to_json(table_roles(measurement))


def _series(measurement: Measurement) -> bytes:
    sets = measurement.tag_sets
    assert sets is not None
    fields = {
        "database": measurement.database,
        "measurement": measurement.name,
        "series": sets.series,
        "worst_case": sets.worst_case,
        "without_determined": sets.independent_bound,
        "determined": determined_tags(measurement),
        "left_without": {one.tag: one.series_left for one in sets.contributions},
    }
    return to_json(fields)


def _changes(changes: RunChanges | None, fit: _Fitting) -> bytes:
    if changes is None:
        return to_json(None)
    lists = {"new": changes.new, "gone": changes.gone, "not_evaluated": changes.not_evaluated}
    fields = {
        "day_before": to_json(changes.day_before.isoformat()),
        "verdict_before": to_json(changes.verdict_before.value),
        **{
            name: fit.array(f"changes.{name}", lambda c: to_json(c.fingerprint), found) for name, found in lists.items()
        },
    }
    return _object(fields)
