"""DRF001: what changed since the last audit."""

from __future__ import annotations

import dataclasses
import uuid
from typing import Any

import pytest

from tests.builders import DAY, a_field, a_measurement, a_profile, a_source, a_tag
from tests.engines.traits import KEEP_DOCUMENTS
from tests.rules.cases import Case, dataset, hosts, plans, run_rule, table
from tsaudit.evaluation import evaluate
from tsaudit.model.change import AddIndex, Change, LeaveOut, Merged, MergeMeasurements, Rename, SplitMeasurement
from tsaudit.model.figures import Gap, How, Reason, Selection, Subject
from tsaudit.model.finding import Finding, Outcome, RuleResult
from tsaudit.model.plan import Requested
from tsaudit.model.profile import Database, Measurement, Profile
from tsaudit.model.rows import Documents
from tsaudit.model.timeline import Timeline
from tsaudit.rules.drift.schema_drift import schema_drift as rule

_HOME = table("home", hosts(3))
_LABELLED = table("home", [h | {"pod": "a"} for h in hosts(3)])
CASES = (
    Case(
        before=dataset(_HOME),
        breaks=dataset(_LABELLED),
        keeps=dataset(_HOME),
        subject=Subject("", "home", "pod"),
        main_contributor="pod",
        engines=rule.engines - KEEP_DOCUMENTS,
    ),
    Case(
        before=dataset(_HOME, table("mem", hosts(3))),
        breaks=dataset(_HOME),
        keeps=dataset(_HOME, table("mem", hosts(3))),
        subject=Subject("", "mem"),
    ),
    Case(
        before=dataset(_HOME),
        breaks=dataset(
            table("home", hosts(3), {"usage": "string"}, lambda s, r: {"usage": f"about {s} percent of {r}"})
        ),
        keeps=dataset(_HOME),
        subject=Subject("", "home", "usage"),
        engines=frozenset({"influxdb1"}),
    ),
    Case(
        before=dataset(_HOME),
        breaks=dataset(table("home", hosts(3), {"usage": "integer"}, lambda s, r: {"usage": r})),
        keeps=dataset(_HOME),
        subject=Subject("", "home", "usage"),
    ),
)


def _judged(before: Profile, after: Profile) -> RuleResult:
    return run_rule(rule, after, timeline=Timeline(previous=before))


def test_silence_about_what_is_made_for_each_period() -> None:
    def names(*which: int) -> Profile:
        return a_profile(*(a_measurement(f"users_2026_03_{day:02}") for day in which))

    assert _judged(names(1, 2, 3, 4), names(3, 4, 5, 6)).findings == ()
    # All of them at once are another matter.
    rest = a_measurement("users")
    (gone,) = _judged(a_profile(rest, *names(1, 2, 3, 4).measurements), a_profile(rest)).findings
    assert gone.message.startswith("users_2026_03_01 was removed. The same holds for 3 more tables: ")


def _change(before: Measurement, after: Measurement) -> Finding:
    (finding,) = _judged(a_profile(before), a_profile(after)).findings
    return finding


def test_silence_when_nothing_changed_or_nothing_came_before() -> None:
    assert _judged(a_profile(), a_profile()).outcome is Outcome.PASS
    assert run_rule(rule, a_profile()).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"tags": (a_tag(), a_tag("pod"))},
            "Tag pod is new; every new value of it can create new series.",
        ),
        ({"tags": ()}, "Tag host was removed."),
        ({"fields": (a_field(), a_field("idle"))}, "Field idle is new (float)."),
        ({"fields": ()}, "Field usage was removed."),
        (
            {"fields": (a_field(types=("float", "string")),)},
            "Field usage was float and is now float and string.",
        ),
        ({"tags": (a_tag(data_type="INTEGER"),)}, "Tag host was string and is now INTEGER."),
        ({"tags": (), "fields": (a_field(), a_field("host"))}, "host was a tag and is now a field."),
    ],
)
def test_finding_when_columns_change(changes: dict[str, Any], message: str) -> None:
    finding = _change(a_measurement(), a_measurement(**changes))
    assert (finding.impact, finding.message) == (None, message)
    assert finding.since == DAY


def test_finding_when_measurements_come_and_go() -> None:
    result = _judged(a_profile(a_measurement("old")), a_profile(a_measurement("new")))
    found = [(f.subject.measurement, f.impact, f.message) for f in result.findings]
    assert found == [("new", None, "new is new."), ("old", None, "old was removed.")]


def test_finding_when_databases_come_and_go() -> None:
    old, new = a_measurement(database="old"), a_measurement(database="new")
    found = [(f.subject, f.message) for f in _judged(a_profile(old), a_profile(new)).findings]
    assert found == [(Subject("new"), "Database new is new."), (Subject("old"), "Database old was dropped.")]


def test_one_finding_when_a_whole_database_comes_or_goes() -> None:
    one, two = a_measurement(database="one"), a_measurement(database="two")
    result = _judged(a_profile(one), a_profile(two))
    assert [(f.subject, f.impact) for f in result.findings] == [(Subject("one"), None), (Subject("two"), None)]


@pytest.mark.parametrize(
    ("before", "now", "severity"),
    [(2_000, 3_000, "warning"), (2_001, 3_000, "note"), (4_000, 5_999, "note"), (4_000, 6_000, "warning")],
)
def test_series_that_come_with_a_new_tag(before: int, now: int, severity: str) -> None:
    old = a_profile(a_measurement(series=before), engine="influxdb1")
    new = a_profile(a_measurement(series=now, tags=(a_tag(), a_tag("pod"))), engine="influxdb1")
    (finding,) = _judged(old, new).findings
    assert finding.severity == severity
    if severity == "warning":
        assert finding.impact is not None
        assert (finding.impact.now, finding.impact.whole, finding.impact.per_day) == (now - before, now, None)
    # It is news of the day; and where series cost nothing, no more than that.
    assert _judged(new, new).findings == ()
    (finding,) = _judged(*(dataclasses.replace(one, engine="duckdb") for one in (old, new))).findings
    assert finding.impact is None


def test_a_new_tag_that_is_unbounded_is_one_story() -> None:
    """On its first day, a leak is a new tag and an unbounded one: two findings would say its figures differently."""
    ids = tuple(str(uuid.UUID(int=n * 7919**9 % 2**128, version=4)) for n in range(64))
    old = a_profile(a_measurement(series=20), engine="influxdb1")
    leak = a_measurement(series=12_020, tags=(a_tag(), a_tag("request_id", 12_000, ids)))
    result = evaluate(a_profile(leak, engine="influxdb1"), timeline=Timeline(previous=old))
    told = {rule.code: finding for rule, finding in result.findings() if finding.subject.column == "request_id"}
    assert set(told) == {"TAG002"}
    assert told["TAG002"].severity == "warning"
    also = {one.label: one.value for one in told["TAG002"].evidence}
    assert also["also DRF001"].startswith("Tag request_id is new")


@pytest.mark.parametrize(
    ("engine", "of_database", "of_measurement"),
    [
        (
            "influxdb1",
            'SHOW MEASUREMENTS ON "new"',
            'SHOW SERIES ON "main" FROM "main"."raw"."b";\nSHOW FIELD KEYS ON "main" FROM "main"."raw"."b"',
        ),
        (
            "influxdb2",
            'import "influxdata/influxdb/schema"\nschema.measurements(bucket: "new")',
            'import "influxdata/influxdb/schema"\nschema.measurementTagKeys(bucket: "main", measurement: "b")',
        ),
    ],
)
def test_plan_shows_what_is_new_where_it_is(engine: str, of_database: str, of_measurement: str) -> None:
    old, new = (a_measurement(name, path=("main", "raw")) for name in "ab")
    before = a_profile(old, engine=engine)
    after = a_profile(old, new, a_measurement(database="new", path=("new", "autogen")), engine=engine)
    assert evaluate(after, Timeline(previous=before), rules=[rule]).plans == (), "notes have none"
    found = plans(rule, after, timeline=Timeline(previous=before))
    assert {str(plan.subject): plan.steps[0].text for plan in found} == {
        "main/b": of_measurement,
        "new": of_database,
    }


STRUCTURE = ("databases", "measurements", "columns", "tag_keys", "field_types")


@pytest.mark.parametrize("fact", STRUCTURE)
@pytest.mark.parametrize("where", [(None, None), ("main", None), ("main", "cpu")])
@pytest.mark.parametrize("side", ["before", "after"])
def test_silence_when_a_fact_could_not_be_had(fact: str, where: tuple[str | None, str | None], side: str) -> None:
    gap = Gap(fact, Reason.DENIED, "refused", *where)
    full, bare = a_profile(), a_profile(a_measurement(tags=(), fields=()))
    for before, after in ((full, bare), (bare, full)):
        blind = {side: dataclasses.replace({"before": before, "after": after}[side], gaps=(gap,))}
        result = _judged(blind.get("before", before), blind.get("after", after))
        assert result.findings == ()


def test_silence_when_a_failed_listing_leaves_nothing() -> None:
    gap = Gap("measurements", Reason.TIMED_OUT, "took too long", "main")
    empty = a_profile(databases=(Database("main"),), measurements=(), gaps=(gap,))
    assert _judged(a_profile(), empty).outcome is Outcome.OPEN


def test_silence_when_the_server_went_away_midway() -> None:
    gap = Gap("measurements", Reason.UNREACHABLE, "connection lost", "other")
    after = a_profile(databases=(), measurements=(), gaps=(gap,))
    assert _judged(a_profile(), after).findings == ()


def test_finding_when_the_gap_is_about_something_else() -> None:
    gap = Gap("measurements", Reason.DENIED, "refused", "elsewhere")
    after = dataclasses.replace(a_profile(a_measurement(tags=())), gaps=(gap,))
    assert len(_judged(a_profile(), after).findings) == 1


def test_silence_about_roles_when_rows_could_not_be_read() -> None:
    gap = Gap("row_sample", Reason.TIMED_OUT, "took too long", "main", "cpu")
    after = a_profile(a_measurement(tags=(), fields=(a_field(), a_field("host", ("string",)))), gaps=(gap,))
    assert _judged(a_profile(), after).findings == ()


@pytest.mark.parametrize(
    "selection",
    [
        Selection(exclude=("mem*",)),
        Selection(include=("cpu",)),
        Selection(databases=("other",)),
    ],
)
def test_silence_when_the_configuration_leaves_it_out(selection: Selection) -> None:
    everything = a_profile(a_measurement("cpu"), a_measurement("mem"))
    kept = tuple(m for m in everything.measurements if selection.takes(m.database, m.name))
    names = tuple(d for d in everything.databases if selection.takes(d.name))
    chosen = dataclasses.replace(everything, measurements=kept, databases=names, selection=selection)
    assert _judged(everything, chosen).findings == ()
    assert _judged(chosen, everything).findings == ()


def _sampled(null_ratio: float, types: tuple[str, ...] = ("int",), how: How = How.SAMPLED) -> Measurement:
    """Documents of which a thousand were read. `null_ratio` 1: the field is not there."""
    fields = (a_field("_id", types=("objectId",)),)
    if null_ratio < 1:
        fields += (a_field("note", types=types, null_ratio=null_ratio),)
    return dataclasses.replace(a_measurement(), fields=fields, documents=Documents(1000, 50.0, 80, a_source(how)))


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (_sampled(0.995), _sampled(1.0), 0),
        (_sampled(0.95), _sampled(1.0), 1),
        (_sampled(0.995, how=How.EXACT), _sampled(1.0, how=How.EXACT), 1),
        (_sampled(1.0), _sampled(0.995), 0),
        (_sampled(1.0), _sampled(0.5), 1),
        (_sampled(0.0), _sampled(0.0, ("int", "string")), 0),
        (_sampled(0.0), _sampled(0.0, ("string",)), 1),
        # One day it was read, the other day another collection of its family was.
        (_sampled(0.5), dataclasses.replace(_sampled(1.0), fields=(), documents=None), 0),
    ],
)
def test_difference_between_samples_is_no_drift(before: Measurement, after: Measurement, found: int) -> None:
    result = _judged(a_profile(before, engine="mongodb"), a_profile(after, engine="mongodb"))
    assert len(result.findings) == found, [f.message for f in result.findings]


@pytest.mark.parametrize(
    ("change", "is_named"),
    [
        (LeaveOut(Subject("main", "cpu"), "host"), True),
        (Rename(Subject("main", "old"), "", "cpu"), True),
        (SplitMeasurement(Subject("main", "all"), "cpu", ("usage",)), True),
        (MergeMeasurements(Subject("main"), "cpus", "{host}", (Merged("cpu", ()),)), True),
        (LeaveOut(Subject("main", "mem"), "host"), False),
        (LeaveOut(Subject("other", "cpu"), "host"), False),
        # The columns stay the same.
        (AddIndex(Subject("main", "cpu"), ("time",)), False),
    ],
)
def test_rules_that_asked_for_changes_of_the_measurement_are_named(change: Change, is_named: bool) -> None:
    timeline = Timeline(previous=a_profile(), wanted=(Requested(change, ("X001",)),))
    (result,) = evaluate(a_profile(a_measurement("cpu", tags=())), timeline, rules=[rule]).results
    (finding,) = result.findings
    assert finding.fix.startswith("If it is one of the changes that X001 asked for, nothing has") == is_named
    assert any(e.value == "X001" for e in finding.evidence) == is_named


def test_changes_asked_for_are_read_once_however_much_was_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a leak of names was ended, there are as many changes asked for as fields removed: tens of thousands."""
    read = []
    claims = LeaveOut.claims
    monkeypatch.setattr(LeaveOut, "claims", lambda change: (read.append(change.column), claims(change))[1])
    names = [f"pump_{name}" for name in ("inlet", "outlet", "seal", "motor", "valve")]
    before = a_profile(a_measurement(fields=(a_field(), *map(a_field, names))))
    asked = tuple(Requested(LeaveOut(Subject("main", "cpu"), name), (f"X{i}",)) for i, name in enumerate(names))
    result = run_rule(rule, a_profile(), timeline=Timeline(previous=before, wanted=asked))
    assert "asked for" in result.findings[0].fix
    assert sorted(read) == sorted(names)
