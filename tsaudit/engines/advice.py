"""How an engine's users make the changes of a plan: the steps that `tsaudit.planning` puts together.

An engine's package overrides the methods that differ. Each method is given all changes of the plan at once and returns
at most one step, so that a plan never has more than five. If changing stored data would take several statements, the
step describes that in a sentence instead of scripting it.
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
    """The changes, all of kinds in `handles`, without contradictions."""
    also: Sequence[Advice] = ()
    """The advice for other measurements that need the same changes, which this plan covers as well. Their `also` is
    empty, and their changes may differ only in names, such as that of an index.
    """

    def find(self) -> Step | None:
        """The query that shows who writes the data; None if that would not help."""
        return None

    def writer(self) -> Step | None:
        """What writers should send from now on, and the setting for it; None if writers change nothing."""
        return None

    def schema(self) -> Step | None:
        """The statement that changes the schema, or the DDL of a new table; None if the schema does not change."""
        return None

    def stored(self) -> Step | None:
        """What happens to stored data: it expires on a date, or one statement deletes it or copies it without a column,
        with the loss counted. A copy is advised against, in words, unless the remaining key is proven to be unique.
        None if stored data does not change and the question does not arise.
        """
        return None

    def verify(self) -> Step | None:
        """How to check that the change worked: which figure to expect, and after how many days."""
        return None
