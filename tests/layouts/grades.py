"""Would an expert act this week? Two readers' grades of every expectation of the layouts.

They were given before any rule was priced, by two readers who saw only what a fault costs on each engine and the code
that makes the data; neither saw the other's grades. `grades.json` has two letters for each expectation, in the order of
the layout: `H` for harmful, `h` for harmless. They agree on 168 of 178 (Cohen's kappa 0.88).
"""

from __future__ import annotations

import enum
import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.layouts.layout import Layout, Wanted


class Grade(enum.StrEnum):
    """What the two readers say together."""

    HARMFUL = "harmful"
    HARMLESS = "harmless"
    DISPUTED = "disputed"
    """They do not agree: right at any severity."""


@functools.cache
def _all() -> dict[str, dict[str, list[str]]]:
    found: Any = json.loads(Path(__file__).with_suffix(".json").read_text())
    return dict(found)


def graded(layout: Layout) -> Iterator[tuple[Wanted, Grade]]:
    """The layout's expectations, wanted ones first."""
    known = _all().get(layout.name, {})
    for kind, expected in (("wanted", layout.wanted), ("fine", layout.fine)):
        for wanted, letters in zip(expected, known.get(kind, []), strict=True):
            yield wanted, _GRADES.get(letters, Grade.DISPUTED)


_GRADES = {"HH": Grade.HARMFUL, "hh": Grade.HARMLESS}
