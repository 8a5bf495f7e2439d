"""DRF001."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tsaudit import costs
from tsaudit.analysis.cardinality import fleets
from tsaudit.model.change import (
    AddIndex,
    AddPartitions,
    Change,
    Diagnose,
    DropIndex,
    DropPartitions,
    DropRepeats,
    MergeMeasurements,
    SetOption,
    SetRetention,
)
from tsaudit.model.figures import Role, Subject
from tsaudit.model.finding import Currency, Evidence, Finding, Impact
from tsaudit.model.profile import Measurement, Profile
from tsaudit.rule import Case, Reach, rule, subject_of
from tsaudit.text import listed

if TYPE_CHECKING:
    from tsaudit.analysis.schema_diff import Difference


@rule(
    code="DRF001",
    title="The schema changed since the last audit",
    costs={Currency.SERIES},
    guidelines=("F3", "H4"),
    follows_from={"TAG002": Reach.SUBJECT, "CAR004": Reach.CONTRIBUTOR},
    requires={"databases", "measurements", "tag_keys", "field_types"},
    uses={"indexes"},
)
def schema_drift(case: Case) -> Iterator[Finding]:
    """What is new, was removed, or changed its type or role since the previous snapshot.

    A change is news, and so a note. What it costs is series: a new tag after which its measurement has half as many
    more than the day before, and at least 1,000 more, costs those. The same change in more than three places is one
    finding. Names created for each period (`users_2026_03`) are not reported when they come and go. Nothing counts as
    removed or new if one of the two audits could not see it: a denied or timed-out query, a measurement over the
    budget, or a pattern that excluded it. A role that the audit guessed or the configuration sets is not part of the
    schema, so another one is no change unless the column has entered or left a key of the table.

    If an earlier audit asked for changes of the same measurement, the finding names the rules that asked: somebody may
    have made them.

    ## Why it matters

    In a store that accepts whatever is written, a bug in a writer changes the schema: a field becomes text and queries
    skip it, a renamed tag splits every series in two, a label added to all metrics multiplies them. Found on the same
    day, the fix is one deployment. Found months later, it is a migration.

    ## Example

    `temperature` was a float until yesterday and is float and string today: a sensor started to write `"n/a"`.

    ## Fix

    Find the deployment of that day. If the change was intended, do nothing: the next audit compares with today. If the
    engine can enforce a schema, turn that on.

    ## References

    - Explicit schemas: https://docs.influxdata.com/influxdb/cloud/admin/buckets/bucket-schema/
    - Type conflicts: https://docs.influxdata.com/influxdb/v1/troubleshooting/errors/#error-unable-to-parse-point
    """
    previous = case.timeline.previous
    if previous is None:
        return
    from tsaudit.analysis.schema_diff import differences

    asked, now = _asked(case), {subject_of(measurement): measurement for measurement in case.measurements}
    for difference in differences(previous, case.profile):
        place = Subject(difference.subject.database, difference.subject.measurement)
        yield _finding(case, difference, previous, now.get(place), tuple(asked.get(place, ())))


_FIND_OUT = "If that was not meant, find out who dropped it, and restore it from a backup."


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of a finding about a difference. `what` and `did` complete the fix."""

    message: str
    what: str
    did: str
    before: str = "-"
    after: str = "-"
    fix: str = ""
    """The fix; empty to use the rule's own fix."""


def _words(difference: Difference) -> _Words:
    from tsaudit.analysis.schema_diff import DifferenceKind

    was, now, subject = difference.before, difference.after, difference.subject
    if not subject.measurement:
        if difference.kind is DifferenceKind.NEW:
            return _Words(f"Database {subject.database} is new.", "it", "made it", after="new")
        # Where a list does not show whether a database was dropped or a right was lost, there is a gap and no
        # difference.
        return _Words(f"Database {subject.database} was dropped.", "its end", "dropped it", "there", "gone", _FIND_OUT)
    if isinstance(was, Measurement):
        return _Words(f"{was.name} was removed.", "its end", "no longer writes it", "there", "gone")
    if isinstance(now, Measurement):
        return _Words(f"{now.name} is new.", "it", "writes it", after="new")
    name = subject.column
    if was is not None and now is not None:
        if difference.kind is DifferenceKind.ROLE:
            message = f"{name} was a {was.role} and is now a {now.role}."
            return _Words(message, "the change", "made it", str(was.role), str(now.role))
        before, after = " and ".join(was.types), " and ".join(now.types)
        message = f"{now.role.capitalize()} {name} was {before} and is now {after}."
        return _Words(message, "the new type", "writes it", before, after)
    if was is not None:
        return _Words(f"{was.role.capitalize()} {name} was removed.", "its end", "wrote it", str(was.role), "gone")
    assert now is not None
    if now.role is Role.TAG and now.role_known:
        message = f"Tag {name} is new; every new value of it can create new series."
        return _Words(message, "the new tag", "adds it", after="tag")
    types = f" ({' and '.join(now.types)})" if now.types else ""
    message = f"{now.role.capitalize()} {name} is new{types}."
    return _Words(message, "the new field", "adds it", after=str(now.role))


def _finding(
    case: Case, difference: Difference, previous: Profile, measurement: Measurement | None, asked: tuple[str, ...]
) -> Finding:
    """`measurement`: the one of the difference as it is today. `asked`: the codes of the rules whose findings asked, in
    earlier audits, for changes of it.
    """
    words, subject = _words(difference), difference.subject
    own = f"If {words.what} was not meant, find the deployment or writer that {words.did}."
    if asked:
        own = f"If it is one of the changes that {listed(asked)} asked for, nothing has to be done. {own}"
    return Finding(
        subject=subject,
        impact=_impact(case, difference, measurement),
        message=words.message,
        fix=words.fix or f"{own} What is no longer written stays until it expires or is deleted.",
        changes=() if words.fix or asked else (_look(subject, measurement),),
        main_contributor=subject.column or None,
        evidence=(
            Evidence(f"on {previous.day}", words.before),
            Evidence(f"on {case.profile.day}", words.after),
            *([Evidence("changes asked for by", listed(asked))] if asked else []),
        ),
        since=case.profile.day,
        facts=("measurements", "tag_keys", "field_types"),
    )


def _asked(case: Case) -> dict[Subject, dict[str, None]]:
    """Each measurement to the codes of the rules whose findings asked, in earlier audits, for other columns of it."""
    asked: dict[Subject, dict[str, None]] = defaultdict(dict)
    for one in case.timeline.wanted:
        if isinstance(one.change, _SAME_COLUMNS):
            continue
        for name in _measurements(one.change):
            asked[Subject(one.change.at.database, name)] |= dict.fromkeys(one.rules)
    return asked


_SAME_COLUMNS: Final = (
    AddIndex,
    AddPartitions,
    Diagnose,
    DropIndex,
    DropPartitions,
    DropRepeats,
    SetOption,
    SetRetention,
)
"""Changes after which the schema has the same columns."""


def _measurements(change: Change) -> set[str]:
    """The measurements that the change is about, including those that it makes or ends."""
    members = [one.measurement for one in change.members] if isinstance(change, MergeMeasurements) else []
    return {change.at.measurement, *members, *change.claims().values()} - {""}


_RISE = 0.5
"""A new tag can only be the cause if the measurement's series have grown by at least this share in a day."""
_MIN_ADDED = 1_000
"""If fewer series were added, they may be new sources of that day."""


def _impact(case: Case, difference: Difference, measurement: Measurement | None) -> Impact | None:
    """The series that came with a new tag. None for other changes, if so few series came that the tag need not be the
    cause, or if its values name sources: a renamed tag has the values of the old one.
    """
    now = difference.after
    if now is None or isinstance(now, Measurement) or now.role is not Role.TAG or not now.role_known:
        return None
    earlier = case.timeline.earlier(measurement) if measurement is not None else None
    before = earlier.series if earlier is not None else None
    if measurement is None or measurement.series is None or before is None:
        return None
    tag = measurement.tag(difference.subject.column)
    if tag is not None and fleets.is_source(tag):
        return None
    added = measurement.series.value - before.value
    if added < max(_MIN_ADDED, _RISE * before.value):
        return None
    how = f"series since {case.timeline.previous.day}" if case.timeline.previous else ""
    # A single day with the new tag does not show whether more series will come.
    return costs.of_count(case, measurement, added, how=how)


def _look(subject: Subject, measurement: Measurement | None) -> Diagnose:
    """Shows the columns of the table or, if it was removed, which tables there are."""
    if measurement is None:
        return Diagnose(Subject(subject.database), "measurements")
    return Diagnose(subject_of(measurement), "schema")
