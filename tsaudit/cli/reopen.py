"""`tsaudit reopen`: undo what was decided about incidents."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import click

from tsaudit.cli import many_incidents, options, show
from tsaudit.cli.decide import incident_of, owner_option, somebody
from tsaudit.text import many


@click.command()
@click.argument("fingerprint", required=False)
@options.config_option
@click.option("--all", "everything", is_flag=True, help="Reopen all incidents that somebody has decided about.")
@many_incidents.selection_options
@click.option("--dry-run", is_flag=True, help="Show what would be reopened, and save nothing.")
@owner_option
@click.option("--reason", default="", help="Why, for `tsaudit history decisions`.")
def reopen(
    fingerprint: str | None,
    config: str | None,
    everything: bool,
    targets: tuple[str, ...],
    rules: tuple[str, ...],
    dry_run: bool,
    owner: str | None,
    reason: str,
) -> None:
    """Undo `ack`, `snooze`, and `accept`.

    Ends the decision about one incident, or about all incidents of a target or a rule. Their owners are notified by the
    next audit. The decision stays in the history.
    """
    if fingerprint is None and not (everything or targets or rules):
        raise click.UsageError("name an incident by its fingerprint, or pass `--target`, `--rule`, or `--all`")
    if fingerprint is not None and (everything or targets or rules):
        raise click.UsageError("a fingerprint names one incident; leave it out, or the other options")
    settings = options.load_settings(config)

    from tsaudit.history import decisions

    with options.open_store(settings) as store:
        selection = many_incidents.selected(store, targets, rules)
        if fingerprint is not None:
            one = incident_of(store, fingerprint)
            selection = replace(selection, fingerprints=frozenset({one.fingerprint}))
        try:
            found = decisions.reopen(store, selection, owner or somebody(), reason, dry_run=dry_run)
        except ValueError as error:
            raise click.UsageError(str(error)) from error
    many_incidents.print_groups(found)
    if not found:
        show.line("nothing to reopen: no decision applies")
        return
    show.line(f"{'would reopen' if dry_run else 'reopened'} {many(len(found), 'incident')}")
    ended = Counter(decisions.describe(made) for i in found if (made := i.decision or i.exceeded))
    for what, number in sorted(ended.items()):
        show.line(f"{'is' if dry_run else 'was'} {what}: {many(number, 'incident')}")
