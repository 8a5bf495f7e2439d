"""DOC003: closed periods."""

from __future__ import annotations

import dataclasses
import re
from datetime import datetime, timedelta

import pytest

from tests import visits
from tests.builders import NOW, a_profile
from tests.rules.cases import Case, judge
from tests.rules.test_collection_per_period import a_collection, days
from tsaudit.finding import Finding, Outcome, Severity, Subject
from tsaudit.profile import Activity, Measurement
from tsaudit.rules.closed_period_kept import closed_period_kept as rule

CASES = (
    Case(
        breaks=visits.visits(24),
        keeps=visits.counted(24),
        subject=Subject("", "visits_{day}"),
        limits={"closed-period-kept.min_freed_bytes": 1},
    ),
)


def _found(*members: Measurement, **limits: float) -> tuple[Finding, ...]:
    return judge(rule, a_profile(*members, engine="mongodb"), {"min_freed_bytes": 1.0} | limits).findings


def test_message_evidence_and_script() -> None:
    (finding,) = _found(*map(a_collection, days(20)))
    # Today, yesterday and the day before may still be written.
    assert finding.message == ("17 closed days of visits_{day} are kept in full; their counts alone would free 112 kB.")
    assert finding.observed == 17 * (6700 - 110)
    assert finding.severity is Severity.WARN
    open_ = sorted(days(3))
    assert "const apply = false;" in finding.fix
    assert f'const open = ["{open_[0]}", "{open_[1]}", "{open_[2]}"];' in finding.fix
    pattern = re.search(r"if \(!/(.*)/\.test", finding.fix)
    assert pattern is not None
    assert all(re.fullmatch(pattern[1].strip("^$"), name) for name in days(20))
    assert not re.fullmatch(pattern[1].strip("^$"), "users")


@pytest.mark.parametrize(
    ("writes", "since", "closed"),
    [
        (0, NOW - timedelta(days=100), 17),
        # Counted from before the period's end: they may be from within it.
        (7, NOW - timedelta(days=100), 17),
        # Counted from after the end of all but the newest ones.
        (7, NOW - timedelta(days=3), 0),
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
    assert evidence["over by name, but still written"] == "1"
    assert days(11)[-1] in finding.fix
    assert evidence["writes"] == "not counted since the end of each; closed by the period in the name alone"


def test_silence_when_periods_are_few_or_little_is_freed_is_information() -> None:
    assert _found(*map(a_collection, days(5))) == ()
    assert len(_found(*map(a_collection, days(6)))) == 1
    assert _found(*map(a_collection, days(20)), grace_days=30) == ()
    assert _found(*map(a_collection, days(20)), min_freed_bytes=112_031)[0].severity is Severity.INFO
    assert judge(rule, a_profile(a_collection("users"), engine="mongodb")).outcome is Outcome.PASS
