"""`tsaudit accept`: live with one incident, or with everything that is open, for a while."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from typing import TYPE_CHECKING

import click

from tsaudit.cli import many_incidents, options, show
from tsaudit.cli.decide import UNTIL_HELP, decide, owner_option, replace_option, somebody
from tsaudit.text import many

if TYPE_CHECKING:
    from tsaudit.history.decisions import Acceptance, Baseline

_REASON = "baseline"


@click.command()
@click.argument("fingerprint", required=False)
@options.config_option
@click.option("--all", "everything", is_flag=True, help="Accept everything that is open or watched: a baseline.")
@many_incidents.selection_options
@click.option(
    "--up-to",
    type=click.Choice(("warning", "critical")),
    default=None,
    help="With --all: the highest severity to accept.  [default: warning]",
)
@click.option("--dry-run", is_flag=True, help="With --all: show what would be accepted, and save nothing.")
@owner_option
@click.option(
    "--reason",
    default=None,
    help="The reason, shown wherever the incident is shown; required without --all.  [default: baseline]",
)
@click.option("--until", type=options.Until(), default=None, metavar="DAY", help=f"{UNTIL_HELP}.  [default: 90d]")
@replace_option
def accept(
    fingerprint: str | None,
    config: str | None,
    everything: bool,
    targets: tuple[str, ...],
    rules: tuple[str, ...],
    up_to: str | None,
    dry_run: bool,
    owner: str | None,
    reason: str | None,
    until: date | None,
    replace: bool,
) -> None:
    """Record that you will live with an incident until a given day.

    Until then it is shown as accepted, and nobody is notified. After that, somebody has to decide again. If it gets
    worse before, it comes back: if it becomes more severe, or if its figure becomes more than 1.5 times what it was.

    With --all, accepts all findings that are open or watched, except critical ones, in one transaction. What somebody
    has decided about stays as it is, and so do findings about the audit itself (TGT001 to TGT003). The same command
    again accepts only what is new.
    """
    from tsaudit.history.decisions import BASELINE_DAYS

    last = until or options.today() + timedelta(days=BASELINE_DAYS)
    if not everything:
        if fingerprint is None:
            raise click.UsageError("name an incident by its fingerprint, or pass `--all`; see `tsaudit incidents`")
        if targets or rules or up_to or dry_run:
            raise click.UsageError("`--target`, `--rule`, `--up-to`, and `--dry-run` need `--all`")
        if reason is None:
            raise click.UsageError("Missing option '--reason'.")
        decide("accept", fingerprint, config, owner, reason, last, replace=replace)
        return
    if fingerprint is not None:
        raise click.UsageError("a fingerprint names one incident, and `--all` means all; leave out one of them")
    settings = options.load_settings(config)

    from tsaudit.history import decisions
    from tsaudit.model.finding import Severity

    with options.open_store(settings) as store:
        selection = many_incidents.selected(store, targets, rules)
        severity = Severity(up_to or "warning")
        text = _REASON if reason is None else reason
        wanted = decisions.Acceptance(owner or somebody(), text, last, severity, replace, selection)
        try:
            found = decisions.accept_all(store, wanted, dry_run=dry_run)
        except ValueError as error:
            raise click.UsageError(str(error)) from error
    _print(found, wanted, dry_run=dry_run)


def _print(found: Baseline, wanted: Acceptance, *, dry_run: bool) -> None:
    """What was accepted, then what was left and how to accept it, too."""
    from tsaudit.history.decisions import describe

    many_incidents.print_groups(found.accepted)
    if found.accepted:
        done = "would accept" if dry_run else "accepted"
        where = many(len({i.target for i in found.accepted}), "target")
        count = many(len(found.accepted), "finding")
        show.line(f"{done} {count} of {where} until {wanted.until}: {wanted.reason}")
        replaced = Counter(describe(i.decision) for i in found.accepted if i.decision)
        for what, number in sorted(replaced.items()):
            show.line(f"{'would replace' if dry_run else 'replaced'} {many(number, 'decision')}: {what}")
    else:
        show.line("nothing to accept")
    if found.too_severe:
        show.line(f"left {len(found.too_severe)} critical; pass --up-to critical to accept what is critical, too")
    left = Counter(describe(i.decision) for i in found.decided if i.decision)
    for what, number in sorted(left.items()):
        show.line(f"left {number} {what}" + ("" if wanted.replace else "; pass --replace to replace that"))
    if found.about_audit:
        codes = ", ".join(sorted({i.code for i in found.about_audit}))
        show.line(f"left {len(found.about_audit)} about the audit itself ({codes}); accept these by their fingerprints")
