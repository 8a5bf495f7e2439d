"""Steps queue messages and a sensor sends them, so that Slack holds up no run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.remote_origin import (
    RegisteredCodeLocationOrigin,
    RemoteInstigatorOrigin,
    RemoteJobOrigin,
    RemoteRepositoryOrigin,
)
from dagster._core.scheduler.instigation import (
    InstigatorState,
    InstigatorStatus,
    InstigatorType,
    SensorInstigatorData,
    TickData,
    TickStatus,
)
from dagster._utils.error import SerializableErrorInfo

from dagster_project.world import World
from dagster_tsaudit import sensors
from dagster_tsaudit.automation import definitions_of
from dagster_tsaudit.plan import AssetPlan
from dagster_tsaudit.sensors import NotDeliveredError, is_evaluated
from tests.alerts import slack_double
from tests.alerts.slack_double import TOKEN, SlackDouble
from tests.builders import DAY
from tests.dagster_tsaudit.runs import a_plan, execute, failure_of, fake_audits, write_config
from tsaudit import alerts, run
from tsaudit.history import clock, deliveries
from tsaudit.history.store import Store
from tsaudit.library import run_audit

pytestmark = pytest.mark.full

LIMIT = "limits: {high-series-cardinality.max_series: 500}"


@pytest.fixture
def slack() -> Iterator[SlackDouble]:
    with slack_double.running() as double:
        yield double


def a_project(folder: Path, slack: SlackDouble, *names: str, channel: str = "") -> AssetPlan:
    """Databases over their limit, with one channel for all."""
    for name in names:
        World(folder / f"{name}.duckdb").advance(DAY)
    channel = channel or sorted(slack.joined)[0]
    extra = (
        f"slack: {{token: {TOKEN}, base_url: '{slack.base_url}', digest_weekday: never}}\n"
        f"owners: {{default: {{channel: '{channel}'}}}}"
    )
    return a_plan(write_config(folder, *names, extra=extra, target_extra=LIMIT))


def ticks(
    instance: dg.DagsterInstance,
    name: str,
    ago_s: float = 1.0,
    status: InstigatorStatus = InstigatorStatus.DECLARED_IN_CODE,
    outcomes: tuple[TickStatus, ...] = (TickStatus.SKIPPED,),
) -> None:
    """Record what a daemon records when it evaluates a sensor of the code location `here`."""
    repository = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("here"), "repository")
    data = SensorInstigatorData(last_tick_timestamp=time.time() - ago_s)
    state = InstigatorState(RemoteInstigatorOrigin(repository, name), InstigatorType.SENSOR, status, data)
    instance.add_instigator_state(state)
    for number, outcome in enumerate(outcomes):
        at = time.time() - ago_s - len(outcomes) + number
        error = SerializableErrorInfo("broken", [], None) if outcome is TickStatus.FAILURE else None
        origin, selector = state.instigator_origin_id, state.selector_id
        instance.create_tick(
            TickData(origin, name, InstigatorType.SENSOR, outcome, at, error=error, selector_id=selector)
        )


def a_run(location: str | None = None) -> dg.DagsterRun:
    """A run; None: one that no workspace has launched."""
    repository = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin(location or ""), "repository")
    return dg.DagsterRun(
        "audit_shop", remote_job_origin=RemoteJobOrigin(repository, "audit_shop") if location else None
    )


def tick(plan: AssetPlan, instance: dg.DagsterInstance) -> str:
    sensor = definitions_of(plan).get_repository_def().get_sensor_def("notify_shop")
    with dg.build_sensor_context(instance=instance) as context:
        return sensor.evaluate_tick(context).skip_message or ""


def waiting(folder: Path) -> int:
    return len(kinds_waiting(folder))


def kinds_waiting(folder: Path) -> list[str]:
    with Store.open(f"sqlite:///{folder}/history.db") as store:
        return [str(message.kind) for message in deliveries.waiting(store.engine)]


def test_a_step_leaves_its_messages_to_the_sensor(
    tmp_path: Path, kept_instance: dg.DagsterInstance, slack: SlackDouble
) -> None:
    plan = a_project(tmp_path, slack, "a", "b")
    ticks(kept_instance, "notify_shop")
    ticks(kept_instance, "reactions_shop")
    assert execute(plan, kept_instance, day=str(DAY)).success
    assert slack.calls == []
    assert waiting(tmp_path) == 2
    assert tick(plan, kept_instance) == "2 messages sent, 0 still queued"
    assert len(slack.messages) == 2
    assert tick(plan, kept_instance) == "nothing is queued"
    assert len(slack.messages) == 2, "none twice"


def test_a_step_sends_them_itself_where_nothing_else_does(
    tmp_path: Path, kept_instance: dg.DagsterInstance, slack: SlackDouble
) -> None:
    plan = a_project(tmp_path, slack, "a")
    assert execute(plan, kept_instance, day=str(DAY)).success
    assert (len(slack.messages), waiting(tmp_path)) == (1, 0)


@pytest.mark.wall_clock
def test_what_a_tick_has_no_time_for_the_next_one_sends(
    tmp_path: Path, kept_instance: dg.DagsterInstance, slack: SlackDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slack takes one message a second."""
    plan = a_project(tmp_path, slack, "a", "b", "c")
    ticks(kept_instance, "notify_shop")
    assert execute(plan, kept_instance, day=str(DAY)).success
    monkeypatch.setattr(sensors, "_SENDING_S", 0.9)
    said = [tick(plan, kept_instance) for _ in range(3)]
    assert said == [f"1 message sent, {left} still queued" for left in (2, 1, 0)]
    assert len({message.text for message in slack.messages}) == 3


def test_a_tick_does_not_wait_for_another_sender(
    tmp_path: Path, kept_instance: dg.DagsterInstance, slack: SlackDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = a_project(tmp_path, slack, "a")
    ticks(kept_instance, "notify_shop")
    assert execute(plan, kept_instance, day=str(DAY)).success
    monkeypatch.setattr(sensors, "_SENDING_S", 0.2)
    with Store.open(f"sqlite:///{tmp_path}/history.db") as store, deliveries.sole_sender(store.engine, 1) as alone:
        assert alone
        assert tick(plan, kept_instance) == "0 messages sent, 1 still queued"
    monkeypatch.setattr(sensors, "_SENDING_S", 10.0)
    assert tick(plan, kept_instance) == "1 message sent, 0 still queued"


@pytest.mark.parametrize("is_killed", [False, True])
def test_the_digest_comes_with_the_last_messages_of_a_day(
    tmp_path: Path,
    kept_instance: dg.DagsterInstance,
    slack: SlackDouble,
    monkeypatch: pytest.MonkeyPatch,
    is_killed: bool,
) -> None:
    """The step queues it; if that was killed before, the sensor does."""
    monkeypatch.setattr(clock, "today", lambda: DAY + timedelta(days=1))
    plan = a_project(tmp_path, slack, "a")
    file = tmp_path / "tsaudit.yaml"
    file.write_text(file.read_text().replace("digest_weekday: never", "digest_weekday: daily"))
    ticks(kept_instance, "notify_shop")
    for day in (DAY, DAY + timedelta(days=1)):
        if is_killed:
            run_audit(plan.load(), day=day, notify=False)
        else:
            assert execute(plan, kept_instance, day=str(day)).success
            assert ("digest" in kinds_waiting(tmp_path)) is (day != DAY)
        tick(plan, kept_instance)
    assert [message.text.startswith("tsaudit 2026-04-01: ") for message in slack.messages] == [False, True]


def test_a_message_that_cannot_be_delivered_fails_the_tick(
    tmp_path: Path, kept_instance: dg.DagsterInstance, slack: SlackDouble
) -> None:
    plan = a_project(tmp_path, slack, "a", channel="#nowhere")
    ticks(kept_instance, "notify_shop")
    assert execute(plan, kept_instance, day=str(DAY)).success
    with pytest.raises(NotDeliveredError, match=r"alert not delivered: .*#nowhere"):
        sensors.send_queued(plan, print)


def test_a_message_that_waits_for_too_long_fails_the_next_run(
    tmp_path: Path, kept_instance: dg.DagsterInstance, slack: SlackDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = a_project(tmp_path, slack, "a", channel="#nowhere")
    ticks(kept_instance, "notify_shop")
    assert execute(plan, kept_instance, day=str(DAY)).success
    with pytest.raises(NotDeliveredError):
        sensors.send_queued(plan, print)
    assert execute(plan, kept_instance, day=str(DAY)).success, "not yet"
    monkeypatch.setattr("tsaudit.alerts.owners.utc_now", lambda: datetime.now().astimezone() + timedelta(minutes=61))
    assert "alert not delivered since 20" in failure_of(execute(plan, kept_instance, day=str(DAY)))
    assert "#nowhere" in failure_of(execute(plan, kept_instance, day=str(DAY)))


def test_a_history_that_cannot_be_opened_fails_the_tick_without_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = a_plan(write_config(tmp_path, "a", extra="slack: {token: xoxb-test}\nowners: {default: {channel: '#x'}}"))
    monkeypatch.setattr(alerts, "send", lambda *_: 1 / 0)
    assert sensors.send_queued(plan, print) == "nothing is queued"
    (tmp_path / "history.db").unlink()
    (tmp_path / "history.db").mkdir()
    with pytest.raises(NotDeliveredError, match=r"^alerts could not be sent: .*history"):
        sensors.send_queued(plan, print)


def test_without_slack_messages_are_printed_by_the_step(
    tmp_path: Path, kept_instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(run, "audit_targets", fake_audits())
    monkeypatch.setattr("tsaudit.alerts.send", lambda *arguments: asked.append(arguments) or alerts.SendReport())
    ticks(kept_instance, "notify_shop")
    plan = a_plan(write_config(tmp_path, "a"))
    assert execute(plan, kept_instance).success
    assert len(asked) == 1
    assert sensors.send_queued(plan, print).startswith("messages are printed by the steps")


def test_a_sensor_counts_as_evaluated_only_while_a_daemon_does(kept_instance: dg.DagsterInstance) -> None:
    assert not is_evaluated(kept_instance, "notify_shop", a_run())
    ticks(kept_instance, "notify_other")
    assert not is_evaluated(kept_instance, "notify_shop", a_run())
    ticks(kept_instance, "notify_shop", ago_s=1_000)
    assert not is_evaluated(kept_instance, "notify_shop", a_run())


@pytest.mark.parametrize("status", list(InstigatorStatus))
def test_a_sensor_that_is_switched_off_does_not_count(
    kept_instance: dg.DagsterInstance, status: InstigatorStatus
) -> None:
    ticks(kept_instance, "notify_shop", status=status)
    assert is_evaluated(kept_instance, "notify_shop", a_run()) is (status is not InstigatorStatus.STOPPED)


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ((TickStatus.FAILURE, TickStatus.SKIPPED), True),
        ((TickStatus.SKIPPED, TickStatus.FAILURE), False),
        ((TickStatus.SKIPPED, TickStatus.FAILURE, TickStatus.STARTED), False),
        ((TickStatus.SKIPPED, TickStatus.STARTED), True),
        ((TickStatus.STARTED,), True),
    ],
)
def test_a_sensor_whose_last_tick_failed_does_not_count(
    kept_instance: dg.DagsterInstance, outcomes: tuple[TickStatus, ...], expected: bool
) -> None:
    ticks(kept_instance, "notify_shop", outcomes=outcomes)
    assert is_evaluated(kept_instance, "notify_shop", a_run()) is expected


def test_a_sensor_of_another_code_location_does_not_count(kept_instance: dg.DagsterInstance) -> None:
    ticks(kept_instance, "notify_shop")
    found = [is_evaluated(kept_instance, "notify_shop", a_run(location)) for location in ("here", "there", None)]
    assert found == [True, False, True]


def test_a_step_sends_them_itself_where_the_sensor_fails(
    tmp_path: Path, kept_instance: dg.DagsterInstance, slack: SlackDouble
) -> None:
    """For example, because only runs have the token."""
    plan = a_project(tmp_path, slack, "a")
    ticks(kept_instance, "notify_shop", outcomes=(TickStatus.FAILURE,))
    assert execute(plan, kept_instance, day=str(DAY)).success
    assert (len(slack.messages), waiting(tmp_path)) == (1, 0)


def test_components_leave_messages_to_the_one_that_queued_them(
    tmp_path: Path, kept_instance: dg.DagsterInstance, slack: SlackDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All share a history. One has no Slack and would print them; the other would send them to its own channel."""
    plan = a_project(tmp_path, slack, "a", channel="C0ALERTS")
    ticks(kept_instance, "notify_shop")
    assert execute(plan, kept_instance, day=str(DAY)).success
    to_dba = f"slack: {{token: {TOKEN}, base_url: '{slack.base_url}'}}\nowners: {{default: {{channel: C0DBA}}}}"
    with monkeypatch.context() as patch:
        patch.setattr(run, "audit_targets", fake_audits())
        for name, extra in (("printing", ""), ("dba", to_dba)):
            (tmp_path / name).mkdir()
            config = write_config(tmp_path / name, name, extra=extra)
            config.write_text(config.read_text().replace("///history.db", f"///{tmp_path}/history.db"))
            other = a_plan(config, name=name)
            sensors.send_queued(other, print)
            assert execute(other, kept_instance, day=str(DAY)).success
    assert (slack.messages, waiting(tmp_path)) == ([], 1)
    assert tick(plan, kept_instance) == "1 message sent, 0 still queued"
    assert [message.channel for message in slack.messages] == ["C0ALERTS"]


def test_an_instance_that_cannot_tell_counts_as_having_no_daemon(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise NotImplementedError

    monkeypatch.setattr(type(instance), "all_instigator_state", broken)
    assert not is_evaluated(instance, "notify_shop", a_run())


def test_a_killed_run_frees_its_pool(tmp_path: Path, instance: dg.DagsterInstance) -> None:
    config = write_config(tmp_path, "a")
    names = [{s.name for s in definitions_of(a_plan(config, pool=pool)).sensors or ()} for pool in (None, "plant")]
    assert names == [{"notify_shop", "watch_shop"}, {"notify_shop", "watch_shop", "free_shop"}]
    freed: list[str] = []
    plan = a_plan(write_config(tmp_path, "a", target_extra="password: ${TSAUDIT_NOT_SET}"), pool="plant")
    outcome = execute(plan, instance)
    (event,) = [e for e in outcome.all_events if e.is_job_failure]
    storage = instance.event_log_storage
    storage.free_concurrency_slots_for_run = freed.append  # type: ignore[method-assign,assignment]
    context = dg.build_run_status_sensor_context("free_shop", event, instance, outcome.dagster_run)
    definitions_of(plan).get_repository_def().get_sensor_def("free_shop")(context)
    assert freed == [outcome.run_id]
