"""The words of the page, defined: so that nobody has to know tsaudit to read it."""

from __future__ import annotations

from typing import Final, NamedTuple

from tsaudit.model.facts import FACTS
from tsaudit.report import words


class Definition(NamedTuple):
    """A word and what it means."""

    word: str
    meaning: str


class Noun(NamedTuple):
    """What an engine calls the thing that holds rows."""

    one: str
    many: str


_TABLE: Final = Noun("table", "tables")
_NOUNS: Final = {
    "influxdb1": Noun("measurement", "measurements"),
    "influxdb2": Noun("measurement", "measurements"),
    "mongodb": Noun("collection", "collections"),
}

_SERIES: Final = {
    "influxdb1": "One measurement with one set of tag values. Fields are not counted in, although InfluxDB's "
    "documentation adds the field key: the index and `SHOW SERIES` do not.",
    "influxdb2": "One measurement with one set of tag values within a bucket. Fields are not counted in; "
    "InfluxDB Cloud, which does count them, shows higher numbers.",
    "influxdb3": "One distinct combination of tag values in a table. InfluxDB 3 keeps no index of series: "
    "many of them cost compression and sorting, not memory.",
    "timestream": "One distinct combination of dimension values; Timestream itself also tells measure names apart.",
    "mongodb": "One distinct value of the metaField: documents of one value share buckets.",
    "greptimedb": "One distinct combination of the tags in the primary key.",
}
_SERIES_SQL: Final = (
    "One distinct combination of the values of the columns that identify the source of a row (the tags). "
    "Which columns those are, a SQL database does not say: tsaudit infers it, or reads it from `columns` in "
    "tsaudit.yaml."
)

VERDICTS: Final = (
    Definition("Critical", "At least one finding that harms, or is about to harm, the database or the data."),
    Definition("Warning", "At least one finding that will cost storage, speed or correct answers if left alone."),
    Definition(
        "Unknown",
        "Nothing wrong was found, but something that had to be measured was not. "
        "Never shown as OK, never hides a finding.",
    ),
    Definition("OK", "Every rule that applies was judged on complete figures and found nothing."),
)

FIGURES: Final = (
    Definition("Exact", "Counted. Figures without a mark are exact and of the audited day."),
    Definition(
        "Estimate ≈",
        "Worked out from statistics, by the engine or by tsaudit; ± is one standard error where it is known.",
    ),
    Definition("Sampled", "Exact for a part of the data only; the part is named."),
    Definition("As of", "Taken over from an earlier day, because the measurement had not moved since."),
    Definition(words.NONE, "Not measured. Why not is under “Not audited”."),
)


def noun(engine: str) -> Noun:
    """What the engine calls a table."""
    return _NOUNS.get(engine, _TABLE)


def series(engine: str) -> str:
    """What a series is on this engine."""
    return _SERIES.get(engine, _SERIES_SQL)


def fact(name: str) -> str:
    """What the fact is, without what its answer has to look like; empty for an unknown one."""
    return FACTS[name].meaning.partition(";")[0] if name in FACTS else ""
