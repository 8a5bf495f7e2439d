"""A plan: all changes to one measurement, what they would do, and how the engine makes them, step by step."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import timedelta

from tsaudit.model.change import AnyChange
from tsaudit.model.subject import Subject


class Phase(enum.StrEnum):
    """When a step is made; a plan's steps come in this order."""

    LOOK = "look"
    """It only reads."""
    WRITE = "write"
    """What writers send from now on."""
    PREPARE = "prepare"
    """Adds what was not there, such as an index or a new table."""
    COPY = "copy"
    CHECK = "check"
    """Proves that nothing was lost."""
    SWITCH = "switch"
    """The new takes the place of the old."""
    REMOVE = "remove"

    @property
    def rank(self) -> int:
        return list(Phase).index(self)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a plan."""

    phase: Phase
    words: str
    """What is done and why: whole sentences, in the engine's terms."""
    text: str = ""
    """The statement, command or setting, to be used as it is; empty where words say all."""
    language: str = ""
    """Of `text`: `sql`, `influxql`, `flux`, `mongosh`, `sh`, `toml` or `yaml`."""
    can_undo: bool = True
    locks: str = ""
    """Who waits meanwhile; empty: nobody."""
    cost: str = ""
    """What it reads or writes; empty: next to nothing."""
    loses: str = ""
    """What is gone afterwards, and how much of it; empty: nothing. A step that loses something is a decision to be
    made, not a statement to paste."""
    repeat_every: timedelta | None = None
    """`text` is about a span of time this long, the newest one, and is to be repeated for each one before it. None: it
    is about all rows."""
    rules: tuple[str, ...] = ()
    """Codes of the rules that ask for it."""

    @property
    def needs_decision(self) -> bool:
        return bool(self.loses)


@dataclass(frozen=True, slots=True)
class Asked:
    """A change, and who asks for it."""

    change: AnyChange
    rules: tuple[str, ...]
    """Their codes, worst finding first."""


@dataclass(frozen=True, slots=True)
class SetAside:
    """A change that is left out of the plan."""

    change: AnyChange
    rules: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Effect:
    """What the changes of a plan would do, all of them together."""

    series_now: int | None = None
    """None: the changes do not touch the series, or they were not counted."""
    series_after: int | None = None
    """None: not known."""
    is_exact: bool = True
    """Whether so many series are left, and not at most so many."""
    collisions: int | None = None
    """Rows that would have the tags and the time of another row; None: not known, which `collisions_how` explains."""
    collisions_how: str = ""
    """Among which rows, or why it is not known; empty where no change could make rows collide."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done about one measurement, or about a database as a whole."""

    subject: Subject
    changes: tuple[Asked, ...]
    steps: tuple[Step, ...]
    effect: Effect = Effect()
    set_aside: tuple[SetAside, ...] = ()
