"""DOC010."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tsaudit.analysis.shapes.keyed_fields import FEWEST, KeyedFields, keyed_fields
from tsaudit.engines.mongodb.kinds import NamesToValues
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.profile import Measurement
from tsaudit.rule import Case, Threshold, rule, subject_of
from tsaudit.text import listed, many, number

_AT_THE_TOP: Final = "values"
"""Name of the array for values that were at the top of a document."""


@rule(
    code="DOC010",
    title="Names of fields contain data",
    guidelines=("B4",),
    requires={"documents"},
    thresholds=(
        Threshold("min_names", FEWEST, "names", "our default: fewer may be a fixed set, such as quarters or sizes"),
    ),
)
def data_in_field_name(case: Case) -> Iterator[Finding]:
    """Documents with dates, IDs, or numbers as field names: at least `min_names` of one kind side by side.

    The finding is only ever a note: names and values in an array take no less space.

    ## Why it matters

    Names cannot be compared. To find all days of a month, or everyone with more than five points, every document has to
    be read and taken apart. No index covers names that are not known in advance, and a validator cannot list them.

    ## Example

    `scores: { "u1001": 7, "u1002": 3 }` should be `scores: [{ k: "u1001", v: 7 }, { k: "u1002", v: 3 }]`.

    ## Fix

    Use the attribute pattern: name and value as two fields of a small document in an array, with one index over both.

    ## References

    - The attribute pattern:
      https://www.mongodb.com/docs/manual/data-modeling/design-patterns/group-data/attribute-pattern/
    - $objectToArray: https://www.mongodb.com/docs/manual/reference/operator/aggregation/objectToArray/
    """
    yield from case.once_for_family(lambda measurement: _evaluate(case, measurement))


def _evaluate(case: Case, measurement: Measurement) -> Iterator[Finding]:
    if measurement.documents is not None:
        for found in keyed_fields(measurement, round(case.limit("min_names", measurement).value)):
            yield _finding(case, measurement, found)


def _finding(case: Case, measurement: Measurement, found: KeyedFields) -> Finding:
    assert measurement.documents is not None
    path = f"{found.above}.{found.template}".lstrip(".")
    return Finding(
        subject=subject_of(measurement, path),
        message=f"{many(len(found.names), 'field')} named {path} have data in their names.",
        changes=(NamesToValues(subject_of(measurement), found.above, found.above or _AT_THE_TOP, found.names[0]),),
        observed=float(len(found.names)),
        limit=case.limit("min_names", measurement),
        unit="names",
        main_contributor=path,
        samples=found.names[:3],
        evidence=(
            Evidence("names", f"{number(len(found.names))}: {listed(found.names, 6)}"),
            Evidence("documents read", number(measurement.documents.read)),
        ),
        facts=("documents",),
        source=measurement.documents.source,
    )
