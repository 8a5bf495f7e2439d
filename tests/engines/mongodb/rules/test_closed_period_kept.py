"""DOC003: closed periods."""

from __future__ import annotations

import dataclasses
import json
import subprocess
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.builders import NOW, a_profile
from tests.engines.mongodb import visits
from tests.engines.mongodb.rules.test_collection_per_period import a_collection, days
from tests.rules.cases import Case, judge, with_steps
from tests.servers import need
from tsaudit.engines.mongodb.rules.closed_period_kept import closed_period_kept as rule
from tsaudit.model.finding import Finding, Outcome, Severity
from tsaudit.model.profile import Activity, Measurement, Selection
from tsaudit.model.subject import Subject
from tsaudit.model.timeline import Point, Timeline

CASES = (
    Case(
        breaks=visits.visits(24),
        keeps=visits.counted(24),
        subject=Subject("", "visits_{day}"),
        limits={"closed-period-kept.min_freed_bytes": 1},
    ),
)


def _found(*members: Measurement, **limits: float) -> tuple[Finding, ...]:
    return with_steps(rule, a_profile(*members, engine="mongodb"), {"min_freed_bytes": 1.0} | limits)


def test_message_evidence_and_script() -> None:
    (finding,) = _found(*map(a_collection, days(20)))
    # Today, yesterday and the day before may still be written.
    assert finding.message == ("17 closed days of visits_{day} are kept in full; their counts alone would free 112 kB.")
    assert finding.observed == 17 * (6700 - 110)
    assert finding.severity is Severity.WARN
    assert "const apply = false;" in finding.fix
    assert (
        r"const closed = name => /^visits_\d\d\d\d_\d\d_\d\d$/.test(name) && "
        'name >= "visits_2026_03_12" && name <= "visits_2026_03_28";' in finding.fix
    )


DATABASE = """
const data = %s;
const counted = %s;
const collection = name => ({
  countDocuments: () => data[name],
  updateOne: (which, change) => { counted[which._id] = change.$set.n; },
  findOne: which => which._id in counted ? { n: counted[which._id] } : null,
  drop: () => { delete data[name]; },
});
const db = { getSiblingDB: () => ({ getCollection: collection, getCollectionNames: () => Object.keys(data) }) };
const print = () => {};
%s
console.log(JSON.stringify({ left: Object.keys(data).sort(), counted: counted }));
"""


def _run(fix: str, collections: dict[str, int], *, apply: bool, before: dict[str, int] | None = None) -> dict[str, Any]:
    """What the proposed script leaves of the collections, and what it counted. `before`: counts of an earlier run."""
    need("node", "nodejs")
    script = fix[fix.index("const apply") :]
    if apply:
        script = script.replace("const apply = false;", "const apply = true;")
    done = subprocess.run(
        ["node", "-e", DATABASE % (json.dumps(collections), json.dumps(before or {}), script)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("form", ["visits_%Y_%m_%d", "visits_%d-%m-%Y", "vi.si+ts (%B-%d-%Y)", "v%Gw%V", "v_%Y_%b"])
def test_script_drops_what_is_closed_and_nothing_else(form: str) -> None:
    names = list(dict.fromkeys(days(200, form)))
    (finding,) = _found(*map(a_collection, names))
    taken_for_it = ["visits_counts", "visits", "visits_archive", "visits_2026_03", "visits_2099_01_01", "order_201210"]
    collections = {name: i for i, name in enumerate([*names, *taken_for_it])}
    assert _run(finding.fix, collections, apply=False) == {"left": sorted(collections), "counted": {}}
    done = _run(finding.fix, collections, apply=True)
    closed = {name for name in names if name not in done["left"]}
    assert len(closed) == round(finding.observed / 6590)
    assert set(taken_for_it) <= set(done["left"])
    assert done["counted"] == {name: collections[name] for name in closed}
    assert names[0] in done["left"]


def test_script_that_is_run_again_goes_on_and_loses_no_count() -> None:
    names = sorted(days(20))
    (finding,) = _found(*map(a_collection, names))
    collections = dict.fromkeys(names, 100)
    # The first one was counted and not dropped yet; the second one was dropped, and a late writer made it anew.
    done = _run(finding.fix, {**collections, names[1]: 3}, apply=True, before={names[0]: 100, names[1]: 100})
    assert names[0] not in done["left"]
    assert names[1] in done["left"]
    assert done["counted"][names[1]] == 100


def test_script_leaves_what_only_looks_like_a_period_or_was_not_looked_at() -> None:
    names = sorted(days(20))
    odd = "visits_2026_03_00"
    (finding,) = _found(*map(a_collection, [*names, odd]))
    done = _run(finding.fix, dict.fromkeys([*names, odd], 1), apply=True)
    assert odd in done["left"]
    assert len(done["counted"]) == 17
    profile = a_profile(*map(a_collection, names), engine="mongodb")
    partly = dataclasses.replace(profile, selection=Selection(exclude=("*_13",)))
    (finding,) = with_steps(rule, partly, {"min_freed_bytes": 1.0})
    assert f'"{names[0]}", "{names[1]}"' in finding.fix


def test_period_that_still_grows_is_not_closed() -> None:
    names = sorted(days(20))
    grown, same = Subject("main", names[0]), Subject("main", names[1])
    before = {("rows", grown): (Point(NOW.date(), 90.0),), ("rows", same): (Point(NOW.date(), 100.0),)}
    profile = a_profile(*map(a_collection, names), engine="mongodb")
    (finding,) = with_steps(rule, profile, {"min_freed_bytes": 1.0}, Timeline(points=before))
    evidence = {e.label: e.value for e in finding.evidence}
    assert evidence["over according to the name, but still written"] == "1"
    assert f'&& !["{names[0]}"].includes(name)' in finding.fix or finding.samples[0] == names[1]
    every = {("rows", Subject("main", n)): (Point(NOW.date(), 100.0),) for n in names}
    (finding,) = judge(rule, profile, {"min_freed_bytes": 1.0}, Timeline(points=every)).findings
    assert {e.label: e.value for e in finding.evidence}["no new documents since"] == f"{NOW:%Y-%m-%d}"


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
    assert evidence["over according to the name, but still written"] == "1"
    assert f'&& !["{days(11)[-1]}"].includes(name)' in finding.fix
    assert evidence["writes"] == "not counted since the end of each; closed only according to the name"


def test_silence_when_periods_are_few_or_little_is_freed_is_information() -> None:
    assert _found(*map(a_collection, days(5))) == ()
    assert len(_found(*map(a_collection, days(6)))) == 1
    assert _found(*map(a_collection, days(20)), grace_days=30) == ()
    assert _found(*map(a_collection, days(20)), min_freed_bytes=112_031)[0].severity is Severity.INFO
    assert judge(rule, a_profile(a_collection("users"), engine="mongodb")).outcome is Outcome.PASS
