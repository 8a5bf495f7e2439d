"""Which findings have a plan, which share one, and how long it is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import (
    a_count,
    a_field,
    a_finding,
    a_measurement,
    a_profile,
    a_result,
    a_rule_result,
    a_source,
    a_tag,
)
from tests.planning.runner import misshapen, printed
from tsaudit.engines.advice import Advice
from tsaudit.engines.registry import ENGINES
from tsaudit.evaluation import evaluate
from tsaudit.model.change import (
    AddIndex,
    Change,
    ChangeType,
    Diagnose,
    DropIndex,
    MakeField,
    MergeMeasurements,
    Rename,
    SetOption,
)
from tsaudit.model.columns import Contribution, TagSets
from tsaudit.model.figures import Subject
from tsaudit.model.finding import AuditResult, Finding, Severity
from tsaudit.model.plan import Plan, StepKind
from tsaudit.model.profile import Measurement, Profile
from tsaudit.model.storage import Index
from tsaudit.planning import describe
from tsaudit.planning.plans import plans_of, with_advice

AT = Subject("main", "cpu")
SERVERS = [name for name in sorted(ENGINES) if not ENGINES[name].keeps_documents]


def _measurement(name: str, series: int = 500) -> Measurement:
    """`host` makes nearly all series; `region` has three values."""
    left = (Contribution("host", (), 3), Contribution("region", (), series))
    sets = TagSets(series, 3 * series, series, (), ("host",), left, left, a_source())
    tags = (a_tag("host", series), a_tag("region", 3))
    return a_measurement(name, series, tags=tags, fields=(a_field("usage"),), tag_sets=sets, rows=a_count(9_000))


def _finding(name: str, *changes: Change, severity: Severity = Severity.WARNING, database: str = "main") -> Finding:
    at = Subject(database, name)
    return a_finding(at, severity, changes=changes or (MakeField(at, "host"),))


def _result(profile: Profile, *findings: Finding, code: str = "CAR001") -> AuditResult:
    result = a_rule_result(*findings, code=code)
    return a_result(result, plans=plans_of(profile, [result]))


@pytest.mark.parametrize("engine", SERVERS)
def test_one_tag_in_eighty_measurements_is_one_plan_on_a_screen(engine: str) -> None:
    names = [f"cpu_{n:02}" for n in range(80)]
    profile = a_profile(*map(_measurement, names), engine=engine)
    result = _result(profile, *map(_finding, names))
    (plan,) = result.plans
    assert misshapen(plan, profile, result) == []
    assert plan.subject.measurement == "cpu_00"
    assert [at.measurement for at in plan.also] == names[1:]
    assert (plan.effect.series_now, plan.effect.series_after) == (40_000, 240)
    assert "main/cpu_00  " in printed(plan, result)[0]
    assert f"also for {len(names) - 1} others" in printed(plan, result)[0]
    assert describe.behind(plan, result) == list(result.findings())
    assert {step.kind for step in plan.steps} >= {StepKind.WRITER}


@pytest.mark.parametrize("engine", SERVERS)
def test_notes_have_no_plan_and_their_changes_are_in_no_other(engine: str) -> None:
    profile = a_profile(_measurement("cpu"), _measurement("mem"), engine=engine)
    note = _finding("cpu", MakeField(Subject("main", "cpu"), "region"), severity=Severity.NOTE)
    result = _result(profile, _finding("cpu"), note, _finding("mem", severity=Severity.NOTE))
    (plan,) = result.plans
    assert [one.change for one in plan.changes] == [MakeField(Subject("main", "cpu"), "host")]
    assert plan.also == ()
    assert describe.of_finding(note, result.plans) is None
    # It says what would be better all the same.
    said = with_advice(profile, a_rule_result(note)).findings[0].fix
    assert "region" in said
    assert said.endswith(note.fix)


@pytest.mark.parametrize("change", [AddIndex(AT, ("time",)), MakeField(AT, "region")])
@pytest.mark.parametrize("engine", SERVERS)
def test_fix_of_a_note_says_nothing_about_a_statement_that_nobody_sees(engine: str, change: Change) -> None:
    """It is one sentence. Where there is a plan, more of them are next to the statement."""
    profile = a_profile(_measurement("cpu"), engine=engine)
    fixes = {
        severity: with_advice(profile, a_rule_result(_finding("cpu", change, severity=severity))).findings[0].fix
        for severity in (Severity.NOTE, Severity.WARNING)
    }
    own = fixes[Severity.NOTE].removesuffix(_finding("cpu").fix).strip()
    assert fixes[Severity.WARNING].startswith(own)
    assert ". " not in own
    assert ("USING brin" in fixes[Severity.WARNING]) == (engine == "postgresql" and isinstance(change, AddIndex))


@pytest.mark.parametrize(("places", "sentences"), [(3, 3), (4, 1)])
def test_fix_of_many_places_says_what_to_do_in_the_first(places: int, sentences: int) -> None:
    names = [f"cpu_{n}" for n in range(places)]
    profile = a_profile(*map(_measurement, names), engine="influxdb1")
    changes = [MakeField(Subject("main", n), "region") for n in names]
    # In the last place, another column needs the same.
    for more in ([], [MakeField(Subject("main", names[-1]), "host")]):
        note = _finding(names[0], *changes, *more, severity=Severity.NOTE)
        said = with_advice(profile, a_rule_result(note)).findings[0].fix
        assert said.count("as a field") + said.count("as fields") == sentences
        assert ("Do the same in the 3 other places." in said) == (sentences == 1)


def test_findings_about_one_measurement_are_one_plan_and_databases_do_not_mix() -> None:
    at, other = Subject("main", "cpu"), Subject("other", "cpu")
    profile = a_profile(_measurement("cpu"), replace(_measurement("cpu"), database="other"), engine="influxdb1")
    both = _finding("cpu", MakeField(at, "host"), MakeField(at, "region"))
    worse = _finding("cpu", severity=Severity.CRITICAL)
    result = _result(profile, both, worse, _finding("cpu", MakeField(other, "region"), database="other"))
    first, second = result.plans
    assert [one.change for one in first.changes] == [MakeField(at, "host"), MakeField(at, "region")]
    assert (second.subject, second.also) == (other, ())
    assert describe.behind(first, result) == [pair for pair in result.findings() if pair[1].subject.database == "main"]


def test_names_of_indexes_and_measurements_do_not_keep_plans_apart() -> None:
    names = ("orders_01", "orders_02", "orders_03")
    profile = a_profile(
        *(
            replace(_measurement(n), indexes=(Index(f"{n}_host_idx", "btree", ("host",), False, False, False),))
            for n in names
        ),
        engine="duckdb",
    )
    drops = [_finding(name, DropIndex(Subject("main", name), f"{name}_host_idx", ("host",))) for name in names]
    (plan,) = _result(profile, *drops).plans
    assert len(plan.subjects) == 3
    (schema,) = [step for step in plan.steps if step.kind is StepKind.SCHEMA]
    assert all(f"{name}_host_idx" in schema.text for name in names)
    renames = [_finding(name, Rename(Subject("main", name), "", f"{name}_new")) for name in names]
    assert [len(plan.subjects) for plan in _result(profile, *renames).plans] == [3]
    apart = [_finding(name, Rename(Subject("main", name), "host", f"{name}_host")) for name in names]
    assert len(_result(profile, *apart).plans) == 3


def test_order_of_the_plans_is_that_of_the_findings() -> None:
    profile = a_profile(_measurement("cpu"), _measurement("mem"), engine="influxdb1")
    at = Subject("main", "mem")
    result = _result(profile, _finding("cpu"), _finding("mem", MakeField(at, "region"), severity=Severity.CRITICAL))
    assert [plan.subject.measurement for plan in result.plans] == ["mem", "cpu"]


def test_what_the_engine_has_no_statement_for_is_left_out() -> None:
    at = Subject("main", "cpu")
    profile = a_profile(_measurement("cpu"), engine="influxdb1")
    unknown = SetOption(at, "compression", "zstd")
    (plan,) = _result(profile, _finding("cpu", unknown, MakeField(at, "host"))).plans
    assert [(one.change, one.reason) for one in plan.left_out] == [
        (unknown, "tsaudit knows no statement for this on influxdb1")
    ]
    assert describe.left_out(plan) == ["Left out: CAR001, because tsaudit knows no statement for this on influxdb1."]
    assert _result(profile, _finding("cpu", unknown)).plans == (), "a plan without a step is none"


def test_only_some_of_what_is_left_out_is_printed() -> None:
    at = Subject("main", "cpu")
    profile = a_profile(_measurement("cpu"), engine="influxdb1")
    changes = [change for key in "abcdef" for change in (MakeField(at, key), Rename(at, key, f"{key}_x"))]
    relying = [MakeField(at, f"host_{key}", tags_kept=(key,)) for key in "abcdef"]
    (plan,) = _result(profile, _finding("cpu", *changes, *relying)).plans
    assert len(plan.left_out) == 6
    assert describe.left_out(plan)[-1] == "3 more changes left out."


def test_last_field_is_not_made_a_tag_where_rows_need_one() -> None:
    from tsaudit.model.change import MakeTag

    at = Subject("main", "cpu")
    profile = a_profile(_measurement("cpu"), engine="influxdb1")
    change = MakeTag(at, "usage")
    assert _result(profile, _finding("cpu", change)).plans == ()
    (plan,) = _result(profile, _finding("cpu", change, MakeField(at, "host"))).plans
    assert not plan.left_out


class _Broken(Advice):
    handles = frozenset({MakeField})

    def find(self) -> None:
        raise RuntimeError("no such query")


def test_advice_of_another_package_that_breaks_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    profile = a_profile(_measurement("cpu"), engine="duckdb")
    monkeypatch.setattr(ENGINES["duckdb"], "advice", lambda: _Broken)
    with pytest.raises(RuntimeError):
        _result(profile, _finding("cpu"))
    monkeypatch.setattr(ENGINES["duckdb"], "package", "tsaudit-duck 1.0")
    (plan,) = _result(profile, _finding("cpu")).plans
    assert [step.words for step in plan.steps] == [
        "tsaudit-duck 1.0 cannot say how duckdb makes this change: RuntimeError: no such query."
    ]


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_each_engine_handles_changes_of_kinds_that_it_knows(engine: str) -> None:
    handled = ENGINES[engine].advice().handles
    assert Diagnose in handled
    assert all(issubclass(kind, Change) for kind in handled)
    assert handled & {ChangeType, MergeMeasurements}


def test_finding_of_a_plan_is_one_that_asks_for_some_of_it() -> None:
    at = Subject("main", "cpu")
    profile = a_profile(_measurement("cpu"), engine="influxdb1")
    finding, other = _finding("cpu"), _finding("cpu", MakeField(at, "region"))
    (plan,) = _result(profile, finding).plans
    assert describe.of_finding(finding, (plan,)) is plan
    assert describe.of_finding(other, (plan,)) is None
    assert plan.makes(MakeField(at, "host", tags_kept=("region",)))
    assert not plan.makes(MakeField(Subject("main", "mem"), "host"))
    assert describe.anchor(plan) != describe.anchor(Plan(at, (replace(plan.changes[0], change=other.changes[0]),), ()))


def test_audit_makes_the_plans() -> None:
    profile = a_profile(_measurement("cpu", 2_000_000), engine="influxdb1")
    result = evaluate(profile)
    assert result.plans
    for plan in result.plans:
        assert misshapen(plan, profile, result) == []


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Write a as a field. In Telegraf:", "Write a as a field."),
        ("In Telegraf:", "In Telegraf."),
        ("Write a. Then b. " + "And much more that only matters to whoever does it all " * 4 + ".", "Write a. Then b."),
        ("Write a. `b` stays.", "Write a. `b` stays."),
    ],
)
def test_words_beside_a_finding_are_whole_sentences(said: str, kept: str) -> None:
    assert describe.brief(said) == kept
