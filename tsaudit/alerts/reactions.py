"""Reads the reactions on messages in Slack, and acts on them: acknowledge, snooze, accept, and undo.

What a reaction does, and the reply that confirms it, are stored in one transaction. So a process that dies in between
leaves a reaction that the next one reads, or a decision with its reply still to be sent.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from sqlalchemy import Connection

from tsaudit.alerts import notifiers
from tsaudit.alerts.errors import (
    BusyError,
    DeadlineError,
    MessageGoneError,
    NoticeRefusedError,
    NotifyError,
    SetupError,
)
from tsaudit.alerts.notifier import MessagePlace
from tsaudit.alerts.pace import SendingPace, TimeBudget
from tsaudit.alerts.reacting import Reacted, Reacting
from tsaudit.alerts.slack import BotToken
from tsaudit.config.settings import Settings
from tsaudit.history import clock, deliveries, incidents, reaction_log
from tsaudit.history.database import lock
from tsaudit.history.decisions import LOCK
from tsaudit.history.deliveries import Delivery, DeliveryKind
from tsaudit.history.incidents import Incident, IncidentState

if TYPE_CHECKING:
    from tsaudit.history.store import Store

_LONGEST_S: Final = 30.0
"""Most seconds for all messages: the next audit asks for the rest."""
_SHARE: Final = 1 / 8
"""Of the time that sending may take, because a sensor reads and sends within a minute."""
_ALONE_S: Final = 2.0
"""How long to wait for another process, which then asks Slack for us."""
_CLOSED_FOR: Final = timedelta(days=14)
"""How long after its last incident a message is still asked about, to say that nothing is left to do."""


@dataclass(frozen=True, slots=True)
class ReactionReport:
    """What was read, and what came of it."""

    asked: int = 0
    """Messages."""
    decided: int = 0
    """Incidents that were acknowledged, snoozed, or accepted."""
    undone: int = 0
    """Incidents whose decision was undone."""
    problems: tuple[str, ...] = ()
    """One line each, with what to do. Nobody's message is lost: reactions stay in Slack until they can be read."""


@dataclass(frozen=True, slots=True)
class Covered:
    """A message in Slack, and the incidents that it showed when it last showed any."""

    message: Delivery
    fingerprints: tuple[str, ...]


def read_reactions(store: Store, settings: Settings, pace: SendingPace | None = None) -> ReactionReport:
    """Read the reactions on all messages with open incidents, decide accordingly, and queue replies that confirm it.

    Takes at most half a minute, and asks about at most `slack.reactions.most_asked` messages; if there are more, it
    chooses some of them. Does nothing without a bot token. Problems with Slack raise nothing; they are in the report.
    """
    wanted = settings.slack.reactions
    if settings.slack.token is None or not wanted.read or not wanted.kinds:
        return ReactionReport()
    with store.reading() as connection:
        found = _messages(connection)
    if not found:
        return ReactionReport()
    if len(found) > wanted.most_asked:
        # Not always the same ones: the others would never be asked about.
        found = random.sample(found, wanted.most_asked)
    with deliveries.sole_sender(store.engine, _ALONE_S) as alone:
        return _read(store, settings, found, pace or SendingPace()) if alone else ReactionReport()


def _read(store: Store, settings: Settings, found: Sequence[Covered], pace: SendingPace) -> ReactionReport:
    may_take = _SHARE * TimeBudget.of(settings.slack.deadline_s, pace).seconds
    budget = TimeBudget.of(min(_LONGEST_S, may_take), pace)
    slack = notifiers.slack(store, settings)
    assert isinstance(slack, BotToken)
    asked, done, problems = 0, Reacted(), []
    for one in found:
        try:
            seen = slack.reactions(MessagePlace(one.message.sent_channel or "", one.message.sent_id), budget.call_s())
        except (MessageGoneError, NoticeRefusedError):
            continue
        except SetupError as error:
            if not error.everywhere:
                # The channel was archived, for example. Whoever sends there next reports it.
                continue
            problems.append(_explained(error))
            break
        except (BusyError, DeadlineError):
            break
        except NotifyError as error:
            problems.append(f"reactions could not be read: {error}")
            break
        asked += 1
        done += _act(store, settings, one, seen)
    return ReactionReport(asked, done.decided, done.undone, tuple(problems))


def _explained(error: SetupError) -> str:
    if error.code.startswith("missing_scope"):
        return (
            "reactions are not read, because the app lacks the scope `reactions:read`; add it and install the app "
            "again, or set `slack.reactions.read: false`"
        )
    return f"reactions could not be read: {error}"


def _act(store: Store, settings: Settings, one: Covered, seen: Mapping[str, tuple[str, ...]]) -> Reacted:
    kinds = settings.slack.reactions.kinds
    people = {kind: seen[name] for name, kind in kinds.items() if seen.get(name)}
    with store.writing(LOCK) as connection:
        before = reaction_log.present(connection, one.message.id)
        if {r.kind: r.person for r in before} == {kind: some[0] for kind, some in people.items()}:
            return Reacted()
        lock(connection, "deliveries")
        standing = incidents.standing(connection, None, clock.today())
        known = {i.fingerprint: i for i in standing if i.fingerprint in one.fingerprints}
        return Reacting(connection, settings, one.message, known).act(before, people)


def _messages(connection: Connection) -> list[Covered]:
    """The messages to ask about: an incident is open or ended recently, or a reaction still decides something."""
    current = {i.fingerprint: i for i in incidents.standing(connection, None, clock.today())}
    counted = {r.delivery_id for r in reaction_log.present(connection)}
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
    """Alerts and replies, each with what it covers: of an alert, whatever its newest edit shows that shows anything."""
    messages: dict[str, Covered] = {}
    for row in rows:
        identity = row.parent_id if row.kind is DeliveryKind.EDIT and row.parent_id else row.id
        about = tuple(row.payload.get("about", {}))
        if row.kind is not DeliveryKind.EDIT:
            messages[identity] = Covered(row, about)
        elif about and identity in messages:
            messages[identity] = Covered(messages[identity].message, about)
    return [one for one in messages.values() if one.fingerprints]
