"""`tsaudit ack`, `snooze`, and `accept`: what a person decides about an incident."""

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
        click.option("--reason", required=True, help="The reason, shown wherever the incident is shown."),
        click.option("--owner", default=None, help="Who decided; default: git's user.name, or the login name."),
        options.config_option,
        click.argument("fingerprint"),
    ):
        command = option(command)
    return command


_UNTIL = {"type": options.Until(), "required": True, "metavar": "DAY"}
_UNTIL_HELP = "The last day, as a date or a period such as 7d or 2w."


@click.command()
@_shared
def ack(fingerprint: str, config: str | None, owner: str | None, reason: str) -> None:
    """Record that somebody is working on an incident.

    Applies until the incident is resolved or gets worse.
    """
    _decide("ack", fingerprint, config, owner, reason, None)


@click.command()
@_shared
@click.option("--until", help=_UNTIL_HELP, **_UNTIL)  # type: ignore[arg-type]  # click's own keyword arguments
def snooze(fingerprint: str, config: str | None, owner: str | None, reason: str, until: date) -> None:
    """Mute an incident until a given day."""
    _decide("snooze", fingerprint, config, owner, reason, until)


@click.command()
@_shared
@click.option("--until", help=_UNTIL_HELP, **_UNTIL)  # type: ignore[arg-type]  # click's own keyword arguments
def accept(fingerprint: str, config: str | None, owner: str | None, reason: str, until: date) -> None:
    """Record that you will live with an incident until a given day.

    Until then it is shown as accepted, and nobody is notified. After that, somebody has to decide again.
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
