"""Audited targets as `tsaudit.run` would hand them over, and projects made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg

from dagster_tsaudit.automation import definitions_of
from dagster_tsaudit.plan import AssetPlan, make_plan
from tests.builders import DAY, a_profile, a_result
from tsaudit.config import file as config_file
from tsaudit.config.settings import Settings, Target
from tsaudit.run import AuditRun


def an_audit(target: str = "demo", **changes: Any) -> AuditRun:
    """A target that was audited without any finding."""
    return AuditRun(
        **{
            "target": target,
            "day": DAY,
            "result": a_result(target=target),
            "profile": a_profile(target=target),
            "changes": (),
            "report": None,
            "seconds": 1.5,
            "error": None,
        }
        | changes
    )


def a_failed_audit(target: str, error: str = "no such file") -> AuditRun:
    """A target that could not be audited."""
    return an_audit(target, result=None, profile=None, error=error)


def fake_audits(*runs: AuditRun) -> Callable[..., Iterator[AuditRun]]:
    """Stands in for `tsaudit.run.audit_targets`: the given runs, for the targets that were asked for."""

    def audit_targets(targets: Iterable[Target], settings: Settings, store: object, **_: object) -> Iterator[AuditRun]:
        known = {run.target: run for run in runs}
        for target in targets:
            yield known.get(target.name) or an_audit(target.name)

    return audit_targets


def write_config(folder: Path, *names: str, extra: str = "", target_extra: str = "") -> Path:
    """A tsaudit.yaml with one DuckDB target per name, its file beside it."""
    lines = ["history: sqlite:///history.db", "report:", "  folder: reports", *extra.splitlines(), "targets:"]
    for name in names:
        lines += [f"  - name: {name}", "    engine: duckdb", f"    url: duckdb:///{name}.duckdb"]
        lines += [f"    {line}" for line in target_extra.splitlines()]
    file = folder / "tsaudit.yaml"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def a_plan(config: Path, name: str = "shop", **options: Any) -> AssetPlan:
    """The plan of a component that reads the file."""
    known = config_file.load(config, resolve_env=False)
    return make_plan(name, known, lambda: config_file.load(config), **options)


def execute(
    plan: AssetPlan,
    instance: dg.DagsterInstance,
    day: str = "2026-03-31",
    days: list[str] | None = None,
    **options: Any,
) -> dg.ExecuteInProcessResult:
    """Run the plan's job for a day, or for `days`."""
    job = definitions_of(plan).resolve_job_def(plan.job_name)
    ops = {step.name: {"config": {"days": days or [day]}} for step in plan.steps}
    return job.execute_in_process(instance=instance, run_config={"ops": ops}, raise_on_error=False, **options)


def failure_of(outcome: dg.ExecuteInProcessResult) -> str:
    """What the failed step said."""
    (event,) = [e for e in outcome.all_events if e.is_step_failure]
    data = event.step_failure_data
    assert data.user_failure_data is not None
    return data.user_failure_data.description or ""
