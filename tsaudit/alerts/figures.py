"""The text of one incident in a message: headline, figures, notes, and the first step."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tsaudit.alerts.blocks import Block, Run, rich
from tsaudit.alerts.escape import clean, cut
from tsaudit.analysis.shapes.shape_rules import describe_kinds
from tsaudit.history import decisions
from tsaudit.history.incidents import Incident
from tsaudit.model.finding import worst_first
from tsaudit.summary import Summary
from tsaudit.text.headline import is_shortened

_SLACK_ID: Final = re.compile(r"[UW][A-Z0-9]{2,30}")
"""A Slack user ID: it identifies whoever made a decision by a reaction."""
_BY_REACTION: Final = re.compile(r"reaction :([a-z0-9_+'-]{1,100}): in Slack")
_SAMPLES: Final = 3
_SAMPLE: Final = 60
_FIGURE: Final = 250
_LINE: Final = 400
_WHO: Final = 60
_WHY: Final = 200
_STEP: Final = 600
_STATEMENT: Final = 2_900


def by_badness(incident: Incident) -> tuple[object, ...]:
    """Sort key: worst first, in the same order as all other outputs."""
    return worst_first(incident.code, incident.finding, incident.severity)


def summary_block(incident: Incident, summary: Summary, sign: str, *, full_values: bool, with_step: bool) -> Block:
    """The summary of the incident as one block; at most 6,000 characters, however long the names are."""
    runs = [Run(f"{sign} "), Run(cut(summary.headline, _LINE), "bold")]
    for figure in summary.figures:
        runs += _labeled(cut(f"{figure.label}: {figure.text}", _FIGURE))
    runs += _notes(incident, full_values=full_values)
    if with_step and summary.first_step:
        step = cut(summary.first_step, _STEP)
        # If the step is from a plan, its label names the plan.
        runs += _labeled(step) if summary.rest else [Run(f"\n{step}")]
    return rich(runs, _shown(summary.statement) if with_step else "")


def by_reaction(name: str) -> str:
    """The reason stored with a decision that was made by a reaction."""
    return f"reaction :{name}: in Slack"


def _labeled(line: str) -> list[Run]:
    """The pieces of a line that begins with a label of ours and a colon: the label is bold."""
    label, colon, text = line.partition(": ")
    return [Run("\n"), Run(f"{label}:", "bold"), Run(f" {text}")] if colon else [Run(f"\n{line}")]


def _shown(statement: str) -> str:
    """The statement, or nothing if cleaning would change it: it would then be a different statement."""
    return statement if clean(statement) == statement and len(statement) <= _STATEMENT else ""


def _notes(incident: Incident, *, full_values: bool) -> Iterator[Run]:
    if is_shortened(incident.finding):
        # Such as the reason why a target could not be audited.
        yield _line(incident.finding.message)
    samples = incident.finding.samples[:_SAMPLES]
    if full_values and samples:
        yield _line("Samples: " + ", ".join(dict.fromkeys(sample[:_SAMPLE] for sample in samples)))
    elif kinds := describe_kinds(samples):
        yield _line("Kind of values: " + ", ".join(kinds))
    if incident.decision is not None:
        # Muted incidents are not shown.
        who = incident.decision.owner
        yield _line("Acknowledged by")
        yield Run(" ")
        yield Run(who, "person") if _SLACK_ID.fullmatch(who) else Run(cut(who, _WHO))
        if reaction := _BY_REACTION.fullmatch(incident.decision.reason):
            yield Run(" with ")
            yield Run(reaction[1], "emoji")
        else:
            yield Run(f": {cut(incident.decision.reason, _WHY)}")
    if incident.exceeded is not None:
        back = f"Back, although {decisions.describe(incident.exceeded)}: that {decisions.outgrown(incident)}"
        yield Run(f"\n{cut(back, _WHO + _WHY)}")


def _line(text: str) -> Run:
    return Run(f"\n{cut(text, _LINE)}")
