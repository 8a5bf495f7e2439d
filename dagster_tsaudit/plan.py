"""What a component audits, split into assets and steps."""

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from typing import Final, Literal

import dagster as dg

from dagster_tsaudit.names import encode
from tsaudit.config.settings import Settings, Target

AUTO_LIMIT: Final = 500
"""Above this many targets `auto` makes one asset per group: Dagster writes about 40 events per target and run."""

KEY_PREFIX: Final = "tsaudit"

JOB_TAG: Final = "tsaudit/component"
"""Tag on every run of a component's job: the component's name."""

Granularity = Literal["target", "group"]


class PlanError(Exception):
    """The component's settings cannot become definitions. One line."""


class AuditConfig(dg.Config):
    """Run configuration of every audit step."""

    day: str | None = None
    """The logical day to audit, `YYYY-MM-DD`; today (UTC) by default."""
    days: list[str] | None = None
    """Several days to audit one after the other: each `YYYY-MM-DD`, or a range `YYYY-MM-DD..YYYY-MM-DD`."""


@dataclass(frozen=True, slots=True)
class Unit:
    """What one audit asset represents: a target, or a group of them."""

    key: dg.AssetKey
    name: str
    group: str
    """The target's schedule, or the component's name."""
    schedule: str
    targets: tuple[Target, ...]


@dataclass(frozen=True, slots=True)
class Shard:
    """The units that one step audits; all have the same schedule."""

    name: str
    """Name of the op, and of the pool that keeps two runs from auditing the same databases at once."""
    schedule: str
    units: tuple[Unit, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """One component's audits."""

    name: str
    """Part of the names of its job, schedules, and sensors."""
    settings: Settings
    """The settings when definitions load: `${NAME}` may be unresolved, so databases cannot be reached."""
    load: Callable[[], Settings]
    """The settings for a run. Raises ConfigError, also if a `${NAME}` is not set."""
    granularity: Granularity
    shards: tuple[Shard, ...]
    workers: int
    dagster_url: str | None
    starts_running: bool
    """Whether schedules are switched on until somebody stops them, and otherwise off until somebody starts them."""
    after_ingestion: bool
    """Whether targets that name an asset are audited when it was materialized, and not on a schedule."""

    @property
    def keys(self) -> frozenset[dg.AssetKey]:
        return frozenset(unit.key for shard in self.shards for unit in shard.units)

    @property
    def job_name(self) -> str:
        return f"audit_{self.name}"

    def run_config(self, day: date, shards: Iterable[Shard]) -> dg.RunConfig:
        """Run configuration for the given shards to audit `day`."""
        return dg.RunConfig(ops={shard.name: AuditConfig(day=day.isoformat()) for shard in shards})

    def is_after_ingestion(self, unit: Unit) -> bool:
        """Whether the unit is audited when an asset was materialized, and not on a schedule."""
        return self.after_ingestion and any(target.asset_key for target in unit.targets)

    def scheduled(self, shard: Shard) -> tuple[Unit, ...]:
        """The shard's units that are audited on a schedule."""
        return tuple(unit for unit in shard.units if not self.is_after_ingestion(unit))

    def schedule_name(self, unit: Unit) -> str:
        """Name of the schedule of one unit; the job's own name if there is no other unit."""
        alone = len(self.shards) == 1 and len(self.shards[0].units) == 1
        return self.job_name if alone else f"{self.job_name}__{encode(unit.name)}"


def make_plan(
    name: str,
    settings: Settings,
    load: Callable[[], Settings],
    *,
    granularity: Literal["auto", "target", "group"] = "auto",
    schedule: str | None = None,
    shard_size: int = 100,
    workers: int = 4,
    dagster_url: str | None = None,
    starts_running: bool = True,
    after_ingestion: bool = False,
) -> Plan:
    """The plan for the targets of `settings`. Raises PlanError."""
    many = len(settings.targets) > AUTO_LIMIT
    chosen: Granularity = granularity if granularity != "auto" else "group" if many else "target"
    per = _per_target if chosen == "target" else _per_group
    units = per(settings, schedule, name)
    encoded = encode(name)
    shards = tuple(_shards(encoded, units, shard_size))
    return Plan(encoded, settings, load, chosen, shards, workers, dagster_url, starts_running, after_ingestion)


def _per_target(settings: Settings, schedule: str | None, component: str) -> list[Unit]:
    return [
        Unit(
            key=dg.AssetKey([KEY_PREFIX, encode(target.name)]),
            name=target.name,
            group=target.group or component,
            schedule=_cron(schedule or target.schedule, target.name),
            targets=(target,),
        )
        for target in settings.targets
    ]


def _per_group(settings: Settings, schedule: str | None, component: str) -> list[Unit]:
    groups: dict[str, list[Target]] = {}
    for target in settings.targets:
        groups.setdefault(target.group or component, []).append(target)
    units = []
    for name, targets in groups.items():
        lines = {schedule or target.schedule for target in targets}
        if len(lines) > 1:
            raise PlanError(
                f"group `{name}`: its targets have {len(lines)} different schedules; with one asset per group "
                "they must be the same: set `schedule` in defs.yaml, or `granularity: target`"
            )
        key = dg.AssetKey([KEY_PREFIX, "group", encode(name)])
        units.append(Unit(key, name, name, _cron(lines.pop(), name), tuple(targets)))
    return units


def _cron(line: str, name: str) -> str:
    """The expression itself, if Dagster accepts it."""
    if not _is_cron(line):
        raise PlanError(f"`{name}`: schedule `{line}` is not a cron expression such as `0 6 * * *`")
    return line


@functools.cache
def _is_cron(line: str) -> bool:
    try:
        dg.ScheduleDefinition(name="probe", cron_schedule=line, job_name="probe")
    except dg.DagsterInvalidDefinitionError:
        return False
    return True


def _shards(name: str, units: list[Unit], size: int) -> Iterator[Shard]:
    ordered = sorted(units, key=lambda unit: unit.schedule)
    cut = [
        (cron, same[start : start + size])
        for cron, same in ((cron, list(found)) for cron, found in groupby(ordered, key=lambda unit: unit.schedule))
        for start in range(0, len(same), size)
    ]
    for number, (cron, part) in enumerate(cut, start=1):
        suffix = f"_{number}" if len(cut) > 1 else ""
        yield Shard(f"tsaudit_{name}{suffix}", cron, tuple(part))
