"""From a plan to definitions: the assets, when their audits run, and what happens after a run."""

from collections.abc import Callable
from datetime import UTC
from typing import Final

import dagster as dg

from dagster_tsaudit.assets import audit_assets, database_specs
from dagster_tsaudit.plan import KEY_PREFIX, Plan, Shard, Unit
from dagster_tsaudit.step import history
from tsaudit import secrets

JOB_TAG: Final = "tsaudit/component"
"""Tag on every run of a component's job: the component's name."""

_SENSOR_S: Final = 40.0
"""Seconds a sensor may send: Dagster gives up on it after 60 s, and then calls it again while it still runs."""

DAY_TAG: Final = "tsaudit/day"


def definitions_of(plan: Plan) -> dg.Definitions:
    """All Dagster definitions for the plan."""
    single = len(plan.shards) == 1
    job = dg.define_asset_job(
        name=plan.job_name,
        selection=dg.AssetSelection.assets(*sorted(plan.keys)),
        # A single step runs in the run's own process, which avoids starting another one.
        executor_def=dg.in_process_executor if single else dg.multiprocess_executor,
        tags={JOB_TAG: plan.name},
        description="Audits the schemas of all targets of the component.",
    )
    return dg.Definitions(
        assets=[*database_specs(plan), *audit_assets(plan)],
        jobs=[job],
        schedules=_schedules(plan),
        sensors=_tell_sensors(plan),
    )


def _schedules(plan: Plan) -> list[dg.ScheduleDefinition]:
    """One schedule per database, or per group if a group is one asset."""
    return [_schedule(plan, shard, unit) for shard in plan.shards for unit in shard.units]


def _tell_sensors(plan: Plan) -> list[dg.SensorDefinition]:
    """After each run, successful or not: send what the run could not, for example because it was killed or Slack was
    down.
    """
    statuses = (dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE)
    return [_tell_sensor(plan, status) for status in statuses]


def _schedule(plan: Plan, shard: Shard, unit: Unit) -> dg.ScheduleDefinition:
    name = plan.schedule_name(unit)

    @dg.schedule(
        name=name,
        cron_schedule=unit.schedule,
        execution_timezone="UTC",
        job_name=plan.job_name,
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description=f"Audits `{unit.name}` for the day on which it runs.",
    )
    def tick(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        # A run takes seconds before it audits anything, so the first schedule of a step includes the others. If a
        # stopped schedule still ticks, somebody tested it manually, or its namesake in another code location was
        # stopped.
        off = _switched_off(context)
        due = [unit] if name in off else [u for u in shard.units if plan.schedule_name(u) not in off]
        if due[0] is not unit:
            return dg.SkipReason(f"skipped: the run launched by {plan.schedule_name(due[0])} audits it")
        moment = context.scheduled_execution_time.astimezone(UTC)
        return dg.RunRequest(
            run_key=moment.isoformat(),
            run_config=plan.run_config(moment.date(), (shard,)),
            asset_selection=[u.key for u in due],
            tags={DAY_TAG: moment.date().isoformat()},
        )

    return tick


def _switched_off(context: dg.ScheduleEvaluationContext) -> frozenset[str]:
    """Names of the schedules that somebody stopped, in any code location: the context does not identify ours."""
    states = context.instance.all_instigator_state()
    return frozenset(state.instigator_name for state in states if state.status.value == "STOPPED")


def _tell_sensor(plan: Plan, status: dg.DagsterRunStatus) -> dg.SensorDefinition:
    @dg.run_status_sensor(
        run_status=status,
        name=f"tell_{plan.name}_{status.value.lower()}",
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Sends alerts that are still queued, and frees the pool of a run that was killed.",
    )
    def tell(context: dg.RunStatusSensorContext) -> dg.SkipReason | None:
        if not is_audit(plan, context.dagster_run):
            return dg.SkipReason("not an audit of this component")
        # A killed run keeps its slot in the pool unless the instance's run_monitoring frees it; this run has ended.
        context.instance.event_log_storage.free_concurrency_slots_for_run(context.dagster_run.run_id)
        send_queued(plan, context.log.info, context.log.error)
        return None

    return tell


def is_audit(plan: Plan, run: dg.DagsterRun) -> bool:
    """Whether the run audited targets of the plan; runs from the Materialize button have another job name."""
    if run.tags.get(JOB_TAG) == plan.name:
        return True
    touched = {*(run.asset_selection or ()), *(check.asset_key for check in run.asset_check_selection or ())}
    return any(key.path[0] == KEY_PREFIX and key in plan.keys for key in touched)


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
