"""`tsaudit history`: what was audited when, and how much of it is kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from tsaudit.cli import options, show

if TYPE_CHECKING:
    from tsaudit.finding import AuditResult
    from tsaudit.history.store import Store


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
    with options.open_store(options.load_settings(config)) as store:
        rows = [
            {"target": target, "day": day.isoformat()} | _outcome(store.result(target, day))
            for target in _known(store, targets)
            for day in sorted(store.days(target), reverse=True)[:days]
        ]
    if form == "json":
        show.as_json(rows)
    elif rows:
        show.table([["-" if cell is None else str(cell) for cell in row.values()] for row in rows], list(rows[0]))
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
