"""LAY007."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Final

from tsaudit.analysis.significance import A_LIST
from tsaudit.model.figures import SERIES_KINDS, Subject
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.profile import Measurement
from tsaudit.model.rows import MOST_COMPARED_FIELDS
from tsaudit.rule import Case, Reach, rule
from tsaudit.rules import downsampling
from tsaudit.text import listed, many, number, percent

if TYPE_CHECKING:
    from tsaudit.analysis.rows.duplicates import ColumnGroup

_SHARED: Final = 0.9
"""Minimum share of common points: it allows for sources that lack some of the quantities, or fail occasionally."""


@rule(
    code="LAY007",
    title="Fields of one reading are in separate measurements",
    guidelines=("D6", "D7"),
    follows_from={"NAM002": Reach.MEASUREMENT},
    requires={"row_sample", "field_types"},
    shows={"scheduled_queries"},
    kinds=SERIES_KINDS,
)
def separated_fields(case: Case) -> Iterator[Finding]:
    """Measurements with one or two fields whose points have the same tags and the same timestamps.

    They share at least 90% of their points, at five or more timestamps, according to a sample of points (the same few
    of each). Measurements with more fields, and names that differ only in data, are left out. A group that is only a
    part of that of the day before is reported once it lasts. A group in several retention policies is reported once,
    and what continuous queries write is left out.

    The finding is a note: the sources are honest ones, and what a query across two measurements costs nobody measured.

    ## Why it matters

    To compare the values or compute with both, a query has to join two measurements on time, which is expensive. In one
    measurement the values would be side by side. The tag set and the timestamp are written, sent, and looked up once
    per value.

    ## Example

    A health app stores `blood_oxygen`, `heart_rate`, and `body_temperature` of a patient in three measurements with a
    field `value` each, always taken at the same moment.

    ## Fix

    Use one measurement such as `vitals` with the fields blood_oxygen, heart_rate, and body_temperature. Values that are
    never queried together can stay separate: mute the finding.

    ## References

    - The purpose of measurements, InfluxData's guide: https://awesome.influxdata.com/docs/part-2/designing-your-schema/
    - Wide table or several:
      https://docs.greptime.com/user-guide/deployments-administration/performance-tuning/design-table/
    - Multi-measure records: https://docs.aws.amazon.com/timestream/latest/developerguide/data-modeling.html
    """
    previous = case.timeline.previous
    known: set[tuple[str, tuple[str, ...]]] = set()
    summaries = downsampling.results(case)
    for database in case.profile.databases:
        few = _of_few_fields(case, database.name, summaries)
        found = _groups(few)
        if previous is not None:
            earlier = _groups(
                {m.name: m for m in previous.measurements if m.database == database.name and m.name in few}
            )
            found = _lasting(found, earlier)
        unread = [name for name, m in few.items() if m.point_sample is None and _failed(case, m)]
        for group in found:
            # A group is identified by its first member. If that member was perhaps not read, do not report the group as
            # a new one.
            group_of = database.server_name, tuple(group.members)
            if group_of not in known and not any(name < group.members[0] for name in unread):
                known.add(group_of)
                yield _finding(case, group, [few[name] for name in group.members])


def _groups(few: Mapping[str, Measurement]) -> Sequence[ColumnGroup]:
    from tsaudit.analysis.rows import duplicates

    return duplicates.same_points(
        {name: m.point_sample for name, m in few.items() if m.point_sample is not None},
        min_share=_SHARED,
        min_instants=A_LIST,
    )


def _lasting(groups: Sequence[ColumnGroup], earlier: Sequence[ColumnGroup]) -> list[ColumnGroup]:
    """The groups without those that are only a part of an earlier one: the points of the others are there as well, but
    beside so many of their own that the sample does not show it.
    """
    return [one for one in groups if not any({*one.members} < {*before.members} for before in earlier)]


def _failed(case: Case, measurement: Measurement) -> bool:
    """Whether the measurement's rows could not be read, as opposed to there being none."""
    return any(gap.covers(measurement.database, measurement.name) for gap in case.profile.gaps)


def _of_few_fields(case: Case, database: str, summaries: Set[tuple[str, str]]) -> dict[str, Measurement]:
    inside = {m.name: m for m in case.measurements if m.database == database and (database, m.name) not in summaries}
    in_families = {name for family in case.name_families(inside) for name in family.members}
    return {name: m for name, m in inside.items() if name not in in_families and len(m.fields) <= MOST_COMPARED_FIELDS}


def _finding(case: Case, group: ColumnGroup, members: Sequence[Measurement]) -> Finding:
    first = members[0]
    tags = [tag.key for tag in first.tags]
    tag = case.engine.words.tag
    alike = len({tuple(field.key for field in m.fields) for m in members}) == 1
    assert first.point_sample is not None
    return Finding(
        subject=Subject(first.database, first.name),
        message=f"{listed(group.members, 4)} contain points of the same sources at the same times: one reading "
        f"is written in {number(len(members))} pieces.",
        fix=f"Write what is asked for together as fields of one {case.engine.words.measurement}, with the {tag}s they "
        f"have already: {listed(_fields(members), 20)}. Whoever writes them has all values of an instant at hand, and "
        "makes one row of them."
        + (f" If the names are of sources and not of quantities, make them values of a {tag}." if alike else ""),
        observed=group.share,
        unit="share of points",
        evidence=(
            Evidence("tags of all", listed(tags)),
            *(Evidence(f"fields of {m.name}", listed([field.key for field in m.fields])) for m in members[:8]),
            Evidence("points in common", f"{percent(group.share)} of {many(group.points, 'sampled point')}"),
            Evidence("instants in common", f"{number(group.instants)} or more"),
        ),
        facts=("row_sample",),
        source=first.point_sample.source,
    )


def _fields(members: Sequence[Measurement]) -> list[str]:
    """The names of the fields in a single measurement: unchanged, unless two would be the same."""
    used = Counter(field.key for m in members for field in m.fields)
    return [
        field.key if used[field.key] == 1 else m.name if len(m.fields) == 1 else f"{m.name}_{field.key}"
        for m in members
        for field in m.fields
    ]
