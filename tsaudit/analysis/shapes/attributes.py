"""What a value or a name that combines several attributes consists of."""

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
    """Named after the key of each attribute; `part_1`, `part_2`, ... if there are no keys. Then what is the same in all
    values is left out.
    """
    example: str
    """The complete value that the examples of the parts come from."""
    places: tuple[int, ...]
    """Where the text of each part begins in the example."""
