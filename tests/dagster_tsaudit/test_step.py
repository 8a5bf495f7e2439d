"""What an audit step does with the targets that `tsaudit.run` hands back."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from types import SimpleNamespace

import dagster as dg
import pytest

from dagster_tsaudit import plan
from dagster_tsaudit.audited import history
from dagster_tsaudit.automation import definitions_of
from dagster_tsaudit.checks import _last_audits, check_names, owner_results
from dagster_tsaudit.plan import AuditConfig, encode
from tests.builders import NOW, a_finding, a_profile, a_result, a_rule_result
from tests.dagster_tsaudit.runs import (
    a_failed_audit,
    a_plan,
    an_audit,
    execute,
    failure_of,
    fake_audits,
    write_config,
)
from tests.report.test_index import an_entry
from tsaudit import run
from tsaudit.model.finding import Severity
from tsaudit.not_audited import result_of, whole


@pytest.fixture(autouse=True)
def _nothing_to_send(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tsaudit.alerts.send", lambda *_: SimpleNamespace(errors=()))
    monkeypatch.setattr(run, "audit_targets", fake_audits())


def keys_of(outcome: dg.ExecuteInProcessResult) -> set[str]:
    return {e.asset_key.path[-1] for e in outcome.get_asset_materialization_events() if e.asset_key}


def test_all_targets_are_materialized_with_their_checks(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    outcome = execute(a_plan(write_config(tmp_path, "a", "b")), instance)
    assert outcome.success
    assert keys_of(outcome) == {"a", "b"}
    assert {(c.asset_key.path[-1], c.check_name) for c in outcome.get_asset_check_evaluations()} == {
        (name, check) for name in "ab" for check in check_names(["duckdb"])
    }


def test_a_failed_target_neither_stops_nor_hides_the_others(
    tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "audit_targets", fake_audits(a_failed_audit("b", "no such file")))
    outcome = execute(a_plan(write_config(tmp_path, "a", "b", "c")), instance)
    assert not outcome.success
    assert keys_of(outcome) == {"a", "c"}
    bad = [c for c in outcome.get_asset_check_evaluations() if c.asset_key.path[-1] == "b"]
    assert len(bad) == len(check_names(["duckdb"]))
    assert not any(c.passed for c in bad)
    assert failure_of(outcome) == "b: no such file"


@pytest.mark.parametrize("granularity", ["target", "group"])
def test_a_failed_audit_of_an_audited_day_fails_the_run_and_materializes_nothing(
    granularity: str, tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its figures are those that an earlier run materialized."""
    missed = result_of([whole("no such file")])
    kept = replace(a_result(a_rule_result(), missed, target="a"), failed_at=datetime.now(UTC))
    monkeypatch.setattr(run, "audit_targets", fake_audits(an_audit("a", result=kept, error="no such file")))
    outcome = execute(a_plan(write_config(tmp_path, "a"), granularity=granularity), instance)
    assert not outcome.success
    assert failure_of(outcome) == "a: no such file"
    assert keys_of(outcome) == set()
    checks = {c.check_name: c for c in outcome.get_asset_check_evaluations()}
    assert not checks["cardinality"].passed
    assert "no such file" in (checks["cardinality"].description or "")


def test_the_last_audit_shown_on_the_owners_asset_says_what_was_not_audited(tmp_path: Path) -> None:
    config = write_config(tmp_path, "a", target_extra="asset_key: [shop, orders]")
    plan = a_plan(config)
    result = replace(a_result(a_rule_result(), result_of([whole("no such file")]), target="a"), failed_at=NOW)
    with history(plan.load()) as store:
        store.save(a_profile(target="a"), result, None)
    ((found, target),) = _last_audits(plan, list(plan.load().targets))
    checks = {c.check_name: c for c in owner_results(target, found)}
    assert not checks["tsaudit_a_coverage"].passed
    assert "no such file" in (checks["tsaudit_a_coverage"].description or "")


@pytest.mark.parametrize("granularity", ["target", "group"])
def test_every_check_of_a_healthy_target_has_a_result_when_another_one_fails(
    granularity: str, tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever applies to it: Dagster shows those without a result as failed."""
    config = write_config(tmp_path, "a", "b", target_extra="group: own\nasset_key: [shop, orders]")
    config.write_text(config.read_text("utf-8").replace("group: own", "group: other", 1), "utf-8")
    monkeypatch.setattr(run, "audit_targets", fake_audits(a_failed_audit("b")))
    plan = a_plan(config, granularity=granularity)
    specs = definitions_of(plan).resolve_asset_graph().asset_check_keys
    outcome = execute(plan, instance)
    assert not outcome.success
    own = {(c.asset_key, c.check_name) for c in outcome.get_asset_check_evaluations()}
    shown = {(key.asset_key, key.name) for key in specs if key.asset_key != dg.AssetKey(["shop", "orders"])}
    assert own == shown
    assert len(shown) == 2 * len(check_names(["duckdb"]))
    for key in set(specs) - {key for key in specs if (key.asset_key, key.name) in shown}:
        assert instance.event_log_storage.get_asset_check_execution_history(key, limit=1), key


def test_a_critical_finding_leaves_the_run_green(
    tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    critical = an_audit("a", result=a_result(a_rule_result(a_finding(severity=Severity.CRITICAL))))
    monkeypatch.setattr(run, "audit_targets", fake_audits(critical))
    outcome = execute(a_plan(write_config(tmp_path, "a")), instance)
    assert outcome.success
    (check,) = [c for c in outcome.get_asset_check_evaluations() if c.check_name == "cardinality"]
    assert (check.passed, check.severity) == (False, dg.AssetCheckSeverity.ERROR)


def test_an_alert_that_was_not_delivered_turns_the_run_red(
    tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tsaudit.alerts.send", lambda *_: SimpleNamespace(errors=("#web: channel_not_found",)))
    outcome = execute(a_plan(write_config(tmp_path, "a")), instance)
    assert not outcome.success
    assert keys_of(outcome) == {"a"}
    assert failure_of(outcome) == "alert not delivered: #web: channel_not_found"


def test_an_index_that_cannot_be_written_turns_the_run_red(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    (tmp_path / "reports" / "index.html").mkdir(parents=True)
    outcome = execute(a_plan(write_config(tmp_path, "a")), instance)
    assert keys_of(outcome) == {"a"}
    assert "index.html: Is a directory; check `report.folder`" in failure_of(outcome)


def test_the_owners_own_asset_gets_an_observation(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    config = write_config(tmp_path, "a", target_extra="asset_key: [shop, orders]")
    assert execute(a_plan(config), instance).success
    (record,) = instance.fetch_observations(dg.AssetKey(["shop", "orders"]), limit=5).records
    assert record.asset_observation is not None
    assert record.asset_observation.metadata["series"].value == 3
    assert record.asset_observation.metadata["tsaudit_verdict"].value == "ok"


def test_the_owners_own_asset_gets_the_checks(
    tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two targets of one asset do not share their checks, and one that was not audited hides nothing."""
    critical = an_audit("a", result=a_result(a_rule_result(a_finding(severity=Severity.CRITICAL)), target="a"))
    monkeypatch.setattr(run, "audit_targets", fake_audits(critical, a_failed_audit("b-2")))
    plan = a_plan(write_config(tmp_path, "a", "b-2", target_extra="asset_key: [shop, orders]"))
    key = dg.AssetKey(["shop", "orders"])
    specs = [check for check in definitions_of(plan).resolve_asset_graph().asset_check_keys if check.asset_key == key]
    outcome = execute(plan, instance)
    found = {}
    for spec in specs:
        for record in instance.event_log_storage.get_asset_check_execution_history(spec, limit=5):
            assert record.event is not None
            found[spec.name] = record.event.dagster_event.asset_check_evaluation_data  # type: ignore[union-attr]
    assert len(specs) == 2 * len(check_names(["duckdb"]))
    assert {check.metadata["run"].value for check in found.values()} == {outcome.run_id}
    assert found["tsaudit_a_cardinality"].severity is dg.AssetCheckSeverity.ERROR
    assert "Tag host has too many values" in (found["tsaudit_a_cardinality"].description or "")
    failed = [name for name in found if name.startswith(f"tsaudit_{encode('b-2')}_")]
    assert len(failed) == len(check_names(["duckdb"]))
    assert not any(found[name].passed for name in failed)


def test_a_target_without_an_asset_has_its_checks_only_on_the_audit(tmp_path: Path) -> None:
    assert not list(definitions_of(a_plan(write_config(tmp_path, "a"))).asset_checks or ())


def test_only_what_was_selected_is_audited(
    tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    audits = fake_audits()

    def audit_targets(targets, *args, **options):
        asked.extend(target.name for target in targets)
        return audits(targets, *args, **options)

    monkeypatch.setattr(run, "audit_targets", audit_targets)
    outcome = execute(
        a_plan(write_config(tmp_path, "a", "b")), instance, asset_selection=[dg.AssetKey(["tsaudit", "b"])]
    )
    assert outcome.success
    assert asked == ["b"]
    assert keys_of(outcome) == {"b"}


def test_the_address_of_the_run_goes_into_alerts_and_reports(
    tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, object] = {}

    def audit_targets(targets, settings, store, **options):
        seen.update(options)
        return fake_audits()(targets, settings, store)

    monkeypatch.setattr(run, "audit_targets", audit_targets)
    plan = a_plan(write_config(tmp_path, "a"), dagster_url="https://dagster.example.com")
    outcome = execute(plan, instance, day="2026-02-28")
    assert seen["run_url"] == f"https://dagster.example.com/runs/{outcome.run_id}"
    assert str(seen["day"]) == "2026-02-28"


def test_a_missing_environment_variable_keeps_one_target_from_being_audited(
    tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on the command line: the audit of that target fails, with an incident, and those of the others go on."""
    monkeypatch.undo()
    config = write_config(tmp_path, "a", target_extra="password: ${TSAUDIT_TEST_NOT_SET}")
    outcome = execute(a_plan(config), instance)
    assert not outcome.success
    assert "TSAUDIT_TEST_NOT_SET is not set" in failure_of(outcome)
    assert not any(check.passed for check in outcome.get_asset_check_evaluations())


def test_a_day_that_is_none_fails_the_run(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    outcome = execute(a_plan(write_config(tmp_path, "a")), instance, day="yesterday")
    said = "`yesterday` is not `today`, a day such as 2026-03-31, or a range such as 2026-03-01..2026-03-31"
    assert failure_of(outcome) == said


def test_a_day_in_the_future_is_refused_before_anything_is_audited(
    tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "audit_targets", None)
    outcome = execute(a_plan(write_config(tmp_path, "a")), instance, days=["2026-03-31", "2999-01-01"])
    assert failure_of(outcome).startswith("2999-01-01 is in the future; in UTC it is ")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "`days` is empty"),
        (["2026-03-31..2026-03-30"], "ends before it begins"),
        (["2026-03-01..march"], "`march` is not `today`, a day"),
        (["2006-03-01..2026-03-01"], "`days` contains 7,306 days; a run audits at most 366"),
    ],
)
def test_days_that_are_none_fail_the_run(given: list[str], message: str) -> None:
    with pytest.raises(dg.Failure) as caught:
        plan.audited_days(AuditConfig(days=given))
    assert message in (caught.value.description or "")


def test_today_is_audited_unless_days_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "utc_now", lambda: datetime(2026, 3, 31, 23, tzinfo=UTC))
    assert plan.audited_days(AuditConfig()) == [date(2026, 3, 31)]


def test_several_days_are_audited_oldest_first_in_one_run(
    tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str]] = []

    def audit_targets(targets, settings, store, *, day, **_):
        for target in targets:
            asked.append((str(day), target.name))
            broken = target.name == "b" and day.day == 1
            audit = a_failed_audit(target.name, "no such file") if broken else an_audit(target.name)
            yield replace(audit, day=day)

    pages: list[int] = []
    monkeypatch.setattr(run, "audit_targets", audit_targets)
    monkeypatch.setattr("tsaudit.report.write_index", lambda *_: pages.append(len(asked)) or [an_entry("b")])
    given = ["2026-03-03", "2026-02-28..2026-03-01", "2026-03-01"]
    outcome = execute(a_plan(write_config(tmp_path, "a", "b")), instance, days=given)
    assert asked == [(day, name) for day in ("2026-02-28", "2026-03-01", "2026-03-03") for name in "ab"]
    assert pages == [len(asked)], "once, after all audits"
    assert failure_of(outcome) == "b on 2026-03-01: no such file"
    shown = {e.asset_key.path[-1]: e.materialization.metadata for e in outcome.get_asset_materialization_events()}
    assert str(shown.pop("shop")["summary"].value) == "2 targets: 1 warning, 1 never audited"
    assert {name: metadata["day"].value for name, metadata in shown.items()} == {"a": "2026-03-03", "b": "2026-03-03"}
    assert len([c for c in outcome.get_asset_check_evaluations() if c.check_name == "coverage"]) == 2


@pytest.mark.parametrize("granularity", ["target", "group"])
def test_a_past_day_does_not_replace_the_state_of_the_newest_one(
    granularity: str, tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tsaudit.history.store.Store.newest_days", lambda _: {"a": date(2026, 3, 31)})
    config = write_config(tmp_path, "a", "b", target_extra="group: shops")
    outcome = execute(a_plan(config, granularity=granularity), instance, day="2026-03-22")
    assert outcome.success
    kept = {"group": set(), "target": {"b"}}[granularity]
    assert {key for key in keys_of(outcome) if key in ("a", "b", "shops")} == kept
    assert {c.asset_key.path[-1] for c in outcome.get_asset_check_evaluations()} == kept
    (observed,) = outcome.get_asset_observation_events()
    assert observed.asset_key is not None
    assert observed.asset_key.path[-1] == {"group": "shops", "target": "a"}[granularity]


def test_the_log_says_what_was_found_on_each_day(
    tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    finding = a_finding(severity=Severity.WARNING)
    audits = [an_audit("a"), an_audit("a", result=a_result(a_rule_result(finding))), a_failed_audit("a", "locked")]

    def audit_targets(targets, settings, store, *, day, **_):
        yield replace(audits[day.day - 1], day=day)

    monkeypatch.setattr(run, "audit_targets", audit_targets)
    outcome = execute(a_plan(write_config(tmp_path, "a")), instance, days=["2026-04-01..2026-04-03"])
    logged = [record.event_log_entry.user_message for record in instance.get_records_for_run(outcome.run_id).records]
    said = [text for text in logged if text.startswith("a on ")]
    assert said[0].startswith("a on 2026-04-01: ok. Nothing wrong was found")
    assert said[1].startswith("a on 2026-04-02: warning. main/cpu: Tag host has too many values")
    assert said[2] == "a on 2026-04-03: unknown. locked"


def test_a_history_that_cannot_be_opened_fails_the_run(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    config = write_config(tmp_path, "a")
    (tmp_path / "history.db").mkdir()
    outcome = execute(a_plan(config), instance)
    assert not outcome.success
    assert "history" in failure_of(outcome)


def test_a_target_taken_out_of_the_file_fails_the_run(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    plan = a_plan(write_config(tmp_path, "a", "b"))
    write_config(tmp_path, "a")
    outcome = execute(plan, instance)
    assert keys_of(outcome) == {"a"}
    assert failure_of(outcome) == "b: no longer in the configuration; reload the code location"


def test_a_group_is_one_asset_with_its_targets_counted(
    tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "audit_targets", fake_audits(a_failed_audit("b")))
    config = write_config(tmp_path, "a", "b", "c", target_extra="group: shops")
    outcome = execute(a_plan(config, granularity="group"), instance)
    assert not outcome.success
    (event,) = outcome.get_asset_materialization_events()
    assert event.asset_key == dg.AssetKey(["tsaudit", "group", "shops"])
    assert event.materialization.metadata["targets_unknown"].value == 1
    checks = {c.check_name: c for c in outcome.get_asset_check_evaluations()}
    assert checks["coverage"].metadata["value"].value == 1
