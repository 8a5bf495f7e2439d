"""TAG007."""

from __future__ import annotations

from collections.abc import Iterator

from tsaudit.advice.statements import copy_without_tags
from tsaudit.analysis.cardinality.contributions import share_of_tag
from tsaudit.engines.greptimedb.statements import left_out_by_sender
from tsaudit.model.finding import Evidence, Finding, Severity
from tsaudit.model.profile import Measurement, Tag, TagChanges
from tsaudit.rule import Case, Threshold, rule, subject_of
from tsaudit.text import listed, many, number


@rule(
    code="TAG007",
    title="A tag changes over time for the same source",
    severity=Severity.WARN,
    guidelines=("C6",),
    requires={"tag_changes"},
    uses={"series_listing", "tag_values"},
    thresholds=(
        Threshold(
            "min_changing_ratio",
            0.1,
            "share of the sources",
            "our default: fewer are corrections, or machines that moved",
        ),
        Threshold(
            "max_change_ratio",
            0.3,
            "changes by those to be expected by chance",
            "our default: an attribute keeps its value for long; a level or a status comes in any order, near 1",
        ),
        Threshold(
            "min_by_chance", 10, "changes to be expected by chance", "our default: fewer could be missing by luck"
        ),
        Threshold(
            "max_clash_ratio",
            0.01,
            "share of the instants",
            "our default: an attribute has one value at a time, but for a row that comes late",
        ),
        Threshold(
            "min_shared_ratio",
            0.5,
            "share of the values",
            "our default: what mostly one source has names it, like a part or a process that was replaced",
        ),
        Threshold("warn_series_ratio", 2, "series by those left without it", "our default: it has doubled the series"),
    ),
    fixes={
        "influxql": (
            "Write {tag} as a field of {measurement}: its value is then stored with each point, and {sources} stay one "
            "series each. Convert what is stored day by day: {copy}"
        ),
        "greptimedb": "Store {tag} as a field; then {sources} keep their series.\n{copy}",
        "timestream": (
            "Write {tag} as a measure, in one multi-measure record with the others, not as a dimension; then "
            "{sources} keep their series whatever it changes to."
        ),
        "any": "Store {tag} as a field of {measurement}, outside its key; then {sources} keep their series.",
    },
)
def changing_tag(case: Case) -> Iterator[Finding]:
    """Tags that are an attribute of a source and change over time, such as a machine's colour or firmware.

    Judged by the rows read within the window. A tag is reported when a source, named by the other tags or by that one
    of them with most values, has one value of it at a time, and in `min_changing_ratio` of the sources another one
    later, while it changes far less often than values in any order would (`max_change_ratio`). Tags that name things,
    side by side or one after the other, stay silent. Changes before the oldest row read are not seen.

    ## Why it matters

    With each change the source begins another series. Its past is found only by who knows all its former values, its
    last value is no longer the last of one series, and the number of series grows with the changes.

    ## Example

    `machines,machine=m1,colour=red`: painted blue, the machine goes on as another series, and a query for its
    temperatures by machine and colour shows two machines.

    ## Fix

    Store the attribute as a field (a measure), so that each row says what it was at the time.

    ## References

    - Attributes that change, Timestream: https://docs.aws.amazon.com/timestream/latest/developerguide/data-modeling.html
    - Tags against fields: https://docs.influxdata.com/influxdb/v2/write-data/best-practices/schema-design/
    """
    for measurement in case.measurements:
        for tag in measurement.tags:
            seen = max(
                (c for c in tag.changes or () if _is_attribute(case, measurement, c)),
                key=lambda c: c.changing / c.sources,
                default=None,
            )
            if seen:
                yield _finding(case, measurement, tag, seen)


def _is_attribute(case: Case, measurement: Measurement, seen: TagChanges) -> bool:
    def limit(name: str) -> float:
        return case.limit(name, measurement).value

    return bool(
        seen.by
        and seen.changing
        and seen.changing >= limit("min_changing_ratio") * seen.sources
        and seen.clashes <= limit("max_clash_ratio") * seen.instants
        and seen.by_chance >= limit("min_by_chance")
        and seen.changes <= limit("max_change_ratio") * seen.by_chance
        and seen.shared >= limit("min_shared_ratio") * seen.values
    )


def _finding(case: Case, measurement: Measurement, tag: Tag, seen: TagChanges) -> Finding:
    sets = measurement.tag_sets
    left = next((c.series_left for c in sets.contributions if c.tag == tag.key), 0) if sets else 0
    ratio = sets.series / left if sets and left else 1.0
    limit = case.limit("warn_series_ratio", measurement)
    source = listed(seen.by)
    evidence = [
        Evidence("a source is named by", source),
        Evidence("sources in which it changes", f"{number(seen.changing)} of {number(seen.sources)}"),
        Evidence("changes", f"{number(seen.changes)}; {number(round(seen.by_chance, 1))} would be by chance"),
    ]
    if sets and left:
        evidence.append(Evidence("series without it", f"{number(left)} instead of {number(sets.series)}"))
    return Finding(
        subject=subject_of(measurement, tag.key),
        severity=Severity.WARN if ratio >= limit.value else Severity.INFO,
        message=f"Tag {tag.key} changes over time for the same {source}: {many(seen.changes, 'time')} in "
        f"{number(seen.changing)} of {many(seen.sources, 'source')}.",
        fix=left_out_by_sender(measurement, {tag.key})
        or case.fix(
            tag=tag.key,
            measurement=measurement.name,
            sources=source,
            copy=copy_without_tags(case, measurement, {tag.key}),
        ),
        observed=ratio,
        limit=limit,
        unit=limit.unit,
        guilty=tag.key,
        share=share_of_tag(tag.key, sets),
        samples=tag.sample[:3],
        evidence=tuple(evidence),
        facts=("tag_changes", "series_listing"),
        source=seen.source,
    )
