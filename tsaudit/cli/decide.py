"""`tsaudit ack` and `snooze`, and what all commands have in common that record a person's decision."""

from __future__ import annotations

import getpass
import subprocess
from collections.abc import Callable
from datetime import date
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tsaudit.cli import options, show
from tsaudit.text import short_fingerprint

if TYPE_CHECKING:
    from tsaudit.history.incidents import Incident
    from tsaudit.history.store import Store

F = TypeVar("F", bound=Callable[..., Any])

UNTIL_HELP = "The last day, as a date or a period such as 7d or 2w"


def owner_option(command: F) -> F:
    """--owner: who decides."""
    return click.option("--owner", default=None, help="Who decided; default: git's user.name, or the login name.")(
        command
    )


def replace_option(command: F) -> F:
    """--replace: an earlier decision is no obstacle."""
    return click.option("--replace", is_flag=True, help="Replace another decision that applies.")(command)


def _shared(command: F) -> F:
    for option in (
        replace_option,
        click.option("--reason", required=True, help="The reason, shown wherever the incident is shown."),
        owner_option,
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
    decide("ack", fingerprint, config, owner, reason, None, replace=replace)


@click.command()
@_shared
@click.option("--until", type=options.Until(), required=True, metavar="DAY", help=f"{UNTIL_HELP}.")
def snooze(fingerprint: str, config: str | None, owner: str | None, reason: str, replace: bool, until: date) -> None:
    """Mute an incident until a given day.

    If it gets worse before, it comes back: see `tsaudit accept`.
    """
    decide("snooze", fingerprint, config, owner, reason, until, replace=replace)


def decide(
    kind: str, prefix: str, config: str | None, owner: str | None, reason: str, until: date | None, *, replace: bool
) -> None:
    """Store one decision, and print it."""
    settings = options.load_settings(config)

    from tsaudit.history import decisions

    with options.open_store(settings) as store:
        found = incident_of(store, prefix)
        try:
            decided = decisions.decide(
                store, found.fingerprint, kind, owner or somebody(), reason, until, replace=replace
            )
        except decisions.DecidedError as error:
            raise click.UsageError(f"{error}; pass `--replace` to replace that") from error
        except ValueError as error:
            raise click.UsageError(str(error)) from error
    held = f" until {until}" if until else ""
    show.line(
        f"{kind} {short_fingerprint(decided.fingerprint)}{held}: {decided.target} {decided.code} {decided.subject}"
    )


def incident_of(store: Store, prefix: str) -> Incident:
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


def somebody() -> str:
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
