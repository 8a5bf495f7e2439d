"""How an engine's users make the changes of a plan: the steps that `tsaudit.planning` puts together.

An engine's package overrides the methods that differ. Each method is given all changes of the plan at once and returns
at most one step, so that a plan never has more than five. If changing stored data would take several statements, the
step describes that in a sentence instead of scripting it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import ClassVar, Final

from tsaudit.engines.quoting import Qualified
from tsaudit.model.change import (
    Change,
    ChangeType,
    Diagnose,
    LeaveOut,
    MakeField,
    MakeTag,
    MergeMeasurements,
    Rename,
    SetRetention,
    SplitColumn,
    SplitMeasurement,
    StopSource,
)
from tsaudit.model.columns import Tag
from tsaudit.model.plan import Effect, Step, StepKind
from tsaudit.model.profile import Measurement, Profile
from tsaudit.text import many

WRITTEN: Final = (
    ChangeType,
    LeaveOut,
    MakeField,
    MakeTag,
    MergeMeasurements,
    Rename,
    SplitColumn,
    SplitMeasurement,
    StopSource,
)
"""Kinds of changes that concern what writers send."""
_FEWER_WRITERS: Final = 10
"""A tag must have at least this many times as many values as there are writers, so that each of them writes several."""
_MOST_WRITER_TAGS: Final = 3
_MOST_SOURCES: Final = 1_000
"""Values of a tag by which a statement still groups what people read."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where changes are to be made: the server as it was last profiled, and the measurement."""

    profile: Profile
    quote: Callable[[str | Qualified], str]
    """`Engine.quoted` of the profile's engine."""
    database: str
    measurement: Measurement | None
    """None: the changes concern the database."""
    effect: Effect = field(default_factory=Effect)
    """The combined effect of all changes of the plan on this measurement."""
    removed_tags: frozenset[str] = frozenset()
    """Tags that the plan removes from this measurement."""
    stopgap: str = ""
    """How to gain time until the changes are made, in complete sentences; empty if there is time, or no way."""

    @property
    def here(self) -> Measurement:
        """The measurement, for changes that concern one."""
        if self.measurement is None:
            raise ValueError("a change of a measurement, where only a database is named")
        return self.measurement

    @property
    def beside(self) -> list[Measurement]:
        """All measurements of the database."""
        return [one for one in self.profile.measurements if one.database == self.database]

    def quoted(self, names: Iterable[str | Qualified]) -> str:
        """The names as identifiers of the engine, separated by commas."""
        return ", ".join(map(self.quote, names))

    def writers_of(self, tag: str) -> tuple[str, ...]:
        """Tags that distinguish who writes the values of `tag`: they have several values, but far fewer than `tag` has.

        The tag with the most values comes first. Empty if there is none, or if the values were not counted. Labels
        inside a column are left out, because a statement needs an expression for each, and so are other tags that the
        plan removes.
        """
        counted = next((t.values.value for t in self.here.tags if t.key == tag and t.values is not None), 0)
        return self.sources(counted / _FEWER_WRITERS)

    def sources(self, most: float = _MOST_SOURCES) -> tuple[str, ...]:
        """Tags that distinguish sources: they have several values, but at most this many. See `writers_of`."""
        counts = {t.key: t.values.value for t in self.here.tags if t.values is not None and not t.label_of}
        few = [(count, key) for key, count in counts.items() if 1 < count <= most and key not in self.removed_tags]
        return tuple(key for _, key in sorted(few, key=lambda one: (-one[0], one[1]))[:_MOST_WRITER_TAGS])

    def table(self, name: str = "") -> str:
        """The measurement's name, or that of another in its database, in a form that statements find from anywhere."""
        path = next((m.path for m in ((self.measurement,) if self.measurement else self.beside)), ())
        return self.quoted([Qualified(self.database, name or self.here.name, path)])

    def free(self, name: str) -> str:
        """The name if no audited measurement of the database has it; otherwise followed by the lowest free number."""
        return free(name, {m.name for m in self.beside})


def free(name: str, taken: Collection[str], folds_case: bool = False) -> str:
    """The name or, if it is taken, the name followed by the lowest free number. `folds_case`: whether names that differ
    only in case are the same.
    """
    used = {t.casefold() for t in taken} if folds_case else set(taken)

    def is_free(one: str) -> bool:
        return (one.casefold() if folds_case else one) not in used

    numbered = (f"{name}_{number}" for number in range(2, len(used) + 3))
    return name if is_free(name) else next(one for one in numbered if is_free(one))


def tags_removed(measurement: Measurement | None, changes: Sequence[Change]) -> list[Tag]:
    """The measurement's tags that the changes drop or make fields; none for changes of a database."""
    if measurement is None:
        return []
    names = [c.tag if isinstance(c, MakeField) else c.column for c in changes if isinstance(c, MakeField | LeaveOut)]
    return [tag for name in names if (tag := measurement.tag(name)) is not None]


def no_longer_sent(changes: Sequence[Change]) -> set[str]:
    """The columns that writers no longer send to the measurement, or not under this name."""
    found = {change.column for change in changes if isinstance(change, LeaveOut | SplitColumn)}
    found |= {change.old for change in changes if isinstance(change, Rename)}
    return found | {column for change in changes if isinstance(change, SplitMeasurement) for column in change.columns}


def days_of(change: SetRetention) -> int:
    """The retention in whole days."""
    return round(change.keep / timedelta(days=1))


def by_source(column: str) -> str:
    """The purpose of a query that counts the values of each source, in words."""
    return f"Find which sources write new values of {column}. Those that write the most are listed first."


def by_time(column: str) -> str:
    """The purpose of a query that lists values if no other tag distinguishes sources, in words."""
    return f"Find what writes new values of {column}. The newest values are listed first, as they are stored."


@dataclass(frozen=True, slots=True)
class Piece:
    """What one change adds to a step."""

    words: str
    text: str = ""
    """A statement or a command; empty if there is none."""
    cost: str = ""
    loses: str = ""


def together(
    kind: StepKind,
    pieces: Sequence[Piece],
    language: str,
    lines: Callable[[Sequence[str]], str] = "\n".join,
    others: Sequence[str] = (),
    most: int = 0,
    noun: str = "",
) -> Step | None:
    """One step with all the pieces; None if there are none.

    `lines`: puts the texts together. `others`: the texts for others of the plan, each a `noun`, which are shown as long
    as there are no more than `most`.
    """
    if not pieces:
        return None
    words, texts = [piece.words for piece in pieces], [piece.text for piece in pieces if piece.text]
    shown = [*texts, *others][: max(len(texts), most)]
    if left := len(texts) + len(others) - len(shown):
        words.append(f"The {many(left, f'other {noun}')} of this plan take the same command.")
    return Step(
        kind,
        " ".join(dict.fromkeys(words)),
        lines(shown),
        language if shown else "",
        cost=next((piece.cost for piece in pieces if piece.cost), ""),
        loses="; ".join(dict.fromkeys(piece.loses for piece in pieces if piece.loses)),
    )


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
    """The advice, of the same class, for other measurements that need the same changes, which this plan covers as well.
    Their `also` is empty, and their changes may differ only in names, such as that of an index.
    """

    @property
    def order(self) -> Sequence[StepKind]:
        """The steps in the order in which they are made."""
        return tuple(StepKind)

    @property
    def measurements(self) -> list[Measurement]:
        """The measurements that the plan covers, its own first; empty for a plan about databases."""
        places = (self.place, *(one.place for one in self.also))
        return [place.measurement for place in places if place.measurement is not None]

    def asked_for(self) -> list[Diagnose]:
        """The queries that the changes ask for."""
        return [change for change in self.changes if isinstance(change, Diagnose)]

    def new_values(self) -> list[Diagnose]:
        """Queries for new values of the tags that the changes take away, make a field, or rid of a source."""
        here, found = self.place.measurement, list[Diagnose]()
        for change in self.changes:
            match change:
                case MakeField(tag=name) | LeaveOut(column=name) | StopSource(tag=name):
                    if here is not None and here.tag(name) is not None:
                        found.append(Diagnose(change.at, "new values", name))
        return found

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
        """What happens to stored data: it expires on a date, or one statement deletes it, after one that writes it
        again where the engine has such a statement; otherwise, a sentence says what that would take. None if stored
        data does not change and the question does not arise.
        """
        return None

    def verify(self) -> Step | None:
        """How to check that the change worked: which figure to expect, and after how many days."""
        return None
