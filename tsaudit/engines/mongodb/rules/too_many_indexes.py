"""DOC011."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tsaudit import costs
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.impact import Currency
from tsaudit.model.profile import Measurement
from tsaudit.rule import Case, Threshold, rule, subject_of
from tsaudit.text import listed, number, percent, size

_LIMITS: Final = "https://www.mongodb.com/docs/manual/reference/limits/#number-of-indexes-per-collection"


@rule(
    code="DOC011",
    title="A collection is near the limit of indexes",
    costs={Currency.LIMIT},
    guidelines=("H6",),
    requires={"indexes"},
    uses={"index_use"},
    thresholds=(
        Threshold(
            "max_indexes",
            64,
            "indexes",
            "our default: the limit of MongoDB",
            {"mongodb": (64, _LIMITS)},
        ),
    ),
)
def too_many_indexes(case: Case) -> Iterator[Finding]:
    """Collections with at least half as many indexes as MongoDB allows, the one on `_id` included.

    What it costs is the room that is left in `max_indexes`.

    ## Why it matters

    At the limit, the server refuses the next index, and with it the release of the program that creates it at its
    start. Long before, each write updates dozens of files, and the cache is full of indexes.

    ## Example

    A form builder that creates an index for each field that a customer filters by: 61 of 64.

    ## Fix

    Drop the indexes that no query uses. For fields that are chosen at run time, use one wildcard index, or an array of
    names and values with one index on both.

    ## References

    - Limits: https://www.mongodb.com/docs/manual/reference/limits/#number-of-indexes-per-collection
    - Attribute pattern:
      https://www.mongodb.com/docs/manual/data-modeling/design-patterns/group-data/attribute-pattern/
    """
    yield from case.once_for_family(lambda measurement: _evaluate(case, measurement))


def _evaluate(case: Case, measurement: Measurement) -> Iterator[Finding]:
    limit, indexes = case.limit("max_indexes", measurement), measurement.indexes or ()
    if len(indexes) < costs.NOTED * limit.value:
        return
    unused = [index.name for index in indexes if index.scans == 0 and not index.constraint]
    held = [index.size_bytes for index in indexes if index.size_bytes is not None]
    yield Finding(
        subject=subject_of(measurement),
        impact=costs.of_hard_limit(len(indexes), limit),
        message=f"{number(len(indexes))} indexes, {percent(len(indexes) / limit.value)} of those that a collection can "
        "have.",
        fix="Drop those that no query uses. Serve fields that are chosen at run time with one wildcard index.",
        observed=len(indexes),
        limit=limit,
        unit=limit.unit,
        evidence=(
            *([Evidence("not used since the server's start", listed(unused, 20))] if unused else []),
            *([Evidence("bytes of all", size(sum(held)))] if held else []),
        ),
        facts=("indexes", "index_use"),
    )
