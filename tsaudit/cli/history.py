"""`tsaudit history`, `report`, and `metrics`: what the history has of audited days, its reports, and its metrics."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tsaudit.cli import options, screen
from tsaudit.cli.errors import CommandGroup
from tsaudit.text import many, number, short_fingerprint

if TYPE_CHECKING:
    from tsaudit.config.settings import Settings
    from tsaudit.history.removal import Removed
    from tsaudit.model.finding import AuditResult, Finding, RuleResult

_NEAREST: Final = 3


@click.group(cls=CommandGroup)
def history() -> None:
    """List, prune, or remove audited days; list decisions."""


@history.command("list")
@options.targets_argument
@options.config_option
@options.format_option("text", "json")
@click.option("--days", type=click.IntRange(1), default=14, show_default=True, help="Number of days per target.")
def list_(targets: tuple[str, ...], config: str | None, form: str, days: int) -> None:
    """List audited days with their verdicts and series, newest first.

    Verdicts and findings are without what is muted. The series are counted for the whole target; - means that not all
    of them could be counted, or that there are none to count.
    """
    from tsaudit.history import clock, incidents

    with options.open_store(options.load_settings(config, "history")) as store:
        rows = [
            {"target": target, "day": day.isoformat()}
            | _outcome(result, incidents.muted(incidents.of_day(store, target, day)))
            | {"series": profile.series if profile else None}
            | ({"clock": "in the future"} if clock.days_ahead([day]) else {})
            for target in options.audited(store, targets)
            for day in sorted(store.days(target), reverse=True)[:days]
            for result in [store.result(target, day)]
            for profile in [store.profile_of(result) if result else store.profile(target, day)]
        ]
    if form == "json":
        screen.as_json(rows)
    elif rows:
        heads = list(dict.fromkeys(head for row in rows for head in row))
        screen.table([[str(_cell(row, head)) for head in heads] for row in rows], heads)
    else:
        screen.line("there are no audits yet; run `tsaudit audit`")


@history.command()
@options.targets_argument
@options.config_option
@options.format_option("text", "json")
def decisions(targets: tuple[str, ...], config: str | None, form: str) -> None:
    """List who decided what about which incident, and when, oldest first.

    Decisions are never overwritten: a later decision ends an earlier one, and both are listed. They are removed
    together with their incident, a year after it was resolved.
    """
    from tsaudit.history import incidents

    with options.open_store(options.load_settings(config, "history")) as store:
        chosen = set(options.audited(store, targets))
        known = {i.fingerprint: i for i in incidents.current(store) if i.target in chosen}
        made = incidents.decisions_made(store, known)
    rows = [
        {
            "made_at": one.made_at.isoformat(timespec="seconds"),
            "kind": one.kind,
            "owner": one.owner,
            "until": one.until and one.until.isoformat(),
            "fingerprint": one.fingerprint,
            "target": known[one.fingerprint].target,
            "code": known[one.fingerprint].code,
            "subject": str(known[one.fingerprint].subject),
            "reason": one.reason,
        }
        for one in made
    ]
    if form == "json":
        screen.as_json(rows)
    elif rows:
        shown = [row | {"fingerprint": short_fingerprint(str(row["fingerprint"]))} for row in rows]
        screen.table([[cell or "-" for cell in row.values()] for row in shown], list(rows[0]))
    else:
        screen.line("nobody has decided anything yet")


@history.command()
@options.targets_argument
@options.config_option
def compact(targets: tuple[str, ...], config: str | None) -> None:
    """Prune old days: every day is kept for 90 days, one a week up to a year, then one a month."""
    with options.open_store(options.load_settings(config, "history")) as store:
        from tsaudit.history.removal import compact as prune

        for target in options.audited(store, targets):
            screen.line(f"{target}: {many(prune(store, target, options.today()), 'day')} dropped")


@history.command()
@click.argument("target")
@click.argument("day", type=options.Day(may_be_ahead=True))
@options.config_option
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def drop(target: str, day: date, config: str | None, yes: bool) -> None:
    """Remove an audited day, as if it had never been audited.

    Use it for a day that a wrong clock created, or for an audit that went wrong. It removes the day's figures,
    findings, stored values, and unsent messages. Incidents continue from the day before, with the findings of the days
    after it.

    It deletes the day's report; `latest.html` and the index show the newest day that is left.

    It keeps messages that were sent, and people's decisions. It does not restore days that were
    pruned while the clock was wrong. Exits with 2 if the day was not audited, or if you do not confirm.
    """
    settings = options.load_settings(config, "history")
    with options.open_store(settings) as store:
        from tsaudit import report
        from tsaudit.history import incidents
        from tsaudit.history.removal import remove_day

        days = store.days(*options.audited(store, [target]))
        if day not in days:
            near = ", ".join(map(str, sorted(sorted(days, key=lambda d: abs(d - day))[:_NEAREST])))
            raise click.BadParameter(
                f"{target} was not audited on {day}; the nearest days are {near}", param_hint="DAY"
            )
        what = _outcome(store.result(target, day), incidents.muted(incidents.of_day(store, target, day)))
        if not yes and not _agreed(f"Drop {day} of {target} (verdict {what['verdict'] or 'unreadable'})?"):
            raise click.UsageError(f"nothing was dropped; pass `--yes` to drop {day} of {target} without asking")
        screen.line(
            _removal_line(target, day, remove_day(store, target, day, settings.incidents, _owners(settings, target)))
        )
        report.remove_day(store, settings, target, day)


def _agreed(question: str) -> bool:
    """Whether the user agreed; False if nobody can answer."""
    try:
        return click.confirm(question, err=True)
    except click.Abort:
        return False


def _owners(settings: Settings, target: str) -> Callable[[Finding, RuleResult], str]:
    """The function for the owners of findings on later days; for a target that is no longer configured, only the routes
    count.
    """
    from tsaudit.alerts import owner_of
    from tsaudit.config.settings import Target

    configured = next((t for t in settings.targets if t.name == target), None)
    gone = {"name": target, "engine": "sqlite", "url": "sqlite:///gone.db"}
    return owner_of(settings, configured or Target.model_validate(gone))


def _removal_line(target: str, day: date, removed: Removed) -> str:
    parts = [
        f"{many(removed.states, 'incident state')}",
        f"{many(removed.values, 'set')} of stored values",
        f"{many(removed.unsent, 'unsent message')}",
    ]
    goes_on = f"incidents continue from {removed.before}" if removed.before else "there are no earlier days"
    left = [f"{many(removed.sent, 'message')} already sent" if removed.sent else ""]
    left += [f"the day in {many(removed.values_left, 'set')} of values" if removed.values_left else ""]
    left += [f"the incidents of {many(removed.unreadable, 'later day')}" if removed.unreadable else ""]
    stays = ", ".join(part for part in left if part)
    return f"{target}: {day} dropped, with {', '.join(parts)}; {goes_on}" + (f"; not removed: {stays}" if stays else "")


def _outcome(result: AuditResult | None, muted: Collection[str]) -> dict[str, Any]:
    """The verdict and number of findings without muted ones, and the number of those; all None if this version cannot
    read the stored data.
    """
    if result is None:
        return {"verdict": None, "findings": None, "muted": None}
    unmuted = result.without(muted)
    everything, findings = (sum(1 for _ in one.findings()) for one in (result, unmuted))
    return {"verdict": str(unmuted.verdict), "findings": findings, "muted": everything - findings}


def _cell(row: dict[str, Any], head: str) -> object:
    found = row.get(head)
    return "-" if found is None else number(found) if isinstance(found, int) else found


@click.command()
@click.argument("target", required=False)
@options.config_option
@options.day_option("The audited day; default: the newest in the history.")
def report(target: str | None, config: str | None, day: date | None) -> None:
    """Rewrite a report from the history.

    Use it, for example, after you moved the report folder. Incidents are shown as they were on that day.
    """
    settings = options.load_settings(config, "history", "report")

    from tsaudit import report as reports

    with options.open_store(settings) as store:
        written = reports.rewrite(store, settings, options.result_of(store, options.one_target(settings, target), day))
        reports.write_index(settings.report, store)
    screen.line(written.url)


@click.command()
@options.targets_argument
@options.config_option
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to replace, *.prom in the folder of node_exporter's textfile collector; default: stdout.",
)
def metrics(targets: tuple[str, ...], config: str | None, output: Path | None) -> None:
    """Write the last audits as metrics for Prometheus.

    The metrics are read from the history; no database is queried. The format is valid for Prometheus and OpenMetrics.
    The file is replaced atomically, and everybody may read it, because node_exporter runs as a user of its own.
    """
    settings = options.load_settings(config, "history")
    chosen = options.chosen(settings, targets)
    file = output and output.resolve()
    if file and file.exists() and not file.is_file():
        raise click.BadParameter(f"{output} is not a file; leave it out for stdout", param_hint="--output")
    if file and not file.parent.exists():
        # A new folder would be one that nobody collects from.
        raise click.BadParameter(f"there is no folder {file.parent}", param_hint="--output")

    from tsaudit.report import metrics as metrics_of
    from tsaudit.report.storage import LocalStorage

    with options.open_store(settings) as store:
        seconds = store.seconds()
        found = [
            sample
            for one in chosen
            for sample in metrics_of.samples(
                one.name, one.engine, metrics_of.last_audit(store, one.name, seconds.get(one.name))
            )
        ]
    text = metrics_of.text(found)
    if file is None:
        click.echo(text, nl=False)
        return
    try:
        LocalStorage(str(file.parent), 0o644).write(file.name, text.encode())
    except OSError as error:
        raise click.FileError(str(output), error.strerror) from error
