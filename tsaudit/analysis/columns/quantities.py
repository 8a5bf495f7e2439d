"""Tells numbers that somebody measured or counted from digits that name something: codes, phone numbers, versions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tsaudit.analysis.cardinality.fleets import names_device
from tsaudit.analysis.columns.roles import names_code

_NUMBER: Final = re.compile(r"-?(\d+)([.,]\d+)?([eE][-+]?\d+)?")
_MIN_FRACTIONS: Final = 20
"""Distinct values with a fraction: fewer may be versions, or bounds of a histogram."""
_MIN_WHOLE: Final = 100
"""Distinct whole numbers: fewer may be codes."""
_MOST_DENSE: Final = 0.5
"""Share of the numbers between the least and the greatest that occur: those of things are given out one by one."""
_LONGEST: Final = 15
"""Digits: no measured number has more, and a float would lose them."""


def are_quantities(name: str, sample: Sequence[str], distinct: int) -> bool:
    """Whether the texts are numbers of which queries want sums and ranges: most have a fraction, or they are whole, far
    apart, and in another order as text.

    `sample`: distinct values. `distinct`: how many there are.
    """
    if names_code(name) or names_device(name):
        return False
    found = [match for value in sample if (match := _NUMBER.fullmatch(value.strip()))]
    if not found:
        return False
    whole = [match for match in found if match[2] is None and match[3] is None]
    if any(len(match[1]) > _LONGEST for match in found):
        return False
    if len(whole) < len(found) / 2:
        return distinct >= _MIN_FRACTIONS
    if distinct < _MIN_WHOLE or not _order_differs([match[0] for match in found]):
        return False
    if any(match[1] != "0" and match[1].startswith("0") for match in whole):
        return False
    numbers = {int(match[1]) for match in whole}
    # A sample of the values is as thin as it is small.
    seen = len(numbers) / (max(numbers) - min(numbers) + 1)
    return seen * distinct / len(sample) <= _MOST_DENSE


def _order_differs(values: Sequence[str]) -> bool:
    """Whether they sort differently as text and as numbers: numbers of one length may be codes."""
    as_numbers = sorted(values, key=lambda value: float(value.replace(",", ".")))
    return as_numbers != sorted(values)
