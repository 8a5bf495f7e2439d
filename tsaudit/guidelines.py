"""The guidelines that tsaudit is to check, and which of them it does: data, and documents made from it."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from tsaudit.engines.registry import ENGINES


class Rule(Protocol):
    """What is needed of a rule here."""

    @property
    def code(self) -> str: ...
    @property
    def guidelines(self) -> tuple[str, ...]: ...
    @property
    def engines(self) -> frozenset[str]: ...


_GROUPS: Final = {
    "I2": ("influxdb1", "influxdb2"),
    "I3": ("influxdb3",),
    "GR": ("greptimedb",),
    "TS": ("timestream",),
    "MG": ("mongodb",),
    "SQL": ("duckdb", "sqlite", "postgresql"),
    "all": tuple(ENGINES),
}

CHAPTERS: Final[Mapping[str, str]] = {
    "A": "Cardinality",
    "B": "Names",
    "C": "Tags against fields, types",
    "D": "Shape of a table",
    "E": "Keys, indexes, storage options",
    "F": "Databases, retention, enforcement",
    "G": "Timestream's measure name",
    "H": "Documents",
}


class State(enum.StrEnum):
    """How far a guideline is covered on one engine."""

    CHECKED = "checked"
    """A rule checks it there."""
    MOOT = "moot"
    """It has no meaning or no effect there."""
    OPEN = "open"
    """It matters there, and no rule checks it yet."""


@dataclass(frozen=True, slots=True)
class Guideline:
    """One piece of advice on schema design."""

    id: str
    title: str
    engines: frozenset[str]
    """Where it matters."""
    moot: Mapping[str, str]
    """Every other engine, with the reason why it does not matter there."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """What one engine gets of a guideline."""

    state: State
    reason: str = ""
    """Why it is moot; empty otherwise."""


@dataclass(frozen=True, slots=True)
class Status:
    """One guideline, the rules that check it, and its coverage on every engine."""

    guideline: Guideline
    rules: tuple[str, ...]
    """Codes."""
    engines: Mapping[str, Coverage]


_I3_VALUES: Final = {"I3": "tag values are not indexed, so their number does not matter"}
_NO_TAGS: Final = {"MG": "documents have no tags; H6 judges the metaField"}
_ABSENT: Final = {"I2": "fields are stored apart from each other, so an absent one costs nothing"}
_JOINS: Final = {
    "SQL": "joining tables is what the engine is made for",
    "MG": "a document embeds what belongs together",
}
_GREPTIME: Final = {"*": "a storage option of GreptimeDB"}
_TIMESTREAM: Final = {"*": "only Timestream has measure names"}
_DOCUMENTS: Final = {"*": "only MongoDB keeps documents"}


def _guideline(id_: str, title: str, systems: str, moot: Mapping[str, str] | None = None) -> Guideline:
    where = frozenset(engine for group in systems.split() for engine in _GROUPS.get(group, (group,)))
    reasons: dict[str, str] = {}
    for group, reason in (moot or {}).items():
        members = tuple(ENGINES) if group == "*" else _GROUPS.get(group, (group,))
        reasons |= dict.fromkeys(members, reason)
    return Guideline(id_, title, where, {e: reasons[e] for e in ENGINES if e not in where})


GUIDELINES: Final = (
    _guideline("A1", "Series stay below the account's or engine's limit", "I2 TS GR SQL", _I3_VALUES | _NO_TAGS),
    _guideline("A2", "Worst case and actual number of series are both known", "I2 GR TS SQL", _I3_VALUES | _NO_TAGS),
    _guideline("A3", "Dependent tags are recognised: they add no series", "I2 GR TS SQL", _I3_VALUES | _NO_TAGS),
    _guideline("A4", "Series do not run away", "all"),
    _guideline("A5", "No log messages as tags", "I2 GR TS SQL", _I3_VALUES | _NO_TAGS),
    _guideline("A6", "No ids as tags, unless they are scoped", "I2 GR TS SQL", _I3_VALUES | _NO_TAGS),
    _guideline(
        "A7",
        "Not too many measurements or tables",
        "I2 I3 TS GR SQL",
        {"MG": "H1 judges families of collections"},
    ),
    _guideline("A8", "The tag that makes the series is known", "I2 GR TS SQL", _I3_VALUES | _NO_TAGS),
    _guideline(
        "A9",
        "Columns with few and with many values are told apart",
        "GR SQL",
        {"I2": "A5, A6 and C1 judge the values of tags and fields", "TS": "G5 judges the values of dimensions"}
        | _I3_VALUES
        | _NO_TAGS,
    ),
    _guideline("B1", "Short and simple names", "all"),
    _guideline(
        "B2",
        "No data in the names of measurements",
        "I2 I3 TS MG",
        {"*": "tables are declared, not made by a write; families of names are reported under A7"},
    ),
    _guideline(
        "B3", "One attribute per tag or field value", "I2 I3 GR TS SQL", {"MG": "attributes nest; H4 judges fields"}
    ),
    _guideline("B4", "No data in the names of tags and fields", "all"),
    _guideline(
        "B5",
        "No reserved words and no special characters in names",
        "I3 I2 GR TS SQL",
        {"MG": "names are quoted text in every query"},
    ),
    _guideline(
        "B6",
        "No name used for both a tag and a field",
        "I2",
        {"*": "a table has one column per name", "I3": "the server refuses a write that would make one"},
    ),
    _guideline(
        "C1",
        "Metadata that queries filter by is in tags",
        "I2 GR TS SQL",
        {"I3": "neither tag nor field values are indexed, so both filter alike"} | _NO_TAGS,
    ),
    _guideline(
        "C2",
        "Measured values are in fields",
        "I2 GR TS SQL",
        _I3_VALUES | _NO_TAGS,
    ),
    _guideline("C3", "Values have the type that fits", "I2 I3 GR TS SQL", {"MG": "H4 judges the types of fields"}),
    _guideline(
        "C4",
        "Numbers, times and positions are no text dimensions",
        "TS",
        {"*": "C2 and C3 judge text that holds numbers", "MG": "H4 judges the types of fields"},
    ),
    _guideline(
        "C5",
        "Tags are short texts or integers",
        "GR",
        {"I2": "tag values are always text", "I3": "tag values are always text", "TS": "C4 judges dimensions"}
        | {"SQL": "any type serves in a key"}
        | _NO_TAGS,
    ),
    _guideline(
        "C6",
        "Attributes that change are measures",
        "TS GR I2",
        {"SQL": "no index of series is kept that a changed attribute would enlarge"} | _I3_VALUES | _NO_TAGS,
    ),
    _guideline(
        "C7",
        "One type per field or measure name",
        "I2 MG",
        {
            "*": "a column has one type",
            "TS": "a record that brings another type is rejected",
            "sqlite": "C3 judges values that differ from the column's type",
        },
    ),
    _guideline("D1", "No wide tables", "I3 GR TS SQL", _ABSENT | {"MG": "documents have no columns; H4 judges fields"}),
    _guideline(
        "D2",
        "Not too many tags",
        "I3 GR I2 SQL",
        {"TS": "dimensions are part of no sort key and bounded by the service"} | _NO_TAGS,
    ),
    _guideline("D3", "No sparse tables", "I3 GR TS SQL MG", _ABSENT),
    _guideline("D4", "Rows of one measurement fill the same columns", "I3 GR TS SQL MG", _ABSENT),
    _guideline(
        "D5",
        "Fields of one source share a timestamp",
        "I3 GR TS SQL",
        _ABSENT | {"MG": "the fields of a document share its time"},
    ),
    _guideline("D6", "Related fields are in one measurement", "I2 I3 GR TS", _JOINS),
    _guideline(
        "D7",
        "Metrics taken at the same time are in one wide table",
        "GR TS",
        {"I2": "D6 says the same", "I3": "D6 says the same"} | _JOINS,
    ),
    _guideline("D8", "Metrics and events are kept apart", "I2 TS", {"*": "regular times bring nothing in its storage"}),
    _guideline("E1", "Values of the primary key are bounded", "GR", _GREPTIME),
    _guideline("E2", "No primary key where none is needed", "GR", _GREPTIME),
    _guideline("E3", "Not every column with few values is a tag", "GR", _GREPTIME),
    _guideline(
        "E4", "No ids in the primary key", "GR", _GREPTIME | {"I2": "A6 says the same", "TS": "G5 says the same"}
    ),
    _guideline("E5", "Inverted index on filter columns with few values", "GR", _GREPTIME),
    _guideline("E6", "Skipping index on columns with many values", "GR", _GREPTIME),
    _guideline("E7", "Full-text index on log text", "GR", _GREPTIME),
    _guideline(
        "E8",
        "No needless indexes",
        "GR SQL",
        {"*": "indexes are made by the engine, not by the user", "MG": "H2 judges the index of an id"},
    ),
    _guideline("E9", "Append mode where nothing has to be deduplicated", "GR", _GREPTIME),
    _guideline("E10", "Merge mode that fits the writes", "GR", _GREPTIME),
    _guideline("E11", "One time index, the right one", "GR", _GREPTIME),
    _guideline(
        "E12",
        "Partitions even and by what queries filter by, not by time",
        "GR postgresql",
        {"*": "the engine partitions by itself", "duckdb": "a table has no partitions"}
        | {"sqlite": "a table has no partitions"},
    ),
    _guideline("E13", "No partitions before one machine is too small", "GR", _GREPTIME),
    _guideline(
        "F1",
        "One retention per database: data with another lifetime is apart",
        "I2 I3 TS GR postgresql",
        {
            "SQL": "rows stay until they are deleted; the engine has no retention to set",
            "MG": "expiry is set for each collection",
        },
    ),
    _guideline(
        "F2",
        "One database, one per user or one per customer: a choice that is known",
        "I2 I3 TS MG",
        {"GR": "rights are given per table", "SQL": "rights are given per table or row"},
    ),
    _guideline("F3", "The schema is enforced", "all"),
    _guideline(
        "F4",
        "Different encryption or access: different databases",
        "TS",
        {"*": "encryption keys are not set for each database"},
    ),
    _guideline("G1", "Measure names stay below the table's limit", "TS", _TIMESTREAM),
    _guideline("G2", "The measure name separates kinds of records", "TS", _TIMESTREAM),
    _guideline("G3", "Multi-measure records where values share an instant", "TS", _TIMESTREAM),
    _guideline("G4", "Single-measure records where they do not", "TS", _TIMESTREAM),
    _guideline("G5", "No id of a single point as a dimension", "TS", {"*": "A6 says the same"} | _I3_VALUES | _NO_TAGS),
    _guideline("G6", "Measure names made by hashing are out of date", "TS", _TIMESTREAM),
    _guideline("G7", "Partition keys that queries use", "TS", _TIMESTREAM),
    _guideline(
        "H1",
        "No collection or table per period",
        "MG I2 I3 TS GR",
        {"SQL": "a table per period is how such engines partition; the number of tables is reported under A7"},
    ),
    _guideline("H2", "The document's own `_id` is used", "MG", _DOCUMENTS),
    _guideline("H3", "Closed periods are rolled up and dropped", "MG", _DOCUMENTS),
    _guideline("H4", "A store without a schema still has one", "MG", _DOCUMENTS | {"I2": "F3 says the same"}),
    _guideline(
        "H5",
        "Growth is planned for",
        "I2 I3 GR SQL MG",
        {"TS": "the API tells no bytes of a table, and there is no disk that fills: what is stored is paid for"},
    ),
    _guideline("H6", "The store's limits are known and it is used for what it does", "MG", _DOCUMENTS),
)
"""All of them, in order."""


def engines_of(ids: Iterable[str]) -> frozenset[str]:
    """Where at least one of the guidelines matters."""
    wanted = set(ids)
    return frozenset().union(*(g.engines for g in GUIDELINES if g.id in wanted))


def status(rules: Iterable[Rule]) -> tuple[Status, ...]:
    """Every guideline with the rules that check it. `rules` are normally `tsaudit.rules.all_rules()`."""
    known = tuple(rules)
    return tuple(_status(guideline, [r for r in known if guideline.id in r.guidelines]) for guideline in GUIDELINES)


def _status(guideline: Guideline, rules: list[Rule]) -> Status:
    # A rule may serve several guidelines, and work where one of them has no meaning.
    checked = guideline.engines.intersection(frozenset().union(*(r.engines for r in rules)))

    def coverage(engine: str) -> Coverage:
        if engine in checked:
            return Coverage(State.CHECKED)
        if engine in guideline.moot:
            return Coverage(State.MOOT, guideline.moot[engine])
        return Coverage(State.OPEN)

    return Status(guideline, tuple(sorted(r.code for r in rules)), {e: coverage(e) for e in ENGINES})


def as_json(rules: Iterable[Rule]) -> str:
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
    "What tsaudit is to check, and which rule does so on which engine. `yes`: a rule checks it there; `open`: it "
    "matters there and no rule checks it yet; `-`: it does not matter there, for the reason given below the table."
)
_GENERATED: Final = "Generated from `tsaudit/guidelines.py` and the rules; `make golden` writes it anew."
_SIGNS: Final = {State.CHECKED: "yes", State.MOOT: "-", State.OPEN: "open"}


def markdown(rules: Iterable[Rule]) -> str:
    """The status of every guideline as a document: one table per chapter, then why something is moot."""
    rows = status(rules)
    lines = ["# Guidelines", "", _INTRODUCTION, "", _summary(rows), "", _GENERATED]
    for letter, chapter in CHAPTERS.items():
        mine = [s for s in rows if s.guideline.id.startswith(letter)]
        lines += ["", f"## {letter}. {chapter}", "", *_table(mine), "", *_reasons(mine)]
    return "\n".join(lines) + "\n"


def _summary(rows: Iterable[Status]) -> str:
    every = tuple(rows)
    counts = [f"{sum(s.engines[e].state is State.CHECKED for s in every)} on {e}" for e in ENGINES]
    some = sum(bool(s.rules) for s in every)
    return f"Of {len(every)} guidelines {some} are checked on at least one engine: {', '.join(counts)}."


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
            if coverage.state is State.MOOT:
                engines.setdefault(coverage.reason, []).append(engine)
        if engines:
            lines.append(f"- {s.guideline.id}: " + "; ".join(f"{', '.join(e)}: {r}" for r, e in engines.items()))
    return lines
