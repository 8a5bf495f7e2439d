"""`tsaudit incidents`: current problems, their owners, and decisions; and the commands that record what a person
decides, or undo it.
"""

from __future__ import annotations

import getpass
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace as changed
from datetime import date, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from tsaudit.cli import options, screen
from tsaudit.text import many, number, short_fingerprint

if TYPE_CHECKING:
    from tsaudit.history.decisions import Baseline, IncidentSelection, Mute
    from tsaudit.history.lifecycle import Decision, Incident
    from tsaudit.history.store import Store

F = TypeVar("F", bound=Callable[..., Any])

_HEADS: Final = ("severity", "fingerprint", "target", "rule", "owner", "state")
_EXAMPLES: Final = 3

_owner_option = click.option(
    "--owner", envvar="TSAUDIT_OWNER", help="Who decided; default: $TSAUDIT_OWNER, git's user.name, or the login name."
)
_replace_option = click.option("--replace", is_flag=True, help="Replace another decision that applies.")


@click.command()
@options.targets_argument
@options.config_option
@options.format_option("text", "json")
@click.option("--all", "everything", is_flag=True, help="Include resolved ones.")
def incidents(targets: tuple[str, ...], config: str | None, form: str, everything: bool) -> None:
    """List incidents: open ones first, then muted ones, then those being watched.

    A finding is watched until it has lasted for `incidents.open_after` audits. The second column is the fingerprint:
    `tsaudit show FINGERPRINT` prints the whole finding, with what to do about it; `ack`, `mute`, and `reopen`
    take it, too.
    """
    settings = options.load_settings(config, "history")

    from tsaudit.history.incidents import current
    from tsaudit.history.lifecycle import IncidentState

    with options.open_store(settings) as store:
        options.audited(store, targets)
        found = [i for i in current(store) if not targets or i.target in targets]
    rows = [i for i in found if everything or i.state is not IncidentState.RESOLVED]
    # The incidents of one target stay in the order of all outputs.
    rows.sort(key=lambda i: (i.state is not IncidentState.OPEN, i.is_muted, -i.severity.rank, i.target))
    if form == "json":
        screen.as_json([as_dict(i) for i in rows])
    elif rows:
        screen.table([_row(i) for i in rows], _HEADS, below=[_below(i) for i in rows])
        screen.line(f"`tsaudit show {short_fingerprint(rows[0].fingerprint)}` prints everything about the first one")
        for target in sorted({i.target for i in rows} - {t.name for t in settings.targets}):
            screen.line(
                f"{target} is not in this tsaudit.yaml: if no other audits it, its incidents stay until its days are "
                f"removed: `tsaudit history drop {target} DAY`"
            )
    else:
        screen.line("no incidents")


def as_dict(incident: Incident) -> dict[str, Any]:
    """An incident as JSON values. `decision` is None if no decision applies; `exceeded` is a decision that no longer
    covers it.
    """
    return {
        "fingerprint": incident.fingerprint,
        "state": str(incident.state),
        "severity": str(incident.severity),
        "target": incident.target,
        "code": incident.code,
        "rule": incident.rule,
        "subject": str(incident.subject),
        "owner": incident.owner,
        "first_seen": incident.first_seen.isoformat(),
        "opened": incident.opened and incident.opened.isoformat(),
        "resolved": incident.resolved and incident.resolved.isoformat(),
        "absent": incident.is_absent,
        "message": incident.finding.message,
        "decision": incident.decision and _decision(incident.decision),
        "exceeded": incident.exceeded and _decision(incident.exceeded),
    }


def _decision(decision: Decision) -> dict[str, Any]:
    return {
        "kind": str(decision.kind),
        "owner": decision.owner,
        "reason": decision.reason,
        "made_at": decision.made_at.isoformat(),
        "until": decision.until and decision.until.isoformat(),
        "severity": str(decision.severity),
        "bound": decision.bound,
        "unit": decision.unit,
    }


def _row(incident: Incident) -> tuple[str, ...]:
    return (
        incident.severity,
        short_fingerprint(incident.fingerprint),
        incident.target,
        incident.code,
        incident.owner,
        incident.state_description,
    )


def _below(incident: Incident) -> tuple[str, ...]:
    """The finding's text, and the decision about it."""
    from tsaudit.text.findings import headline

    return tuple(filter(None, (headline(incident.finding), _decided(incident))))


def _decided(incident: Incident) -> str:
    decision = incident.decision or incident.exceeded
    if decision is None:
        return ""
    from tsaudit.history.decisions import describe, outgrown

    return (
        f"{describe(decision)}, which no longer applies: it {outgrown(incident)}"
        if incident.exceeded
        else describe(decision)
    )


def _named(command: F) -> F:
    """Adds the options and the argument for decisions: which incidents, who decided, and why."""
    for option in (
        _replace_option,
        click.option("--reason", help="The reason, shown wherever the incident is shown.  [required]"),
        _owner_option,
        options.config_option,
        click.argument("fingerprints", nargs=-1, required=True, metavar="FINGERPRINT..."),
    ):
        command = option(command)
    return command


def _end_options(default: str = "") -> Callable[[F], F]:
    """Adds --for and --until: two ways to give the last day."""
    period = click.option(
        "--for", "period", type=options.PeriodParam(), metavar="PERIOD", help=f"How long, such as 7d or 2w.{default}"
    )
    until = click.option(
        "--until", type=options.Day(may_be_ahead=True), metavar="DAY", help="The last day, instead of --for."
    )
    return lambda command: period(until(command))


def _selection_options(command: F) -> F:
    """Adds --target and --rule, each of which may be repeated."""
    for option in (
        click.option("--rule", "rules", multiple=True, metavar="RULE", help="Only of this rule: CAR001, 'CAR*', name."),
        click.option("--target", "targets", multiple=True, metavar="NAME", help="Only of this target."),
    ):
        command = option(command)
    return command


@click.command()
@_named
def ack(fingerprints: Sequence[str], config: str | None, owner: str | None, reason: str | None, replace: bool) -> None:
    """Record that somebody is working on incidents.

    This applies to each incident until it is resolved. If an incident gets worse, its owner is notified.
    """
    _decide("ack", fingerprints, config, owner, reason, None, replace=replace)


@click.command()
@_named
@_end_options()
def mute(
    fingerprints: Sequence[str],
    config: str | None,
    owner: str | None,
    reason: str | None,
    replace: bool,
    period: date | None,
    until: date | None,
) -> None:
    """Mute incidents for a while, although they are not fixed.

    Until the mute ends, they are shown as muted, fail nothing, and notify nobody. It ends early for an incident that
    gets worse: if it becomes more severe, if its figure exceeds 1.5 times what its rate would make it by then, or once
    no more than 90, 14, or 7 days, or 1 day, are left until a limit.
    """
    last = _last_day(period, until)
    _decide("mute", fingerprints, config, owner, reason, last, replace=replace)


@click.command()
@options.config_option
@_selection_options
@click.option(
    "--up-to",
    type=click.Choice(("warning", "critical")),
    default="warning",
    show_default=True,
    help="The highest severity to mute.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be muted, and save nothing.")
@_owner_option
@click.option(
    "--reason", default="baseline", show_default=True, help="The reason, shown wherever the incidents are shown."
)
@_end_options("  [default: 90d]")
@_replace_option
def baseline(
    config: str | None,
    targets: tuple[str, ...],
    rules: tuple[str, ...],
    up_to: str,
    dry_run: bool,
    owner: str | None,
    reason: str,
    period: date | None,
    until: date | None,
    replace: bool,
) -> None:
    """Mute all current findings, to be notified only about new ones.

    Mutes all open or watched incidents, except for critical ones, in one transaction; see `tsaudit mute`. Incidents
    that somebody has already decided about do not change, and neither do findings about the audit itself (TGT001 to
    TGT003). Running the command again mutes only what is new.
    """
    from tsaudit.history import decisions
    from tsaudit.model.finding import Severity

    last = _last_day(period, until) or options.today() + timedelta(days=decisions.BASELINE_DAYS)
    settings = options.load_settings(config, "history")
    with options.open_store(settings) as store:
        selection = _selected(store, targets, rules)
        wanted = decisions.Mute(owner or _somebody(), reason, last, Severity(up_to), replace, selection)
        try:
            found = decisions.mute_all(store, wanted, dry_run=dry_run)
        except ValueError as error:
            raise click.UsageError(str(error)) from error
    _print(found, wanted, dry_run=dry_run)


@click.command()
@click.argument("fingerprints", nargs=-1, metavar="[FINGERPRINT]...")
@options.config_option
@click.option("--all", "everything", is_flag=True, help="Reopen all incidents that somebody has decided about.")
@_selection_options
@click.option("--dry-run", is_flag=True, help="Show what would be reopened, and save nothing.")
@_owner_option
@click.option("--reason", default="", help="Why, for `tsaudit history decisions`.")
def reopen(
    fingerprints: tuple[str, ...],
    config: str | None,
    everything: bool,
    targets: tuple[str, ...],
    rules: tuple[str, ...],
    dry_run: bool,
    owner: str | None,
    reason: str,
) -> None:
    """Undo `ack`, `mute`, and `baseline`.

    Ends the decisions about the named incidents, or about all incidents of a target or a rule. Their owners are
    notified by the next audit. The decisions stay in the history.
    """
    if not (fingerprints or everything or targets or rules):
        raise click.UsageError("name an incident by its fingerprint, or pass `--target`, `--rule`, or `--all`")
    if fingerprints and (everything or targets or rules):
        raise click.UsageError("a fingerprint names one incident; leave it out, or the other options")
    settings = options.load_settings(config, "history")

    from tsaudit.history import decisions

    with options.open_store(settings) as store:
        selection = _selected(store, targets, rules)
        selection = changed(selection, fingerprints=frozenset(_fingerprints_of(store, fingerprints)))
        try:
            found = decisions.reopen(store, selection, owner or _somebody(), reason, dry_run=dry_run)
        except ValueError as error:
            raise click.UsageError(str(error)) from error
    _print_groups(found)
    if not found:
        screen.line("nothing to reopen: no decision applies")
        return
    screen.line(f"{'would reopen' if dry_run else 'reopened'} {many(len(found), 'incident')}")
    ended = Counter(decisions.describe(made) for i in found if (made := i.decision or i.exceeded))
    for what, count in sorted(ended.items()):
        screen.line(f"{'is' if dry_run else 'was'} {what}: {many(count, 'incident')}")


def _last_day(period: date | None, until: date | None) -> date | None:
    """The last day according to the two options; None if neither is given. Raises a usage error if both are."""
    if period is not None and until is not None:
        raise click.UsageError("pass `--for` or `--until`, not both")
    last = period or until
    if last is not None and last < options.today():
        raise click.UsageError(f"{last} is in the past")
    return last


def _decide(
    kind: str,
    prefixes: Sequence[str],
    config: str | None,
    owner: str | None,
    reason: str | None,
    until: date | None,
    *,
    replace: bool,
) -> None:
    """Store one decision about several incidents, and print it."""
    missing = ["`--reason`"] if reason is None else []
    missing += ["`--for` or `--until`"] if kind == "mute" and until is None else []
    if reason is None or missing:
        example = (
            f"tsaudit {kind} {' '.join(prefixes)}{' --for 2w' if kind == 'mute' else ''} --reason 'see ticket 4711'"
        )
        raise click.UsageError(f"pass {', and '.join(missing)}, such as `{example}`")
    settings = options.load_settings(config, "history")

    from tsaudit.history import decisions

    with options.open_store(settings) as store:
        named = _fingerprints_of(store, prefixes)
        try:
            decided = decisions.decide(store, named, kind, owner or _somebody(), reason, until, replace=replace)
        except decisions.DecidedError as error:
            raise click.UsageError(f"{error}; pass `--replace` to replace that") from error
        except (decisions.UnknownIncidentError, ValueError) as error:
            raise click.UsageError(str(error)) from error
    end = f" until {until}" if until else ""
    for one in decided:
        mark = short_fingerprint(one.fingerprint)
        early = f"; comes back earlier {ends}" if (ends := decisions.ends_early(one)) else ""
        screen.line(f"{decisions.DONE[kind]} {mark}{end}: {one.target} {one.code} {one.subject}{early}")


def _selected(store: Store, targets: Sequence[str], rules: Sequence[str]) -> IncidentSelection:
    """The incidents that the options select. Raises a usage error for a name that matches nothing."""
    from tsaudit.history.decisions import IncidentSelection

    options.audited(store, targets, "--target")
    return IncidentSelection(frozenset(targets), frozenset(_codes(store, rules)))


def _codes(store: Store, rules: Sequence[str]) -> Iterable[str]:
    """The codes of the named rules, including rules that only the history still contains."""
    if not rules:
        return ()
    from tsaudit.history import incidents
    from tsaudit.policy import takes_in
    from tsaudit.rules import all_rules
    from tsaudit.text import near_rule

    names = {rule.code: rule.name for rule in all_rules()} | {i.code: i.rule for i in incidents.current(store)}
    found: set[str] = set()
    for asked in rules:
        codes = {code for code, name in names.items() if takes_in(asked, code, name)}
        if not codes:
            raise click.BadParameter(f"no rule is called `{asked}`{near_rule(asked, names)}", param_hint="--rule")
        found |= codes
    return found


def _fingerprints_of(store: Store, prefixes: Sequence[str]) -> list[str]:
    """The fingerprints that start with the prefixes, exactly one for each."""
    from tsaudit.history import incidents

    known = incidents.current(store) if prefixes else []
    return [_incident_of(store, known, prefix).fingerprint for prefix in prefixes]


def _incident_of(store: Store, known: Sequence[Incident], prefix: str) -> Incident:
    matching = [i for i in known if prefix and i.fingerprint.startswith(prefix.lower())]
    if all(i.resolved for i in matching) and (note := _note_called(store, prefix)):
        raise click.BadParameter(note, param_hint="FINGERPRINT")
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


def _note_called(store: Store, prefix: str) -> str:
    """What to do instead about a note of the last audits whose fingerprint starts with the prefix; empty if there is
    none.
    """
    from tsaudit.model.finding import Severity, fingerprint

    for target, day in store.newest_days().items() if prefix else ():
        result = store.result(target, day)
        for rule, finding in result.findings() if result else ():
            is_called = fingerprint(target, rule.code, finding.subject).startswith(prefix.lower())
            if is_called and finding.severity is Severity.NOTE:
                off = f"set `rules: {{{rule.code}: off}}` for the target or the measurement"
                return f"`{prefix}` is a note, which opens no incident and notifies nobody; to hide such notes, {off}"
    return ""


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


def _print_groups(found: Iterable[Incident]) -> None:
    """One line per target, severity, and rule, with some of the places."""

    def group(incident: Incident) -> tuple[str, int, str, str]:
        return incident.target, -incident.severity.rank, incident.code, incident.rule

    rows = []
    for (target, _, code, rule), members in groupby(sorted(found, key=group), key=group):
        listed = list(members)
        places = ", ".join(str(i.subject) for i in listed[:_EXAMPLES])
        more = f", and {number(len(listed) - _EXAMPLES)} more" if len(listed) > _EXAMPLES else ""
        rows.append((target, listed[0].severity, code, rule, number(len(listed)), places + more))
    screen.table(rows, ("target", "severity", "rule", "name", "findings", "where"))


def _print(found: Baseline, wanted: Mute, *, dry_run: bool) -> None:
    """Print what was muted, then what was left unmuted and how to mute it, too."""
    from tsaudit.history.decisions import describe

    _print_groups(found.muted)
    if found.muted:
        done = "would mute" if dry_run else "muted"
        where = many(len({i.target for i in found.muted}), "target")
        screen.line(f"{done} {many(len(found.muted), 'finding')} of {where} until {wanted.until}: {wanted.reason}")
        replaced = Counter(describe(i.decision) for i in found.muted if i.decision)
        for what, count in sorted(replaced.items()):
            screen.line(f"{'would replace' if dry_run else 'replaced'} {many(count, 'decision')}: {what}")
    else:
        screen.line("nothing to mute")
    if found.too_severe:
        screen.line(f"left {len(found.too_severe)} critical; pass --up-to critical to mute what is critical, too")
    left = Counter(describe(i.decision) for i in found.decided if i.decision)
    for what, count in sorted(left.items()):
        screen.line(f"left {count} {what}" + ("" if wanted.replace else "; pass --replace to replace that"))
    if found.about_audit:
        codes = ", ".join(sorted({i.code for i in found.about_audit}))
        screen.line(f"left {len(found.about_audit)} about the audit itself ({codes}); mute these by their fingerprints")
