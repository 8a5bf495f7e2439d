"""A plan: all changes to one measurement, their effect, and how the engine makes them, step by step."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import timedelta

from tsaudit.model.change import AnyChange
from tsaudit.model.subject import Subject


class Phase(enum.StrEnum):
    """When a step is made; the steps of a plan are in this order."""

    LOOK = "look"
    """Only reads."""
    WRITE = "write"
    """Changes what writers send from now on."""
    PREPARE = "prepare"
    """Adds something new, such as an index or a table."""
    COPY = "copy"
    CHECK = "check"
    """Proves that nothing was lost."""
    SWITCH = "switch"
    """Puts the new in place of the old."""
    REMOVE = "remove"

    @property
    def rank(self) -> int:
        return list(Phase).index(self)


@dataclass(frozen=True, slots=True)
class Copied:
    """What a program writes of one column that it reads."""

    column: str
    """As the statement returns it."""
    was_tag: bool
    name: str
    """As it is to be written."""
    is_tag: bool
    type: str = ""
    """Of a field as it is stored: `float`, `integer`, `string`, or `boolean`; answers in JSON do not tell 1 from 1.0.
    """
    to: str = ""
    """What its values are converted to: `integer`, `float`, `boolean`, or `time`, which is an integer, in nanoseconds
    since 1970. Empty: they are not.
    """
    pattern: str = ""
    """A regular expression for the whole value, with a group for each of `parts`; empty: values are not split."""
    parts: tuple[str, ...] = ()
    """What the groups are written as, in place of the column."""
    unfit: str = ""
    """What a value that does not convert, or that the pattern does not match, is written as, with the type and the role
    it has; empty: all values fit.
    """


@dataclass(frozen=True, slots=True)
class Copy:
    """What a program writes where no statement copies rows: of each row that the step's statement reads, one row."""

    place: tuple[str, ...]
    """Where it writes: the database, and the retention policy if the engine has them."""
    into: str
    """The measurement."""
    columns: tuple[Copied, ...]
    """All columns to write, the time aside. Of a row that has none of these fields, nothing is written."""
    tags: tuple[tuple[str, str], ...] = ()
    """Tags that are the same for all rows."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a plan."""

    phase: Phase
    words: str
    """What is done and why: complete sentences, in the engine's terms."""
    text: str = ""
    """The statement, command, or setting, ready to use; empty if the words are enough."""
    language: str = ""
    """Language of `text`: `sql`, `influxql`, `flux`, `mongosh`, `sh`, `toml`, or `yaml`."""
    can_undo: bool = True
    locks: str = ""
    """Who has to wait meanwhile; empty: nobody."""
    cost: str = ""
    """What it reads or writes; empty: almost nothing."""
    loses: str = ""
    """What is lost, and how much of it; empty: nothing. A step that loses something is a decision to make, not a
    statement to paste.
    """
    repeat_every: timedelta | None = None
    """`text` covers this period, the newest one, and has to be repeated for each earlier one. None: it covers
    all rows.
    """
    rules: tuple[str, ...] = ()
    """Codes of the rules that require it."""
    copy: Copy | None = None
    """What a program writes of the rows that `text` reads. None: `text` does all itself, or `words` have to do."""

    @property
    def needs_decision(self) -> bool:
        return bool(self.loses)


@dataclass(frozen=True, slots=True)
class Asked:
    """A change, and the rules that require it."""

    change: AnyChange
    rules: tuple[str, ...]
    """Their codes, worst finding first."""


@dataclass(frozen=True, slots=True)
class SetAside:
    """A change that is not part of the plan."""

    change: AnyChange
    rules: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Effect:
    """The combined effect of the changes of a plan."""

    series_now: int | None = None
    """None: the changes do not affect the series, or the series were not counted."""
    series_after: int | None = None
    """None: not known."""
    is_exact: bool = True
    """Whether exactly this many series are left; otherwise at most this many."""
    collisions: int | None = None
    """Rows that would have the same tags and time as another row; None: not known, see `collisions_how`."""
    collisions_how: str = ""
    """Among which rows, or why it is not known; empty where no change could make rows collide."""
    collisions_exact: bool = True
    """Whether `collisions` is about all rows that `collisions_how` names, and not about a sample of them: only then
    does 0 mean that nothing is lost."""
    series_how: str = ""
    """Among which rows the series were counted; empty where all of them were."""

    @property
    def keeps_rows(self) -> bool:
        """Whether it is known that no row gets the tags and the time of another one."""
        return not self.collisions_how or (self.collisions == 0 and self.collisions_exact)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do about one measurement, or about a database as a whole."""

    subject: Subject
    changes: tuple[Asked, ...]
    steps: tuple[Step, ...]
    effect: Effect = Effect()
    set_aside: tuple[SetAside, ...] = ()
