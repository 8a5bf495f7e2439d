"""Quotes names and text for the engine with the given name. Names read from a database are untrusted: never insert them
unquoted.
"""

from __future__ import annotations

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
