"""The reply to a reaction: what was done, for which incidents, until when, and how to undo it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from tsaudit.alerts.blocks import Message, markup
from tsaudit.alerts.escape import code, inert
from tsaudit.history.decisions import describe
from tsaudit.history.incidents import Incident
from tsaudit.history.reaction_log import StoredReaction
from tsaudit.text import many, number, plural, short_fingerprint

_NAMED: Final = 5
_OTHERS: Final = 3
_DONE: Final = {"ack": "acknowledged", "snooze": "snoozed", "accept": "accepted"}


@dataclass(frozen=True, slots=True)
class ReactionOutcome:
    """What a reaction does to each incident of its message."""

    decided: list[Incident] = field(default_factory=list)
    same: list[Incident] = field(default_factory=list)
    """The same was already decided."""
    other: list[Incident] = field(default_factory=list)
    """Somebody decided something else with a command."""
    by_name_only: list[Incident] = field(default_factory=list)
    """Critical, or about the audit itself: accepted only one by one."""
    over: list[Incident] = field(default_factory=list)
    """No longer open."""


def decided(reaction: StoredReaction, name: str, outcome: ReactionOutcome, until: date | None) -> Message | None:
    """The reply to a new reaction; None if there is nothing to say because the same was already decided."""
    groups: list[list[str]] = []
    if outcome.decided:
        it = plural(len(outcome.decided), "it is", "they are"), plural(len(outcome.decided), "it gets", "they get")
        ends = f"until {until}, or until {it[1]} worse" if until else f"until {it[0]} resolved"
        title = f"<@{reaction.person}> {_DONE[reaction.kind]} {many(len(outcome.decided), 'incident')}, {ends}."
        undo = f"Take :{name}: back to undo it, or run {code(_command('reopen', outcome.decided), 100)}."
        groups.append([title, *_listed(outcome.decided), undo])
    if outcome.by_name_only:
        what = many(len(outcome.by_name_only), "incident")
        command = code(_command("accept", outcome.by_name_only, " --reason '...'"), 100)
        them = plural(len(outcome.by_name_only), "it by name", "them one by one")
        title = f"Not accepted: {what}, critical or about the audit itself. Accept {them}: {command}"
        groups.append([title, *_listed(outcome.by_name_only)])
    groups += [
        [f"Unchanged: {_name(incident)} is {inert(describe(incident.decision), 200)}"]
        for incident in outcome.other[:_OTHERS]
        if incident.decision is not None
    ]
    if outcome.over and not any((outcome.decided, outcome.same, outcome.other, outcome.by_name_only)):
        groups.append([f"The incidents of this message are resolved, so :{name}: changes nothing."])
    return _message(groups) if groups else None


def undone(reaction: StoredReaction, name: str, some: Sequence[Incident]) -> Message:
    """The reply to a reaction that was taken back."""
    what = many(len(some), "incident")
    return _message([[f":{name}: was taken back. No longer {_DONE[reaction.kind]}: {what}.", *_listed(some)]])


def _message(groups: Sequence[Sequence[str]]) -> Message:
    paragraphs = ["\n".join(lines) for lines in groups]
    # Without `about`: it notifies about nothing that anybody has to see.
    return Message("\n".join(paragraphs), tuple(map(markup, paragraphs)))


def _listed(some: Sequence[Incident]) -> list[str]:
    lines = [f"• {_name(incident)}" for incident in some[:_NAMED]]
    return lines + ([f"and {number(len(some) - _NAMED)} more"] if len(some) > _NAMED else [])


def _name(incident: Incident) -> str:
    return f"{code(short_fingerprint(incident.fingerprint), 40)} {incident.code} {code(str(incident.subject), 80)}"


def _command(word: str, some: Sequence[Incident], rest: str = "") -> str:
    one = short_fingerprint(some[0].fingerprint) if len(some) == 1 else "FINGERPRINT"
    return f"tsaudit {word} {one}{rest}"
