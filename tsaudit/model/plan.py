"""A plan: what to do about findings that ask for the same changes, in at most five steps that fit on a screen."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from tsaudit.model.change import AnyChange, Change
from tsaudit.model.subject import Subject


class StepKind(enum.StrEnum):
    """What a step is for. A plan has at most one step of each kind, in this order."""

    FIND = "find"
    """A query that shows who writes the data. It only reads."""
    WRITER = "writer"
    """What writers send from now on, with the setting of the program that writes it."""
    SCHEMA = "schema"
    """The statement that changes the schema or, where the engine cannot alter it, the DDL of a new table."""
    STORED = "stored"
    """What becomes of the data stored until then, and how much of it is lost."""
    VERIFY = "verify"
    """How to see that it worked: a figure, and after how many days."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a plan."""

    kind: StepKind
    words: str
    """What to do and why: complete sentences, in the engine's terms."""
    text: str = ""
    """The statement, command, or setting, ready to use; empty if the words are enough."""
    language: str = ""
    """Of `text`: `sql`, `influxql`, `flux`, `mongosh`, `sh`, `toml`, `yaml`, `alloy`, or `text` for an example."""
    locks: str = ""
    """Who has to wait while the statement runs; empty: nobody."""
    cost: str = ""
    """What it reads or writes; empty: almost nothing."""
    loses: str = ""
    """What is lost, and how much of it; empty: nothing."""


@dataclass(frozen=True, slots=True)
class Requested:
    """A change, and the rules that ask for it."""

    change: AnyChange
    rules: tuple[str, ...]
    """Their codes, worst finding first."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A change that is not part of the plan."""

    change: AnyChange
    rules: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Loss:
    """Stored rows that would end up with the same tags and time as another one, and overwrite it."""

    rows: int
    compared: int
    """Rows that were compared."""
    scope: str = ""
    """Which rows those are, such as `10 minutes on 2026-11-24`; empty: all rows."""
    is_exact: bool = True
    """Whether `rows` is exact for the rows compared; otherwise at least as many."""

    @property
    def is_none(self) -> bool:
        """Whether it is proven that no row would overwrite another one."""
        return self.rows == 0 and self.is_exact and not self.scope


@dataclass(frozen=True, slots=True)
class Effect:
    """What the changes of a plan achieve together."""

    series_now: int | None = None
    """None: the changes do not affect the series, or the series were not counted."""
    series_after: int | None = None
    """None: not known."""
    is_exact: bool = True
    """Whether exactly this many series are left; otherwise at most this many."""
    scope: str = ""
    """Among which rows the series were counted; empty where all of them were."""
    limit: float | None = None
    """The limit on series that a finding of the plan compares with; None: none."""
    next_tag: str = ""
    """The tag to change next, if too many series are left (over the limit, or more than half); empty: none, or none
    is known.
    """
    enough: tuple[str, ...] = ()
    """The tags that suffice together, those of the plan included; empty if the plan suffices, or if none are known."""
    loss: Loss | None = None
    """Of stored rows, without the tags that the plan drops or turns into fields. None: no change could make rows
    overwrite each other, or no rows were compared (`loss_unknown`).
    """
    loss_unknown: str = ""
    """Why no rows were compared, though a change could make rows overwrite each other; empty otherwise."""

    @property
    def keeps_rows(self) -> bool:
        """Whether no row could overwrite another one: no change touches what identifies a row, or it is proven."""
        return not self.loss_unknown and (self.loss is None or self.loss.is_none)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do about one measurement, about several that need the same changes, or about a database as a whole."""

    subject: Subject
    """The measurement of the worst finding, or the database."""
    changes: tuple[Requested, ...]
    """Of `subject`; the same apply to each of `also`."""
    steps: tuple[Step, ...]
    """At most one of each kind, in the order of `StepKind`; never empty."""
    effect: Effect = Effect()
    also: tuple[Subject, ...] = ()
    """Other measurements that need the same changes."""
    left_out: tuple[LeftOut, ...] = ()

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """All that it is about."""
        return (self.subject, *self.also)

    @property
    def rules(self) -> tuple[str, ...]:
        """The codes of the rules that ask for it."""
        return tuple(dict.fromkeys(rule for one in self.changes for rule in one.rules))

    def makes(self, change: Change) -> bool:
        """Whether the change, as a finding asks for it, is part of the plan."""
        return change.at in self.subjects and any(_says(one.change, change) for one in self.changes)


def _says(made: Change, change: Change) -> bool:
    """Whether the change is made, or one that decides more."""
    if type(made) is not type(change):
        return False
    claims = change.claims()
    return made.likeness() == change.likeness() or (bool(claims) and claims.items() <= made.claims().items())
