"""What the values of a tag are by a sample, and what to use instead of the tag."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from tsaudit.analysis.columns.columns import names_code, names_device
from tsaudit.analysis.shapes import shapes
from tsaudit.analysis.shapes.composites import split_composite
from tsaudit.analysis.shapes.shape_rules import UNKNOWN, description_of
from tsaudit.model.columns import Tag, TagChanges
from tsaudit.model.finding import Evidence
from tsaudit.model.profile import Measurement
from tsaudit.text import number, percent

_TEXTS: Final = {
    "log_text": "log messages",
    "sql": "SQL statements",
    "json": "JSON documents",
    "url": "URLs",
    "iso_time": "times",
    "user_agent": "user agents",
}
_FEWEST_TEXTS: Final = 20
"""Minimum number of texts: fewer may be a list that somebody wrote."""
_FEWEST_MIXED: Final = 100
"""Minimum number of values if most of them are short: a list of names contains a sentence now and then."""
_FEWEST_URLS: Final = 1_000
"""Minimum number of URLs: people monitor fewer addresses than that."""
_MOST: Final = 0.8

_FEWEST_NUMBERS: Final = 30
"""Minimum number of numbers: histogram bounds and quantiles are numbers, too, but there are fewer of them."""
_PER_SOURCE: Final = 3
"""Minimum number of values per source for readings: a position or size is also a number, but has one value per source,
and few are corrected.
"""
_CLASHES: Final = 0.05
"""Maximum share of the instants with several values: a quantity has one value at a time; several values at once
identify things.
"""
_ROUGH: Final = 0.5
"""Maximum mean step of whole numbers, divided by the mean difference of any two values: if they do not follow a curve,
they may be IDs. Near 1, they are in random order.
"""
_NAMES_A_THING: Final = re.compile(
    r"(^|_)(id|uid|uuid|code|status|serial|zip|postcode|port|pid|no|nr|num|number|index|idx|version|release|build|key|"
    r"partition|shard|slot|core|cpu|channel|line|row|account|le|quantile|bucket)$|Id$",
    re.IGNORECASE,
)
_NAMES_A_PART: Final = re.compile(
    r"(^|_)(version|release|build|firmware|le|ge|quantile|percentile|bucket|bin)$|Version$", re.IGNORECASE
)
"""Names of tags with fractions that were not measured: versions and histogram bounds."""
_POSITION: Final = re.compile(r"(^|_)(lat|latitude|lon|lng|long|longitude|altitude|elevation)($|_)", re.IGNORECASE)
_TYPES: Final = {"integer": "whole numbers", "float": "numbers", "time": "times"}
_UNSUITABLE: Final = re.compile(r"(float|double|real|timestamp|datetime)", re.IGNORECASE)
_FEWEST_TYPED: Final = 4
"""Minimum number of values in a format: with fewer, the format may be a coincidence."""
_FEWEST_DECLARED: Final = 2
"""Minimum number of values if the tag's type is one for measured values: a single value adds no series."""
_CHANGING: Final = 0.5
"""Minimum share of the sources whose value changes: a whole number that stays the same for most sources identifies a
store, room, or line.
"""
_LATE: Final = 0.01
"""Maximum share of the times at which a source may have two values, to allow for late rows."""


@dataclass(frozen=True, slots=True)
class ValueKind:
    """What the values of a tag are, and what to use instead."""

    shape: str = UNKNOWN
    """The kind according to `shapes.classify`."""
    words: str = ""
    """The words that follow the number of values: `that are URLs`. Empty if nothing is known about the values."""
    fix: str = "Use tags for what many rows share."
    """What to write instead, as a sentence."""
    fewest: int | None = None
    """This many values alone show that more will come; None if only the owner knows how many things there are."""
    again: Literal["sources", "list", "readings"] = "sources"
    """What values that recur are: sources, which tags are meant for; a list, which does not get longer; or readings in
    any case.
    """
    evidence: tuple[Evidence, ...] = ()
    to: str = ""
    """Type of the field for the values, as in `MakeField`; empty if not known."""


def kind_of_values(measurement: Measurement, tag: Tag, *, has_types: bool, beside_types: bool) -> ValueKind:
    """What the sampled values are; the most specific kind that fits.

    `has_types`: tags have types, and are meant for short texts and integers.
    `beside_types`: tags are text in an engine that has types for other columns of the same row: then numbers, times,
    and positions are not for tags, whether they vary or not.
    """
    shape = shapes.classify(tag.sample)
    if has_types and _UNSUITABLE.match(tag.data_type):
        words = f" of type {tag.data_type}, and tags are meant for short texts and integers"
        return ValueKind(shape.kind, words, fewest=_FEWEST_DECLARED, again="readings")
    return (
        _readings(measurement, tag, shape.kind)
        or (_typed(tag, shape.kind) if beside_types else None)
        or _text(tag, shape)
        or ValueKind(shape.kind, _ids(shape.kind))
    )


def _typed(tag: Tag, shape: str) -> ValueKind | None:
    """The kind if the values have a type of their own; None if they really are text, or whole numbers that
    name things.
    """
    kind, is_position = shapes.number_kind(tag.sample), bool(_POSITION.search(tag.key))
    if kind is None or kind not in _TYPES:
        return None
    is_whole = kind == "integer" and not is_position
    if is_whole and (_names_thing(tag.key) or _ids(shape) or not any(map(_varies, tag.changes or ()))):
        return None
    return ValueKind(
        shape,
        f" that are {'positions' if is_position else _TYPES[kind]}, as text",
        "Queries then compare it without a cast. If it identifies sources, keep a dimension that names the source.",
        _FEWEST_NUMBERS if is_whole else _FEWEST_TYPED,
        "readings",
        to=kind,
    )


def _names_thing(key: str) -> bool:
    return bool(_NAMES_A_THING.search(key)) or names_code(key) or names_device(key)


def _varies(seen: TagChanges) -> bool:
    """Whether each source has one value at a time, and most sources have different values later."""
    return bool(
        seen.by
        and seen.changing
        and seen.changing >= _CHANGING * seen.sources
        and seen.clashes <= _LATE * seen.instants
    )


def _readings(measurement: Measurement, tag: Tag, shape: str) -> ValueKind | None:
    """The kind if the values are numbers that vary over time; otherwise None. For whole numbers, the rows must show
    that they follow a curve.
    """
    kind = shapes.number_kind(tag.sample)
    if tag.values is None or tag.values.value < _FEWEST_NUMBERS:
        return None
    if kind not in ("integer", "float") or (_NAMES_A_THING if kind == "integer" else _NAMES_A_PART).search(tag.key):
        return None
    seen = [c for c in tag.changes or () if c.instants]
    if any(c.clashes > _CLASHES * c.instants for c in seen):
        return None
    changing = max((c for c in seen if 2 * c.changing >= c.sources > 0), key=lambda c: c.pairs, default=None)
    sets = measurement.tag_sets
    left = next((c.series_left for c in sets.contributions if c.tag == tag.key), 0) if sets else 0
    per_source = sets.series / left if sets and left else None
    if kind == "integer":
        varies = changing is not None and changing.roughness is not None and changing.roughness <= _ROUGH
    else:
        varies = changing is not None or (per_source or 0) >= _PER_SOURCE
    if not varies:
        return None
    words = f" that are {'whole ' if kind == 'integer' else ''}numbers and vary over time"
    evidence = _of_readings(per_source, changing)
    return ValueKind(shape, words, fewest=_FEWEST_NUMBERS, again="readings", evidence=evidence, to=kind)


def _of_readings(per_source: float | None, seen: TagChanges | None) -> tuple[Evidence, ...]:
    evidence = [] if per_source is None else [Evidence("values per source", number(per_source))]
    if seen:
        by = f"identified by {', '.join(seen.by)}" if seen.by else "of one source"
        evidence += [
            Evidence("sources where it changes", f"{number(seen.changing)} of {number(seen.sources)}, {by}"),
            Evidence(
                "times the value changed from one instant to the next",
                f"{number(seen.changes)} of {number(seen.pairs)} ({percent(seen.changes / seen.pairs)})",
            ),
        ]
        if seen.roughness is not None:
            rough = number(round(seen.roughness, 3))
            evidence.append(Evidence("mean step divided by the mean difference of any two values", rough))
    return tuple(evidence)


def _ids(shape: str) -> str:
    if shape not in shapes.IDENTIFIER_KINDS:
        return ""
    return " shaped like IDs" if shape == "id" else f" shaped like IDs ({description_of(shape)})"


def _text(tag: Tag, shape: shapes.Shape) -> ValueKind | None:
    """The kind if the values are free text, or meant to be read; otherwise None."""
    if shape.kind == "json" and split_composite(tag.sample):
        return None  # attributes in a row, which composite-value names
    if shape.kind not in shapes.TEXT_KINDS:
        return None
    share = f"{percent(shape.share)} of {number(len(tag.sample))}"
    return ValueKind(
        shape.kind,
        f" that are {_TEXTS[shape.kind]}",
        "Keep as tags what can be counted: level, code, component.",
        _FEWEST_URLS if shape.kind == "url" else _FEWEST_MIXED if shape.share < _MOST else _FEWEST_TEXTS,
        "list",
        (Evidence("share of such texts among the values read", share),),
    )
