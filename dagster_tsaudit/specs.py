"""What an audit asset represents, and what Dagster shows of it."""

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import dagster as dg

from dagster_tsaudit.names import encode
from tsaudit.config import cron
from tsaudit.config.settings import Settings, Target
from tsaudit.engines.registry import ENGINES
from tsaudit.text import many

_GRACE: Final = timedelta(hours=2)
"""How late an audit may be before Dagster marks its asset as stale."""

_AUDITED_TODAY: Final = dg.AutomationCondition.newly_updated().since(
    dg.AutomationCondition.cron_tick_passed("0 0 * * *")
)

# New data counts only while there is no audit of the day: otherwise the next day would begin with one, before its own
# data is there.
_NEW_DATA: Final[dg.AutomationCondition[Any]] = dg.AutomationCondition.any_deps_updated() & ~_AUDITED_TODAY

_AFTER_INGESTION: Final = (
    _NEW_DATA.since_last_handled()
    & ~dg.AutomationCondition.any_deps_in_progress()
    & ~dg.AutomationCondition.in_progress()
).with_label("after ingestion, at most once a day")
"""An upstream asset was materialized, and the target was not yet audited on that day (UTC)."""


@dataclass(frozen=True, slots=True)
class Unit:
    """What one audit asset represents: a target, or a group of them."""

    spec: dg.AssetSpec
    name: str
    group: str
    """The target's group, or the component's name."""
    schedule: str
    """A cron expression, or `never`."""
    tags: Mapping[str, str]
    """Tags of its runs."""
    targets: tuple[Target, ...]
    after_ingestion: bool = False
    """Whether it is audited when an asset was materialized, and not on a schedule."""

    @property
    def key(self) -> dg.AssetKey:
        return self.spec.key

    @property
    def engines(self) -> list[str]:
        return sorted({target.engine for target in self.targets})


def described(unit: Unit, settings: Settings, what: str) -> dg.AssetSpec:
    """The unit's spec, which has only the key so far. It depends on its owners' own assets, where the configuration
    names them. `what`: `target` or `group`.
    """
    deps = {dg.AssetKey(list(target.asset_key)) for target in unit.targets if target.asset_key}
    of = f"{many(len(unit.targets), 'target')} in a group" if what == "group" else f"{unit.engines[0]} target"
    when = unit.schedule if unit.schedule == cron.NEVER else f"{unit.schedule} UTC"
    # The catalog cuts off what is long, and shows Markdown as it is; in keys, names may be hard to recognize.
    return dg.AssetSpec(
        key=unit.key,
        deps=sorted(deps),
        group_name=encode(unit.group),
        description=f"{unit.name}: schema audit, {of}",
        kinds={*sorted({_kind(engine) for engine in unit.engines})[:2], "report"},
        owners=sorted({owner for target in unit.targets for owner in _owners(settings, target)}),
        metadata={what: unit.name, "schedule": when},
        freshness_policy=freshness(unit.schedule),
        automation_condition=_AFTER_INGESTION if unit.after_ingestion else None,
    )


def _owners(settings: Settings, target: Target) -> list[str]:
    """The target's owner in Dagster's format: an email address, or `team:<name>`. Empty if the configuration names
    none, and `default` has no address.
    """
    email = settings.owners[target.owner or "default"].email
    if email and re.fullmatch(r"[^@\s]+@[^@\s]+\.[^@\s]+", email):
        return [email]
    return [f"team:{encode(target.owner)}"] if target.owner else []


def _kind(engine: str) -> str:
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
