"""FLD003."""

from __future__ import annotations

from collections.abc import Iterator

from tsaudit.analysis.columns.columns import distinct_types
from tsaudit.analysis.significance import ENOUGH
from tsaudit.model.change import Diagnose
from tsaudit.model.columns import Field, NewestType
from tsaudit.model.finding import Currency, Evidence, Finding, Impact
from tsaudit.model.profile import Measurement
from tsaudit.rule import Case, Reach, rule, subject_of
from tsaudit.text import instant, listed, number


@rule(
    code="FLD003",
    title="A field has several types",
    costs={Currency.ANSWERS},
    guidelines=("C7",),
    follows_from={"SRV001": Reach.SUBJECT, "DOC012": Reach.SUBJECT},
    requires={"field_types"},
)
def conflicting_types(case: Case) -> Iterator[Finding]:
    """Fields that are stored with more than one type, in different shards or by different writers.

    While several types are written, queries return wrong answers. That is known of documents, which were read within
    the window, of a field that had fewer types on the day of the previous audit, and of one whose newest values have a
    type that queries do not return: floats come before integers, then texts, then booleans. Elsewhere the finding is a
    note: the other type may be that of old shards, which expire.

    ## Why it matters

    A query over both shards silently returns only one of the types, unless both are numbers: the values of the other
    one are missing from every sum and every graph. Within a shard, points with the second type are rejected with all of
    their fields, so writers lose data. A document store rejects nothing, but a range query or sort on the field treats
    each type separately, and a sum ignores text. Number types count as one type there.

    ## Example

    One sensor writes `litres=1i`, the others write `litres=1.5`. Its integer is the first value of this week's shard,
    which then rejects all points of the others.

    ## Fix

    Decide on one type, usually float, and write it everywhere with explicit syntax (`1.0`, never `1`).

    ## References

    - Field type discrepancies:
      https://docs.influxdata.com/influxdb/v1/query_language/explore-schema/#field-type-discrepancies
    - Write errors:
      https://docs.influxdata.com/influxdb/v1/troubleshooting/errors/#error-partial-write-field-type-conflict
    """
    yield from case.once_for_family(lambda measurement: _evaluate(case, measurement))


def _evaluate(case: Case, measurement: Measurement) -> Iterator[Finding]:
    for field in measurement.fields:
        found = distinct_types(case.profile.engine, field.types)
        if len(found) < 2 or field.has_type_by_name:
            continue
        types, newest = listed(found), field.newest_type
        yield Finding(
            subject=subject_of(measurement, field.key),
            impact=_impact(case, measurement, field),
            message=f"Field {field.key} is stored as {types}.",
            fix=f"Find the writer that sends {field.key} as another type than the others, and have all send one. What "
            "is stored as the wrong type stays until it expires or is converted; until then name the type in queries.",
            changes=(Diagnose(subject_of(measurement), "types", field.key, tuple(found)),),
            observed=float(len(found)),
            unit="types",
            main_contributor=field.key,
            since=newest.since.date() if newest else None,
            evidence=(Evidence("types", types), *([_shown(newest)] if newest else [])),
            facts=("field_types",),
        )


def _shown(newest: NewestType) -> Evidence:
    until = f", others until {instant(newest.until)}" if newest.until else ""
    return Evidence(f"newest values ({newest.type})", f"since {instant(newest.since)}{until}")


def _impact(case: Case, measurement: Measurement, field: Field) -> Impact | None:
    """Wrong answers if more than one type is written today; None if it is not known whether that is the case."""
    how = "the types of the documents read within the window"
    missed = f"Queries of {field.key} compare and aggregate values of one of the types, and leave out the others."
    if case.engine.keeps_documents:
        return Impact(Currency.ANSWERS, how=how, consequence=missed)
    newest = field.newest_type
    if newest is not None and newest.type != newest.returned and newest.rows >= ENOUGH:
        how = f"each of the newest {number(newest.rows)} values read is a {newest.type}"
        since = instant(newest.until or newest.since)
        missed = f"Queries that also read older shards return the {newest.returned} values of {field.key}: none since "
        return Impact(Currency.ANSWERS, how=how, consequence=f"{missed}{since}.")
    previous, before = case.timeline.previous, case.timeline.earlier(measurement)
    then = next((f.types for f in before.fields if f.key == field.key), ()) if before else ()
    if not then or set(field.types) <= set(then):
        return None
    how = f"its types on {previous.day if previous else ''}, and today"
    return Impact(Currency.ANSWERS, how=how, consequence=missed)
