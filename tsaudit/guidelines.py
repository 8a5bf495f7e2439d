"""The schema guidelines, which of them the rules check on which engine, and `docs/guidelines.md`, which shows it."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterable, Mapping
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


GUIDELINES: Final = (
    Guideline("A1", "Series stay below the account's or engine's limit"),
    Guideline("A2", "Worst case and actual number of series are both known"),
    Guideline("A3", "Dependent tags are recognized: they add no series"),
    Guideline("A4", "Series do not grow without bound"),
    Guideline("A5", "No log messages as tags"),
    Guideline("A6", "No IDs as tags, unless they are scoped"),
    Guideline("A7", "Not too many measurements or tables"),
    Guideline("A8", "The tag that causes the series is known"),
    Guideline("A9", "Columns with few and with many values are treated differently"),
    Guideline("B1", "Short and simple names"),
    Guideline(
        "B2",
        "No data in the names of measurements",
        "tables are declared, not created by a write; families of names are reported under A7",
    ),
    Guideline("B3", "One attribute per tag or field value"),
    Guideline("B4", "No data in the names of tags and fields"),
    Guideline("B5", "No reserved words and no special characters in names"),
    Guideline("B6", "No name used for both a tag and a field", "a table has one column per name"),
    Guideline("C1", "Metadata that queries filter by is in tags"),
    Guideline("C2", "Measured values are in fields"),
    Guideline("C3", "Values have a fitting type"),
    Guideline("C4", "No numbers, times, or positions as text dimensions", "C2 and C3 cover text that contains numbers"),
    Guideline("C5", "Tags are short texts or integers"),
    Guideline("C6", "Attributes that change are measures"),
    Guideline("C7", "One type per field or measure name", "a column has one type"),
    Guideline("D1", "No wide tables"),
    Guideline("D2", "Not too many tags"),
    Guideline("D3", "No sparse tables"),
    Guideline("D4", "Rows of one measurement fill the same columns"),
    Guideline("D5", "Fields of one source share a timestamp"),
    Guideline("D6", "Related fields are in one measurement"),
    Guideline("D7", "Metrics taken at the same time are in one wide table"),
    Guideline("D8", "Metrics and events are separate", "regular timestamps make no difference to its storage"),
    Guideline("E1", "Values of the primary key are bounded", "a storage option of GreptimeDB"),
    Guideline("E2", "No primary key where none is needed", "a storage option of GreptimeDB"),
    Guideline("E3", "Not every column with few values is a tag", "a storage option of GreptimeDB"),
    Guideline("E4", "No IDs in the primary key", "a storage option of GreptimeDB"),
    Guideline("E5", "Inverted index on filter columns with few values", "a storage option of GreptimeDB"),
    Guideline("E6", "Skipping index on columns with many values", "a storage option of GreptimeDB"),
    Guideline("E7", "Full-text index on log text", "a storage option of GreptimeDB"),
    Guideline("E8", "No redundant or unused indexes", "the engine creates indexes, not the user"),
    Guideline("E9", "Append mode if nothing has to be deduplicated", "a storage option of GreptimeDB"),
    Guideline("E10", "Merge mode fits the writes", "a storage option of GreptimeDB"),
    Guideline("E11", "One time index, on the right column", "a storage option of GreptimeDB"),
    Guideline(
        "E12",
        "Partitions are even and by the columns that queries filter by, not by time",
        "the engine partitions automatically",
    ),
    Guideline("E13", "No partitions while one machine is large enough", "a storage option of GreptimeDB"),
    Guideline("F1", "One retention per database: data with another retention is separate"),
    Guideline("F2", "One database, one per user, or one per tenant: a deliberate choice"),
    Guideline("F3", "The schema is enforced"),
    Guideline("F4", "Different encryption or access: different databases", "encryption keys are not set per database"),
    Guideline("G1", "Measure names stay below the table's limit", "only Timestream has measure names"),
    Guideline("G2", "The measure name separates kinds of records", "only Timestream has measure names"),
    Guideline("G3", "Multi-measure records if values share a timestamp", "only Timestream has measure names"),
    Guideline("G4", "Single-measure records if they do not", "only Timestream has measure names"),
    Guideline("G5", "No ID of a single point as a dimension", "A6 covers the same"),
    Guideline("G6", "No hashed measure names, which are outdated", "only Timestream has measure names"),
    Guideline("G7", "Partition keys that queries use", "only Timestream has measure names"),
    Guideline("H1", "No collection or table per period"),
    Guideline("H2", "The document's own `_id` is used", "only MongoDB stores documents"),
    Guideline("H3", "Closed periods are rolled up and dropped", "only MongoDB stores documents"),
    Guideline("H4", "A schemaless store still has a schema", "only MongoDB stores documents"),
    Guideline("H5", "Capacity is planned for growth"),
    Guideline("H6", "The store's limits are known, and it is used for its purpose", "only MongoDB stores documents"),
)
"""All guidelines, in order."""

NOT_CHECKED: Final[Mapping[str, str]] = {
    "Tables follow the queries that are run (access patterns)": (
        "databases keep no record of their queries, or only with an extension and permissions that an audit should not "
        "need; on Timestream, G7 checks scheduled queries"
    ),
    "A table without indexes is the baseline, and a slow query is the reason for one": (
        "it is not known which queries are slow; the findings of E5 and E6 are notes where only queries could "
        "show the need, and that of E7 assumes that log text is there to be searched and says when to ignore it"
    ),
    "A table is partitioned when a machine's throughput, or half of its CPU, is used up": (
        "the load of a machine is no part of a schema, and servers do not show it to a user who may only read; E13 "
        "checks the other side, partitions of tables that are small"
    ),
    "Metrics are downsampled by regular tasks": (
        "whether a coarser copy would do is up to whoever reads the data, and tasks that run outside the database "
        "cannot be seen; F1 and H3 check whether raw data is ever deleted"
    ),
    "Rows have the same keys": "D3 and D4 check what differs between rows",
    "Queries read few long strings": "which queries read them is not recorded, and what nobody reads costs little",
}
"""Advice in the sources of the guidelines that is none of them, with the reason why no rule checks it."""


def matters(guideline: str, engine: str) -> bool:
    """Whether the guideline with this ID matters on the engine."""
    return any(one.id == guideline and not one.why_not_on(engine) for one in GUIDELINES)


def status(rules: Iterable[CheckingRule]) -> tuple[Status, ...]:
    """Every guideline with the rules that check it. `rules` are normally `tsaudit.rules.all_rules()`."""
    known = tuple(rules)
    return tuple(_status(guideline, [r for r in known if guideline.id in r.guidelines]) for guideline in GUIDELINES)


def _status(guideline: Guideline, rules: list[CheckingRule]) -> Status:
    # A rule may serve several guidelines, and apply to an engine where one of them does not matter.
    checked = guideline.engines.intersection(frozenset().union(*(r.engines for r in rules)))

    def coverage(engine: str) -> Coverage:
        if engine in checked:
            return Coverage(CheckState.CHECKED)
        if engine in guideline.not_applicable:
            return Coverage(CheckState.NOT_APPLICABLE, guideline.not_applicable[engine])
        return Coverage(CheckState.OPEN)

    return Status(guideline, tuple(sorted(r.code for r in rules)), {e: coverage(e) for e in ENGINES})


def as_json(rules: Iterable[CheckingRule]) -> str:
    """The status of every guideline as a JSON list."""
    rows = [
        {
            "id": s.guideline.id,
            "title": s.guideline.title,
            "rules": list(s.rules),
            "engines": {
                engine: {"state": str(c.state)} | ({"reason": c.reason} if c.reason else {})
                for engine, c in s.engines.items()
            },
        }
        for s in status(rules)
    ]
    return json.dumps(rows, indent=2, ensure_ascii=False)


_INTRODUCTION: Final = (
    "What tsaudit should check, and which rule checks it on which engine. `yes`: a rule checks it; `open`: it "
    "matters on the engine and no rule checks it yet; `-`: it does not matter on the engine, for the reason "
    "below the table."
)
_GENERATED: Final = "Generated from `tsaudit/guidelines.py` and the rules by `make golden`."
_SIGNS: Final = {CheckState.CHECKED: "yes", CheckState.NOT_APPLICABLE: "-", CheckState.OPEN: "open"}


def markdown(rules: Iterable[CheckingRule]) -> str:
    """The status of every guideline as a document: one table per chapter, then the reasons for not applicable ones."""
    rows = status(rules)
    lines = ["# Guidelines", "", _INTRODUCTION, "", _summary(rows), "", _GENERATED]
    for letter, chapter in CHAPTERS.items():
        mine = [s for s in rows if s.guideline.id.startswith(letter)]
        lines += ["", f"## {letter}. {chapter}", "", *_table(mine), "", *_reasons(mine)]
    lines += ["", "## Advice that no rule checks", "", *(f"- {what}: {why}." for what, why in NOT_CHECKED.items())]
    return "\n".join(lines) + "\n"


def _summary(rows: Iterable[Status]) -> str:
    every = tuple(rows)
    counts = [f"{sum(s.engines[e].state is CheckState.CHECKED for s in every)} on {e}" for e in ENGINES]
    some = sum(bool(s.rules) for s in every)
    return f"Of {len(every)} guidelines, {some} are checked on at least one engine: {', '.join(counts)}."


def _table(rows: Iterable[Status]) -> list[str]:
    lines = [f"| id | guideline | rules | {' | '.join(ENGINES)} |", "|---|---|---|" + "---|" * len(ENGINES)]
    for s in rows:
        signs = " | ".join(_SIGNS[s.engines[e].state] for e in ENGINES)
        lines.append(f"| {s.guideline.id} | {s.guideline.title} | {' '.join(s.rules)} | {signs} |")
    return lines


def _reasons(rows: Iterable[Status]) -> list[str]:
    lines = []
    for s in rows:
        engines: dict[str, list[str]] = {}
        for engine, coverage in s.engines.items():
            if coverage.state is CheckState.NOT_APPLICABLE:
                engines.setdefault(coverage.reason, []).append(engine)
        if engines:
            lines.append(f"- {s.guideline.id}: " + "; ".join(f"{', '.join(e)}: {r}" for r, e in engines.items()))
    return lines
