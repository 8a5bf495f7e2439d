"""How an engine's users make the changes of a plan: the steps that `tsaudit.planning` puts together.

An engine's package overrides what differs. Each method is given all changes of the plan at once and returns at most one
step, so that a plan never has more than five. What would take a procedure of several statements over stored data is
said in a sentence, never scripted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tsaudit.engines.place import Place
from tsaudit.model.change import Change
from tsaudit.model.plan import Step


@dataclass(frozen=True)
class Advice:
    """The steps of one plan. A method that returns None leaves its step out."""

    handles: ClassVar[frozenset[type[Change]]] = frozenset()
    """Kinds of changes that the engine has steps for."""

    place: Place
    """The server as it was profiled, the measurement if the plan is about one, and what the changes achieve."""
    changes: Sequence[Change]
    """All of kinds that `handles` has, without contradictions."""
    also: Sequence[Advice] = ()
    """The same for other measurements that need the same changes, which this plan covers as well. Their `also` is
    empty, and their changes may differ in names only, such as that of an index.
    """

    def find(self) -> Step | None:
        """The query that shows who writes the data; None where that is of no use."""
        return None

    def writer(self) -> Step | None:
        """What writers send from now on, and the setting for it; None where writers change nothing."""
        return None

    def schema(self) -> Step | None:
        """The statement that changes the schema, or the DDL of a new table; None where the schema stays."""
        return None

    def stored(self) -> Step | None:
        """What becomes of stored data: it expires on a date, or one statement deletes it or copies it without a column,
        with the loss counted. A copy is refused, in words, unless what remains of the key is proven unique. None where
        stored data stays as it is and nobody would ask.
        """
        return None

    def verify(self) -> Step | None:
        """How to see that it worked: the figure, and after how many days."""
        return None
