"""The words of the page, defined: so that nobody has to know tsaudit to read it."""

from __future__ import annotations

from typing import Final, NamedTuple

from tsaudit.engines.registry import ENGINES
from tsaudit.model.facts import FACTS
from tsaudit.text.numbers import NOT_KNOWN


class Definition(NamedTuple):
    """A word and what it means."""

    word: str
    meaning: str


class Noun(NamedTuple):
    """What an engine calls the thing that holds rows."""

    one: str
    many: str


VERDICTS: Final = (
    Definition("Critical", "At least one finding that harms, or is about to harm, the database or the data."),
    Definition("Warning", "At least one finding that will cost storage, speed or correct answers if left alone."),
    Definition(
        "Unknown",
        "Nothing wrong was found, but something that had to be measured was not. "
        "Never shown as OK, never hides a finding.",
    ),
    Definition("OK", "Every rule that applies was judged on complete figures and found nothing."),
)

FIGURES: Final = (
    Definition("Exact", "Counted. Figures without a mark are exact and of the audited day."),
    Definition(
        "Estimate ≈",
        "Worked out from statistics, by the engine or by tsaudit; ± is one standard error where it is known.",
    ),
    Definition("Sampled", "Exact for a part of the data only; the part is named."),
    Definition("As of", "Taken over from an earlier day, because the measurement had not moved since."),
    Definition(NOT_KNOWN, "Not measured. Why not is under “Not audited”."),
)


def noun(engine: str) -> Noun:
    """What the engine calls a table."""
    word = ENGINES[engine].words.measurement
    return Noun(word, f"{word}s")


def series(engine: str) -> str:
    """What a series is on this engine."""
    return ENGINES[engine].words.series


def fact(name: str) -> str:
    """What the fact is, without what its answer has to look like; empty for an unknown one."""
    return FACTS[name].meaning.partition(";")[0] if name in FACTS else ""
