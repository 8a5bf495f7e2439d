"""A plan: what to do about findings that ask for the same changes, in at most five steps that fit on a screen."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from tsaudit.model.change import AnyChange, Change
from tsaudit.model.figures import Subject


class StepKind(enum.StrEnum):
    """What a step is for. A plan has at most one step of each kind, in this order; the schema comes before the writers
    if it has something new for them to write to, and first if it only gains time.
    """

    FIND = "find"
    """A query that shows who writes the data; it changes nothing."""
    WRITER = "writer"
    """What writers should send from now on, with the setting of the program that writes the data."""
    SCHEMA = "schema"
    """The statement that changes the schema or, where the engine cannot alter it, the DDL of a new table."""
    STORED = "stored"
    """What happens to the data stored so far, and how much of it is lost."""
    VERIFY = "verify"
    """How to check that the change worked: which figure to expect, and after how many days."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a plan."""

    kind: StepKind
    words: str
    """What to do and why: complete sentences, in the engine's terms."""
    text: str = ""
    """The statement, command, or setting, ready to use; empty if the words are enough."""
    language: str = ""
    """Language of `text`: `sql`, `influxql`, `flux`, `mongosh`, `sh`, `toml`, `yaml`, `alloy`, `text` of an example."""
    locks: str = ""
    """Which statements have to wait while this one runs; empty: none."""
    cost: str = ""
    """What the step reads or writes; empty: almost nothing."""
    loses: str = ""
    """What is lost by the step, and how much of it; empty: nothing."""


@dataclass(frozen=True, slots=True)
class Requested:
    """A change, and the rules that ask for it."""

    change: AnyChange
    rules: tuple[str, ...]
    """Codes of the rules, worst finding first."""


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
    """Number of rows that were compared."""
    scope: str = ""
    """Which rows were compared, such as `10 minutes on 2026-11-24`; empty: all rows."""
    is_exact: bool = True
    """Whether `rows` is exact for the rows compared; otherwise it is a minimum."""

    @property
    def is_none(self) -> bool:
        """Whether it is proven that no row would overwrite another."""
        return self.rows == 0 and self.is_exact and not self.scope


@dataclass(frozen=True, slots=True)
class Effect:
    """The combined effect of a plan's changes."""

    series_now: int | None = None
    """Series before the changes. None: the changes do not affect the series, or the series were not counted."""
    series_after: int | None = None
    """Series after the changes; None: not known."""
    is_exact: bool = True
    """Whether `series_after` is exact; otherwise it is a maximum."""
    scope: str = ""
    """The rows among which the series were counted, in words; empty: all rows."""
    limit: float | None = None
    """The series limit of a finding in the plan; None: no finding has one."""
    next_tag: str = ""
    """The tag to change next if too many series are left (over the limit, or more than half); or empty."""
    enough: tuple[str, ...] = ()
    """The tags that have to be changed in total, including those of the plan; empty if it suffices, or unknown."""
    loss: Loss | None = None
    """Stored rows that would be overwritten without the tags that the plan drops or turns into fields. None: no change
    could make rows overwrite each other, or no rows were compared (`loss_unknown`).
    """
    loss_unknown: str = ""
    """Why no rows were compared, though a change could make rows overwrite each other; empty otherwise."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do about one measurement, about several that need the same changes, or about a database as a whole."""

    subject: Subject
    """The measurement of the worst finding, or the database."""
    changes: tuple[Requested, ...]
    """The changes to `subject`; the same changes apply to each subject of `also`."""
    steps: tuple[Step, ...]
    """At most one of each kind, in the order of `StepKind`; never empty."""
    effect: Effect = Effect()
    also: tuple[Subject, ...] = ()
    """Other measurements that need the same changes."""
    left_out: tuple[LeftOut, ...] = ()

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """All subjects of the plan."""
        return (self.subject, *self.also)

    @property
    def rules(self) -> tuple[str, ...]:
        """The codes of the rules that ask for the plan's changes."""
        return tuple(dict.fromkeys(rule for one in self.changes for rule in one.rules))

    def makes(self, change: Change) -> bool:
        """Whether the change, as a finding asks for it, is part of the plan."""
        return change.at in self.subjects and any(_says(one.change, change) for one in self.changes)


def _says(made: Change, change: Change) -> bool:
    """Whether `made` is the change itself, or one that includes it."""
    if type(made) is not type(change):
        return False
    claims = change.claims()
    return made.likeness() == change.likeness() or (bool(claims) and claims.items() <= made.claims().items())
