"""What a component audits, split into assets, steps, and shards; what Dagster shows about each asset; and the days of a
run.
"""

import functools
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, Final, Literal, TypeVar

import dagster as dg
from dagster.components.utils.translation import TranslationFn
from pydantic import Field

from tsaudit.config import cron
from tsaudit.config.settings import Settings, Target
from tsaudit.engines.registry import ENGINES
from tsaudit.errors import TsauditError
from tsaudit.model.figures import ahead, utc_now
from tsaudit.text import many, number

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

AUTO_LIMIT: Final = 500
"""Number of targets above which `auto` makes one asset per group: Dagster writes about 40 events per target and run."""

KEY_PREFIX: Final = "tsaudit"

JOB_TAG: Final = "tsaudit/component"
"""The tag with the component's name on every run of a component's job."""

_T = TypeVar("_T")

Granularity = Literal["target", "group"]

MOST_DAYS: Final = 366
"""Maximum number of days in one run: more are probably a typo in a year, and each day queries the database."""


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


class PlanError(TsauditError):
    """The component's settings cannot be turned into definitions. The error's text is one line."""


class AuditConfig(dg.Config):
    """Run configuration of every audit step."""

    days: list[str] = Field(
        ["today"], description="Audited one after the other: `today` (UTC), `2026-03-31`, or `2026-03-01..2026-03-31`."
    )


@dataclass(frozen=True, slots=True)
class AuditStep:
    """One op: the units with the same schedule and the same tags. A run audits all of them, or one shard."""

    name: str
    """Name of the op."""
    suffix: str
    """The end of the names of its op and schedule; empty if there is no other step."""
    schedule: str
    tags: Mapping[str, str]
    units: tuple[Unit, ...]


@dataclass(frozen=True, slots=True)
class AssetPlan:
    """One component's audits."""

    name: str
    """The component's name, which is part of the names of its job, schedules, and sensors."""
    settings: Settings
    """The settings when definitions load: `${NAME}` may be unresolved, so databases cannot be reached."""
    load: Callable[[], Settings]
    """Loads the settings for a run. Raises ConfigError, also if a `${NAME}` outside of targets is not set."""
    granularity: Granularity
    steps: tuple[AuditStep, ...]
    shard_size: int
    """Maximum number of units that one scheduled run audits."""
    workers: int
    dagster_url: str | None
    starts_running: bool
    """Whether schedules are initially switched on; otherwise somebody has to start them."""
    pool: str | None
    """Dagster's concurrency pool of every step; None for none."""

    @property
    def units(self) -> Iterator[Unit]:
        return (unit for step in self.steps for unit in step.units)

    @property
    def keys(self) -> frozenset[dg.AssetKey]:
        return frozenset(unit.key for unit in self.units)

    @property
    def job_name(self) -> str:
        return f"audit_{self.name}"

    def run_config(self, day: date, steps: Iterable[AuditStep]) -> dg.RunConfig:
        """Run configuration for the given steps to audit `day`."""
        return dg.RunConfig(ops={step.name: AuditConfig(days=[day.isoformat()]) for step in steps})

    def scheduled(self, step: AuditStep) -> tuple[Unit, ...]:
        """The step's units that are audited on a schedule."""
        if step.schedule == cron.NEVER:
            return ()
        return tuple(unit for unit in step.units if not unit.after_ingestion)

    def shards(self, step: AuditStep) -> list[tuple[Unit, ...]]:
        """The step's scheduled units, split into as few runs of about the same number as `shard_size` allows."""
        units = self.scheduled(step)
        count = -(-len(units) // self.shard_size)
        return [units[number::count] for number in range(count)]

    def schedule_name(self, step: AuditStep) -> str:
        """Name of the step's schedule; the job's own name if there is no other step."""
        return f"{self.job_name}{step.suffix}"


def is_audit(plan: AssetPlan, run: dg.DagsterRun) -> bool:
    """Whether the run audited targets of the plan; runs from the Materialize button have another job name."""
    if run.tags.get(JOB_TAG) == plan.name:
        return True
    touched = {*(run.asset_selection or ()), *(check.asset_key for check in run.asset_check_selection or ())}
    return not plan.keys.isdisjoint(touched)


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
    pool: str | None = None,
    tags: Mapping[str, str] | None = None,
    translation: TranslationFn[Unit] | None = None,
) -> AssetPlan:
    """The plan for the targets of `settings`. Raises PlanError."""
    many = len(settings.targets) > AUTO_LIMIT
    chosen: Granularity = granularity if granularity != "auto" else "group" if many else "target"
    per = _per_target if chosen == "target" else _per_group
    units = [
        _specified(unit, settings, chosen, after_ingestion, translation)
        for unit in per(settings, schedule, name, dict(tags or {}))
    ]
    encoded = encode(name)
    return AssetPlan(
        name=encoded,
        settings=settings,
        load=load,
        granularity=chosen,
        steps=tuple(_steps(encoded, units)),
        shard_size=shard_size,
        workers=workers,
        dagster_url=dagster_url,
        starts_running=starts_running,
        pool=pool,
    )


def _per_target(settings: Settings, schedule: str | None, component: str, tags: dict[str, str]) -> list[Unit]:
    return [
        Unit(
            spec=dg.AssetSpec([KEY_PREFIX, encode(target.name)]),
            name=target.name,
            group=target.group or component,
            schedule=_cron(_schedule_of(target, schedule), target.name),
            tags=tags | target.run_tags,
            targets=(target,),
        )
        for target in settings.targets
    ]


def _per_group(settings: Settings, schedule: str | None, component: str, tags: dict[str, str]) -> list[Unit]:
    groups: dict[str, list[Target]] = {}
    for target in settings.targets:
        groups.setdefault(target.group or component, []).append(target)
    units = []
    for name, targets in groups.items():
        line = _common(name, "schedule", {_schedule_of(target, schedule) for target in targets})
        own = _common(name, "run_tags", {tuple(sorted(target.run_tags.items())) for target in targets})
        spec = dg.AssetSpec([KEY_PREFIX, "group", encode(name)])
        units.append(Unit(spec, name, name, _cron(line, name), tags | dict(own), tuple(targets)))
    return units


def _specified(
    unit: Unit, settings: Settings, what: Granularity, after_ingestion: bool, translation: TranslationFn[Unit] | None
) -> Unit:
    """The unit, including everything that Dagster shows for its asset."""
    unit = replace(unit, after_ingestion=after_ingestion and any(target.asset_key for target in unit.targets))
    unit = replace(unit, spec=described(unit, settings, what))
    return replace(unit, spec=translation(unit.spec, unit)) if translation else unit


def _schedule_of(target: Target, schedule: str | None) -> str:
    """The target's schedule. The component's schedule overrides it, except for targets whose schedule is `never`."""
    return schedule if schedule and target.schedule != cron.NEVER else target.schedule


def _common(group: str, what: str, found: set[_T]) -> _T:
    """The value that all targets of a group have. Raises PlanError if they differ."""
    if len(found) > 1:
        raise PlanError(
            f"group `{group}`: its targets have {len(found)} different values of `{what}`; with one asset per group "
            f"they must be the same: set `{what.removeprefix('run_')}` in defs.yaml, or `granularity: target`"
        )
    return found.pop()


def _cron(line: str, name: str) -> str:
    """The expression itself, or `never`. Raises PlanError if Dagster does not accept it."""
    if line != cron.NEVER and not _is_cron(line):
        raise PlanError(f"`{name}`: schedule `{line}` is not a cron expression such as `0 6 * * *`")
    return line


@functools.cache
def _is_cron(line: str) -> bool:
    try:
        dg.ScheduleDefinition(name="probe", cron_schedule=line, job_name="probe")
    except dg.DagsterInvalidDefinitionError:
        return False
    return True


def _steps(name: str, units: Sequence[Unit]) -> Iterator[AuditStep]:
    same: dict[tuple[str, tuple[tuple[str, str], ...]], list[Unit]] = {}
    for unit in units:
        same.setdefault((unit.schedule, tuple(sorted(unit.tags.items()))), []).append(unit)
    for (line, tags), found in sorted(same.items()):
        suffix = f"__{_named(line, tags)}" if len(same) > 1 else ""
        yield AuditStep(f"tsaudit_{name}{suffix}", suffix, line, dict(tags), tuple(found))


def _named(line: str, tags: tuple[tuple[str, str], ...]) -> str:
    """A name for the step that does not change when other steps are added or removed: `0 6 * * *` becomes
    `0_6_any_any_any`.
    """
    words = line.replace("*/", "every").replace("*", "any").replace("-", "to").replace(",", "and").replace("/", "by")
    plain = re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")
    return f"{plain}__{hashlib.sha256(json.dumps(tags).encode()).hexdigest()[:8]}" if tags else plain


def audited_days(config: AuditConfig) -> list[date]:
    """The days of the run configuration, oldest first.

    Raises dg.Failure if something in it is not a day or a range of days, if a day is in the future, or if there are too
    many days.
    """
    days = sorted({day for one in config.days for day in _range(one)})
    if not days:
        raise dg.Failure("`days` is empty", allow_retries=False)
    if len(days) > MOST_DAYS:
        what = f"`days` contains {number(len(days))} days; a run audits at most {MOST_DAYS}"
        raise dg.Failure(what, allow_retries=False)
    if problem := ahead(days[-1]):
        # Later audits would take it for the newest day.
        raise dg.Failure(problem, allow_retries=False)
    return days


def _range(given: str) -> Iterator[date]:
    """The days of `today`, `2026-03-01`, or `2026-03-01..2026-03-31`, both ends included."""
    start, dots, end = given.partition("..")
    first = _day(start)
    last = _day(end) if dots else first
    if last < first:
        raise dg.Failure(f"`{given}` ends before it begins", allow_retries=False)
    yield from (first + timedelta(days=n) for n in range((last - first).days + 1))


def _day(text: str) -> date:
    if text.strip() == "today":
        return utc_now().date()
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        what = f"`{text}` is not `today`, a day such as 2026-03-31, or a range such as 2026-03-01..2026-03-31"
        raise dg.Failure(what, allow_retries=False) from None
