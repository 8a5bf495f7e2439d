"""Quotes names and text for the engine with the given name. Names read from a database are untrusted: never insert them
unquoted.
"""

from __future__ import annotations

from typing import Final, Self

from tsaudit.engines.language import Qualified, quote_flux
from tsaudit.engines.registry import ENGINES

__all__ = ["Qualified", "quote_flux", "quote_identifier", "quote_name", "quote_text"]


def quote_name(engine: str, name: str | Qualified) -> str:
    """`name` as an identifier, qualified with its schema if it would not be found otherwise."""
    return ENGINES[engine].quoted(name)


def quote_identifier(engine: str, name: str) -> str:
    """`name` as an identifier of the engine's query language."""
    return ENGINES[engine].language.identifier(name)


def quote_text(engine: str, text: str) -> str:
    """`text` as a string literal of the engine's query language."""
    return ENGINES[engine].language.string(text)


MOST_OPENED: Final = 32
"""Maximum number of labels of one column that become tags; the others are a gap."""


class Label(str):
    """The name of a tag that is one label of a column, such as `labels.host`."""

    __slots__ = ("column", "data_type", "label")

    column: str
    data_type: str
    label: str

    @classmethod
    def of(cls, column: str, data_type: str, label: str) -> Self:
        """The tag's name. `data_type`: type of the column, as in the catalog."""
        made = cls(f"{column}.{label}")
        made.column, made.data_type, made.label = column, data_type, label
        return made


def can_open(engine: str, data_type: str) -> bool:
    """Whether a statement can read single labels of a column of this type."""
    return ENGINES[engine].label("x", data_type, "'x'") is not None


def selected(engine: str, name: str) -> str:
    """The tag for use in a list of columns to select: its quoted name, preceded by an expression if it is a label."""
    quoted = quote_identifier(engine, name)
    if not isinstance(name, Label):
        return quoted
    column, label = quote_identifier(engine, name.column), quote_text(engine, name.label)
    return f"{ENGINES[engine].label(column, name.data_type, label)} AS {quoted}"
