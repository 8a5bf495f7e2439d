"""NAM004."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Final

from tsaudit.model.change import Diagnose, Rename
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.impact import Currency, Impact
from tsaudit.model.profile import Field, Tag
from tsaudit.rule import Case, rule, subject_of

_STILL_WRITTEN_H: Final = 24
"""Hours after which a tag or field counts as no longer written. Many jobs report once a day; rarer reports soon have a
shard of their own.
"""


@rule(
    code="NAM004",
    title="A name is both a tag and a field",
    costs={Currency.ANSWERS},
    guidelines=("B6",),
    requires={"tag_keys", "field_types"},
    shows={"row_sample"},
)
def name_used_twice(case: Case) -> Iterator[Finding]:
    """Names that a measurement uses for both a tag and a field.

    Queries go wrong while both are written: if the newest rows read have both, at most a day apart. Otherwise the
    finding is a note: the other one may be that of old shards, which expire. It is also a note if both have the same
    value in each row read, such as `36` and `36.0`, or the tag is absent and the field empty or 0: then it does not
    matter which one a query means.

    ## Why it matters

    The server accepts such points without a warning. `SELECT *` then returns the columns `x` and `x_1`, a condition on
    `x` applies to the field, and a query that means the tag finds nothing. InfluxDB 3 rejects such a write, so the data
    cannot be migrated as it is.

    ## Example

    `requests,status=ok status=200`: `WHERE status = 'ok'` compares with the field and finds nothing.

    ## Fix

    Keep the name for the one that queries filter by, and rename the other one after its contents: `status` and
    `status_code`.

    ## References

    - Duplicate names:
      https://docs.influxdata.com/influxdb3/cloud-serverless/write-data/best-practices/schema-design/#do-not-use-duplicate-names-for-tags-and-fields
    - No warning is given: https://github.com/influxdata/influxdb/issues/7745
    """
    for measurement in case.measurements:
        tags = {tag.key: tag for tag in measurement.tags}
        twice = [field.key for field in measurement.fields if field.key in tags]
        names = _new_names(twice, measurement.columns)
        for field in measurement.fields:
            if field.key in tags:
                yield Finding(
                    subject=subject_of(measurement, field.key),
                    impact=_impact(tags[field.key], field),
                    message=f"{field.key} is both a tag and a field of {measurement.name}.",
                    fix="If queries filter by the field rather than by the tag, rename the tag instead.",
                    changes=(
                        Rename(subject_of(measurement), field.key, names[field.key], role="field"),
                        Diagnose(subject_of(measurement), "both", field.key),
                    ),
                    main_contributor=field.key,
                    evidence=(Evidence("type of the field", " and ".join(field.types)),),
                    facts=("tag_keys", "field_types"),
                )


def _impact(tag: Tag, field: Field) -> Impact | None:
    """Wrong answers if the name is still written both as a tag and as a field, with different values; None if it is
    not, or if that is not known.
    """
    if any(one.idle_hours is None or one.idle_hours > _STILL_WRITTEN_H for one in (tag, field)):
        return None
    if field.same_tag == field.key:
        return None
    return Impact(Currency.ANSWERS, how="the newest rows read, some of which have it as a tag and some as a field")


def _new_names(names: Iterable[str], taken: Iterable[str]) -> dict[str, str]:
    """Each name to another one that is not taken, whatever its case."""
    used = {name.lower() for name in taken}
    found: dict[str, str] = {}
    for name in names:
        proposed = itertools.chain([f"{name}_value"], (f"{name}_value_{number}" for number in itertools.count(2)))
        found[name] = next(one for one in proposed if one.lower() not in used)
        used.add(found[name].lower())
    return found
