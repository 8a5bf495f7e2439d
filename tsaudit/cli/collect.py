"""`tsaudit collect`: measure now, audit later."""

from __future__ import annotations

import os
import stat
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tsaudit.cli import options, progress
from tsaudit.cli.errors import Exit, say

if TYPE_CHECKING:
    from tsaudit.config.settings import Target
    from tsaudit.model.profile import Profile


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

    with progress.shown() as watched:
        watched.say(target.name, f"measuring {target.engine}")
        return measure(target, day=day)


def _save(file: Path, document: bytes, permissions: int) -> None:
    """Write the file with these permissions; special files such as /dev/stdout keep theirs."""
    with open(file, "wb", opener=lambda name, flags: os.open(name, flags, permissions)) as opened:
        if stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            os.fchmod(opened.fileno(), permissions)
        opened.write(document)
