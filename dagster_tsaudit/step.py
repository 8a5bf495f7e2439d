"""One audit step: audit its targets with `tsaudit.run`, and show the results in Dagster."""

import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from typing import TYPE_CHECKING, Final

import dagster as dg

from dagster_tsaudit.checks import check_results
from dagster_tsaudit.group_checks import group_check_results
from dagster_tsaudit.metadata import group_metadata, observation_metadata, target_metadata
from dagster_tsaudit.plan import AuditConfig, Plan, Shard, Unit
from tsaudit import secrets
from tsaudit.config.file import ConfigError
from tsaudit.config.settings import Settings
from tsaudit.model.profile import utc_now
from tsaudit.model.subject import Subject

if TYPE_CHECKING:
    from tsaudit.history.store import Store
    from tsaudit.run import AuditRun

_SHOWN_DAYS: Final = 90

Event = dg.MaterializeResult[None] | dg.AssetCheckResult


def audit_shard(context: dg.AssetExecutionContext, config: AuditConfig, plan: Plan, shard: Shard) -> Iterator[Event]:
    """Audit the selected units of the shard and send the alerts.

    A failing target neither stops nor hides the others; it makes the step fail after all of them.
    """
    try:
        yield from _audited(context, config, plan, shard)
    except dg.Failure:
        raise
    except Exception as error:
        # Dagster stores an exception with all its causes, and whatever the driver quoted in them.
        trace = "".join(traceback.format_exception(error))
        if secrets.mask(trace) == trace:
            raise
        raise dg.Failure(secrets.mask(trace), allow_retries=False) from None


def _audited(context: dg.AssetExecutionContext, config: AuditConfig, plan: Plan, shard: Shard) -> Iterator[Event]:
    from tsaudit import run

    day = audited_day(config)
    settings = _settings(plan)
    selected = context.selected_asset_keys | {key.asset_key for key in context.selected_asset_check_keys}
    units = [unit for unit in shard.units if unit.key in selected]
    unit_of = {target.name: unit for unit in units for target in unit.targets}
    targets = [target for target in settings.targets if target.name in unit_of]
    expected = Counter(unit_of[target.name].name for target in targets)
    gone = sorted(set(unit_of) - {target.name for target in targets})
    problems = [f"{name}: no longer in the configuration; reload the code location" for name in gone]
    url = f"{plan.dagster_url}/runs/{context.run.run_id}" if plan.dagster_url else None
    with history(settings) as store:
        done: dict[str, list[AuditRun]] = {}
        for found in run.audit_targets(targets, settings, store, day=day, workers=plan.workers, run_url=url):
            context.log.info(f"{found.target}: {found.error or found.verdict}")
            if found.error:
                problems.append(f"{found.target}: {found.error}")
            unit = unit_of[found.target]
            done.setdefault(unit.name, []).append(found)
            if len(done[unit.name]) == expected[unit.name]:
                yield from _results(context, plan, store, unit, done.pop(unit.name))
        problems += _send(context, settings, store)
    if problems:
        raise dg.Failure("\n".join(problems), allow_retries=False)


def audited_day(config: AuditConfig) -> date:
    """The day of the run configuration, or today in UTC. dg.Failure if it is not a day."""
    if config.day is None:
        return utc_now().date()
    try:
        return date.fromisoformat(config.day)
    except ValueError:
        raise dg.Failure(f"day `{config.day}` is not a day such as 2026-03-31", allow_retries=False) from None


@contextmanager
def history(settings: Settings) -> Iterator["Store"]:
    """The opened history. dg.Failure if it cannot be used."""
    from tsaudit.history.store import HistoryError, Store

    try:
        with Store.open(settings.history.get_secret_value()) as store:
            yield store
    except HistoryError as error:
        raise dg.Failure(str(error), allow_retries=False) from None


def _settings(plan: Plan) -> Settings:
    try:
        return plan.load()
    except ConfigError as error:
        raise dg.Failure(str(error), allow_retries=False) from None


def _results(
    context: dg.AssetExecutionContext, plan: Plan, store: "Store", unit: Unit, runs: list["AuditRun"]
) -> Iterator[Event]:
    """The unit's materialization, unless nothing in it could be audited, and its checks."""
    if plan.granularity == "group":
        checks = group_check_results(unit.key, runs)
        audited, metadata = any(r.profile for r in runs), group_metadata(runs)
    else:
        (found,) = runs
        series = store.trend(found.target, "series", Subject(), days=_SHOWN_DAYS, until=found.day)
        checks = check_results(unit.key, found, series)
        audited = found.result is not None and found.profile is not None
        if found.result and found.profile:
            metadata = target_metadata(found, found.result, found.profile, series)
    for observed in runs:
        _observe(context, unit, observed)
    chosen = {key.name for key in context.selected_asset_check_keys if key.asset_key == unit.key}
    if audited and unit.key in context.selected_asset_keys:
        yield dg.MaterializeResult(asset_key=unit.key, metadata=metadata)
    yield from (check for check in checks if check.check_name in chosen)


def _observe(context: dg.AssetExecutionContext, unit: Unit, run: "AuditRun") -> None:
    """Show the figures on the owner's own asset, if the configuration names one."""
    target = next(t for t in unit.targets if t.name == run.target)
    if target.asset_key and run.result and run.profile:
        metadata = observation_metadata(run, run.result, run.profile)
        context.log_event(dg.AssetObservation(dg.AssetKey(list(target.asset_key)), metadata=metadata))


def _send(context: dg.AssetExecutionContext, settings: Settings, store: "Store") -> list[str]:
    """Send queued messages; undelivered ones fail the run and stay in the history."""
    from tsaudit import run

    report = run.tell(settings, store, context.log.info)
    return [f"alert not delivered: {error}" for error in report.errors]
