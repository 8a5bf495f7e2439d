"""The audit assets: what they are called, and what they depend on."""

import functools
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

import dagster as dg

from dagster_tsaudit.checks import check_specs
from dagster_tsaudit.names import encode
from dagster_tsaudit.plan import AssetPlan, AuditConfig, AuditStep, Unit
from dagster_tsaudit.step import audit_step
from tsaudit.config import cron
from tsaudit.config.settings import Settings, Target
from tsaudit.engines.registry import ENGINES

_GRACE: Final = timedelta(hours=2)
"""How late an audit may be before Dagster marks its asset as stale."""

_AUDITED_TODAY: Final = dg.AutomationCondition.newly_updated().since(
    dg.AutomationCondition.cron_tick_passed("0 0 * * *")
)

# New data counts only while there is no audit of the day: otherwise the next day would begin with one, before its own
# data is there.
_NEW_DATA: Final[dg.AutomationCondition[Any]] = dg.AutomationCondition.any_deps_updated() & ~_AUDITED_TODAY

AFTER_INGESTION: Final = (
    _NEW_DATA.since_last_handled()
    & ~dg.AutomationCondition.any_deps_in_progress()
    & ~dg.AutomationCondition.in_progress()
).with_label("after ingestion, at most once a day")
"""An upstream asset was materialized, and the target was not yet audited on that day (UTC)."""


def audit_assets(plan: AssetPlan) -> list[dg.AssetsDefinition]:
    """One op per step, each with the audit assets of its units."""
    return [_op(plan, step) for step in plan.steps]


def owners(settings: Settings, target: Target) -> list[str]:
    """The target's owner in Dagster's format: an email address, or `team:<name>`. Empty if the configuration names
    none, and `default` has no address.
    """
    email = settings.owners[target.owner or "default"].email
    if email and re.fullmatch(r"[^@\s]+@[^@\s]+\.[^@\s]+", email):
        return [email]
    return [f"team:{encode(target.owner)}"] if target.owner else []


def kind(engine: str) -> str:
    """The engine's kind in Dagster, which has an icon for most."""
    return ENGINES[engine].icon or engine


@functools.cache
def freshness(schedule: str) -> dg.FreshnessPolicy | None:
    """`audited within two hours of its schedule`; None for schedules without a single time of day."""
    match = re.fullmatch(r"(\d+) (\d+) (\S+ \S+ \S+)", schedule)
    if match is None:
        return None
    hour = int(match[2]) + int(_GRACE.total_seconds() // 3600)
    if hour > 23 and match[3] != "* * *":
        return None
    return dg.FreshnessPolicy.cron(deadline_cron=f"{match[1]} {hour % 24} {match[3]}", lower_bound_delta=_GRACE)


def _op(plan: AssetPlan, step: AuditStep) -> dg.AssetsDefinition:
    @dg.multi_asset(
        name=step.name,
        specs=[_audit_spec(plan, unit) for unit in step.units],
        check_specs=[spec for unit in step.units for spec in check_specs(unit.key, _engines(unit))],
        can_subset=True,
        pool=plan.pool,
        description="Audits the schemas of its targets.",
    )
    def audit(context: dg.AssetExecutionContext, config: AuditConfig) -> Iterator[Any]:
        yield from audit_step(context, config, plan, step)

    return audit


def _engines(unit: Unit) -> set[str]:
    return {target.engine for target in unit.targets}


def _audit_spec(plan: AssetPlan, unit: Unit) -> dg.AssetSpec:
    """It depends on its owners' own assets, where the configuration names them."""
    whole = plan.granularity == "group"
    deps = {dg.AssetKey(list(target.asset_key)) for target in unit.targets if target.asset_key}
    holders = sorted({owner for target in unit.targets for owner in owners(plan.settings, target)})
    engines = sorted({kind(target.engine) for target in unit.targets})
    when = unit.schedule if unit.schedule == cron.NEVER else f"{unit.schedule} UTC"
    what = f"of the {len(unit.targets)} targets of group" if whole else f"of the {unit.targets[0].engine} target"
    # No Markdown: the catalog shows it as it is.
    return dg.AssetSpec(
        key=unit.key,
        deps=sorted(deps),
        group_name=encode(unit.group),
        description=f"Schema audit {what} {unit.name}.",
        kinds={*engines[:2], "report"},
        owners=holders,
        metadata={"group" if whole else "target": unit.name, "schedule": when},
        freshness_policy=freshness(unit.schedule),
        automation_condition=AFTER_INGESTION if plan.is_after_ingestion(unit) else None,
    )
