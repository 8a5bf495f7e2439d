"""Compares what the shapes say with labels."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from tests.analysis.shapes import labelled_formats, labelled_values
from tests.analysis.shapes.labelled_values import Kind
from tsaudit.analysis.shapes.composites import split_composite
from tsaudit.analysis.shapes.shapes import IDENTIFIER_KINDS, TEXT_KINDS, classify

GOALS: Final = {"E": 0.9, "T": 0.9, "C": 0.8, "N": 0.03}
COUNT: Final = 120


def labelled(*, held_back: bool) -> dict[str, tuple[str, list[str]]]:
    """The label and the distinct values of each kind, of those for every day or of those held back."""
    return {
        name: (kind.label, values(name, kind))
        for kinds, held in (
            (labelled_values.KINDS, labelled_values.HELD_BACK),
            (labelled_formats.FORMATS, labelled_formats.HELD_BACK),
        )
        for name, kind in kinds.items()
        if (name in held) == held_back
    }


def values(name: str, kind: Kind, count: int = COUNT) -> list[str]:
    """Distinct values, at most `count` of them; the same in every run."""
    chance = random.Random(name)
    return list(dict.fromkeys(kind.make(chance) for _ in range(count)))


@dataclass
class Score:
    """Columns by label: how many there are, and for how many of them the label's answer was given."""

    of: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    """For N: those called IDs or texts."""
    taken_apart: int = 0
    """Of N: those split into attributes."""
    missed: list[str] = field(default_factory=list)
    false: list[str] = field(default_factory=list)

    def share(self, label: str) -> float:
        """Of the columns with this label; 0 if there are none."""
        return self.found[label] / self.of[label] if self.of[label] else 0.0

    @property
    def holds(self) -> bool:
        """Whether all goals are reached."""
        reached = {
            label: self.share(label) <= goal if label == "N" else self.share(label) >= goal
            for label, goal in GOALS.items()
            if self.of[label]
        }
        return all(reached.values())


def scored(kinds: Mapping[str, tuple[str, list[str]]]) -> Score:
    """The answers to columns of distinct values, by name."""
    score = Score()
    for name, (label, values) in kinds.items():
        shape, split = classify(values), split_composite(values)
        says = (
            f"{label} {name}: {shape.kind} {shape.share:.2f}{' ' + repr(split.example) if split else ''} {values[:2]}"
        )
        is_id, is_text = shape.kind in IDENTIFIER_KINDS, shape.kind in TEXT_KINDS
        answer = {"E": is_id, "T": is_text, "C": split is not None, "N": is_id or is_text}.get(label, False)
        score.of[label] += 1
        score.found[label] += answer
        if label == "N":
            score.taken_apart += split is not None
            if answer or split:
                score.false.append(says)
        elif label in GOALS and not answer:
            score.missed.append(says)
    return score
