"""`tsaudit plan`: what to do about the findings of the last audit, step by step."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, Final

import click

from tsaudit.cli import options, show
from tsaudit.text import listed, short_fingerprint

if TYPE_CHECKING:
    from tsaudit.history.store import Store
    from tsaudit.model.finding import AuditResult, Finding, RuleResult
    from tsaudit.model.plan import Plan, Step

_COLUMNS: Final = 100
_MOST_CODES: Final = 6


@click.command()
@click.argument("target")
@click.argument("measurement", required=False)
@options.config_option
@options.day_option("The audited day; default: the newest in the history.")
@options.format_option("text", "json")
def plan(target: str, measurement: str | None, config: str | None, day: date | None, form: str) -> None:
    """Print what to do about the findings of an audit.

    There is one plan for each measurement that warnings and critical findings ask to change, and one for all that need
    the same changes. It fits on a screen: what is wrong, what the changes achieve, and at most five steps. The plan of
    the worst finding comes first. Findings without a plan come after the plans, with what to do about them, and muted
    findings come last.
    """
    settings = options.load_settings(config, "history")
    with options.open_store(settings) as store:
        result = options.result_of(store, target, day)
        result, muted = _apart(store, result)
    chosen, muted_plans = (
        [p for p in r.plans if measurement is None or measurement in _names(p)] for r in (result, muted)
    )
    others, muted_others = (
        [pair for pair in _without_plan(one) if measurement in (None, pair[1].subject.measurement)]
        for one in (result, muted)
    )
    is_found = chosen or others or muted_plans or muted_others
    if measurement is not None and not is_found:
        from tsaudit.text import nearest

        both = (result, muted)
        names = {name for one in both for plan in one.plans for name in _names(plan)}
        names |= {finding.subject.measurement for one in both for _, finding in _without_plan(one)} - {""}
        raise click.BadParameter(
            f"no finding asks to change `{measurement}`{nearest(measurement, names)}", param_hint="MEASUREMENT"
        )
    if form == "json":
        from tsaudit.model.jsonfile import to_json

        each = [(one, False) for one in chosen] + [(one, True) for one in muted_plans]
        show.as_json([{**json.loads(to_json(one)), "muted": is_muted} for one, is_muted in each])
        return
    _print(chosen, others, result)
    if muted_plans or muted_others:
        show.line("Muted, so no action is requested:")
        show.line()
        _print(muted_plans, muted_others, muted)
    if not is_found:
        show.line("Nothing to do: there is no warning or critical finding.")


def _apart(store: Store, result: AuditResult) -> tuple[AuditResult, AuditResult]:
    """Two results: one without muted findings, and one with only those, each with its own plans. Steps for muted
    findings must not be part of the other plans.
    """
    from tsaudit.history import incidents

    muted = incidents.muted(store, result.target, result.day)
    profile = store.profile(result.target, result.day) if muted else None
    if profile is None:
        return result, replace(result, results=(), plans=())

    from tsaudit.model.finding import fingerprint
    from tsaudit.planning.plans import plans_of

    all_others = {fingerprint(result.target, rule.code, f.subject) for rule, f in result.findings()} - muted
    parts = (result.without(muted), result.without(all_others))
    asked, silent = (replace(part, plans=plans_of(profile, part.results)) for part in parts)
    return asked, silent


def _print(plans: Sequence[Plan], others: Sequence[tuple[RuleResult, Finding]], result: AuditResult) -> None:
    for one in plans:
        print_plan(one, result)
        show.line()
    for rule, finding in others:
        show.paragraph(str(finding.subject), "", most=_COLUMNS)
        _print_summary(rule, finding, result)
        show.paragraph(finding.fix, "  ", most=_COLUMNS)
        show.line()


def _without_plan(result: AuditResult) -> list[tuple[RuleResult, Finding]]:
    """Warnings and critical findings that have no plan: what to do about them is one sentence."""
    from tsaudit.model.finding import Severity
    from tsaudit.planning import describe

    return [
        (rule, finding)
        for rule, finding in result.findings()
        if finding.severity is not Severity.NOTE and describe.of_finding(finding, result.plans) is None
    ]


def _names(found: Plan) -> set[str]:
    """The names of measurements that the plan is about, including those that it merges."""
    from tsaudit.model.change import MergeMeasurements

    merged = (one.change.members for one in found.changes if isinstance(one.change, MergeMeasurements))
    return {at.measurement for at in found.subjects} | {member.measurement for members in merged for member in members}


def _print_problem(found: Plan, result: AuditResult) -> None:
    """Print the summary of the worst finding behind the plan: what is wrong, how severe it is, and the time left."""
    from tsaudit.planning import describe
    from tsaudit.text import many

    behind = describe.behind(found, result)
    if not behind:
        return
    _print_summary(*behind[0], result)
    if others := behind[1:]:
        codes = listed(list(dict.fromkeys(rule.code for rule, _ in others)), _MOST_CODES)
        show.line(f"  and {many(len(others), 'other finding')} ({codes})")


def _print_summary(rule: RuleResult, finding: Finding, result: AuditResult) -> None:
    from tsaudit.summary import of_finding

    summary = of_finding(finding, rule.code, (), result.target, result.day)
    click.echo(f"  {show.word(finding.severity)}  {rule.code}  {short_fingerprint(summary.fingerprint)}")
    show.paragraph(summary.headline, "  ", most=_COLUMNS)
    # A plan has to fit on a screen: the headline already contains some of the figures, and the plan what it achieves.
    figures = ((figure.label, figure.text) for figure in summary.figures if figure.text not in summary.headline)
    for line in show.figures(figures, "    ", _COLUMNS):
        click.echo(line)


def print_plan(found: Plan, why: AuditResult | None = None) -> None:
    """Print all steps of the plan, what they achieve, and what was left out.

    `why`: the audit whose worst finding is printed above the steps; None if that finding has been printed already.
    """
    from tsaudit.planning import describe

    show.paragraph(f"{found.subject}  {describe.summary(found)}", "", most=_COLUMNS)
    if why is not None:
        _print_problem(found, why)
    if found.also:
        show.paragraph(f"The same in {describe.others(found)}.", "  ", most=_COLUMNS)
    if said := describe.effect(found.effect):
        show.paragraph(said, "  ", most=_COLUMNS)
    for number, step in enumerate(found.steps, start=1):
        _print_step(number, step)
    for line in describe.left_out(found):
        show.paragraph(line, "  ", most=_COLUMNS)


def _print_step(number: int, step: Step) -> None:
    from tsaudit.planning import describe

    show.paragraph(f"{number}. {step.words}", "  ", "   ", _COLUMNS)
    if labels := describe.labels(step):
        show.paragraph(f"({'; '.join(labels)})", "     ", most=_COLUMNS)
    if step.loses:
        show.paragraph(f"Loses {step.loses}.", "     ", most=_COLUMNS)
    if step.text:
        show.statement(step.text, "     ")
