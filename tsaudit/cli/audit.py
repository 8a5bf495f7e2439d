"""`tsaudit audit`: the daily audit."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tsaudit.cli import options, results, show
from tsaudit.cli.errors import Exit, at_once_on_interrupt, say
from tsaudit.text import many

if TYPE_CHECKING:
    from tsaudit.alerts import SendReport
    from tsaudit.model.finding import AuditResult, Verdict
    from tsaudit.model.profile import Profile
    from tsaudit.run import AuditRun

FAIL_ON = ("warn", "critical", "unknown", "never")


@click.command()
@options.targets_argument
@options.config_option
@options.day_option("The day to audit, as of its end; default: today, in UTC.")
@options.format_option("text", "json")
@click.option(
    "--fail-on",
    type=click.Choice(FAIL_ON),
    default="warn",
    show_default=True,
    help="The lowest verdict that causes exit code 1 (3 for unknown).",
)
@click.option("--no-tell", is_flag=True, help="Queue the messages without sending them; the next audit sends them.")
@click.option("--all", "everything", is_flag=True, help="Print every finding, not only the worst 20 of a target.")
@click.option(
    "--workers", type=click.IntRange(1, 64), default=4, show_default=True, help="Targets to audit in parallel."
)
@click.option(
    "--profile",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Audit a collected profile, without connecting, saving, or sending anything.",
)
def audit(
    targets: tuple[str, ...],
    config: str | None,
    day: date | None,
    form: str,
    fail_on: str,
    no_tell: bool,
    everything: bool,
    workers: int,
    profile: Path | None,
) -> int:
    """Measure, run the rules, save the result, report, and notify the owners.

    Without arguments, all targets in the configuration are audited.
    """
    if profile is not None:
        if targets or day:
            raise click.UsageError("a profile file already says which target and day it is for; leave out both")
        replayed, result = _replayed(profile, config)
        _print([results.of_result(result, replayed)], form, everything)
        code = _exit_code([result.verdict], fail_on)
        if result.not_audited:
            say(f"{result.target}: {result.not_audited.reason}")
            return Exit.NOT_AUDITED
        return code

    settings = options.load_settings(config)
    chosen = options.chosen(settings, targets)

    from tsaudit import run

    with at_once_on_interrupt(), options.open_store(settings) as store:
        audited = run.audit_targets(
            chosen,
            settings,
            store,
            day=day or options.today(),
            workers=workers,
            progress=_progress if sys.stderr.isatty() else None,
        )
        runs = _shown(audited, [t.name for t in chosen], form, everything)
        code = max(_exit_code([one.verdict for one in runs], fail_on), _broken(runs))
        return code if no_tell else max(code, _told(run.tell(settings, store, _terminal(form))))


def _shown(audited: Iterable[AuditRun], names: Sequence[str], form: str, everything: bool) -> list[AuditRun]:
    """The runs in the order of the configuration, printed: text as each one ends, JSON after all of them."""
    runs = []
    for one in audited:
        runs.append(one)
        if form == "text":
            results.print_text(results.of_run(one), everything)
    runs.sort(key=lambda one: names.index(one.target))
    if form == "json":
        show.as_json([results.of_run(one) for one in runs])
    elif len(runs) > 1:
        show.line(_summary(one.verdict for one in runs))
    return runs


def _print(found: list[dict[str, Any]], form: str, everything: bool) -> None:
    if form == "json":
        show.as_json(found)
        return
    for one in found:
        results.print_text(one, everything)


def _replayed(file: Path, config: str | None) -> tuple[Profile, AuditResult]:
    """The verdicts on a stored profile, with the limits of its target if it is in the configuration."""
    from tsaudit.audit import audit as judge
    from tsaudit.config import file as config_file
    from tsaudit.config.plans import limit_policy, rule_policy
    from tsaudit.model.jsonfile import from_json
    from tsaudit.model.profile import Profile

    try:
        profile = from_json(Profile, file.read_bytes())
    except ValueError as error:
        raise click.BadParameter(f"{file} is not a profile: {_first_problem(error)}", param_hint="--profile") from error
    try:
        settings = config_file.load(config_file.find(config), resolve_env=False)
    except config_file.ConfigError:
        if config is not None:
            raise
        return profile, judge(profile)
    target = next((t for t in settings.targets if t.name == profile.target), None)
    if target is None:
        return profile, judge(profile)
    return profile, judge(profile, policy=limit_policy(settings, target), switches=rule_policy(settings, target))


def _first_problem(error: ValueError) -> str:
    """Where in the document, and what; without the document itself, which may be large and untrusted."""
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else first["msg"]


def _progress(target: str, text: str) -> None:
    click.echo(click.style(f"{target}: {text}", dim=True), err=True)


def _terminal(form: str) -> Callable[[str], None]:
    """Where messages go if there is no Slack; stdout stays JSON if JSON is requested."""
    return lambda text: click.echo(text, err=form == "json")


def _summary(verdicts: Iterable[Verdict]) -> str:
    counts = Counter(verdicts)
    worst_first = sorted(counts, key=lambda v: -v.rank)
    return f"{many(counts.total(), 'target')}: {', '.join(f'{counts[v]} {v}' for v in worst_first)}"


def _exit_code(verdicts: Iterable[Verdict], fail_on: str) -> int:
    """FINDINGS for warn and critical, NOT_AUDITED for unknown, depending on `fail_on`."""
    found = set(verdicts)
    bad = {"warn": {"warn", "critical"}, "critical": {"critical"}, "unknown": {"warn", "critical"}, "never": set()}
    code = Exit.FINDINGS if found & bad[fail_on] else Exit.OK
    return max(code, Exit.NOT_AUDITED) if fail_on == "unknown" and "unknown" in found else code


def _broken(runs: Iterable[AuditRun]) -> int:
    """NOT_AUDITED if any run reports a problem, each with its line, whatever `--fail-on` says."""
    broken = [one for one in runs if one.error]
    for one in broken:
        say(f"{one.target}: {one.error}")
    return Exit.NOT_AUDITED if broken else Exit.OK


def _told(report: SendReport) -> int:
    for error in report.errors:
        say(f"delivery: {error}")
    return Exit.NOT_DELIVERED if report.errors else Exit.OK
