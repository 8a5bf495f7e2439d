"""The checks on the owners' own assets, for targets that name one in `asset_key`.

A step may only return checks of its own assets, so the audit records these checks as separate events. They can also be
executed alone: that shows the last audit again, without querying the audited database.
"""

from collections.abc import Iterator

import dagster as dg

from dagster_tsaudit.audited import AuditedTarget, audited, history
from dagster_tsaudit.checks import check_names, check_results, check_specs
from dagster_tsaudit.names import encode
from dagster_tsaudit.plan import AssetPlan, AuditStep
from tsaudit import secrets
from tsaudit.config.settings import Target


def owner_checks(plan: AssetPlan) -> list[dg.AssetChecksDefinition]:
    """One op per step with targets that have an `asset_key`."""
    return [_op(plan, step, named) for step in plan.steps if (named := _named(step))]


def owner_results(target: Target, found: AuditedTarget) -> Iterator[dg.AssetCheckResult]:
    """The check results for the owner's asset; none if the target names no asset."""
    if target.asset_key:
        prefix = _prefix(target)
        names = {prefix + name for name in check_names([target.engine])}
        results = check_results(dg.AssetKey(list(target.asset_key)), found, prefix)
        yield from (result for result in results if result.check_name in names)


def record(context: dg.AssetExecutionContext, result: dg.AssetCheckResult) -> None:
    """Record a check result that the current step may not return, with a link to the run, which Dagster
    would not add.
    """
    assert result.asset_key is not None
    assert result.check_name is not None
    context.instance.report_runless_asset_event(
        dg.AssetCheckEvaluation(
            asset_key=result.asset_key,
            check_name=result.check_name,
            passed=result.passed,
            metadata={**result.metadata, "run": dg.MetadataValue.dagster_run(context.run.run_id)},
            severity=result.severity,
            description=result.description,
        )
    )


def _named(step: AuditStep) -> list[Target]:
    return [target for unit in step.units for target in unit.targets if target.asset_key]


def _prefix(target: Target) -> str:
    """Prefix of the checks' names, because several targets may name the same asset, and its owner may have
    checks, too.
    """
    return f"tsaudit_{encode(target.name)}_"


def _op(plan: AssetPlan, step: AuditStep, targets: list[Target]) -> dg.AssetChecksDefinition:
    specs = [
        spec for t in targets for spec in check_specs(dg.AssetKey(list(t.asset_key or ())), [t.engine], _prefix(t))
    ]

    @dg.multi_asset_check(
        name=f"{step.name}_owners",
        specs=specs,
        can_subset=True,
        description="Shows the last audit on the audited asset, and queries no audited database.",
    )
    def last_audits(context: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckResult]:
        selected = {(key.asset_key, key.name) for key in context.selected_asset_check_keys}
        try:
            results = [r for found, t in _last(plan, targets) for r in owner_results(t, found)]
        except Exception as error:
            # It may run together with the owner's own asset, whose run must not fail because of it.
            context.log.error(secrets.mask(f"the last audit could not be read: {error}"))
            return
        yield from (r for r in results if (r.asset_key, r.check_name) in selected)

    return last_audits


def _last(plan: AssetPlan, targets: list[Target]) -> Iterator[tuple[AuditedTarget, Target]]:
    """The newest audit of each target that has been audited."""
    from tsaudit.history import incidents
    from tsaudit.run import AuditRun

    with history(plan.load()) as store:
        newest = store.newest_days()
        for target in targets:
            if (day := newest.get(target.name)) is None:
                continue
            result, profile = store.result(target.name, day), store.profile(target.name, day)
            muted = incidents.muted(store, target.name, day)
            run = AuditRun(target.name, day, result, profile, (), None, 0.0, None, muted=muted)
            yield audited(run, store), target
