"""Reads the reactions on messages in Slack, and acts on them: acknowledge, mute, and undo.

The decision made by a reaction and the reply that confirms it are stored in one transaction. So if the process dies,
the next one either reads the reaction again or finds the decision with its reply still queued.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

from sqlalchemy import Connection

from tsaudit.alerts import routing
from tsaudit.alerts.blocks import Message, code, inert, markup
from tsaudit.alerts.calls import ReactionReport, SendingPace
from tsaudit.alerts.message import by_badness, by_reaction
from tsaudit.alerts.notifier import (
    BusyError,
    DeadlineError,
    MessageGoneError,
    MessagePlace,
    NoticeRefusedError,
    NotifyError,
    SetupError,
)
from tsaudit.alerts.sending import TimeBudget
from tsaudit.config.settings import Settings
from tsaudit.history import clock, decisions, deliveries, incidents
from tsaudit.history.database import lock
from tsaudit.history.deliveries import Delivery, DeliveryKind, MessageDraft, StoredReaction
from tsaudit.history.lifecycle import DecisionKind, Incident, IncidentState
from tsaudit.text import many, number, plural, short_fingerprint

if TYPE_CHECKING:
    from tsaudit.history.store import Store

_LONGEST_S: Final = 30.0
"""Most seconds for reading the reactions on all messages; the next audit reads the rest."""
_SHARE: Final = 1 / 8
"""Share of the sending time that reading may take: a sensor reads and sends within one minute."""
_ALONE_S: Final = 2.0
"""Seconds to wait for another process, which then reads the reactions instead."""
_CLOSED_FOR: Final = timedelta(days=14)
"""How long after its last incident ended a message is still read, in order to reply that nothing is left to do."""
_NAMED: Final = 5
_OTHERS: Final = 3


@dataclass(frozen=True, slots=True)
class Covered:
    """A message in Slack, and the incidents in the newest version of it that showed any."""

    message: Delivery
    fingerprints: tuple[str, ...]


def read(store: Store, settings: Settings, pace: SendingPace) -> ReactionReport:
    """The same as `alerts.read_reactions`, with a bot token."""
    with store.reading() as connection:
        found = _messages(connection)
    if not found:
        return ReactionReport()
    if len(found) > settings.slack.reactions.most_asked:
        # Chosen at random: otherwise the same messages would be left out every time.
        found = random.sample(found, settings.slack.reactions.most_asked)
    with deliveries.sole_sender(store.engine, _ALONE_S) as alone:
        return _read(store, settings, found, pace) if alone else ReactionReport()


def _read(store: Store, settings: Settings, found: Sequence[Covered], pace: SendingPace) -> ReactionReport:
    from tsaudit.alerts.slack import BotToken

    may_take = _SHARE * TimeBudget.of(settings.slack.deadline_s, pace).seconds
    budget = TimeBudget.of(min(_LONGEST_S, may_take), pace)
    slack = routing.slack(store, settings)
    assert isinstance(slack, BotToken)
    asked, decided, undone, problems = 0, 0, 0, []
    for one in found:
        try:
            seen = slack.reactions(MessagePlace(one.message.sent_channel or "", one.message.sent_id), budget.call_s())
        except (MessageGoneError, NoticeRefusedError):
            continue
        except SetupError as error:
            if not error.everywhere:
                # The channel was archived, for example. The next message sent there reports it.
                continue
            problems.append(_explained(error))
            break
        except (BusyError, DeadlineError):
            break
        except NotifyError as error:
            problems.append(f"reactions could not be read: {error}")
            break
        asked += 1
        if (done := _act(store, settings, one, seen)) is not None:
            decided, undone = decided + done.decided, undone + done.undone
    return ReactionReport(asked, decided, undone, tuple(problems))


def _explained(error: SetupError) -> str:
    if error.code.startswith("missing_scope"):
        return (
            "reactions are not read, because the app lacks the scope `reactions:read`; add it and install the app "
            "again, or set `slack.reactions.read: false`"
        )
    return f"reactions could not be read: {error}"


def _act(store: Store, settings: Settings, one: Covered, seen: Mapping[str, tuple[str, ...]]) -> Reacting | None:
    """What the reactions on the message did; None if they are those that were there before."""
    kinds = settings.slack.reactions.kinds
    people = {kind: seen[name] for name, kind in kinds.items() if seen.get(name)}
    with store.writing(decisions.LOCK) as connection:
        before = deliveries.reactions_present(connection, one.message.id)
        if {r.kind: r.person for r in before} == {kind: some[0] for kind, some in people.items()}:
            return None
        lock(connection, "deliveries")
        standing = incidents.standing(connection, None, clock.today())
        known = {i.fingerprint: i for i in standing if i.fingerprint in one.fingerprints}
        done = Reacting(connection, settings, one.message, known)
        done.act(before, people)
        return done


def _messages(connection: Connection) -> list[Covered]:
    """The messages to read: an incident of theirs is open or ended recently, or a reaction on them still decides
    something.
    """
    current = {i.fingerprint: i for i in incidents.standing(connection, None, clock.today())}
    counted = {r.delivery_id for r in deliveries.reactions_present(connection)}
    chosen = []
    for one in _covered(deliveries.on_slack(connection)):
        known = [current[f] for f in one.fingerprints if f in current]
        if any(map(_matters, known)) or (one.message.id in counted and any(i.decision for i in known)):
            chosen.append(one)
    return chosen


def _matters(incident: Incident) -> bool:
    if incident.resolved is not None:
        return incident.resolved > clock.today() - _CLOSED_FOR
    return incident.state is IncidentState.OPEN


def _covered(rows: Iterable[Delivery]) -> list[Covered]:
    """Alerts and replies, each with the incidents it covers: for an alert, those in its newest edit that shows any."""
    messages: dict[str, Covered] = {}
    for row in rows:
        identity = row.parent_id if row.kind is DeliveryKind.EDIT and row.parent_id else row.id
        about = tuple(row.payload.get("about", {}))
        if row.kind is not DeliveryKind.EDIT:
            messages[identity] = Covered(row, about)
        elif about and identity in messages:
            messages[identity] = Covered(messages[identity].message, about)
    return [one for one in messages.values() if one.fingerprints]


@dataclass(frozen=True, slots=True)
class ReactionOutcome:
    """What a reaction does to each incident of its message, by case."""

    decided: list[Incident] = field(default_factory=list)
    same: list[Incident] = field(default_factory=list)
    """The same decision already applies."""
    other: list[Incident] = field(default_factory=list)
    """Somebody made a different decision with a command."""
    over: list[Incident] = field(default_factory=list)
    """No longer open."""


@dataclass
class Reacting:
    """The reactions on one message, compared with those that were there before."""

    connection: Connection
    settings: Settings
    message: Delivery
    known: dict[str, Incident]
    """Fingerprint to incident, for those that the message covers, with the decisions that apply today."""
    decided: int = 0
    """Incidents that were decided."""
    undone: int = 0
    """Decisions that were undone."""

    def act(self, before: Sequence[StoredReaction], people: Mapping[str, Sequence[str]]) -> None:
        """`before`: the reactions that were already processed. `people`: the reactions there now, as kind of decision
        to the Slack IDs of who left it, never empty.

        Removed reactions are undone first, so that the remaining ones apply again. Of several new ones, the last of ack
        and mute applies.
        """
        gone = [one for one in before if one.kind not in people]
        there = {one.kind: one for one in before if one.kind in people}
        freed: list[Incident] = []
        for one in gone:
            deliveries.end_reaction(self.connection, one)
            freed += self._undo(one)
        self.undone += len(freed)
        for kind in map(str, DecisionKind):
            if kind in there:
                self._go_on(there[kind], people[kind], freed)
            elif kind in people:
                new = deliveries.add_reaction(self.connection, self.message, kind, people[kind][0])
                self._decide(new, self._covered())

    def _go_on(self, one: StoredReaction, people: Sequence[str], freed: Sequence[Incident]) -> None:
        """Apply a reaction that is still there to incidents that a removed reaction no longer decides."""
        if one.person not in people:
            deliveries.hand_over_reaction(self.connection, one, people[0])
            one = StoredReaction(one.id, one.delivery_id, one.kind, people[0])
            # An incident that got worse since then is reported again: the reaction was about its earlier state.
            still = [incident for incident in self._made_by(one) if incident.decision]
            self._decide(one, [*still, *freed], again=True)
        elif freed:
            self._decide(one, freed)

    def _covered(self) -> list[Incident]:
        return sorted(self.known.values(), key=by_badness)

    def _made_by(self, one: StoredReaction) -> list[Incident]:
        """The incidents whose newest decision was made by this reaction and has not ended, including those that got
        worse since.
        """
        behind = incidents.reactions_behind(self.connection)
        return [i for i in self._covered() if behind.get(i.fingerprint) == one.id and (i.decision or i.exceeded)]

    def _undo(self, one: StoredReaction) -> list[Incident]:
        undone = self._made_by(one)
        why = f"reaction :{self._name(one.kind)}: taken back in Slack"
        incidents.write_decisions(self.connection, undone, incidents.REOPEN, one.person, why, None)
        self._refresh(undone)
        again = [self.known[i.fingerprint] for i in undone]
        if again:
            self._reply(confirm_undone(one, self._name(one.kind), again))
        return again

    def _decide(self, one: StoredReaction, some: Iterable[Incident], *, again: bool = False) -> None:
        """`again`: repeat decisions of the same reaction in the name of another person."""
        outcome, until = ReactionOutcome(), self._until(one.kind)
        behind = incidents.reactions_behind(self.connection)
        for incident in some:
            where = self._kept(incident, one, behind.get(incident.fingerprint), until, outcome, again=again)
            where.append(incident)
        why = by_reaction(self._name(one.kind))
        incidents.write_decisions(self.connection, outcome.decided, one.kind, one.person, why, until, one.id)
        self._refresh(outcome.decided)
        outcome.decided[:] = [self.known[i.fingerprint] for i in outcome.decided]
        if text := confirm_decided(one, self._name(one.kind), outcome, until):
            self._reply(text)
        self.decided += len(outcome.decided)

    @staticmethod
    def _kept(
        incident: Incident,
        one: StoredReaction,
        behind: int | None,
        until: date | None,
        outcome: ReactionOutcome,
        *,
        again: bool,
    ) -> list[Incident]:
        """The list of the outcome that the incident belongs to."""
        made = incident.decision
        if incident.state is not IncidentState.OPEN or (until is not None and until < incident.day):
            return outcome.over
        if made is not None and not (again and behind == one.id):
            if made.kind == one.kind:
                return outcome.same
            # A decision that somebody made with a command and a reason stays; an ack only says that somebody is working
            # on it.
            if behind is None and made.kind is not DecisionKind.ACK:
                return outcome.other
        return outcome.decided

    def _until(self, kind: str) -> date | None:
        if kind == DecisionKind.ACK:
            return None
        return clock.today() + timedelta(days=self.settings.slack.reactions.mute_days)

    def _name(self, kind: str) -> str:
        """The name of the reaction that now makes this decision; the configuration may have changed since."""
        return next((name for name, does in self.settings.slack.reactions.kinds.items() if does == kind), kind)

    def _refresh(self, some: Sequence[Incident]) -> None:
        again = [self.known[i.fingerprint] for i in some]
        for incident in decisions.decided_today(self.connection, again):
            self.known[incident.fingerprint] = incident

    def _reply(self, text: Message) -> None:
        """Queue a reply in the thread of the alert, because Slack has no threads within threads."""
        alert = self.message.parent_id or self.message.id
        channel = self.message.sent_channel or self.message.channel
        draft = MessageDraft(
            DeliveryKind.CONFIRM, self.message.thread, clock.today(), channel, text.to_payload(), alert
        )
        deliveries.add(self.connection, draft)


def confirm_decided(
    reaction: StoredReaction, name: str, outcome: ReactionOutcome, until: date | None
) -> Message | None:
    """The reply to a new reaction; None if the same decision already applied to all incidents."""
    groups: list[list[str]] = []
    if outcome.decided:
        it = plural(len(outcome.decided), "it is", "they are"), plural(len(outcome.decided), "it gets", "they get")
        ends = f"until {until}, or until {it[1]} worse" if until else f"until {it[0]} resolved"
        done, what = decisions.DONE[reaction.kind], many(len(outcome.decided), "incident")
        title = f"<@{reaction.person}> {done} {what}, {ends}."
        named = [short_fingerprint(i.fingerprint) for i in outcome.decided]
        marks = " ".join(named) if len(named) <= _NAMED else "FINGERPRINT..."
        undo = f"Take :{name}: back to undo it, or run {code(f'tsaudit reopen {marks}', 100)}."
        last = f" --until {until}" if until else ""
        reason = code(f"tsaudit {reaction.kind} {marks}{last} --replace --reason '...'", 150)
        groups.append([title, *_listed(outcome.decided), undo, f"To give a reason, in your name, run {reason}."])
    groups += [
        [f"Unchanged: {_name(incident)} is {inert(decisions.describe(incident.decision), 200)}"]
        for incident in outcome.other[:_OTHERS]
        if incident.decision is not None
    ]
    if outcome.over and not any((outcome.decided, outcome.same, outcome.other)):
        groups.append([f"The incidents of this message are resolved, so :{name}: changes nothing."])
    return _in_paragraphs(groups) if groups else None


def confirm_undone(reaction: StoredReaction, name: str, some: Sequence[Incident]) -> Message:
    """The reply when a reaction was removed."""
    title = f":{name}: was removed. No longer {decisions.DONE[reaction.kind]}: {many(len(some), 'incident')}."
    return _in_paragraphs([[title, *_listed(some)]])


def _in_paragraphs(groups: Sequence[Sequence[str]]) -> Message:
    paragraphs = ["\n".join(lines) for lines in groups]
    # Without `about`: the reply notifies about no incident.
    return Message("\n".join(paragraphs), tuple(map(markup, paragraphs)))


def _listed(some: Sequence[Incident]) -> list[str]:
    lines = [f"• {_name(incident)}{_early(incident)}" for incident in some[:_NAMED]]
    return lines + ([f"and {number(len(some) - _NAMED)} more"] if len(some) > _NAMED else [])


def _early(incident: Incident) -> str:
    """What ends a mute of the incident early; empty if no mute applies, or nothing does."""
    return f": comes back earlier {ends}" if (ends := decisions.ends_early(incident)) else ""


def _name(incident: Incident) -> str:
    return f"{code(short_fingerprint(incident.fingerprint), 40)} {incident.code} {code(str(incident.subject), 80)}"
