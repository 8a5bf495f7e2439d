"""One audit step: audit its targets with `tsaudit.library`, and report the results to Dagster."""

import traceback
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import dagster as dg

from dagster_tsaudit.audited import AuditedTarget, audited, history
from dagster_tsaudit.checks import check_results, group_check_results, owner_results, record
from dagster_tsaudit.lost_runs import alive
from dagster_tsaudit.metadata import (
    group_metadata,
    headline,
    observation_metadata,
    target_metadata,
)
from dagster_tsaudit.overview import overview
from dagster_tsaudit.plan import AssetPlan, AuditConfig, AuditStep, Unit, audited_days
from dagster_tsaudit.sensors import is_evaluated, notify_sensor_name, reads_reactions
from tsaudit import secrets
from tsaudit.config.file import ConfigError
from tsaudit.config.settings import Settings

if TYPE_CHECKING:
    from tsaudit.library import AuditSession

_OVERDUE: Final = timedelta(hours=1)
"""A message that has been queued for longer than this fails the next run, because nobody may notice a sensor whose
ticks fail.
"""

Event = dg.MaterializeResult[None] | dg.AssetCheckResult | dg.AssetMaterialization | dg.AssetObservation


def audit_step(
    context: dg.AssetExecutionContext, config: AuditConfig, plan: AssetPlan, step: AuditStep
) -> Iterator[Event]:
    """Audit the selected units of the step and queue the alerts.

    A failing target neither stops nor hides the others; it makes the step fail after all of them.
    """
    try:
        yield from _audited(context, config, plan, step)
    except dg.Failure:
        raise
    except Exception as error:
        # Dagster stores an exception with all its causes, including everything that the driver quoted in them.
        trace = "".join(traceback.format_exception(error))
        if secrets.mask(trace) == trace:
            raise
        raise dg.Failure(secrets.mask(trace), allow_retries=False) from None


def _audited(
    context: dg.AssetExecutionContext, config: AuditConfig, plan: AssetPlan, step: AuditStep
) -> Iterator[Event]:
    from tsaudit.library import AuditSession

    days = audited_days(config)
    settings = _settings(plan)
    selected = context.selected_asset_keys | {key.asset_key for key in context.selected_asset_check_keys}
    units = [unit for unit in step.units if unit.key in selected]
    unit_of = {target.name: unit for unit in units for target in unit.targets}
    targets = [target for target in settings.targets if target.name in unit_of]
    expected = Counter(unit_of[target.name].name for target in targets)
    gone = sorted(set(unit_of) - {target.name for target in targets})
    problems = [f"{name}: no longer in the configuration; reload the code location" for name in gone]
    url = f"{plan.dagster_url}/runs/{context.run.run_id}" if plan.dagster_url else None
    reactions = not is_evaluated(context.instance, reads_reactions(plan), context.run)
    with history(settings) as store, alive(store, context.run.run_id, step):
        session = AuditSession(settings, store)
        for day in days:
            done: dict[str, list[AuditedTarget]] = {}
            for found in session.run(targets, day=day, workers=plan.workers, run_url=url, reactions=reactions):
                name = found.target if len(days) == 1 else f"{found.target} on {day}"
                where = f"; report: {found.report.url}" if found.report else ""
                context.log.info(f"{name}: {found.verdict}. {found.error or headline(found)}{where}")
                unit = unit_of[found.target]
                if day != days[-1]:
                    continue
                done.setdefault(unit.name, []).append(audited(found, store))
                if len(done[unit.name]) == expected[unit.name]:
                    newest = store.newest_days()
                    is_past = any(day < newest.get(target.name, day) for target in unit.targets)
                    yield from _results(context, plan, unit, done.pop(unit.name), is_past=is_past)
        session.write_index()
        if session.index:
            # Events that are logged instead of yielded are lost if the step fails.
            yield overview(plan, session.index, settings.report.base_url)
        problems += [*session.not_audited, *session.not_written, *_notify(context, plan, session)]
    if problems:
        raise dg.Failure("\n".join(problems), allow_retries=False)


def _settings(plan: AssetPlan) -> Settings:
    try:
        return plan.load()
    except ConfigError as error:
        raise dg.Failure(str(error), allow_retries=False) from None


def _results(
    context: dg.AssetExecutionContext, plan: AssetPlan, unit: Unit, found: list[AuditedTarget], *, is_past: bool
) -> Iterator[Event]:
    """The unit's materialization, unless nothing in it could be audited, and its check results of the last day.

    `is_past`: whether a later day is audited already. What Dagster shows is the state of that one: it takes what was
    recorded last for the newest, so a past day is only an observation.
    """
    if plan.granularity == "group":
        checks = group_check_results(unit.key, found)
        done, metadata = any(map(_is_measured, found)), group_metadata(found)
    else:
        (one,) = found
        checks = check_results(unit.key, one)
        done = _is_measured(one)
        if one.run.result and one.run.profile:
            metadata = target_metadata(one, one.run.result, one.run.profile)
    if is_past:
        if done:
            # Events that are logged instead of yielded are lost if the step fails.
            yield dg.AssetObservation(unit.key, metadata=metadata)
        return
    for one in found:
        _show_owner(context, unit, one)
    chosen = {key.name for key in context.selected_asset_check_keys if key.asset_key == unit.key}
    if done and unit.key in context.selected_asset_keys:
        yield dg.MaterializeResult(asset_key=unit.key, metadata=metadata)
    yield from (check for check in checks if check.check_name in chosen)


def _is_measured(found: AuditedTarget) -> bool:
    """Whether the run measured the target: the figures may be those of an earlier one of the day."""
    run = found.run
    return run.result is not None and run.profile is not None and run.result.failed_at is None


def _show_owner(context: dg.AssetExecutionContext, unit: Unit, found: AuditedTarget) -> None:
    """Report figures and checks on the owner's own asset, if the configuration names one."""
    target = next(t for t in unit.targets if t.name == found.run.target)
    if target.asset_key and found.run.result and found.run.profile:
        metadata = observation_metadata(found, found.run.result, found.run.profile)
        context.log_event(dg.AssetObservation(dg.AssetKey(list(target.asset_key)), metadata=metadata))
    for check in owner_results(target, found):
        record(context, check)


def _notify(context: dg.AssetExecutionContext, plan: AssetPlan, session: "AuditSession") -> list[str]:
    """Make sure that queued messages are sent, and return the problems. Undelivered messages stay in the history.

    Normally, a sensor sends them, so that a slow Slack does not delay the step and its pool. The step itself sends them
    only if no daemon evaluates that sensor, or without Slack, because messages are then printed.
    """
    from tsaudit import alerts

    if not session.settings.notifies or not is_evaluated(context.instance, notify_sensor_name(plan), context.run):
        session.notify(context.log.info)
        return session.not_delivered
    alerts.queue_due_digest(session.store, session.settings)
    oldest = alerts.Share(session.store, session.settings).overdue(_OVERDUE)
    if oldest is None:
        return []
    why = oldest.last_error or f"see the sensor {notify_sensor_name(plan)}"
    return [f"alert not delivered since {oldest.queued_at:%Y-%m-%d %H:%M} UTC: {why}"]
