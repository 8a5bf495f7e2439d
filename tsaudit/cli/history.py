"""`tsaudit history`: what was audited when, and how much of it is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, Final

import click

from tsaudit.cli import options, show

if TYPE_CHECKING:
    from tsaudit.config.settings import Settings
    from tsaudit.history.removal import Removed
    from tsaudit.history.store import Store
    from tsaudit.model.finding import AuditResult, Finding, RuleResult

_NEAREST: Final = 3


@click.group()
def history() -> None:
    """What was audited when."""


@history.command("list")
@options.targets_argument
@options.config_option
@options.format_option("text", "json")
@click.option("--days", type=click.IntRange(1), default=14, show_default=True, help="Newest days of each target.")
def list_(targets: tuple[str, ...], config: str | None, form: str, days: int) -> None:
    """List audited days with their verdicts, newest first."""
    from tsaudit.history import clock

    with options.open_store(options.load_settings(config)) as store:
        rows = [
            {"target": target, "day": day.isoformat()}
            | _outcome(store.result(target, day))
            | ({"clock": "later than now"} if clock.days_ahead([day]) else {})
            for target in _known(store, targets)
            for day in sorted(store.days(target), reverse=True)[:days]
        ]
    if form == "json":
        show.as_json(rows)
    elif rows:
        heads = list(dict.fromkeys(head for row in rows for head in row))
        show.table([["-" if row.get(head) is None else str(row[head]) for head in heads] for row in rows], heads)
    else:
        show.line("nothing was audited yet; `tsaudit audit` does it")


@history.command()
@options.targets_argument
@options.config_option
def compact(targets: tuple[str, ...], config: str | None) -> None:
    """Thin out old days: all are kept for 90 days, one a week up to a year, then one a month."""
    with options.open_store(options.load_settings(config)) as store:
        from tsaudit.history.compaction import compact as thin_out

        for target in _known(store, targets):
            show.line(f"{target}: {show.plural(thin_out(store, target, options.today()), 'day')} dropped")


@history.command()
@click.argument("target")
@click.argument("day", type=options.Day(may_be_ahead=True))
@options.config_option
@click.option("--yes", is_flag=True, help="Do not ask.")
def drop(target: str, day: date, config: str | None, yes: bool) -> None:
    """Remove an audited day, as if there had been no audit on it.

    For a day that a wrong clock left, or an audit that went wrong. Its figures, its findings and the values it listed
    go, and so do messages about it that wait to be sent; incidents continue from the day before, as the days after it
    found them.

    Messages already sent stay, and so do its report file and what people decided. What an audit with a wrong clock
    thinned out of the history does not come back. Exits with 2 when the day was not audited, or nobody said yes.
    """
    settings = options.load_settings(config)
    with options.open_store(settings) as store:
        from tsaudit.history.removal import remove_day

        days = store.days(*_known(store, [target]))
        if day not in days:
            near = ", ".join(map(str, sorted(sorted(days, key=lambda d: abs(d - day))[:_NEAREST])))
            raise click.BadParameter(f"{target} was not audited on {day}; near it are {near}", param_hint="DAY")
        what = _outcome(store.result(target, day))
        if not yes and not _agreed(f"Drop {day} of {target} (verdict {what['verdict'] or 'unreadable'})?"):
            raise click.UsageError(f"nothing was dropped; `--yes` drops {day} of {target} without asking")
        show.line(_told(target, day, remove_day(store, target, day, settings.incidents, _owners(settings, target))))


def _agreed(question: str) -> bool:
    """False also where nobody is there to answer."""
    try:
        return click.confirm(question, err=True)
    except click.Abort:
        return False


def _owners(settings: Settings, target: str) -> Callable[[Finding, RuleResult], str]:
    """Whose the findings of later days are; of a target that is no longer configured, by the routes alone."""
    from tsaudit.alerts import owner_of
    from tsaudit.config.settings import Target

    configured = next((t for t in settings.targets if t.name == target), None)
    gone = {"name": target, "engine": "sqlite", "url": "sqlite:///gone.db"}
    return owner_of(settings, configured or Target.model_validate(gone))


def _told(target: str, day: date, removed: Removed) -> str:
    parts = [
        f"{show.plural(removed.states, 'incident state')}",
        f"{show.plural(removed.values, 'set')} of remembered values",
        f"{show.plural(removed.unsent, 'waiting message')}",
    ]
    goes_on = f"incidents continue from {removed.before}" if removed.before else "nothing is known of the days before"
    left = [f"{show.plural(removed.sent, 'message')} already sent" if removed.sent else ""]
    left += [f"the day in {show.plural(removed.values_left, 'set')} of values" if removed.values_left else ""]
    left += [f"the incidents of {show.plural(removed.unreadable, 'later day')}" if removed.unreadable else ""]
    stays = ", ".join(part for part in left if part)
    return f"{target}: {day} dropped, with {', '.join(parts)}; {goes_on}" + (f"; what stays: {stays}" if stays else "")


def _outcome(result: AuditResult | None) -> dict[str, Any]:
    """Verdict and number of findings; both None where this version cannot read what was kept."""
    if result is None:
        return {"verdict": None, "findings": None}
    return {"verdict": str(result.verdict), "findings": sum(1 for _ in result.findings())}


def _known(store: Store, targets: Sequence[str]) -> Sequence[str]:
    """The named targets; all in the history for no names. A usage error for one that was never audited."""
    known = store.targets()
    for name in targets:
        if name not in known:
            raise click.BadParameter(f"`{name}` was never audited", param_hint="TARGET")
    return targets or known
