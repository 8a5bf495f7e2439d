"""What happens between audits: messages that are still queued, reactions to messages, and new data."""

from collections.abc import Callable, Iterator
from typing import Any, Final

import dagster as dg

from dagster_tsaudit.audited import history
from dagster_tsaudit.lost_runs import watch_sensor
from dagster_tsaudit.plan import JOB_TAG, Plan, is_audit
from tsaudit import secrets
from tsaudit.text import many

_SENSOR_S: Final = 40.0
"""Seconds a sensor may send: Dagster gives up on it after 60 s, and then calls it again while it still runs."""

_REACTIONS_S: Final = 120
"""Seconds between two readings of reactions: somebody who reacted is still looking."""


def sensors_of(plan: Plan) -> Iterator[dg.SensorDefinition]:
    """The plan's sensors.

    After each run, successful or not, one sends what the run could not, for example because it was killed or Slack was
    down.
    """
    for status in (dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE):
        yield _tell_sensor(plan, status)
    yield watch_sensor(plan)
    if plan.settings.slack.token:
        yield _reactions_sensor(plan)
    if found := [unit.key for unit in plan.units if plan.is_after_ingestion(unit)]:
        yield dg.AutomationConditionSensorDefinition(
            name=f"after_ingestion_{plan.name}",
            target=dg.AssetSelection.assets(*found),
            run_tags={JOB_TAG: plan.name},
            default_status=_status(plan),
            description="Audits a target when its asset was materialized, at most once a day (UTC).",
        )


def send_queued(plan: Plan, say: Callable[[str], None], complain: Callable[[str], None]) -> None:
    """Send queued messages. Raises nothing: a failing sensor notifies nobody, and the messages stay queued."""
    from tsaudit import alerts, run

    try:
        settings = plan.load()
        with history(settings) as store, alerts.at_most(_SENSOR_S):
            for problem in run.tell(settings, store, say).errors:
                complain(f"alert not delivered: {problem}")
    except Exception as error:
        complain(secrets.mask(f"alerts could not be sent: {error}"))


def read_reactions(plan: Plan) -> str:
    """Apply the reactions to messages, send the replies, and return what was done. Raises nothing, for the same
    reason.
    """
    from tsaudit import alerts

    read: Callable[..., Any] | None = getattr(alerts, "read_reactions", None)
    if read is None:
        return "this version of tsaudit reads no reactions"
    try:
        settings = plan.load()
        # Half of the time for reading, half for the replies.
        with history(settings) as store, alerts.at_most(_SENSOR_S / 2):
            found = read(store, settings)
            problems = list(found.problems)
            if found.decided or found.undone:
                problems += alerts.send(store, settings, lambda _line: None).errors
    except Exception as error:
        return secrets.mask(f"reactions could not be read: {error}")
    done = f"{many(found.decided, 'incident')} decided, {many(found.undone, 'decision')} undone"
    return "; ".join([done, *problems])


def _status(plan: Plan) -> dg.DefaultSensorStatus:
    return dg.DefaultSensorStatus.RUNNING if plan.starts_running else dg.DefaultSensorStatus.STOPPED


def _tell_sensor(plan: Plan, status: dg.DagsterRunStatus) -> dg.SensorDefinition:
    @dg.run_status_sensor(
        run_status=status,
        name=f"tell_{plan.name}_{status.value.lower()}",
        # It follows runs that somebody launched, so it runs even where schedules start stopped.
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Sends alerts that are still queued, also those of a run that was killed.",
    )
    def tell(context: dg.RunStatusSensorContext) -> dg.SkipReason | None:
        if not is_audit(plan, context.dagster_run):
            return dg.SkipReason("not an audit of this component")
        if plan.pool:
            # A killed run keeps its slot unless the instance's run_monitoring frees it; this run has ended.
            context.instance.event_log_storage.free_concurrency_slots_for_run(context.dagster_run.run_id)
        send_queued(plan, context.log.info, context.log.error)
        return None

    return tell


def _reactions_sensor(plan: Plan) -> dg.SensorDefinition:
    @dg.sensor(
        name=f"reactions_{plan.name}",
        minimum_interval_seconds=_REACTIONS_S,
        default_status=_status(plan),
        description="Reads reactions to messages in Slack: acknowledge, snooze, accept, or undo.",
    )
    def reactions(context: dg.SensorEvaluationContext) -> dg.SkipReason:
        said = read_reactions(plan)
        context.log.info(said)
        return dg.SkipReason(said)

    return reactions
