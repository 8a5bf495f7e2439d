"""What the reactions on one message do to its incidents, within one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from sqlalchemy import Connection

from tsaudit.alerts import confirmation
from tsaudit.alerts.blocks import Message
from tsaudit.alerts.confirmation import ReactionOutcome
from tsaudit.alerts.figures import by_badness, by_reaction
from tsaudit.config.settings import Settings
from tsaudit.history import clock, decision_log, decisions, deliveries, reaction_log
from tsaudit.history.deliveries import Delivery, DeliveryKind, MessageDraft
from tsaudit.history.incidents import DecisionKind, Incident, IncidentState
from tsaudit.history.reaction_log import StoredReaction
from tsaudit.model.finding import RULELESS_CODES, Severity


@dataclass(frozen=True, slots=True)
class Reacted:
    """Numbers of incidents."""

    decided: int = 0
    undone: int = 0

    def __add__(self, other: Reacted) -> Reacted:
        return Reacted(self.decided + other.decided, self.undone + other.undone)


@dataclass
class Reacting:
    """The reactions on one message, compared with those that were there before."""

    connection: Connection
    settings: Settings
    message: Delivery
    known: dict[str, Incident]
    """The incidents that the message covers, with the decisions that apply today."""

    def act(self, before: Sequence[StoredReaction], people: Mapping[str, Sequence[str]]) -> Reacted:
        """`before`: those that were acted upon. `people`: what is there now: kind of decision to Slack IDs, not empty.

        What is gone is undone first, so that what remains applies again. Of several new ones, the last of ack, snooze,
        accept applies.
        """
        gone = [one for one in before if one.kind not in people]
        there = {one.kind: one for one in before if one.kind in people}
        done = Reacted()
        freed: list[Incident] = []
        for one in gone:
            reaction_log.end(self.connection, one)
            undone = self._undo(one)
            freed += undone
            done += Reacted(undone=len(undone))
        for kind in map(str, DecisionKind):
            if kind in there:
                done += self._go_on(there[kind], people[kind], freed)
            elif kind in people:
                new = reaction_log.add(self.connection, self.message, kind, people[kind][0])
                done += self._decide(new, self._covered())
        return done

    def _go_on(self, one: StoredReaction, people: Sequence[str], freed: Sequence[Incident]) -> Reacted:
        """A reaction that is still there applies again to what another one no longer covers."""
        if one.person not in people:
            reaction_log.hand_over(self.connection, one, people[0])
            one = StoredReaction(one.id, one.delivery_id, one.kind, people[0])
            return self._decide(one, [*self._made_by(one), *freed], again=True)
        return self._decide(one, freed) if freed else Reacted()

    def _covered(self) -> list[Incident]:
        return sorted(self.known.values(), key=by_badness)

    def _made_by(self, one: StoredReaction) -> list[Incident]:
        """The incidents whose decision is the reaction's, and applies: nobody has decided otherwise since."""
        behind = decision_log.reactions_behind(self.connection)
        return [i for i in self._covered() if behind.get(i.fingerprint) == one.id and (i.decision or i.exceeded)]

    def _undo(self, one: StoredReaction) -> list[Incident]:
        undone = self._made_by(one)
        why = f"reaction :{self._name(one.kind)}: taken back in Slack"
        decision_log.write(self.connection, undone, decision_log.REOPEN, one.person, why, None)
        self._refresh(undone)
        if undone:
            self._reply(confirmation.undone(one, self._name(one.kind), undone))
        return [self.known[i.fingerprint] for i in undone]

    def _decide(self, one: StoredReaction, some: Iterable[Incident], *, again: bool = False) -> Reacted:
        """`again`: decisions of the same reaction are made once more, in the name of another person."""
        outcome, until = ReactionOutcome(), self._until(one.kind)
        behind = decision_log.reactions_behind(self.connection)
        for incident in some:
            where = self._kept(incident, one, behind.get(incident.fingerprint), until, outcome, again=again)
            where.append(incident)
        why = by_reaction(self._name(one.kind))
        decision_log.write(self.connection, outcome.decided, one.kind, one.person, why, until, one.id)
        self._refresh(outcome.decided)
        if text := confirmation.decided(one, self._name(one.kind), outcome, until):
            self._reply(text)
        return Reacted(decided=len(outcome.decided))

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
            # What somebody decided with a command and a reason stays; an ack only says that somebody is working on it.
            if behind is None and made.kind is not DecisionKind.ACK:
                return outcome.other
        # As `tsaudit accept --all` does.
        if one.kind == DecisionKind.ACCEPT and (
            incident.severity is Severity.CRITICAL or incident.code in RULELESS_CODES
        ):
            return outcome.by_name_only
        return outcome.decided

    def _until(self, kind: str) -> date | None:
        if kind == DecisionKind.ACK:
            return None
        return clock.today() + timedelta(days=self.settings.slack.reactions.days(kind))

    def _name(self, kind: str) -> str:
        """The reaction that does it now; the configuration may have changed since."""
        return next((name for name, does in self.settings.slack.reactions.kinds.items() if does == kind), kind)

    def _refresh(self, some: Sequence[Incident]) -> None:
        again = [self.known[i.fingerprint] for i in some]
        for incident in decisions.decided_today(self.connection, again):
            self.known[incident.fingerprint] = incident

    def _reply(self, text: Message) -> None:
        """In the thread of the alert, as Slack has no threads within threads."""
        alert = self.message.parent_id or self.message.id
        channel = self.message.sent_channel or self.message.channel
        draft = MessageDraft(
            DeliveryKind.CONFIRM, self.message.thread, clock.today(), channel, text.to_payload(), alert
        )
        deliveries.add(self.connection, draft)
