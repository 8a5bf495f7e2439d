"""From a plan to definitions: the assets, and when their audits run."""

from datetime import UTC
from typing import Final

import dagster as dg

from dagster_tsaudit.assets import audit_assets, database_specs
from dagster_tsaudit.owner_checks import owner_checks
from dagster_tsaudit.plan import JOB_TAG, Plan, Shard, Unit
from dagster_tsaudit.sensors import sensors_of

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
        asset_checks=owner_checks(plan),
        jobs=[job],
        schedules=_schedules(plan),
        sensors=list(sensors_of(plan)),
    )


def _schedules(plan: Plan) -> list[dg.ScheduleDefinition]:
    """One schedule per database, or per group if a group is one asset; none for what is audited after ingestion."""
    return [_schedule(plan, shard, unit) for shard in plan.shards for unit in plan.scheduled(shard)]


def _schedule(plan: Plan, shard: Shard, unit: Unit) -> dg.ScheduleDefinition:
    name = plan.schedule_name(unit)
    status = dg.DefaultScheduleStatus.RUNNING if plan.starts_running else dg.DefaultScheduleStatus.STOPPED

    @dg.schedule(
        name=name,
        cron_schedule=unit.schedule,
        execution_timezone="UTC",
        job_name=plan.job_name,
        default_status=status,
        description=f"Audits {unit.name} for the day on which it runs.",
    )
    def tick(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        # A run takes seconds before it audits anything, so the first schedule of a step includes the others. If a
        # stopped schedule still ticks, somebody tested it manually, or its namesake in another code location was
        # stopped.
        off = _switched_off(context)
        due = [unit] if name in off else [u for u in plan.scheduled(shard) if plan.schedule_name(u) not in off]
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
