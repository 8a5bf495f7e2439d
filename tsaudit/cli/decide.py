"""`tsaudit ack`, `snooze` and `accept`: what a person says of an incident."""

from __future__ import annotations

import getpass
import subprocess
from collections.abc import Callable
from datetime import date
from typing import TYPE_CHECKING

import click

from tsaudit.cli import options, show

if TYPE_CHECKING:
    from tsaudit.history.incidents import Incident
    from tsaudit.history.store import Store


def _shared(command: Callable[..., None]) -> Callable[..., None]:
    for option in (
        click.option("--reason", required=True, help="Why; it is shown wherever the incident is."),
        click.option("--owner", default=None, help="Who decides; default: git's user.name, else the login."),
        options.config_option,
        click.argument("fingerprint"),
    ):
        command = option(command)
    return command


_UNTIL = {"type": options.Until(), "required": True, "metavar": "DAY"}
_UNTIL_HELP = "The last day it holds: a date, or 7d, 2w."


@click.command()
@_shared
def ack(fingerprint: str, config: str | None, owner: str | None, reason: str) -> None:
    """Say that somebody is working on an incident.

    Holds until it is resolved or gets worse.
    """
    _decide("ack", fingerprint, config, owner, reason, None)


@click.command()
@_shared
@click.option("--until", help=_UNTIL_HELP, **_UNTIL)  # type: ignore[arg-type]  # click's own keyword arguments
def snooze(fingerprint: str, config: str | None, owner: str | None, reason: str, until: date) -> None:
    """Hear nothing of an incident for a while."""
    _decide("snooze", fingerprint, config, owner, reason, until)


@click.command()
@_shared
@click.option("--until", help=_UNTIL_HELP, **_UNTIL)  # type: ignore[arg-type]  # click's own keyword arguments
def accept(fingerprint: str, config: str | None, owner: str | None, reason: str, until: date) -> None:
    """Live with an incident until a given day.

    Till then it is shown as accepted and nobody is told of it; after that somebody has to look again.
    """
    _decide("accept", fingerprint, config, owner, reason, until)


def _decide(kind: str, prefix: str, config: str | None, owner: str | None, reason: str, until: date | None) -> None:
    settings = options.load_settings(config)

    from tsaudit.history import incidents

    with options.open_store(settings) as store:
        found = _found(store, prefix)
        try:
            decided = incidents.decide(store, found.fingerprint, kind, owner or _somebody(), reason, until)
        except ValueError as error:
            raise click.UsageError(str(error)) from error
    held = f" until {until}" if until else ""
    show.line(f"{kind} {decided.fingerprint}{held}: {decided.target} {decided.code} {decided.subject}")


def _found(store: Store, prefix: str) -> Incident:
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
    raise click.BadParameter(f"`{prefix}` could be any of {some}; give more of it", param_hint="FINGERPRINT")


def _somebody() -> str:
    """Git's user.name, else the login name."""
    try:
        named = subprocess.run(
            ["git", "config", "user.name"], capture_output=True, text=True, errors="replace", check=False, timeout=5
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        named = ""
    try:
        return named or getpass.getuser()
    except (OSError, KeyError):
        raise click.UsageError("nobody knows who you are; say it with `--owner`") from None
