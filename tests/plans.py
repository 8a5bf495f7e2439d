"""Runs plans as a careful person does: step by step, and again for each day where a step says so."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from datetime import UTC, datetime, timedelta

from tsaudit.model.plan import Phase, Plan, Step

_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})(?=[ T]00:00:00)")
MOST_SPANS = 3
"""In which what is copied one day at a time is copied where it is old: such tables have thousands of days."""
_OLDEST = datetime(1971, 1, 1, tzinfo=UTC)
"""The begin of one more span, before the oldest row that the audit read: there may be older ones."""
STATEMENTS = frozenset({"sql", "influxql", "flux", "mongosh"})


def statements_of(step: Step, first: datetime, last: datetime, most: int | None = None) -> Iterator[str]:
    """The statements of a step, those about a day once for each day from `first` to `last`, the newest one first.

    `most`: in how many spans at most, of whole days each, and one of all that is older; None: of one day each.
    """
    if step.language not in STATEMENTS:
        return
    texts = [step.text]
    if step.repeat_every is not None:
        start = datetime.combine(first.astimezone(UTC).date(), datetime.min.time())
        end = datetime.combine(last.astimezone(UTC).date(), datetime.min.time())
        days = (end - start).days + 1
        each = -(-days // most) if most else 1
        ends = (end + timedelta(days=1 - number) for number in range(0, days, each))
        texts = [_about(step.text, until - timedelta(days=each), until) for until in ends]
        if most:
            texts.append(_about(step.text, _OLDEST, end + timedelta(days=1 - each * len(texts))))
    if step.language == "mongosh":
        yield from texts  # A script is one piece.
        return
    for text in texts:
        yield from (one.strip() for one in re.split(r"(?<=;)\n", text) if one.strip())


def _about(text: str, begin: datetime, end: datetime) -> str:
    """The same of another span: the first date is its beginning, the second one its end."""
    dates = iter((begin, end) * (text.count("\n") + 8))
    return _DAY.sub(lambda _: f"{next(dates):%Y-%m-%d}", text)


def run(
    plan: Plan,
    execute: Callable[[str], object],
    first: datetime,
    last: datetime,
    without: Collection[Phase] = (Phase.LOOK, Phase.CHECK),
    most: int | None = None,
) -> list[str]:
    """Runs the statements of the plan in their order, decisions included, and returns them.

    `most`: see `statements_of`.
    """
    ran = []
    for step in plan.steps:
        if step.phase not in without:
            for statement in statements_of(step, first, last, most):
                execute(statement)
                ran.append(statement)
    return ran
