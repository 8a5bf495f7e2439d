"""What the values of a column look like, taken together: ids, times, host names, log lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from tsaudit.analysis.shapes.composites import Composite, Part, split_composite
from tsaudit.analysis.shapes.name_families import NameFamily, name_families
from tsaudit.analysis.shapes.redaction import redact
from tsaudit.analysis.shapes.shape_rules import UNKNOWN, Rule, kind_of, rule_for

__all__ = [
    "IDENTIFIER_KINDS",
    "TEXT_KINDS",
    "UNKNOWN",
    "Composite",
    "NameFamily",
    "Part",
    "Shape",
    "classify",
    "name_families",
    "number_kind",
    "redact",
    "split_composite",
]

EMPTY: Final = "empty"

IDENTIFIER_KINDS: Final = frozenset({"uuid", "ulid", "hash", "id", "container_id", "epoch"})
"""Kinds of which nearly every event has its own value."""
TEXT_KINDS: Final = frozenset({"log_text", "sql", "json", "url"})
"""Kinds without bound, made to be read and not to be grouped by."""

_MAJORITY: Final = 0.8
_ENOUGH: Final = 4
"""Distinct values from which on a kind that chance may produce is believed."""
_MOST: Final = 2000
"""Distinct values looked at, evenly chosen of more."""
_NUMBERS: Final = 0.95

_WIDER: Final = (
    ("integer", frozenset({"integer", "epoch"})),
    ("float", frozenset({"float", "integer", "epoch"})),
    ("hash", frozenset({"hash", "container_id"})),
    ("id", frozenset({"id", "hash", "container_id"})),
)
"""Kinds that take in others, tried when no kind alone has the majority."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The kind most values of a column are of."""

    kind: str
    """`unknown` when no kind has 80% of the values, or they are too few; `empty` when there are none but blanks."""
    share: float
    """Of the distinct values, 0 to 1, that are of this kind; for `unknown`, of the most frequent one."""
    distinct: int
    """Distinct values given, blanks not counted."""


def classify(values: Sequence[str]) -> Shape:
    """The kind of the distinct values, by majority."""
    distinct = sorted({v for v in values if v.strip()})
    if not distinct:
        return Shape(EMPTY, 1.0, 0)
    looked_at = distinct[:: -(-len(distinct) // _MOST)]
    rules = [rule for v in looked_at if (rule := rule_for(v))]
    counts = Counter(rule.kind for rule in rules)
    if not counts:
        return Shape(UNKNOWN, 0.0, len(distinct))
    kind, count = counts.most_common(1)[0]
    if count < _MAJORITY * len(looked_at):
        kind, count = _wider(counts, kind, len(looked_at))
    share = count / len(looked_at)
    if share < _MAJORITY or not (len(distinct) >= _ENOUGH or _are_sure(rules, kind)):
        kind = UNKNOWN
    return Shape(kind, share, len(distinct))


def _wider(counts: Counter[str], kind: str, total: int) -> tuple[str, int]:
    for wider, kinds in _WIDER:
        together = sum(counts[k] for k in kinds)
        if counts[wider] and together >= _MAJORITY * total:
            return wider, together
    return kind, counts[kind]


def _are_sure(rules: Sequence[Rule], kind: str) -> bool:
    return all(rule.sure for rule in rules if rule.kind == kind)


def number_kind(values: Sequence[str]) -> Literal["integer", "float", "boolean", "time"] | None:
    """The type that fits at least 95% of the distinct texts; None where they are texts for good, or there are none.

    Whole numbers that start with a zero are codes, not numbers: as a number they would lose it. `0` and `1` alone
    are integers.
    """
    distinct = {v.strip() for v in values if v.strip()}
    counts = Counter(_number_kind(v) for v in distinct)
    enough = _NUMBERS * len(distinct)
    if not distinct:
        return None
    if counts["iso_time"] + counts["epoch"] >= enough:
        return "time"
    if counts["integer"] + counts["epoch"] >= enough:
        return "integer"
    if counts["integer"] + counts["epoch"] + counts["float"] >= enough:
        return "float"
    return "boolean" if counts["boolean"] >= enough else None


def _number_kind(value: str) -> str:
    digits = value.lstrip("+-")
    if len(digits) > 1 and digits[0] == "0" and digits.isdigit():
        return "code"
    kind = kind_of(value)
    return "integer" if kind != "epoch" and kind != "iso_time" and value.isascii() and value.isdigit() else kind
