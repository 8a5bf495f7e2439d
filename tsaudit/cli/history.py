"""`tsaudit history`: what was audited when, and how much of it is kept."""

from __future__ import annotations

import click

from tsaudit.cli import options, show


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
    store = options.open_store(options.load_settings(config))
    known = store.targets()
    if unknown := sorted(set(targets) - set(known)):
        raise click.BadParameter(f"`{unknown[0]}` was never audited", param_hint="TARGET")
    rows = []
    for target in targets or known:
        for day in sorted(store.days(target), reverse=True)[:days]:
            result = store.result(target, day)
            if result is not None:
                rows.append((target, day.isoformat(), str(result.verdict), str(sum(1 for _ in result.findings()))))
    if form == "json":
        show.as_json([dict(zip(("target", "day", "verdict", "findings"), row, strict=True)) for row in rows])
    elif rows:
        show.table(rows, ("target", "day", "verdict", "findings"))
    else:
        show.line("nothing was audited yet; `tsaudit audit` does it")
