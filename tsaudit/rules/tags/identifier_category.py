"""TAG009."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tsaudit.analysis.columns.types import is_text
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.profile import Field, Measurement, TableKind
from tsaudit.rule import Case, Threshold, rule, subject_of
from tsaudit.text import number, percent, values_of

_CATEGORY: Final = re.compile(
    r"(?i)(^|_)(type|kind|category|class|queue|action|event|operation|job|task|dag|workflow|pipeline|activity|command)s?"
    r"(_?(type|kind|name|id|class))*$|(Type|Kind|Category|Queue|Action|Event|Operation|Job|Task|Workflow)(Name|Type)?$"
)
"""Names of columns that say what kind of thing a row is about."""
_BEFORE_ID: Final = re.compile(r"[^\W\d_]{2,}.*[^A-Za-z0-9]")
"""The word that is left of a value once its ID is taken off."""
_MOST: Final = 0.5
"""Share of the values sampled that must be a word with an ID."""


@rule(
    code="TAG009",
    title="A column of categories contains IDs",
    guidelines=("A6", "B3"),
    engines=lambda engine: engine.infers_roles,
    requires={"field_types", "field_values"},
    kinds={TableKind.EVENTS, TableKind.ENTITY, TableKind.QUEUE},
    thresholds=(
        Threshold("max_categories", 200, "values", "our default: more kinds of things than anybody can list"),
        Threshold(
            "min_frequent_ratio",
            0.1,
            "share of the rows",
            "our default: without categories that come again and again, the column names single things",
        ),
    ),
)
def identifier_category(case: Case) -> Iterator[Finding]:
    """Columns of events, jobs, and the like that name the kind of each row, and contain an ID in many of them.

    The column is named like a category (type, queue, job, action), has more than `max_categories` distinct values
    among the rows read, most of them a word with an ID, and yet values that come again and again in at least
    `min_frequent_ratio` of the rows: these are the categories.

    ## Why it matters

    Whatever lists or counts by category grows with the number of IDs: a menu of filters, a metric per job, a worker per
    queue, a scheduler that loads every definition. Grouping by the column no longer groups anything.

    ## Example

    `queue = 'export-8c1f…'` beside `mail` and `invoice`: a queue of its own for every export.

    ## Fix

    Keep the category in the column, and write the ID to another one.

    ## References

    - IDs in names of metrics and labels: https://prometheus.io/docs/practices/naming/#labels
    """
    for measurement in case.measurements:
        for field in measurement.fields:
            if _is_category(measurement, field) and _has_ids(case, measurement, field):
                yield _finding(case, measurement, field)


def _is_category(measurement: Measurement, field: Field) -> bool:
    is_named = bool(_CATEGORY.search(field.key))
    # The jobs of a queue are named by what they do.
    is_named = is_named or (measurement.kind is TableKind.QUEUE and field.key.lower() == "name")
    return is_named and all(is_text(t) for t in field.types)


def _has_ids(case: Case, measurement: Measurement, field: Field) -> bool:
    from tsaudit.analysis.shapes import shapes

    values, frequent = field.distinct, field.frequent_ratio
    if values is None or values.value <= case.limit("max_categories", measurement).value or frequent is None:
        return False
    if frequent.value < case.limit("min_frequent_ratio", measurement).value:
        return False
    with_word = sum(bool(_BEFORE_ID.match(value)) for value in field.sample)
    return shapes.classify(field.sample).kind in shapes.IDENTIFIER_KINDS and with_word > _MOST * len(field.sample)


def _finding(case: Case, measurement: Measurement, field: Field) -> Finding:
    assert field.distinct is not None
    assert field.frequent_ratio is not None
    limit = case.limit("max_categories", measurement)
    return Finding(
        subject=subject_of(measurement, field.key),
        message=f"Column {field.key} has {values_of(field.distinct)}, most of them with an ID, beside those that come "
        f"again and again in {percent(field.frequent_ratio.value)} of the rows.",
        fix=f"Keep the category in {field.key}, and write the ID to a column of its own.",
        observed=field.distinct.value,
        limit=limit,
        unit=limit.unit,
        main_contributor=field.key,
        samples=field.sample[:3],
        evidence=(
            Evidence("distinct values read", number(field.distinct.value)),
            Evidence("rows with a frequent value", percent(field.frequent_ratio.value)),
        ),
        facts=("field_values",),
        source=field.distinct.source,
    )
