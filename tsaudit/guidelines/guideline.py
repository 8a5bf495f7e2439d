"""What a guideline is, and how far it is covered."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from tsaudit.engines.registry import ENGINES


class CheckingRule(Protocol):
    """The part of a rule that is used here."""

    @property
    def code(self) -> str: ...
    @property
    def guidelines(self) -> tuple[str, ...]: ...
    @property
    def engines(self) -> frozenset[str]: ...


CHAPTERS: Final[Mapping[str, str]] = {
    "A": "Cardinality",
    "B": "Names",
    "C": "Tags versus fields, types",
    "D": "Table layout",
    "E": "Keys, indexes, storage options",
    "F": "Databases, retention, enforcement",
    "G": "Timestream's measure name",
    "H": "Documents",
}


class CheckState(enum.StrEnum):
    """How far a guideline is covered on one engine."""

    CHECKED = "checked"
    """A rule checks it on the engine."""
    NOT_APPLICABLE = "not_applicable"
    """It does not matter on the engine."""
    OPEN = "open"
    """It matters on the engine, and no rule checks it yet."""


@dataclass(frozen=True, slots=True)
class Guideline:
    """One piece of advice on schema design."""

    id: str
    title: str
    elsewhere: str = ""
    """Why it does not matter on an engine that does not claim it as one of its `own_guidelines`; empty for none.

    An engine can give a reason of its own in `Engine.not_applicable`.
    """

    @property
    def engines(self) -> frozenset[str]:
        """Engines on which it matters."""
        return frozenset(name for name in ENGINES if name not in self.not_applicable)

    @property
    def not_applicable(self) -> Mapping[str, str]:
        """All other engines, with the reason why it does not matter there."""
        return {name: why for name in ENGINES if (why := self.why_not_on(name))}

    def why_not_on(self, engine: str) -> str:
        """Why it does not matter on the engine; empty if it does."""
        about = ENGINES[engine]
        return "" if self.id in about.own_guidelines else about.not_applicable.get(self.id, self.elsewhere)


@dataclass(frozen=True, slots=True)
class Coverage:
    """The coverage of a guideline on one engine."""

    state: CheckState
    reason: str = ""
    """Why it does not matter; otherwise empty."""


@dataclass(frozen=True, slots=True)
class Status:
    """One guideline, the rules that check it, and its coverage on every engine."""

    guideline: Guideline
    rules: tuple[str, ...]
    """Rule codes."""
    engines: Mapping[str, Coverage]
