"""STO013."""

from __future__ import annotations

import re
from collections.abc import Iterator
from statistics import mean
from typing import Final

from tsaudit import costs
from tsaudit.analysis.columns.types import is_text
from tsaudit.engines.greptimedb.tables import is_metric, primary_key
from tsaudit.model.change import MakeField
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.impact import Currency, Impact
from tsaudit.model.profile import Measurement, Tag
from tsaudit.rule import Case, Reach, Threshold, rule, subject_of
from tsaudit.text import listed, number

_UNSUITABLE: Final = re.compile(r"(float|double|real|timestamp|datetime)", re.IGNORECASE)


@rule(
    code="STO013",
    title="A key column is neither a short text nor an integer",
    costs={Currency.SERIES},
    guidelines=("C5",),
    follows_from={"TAG002": Reach.SUBJECT},
    requires={"columns"},
    uses={"tag_values", "indexes", "options"},
    thresholds=(
        Threshold(
            "max_length",
            64,
            "characters on average",
            "our default: longer than names and IDs; the key is kept for each series in memory and in each file",
        ),
    ),
)
def unsuitable_key_type(case: Case) -> Iterator[Finding]:
    """Columns of the primary key that are floating-point numbers or times, or texts of more than `max_length`
    characters.

    The cost of numbers and times is the values of the key that would not be there without them. Long texts are a note:
    a few cost little, and the rules about tags report those without bound.

    ## Why it matters

    The key identifies a series. A number with a fraction or a time is a measured value: nearly every row has a
    different one, values that should be equal differ in the last digit, and each creates a series. A long text is
    stored and compared with each of them.

    ## Example

    `PRIMARY KEY (sensor, temperature)` with `temperature DOUBLE`; `PRIMARY KEY (url)` with addresses of 200 characters.

    ## Fix

    Use short texts and integers in the key, measured values and times as fields, and a short ID in place of a long
    text.

    ## References

    - What to store as a tag:
      https://docs.greptime.com/user-guide/deployments-administration/performance-tuning/design-table/
    """
    for measurement in case.measurements:
        if is_metric(measurement):
            continue
        typed = [tag for tag in measurement.tags if _UNSUITABLE.match(tag.data_type)]
        impact = costs.of_series(case, measurement, [tag.key for tag in typed])
        yield from (_typed(measurement, tag, impact) for tag in typed)
        for tag in measurement.tags:
            if is_text(tag.data_type) and tag.sample:
                length = mean(map(len, tag.sample))
                if length > case.limit("max_length", measurement).value:
                    yield _long(case, measurement, tag, length)


def _typed(measurement: Measurement, tag: Tag, impact: Impact | None) -> Finding:
    return Finding(
        subject=subject_of(measurement, tag.key),
        impact=impact,
        message=(
            f"{tag.key} has type {tag.data_type} and is in the primary key, which is meant for short texts "
            "and integers."
        ),
        changes=(MakeField(subject_of(measurement), tag.key),),
        main_contributor=tag.key,
        samples=tag.sample[:3],
        evidence=(
            Evidence("type", tag.data_type),
            Evidence("key", listed(primary_key(measurement))),
            Evidence("distinct values", number(tag.values.value) if tag.values else "not measured"),
        ),
        facts=("columns", "tag_values", "indexes"),
        source=tag.values.source if tag.values else None,
    )


def _long(case: Case, measurement: Measurement, tag: Tag, length: float) -> Finding:
    limit = case.limit("max_length", measurement)
    return Finding(
        subject=subject_of(measurement, tag.key),
        message=f"The values of {tag.key}, which is in the primary key, have {number(round(length))} "
        f"characters on average, more than {number(limit.value)}.",
        changes=(MakeField(subject_of(measurement), tag.key),),
        fix=f"If {tag.key} identifies rows, first put a short ID into the key instead.",
        observed=length,
        limit=limit,
        unit=limit.unit,
        main_contributor=tag.key,
        samples=tag.sample[:3],
        evidence=(
            Evidence("characters on average, of the values sampled", number(round(length))),
            Evidence("key", listed(primary_key(measurement))),
        ),
        facts=("columns", "tag_values", "indexes"),
        source=tag.values.source if tag.values else None,
    )
