"""The attributes that are combined in a value or a name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute within a value or a name."""

    name: str
    example: str


@dataclass(frozen=True, slots=True)
class Composite:
    """How the values of one tag or field split into attributes."""

    parts: tuple[Attribute, ...]
    """Named after the key of each attribute; `part_1`, `part_2`, ... if there are no keys. In that case, parts that are
    the same in all values are left out.
    """
    example: str
    """The complete value that the examples of the parts come from."""
    places: tuple[int, ...]
    """The position in the example at which the text of each part begins."""
