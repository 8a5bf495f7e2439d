"""NAM004."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

from tsaudit.model.change import Change, Diagnose, MakeTag, Rename
from tsaudit.model.columns import Field, SplitName, Tag
from tsaudit.model.finding import Currency, Evidence, Finding, Impact
from tsaudit.model.profile import Measurement
from tsaudit.rule import Case, rule, subject_of
from tsaudit.text import day, many, span

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

    Queries go wrong in two ways. Where rows have both, with different values, at most a day apart, a condition applies
    to the field. Where some of the rows read have the name only as a field, and others the same values only as a tag,
    queries that group by it miss a part of them: because writers differ, because a writer was changed, or because the
    rows were copied without `GROUP BY *`. That makes fields of all tags, so that rows of different series with the same
    time overwrite each other. What looks like such a copy is reported with the retention policy that has the original.

    Otherwise the finding is a note: the other one may be that of old shards, which expire. It is also a note if both
    have the same value in each row read, such as `36` and `36.0`, or the tag is absent and the field empty, 0, or of a
    value that the tag never has: then it does not matter which one a condition means.

    ## Why it matters

    The server accepts such points without a warning. `SELECT *` then returns the columns `x` and `x_1`, a condition on
    `x` applies to the field, and a query that means the tag finds nothing. InfluxDB 3 rejects such a write, so the data
    cannot be migrated as it is.

    ## Example

    `requests,status=ok status=200`: `WHERE status = 'ok'` compares with the field and finds nothing.

    ## Fix

    Keep the name for the one that queries filter by, and rename the other one after its contents: `status` and
    `status_code`. If both mean the same, have all writers write the tag. Of a copy without `GROUP BY *`, make another
    one with it, and keep the original until then.

    ## References

    - Duplicate names:
      https://docs.influxdata.com/influxdb3/cloud-serverless/write-data/best-practices/schema-design/#do-not-use-duplicate-names-for-tags-and-fields
    - No warning is given: https://github.com/influxdata/influxdb/issues/7745
    """
    servers = {database.name: database.server_name for database in case.profile.databases}
    policies: dict[tuple[str, str], list[Measurement]] = defaultdict(list)
    for measurement in case.profile.measurements:
        policies[servers.get(measurement.database, measurement.database), measurement.name].append(measurement)
    for measurement in case.measurements:
        tags = {tag.key: tag for tag in measurement.tags}
        twice = [field.key for field in measurement.fields if field.key in tags]
        names = _new_names(twice, measurement.columns)
        beside = [
            m
            for m in policies[servers.get(measurement.database, measurement.database), measurement.name]
            if m is not measurement
        ]
        for field in measurement.fields:
            tag = tags.get(field.key)
            original = _original(beside, tag, field)
            if tag is not None or original is not None:
                yield _finding(measurement, tag, field, original, names.get(field.key, ""))


def _finding(
    measurement: Measurement, tag: Tag | None, field: Field, original: Measurement | None, new_name: str
) -> Finding:
    """`tag`: None if only the original has it."""
    at, name, split = subject_of(measurement), field.key, field.split
    message, evidence = f"{name} is both a tag and a field of {measurement.name}.", []
    if tag is None and original is not None:
        message = f"{name} is a field of {measurement.name} here, and a tag of it in {original.database}."
    if split is not None:
        message = f"{name} is a field in some rows of {measurement.name} and a tag in others{_when(split)}: queries "
        message += "that group by it miss the rows with the field."
        evidence = [_rows("field", split.field_rows, split.field_times), _rows("tag", split.tag_rows, split.tag_times)]
    changes: tuple[Change, ...] = ()
    if original is not None and original.series is not None:
        series = many(original.series.value, "series")
        evidence.append(Evidence("only as a tag in", f"{original.database}: {series}"))
        fix = (
            f"Copy {original.database} again with GROUP BY *, and keep it until then: it has {name} only as a tag, in "
            f"{series}, so the rows with the field look like a copy without GROUP BY *, in which rows of different "
            "series with the same time overwrote each other."
        )
    elif tag is not None and split is not None and _is_idle(field) and not _is_idle(tag):
        fix = f"Write the rows with the field again, with {name} as a tag, where they are needed: it is a tag now."
    elif tag is not None and split is not None and _is_idle(tag) and not _is_idle(field):
        fix = f"Write {name} as a tag again if queries group by it: now it is only a field. Otherwise query the field."
    elif split is not None:
        changes, fix = (MakeTag(at, name),), "Some writers do so already."
    else:
        changes = (Rename(at, name, new_name, role="field"), Diagnose(at, "both", name))
        fix = "If queries filter by the field rather than by the tag, rename the tag instead."
    return Finding(
        subject=subject_of(measurement, name),
        impact=_impact(tag, field, original),
        message=message,
        fix=fix,
        changes=changes,
        main_contributor=name,
        evidence=(Evidence("type of the field", " and ".join(field.types)), *evidence),
        facts=("tag_keys", "field_types"),
    )


def _when(split: SplitName) -> str:
    (_, field_last), (_, tag_last) = split.field_times, split.tag_times
    if field_last < split.tag_times[0]:
        return f" since {day(split.tag_times[0])}"
    return f" until {day(tag_last)}" if tag_last < split.field_times[0] else ""


def _rows(role: str, rows: int, times: tuple[datetime, datetime]) -> Evidence:
    return Evidence(f"only as a {role}", f"{many(rows, 'row')} read, {span(*times)}")


def _original(beside: Iterable[Measurement], tag: Tag | None, field: Field) -> Measurement | None:
    """The one of the measurements of the same name in other retention policies that has the name only as a tag, with
    some of the field's values, and has more series than the rows with the field have here; None if there is none, or
    no rows have only the field.
    """
    is_field_only = (tag is None or tag.idle_hours is None) and field.idle_hours is not None
    if field.split is None and not is_field_only:
        return None
    series, values = field.split.field_series if field.split else 1, set(field.sample)
    return next(
        (
            other
            for other in beside
            if any(one.key == field.key and not values.isdisjoint(one.sample) for one in other.tags)
            and all(one.key != field.key for one in other.fields)
            and (other.series is not None and other.series.value > series)
        ),
        None,
    )


def _is_idle(one: Tag | Field) -> bool:
    """Whether no row of the last day read has it."""
    return one.idle_hours is None or one.idle_hours > _STILL_WRITTEN_H


def _impact(tag: Tag | None, field: Field, original: Measurement | None) -> Impact | None:
    """Wrong answers if rows have the name once as a tag and once as a field, or if it is still written as both, with
    different values; None otherwise, or if that is not known.
    """
    if field.split is not None or original is not None:
        how = "the rows read, some of which have it only as a field"
        missed = f"Queries that filter or group by the tag {field.key} leave out rows that have it only as a field."
        return Impact(Currency.ANSWERS, how=how, consequence=missed)
    if tag is None or _is_idle(tag) or _is_idle(field) or field.same_tag == field.key:
        return None
    how = "the newest rows read, some of which have it as a tag and some as a field"
    missed = f"Queries that filter by {field.key} read either the tag or the field, and leave out rows with the other."
    return Impact(Currency.ANSWERS, how=how, consequence=missed)


def _new_names(names: Iterable[str], taken: Iterable[str]) -> dict[str, str]:
    """Each name to another one that is not taken, whatever its case."""
    used = {name.lower() for name in taken}
    found: dict[str, str] = {}
    for name in names:
        proposed = itertools.chain([f"{name}_value"], (f"{name}_value_{number}" for number in itertools.count(2)))
        found[name] = next(one for one in proposed if one.lower() not in used)
        used.add(found[name].lower())
    return found
