"""The guidelines, in the order in which documents list them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from tsaudit.engines.registry import ENGINES
from tsaudit.guidelines.guideline import Guideline

_GROUPS: Final = {
    "I2": ("influxdb1", "influxdb2"),
    "I3": ("influxdb3",),
    "GR": ("greptimedb",),
    "TS": ("timestream",),
    "MG": ("mongodb",),
    "SQL": ("duckdb", "sqlite", "postgresql"),
    "all": tuple(ENGINES),
}
_I3_VALUES: Final = {"I3": "tag values are not indexed, so their number does not matter"}
_NO_TAGS: Final = {"MG": "documents have no tags; H6 covers the metaField"}
_ABSENT: Final = {"I2": "fields are stored separately, so an absent one costs nothing"}
_JOINS: Final = {
    "SQL": "the engine is built to join tables",
    "MG": "a document embeds related data",
}
_GREPTIME: Final = {"*": "a storage option of GreptimeDB"}
_TIMESTREAM: Final = {"*": "only Timestream has measure names"}
_DOCUMENTS: Final = {"*": "only MongoDB stores documents"}


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
    _guideline("A3", "Dependent tags are recognized: they add no series", "I2 GR TS SQL", _I3_VALUES | _NO_TAGS),
    _guideline("A4", "Series do not grow without bound", "all"),
    _guideline("A5", "No log messages as tags", "I2 GR TS SQL", _I3_VALUES | _NO_TAGS),
    _guideline("A6", "No IDs as tags, unless they are scoped", "I2 GR TS SQL", _I3_VALUES | _NO_TAGS),
    _guideline(
        "A7",
        "Not too many measurements or tables",
        "I2 I3 TS GR SQL",
        {"MG": "H1 covers families of collections"},
    ),
    _guideline("A8", "The tag that causes the series is known", "I2 GR TS SQL", _I3_VALUES | _NO_TAGS),
    _guideline(
        "A9",
        "Columns with few and with many values are treated differently",
        "GR SQL",
        {"I2": "A5, A6, and C1 cover the values of tags and fields", "TS": "G5 covers the values of dimensions"}
        | _I3_VALUES
        | _NO_TAGS,
    ),
    _guideline("B1", "Short and simple names", "all"),
    _guideline(
        "B2",
        "No data in the names of measurements",
        "I2 I3 TS MG",
        {"*": "tables are declared, not created by a write; families of names are reported under A7"},
    ),
    _guideline(
        "B3",
        "One attribute per tag or field value",
        "I2 I3 GR TS SQL",
        {"MG": "attributes are nested; H4 covers fields"},
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
        {"*": "a table has one column per name", "I3": "the server rejects a write that would create one"},
    ),
    _guideline(
        "C1",
        "Metadata that queries filter by is in tags",
        "I2 GR TS SQL",
        {"I3": "neither tag nor field values are indexed, so filtering costs the same"} | _NO_TAGS,
    ),
    _guideline(
        "C2",
        "Measured values are in fields",
        "I2 GR TS SQL",
        _I3_VALUES | _NO_TAGS,
    ),
    _guideline("C3", "Values have a fitting type", "I2 I3 GR TS SQL", {"MG": "H4 covers the types of fields"}),
    _guideline(
        "C4",
        "No numbers, times, or positions as text dimensions",
        "TS",
        {"*": "C2 and C3 cover text that contains numbers", "MG": "H4 covers the types of fields"},
    ),
    _guideline(
        "C5",
        "Tags are short texts or integers",
        "GR",
        {"I2": "tag values are always text", "I3": "tag values are always text", "TS": "C4 covers dimensions"}
        | {"SQL": "any type works in a key"}
        | _NO_TAGS,
    ),
    _guideline(
        "C6",
        "Attributes that change are measures",
        "TS GR I2",
        {"SQL": "there is no series index that a changed attribute would enlarge"} | _I3_VALUES | _NO_TAGS,
    ),
    _guideline(
        "C7",
        "One type per field or measure name",
        "I2 MG",
        {
            "*": "a column has one type",
            "TS": "a record with another type is rejected",
            "sqlite": "C3 covers values that do not fit the column's type",
        },
    ),
    _guideline("D1", "No wide tables", "I3 GR TS SQL", _ABSENT | {"MG": "documents have no columns; H4 covers fields"}),
    _guideline(
        "D2",
        "Not too many tags",
        "I3 GR I2 SQL",
        {"TS": "dimensions are not part of a sort key, and the service limits their number"} | _NO_TAGS,
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
        {"I2": "D6 covers the same", "I3": "D6 covers the same"} | _JOINS,
    ),
    _guideline(
        "D8", "Metrics and events are separate", "I2 TS", {"*": "regular timestamps make no difference to its storage"}
    ),
    _guideline("E1", "Values of the primary key are bounded", "GR", _GREPTIME),
    _guideline("E2", "No primary key where none is needed", "GR", _GREPTIME),
    _guideline("E3", "Not every column with few values is a tag", "GR", _GREPTIME),
    _guideline(
        "E4", "No IDs in the primary key", "GR", _GREPTIME | {"I2": "A6 covers the same", "TS": "G5 covers the same"}
    ),
    _guideline("E5", "Inverted index on filter columns with few values", "GR", _GREPTIME),
    _guideline("E6", "Skipping index on columns with many values", "GR", _GREPTIME),
    _guideline("E7", "Full-text index on log text", "GR", _GREPTIME),
    _guideline(
        "E8",
        "No redundant or unused indexes",
        "GR SQL",
        {"*": "the engine creates indexes, not the user", "MG": "H2 covers the index of an ID"},
    ),
    _guideline("E9", "Append mode if nothing has to be deduplicated", "GR", _GREPTIME),
    _guideline("E10", "Merge mode fits the writes", "GR", _GREPTIME),
    _guideline("E11", "One time index, on the right column", "GR", _GREPTIME),
    _guideline(
        "E12",
        "Partitions are even and by the columns that queries filter by, not by time",
        "GR postgresql",
        {"*": "the engine partitions automatically", "duckdb": "a table has no partitions"}
        | {"sqlite": "a table has no partitions"},
    ),
    _guideline("E13", "No partitions while one machine is large enough", "GR", _GREPTIME),
    _guideline(
        "F1",
        "One retention per database: data with another retention is separate",
        "I2 I3 TS GR postgresql",
        {
            "SQL": "rows stay until they are deleted; the engine has no retention setting",
            "MG": "expiry is set for each collection",
        },
    ),
    _guideline(
        "F2",
        "One database, one per user, or one per customer: a deliberate choice",
        "I2 I3 TS MG",
        {"GR": "permissions are granted per table", "SQL": "permissions are granted per table or row"},
    ),
    _guideline("F3", "The schema is enforced", "all"),
    _guideline(
        "F4",
        "Different encryption or access: different databases",
        "TS",
        {"*": "encryption keys are not set per database"},
    ),
    _guideline("G1", "Measure names stay below the table's limit", "TS", _TIMESTREAM),
    _guideline("G2", "The measure name separates kinds of records", "TS", _TIMESTREAM),
    _guideline("G3", "Multi-measure records if values share a timestamp", "TS", _TIMESTREAM),
    _guideline("G4", "Single-measure records if they do not", "TS", _TIMESTREAM),
    _guideline(
        "G5", "No ID of a single point as a dimension", "TS", {"*": "A6 covers the same"} | _I3_VALUES | _NO_TAGS
    ),
    _guideline("G6", "No hashed measure names, which are outdated", "TS", _TIMESTREAM),
    _guideline("G7", "Partition keys that queries use", "TS", _TIMESTREAM),
    _guideline(
        "H1",
        "No collection or table per period",
        "MG I2 I3 TS GR",
        {"SQL": "these engines partition into a table per period; the number of tables is reported under A7"},
    ),
    _guideline("H2", "The document's own `_id` is used", "MG", _DOCUMENTS),
    _guideline("H3", "Closed periods are rolled up and dropped", "MG", _DOCUMENTS),
    _guideline("H4", "A schemaless store still has a schema", "MG", _DOCUMENTS | {"I2": "F3 covers the same"}),
    _guideline(
        "H5",
        "Capacity is planned for growth",
        "I2 I3 GR SQL MG",
        {"TS": "the API does not report bytes of a table, and no disk can fill up: storage is billed"},
    ),
    _guideline("H6", "The store's limits are known, and it is used for its purpose", "MG", _DOCUMENTS),
)
"""All guidelines, in order."""


def engines_of(ids: Iterable[str]) -> frozenset[str]:
    """Engines on which at least one of the guidelines matters."""
    wanted = set(ids)
    return frozenset().union(*(g.engines for g in GUIDELINES if g.id in wanted))
