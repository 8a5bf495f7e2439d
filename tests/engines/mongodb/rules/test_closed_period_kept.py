"""DOC003: closed periods."""

from __future__ import annotations

import dataclasses
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.builders import DAY, NOW, a_field, a_profile
from tests.engines.mongodb import visits
from tests.engines.mongodb.builders import a_collection, days
from tests.engines.mongodb.mongosh import one_line
from tests.rules.cases import Case, run_rule, with_steps
from tsaudit.engines.mongodb.rules.closed_period_kept import closed_period_kept as rule
from tsaudit.model.columns import Field
from tsaudit.model.figures import Selection, Subject
from tsaudit.model.finding import Basis, Currency, Finding, Outcome, Severity
from tsaudit.model.profile import Measurement
from tsaudit.model.server import Activity
from tsaudit.model.storage import Storage
from tsaudit.model.timeline import Point, Timeline

MB = 1_000_000
CASES = (
    Case(
        breaks=visits.visits(24),
        keeps=visits.counted(24),
        subject=Subject("", "visits_{day}"),
    ),
)


def _found(*members: Measurement, **limits: float) -> tuple[Finding, ...]:
    return with_steps(rule, a_profile(*members, engine="mongodb"), limits)


def test_message_evidence_and_command() -> None:
    (finding,) = _found(*map(a_collection, days(20)))
    # Today, yesterday and the day before may still be written.
    assert finding.message == ("17 closed days of visits_{day} are kept in full; their counts alone would free 112 kB.")
    assert finding.observed == 17 * (6700 - 110)
    assert finding.severity is Severity.NOTE
    # A count that is there already stays: a late writer may have created a collection that was dropped.
    assert (
        'getCollection("visits_2026_03_12").aggregate([{ $count: "n" }, { $set: { _id: "visits_2026_03_12" } }, '
        '{ $merge: { into: "visits_counts", whenMatched: "keepExisting" } }]);' in one_line(finding.fix)
    )


def test_command_is_for_a_collection_that_was_looked_at() -> None:
    profile = a_profile(*map(a_collection, sorted(days(20))[1:]), engine="mongodb")
    partly = dataclasses.replace(profile, selection=Selection(exclude=("*_13",)))
    (finding,) = with_steps(rule, partly)
    assert '$set: { _id: "visits_2026_03_13" }' in one_line(finding.fix)


def test_period_that_still_grows_is_not_closed() -> None:
    names = sorted(days(20))
    grown, same = Subject("main", names[0]), Subject("main", names[1])
    before = {("rows", grown): (Point(NOW.date(), 90.0),), ("rows", same): (Point(NOW.date(), 100.0),)}
    profile = a_profile(*map(a_collection, names), engine="mongodb")
    (finding,) = with_steps(rule, profile, None, Timeline(points=before))
    evidence = {e.label: e.value for e in finding.evidence}
    assert evidence["over according to the name, but still written"] == "1"
    assert finding.samples[0] == names[1]
    every = {("rows", Subject("main", n)): (Point(NOW.date(), 100.0),) for n in names}
    (finding,) = run_rule(rule, profile, None, Timeline(points=every)).findings
    assert {e.label: e.value for e in finding.evidence}["no new documents since"] == f"{NOW:%Y-%m-%d}"


@pytest.mark.parametrize(
    ("writes", "since", "closed"),
    [
        (0, NOW - timedelta(days=100), 17),
        # Counted from before the period's end: they may be from within it.
        (7, NOW - timedelta(days=100), 17),
        # Counted from after the end of all but the newest one.
        (7, NOW - timedelta(days=3), 1),
        # By a server that was started after the day that is audited.
        (7, NOW + timedelta(days=3), 17),
        (7, None, 17),
    ],
)
def test_period_is_closed_unless_writes_were_counted_after_it(writes: int, since: datetime | None, closed: int) -> None:
    members = [dataclasses.replace(a_collection(n), activity=Activity(0, writes, since)) for n in days(20)]
    found = _found(*members)
    assert [f.evidence[2].value for f in found] == ([f"{closed * 100:,}"] if closed else [])


def test_what_is_written_all_the_same_is_named() -> None:
    activity = Activity(0, 1, NOW - timedelta(days=3))
    members = [
        dataclasses.replace(a_collection(n), activity=activity) if i == 10 else a_collection(n)
        for i, n in enumerate(days(20))
    ]
    (finding,) = _found(*members)
    evidence = {e.label: e.value for e in finding.evidence}
    assert evidence["over according to the name, but still written"] == "1"
    assert evidence["writes"] == "not counted since the end of each; closed only according to the name"


def _of_size(data: int, count: int = 20, **changes: Any) -> list[Measurement]:
    return [
        dataclasses.replace(a_collection(name), storage=Storage(data, data // 10), **changes) for name in days(count)
    ]


def test_cost_is_what_counts_would_free() -> None:
    (finding,) = _found(*_of_size(10 * MB))
    assert finding.impact is not None
    assert (finding.impact.currency, finding.basis) == (Currency.BYTES, Basis.MEASURED)
    assert finding.impact.now == 17 * (11 * MB - 110)
    assert finding.impact.whole == 20 * 11 * MB
    # A collection a day, and seventeen of twenty are closed.
    assert finding.impact.per_day == finding.impact.now / 20


@pytest.mark.parametrize(
    ("data", "back", "expected"),
    [
        (10 * MB, 0, Severity.WARNING),
        # 5.2 MB, and 280 kB more a day: 100 MB in a year.
        (300_000, 0, Severity.WARNING),
        (250_000, 0, Severity.NOTE),
        # No more are added.
        (300_000, 30, Severity.NOTE),
    ],
)
def test_severity_follows_from_the_bytes_in_a_year(data: int, back: int, expected: Severity) -> None:
    members = [
        dataclasses.replace(m, name=(DAY - timedelta(days=i + back)).strftime("visits_%Y_%m_%d"))
        for i, m in enumerate(_of_size(data))
    ]
    (finding,) = _found(*members)
    assert finding.severity is expected


@pytest.mark.parametrize(
    "more",
    [
        (a_field("celsius", types=("double",)),),
        (a_field("at", types=("date",)), a_field("page", types=("string",))),
    ],
)
def test_note_when_a_count_may_not_be_enough(more: tuple[Field, ...]) -> None:
    fields = (*a_collection("visits").fields, *more)
    (finding,) = _found(*_of_size(10 * MB, fields=fields))
    assert (finding.basis, finding.severity) == (Basis.INFERRED, Severity.NOTE)
    (finding,) = _found(*_of_size(10 * MB, fields=fields[:-1] if len(more) > 1 else fields[:2]))
    assert finding.severity is Severity.WARNING


def test_silence_when_periods_are_few() -> None:
    assert _found(*map(a_collection, days(3))) == ()
    assert len(_found(*map(a_collection, days(4)))) == 1
    assert _found(*map(a_collection, days(20)), grace_days=30) == ()
    assert run_rule(rule, a_profile(a_collection("users"), engine="mongodb")).outcome is Outcome.PASS
