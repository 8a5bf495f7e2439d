"""Days of values, and the sets they lead to."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from tests.examples import examples
from tsaudit.analysis.values.value_sets import SetEstimate, ValueSet

FIRST = date(2026, 1, 5)
NAMES = st.one_of(st.sampled_from([f"v{i}" for i in range(30)]), st.text(max_size=8))
HISTORIES = st.lists(st.tuples(st.integers(1, 4), st.sets(NAMES, max_size=25)), min_size=1, max_size=12)
"""Days since the observation before, and that day's values."""

SLOW = settings(deadline=None, max_examples=examples(60))


def day(number: int) -> date:
    return FIRST + timedelta(days=number)


def observed(days: Iterable[Iterable[str]]) -> ValueSet:
    """The set after these days in a row."""
    values = ValueSet.empty()
    for number, names in enumerate(days):
        values = values.observe(names, day(number))
    return values


def counted(values: ValueSet) -> SetEstimate:
    """The number of all values seen so far."""
    return values.counted(np.ones(len(values.hashes), bool))


def dated(history: list[tuple[int, set[str]]]) -> list[tuple[date, set[str]]]:
    at, days = 0, []
    for gap, names in history:
        at += gap
        days.append((day(at), names))
    return days
