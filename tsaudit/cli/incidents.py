"""`tsaudit incidents`: current problems, their owners, and people's decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tsaudit.cli import options, show

if TYPE_CHECKING:
    from tsaudit.history.incidents import Decision, Incident


@click.command()
@options.targets_argument
@options.config_option
@options.format_option("text", "json")
@click.option("--all", "everything", is_flag=True, help="Include resolved ones.")
def incidents(targets: tuple[str, ...], config: str | None, form: str, everything: bool) -> None:
    """List incidents: open ones first, then those being watched.

    A finding is watched until it has lasted for `incidents.open_after` audits. The first column is the fingerprint.
    Pass it, or any unique prefix of it, to `ack`, `snooze`, `accept`, and `reopen`.
    """
    settings = options.load_settings(config)

    from tsaudit.history.incidents import State, current

    with options.open_store(settings) as store:
        found = [i for i in current(store) if not targets or i.target in targets]
        known = store.targets()
    for name in targets:
        if name not in known:
            raise click.BadParameter(f"`{name}` was never audited", param_hint="TARGET")
    rows = [i for i in found if everything or i.state is not State.RESOLVED]
    # Those of one target stay in the order of every output.
    rows.sort(key=lambda i: (i.state is not State.OPEN, -i.severity.rank, i.target))
    if form == "json":
        show.as_json([as_dict(i) for i in rows])
    elif rows:
        show.table(
            [_row(i) for i in rows],
            ("fingerprint", "state", "severity", "target", "rule", "subject", "owner", "since", ""),
        )
    else:
        show.line("no incidents")


def as_dict(incident: Incident) -> dict[str, Any]:
    """An incident for JSON. `decision` is None if no decision applies; `lapsed` is one that it has outgrown."""
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
        "message": incident.finding.message,
        "decision": incident.decision and _decision(incident.decision),
        "lapsed": incident.lapsed and _decision(incident.lapsed),
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
        incident.fingerprint,
        str(incident.state),
        str(incident.severity),
        incident.target,
        incident.code,
        str(incident.subject),
        incident.owner,
        str(incident.first_seen),
        _in_words(incident),
    )


def _in_words(incident: Incident) -> str:
    decision = incident.decision or incident.lapsed
    if decision is None:
        return ""
    from tsaudit.history.decisions import outgrown

    until = f" until {decision.until}" if decision.until else ""
    made = f"{decision.kind} by {decision.owner}{until}: {decision.reason}"
    return f"{made} (no longer applies: {outgrown(incident)})" if incident.lapsed else made
