"""TAG007."""

from __future__ import annotations

from collections.abc import Iterator

from tsaudit import costs
from tsaudit.analysis.cardinality import fleets
from tsaudit.analysis.cardinality.contributions import made_fields, share_of_tags
from tsaudit.model.columns import Tag, TagChanges
from tsaudit.model.figures import SERIES_KINDS
from tsaudit.model.finding import Currency, Evidence, Finding
from tsaudit.model.profile import Measurement
from tsaudit.rule import Case, Reach, rule, subject_of
from tsaudit.text import listed, many, number


@rule(
    code="TAG007",
    title="A tag changes over time for the same source",
    costs={Currency.SERIES},
    guidelines=("C6",),
    follows_from=dict.fromkeys(("TAG002", "NAM004"), Reach.SUBJECT),
    requires={"row_sample"},
    shows={"series_listing", "tag_values"},
    kinds=SERIES_KINDS,
)
def mutable_tag(case: Case) -> Iterator[Finding]:
    """Tags that are an attribute of a source and change over time, such as a machine's color or firmware.

    This is based on the rows read within the window. A source is identified by the other tags, or by the one of them
    with the most values. A tag is reported if it has one value per source at a time, if the value changes later in at
    least a tenth of the sources, and if it changes at most 30% as often as values in random order would. Tags that
    identify things, in parallel or one after the other, are not reported. Changes before the oldest row read are not
    visible. It is a note where sources only go back and forth between the values they had before, as a virtual machine
    does among its hosts: then no more series come.

    ## Why it matters

    With each change, the source starts a new series. To find its past, a query has to know all its former values, its
    last value is not always in the same series, and the number of series grows with every change.

    ## Example

    `machines,machine=m1,color=red`: after the machine is painted blue, it continues as another series, and a query for
    its temperatures by machine and color shows two machines.

    ## Fix

    Store the attribute as a field (a measure), so that each row contains its value at the time.

    ## References

    - Attributes that change, Timestream:
      https://docs.aws.amazon.com/timestream/latest/developerguide/data-modeling.html
    - Tags versus fields: https://docs.influxdata.com/influxdb/v2/write-data/best-practices/schema-design/
    """
    for measurement in case.measurements:
        for tag in measurement.tags:
            seen = max(
                filter(fleets.is_attribute, tag.changes or ()),
                key=lambda c: c.changing / c.sources,
                default=None,
            )
            if seen:
                yield _finding(case, measurement, tag, seen)


def _finding(case: Case, measurement: Measurement, tag: Tag, seen: TagChanges) -> Finding:
    sets, turnover = measurement.tag_sets, tag.turnover
    recurs = turnover is not None and bool(turnover.by) and fleets.recurs(tag)
    found = next((c for c in sets.contributions if c.tag == tag.key), None) if sets else None
    # A tag that others determine saves nothing alone.
    others = found.together_with if found else ()
    left = 0 if sets is None or found is None else sets.series if others else found.series_left
    ratio = sets.series / left if sets and left else 1.0
    source = listed(seen.by)
    evidence = [
        Evidence("a source is identified by", source),
        Evidence("sources where it changes", f"{number(seen.changing)} of {number(seen.sources)}"),
        Evidence("changes", f"{number(seen.changes)}; in random order {number(round(seen.by_chance, 1))}"),
    ]
    if sets and left:
        fewer = f" instead of {number(sets.series)}" if left < sets.series else ", none fewer"
        evidence.append(Evidence("series without it", f"{number(left)}{fewer}"))
    if found and others:
        evidence.append(Evidence(f"series without {listed([tag.key, *others])}", number(found.series_left)))
    read = seen.source.scope.partition(" from ")[0]
    return Finding(
        subject=subject_of(measurement, tag.key),
        # Values between which sources switch back and forth do not cause growth.
        impact=None if recurs else costs.of_series(case, measurement, [tag.key]),
        message=f"Tag {tag.key} changes over time for the same {source}: {many(seen.changes, 'time')} in "
        f"{number(seen.changing)} of {many(seen.sources, 'source')}{f', in {read}' if read else ''}.",
        fix=f"Then a change of {listed([tag.key, *others])} no longer starts another series of the same {source}.",
        changes=made_fields(measurement, tag.key, *others, keeps_rows=case.engine.infers_roles),
        observed=ratio if round(ratio, 2) > 1 else None,
        unit="times as many series as without it",
        main_contributor=tag.key,
        share=None if others else share_of_tags([tag.key], sets),
        samples=tag.sample[:3],
        evidence=tuple(evidence),
        facts=("row_sample", "series_listing"),
        source=seen.source,
    )
