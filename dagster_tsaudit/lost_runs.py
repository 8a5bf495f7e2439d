"""Detects runs whose process was lost although their launcher reports that it is still running.

Dagster asks its run launcher whether the process of a run is alive. Where runs are tasks of a queue (Celery), the
launcher does not know: the run of a killed worker would stay in progress permanently. So each step holds a lease in the
history, and a sensor checks its heartbeat.
"""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import dagster as dg

from dagster_tsaudit.audited import history
from dagster_tsaudit.plan import AssetPlan, AuditStep, is_audit
from tsaudit import secrets
from tsaudit.text import many

if TYPE_CHECKING:
    from tsaudit.history.store import Store

WATCH_S: Final = 15
"""Seconds between two checks."""

GRACE_S: Final = 30.0
"""Additional seconds for a run in progress that holds no lease: its step may be about to begin, or may have
just ended.
"""

Cursor = dict[str, tuple[str, float]]
"""Run ID to the last seen text of its leases, and the time when that text was first seen, in seconds since 1970."""


@contextmanager
def alive(store: "Store", run_id: str, step: AuditStep) -> Iterator[None]:
    """Hold a lease that shows others that the step is running. Raises dg.Failure if the same step of the same run is
    running elsewhere: a queue may deliver a task twice.
    """
    from tsaudit.history import lease

    try:
        with lease.held(store, lease.identity_of_run(run_id, step.name), 0.0):
            yield
    except lease.InUseError as error:
        raise dg.Failure(f"this run {error}", allow_retries=False) from None


def watch_sensor(plan: AssetPlan) -> dg.SensorDefinition:
    """A sensor that ends lost runs. Dagster then repeats them if `run_retries` of the instance is enabled."""

    @dg.sensor(
        name=f"watch_{plan.name}",
        minimum_interval_seconds=WATCH_S,
        # It follows runs that somebody launched, so it is switched on even if schedules are initially switched off.
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Ends runs whose process was lost where Dagster cannot tell, as with Celery.",
    )
    def watch(context: dg.SensorEvaluationContext) -> dg.SkipReason:
        said, cursor = end_lost_runs(plan, context.instance, json.loads(context.cursor or "{}"), time.time())
        context.update_cursor(json.dumps(cursor))
        return dg.SkipReason(said)

    return watch


def end_lost_runs(plan: AssetPlan, instance: dg.DagsterInstance, before: Cursor, now: float) -> tuple[str, Cursor]:
    """End the runs of the plan whose leases have not changed for too long. Returns what was done, and the next cursor.

    Raises nothing, because a failing sensor notifies nobody.
    """
    filters = dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED])
    runs = {run.run_id: run for run in instance.get_runs(filters) if is_audit(plan, run)}
    if not runs:
        return "no run is in progress", {}
    try:
        with history(plan.load()) as store:
            seen = _seen(store, plan, runs)
            cursor = {run_id: _since(before.get(run_id), text, now) for run_id, text in seen.items()}
            lost = [run_id for run_id, (text, since) in cursor.items() if _is_lost(plan, text, now - since)]
            for run_id in lost:
                _end(store, plan, instance, runs[run_id])
                del cursor[run_id]
    except Exception as error:
        return secrets.mask(f"runs in progress could not be checked: {error}"), before
    return f"{many(len(runs), 'run')} in progress, {len(lost)} of them lost", cursor


def _seen(store: "Store", plan: AssetPlan, runs: Mapping[str, dg.DagsterRun]) -> dict[str, str]:
    """A text for each run that changes as long as one of its steps is running; empty for a run that holds no lease."""
    from tsaudit.history import lease

    names = {lease.identity_of_run(run_id, step.name): run_id for run_id in runs for step in plan.steps}
    found: dict[str, list[str]] = {run_id: [] for run_id in runs}
    for name, beat in sorted(lease.beats(store, names).items()):
        found[names[name]].append(beat)
    return {run_id: " ".join(beats) for run_id, beats in found.items()}


def _since(before: tuple[str, float] | None, text: str, now: float) -> tuple[str, float]:
    return (text, before[1]) if before is not None and before[0] == text and before[1] <= now else (text, now)


def _is_lost(plan: AssetPlan, text: str, still_s: float) -> bool:
    from tsaudit.history.lease import STALE_S

    if text:
        return still_s >= STALE_S
    # A step that waits for its pool holds no lease, and it may wait for any length of time.
    return plan.pool is None and still_s >= STALE_S + GRACE_S


def _end(store: "Store", plan: AssetPlan, instance: dg.DagsterInstance, run: dg.DagsterRun) -> None:
    from tsaudit.history import lease

    # The leases that the run held are released at once, so that the run that repeats it need not wait.
    lease.release_all(store, [lease.identity_of_run(run.run_id, step.name) for step in plan.steps])
    instance.report_run_failed(run, "its process was lost: it sent no heartbeat")
