"""Classifies the values of a column as a whole: IDs, times, host names, log lines; and shows the form of a value
without revealing it.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from tsaudit.analysis.alike import remembered
from tsaudit.analysis.shapes.composites import split_composite
from tsaudit.analysis.shapes.identifiers import FEWEST, identifier_kind
from tsaudit.analysis.shapes.shape_rules import (
    UNKNOWN,
    ShapeRule,
    compared,
    kind_of,
    rule_for,
    sentences,
    unordered,
)

_SHOWN: Final = 2
_LONGEST: Final = 40
_SHORT: Final = 3
"""Values up to this length are too short to reveal anything."""
_NAME: Final = re.compile(r"[^\W\d_]{1,20}(?:[-_./: ][^\W\d_]{1,20}){0,4}")
_CAPITAL_INSIDE: Final = re.compile(r"(?<![a-z])[a-z][A-Z]|[a-z][A-Z](?![a-z]{2})")
"""A capital that does not begin a word of three letters or more, as in `ValvePosition`."""


def redact(value: str) -> str:
    """The first two characters, followed by `x` for each letter and `0` for each digit; 40 characters at most.

    A value of four or more characters that contains letters or digits is never returned unchanged. Control characters,
    invisible characters, and those that change the writing direction are shown as `·`.
    """
    text = "".join(_visible(c) for c in value)
    if len(value) <= _SHORT:
        return text
    hidden = text[:_SHOWN] + "".join(_hidden(c) for c in text[_SHOWN:])
    for shown in (1, 0):
        # The mask may equal the value, as for "xx00"; with stars it cannot.
        if hidden == value:
            hidden = text[:shown] + "".join("*" if c.isalnum() else c for c in text[shown:])
    return hidden if len(hidden) <= _LONGEST else hidden[: _LONGEST - 1] + "…"


def redact_unless_name(value: str) -> str:
    """The value if it names a kind of thing, such as `flow` or `door_open`; otherwise redacted.

    For values that say which rows a finding is about. A name has up to five words of letters: with digits, or with
    capitals that begin no word, it could be a secret.
    """
    is_name = _NAME.fullmatch(value) and not _CAPITAL_INSIDE.search(value)
    return value if is_name and len(value) <= _LONGEST else redact(value)


def _visible(character: str) -> str:
    category = unicodedata.category(character)
    return "·" if category[0] == "C" or category in ("Zl", "Zp") else character


def _hidden(character: str) -> str:
    group = unicodedata.category(character)[0]
    if group in "LM":
        return "x"
    if group == "N":
        return "0"
    return character if character.isascii() or character in "·" else "?"


EMPTY: Final = "empty"

IDENTIFIER_KINDS: Final = frozenset({"uuid", "ulid", "hash", "id", "epoch", "pod", "request"})
"""Kinds with a different value for nearly every event."""
TEXT_KINDS: Final = frozenset({"log_text", "sql", "json", "url", "iso_time", "user_agent"})
"""Kinds with any number of values, which are meant to be read, not to group by."""

_MAJORITY: Final = 0.8
_ENOUGH: Final = 4
"""Minimum number of distinct values for kinds that may occur by coincidence."""
_MOST: Final = 2000
"""Most distinct values examined; of more values, an even selection."""
_NUMBERS: Final = 0.95

_WIDER: Final = (
    ("integer", frozenset({"integer", "epoch"})),
    ("float", frozenset({"float", "integer", "epoch"})),
)
"""Kinds that include others, tried if no single kind has the majority."""


_TEXTS: Final = 0.33
"""Minimum share of values that are text for the column to be text. Columns of names and codes never reach it; but not
all values need to be text, because every log has lines of one or two words.
"""
_KNOWN: Final = frozenset(
    {"uuid", "ulid", "mac", "ip", "email", "url", "iso_time", "position", "float", "version"}
    | {"boolean", "sql", "json", "duration", "hostname"}
)
"""Kinds that a single value can show; for the others, the column as a whole decides."""
_WITH_IDS: Final = frozenset({"email", "version"})
"""Kinds of which the column as a whole can be IDs: message IDs look like addresses, UIDs of dotted numbers like
versions.
"""


@dataclass(frozen=True, slots=True)
class Shape:
    """What the values of a column are."""

    kind: str
    """`unknown` if no kind describes the column or there are too few values; `empty` if all are blank."""
    share: float
    """Share of the distinct values that show the kind, from 0 to 1; for `unknown`, that of the most frequent kind."""
    distinct: int
    """Number of distinct values given, not counting blank ones."""


def classify(values: Sequence[str]) -> Shape:
    """The kind of the distinct values, decided by the column as a whole.

    A kind that a single value can show, such as an address, needs 80% of the values. If a third of the values are
    sentences, or words in any order, it is a column of texts. IDs are recognized by a part that is random, or a large
    number, and different in nearly every value.
    """
    return remembered(_classified, values)


def _classified(values: Sequence[str]) -> Shape:
    distinct = sorted({v for v in values if v.strip()})
    if not distinct:
        return Shape(EMPTY, 1.0, 0)
    looked_at = distinct[:: -(-len(distinct) // _MOST)]
    rules = [rule for v in looked_at if (rule := rule_for(v))]
    counts = Counter(rule.kind for rule in rules)
    kind, count = counts.most_common(1)[0] if counts else (UNKNOWN, 0)
    if count < _MAJORITY * len(looked_at):
        kind, count = _wider(counts, kind, len(looked_at))
    share = count / len(looked_at)
    is_known = kind in _KNOWN and share >= _MAJORITY and (len(distinct) >= _ENOUGH or _are_sure(rules, kind))
    if is_known and not (kind in _WITH_IDS and identifier_kind(compared(looked_at))):
        return Shape(kind, share, len(distinct))
    if len(looked_at) >= FEWEST:
        if (agents := counts["user_agent"] / len(looked_at)) >= _TEXTS:
            return Shape("user_agent", agents, len(distinct))
        texts = (counts["log_text"] + counts["sql"] + counts["json"]) / len(looked_at)
        texts = max(texts, sentences(looked_at), unordered(compared(looked_at)))
        if texts >= _TEXTS and split_composite(compared(looked_at)) is None:
            return Shape("log_text", texts, len(distinct))
        if found := identifier_kind(compared(looked_at)):
            named = kind in IDENTIFIER_KINDS and share >= _MAJORITY and found == "id"
            return Shape(kind if named else found, 1.0, len(distinct))
        if kind in IDENTIFIER_KINDS:
            kind = UNKNOWN
    if share < _MAJORITY or not (len(distinct) >= _ENOUGH or _are_sure(rules, kind)):
        kind = UNKNOWN
    return Shape(kind, share, len(distinct))


def _wider(counts: Counter[str], kind: str, total: int) -> tuple[str, int]:
    for wider, kinds in _WIDER:
        together = sum(counts[k] for k in kinds)
        if counts[wider] and together >= _MAJORITY * total:
            return wider, together
    return kind, counts[kind]


def _are_sure(rules: Sequence[ShapeRule], kind: str) -> bool:
    return all(rule.sure for rule in rules if rule.kind == kind)


def number_kind(values: Sequence[str]) -> Literal["integer", "float", "boolean", "time"] | None:
    """The numeric type that fits at least 95% of the distinct strings; None if they really are text, or if there are no
    values.

    Integers with leading zeros are codes, not numbers: conversion would drop the zeros. If the only values are `0` and
    `1`, the type is integer.
    """
    return remembered(_number_kind_of, values)


def _number_kind_of(values: Sequence[str]) -> Literal["integer", "float", "boolean", "time"] | None:
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
