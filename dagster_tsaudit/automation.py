"""Turns a plan into Dagster definitions: the assets, and when their audits run."""

from collections.abc import Iterator
from datetime import UTC
from typing import Any, Final

import dagster as dg

from dagster_tsaudit.checks import check_specs, owner_checks
from dagster_tsaudit.overview import link_to_overview, overview_spec
from dagster_tsaudit.plan import JOB_TAG, AssetPlan, AuditConfig, AuditStep
from dagster_tsaudit.sensors import sensors_of
from dagster_tsaudit.step import audit_step

DAY_TAG: Final = "tsaudit/day"


def definitions_of(plan: AssetPlan) -> dg.Definitions:
    """All Dagster definitions for the plan."""
    job = dg.define_asset_job(
        name=plan.job_name,
        selection=dg.AssetSelection.assets(*sorted(plan.keys)),
        executor_def=dg.in_process_executor,
        # A run that died is repeated as a whole if the instance retries runs: auditing a day again does no harm.
        tags={JOB_TAG: plan.name, "dagster/retry_strategy": "ALL_STEPS"},
        description=f"Audits the schemas of all targets. {link_to_overview(plan)}",
    )
    return dg.Definitions(
        assets=[overview_spec(plan), *(_op(plan, step) for step in plan.steps)],
        asset_checks=owner_checks(plan),
        jobs=[job],
        schedules=[_schedule(plan, step) for step in plan.steps if plan.scheduled(step)],
        sensors=list(sensors_of(plan)),
    )


def _op(plan: AssetPlan, step: AuditStep) -> dg.AssetsDefinition:
    """The audit assets of the step's units."""

    @dg.multi_asset(
        name=step.name,
        specs=[unit.spec for unit in step.units],
        check_specs=[spec for unit in step.units for spec in check_specs(unit.key, unit.engines)],
        can_subset=True,
        pool=plan.pool,
        description="Audits the schemas of its targets.",
    )
    def audit(context: dg.AssetExecutionContext, config: AuditConfig) -> Iterator[Any]:
        yield from audit_step(context, config, plan, step)

    return audit


def _schedule(plan: AssetPlan, step: AuditStep) -> dg.ScheduleDefinition:
    """One schedule for all units with the same schedule and tags. It splits the units into runs of at most
    `shard_size`.
    """
    status = dg.DefaultScheduleStatus.RUNNING if plan.starts_running else dg.DefaultScheduleStatus.STOPPED

    @dg.schedule(
        name=plan.schedule_name(step),
        cron_schedule=step.schedule,
        execution_timezone="UTC",
        job_name=plan.job_name,
        default_status=status,
        description=_described(plan, step),
    )
    def tick(context: dg.ScheduleEvaluationContext) -> Iterator[dg.RunRequest]:
        moment = context.scheduled_execution_time.astimezone(UTC)
        for number, shard in enumerate(plan.shards(step)):
            yield dg.RunRequest(
                run_key=f"{moment.isoformat()}/{number}",
                run_config=plan.run_config(moment.date(), (step,)),
                asset_selection=[unit.key for unit in shard],
                tags={**step.tags, DAY_TAG: moment.date().isoformat()},
            )

    return tick


def _described(plan: AssetPlan, step: AuditStep) -> str:
    names = [unit.name for unit in plan.scheduled(step)]
    shown = ", ".join(names[:10]) + (f", and {len(names) - 10} more" if len(names) > 10 else "")
    return f"Audits {shown} for the day on which it runs."
