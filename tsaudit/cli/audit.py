"""`tsaudit audit`, the daily audit, and `collect`, its first part."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tsaudit.cli import block, options, results, screen
from tsaudit.cli.errors import Exit, at_once_on_interrupt, same_stream, say
from tsaudit.text import many
from tsaudit.text.findings import of_severity

if TYPE_CHECKING:
    from tsaudit.config.settings import Settings, Target
    from tsaudit.model.finding import AuditResult, Verdict
    from tsaudit.model.profile import Profile

FAIL_ON = ("new", "warning", "critical", "unknown", "never")


@click.command()
@options.targets_argument
@options.config_option
@options.day_option(
    "The day to audit, as of its end; default: today, in UTC. InfluxDB 1 and 2 know series of today only."
)
@options.format_option("text", "json", "markdown", "junit", "sarif")
@click.option(
    "--fail-on",
    type=click.Choice(FAIL_ON),
    default="warning",
    show_default=True,
    help="The lowest verdict that causes exit code 1 (3 for unknown); new: only incidents that are new or worse.",
)
@click.option("--no-notify", is_flag=True, help="Queue the messages without sending them; the next audit sends them.")
@click.option(
    "--will-retry", is_flag=True, help="The caller repeats an audit that fails; until then, no messages are sent."
)
@click.option("--all", "everything", is_flag=True, help="List every finding, not only as many as fit on a screen.")
@click.option(
    "-q", "--quiet", is_flag=True, help="Print only targets that cause an exit code other than 0, and no progress."
)
@click.option(
    "--workers", type=click.IntRange(1, 64), default=4, show_default=True, help="Targets to audit in parallel."
)
@click.option(
    "--run-url",
    metavar="URL",
    callback=options.page,
    help="A page about this run, such as a CI job, to link in reports.",
)
@click.option(
    "--profile",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Audit a collected profile, without connecting, saving, or sending anything. It has no history: nothing is "
    "muted, and nothing compared with earlier days.",
)
def audit(
    targets: tuple[str, ...],
    config: str | None,
    day: date | None,
    form: str,
    fail_on: str,
    no_notify: bool,
    will_retry: bool,
    everything: bool,
    quiet: bool,
    workers: int,
    run_url: str | None,
    profile: Path | None,
) -> int:
    """Measure, run the rules, save the result, report, and notify the owners.

    Without arguments, all targets in the configuration are audited.
    """
    if profile is not None:
        if targets or day:
            raise click.UsageError("a profile file already says which target and day it is for; leave out both")
        if fail_on == "new":
            raise click.UsageError("a profile file has no history, which says what is new; pass another `--fail-on`")
        replayed, result = _replayed(profile, config)
        printer = _Printer(form, config, screen.Progress(), everything=everything, stored=False)
        code = Exit.NOT_AUDITED if result.not_audited else _exit_code(result.verdict, fail_on, has_new=False)
        if code or not quiet:
            printer.add(results.of_result(result, replayed))
        printer.end([result.target], summary=False)
        if result.not_audited:
            say(f"{result.target}: {result.not_audited.reason}")
        return code

    settings = options.load_settings(config)
    chosen = options.chosen(settings, targets)

    from tsaudit import alerts
    from tsaudit.library import AuditSession

    with at_once_on_interrupt(), AuditSession.open(settings) as session:
        with screen.progress(total=len(chosen), quiet=quiet) as watched:
            printer, code = _Printer(form, config, watched, everything=everything), int(Exit.OK)
            for one in session.run(
                chosen, day=day or options.today(), workers=workers, run_url=run_url, progress=watched.say
            ):
                watched.end(one.target)
                own = _exit_code(one.verdict, fail_on, has_new=bool(one.new))
                code = max(code, own)
                # What the first audit of a target could not evaluate is news, too.
                is_unknown = fail_on == "new" and one.is_first and one.verdict == "unknown"
                if own or one.error or is_unknown or not quiet:
                    printer.add(results.of_run(one, news_first=fail_on == "new"))
            session.write_index()
        printer.end([t.name for t in chosen], summary=len(chosen) > 1 and not quiet)
        blocks = [one for one in session.runs if one.result] if quiet and form == "text" and same_stream() else []
        shown = {f"{one.target}: {one.error}" for one in blocks if one.error and one.error in one.summary.headline}
        code = max(code, _said([*session.not_audited, *session.not_written], Exit.NOT_AUDITED, shown))
        if no_notify or (will_retry and session.may_succeed_later):
            return code
        with session.patience():
            alerts.record_printed(session.store, settings, {one.target: one.day for one in session.runs if one.result})
        with screen.progress(quiet=quiet) as watched:
            watched.say("messages", "sending")
            session.notify(_terminal(form, watched))
        return max(code, _said(session.not_delivered, Exit.NOT_DELIVERED))


class _Printer:
    """Prints targets: in text format as soon as each is audited, in other formats when all are."""

    def __init__(
        self,
        form: str,
        config: str | None,
        watched: screen.Progress,
        *,
        everything: bool,
        stored: bool = True,
    ) -> None:
        self._form, self._config, self._watched = form, config, watched
        self._everything, self._stored = everything, stored
        self._found: list[dict[str, Any]] = []

    def add(self, found: dict[str, Any]) -> None:
        self._found.append(found)
        if self._form == "text":
            with self._watched.aside():
                if len(self._found) > 1:
                    screen.line()
                block.print_block(found, everything=self._everything, stored=self._stored)

    def end(self, names: Sequence[str], *, summary: bool) -> None:
        """`names`: the names of all targets, in the order in which they are printed in formats other than text.

        `summary`: whether text ends with the number of targets by verdict.
        """
        self._found.sort(key=lambda one: names.index(one["target"]))
        if self._form == "json":
            screen.as_json(self._found)
        elif self._form == "markdown":
            pages = [block.markdown(one, everything=self._everything, stored=self._stored) for one in self._found]
            click.echo("\n\n".join("\n".join(page) for page in pages), nl=bool(pages))
        elif self._form == "junit":
            from tsaudit.cli import ci_formats

            click.echo(ci_formats.junit(self._found), nl=False)
        elif self._form == "sarif":
            from tsaudit.cli import ci_formats

            screen.as_json(ci_formats.sarif(self._found, *_configured(self._config)))
        elif summary:
            screen.line()
            screen.line(_summary(one["verdict"] for one in self._found))


def _configured(config: str | None) -> tuple[Path | None, dict[str, int]]:
    """The configuration file, and the line of each target in it; None and empty if a profile is audited without one."""
    from tsaudit.config import file as config_file

    try:
        file = config_file.find(config)
        return file, config_file.target_lines(file)
    except config_file.ConfigError:
        return None, {}


def _replayed(file: Path, config: str | None) -> tuple[Profile, AuditResult]:
    """The verdicts on a stored profile, with the limits of its target if it is in the configuration."""
    from tsaudit.config import file as config_file
    from tsaudit.library import evaluate
    from tsaudit.model.jsonfile import from_json
    from tsaudit.model.profile import Profile

    try:
        profile = from_json(Profile, file.read_bytes())
    except ValueError as error:
        raise click.BadParameter(f"{file} is not a profile: {_first_problem(error)}", param_hint="--profile") from error
    try:
        settings: Settings | None = config_file.load(config_file.find(config), resolve_env=False)
    except config_file.ConfigError:
        if config is not None:
            raise
        settings = None
    return profile, evaluate(profile, settings=settings)


def _first_problem(error: ValueError) -> str:
    """The first problem: its place in the document, and what is wrong; without the document itself, which may be large
    and untrusted.
    """
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else first["msg"]


def _terminal(form: str, watched: screen.Progress) -> Callable[[str], None]:
    """Prints messages about earlier audits if there is no Slack: to stderr for formats other than text, because stdout
    then contains only the output.
    """

    def out(text: str) -> None:
        with watched.aside():
            click.echo(text, err=form != "text")

    return out


def _summary(verdicts: Iterable[str]) -> str:
    from tsaudit.model.finding import Verdict

    counts = Counter(map(Verdict, verdicts))
    worst_first = sorted(counts, key=lambda v: -v.rank)
    return f"{many(counts.total(), 'target')}: {', '.join(of_severity(counts[v], v) for v in worst_first)}"


def _exit_code(verdict: Verdict, fail_on: str, *, has_new: bool) -> int:
    """The exit code: FINDINGS for warning and critical, or for what is new, NOT_AUDITED for unknown, depending on
    `fail_on`.
    """
    if fail_on == "new":
        return Exit.FINDINGS if has_new else Exit.OK
    if fail_on == "unknown" and verdict == "unknown":
        return Exit.NOT_AUDITED
    bad = {
        "warning": ("warning", "critical"),
        "critical": ("critical",),
        "unknown": ("warning", "critical"),
        "never": (),
    }
    return Exit.FINDINGS if verdict in bad[fail_on] else Exit.OK


def _said(problems: Sequence[str], code: int, shown: Collection[str] = ()) -> int:
    """Print the problems except for those `shown` already. Returns `code` if there are any, whatever `--fail-on` says,
    otherwise OK.
    """
    for problem in problems:
        if problem not in shown:
            say(problem)
    return code if problems else Exit.OK


@click.command()
@options.targets_argument
@options.config_option
@options.day_option("The day of the profile; default: today, in UTC.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="A file, or an existing folder for <target>.json; default: stdout.",
)
def collect(targets: tuple[str, ...], config: str | None, day: date | None, output: Path | None) -> int:
    """Measure targets and write their profiles as JSON.

    A target that could only be measured in part also gets a profile, and the exit code is 3. No rules are run, and
    nothing is saved or sent. Run `tsaudit audit --profile FILE` to audit a profile, as often as you like.
    """
    settings = options.load_settings(config, "targets")
    chosen = options.chosen(settings, targets)
    if len(chosen) > 1 and not (output and output.is_dir()):
        raise click.UsageError("several targets need an existing folder as `--output`; or name one target")

    from tsaudit import not_audited
    from tsaudit.engines.connection import ConnectorError
    from tsaudit.model.jsonfile import to_json

    logical, code = day or options.today(), Exit.OK
    for target in chosen:
        try:
            profile = _measured(target, logical)
        except ConnectorError as error:
            # Go on with the other targets.
            say(f"{target.name}: {error}")
            code = Exit.NOT_AUDITED
            continue
        for missed in not_audited.missed(profile):
            say(f"{target.name}: {missed.message}")
            code = Exit.NOT_AUDITED
        document = to_json(profile, indent=2) + b"\n"
        if output is None:
            click.echo(document, nl=False)
            continue
        file = output / f"{target.name}.json" if output.is_dir() else output
        try:
            _save(file, document, settings.report.permissions)
        except OSError as error:
            raise click.FileError(str(file), error.strerror) from error
        click.echo(f"{target.name}: {file}", err=True)
    return code


def _measured(target: Target, day: date) -> Profile:
    from tsaudit.library import measure

    with screen.progress() as watched:
        watched.say(target.name, f"measuring {target.engine}")
        return measure(target, day=day)


def _save(file: Path, document: bytes, permissions: int) -> None:
    """Write the file with these permissions; special files such as /dev/stdout keep theirs."""
    with open(file, "wb", opener=lambda name, flags: os.open(name, flags, permissions)) as opened:
        if stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            os.fchmod(opened.fileno(), permissions)
        opened.write(document)
