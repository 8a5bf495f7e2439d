"""`tsaudit schema`: declare a schema in files, and compare the live one with them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tsaudit.cli import block, options, results, screen
from tsaudit.cli.errors import CommandGroup, Exit, say
from tsaudit.text import many

if TYPE_CHECKING:
    from tsaudit.model.profile import Profile

_folder_option = click.option(
    "-d",
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder of the columns files; default: schema/<target>.",
)


@click.group(cls=CommandGroup)
def schema() -> None:
    """Declare the schema in files, and compare the live one with them."""


@schema.command()
@click.argument("target")
@options.config_option
@_folder_option
@click.option("--replace", is_flag=True, help="Remove existing columns files first.")
@click.pass_context
def export(ctx: click.Context, target: str, config: str | None, folder: Path | None, replace: bool) -> None:
    """Write the live schema, one columns file per measurement.

    The files are in the format that `influx bucket-schema create --columns-file` takes for an explicit bucket. If a
    measurement cannot be declared in such a file, the command skips and names it, and the exit code is 1. If the schema
    cannot be read completely, nothing is written.
    """
    from tsaudit.config import columns_file
    from tsaudit.declared_schema import exportable
    from tsaudit.model.facts import STRUCTURE

    profile = _live(target, config)
    gaps = [gap for gap in profile.gaps if gap.fact in STRUCTURE]
    for line in dict.fromkeys(f"{gap.fact}: {gap.detail}; nothing was written" for gap in gaps):
        say(line)
    if gaps:
        ctx.exit(Exit.NOT_AUDITED)
    declared, refused = exportable(profile)
    where = folder or Path("schema", target)
    written = columns_file.write(where, declared, replace=replace)
    screen.line(f"{many(len(written), 'columns file')} in {where}")
    for line in refused:
        say(f"skipped {line}")
    if refused:
        ctx.exit(Exit.FINDINGS)


@schema.command()
@click.argument("target")
@options.config_option
@_folder_option
@options.format_option("text", "json")
@click.pass_context
def check(ctx: click.Context, target: str, config: str | None, folder: Path | None, form: str) -> None:
    """Compare the live schema with columns files.

    A column or measurement that exists but is not declared is a warning, and the exit code is 1. One that is declared
    but does not exist is a note: nobody has written it yet.
    """
    from tsaudit.config import columns_file
    from tsaudit.declared_schema import compare

    declared, profile = columns_file.read(folder or Path("schema", target)), _live(target, config)
    result = compare(declared, profile)
    found: dict[str, Any] = results.of_result(result, profile)
    if form == "json":
        screen.as_json(found)
    else:
        block.print_block(found, everything=True, stored=False)
    ctx.exit({"ok": Exit.OK, "unknown": Exit.NOT_AUDITED}.get(result.verdict, Exit.FINDINGS))


def _live(name: str, config: str | None) -> Profile:
    """The target's current schema: the catalog, and a sample of rows if roles are inferred."""
    chosen = options.chosen(options.load_settings(config, "targets"), [name])[0]

    from tsaudit.collect import collect
    from tsaudit.engines.opening import with_connection
    from tsaudit.engines.registry import ENGINES
    from tsaudit.model.facts import STRUCTURE

    inferred = {"row_sample"} if ENGINES[chosen.engine].infers_roles else set()
    wanted = STRUCTURE | inferred
    day = options.today()
    with screen.progress() as watched:
        watched.say(chosen.name, "reading the schema")
        return with_connection(
            chosen, lambda connection, end: collect(chosen, connection, day=day, wanted=wanted, deadline=end)
        )
