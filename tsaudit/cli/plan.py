"""`tsaudit plan`: what to do about the findings of the last audit, step by step."""

from __future__ import annotations

import json
from datetime import date
from typing import TYPE_CHECKING

import click

from tsaudit.cli import options, show, stored
from tsaudit.text import short_fingerprint

if TYPE_CHECKING:
    from tsaudit.model.finding import AuditResult
    from tsaudit.model.plan import Plan, Step


@click.command()
@click.argument("target")
@click.argument("measurement", required=False)
@options.config_option
@options.day_option("The audited day; default: the newest in the history.")
@options.format_option("text", "json")
def plan(target: str, measurement: str | None, config: str | None, day: date | None, form: str) -> None:
    """Print what to do about the findings of an audit.

    There is one plan for each measurement that findings ask to change: what is wrong there, then the steps in order.
    The plan of the worst finding is first. A step that loses data is a decision for you to make: it is printed without
    its statement, which the JSON format includes.
    """
    from tsaudit.planning import words

    settings = options.load_settings(config)
    with options.open_store(settings) as store:
        result = stored.result_of(store, target, day)
    chosen = [one for one in words.worst_first(result) if measurement in (None, one.subject.measurement)]
    if measurement is not None and not chosen:
        from tsaudit.text import nearest

        names = {one.subject.measurement for one in result.plans}
        raise click.BadParameter(
            f"no finding asks to change `{measurement}`{nearest(measurement, names)}", param_hint="MEASUREMENT"
        )
    if form == "json":
        from tsaudit.model.jsonfile import to_json

        show.as_json([json.loads(to_json(one)) for one in chosen])
        return
    for one in chosen:
        print_plan(one, result)
        show.line()
    if not chosen:
        show.line("Nothing to do: no finding asks for a change that tsaudit can describe step by step.")


def _print_problem(found: Plan, result: AuditResult) -> None:
    """Print the story of the worst finding that the plan is for: what is wrong, how severe, and the time left."""
    from tsaudit.planning import words
    from tsaudit.story import of_finding
    from tsaudit.text import many
    from tsaudit.text.findings import severity_word

    behind = words.behind(found, result)
    if not behind:
        return
    rule, finding = behind[0]
    told = of_finding(finding, rule.code, result.plans, result.target, result.day)
    click.echo(f"  {show.word(severity_word(finding.severity))}  {rule.code}  {short_fingerprint(told.fingerprint)}")
    show.paragraph(told.headline, "  ")
    for line in show.figures(((figure.label, figure.text) for figure in told.figures), "    "):
        click.echo(line)
    if others := behind[1:]:
        codes = ", ".join(dict.fromkeys(rule.code for rule, _ in others))
        show.line(f"  and {many(len(others), 'other finding')} ({codes})")


def print_plan(found: Plan, why: AuditResult | None = None) -> None:
    """Print all steps of the plan, what they do together, and what was left out.

    `why`: the audit whose worst finding is printed above them; None where that finding has been printed already.
    """
    from tsaudit.planning import words

    show.line(f"{found.subject}  {words.summary(found)}")
    if why is not None:
        _print_problem(found, why)
    if said := words.effect(found.effect):
        show.paragraph(said, "  ")
    for number, step in enumerate(found.steps, start=1):
        _print_step(number, step)
    for one in found.set_aside:
        show.paragraph(f"Left out: a change that {', '.join(one.rules)} asks for, because {one.reason}.", "  ")


def _print_step(number: int, step: Step) -> None:
    from tsaudit.planning import words

    notes = "; ".join((*words.marks(step), *step.rules))
    show.paragraph(f"{number}. {step.words}", "  ")
    show.paragraph(f"({notes})", "     ")
    if step.loses:
        show.paragraph(f"Loses {step.loses}.", "     ")
    elif step.text:
        show.statement(step.text, "     ")
