"""The schema guidelines, which of them the rules check on which engine, and `docs/guidelines.md`, which shows it."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
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
    def not_applicable(self) -> Mapping[str, str]:
        """The engines on which it does not matter, with the reason."""
        return {name: why for name in ENGINES if (why := self.why_not_on(name))}

    def why_not_on(self, engine: str) -> str:
        """Why it does not matter on the engine; empty if it does."""
        about = ENGINES[engine]
        return "" if self.id in about.own_guidelines else about.not_applicable.get(self.id, self.elsewhere)


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


def rules_of(guideline: Guideline, rules: Iterable[CheckingRule]) -> list[CheckingRule]:
    """Those of the rules that check the guideline, by code. `rules` are normally `tsaudit.rules.all_rules()`."""
    return sorted((rule for rule in rules if guideline.id in rule.guidelines), key=lambda rule: rule.code)


def states(guideline: Guideline, rules: Iterable[CheckingRule]) -> dict[str, CheckState]:
    """How far the guideline is covered on each engine, by the name of the engine."""
    # A rule may serve several guidelines, and apply to an engine where one of them does not matter.
    able = frozenset().union(*(rule.engines for rule in rules_of(guideline, rules)))
    return {
        engine: CheckState.NOT_APPLICABLE
        if engine in guideline.not_applicable
        else CheckState.CHECKED
        if engine in able
        else CheckState.OPEN
        for engine in ENGINES
    }


_INTRODUCTION: Final = (
    "What tsaudit should check, and which rule checks it on which engine. `yes`: a rule checks it; `open`: it "
    "matters on the engine and no rule checks it yet; `-`: it does not matter on the engine, for the reason "
    "below the table."
)
_GENERATED: Final = "Generated from `tsaudit/guidelines.py` and the rules by `make golden`."
_SIGNS: Final = {CheckState.CHECKED: "yes", CheckState.NOT_APPLICABLE: "-", CheckState.OPEN: "open"}


def markdown(rules: Iterable[CheckingRule]) -> str:
    """The status of every guideline as a document: one table per chapter, then the reasons for not applicable ones."""
    known = tuple(rules)
    lines = ["# Guidelines", "", _INTRODUCTION, "", _summary(known), "", _GENERATED]
    for letter, chapter in CHAPTERS.items():
        mine = [one for one in GUIDELINES if one.id.startswith(letter)]
        lines += ["", f"## {letter}. {chapter}", "", *_table(mine, known), "", *filter(None, map(_reasons, mine))]
    lines += ["", "## Advice that no rule checks", "", *(f"- {what}: {why}." for what, why in NOT_CHECKED.items())]
    return "\n".join(lines) + "\n"


def _summary(rules: Sequence[CheckingRule]) -> str:
    each = [states(one, rules) for one in GUIDELINES]
    counts = [f"{sum(of[engine] is CheckState.CHECKED for of in each)} on {engine}" for engine in ENGINES]
    some = sum(bool(rules_of(one, rules)) for one in GUIDELINES)
    return f"Of {len(GUIDELINES)} guidelines, {some} are checked on at least one engine: {', '.join(counts)}."


def _table(guidelines: Iterable[Guideline], rules: Sequence[CheckingRule]) -> list[str]:
    lines = [f"| id | guideline | rules | {' | '.join(ENGINES)} |", "|---|---|---|" + "---|" * len(ENGINES)]
    for one in guidelines:
        codes = " ".join(rule.code for rule in rules_of(one, rules))
        signs = " | ".join(_SIGNS[state] for state in states(one, rules).values())
        lines.append(f"| {one.id} | {one.title} | {codes} | {signs} |")
    return lines


def _reasons(guideline: Guideline) -> str:
    """Why the guideline does not matter on some engines, as a line; empty if it matters on all."""
    engines: dict[str, list[str]] = {}
    for engine, reason in guideline.not_applicable.items():
        engines.setdefault(reason, []).append(engine)
    each = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in engines.items())
    return f"- {guideline.id}: {each}" if each else ""
