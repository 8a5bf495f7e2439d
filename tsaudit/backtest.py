"""Computes on which days of the history a rule would have fired with today's limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from tsaudit.config.settings import Harm
from tsaudit.evaluation import evaluate
from tsaudit.history.store import Store
from tsaudit.model.finding import RuleResult
from tsaudit.model.profile import Profile
from tsaudit.policy import LimitPolicy
from tsaudit.rule import Rule

_NO_PROFILE: Final = "no profile is stored for the day, or none that this version can read"


@dataclass(frozen=True, slots=True)
class EvaluatedDay:
    """The rule's result on one day of the history."""

    target: str
    day: date
    result: RuleResult | None
    """The rule's result; None if there is no stored profile of the day."""
    reason: str
    """Why the rule could not be evaluated completely; otherwise empty."""


def backtest(
    rule: Rule, store: Store, target: str, policy: LimitPolicy, days: int, harm: Harm | None = None
) -> Iterator[EvaluatedDay]:
    """The rule's result on every audited day of the last `days` days up to the newest one, oldest first; nothing is
    written.

    Each day uses its own profile and the stored days before it, as its audit did. Days whose profile was deleted have
    no result. Raises HistoryError if the history cannot be read.
    """
    audited = store.past_days(target)
    for day in audited:
        if day > audited[-1] - timedelta(days=days):
            yield _evaluated(rule, store, target, policy, day, harm)


def _evaluated(
    rule: Rule, store: Store, target: str, policy: LimitPolicy, day: date, harm: Harm | None
) -> EvaluatedDay:
    profile: Profile | None = store.profile(target, day)
    if profile is None:
        return EvaluatedDay(target, day, None, _NO_PROFILE)
    (result,) = evaluate(profile, store.timeline(target, before=day), policy, [rule], harm=harm).results
    return EvaluatedDay(target, day, result, result.reason)
