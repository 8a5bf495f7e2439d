"""Sensors that work between audits: they send messages, read reactions to them, and notice new data."""

import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import dagster as dg

from dagster_tsaudit.audited import history
from dagster_tsaudit.lost_runs import watch_sensor
from dagster_tsaudit.plan import JOB_TAG, AssetPlan, is_audit
from tsaudit import secrets
from tsaudit.errors import TsauditError
from tsaudit.text import many

SEND_S: Final = 15
"""Seconds between two checks for queued messages."""

_SENDING_S: Final = 10.0
"""Maximum seconds that a tick spends on sending; the next tick continues. Dagster evaluates sensors one after the
other, so longer ticks delay other sensors.
"""

_REACTIONS_S: Final = 120
"""Seconds between two readings of reactions: short, because somebody who reacted is waiting for the reply."""

_READING_S: Final = 40.0
"""Maximum seconds for reading reactions and replying: Dagster abandons a tick after 60 s, and then starts another while
the first one is still running.
"""

_TICKS_S: Final = 300.0
"""Maximum seconds since its last tick for a sensor to count as evaluated: other sensors may delay it."""


class NotDeliveredError(TsauditError):
    """Somebody was not notified. The error's text has one line for each reason."""


def sensors_of(plan: AssetPlan) -> Iterator[dg.SensorDefinition]:
    """The plan's sensors."""
    yield _notify_sensor(plan)
    yield watch_sensor(plan)
    if plan.pool:
        yield _free_sensor(plan)
    if plan.settings.slack.token:
        yield _reactions_sensor(plan)
    if found := [unit.key for unit in plan.units if unit.after_ingestion]:
        yield dg.AutomationConditionSensorDefinition(
            name=f"after_ingestion_{plan.name}",
            target=dg.AssetSelection.assets(*found),
            run_tags={JOB_TAG: plan.name},
            default_status=_status(plan),
            description="Audits a target when its asset was materialized, at most once a day (UTC).",
        )


def notify_sensor_name(plan: AssetPlan) -> str:
    """The name of the sensor that sends messages."""
    return f"notify_{plan.name}"


def reads_reactions(plan: AssetPlan) -> str:
    """The name of the sensor that reads reactions."""
    return f"reactions_{plan.name}"


def is_evaluated(instance: dg.DagsterInstance, sensor: str, run: dg.DagsterRun) -> bool:
    """Whether the sensor is switched on and has ticked recently, most recently without failing: a daemon is then
    running and has loaded it. Only sensors of the run's code location count, if that is known.

    False if the instance does not report it.
    """
    try:
        states = [state for state in instance.all_instigator_state() if state.instigator_name == sensor]
        return any(state.is_running and _may_be_of(state, run) and _ticks(instance, state) for state in states)
    except Exception:
        return False


def _may_be_of(state: Any, run: dg.DagsterRun) -> bool:
    """Whether the sensor and the run belong to one code location. True for a run that was not launched from a
    workspace.
    """
    if run.remote_job_origin is None:
        return True
    own, its = (found.repository_origin.code_location_origin for found in (run.remote_job_origin, state.origin))
    return bool(own.location_name == its.location_name)


def _ticks(instance: dg.DagsterInstance, state: Any) -> bool:
    at = getattr(state.instigator_data, "last_tick_timestamp", None)
    if at is None or time.time() - at > _TICKS_S:
        return False
    # The newest tick may be in progress.
    newest = instance.get_ticks(state.instigator_origin_id, state.selector_id, limit=5)
    ended = [tick.status.value for tick in newest if tick.status.value != "STARTED"]
    return ended[:1] != ["FAILURE"]


def send_queued(plan: AssetPlan, say: Callable[[str], None]) -> str:
    """Send queued messages for some seconds, and return what was done. Raises NotDeliveredError if any cannot be
    delivered.
    """
    from tsaudit import alerts
    from tsaudit.history import deliveries

    try:
        settings = plan.load()
        if not settings.notifies:
            return "messages are printed by the steps: there is neither Slack nor another notifier"
        with history(settings) as store:
            if not deliveries.waiting_ids(store.engine):
                return "nothing is queued"
            # The step that queued the alerts may have been killed before it could queue the digest.
            alerts.queue_due_digest(store, settings)
            report = alerts.send(store, settings, say, alerts.SendingPace(longest_s=_SENDING_S))
    except Exception as error:
        raise NotDeliveredError(secrets.mask(f"alerts could not be sent: {error}")) from None
    if problems := [line for line in report.errors if line not in report.out_of_time]:
        raise NotDeliveredError("\n".join(f"alert not delivered: {line}" for line in problems))
    return f"{many(report.sent + report.edited, 'message')} sent, {report.waiting} still queued"


def read_reactions(plan: AssetPlan) -> str:
    """Apply the reactions to messages, send the replies, and return what was done. Raises nothing, because a failing
    sensor notifies nobody.
    """
    from tsaudit import alerts

    try:
        settings = plan.load()
        # Half of the time is for reading, half for the replies.
        pace = alerts.SendingPace(longest_s=_READING_S / 2)
        with history(settings) as store:
            found = alerts.read_reactions(store, settings, pace)
            problems = list(found.problems)
            if found.decided or found.undone:
                problems += alerts.send(store, settings, lambda _line: None, pace).errors
    except Exception as error:
        return secrets.mask(f"reactions could not be read: {error}")
    done = f"{many(found.decided, 'incident')} decided, {many(found.undone, 'decision')} undone"
    return "; ".join([done, *problems])


def _status(plan: AssetPlan) -> dg.DefaultSensorStatus:
    return dg.DefaultSensorStatus.RUNNING if plan.starts_running else dg.DefaultSensorStatus.STOPPED


def _notify_sensor(plan: AssetPlan) -> dg.SensorDefinition:
    @dg.sensor(
        name=notify_sensor_name(plan),
        minimum_interval_seconds=SEND_S,
        # It follows runs that somebody launched, so it is switched on even if schedules are initially switched off.
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Sends the alerts that audits have queued. Its tick fails if one cannot be delivered.",
    )
    def notify(context: dg.SensorEvaluationContext) -> dg.SkipReason:
        return dg.SkipReason(send_queued(plan, context.log.info))

    return notify


def _free_sensor(plan: AssetPlan) -> dg.SensorDefinition:
    @dg.run_status_sensor(
        run_status=dg.DagsterRunStatus.FAILURE,
        name=f"free_{plan.name}",
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Frees the pool after a run that was killed.",
    )
    def free(context: dg.RunStatusSensorContext) -> dg.SkipReason | None:
        if not is_audit(plan, context.dagster_run):
            return dg.SkipReason("not an audit of this component")
        # A killed run keeps its pool slot unless `run_monitoring` of the instance frees it; this run has ended.
        context.instance.event_log_storage.free_concurrency_slots_for_run(context.dagster_run.run_id)
        return None

    return free


def _reactions_sensor(plan: AssetPlan) -> dg.SensorDefinition:
    @dg.sensor(
        name=reads_reactions(plan),
        minimum_interval_seconds=_REACTIONS_S,
        default_status=_status(plan),
        description="Reads reactions to messages in Slack: acknowledge, mute, or undo.",
    )
    def reactions(context: dg.SensorEvaluationContext) -> dg.SkipReason:
        said = read_reactions(plan)
        context.log.info(said)
        return dg.SkipReason(said)

    return reactions
