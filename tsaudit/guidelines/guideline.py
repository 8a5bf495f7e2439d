"""What a guideline is, and how far it is covered."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol


class Rule(Protocol):
    """What is needed of a rule here."""

    @property
    def code(self) -> str: ...
    @property
    def guidelines(self) -> tuple[str, ...]: ...
    @property
    def engines(self) -> frozenset[str]: ...


CHAPTERS: Final[Mapping[str, str]] = {
    "A": "Cardinality",
    "B": "Names",
    "C": "Tags against fields, types",
    "D": "Shape of a table",
    "E": "Keys, indexes, storage options",
    "F": "Databases, retention, enforcement",
    "G": "Timestream's measure name",
    "H": "Documents",
}


class State(enum.StrEnum):
    """How far a guideline is covered on one engine."""

    CHECKED = "checked"
    """A rule checks it there."""
    MOOT = "moot"
    """It has no meaning or no effect there."""
    OPEN = "open"
    """It matters there, and no rule checks it yet."""


@dataclass(frozen=True, slots=True)
class Guideline:
    """One piece of advice on schema design."""

    id: str
    title: str
    engines: frozenset[str]
    """Where it matters."""
    moot: Mapping[str, str]
    """Every other engine, with the reason why it does not matter there."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """What one engine gets of a guideline."""

    state: State
    reason: str = ""
    """Why it is moot; empty otherwise."""


@dataclass(frozen=True, slots=True)
class Status:
    """One guideline, the rules that check it, and its coverage on every engine."""

    guideline: Guideline
    rules: tuple[str, ...]
    """Codes."""
    engines: Mapping[str, Coverage]
