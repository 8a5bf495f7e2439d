"""`tsaudit incidents`: current problems, their owners, and people's decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from tsaudit.cli import options, show
from tsaudit.text import short_fingerprint

if TYPE_CHECKING:
    from tsaudit.history.incidents import Decision, Incident

_HEADS: Final = ("severity", "fingerprint", "target", "rule", "owner", "state")


@click.command()
@options.targets_argument
@options.config_option
@options.format_option("text", "json")
@click.option("--all", "everything", is_flag=True, help="Include resolved ones.")
def incidents(targets: tuple[str, ...], config: str | None, form: str, everything: bool) -> None:
    """List incidents: open ones first, then those being watched.

    A finding is watched until it has lasted for `incidents.open_after` audits. The second column is the fingerprint:
    `tsaudit show FINGERPRINT` prints the whole finding, with what to do about it; `ack`, `mute`, and `reopen`
    take it, too.
    """
    settings = options.load_settings(config, "history")

    from tsaudit.history.incidents import IncidentState, current

    with options.open_store(settings) as store:
        found = [i for i in current(store) if not targets or i.target in targets]
        known = store.targets()
    for name in targets:
        if name not in known:
            raise click.BadParameter(f"`{name}` was never audited", param_hint="TARGET")
    rows = [i for i in found if everything or i.state is not IncidentState.RESOLVED]
    # The incidents of one target stay in the order of all outputs.
    rows.sort(key=lambda i: (i.state is not IncidentState.OPEN, -i.severity.rank, i.target))
    if form == "json":
        show.as_json([as_dict(i) for i in rows])
    elif rows:
        show.table([_row(i) for i in rows], _HEADS, below=[_below(i) for i in rows])
        show.line(f"`tsaudit show {short_fingerprint(rows[0].fingerprint)}` prints everything about the first one")
    else:
        show.line("no incidents")


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
    from tsaudit.text.headline import headline

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
