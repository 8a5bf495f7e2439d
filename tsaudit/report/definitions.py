"""Definitions of the terms on the page, so that nobody has to know tsaudit to read it."""

from __future__ import annotations

from typing import Final, NamedTuple

from tsaudit.model.facts import FACTS
from tsaudit.text import NOT_KNOWN


class Definition(NamedTuple):
    """A term and its meaning."""

    word: str
    meaning: str


VERDICTS: Final = (
    Definition("Critical", "At least one finding harms the database or the data, or is about to."),
    Definition("Warning", "At least one finding will cost storage, speed, or correct answers if it is ignored."),
    Definition(
        "Unknown",
        "Nothing wrong was found, but something could not be measured. Never shown as OK, and never hides a finding.",
    ),
    Definition("OK", "Every rule that applies was evaluated on complete figures and found nothing."),
)

FIGURES: Final = (
    Definition("Exact", "Counted. Figures without a mark are exact and from the audited day."),
    Definition(
        "Estimate ≈",
        "Computed from statistics, by the engine or by tsaudit; ± is one standard error, if known.",
    ),
    Definition("Sampled", "Exact for the named part of the data only."),
    Definition("As of", "Reused from an earlier day, because the measurement had not changed since."),
    Definition(NOT_KNOWN, "Not measured. For the reason, see “Not audited”."),
)


def fact(name: str) -> str:
    """The meaning of the fact, without the format of its rows; empty for an unknown one."""
    return FACTS[name].meaning.partition(";")[0] if name in FACTS else ""
