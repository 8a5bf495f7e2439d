"""Schedules pass the day on; sensors only hand over to tsaudit's own deliveries."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import dagster as dg
import pytest
from dagster._core.definitions.schedule_definition import ScheduleExecutionData

from dagster_tsaudit.automation import DAY_TAG, definitions_of
from dagster_tsaudit.plan import AssetPlan
from tests.dagster_tsaudit.runs import a_plan, fake_audits, write_config
from tsaudit import alerts, run
from tsaudit.config.settings import Settings
from tsaudit.history.store import Store

SIX = datetime(2026, 3, 31, 6, tzinfo=UTC)


def tick_of(definitions: dg.Definitions, name: str, instance: dg.DagsterInstance) -> ScheduleExecutionData:
    repository = definitions.get_repository_def()
    with dg.build_schedule_context(
        instance=instance, scheduled_execution_time=SIX, repository_def=repository
    ) as context:
        return repository.get_schedule_def(name).evaluate_tick(context)


def requests_of(definitions: dg.Definitions, name: str, instance: dg.DagsterInstance) -> list[dg.RunRequest]:
    return list(tick_of(definitions, name, instance).run_requests or ())


def audited_by(request: dg.RunRequest) -> list[str]:
    return [key.path[-1] for key in request.asset_selection or ()]


def test_a_tick_audits_the_scheduled_day(tmp_path: Path, kept_instance: dg.DagsterInstance) -> None:
    definitions = definitions_of(a_plan(write_config(tmp_path, "a")))
    (request,) = requests_of(definitions, "audit_shop", kept_instance)
    assert request.run_config["ops"] == {"tsaudit_shop": {"config": {"days": ["2026-03-31"]}}}
    assert request.tags[DAY_TAG] == "2026-03-31"
    assert request.run_key == "2026-03-31T06:00:00+00:00/0"


def test_databases_due_together_are_audited_by_one_run(tmp_path: Path, kept_instance: dg.DagsterInstance) -> None:
    definitions = definitions_of(a_plan(write_config(tmp_path, "a", "b", "c")))
    (request,) = requests_of(definitions, "audit_shop", kept_instance)
    assert audited_by(request) == ["a", "b", "c"]


def test_many_databases_are_split_into_runs(tmp_path: Path, kept_instance: dg.DagsterInstance) -> None:
    config = write_config(tmp_path, "a", "b", "c", target_extra="password: ${TSAUDIT_TEST_NOT_SET}")
    requests = requests_of(definitions_of(a_plan(config, shard_size=2)), "audit_shop", kept_instance)
    assert sorted(map(audited_by, requests)) == [["a", "c"], ["b"]]


def test_a_tick_that_is_repeated_repeats_no_run(tmp_path: Path, kept_instance: dg.DagsterInstance) -> None:
    definitions = definitions_of(a_plan(write_config(tmp_path, "a", "b", "c"), shard_size=2))
    first, again = ({r.run_key for r in requests_of(definitions, "audit_shop", kept_instance)} for _ in range(2))
    assert first == again


def test_runs_have_the_tags_of_component_and_target(tmp_path: Path, kept_instance: dg.DagsterInstance) -> None:
    config = write_config(tmp_path, "a", target_extra="run_tags: {dagster-celery/queue: edge}")
    (request,) = requests_of(definitions_of(a_plan(config, tags={"team": "data"})), "audit_shop", kept_instance)
    assert request.tags.items() >= {"dagster-celery/queue": "edge", "team": "data"}.items()


def test_a_ticks_request_runs(
    tmp_path: Path, kept_instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    days: list[object] = []

    def audit_targets(targets, settings, store, **options):
        days.append(options["day"])
        return fake_audits()(targets, settings, store)

    monkeypatch.setattr(run, "audit_targets", audit_targets)
    monkeypatch.setattr("tsaudit.alerts.send", lambda *_: SimpleNamespace(errors=()))
    config = write_config(tmp_path, "a", "b")
    config.write_text(config.read_text() + "    schedule: 0 7 * * *\n")
    definitions = definitions_of(a_plan(config))
    (request,) = requests_of(definitions, "audit_shop__0_7_any_any_any", kept_instance)
    job = definitions.resolve_job_def("audit_shop")
    outcome = job.execute_in_process(
        instance=kept_instance, run_config=request.run_config, asset_selection=list(request.asset_selection or ())
    )
    assert outcome.success
    assert [str(day) for day in days] == ["2026-03-31"]
    assert [e.asset_key.path[-1] for e in outcome.get_asset_materialization_events() if e.asset_key] == ["b"]


def test_schedules_and_sensors_run_without_being_switched_on(tmp_path: Path) -> None:
    definitions = definitions_of(a_plan(write_config(tmp_path, "a", "b")))
    schedules = [s for s in definitions.schedules or () if isinstance(s, dg.ScheduleDefinition)]
    assert [s.name for s in schedules] == ["audit_shop"]
    assert {s.default_status for s in schedules} == {dg.DefaultScheduleStatus.RUNNING}
    assert {s.execution_timezone for s in schedules} == {"UTC"}
    sensors = list(definitions.sensors or ())
    assert {s.name for s in sensors} == {"notify_shop", "watch_shop"}
    assert {s.default_status for s in sensors} == {dg.DefaultSensorStatus.RUNNING}


def test_schedules_start_stopped_where_they_are_not_wanted(tmp_path: Path) -> None:
    config = write_config(tmp_path, "a", extra="slack: {token: xoxb-1}", target_extra="asset_key: [orders]")
    for after in (False, True):
        definitions = definitions_of(a_plan(config, starts_running=False, after_ingestion=after))
        own = [s for s in definitions.schedules or () if isinstance(s, dg.ScheduleDefinition)]
        assert all(s.default_status is dg.DefaultScheduleStatus.STOPPED for s in own)
        status = {s.name: s.default_status.value for s in definitions.sensors or ()}
        # Those that send what a run has queued follow runs, which somebody launches.
        assert {n for n, s in status.items() if s == "RUNNING"} == {"notify_shop", "watch_shop"}
        assert len(status) == 3 + after


@pytest.fixture
def ingested(tmp_path: Path) -> dg.Definitions:
    """An owner's asset with an audit after each ingestion, and a target without one, which keeps its schedule."""

    @dg.asset
    def orders() -> None: ...

    config = write_config(tmp_path, "a", target_extra="asset_key: [orders]")
    config.write_text(config.read_text() + "  - {name: b, engine: duckdb, url: duckdb:///b.duckdb}\n")
    return dg.Definitions.merge(dg.Definitions(assets=[orders]), definitions_of(a_plan(config, after_ingestion=True)))


@pytest.mark.full
def test_after_ingestion_an_audit_runs_once_a_day(
    ingested: dg.Definitions, kept_instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "audit_targets", fake_audits())
    monkeypatch.setattr("tsaudit.alerts.send", lambda *_: SimpleNamespace(errors=()))
    orders, audit = dg.AssetKey("orders"), dg.AssetKey(["tsaudit", "a"])
    job = ingested.resolve_implicit_global_asset_job_def()
    cursor: dg.AutomationConditionCursor | None = None

    def evaluate(moment: datetime) -> list[dg.AssetKey]:
        """What is requested at the moment; it is executed, as the daemon would."""
        nonlocal cursor
        found = dg.evaluate_automation_conditions(ingested, kept_instance, cursor=cursor, evaluation_time=moment)
        cursor = found.cursor
        keys = [k for k in (orders, audit) if found.get_num_requested(k)]
        for key in keys:
            assert job.execute_in_process(instance=kept_instance, asset_selection=[key]).success
        return keys

    def ingest() -> None:
        assert job.execute_in_process(instance=kept_instance, asset_selection=[orders]).success

    at = datetime(2026, 3, 30, 1, tzinfo=UTC)
    assert evaluate(at) == []
    ingest()
    assert evaluate(at + timedelta(minutes=1)) == [audit]
    # The audit's own observation of the asset is no ingestion.
    assert evaluate(at + timedelta(minutes=2)) == []
    ingest()
    assert evaluate(at + timedelta(hours=3)) == [], "already audited that day"
    assert evaluate(at + timedelta(days=1)) == [], "the second ingestion was the day before"
    ingest()
    assert evaluate(at + timedelta(days=1, minutes=1)) == [audit]
    ingest()
    assert evaluate(at + timedelta(days=1, minutes=2)) == []


def test_after_ingestion_only_targets_with_an_asset_lose_their_schedule(
    ingested: dg.Definitions, kept_instance: dg.DagsterInstance
) -> None:
    assert [s.name for s in ingested.schedules or ()] == ["audit_shop"]
    (request,) = requests_of(ingested, "audit_shop", kept_instance)
    assert audited_by(request) == ["b"]
    (sensor,) = [s for s in ingested.sensors or () if isinstance(s, dg.AutomationConditionSensorDefinition)]
    assert sensor.run_tags["tsaudit/component"] == "shop"


def test_reactions_are_read_only_where_there_is_a_bot(tmp_path: Path) -> None:
    names = [
        {s.name for s in definitions_of(a_plan(write_config(tmp_path, "a", extra=extra))).sensors or ()}
        for extra in ("slack: {token: '${SLACK_TOKEN}'}", "slack: {webhook: 'https://hooks.example.com/x'}", "")
    ]
    assert [("reactions_shop" in found) for found in names] == [True, False, False]


def reactions_tick(plan: AssetPlan, instance: dg.DagsterInstance) -> str:
    sensor = definitions_of(plan).get_repository_def().get_sensor_def("reactions_shop")
    with dg.build_sensor_context(instance=instance) as context:
        return sensor.evaluate_tick(context).skip_message or ""


def test_reactions_are_read_and_answered(
    tmp_path: Path, kept_instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = a_plan(write_config(tmp_path, "a", extra="slack: {token: xoxb-1}"))
    calls: list[object] = []
    report = SimpleNamespace(decided=0, undone=0, problems=())

    def read(store: Store, settings: Settings, _pace: object) -> object:
        assert isinstance(store, Store)
        calls.append(settings)
        return report

    monkeypatch.setattr(alerts, "read_reactions", read, raising=False)
    monkeypatch.setattr(
        alerts, "send", lambda *_: calls.append("sent") or SimpleNamespace(errors=("#web: ratelimited",))
    )
    assert reactions_tick(plan, kept_instance) == "0 incidents decided, 0 decisions undone"
    assert calls == [plan.load()], "nothing to answer"

    report.decided = 1
    assert reactions_tick(plan, kept_instance) == "1 incident decided, 0 decisions undone; #web: ratelimited"
    assert calls[1:] == [plan.load(), "sent"]

    report.decided, report.problems = 0, ("the scope reactions:read is missing",)
    assert reactions_tick(plan, kept_instance).endswith("; the scope reactions:read is missing")


def test_reactions_that_cannot_be_read_never_break_the_sensor(
    tmp_path: Path, kept_instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = a_plan(write_config(tmp_path, "a", extra="slack: {token: xoxb-1}"))

    def broken(*_: object) -> object:
        raise OSError("connection refused")

    monkeypatch.setattr(alerts, "read_reactions", broken, raising=False)
    assert reactions_tick(plan, kept_instance) == "reactions could not be read: connection refused"
