"""The schema guidelines, and on which engines each of them matters."""

from __future__ import annotations

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


def matters(guideline: str, engine: str) -> bool:
    """Whether the guideline with this ID matters on the engine."""
    return any(one.id == guideline and not one.why_not_on(engine) for one in GUIDELINES)


def rules_of(guideline: Guideline, rules: Iterable[CheckingRule]) -> list[CheckingRule]:
    """Those of the rules that check the guideline, by code. `rules` are normally `tsaudit.rules.all_rules()`."""
    return sorted((rule for rule in rules if guideline.id in rule.guidelines), key=lambda rule: rule.code)
