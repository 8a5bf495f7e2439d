"""Runs plans as a careful person does: step by step, and again for each day where a step says so."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from datetime import UTC, datetime, timedelta

from tsaudit.model.plan import Phase, Plan, Step

_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})(?=[ T]00:00:00)")
STATEMENTS = frozenset({"sql", "influxql", "flux", "mongosh"})


def statements_of(step: Step, first: datetime, last: datetime) -> Iterator[str]:
    """The statements of a step, those about a span of time once for each span from `first` to `last`."""
    if step.language not in STATEMENTS:
        return
    texts = [step.text]
    if step.repeat_every is not None:
        start = datetime.combine(first.astimezone(UTC).date(), datetime.min.time())
        end = datetime.combine(last.astimezone(UTC).date(), datetime.min.time())
        texts = [_about(step.text, end - timedelta(days=n)) for n in range((end - start).days + 1)]
    if step.language == "mongosh":
        yield from texts  # A script is one piece.
        return
    for text in texts:
        yield from (one.strip() for one in re.split(r"(?<=;)\n", text) if one.strip())


def _about(text: str, day: datetime) -> str:
    """The same of another day: the first date is its beginning, the second one its end."""
    dates = iter((day, day + timedelta(days=1)) * text.count("\n") + (day, day + timedelta(days=1)) * 8)
    return _DAY.sub(lambda _: f"{next(dates):%Y-%m-%d}", text)


def run(
    plan: Plan,
    execute: Callable[[str], object],
    first: datetime,
    last: datetime,
    without: Collection[Phase] = (Phase.LOOK, Phase.CHECK),
) -> list[str]:
    """Runs the statements of the plan in their order, decisions included, and returns them."""
    ran = []
    for step in plan.steps:
        if step.phase not in without:
            for statement in statements_of(step, first, last):
                execute(statement)
                ran.append(statement)
    return ran
