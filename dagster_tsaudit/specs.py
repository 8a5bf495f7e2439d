"""What an audit asset represents, and what Dagster shows about it."""

import functools
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import dagster as dg

from tsaudit.config import cron
from tsaudit.config.settings import Settings, Target
from tsaudit.engines.registry import ENGINES
from tsaudit.text import many

_PLAIN: Final = re.compile(r"[A-Za-z0-9_]+")
_ENCODED: Final = re.compile(r"\w*__x[0-9a-f]{10}")
_GRACE: Final = timedelta(hours=2)
"""How late an audit may be before Dagster marks its asset as stale."""
_AUDITED_TODAY: Final = dg.AutomationCondition.newly_updated().since(
    dg.AutomationCondition.cron_tick_passed("0 0 * * *")
)
# New data triggers an audit only if there was none on the day: otherwise the next day would begin with an audit, before
# its own data has arrived.
_NEW_DATA: Final[dg.AutomationCondition[Any]] = dg.AutomationCondition.any_deps_updated() & ~_AUDITED_TODAY
_AFTER_INGESTION: Final = (
    _NEW_DATA.since_last_handled()
    & ~dg.AutomationCondition.any_deps_in_progress()
    & ~dg.AutomationCondition.in_progress()
).with_label("after ingestion, at most once a day")
"""An upstream asset was materialized, and the target has not yet been audited on that day (UTC)."""


def encode(name: str) -> str:
    """`name` with letters, digits, and underscores only; different names give different results.

    Dagster allows `.` and `-` in asset keys but turns them into `_` internally, where `a.b` and `a_b` then collide. A
    name that has to be changed, or that looks like a changed one, gets a hash of the original.
    """
    if _PLAIN.fullmatch(name) and not _ENCODED.fullmatch(name):
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return f"{re.sub('[^A-Za-z0-9_]', '_', name)}__x{digest}"


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
    """Tags of the unit's runs."""
    targets: tuple[Target, ...]
    after_ingestion: bool = False
    """Whether the unit is audited when an upstream asset was materialized, instead of on a schedule."""

    @property
    def key(self) -> dg.AssetKey:
        return self.spec.key

    @property
    def engines(self) -> list[str]:
        return sorted({target.engine for target in self.targets})


def described(unit: Unit, settings: Settings, what: str) -> dg.AssetSpec:
    """The unit's complete spec. The asset depends on its owners' own assets if the configuration names them. `what`:
    `target` or `group`.
    """
    deps = {dg.AssetKey(list(target.asset_key)) for target in unit.targets if target.asset_key}
    of = f"{many(len(unit.targets), 'target')} in a group" if what == "group" else f"{unit.engines[0]} target"
    when = unit.schedule if unit.schedule == cron.NEVER else f"{unit.schedule} UTC"
    # The catalog cuts off long texts, and does not render Markdown; names may be hard to recognize in keys.
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
    """The target's owner in Dagster's format: an email address, or `team:<name>`. Empty if the configuration names no
    owner, and `default` has no address.
    """
    email = settings.owners[target.owner or "default"].email
    if email and re.fullmatch(r"[^@\s]+@[^@\s]+\.[^@\s]+", email):
        return [email]
    return [f"team:{encode(target.owner)}"] if target.owner else []


def _kind(engine: str) -> str:
    """The engine's kind in Dagster, most of which have an icon."""
    return ENGINES[engine].icon or engine


@functools.cache
def freshness(schedule: str) -> dg.FreshnessPolicy | None:
    """The policy that the asset must be audited within two hours of its schedule; None for schedules without a single
    time of day.
    """
    match = re.fullmatch(r"(\d+) (\d+) (\S+ \S+ \S+)", schedule)
    if match is None:
        return None
    hour = int(match[2]) + int(_GRACE.total_seconds() // 3600)
    if hour > 23 and match[3] != "* * *":
        return None
    return dg.FreshnessPolicy.cron(deadline_cron=f"{match[1]} {hour % 24} {match[3]}", lower_bound_delta=_GRACE)
