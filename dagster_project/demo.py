"""A month of an invented company's database, audited day by day through Dagster.

Every day is written as the applications would have written it and then audited by the same job that the schedule
runs, so history, incidents, forecasts and reports are real. What is there already is not done again.
"""

import os
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import dagster as dg

from dagster_project.world import DAYS, DemoError, World
from dagster_tsaudit.audited import history
from dagster_tsaudit.automation import DAY_TAG, definitions_of
from dagster_tsaudit.plan import AssetPlan, make_plan
from tsaudit.config import file as config_file
from tsaudit.config.settings import Settings
from tsaudit.model.finding import AuditResult, Finding, Forecast, RuleResult, Severity
from tsaudit.text import day as formatted_day
from tsaudit.text import number, percent, printable
from tsaudit.text.findings import is_growing, limit_reached

if TYPE_CHECKING:
    from tsaudit.history.deliveries import Delivery
    from tsaudit.history.store import Store

_PACKAGE: Final = Path(__file__).parent
CONFIG: Final = _PACKAGE / "defs" / "demo" / "audit" / "tsaudit.yaml"

TARGET: Final = "demo"
POOL: Final = "tsaudit_demo"
"""Of whatever writes or audits the database: DuckDB lets no one in while somebody writes."""

_DEMO_TAG: Final = "tsaudit/demo"

_QUIET: Final = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
"""The run's log goes to Dagster's event log; the terminal shows a line per day."""


@click.command(help=__doc__)
@click.option("--end", type=click.DateTime(["%Y-%m-%d"]), help="Last day of the demo; yesterday (UTC) when left out.")
@click.option("--days", type=click.IntRange(1), default=DAYS, show_default=True, help="Days it takes, when it begins.")
@click.option("--config", type=click.Path(path_type=Path), default=CONFIG, help="A tsaudit.yaml with a target `demo`.")
def main(end: datetime | None, days: int, config: Path) -> None:
    try:
        with _instance() as instance:
            # A day that is not over has fewer new series than the others: the forecast would be too hopeful.
            yesterday = datetime.now(UTC).date() - timedelta(days=1)
            done = run(config, instance, end.date() if end else yesterday, days)
    except dg.Failure as failure:
        raise click.ClickException(failure.description or "the history cannot be used") from None
    except (DemoError, config_file.ConfigError) as error:
        raise click.ClickException(str(error)) from None
    sys.exit(0 if done else 1)


def run(config: Path, instance: dg.DagsterInstance, end: date, days: int = DAYS) -> bool:
    """Write the data up to `end` and audit each day not audited yet. False when an audit failed."""
    began = time.monotonic()
    settings = config_file.load(config)
    plan = make_plan(TARGET, settings, lambda: config_file.load(config), pool=POOL)
    job = definitions_of(plan).resolve_job_def(plan.job_name)
    with _alone(World.of(settings).path), history(settings) as store:
        _end_killed_runs(instance, POOL)
        world = _world(settings, store)
        to_write, to_audit = _to_do(world, store, end, days)
        for day in sorted({*to_write, *to_audit}):
            world.advance(day)
            if day not in to_audit:
                continue
            outcome = _audit(job, plan, instance, day)
            if not _show_day(store, day) or not outcome.success:
                click.echo(f"error: the audit of {day} failed: {_why(outcome)}", err=True)
                return False
        _show_end(store, settings, time.monotonic() - began)
    return True


def _world(settings: Settings, store: "Store") -> World:
    """The demo's database; restarted as long as nothing was audited, because a tag's first day cannot be seen later."""
    world = World.of(settings)
    if world.path.exists() and not store.days(TARGET):
        click.echo("No day of the demo's database was audited yet: restarting it.")
        world.path.unlink()
    return world


def _to_do(world: World, store: "Store", end: date, days: int) -> tuple[list[date], list[date]]:
    """The days to write, and those to audit: the ones not audited yet, or the last one again."""
    audited = store.days(TARGET)
    newest = world.last_day()
    # A database that was lost is written as it was, from the day on which its history begins.
    first = world.first_day() or (audited[0] if audited else end - timedelta(days=days - 1))
    every = _days(first, max(end, newest or end))
    to_write = [day for day in every if newest is None or day > newest]
    return to_write, [day for day in every if day not in audited] or every[-1:]


def _days(first: date, last: date) -> list[date]:
    return [first + timedelta(days=n) for n in range((last - first).days + 1)]


def _audit(
    job: dg.JobDefinition, plan: AssetPlan, instance: dg.DagsterInstance, day: date
) -> dg.ExecuteInProcessResult:
    ops = {step.name: {"config": {"days": [day.isoformat()]}} for step in plan.steps}
    tags = {DAY_TAG: day.isoformat(), _DEMO_TAG: "1"}
    return job.execute_in_process(instance=instance, run_config={"ops": ops, **_QUIET}, raise_on_error=False, tags=tags)


def _show_day(store: "Store", day: date) -> bool:
    """Print the day's line; False when nothing was remembered of it."""
    result = store.result(TARGET, day)
    if result is None:
        return False
    profile = store.profile(TARGET, day)
    click.echo(day_line(day, result, profile.series if profile else None))
    return True


def _show_end(store: "Store", settings: Settings, seconds: float) -> None:
    result = store.result(TARGET, store.days(TARGET)[-1])
    if result is not None:
        click.echo("\n" + "\n".join(worst_message(store, TARGET)))
        click.echo("\n" + "\n".join(ending(result, _report(settings, result.day))))
    click.echo(f"Took           {seconds:.0f} s; the same in Dagster: make dev")


def _report(settings: Settings, day: date) -> str | None:
    """Where the day's report is; None if there is none."""
    file = Path(settings.report.folder).absolute() / TARGET / f"{day}.html"
    return str(file) if file.is_file() else None


def _why(outcome: dg.ExecuteInProcessResult) -> str:
    """What the failed step said, in one line."""
    failures = [event.step_failure_data for event in outcome.all_events if event.is_step_failure]
    said = [f.user_failure_data.description if f.user_failure_data else f.error and f.error.message for f in failures]
    return "; ".join(" ".join(text.split()) for text in said if text)


def _end_killed_runs(instance: dg.DagsterInstance, pool: str) -> None:
    """Give back what a demo that was killed still holds: its place in the pool, for which the next run would wait."""
    filters = dg.RunsFilter(tags={_DEMO_TAG: "1"}, statuses=[dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED])
    for left in instance.get_runs(filters):
        instance.report_run_failed(left, "the demo was killed during this run")
    storage = instance.event_log_storage
    info = storage.get_concurrency_info(pool)
    # Those that wait count too: the place would be given to one of them next.
    for run_id in {slot.run_id for slot in info.claimed_slots} | {step.run_id for step in info.pending_steps}:
        holder = instance.get_run_by_id(run_id)
        if holder is None or holder.is_finished:
            storage.free_concurrency_slots_for_run(run_id)


@contextmanager
def _alone(database: Path) -> Iterator[None]:
    """Keeps a second demo out. DemoError when one is at work."""
    if os.name != "posix":
        yield
        return
    import fcntl

    database.parent.mkdir(parents=True, exist_ok=True)
    with database.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise DemoError(f"{database}: another demo is at work; wait for it, or stop it") from None
        yield


@contextmanager
def _instance() -> Iterator[dg.DagsterInstance]:
    """The instance of DAGSTER_HOME, else of `.dagster_home` here, set up like the project's own."""
    home = Path(os.environ.setdefault("DAGSTER_HOME", str(Path.cwd() / ".dagster_home")))
    home.mkdir(parents=True, exist_ok=True)
    own = _PACKAGE.parent / "dagster.yaml"
    if own.is_file() and not (home / "dagster.yaml").exists():
        shutil.copy(own, home / "dagster.yaml")
    with dg.DagsterInstance.get() as instance:
        yield instance


def day_line(day: date, result: AuditResult, series: int | None) -> str:
    """One line about one audited day."""
    worst = next((f"{r.code} {f.message}" for r, f in _bad(result)), "nothing found")
    count = "series not measured" if series is None else f"{number(series)} series in all"
    return f"{day}  {result.verdict:<8}  {count:>14}  {printable(worst, 110)}"


def ending(result: AuditResult, report: str | None) -> Iterator[str]:
    """The lines that summarize the last day."""
    yield from (f"{label:13}  {text}" for label, text in _summary(result, report))


def _summary(result: AuditResult, report: str | None) -> Iterator[tuple[str, str]]:
    yield "Verdict", result.verdict
    found = _dated(result)
    if found is not None:
        share = f" ({percent(found.share)})" if found.share is not None else ""
        yield "Contributor", f"{found.main_contributor} of {found.subject.measurement or found.subject}{share}"
        if found.since:
            yield "Growing since" if is_growing(found) else "Began", formatted_day(found.since)
    forecast = _soonest(result)
    if forecast is not None:
        yield "Forecast", limit_reached(forecast)
    yield "Report", report or "could not be written"


def worst_message(store: "Store", target: str) -> Iterator[str]:
    """The owner's message about the worst open incident, in its current version, and its history.

    Nothing if nobody was notified.
    """
    from tsaudit.alerts.blocks import Message
    from tsaudit.history import deliveries

    with store.reading() as connection:
        threads = deliveries.threads_about(connection, target)
        alerts = [a for t in threads if (a := deliveries.newest(connection, t, deliveries.DeliveryKind.ALERT))]
        families = [deliveries.family(connection, alert.id) for alert in alerts]
    worst = max(families, key=_badness, default=None)
    if worst is None:
        return
    alert, news = worst[0], [row for row in worst if row.kind is deliveries.DeliveryKind.REPLY]
    edits = [
        row
        for row in worst
        if row.kind is deliveries.DeliveryKind.EDIT and row.state is not deliveries.DeliveryState.SUPERSEDED
    ]
    owner, _ = deliveries.split_thread(alert.thread)
    life = [f"opened {alert.day}", *(f"notified again {row.day}" for row in news)]
    if edits:
        often = "once," if len(edits) == 1 else f"{len(edits)} times, last"
        life.append(f"edited {often} {edits[-1].day}")
    yield f"Message to {owner}: {', '.join(life)}"
    message = Message.from_payload((edits[-1] if edits else alert).payload)
    yield from (f"  {line}" for line in message.readable().splitlines())


def _badness(family: Sequence["Delivery"]) -> int:
    """The severity of the worst incident in the newest text of a message."""
    newest = [row for row in family if row.kind in ("alert", "edit")][-1]
    return max((Severity(s).rank for s in newest.payload["about"].values()), default=-1)


def _dated(result: AuditResult) -> Finding | None:
    """The worst finding that names a tag as main contributor; if several are equal, one with a start date, then the one
    with the largest share.
    """
    blaming = [f for _, f in _bad(result) if f.main_contributor]
    return max(blaming, key=lambda f: (f.severity.rank, f.since is not None, f.share or 0.0), default=None)


def _bad(result: AuditResult) -> Iterator[tuple[RuleResult, Finding]]:
    return ((r, f) for r, f in result.findings() if f.severity is not Severity.NOTE)


def _soonest(result: AuditResult) -> Forecast | None:
    dated = [f.forecast for _, f in result.findings() if f.forecast and f.forecast.days is not None]
    return min(dated, key=lambda forecast: forecast.days or 0.0, default=None)


if __name__ == "__main__":
    main()
