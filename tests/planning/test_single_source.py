"""What to do about a tag that one source among others fills with new values, or that names what is measured.

What an expert wants: the points of the sources that are all right stay, and so do the values that tell what was
measured. Where one source is the cause, it is the one to change, and only its series are dropped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.databases import influxql, without_use
from tests.histories import NOTHING, Daily, Points, reporting
from tests.servers import Influxd
from tests.test_histories import audited
from tsaudit.model.change import MakeField, StopSource
from tsaudit.model.finding import AuditResult, Finding
from tsaudit.model.plan import Plan, StepKind

_SINCE = 4
"""The day on which new values begin."""
_DAYS = 9
_CHANNELS = ("temp", "rpm", "torque")


def _machines(writer: str = "plc") -> Points:
    """60 machines, each of which reports what it measures at one time."""
    for n in range(60):
        for channel in _CHANNELS:
            yield from reporting(f"machine=m{n:02d},writer={writer},channel={channel}", n)


def _batches(day: int, tags: str, number: int) -> Points:
    """Batches whose ID is in the channel: each reports what it measures three times."""
    for n in range(number):
        batch = f"{(day * 500 + n) * 2654435761 % 2**32:08x}"
        for minute in range(n, n + 60, 20):
            for channel in _CHANNELS[:2]:
                yield f"machine=m{n % 60:02d},{tags},channel={batch}_{channel}", minute


def importer(day: int) -> Points:
    """A new program, and no other, has IDs."""
    yield from _machines()
    if day >= _SINCE:
        yield from _batches(day, "writer=importer", 200)


def importer_that_was_there(day: int) -> Points:
    """The program had the same channels as others until then."""
    yield from _machines()
    yield from reporting("machine=m07,writer=importer,channel=temp", 7)
    if day >= _SINCE:
        yield from _batches(day, "writer=importer", 200)


def all_programs(day: int) -> Points:
    yield from _machines()
    if day >= _SINCE:
        for writer in ("plc", "importer", "gateway"):
            yield from _batches(day * 3 + len(writer), f"writer={writer}", 70)


def release(day: int) -> Points:
    """IDs come from the beginning on; one day, there is a new version of what writes them."""
    yield from _machines()
    yield from _batches(day, f"writer=v{2 if day >= _SINCE - 1 else 1}", 200)


def requests(day: int) -> Points:
    """A new program has a tag that no other has."""
    yield from _machines()
    if day >= _SINCE:
        for n in range(400):
            ident = f"{(day * 500 + n) * 2654435761 % 2**32:08x}"
            yield f"machine=m{n % 60:02d},writer=importer,channel=temp,request={ident}", n * 3


def _found(
    points: Callable[[int], Points], server: Influxd, folder: Path, tag: str = "channel"
) -> tuple[AuditResult, Finding, Plan | None]:
    """The last audit, with what it found of the tag."""
    *_, result = audited(Daily("channels", points, lambda _: NOTHING), server, folder, _DAYS)
    found = [f for r, f in result.findings() if r.code == "TAG002" and f.subject.column == tag]
    assert len(found) == 1, [f.message for _, f in result.findings()]
    plan = next((one for one in result.plans if any(map(one.makes, found[0].changes))), None)
    return result, found[0], plan


def _points(server: Influxd, database: str) -> Counter[str]:
    """Writer to its number of points."""
    answer = influxql(server.url, 'SELECT count("value") FROM m GROUP BY writer', db=database)
    return Counter({s["tags"]["writer"]: s["values"][0][1] for s in answer["results"][0]["series"]})


def test_plan_stops_the_one_program_and_drops_only_its_series(influxd: Influxd, tmp_path: Path) -> None:
    _, finding, plan = _found(importer, influxd, tmp_path)
    assert plan is not None
    assert [type(one.change) for one in plan.changes] == [StopSource]
    steps = {step.kind: step for step in plan.steps}
    assert "writer=importer" in steps[StepKind.WRITER].words
    assert "writer=importer" in steps[StepKind.STORED].loses
    before = _points(influxd, finding.subject.database)
    database = finding.subject.database
    influxql(influxd.url, without_use(steps[StepKind.STORED].text, database), db=database)
    assert before.keys() == {"plc", "importer"}
    assert _points(influxd, finding.subject.database) == Counter({"plc": before["plc"]})


@pytest.mark.full
def test_every_finding_about_the_tag_is_to_stop_the_one_program(influxd: Influxd, tmp_path: Path) -> None:
    """The limit is nearly reached because of it, too, and the others need the tag."""
    daily = Daily("channels", importer, lambda _: NOTHING, max_series=1_000)
    *_, result = audited(daily, influxd, tmp_path, 6)
    made = {r.code: f for r, f in result.findings() if f.main_contributor == "channel"}
    assert made.keys() == {"CAR001", "TAG002"}
    assert {type(change) for finding in made.values() for change in finding.changes} == {StopSource}
    assert not [finding.fix for finding in made.values() if not finding.fix.endswith("new series are its own.")]


@pytest.mark.full
def test_plan_drops_nothing_of_a_program_that_also_has_what_others_have(influxd: Influxd, tmp_path: Path) -> None:
    _, _, plan = _found(importer_that_was_there, influxd, tmp_path)
    assert plan is not None
    assert [type(one.change) for one in plan.changes] == [StopSource]
    assert not [step for step in plan.steps if step.loses]


@pytest.mark.parametrize("points", [pytest.param(all_programs, marks=pytest.mark.full), release])
def test_channel_stays_a_tag_whoever_fills_it(
    points: Callable[[int], Points], influxd: Influxd, tmp_path: Path
) -> None:
    """Without it, what a machine measures at one time would be one point. No writer is the one to stop."""
    result, finding, _ = _found(points, influxd, tmp_path)
    assert "It has to stay" in finding.fix
    made = [change for _, f in result.findings() for change in f.changes]
    assert not [change for change in made if isinstance(change, MakeField | StopSource)]
    assert not [step for plan in result.plans for step in plan.steps if step.loses]


@pytest.mark.full
def test_tag_that_no_other_program_has_becomes_a_field(influxd: Influxd, tmp_path: Path) -> None:
    """Nobody else needs it, and nothing is lost."""
    _, finding, _ = _found(requests, influxd, tmp_path, tag="request")
    assert [change.claims() for change in finding.changes] == [{("role", "request"): "field"}]
