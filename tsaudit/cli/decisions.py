"""The commands that record what a person decides about incidents, or undo it."""

from __future__ import annotations

import getpass
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import replace as changed
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from tsaudit.cli import many_incidents, options, show
from tsaudit.text import many, short_fingerprint

if TYPE_CHECKING:
    from tsaudit.history.decisions import Acceptance, Baseline
    from tsaudit.history.incidents import Incident
    from tsaudit.history.store import Store

F = TypeVar("F", bound=Callable[..., Any])

_UNTIL_HELP: Final = "The last day, as a date or a period such as 7d or 2w"
_REASON: Final = "baseline"


def _owner_option(command: F) -> F:
    """--owner: who decides."""
    return click.option("--owner", default=None, help="Who decided; default: git's user.name, or the login name.")(
        command
    )


def _replace_option(command: F) -> F:
    """--replace: an earlier decision is no obstacle."""
    return click.option("--replace", is_flag=True, help="Replace another decision that applies.")(command)


def _shared(command: F) -> F:
    for option in (
        _replace_option,
        click.option("--reason", required=True, help="The reason, shown wherever the incident is shown."),
        _owner_option,
        options.config_option,
        click.argument("fingerprint"),
    ):
        command = option(command)
    return command


@click.command()
@_shared
def ack(fingerprint: str, config: str | None, owner: str | None, reason: str, replace: bool) -> None:
    """Record that somebody is working on an incident.

    Applies until the incident is resolved or gets worse.
    """
    _decide("ack", fingerprint, config, owner, reason, None, replace=replace)


@click.command()
@_shared
@click.option("--until", type=options.Until(), required=True, metavar="DAY", help=f"{_UNTIL_HELP}.")
def snooze(fingerprint: str, config: str | None, owner: str | None, reason: str, replace: bool, until: date) -> None:
    """Mute an incident until a given day.

    If it gets worse before, it comes back: see `tsaudit accept`.
    """
    _decide("snooze", fingerprint, config, owner, reason, until, replace=replace)


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
@_owner_option
@click.option(
    "--reason",
    default=None,
    help="The reason, shown wherever the incident is shown; required without --all.  [default: baseline]",
)
@click.option("--until", type=options.Until(), default=None, metavar="DAY", help=f"{_UNTIL_HELP}.  [default: 90d]")
@_replace_option
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
        _decide("accept", fingerprint, config, owner, reason, last, replace=replace)
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
        wanted = decisions.Acceptance(owner or _somebody(), text, last, severity, replace, selection)
        try:
            found = decisions.accept_all(store, wanted, dry_run=dry_run)
        except ValueError as error:
            raise click.UsageError(str(error)) from error
    _print(found, wanted, dry_run=dry_run)


@click.command()
@click.argument("fingerprint", required=False)
@options.config_option
@click.option("--all", "everything", is_flag=True, help="Reopen all incidents that somebody has decided about.")
@many_incidents.selection_options
@click.option("--dry-run", is_flag=True, help="Show what would be reopened, and save nothing.")
@_owner_option
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
            one = _incident_of(store, fingerprint)
            selection = changed(selection, fingerprints=frozenset({one.fingerprint}))
        try:
            found = decisions.reopen(store, selection, owner or _somebody(), reason, dry_run=dry_run)
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


def _decide(
    kind: str, prefix: str, config: str | None, owner: str | None, reason: str, until: date | None, *, replace: bool
) -> None:
    """Store one decision, and print it."""
    settings = options.load_settings(config)

    from tsaudit.history import decisions

    with options.open_store(settings) as store:
        found = _incident_of(store, prefix)
        try:
            decided = decisions.decide(
                store, found.fingerprint, kind, owner or _somebody(), reason, until, replace=replace
            )
        except decisions.DecidedError as error:
            raise click.UsageError(f"{error}; pass `--replace` to replace that") from error
        except ValueError as error:
            raise click.UsageError(str(error)) from error
    held = f" until {until}" if until else ""
    show.line(
        f"{kind} {short_fingerprint(decided.fingerprint)}{held}: {decided.target} {decided.code} {decided.subject}"
    )


def _incident_of(store: Store, prefix: str) -> Incident:
    """The one incident whose fingerprint starts with `prefix`."""
    from tsaudit.history import incidents

    matching = [i for i in incidents.current(store) if prefix and i.fingerprint.startswith(prefix.lower())]
    if len(matching) == 1:
        return matching[0]
    if not matching:
        raise click.BadParameter(
            f"no incident starts with `{prefix}`; see `tsaudit incidents`", param_hint="FINGERPRINT"
        )
    some = ", ".join(i.fingerprint for i in matching[:3])
    raise click.BadParameter(
        f"`{prefix}` matches several incidents: {some}; add more characters", param_hint="FINGERPRINT"
    )


def _somebody() -> str:
    """Git's user.name, or the login name."""
    try:
        named = subprocess.run(
            ["git", "config", "user.name"], capture_output=True, text=True, errors="replace", check=False, timeout=5
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        named = ""
    try:
        return named or getpass.getuser()
    except (OSError, KeyError):
        raise click.UsageError("cannot determine who you are; pass `--owner`") from None


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
