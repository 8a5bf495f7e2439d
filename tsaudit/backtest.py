"""On which days of the history a rule would have fired, with the limits of today."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from tsaudit.audit import audit
from tsaudit.history.store import Store
from tsaudit.model.finding import RuleResult
from tsaudit.model.profile import Profile
from tsaudit.rule import LimitPolicy, Rule

_NO_PROFILE: Final = "no profile of the day is stored, or none that this version reads"


@dataclass(frozen=True, slots=True)
class JudgedDay:
    """What the rule comes to on one day of the history."""

    target: str
    day: date
    result: RuleResult | None
    """None where no profile of the day is left to judge."""
    reason: str
    """Why the rule was not judged in full; empty where it was."""


def backtest(rule: Rule, store: Store, target: str, policy: LimitPolicy, days: int) -> Iterator[JudgedDay]:
    """The rule on every audited day among the last `days` up to the newest, oldest first; nothing is written.

    Each day is judged by its own profile and by the days before it that are still kept, as its audit was. Days whose
    profile is gone come without a result. HistoryError when the history cannot be read.
    """
    audited = store.past_days(target)
    for day in audited:
        if day > audited[-1] - timedelta(days=days):
            yield _judged(rule, store, target, policy, day)


def _judged(rule: Rule, store: Store, target: str, policy: LimitPolicy, day: date) -> JudgedDay:
    profile: Profile | None = store.profile(target, day)
    if profile is None:
        return JudgedDay(target, day, None, _NO_PROFILE)
    (result,) = audit(profile, store.timeline(target, before=day), policy, [rule]).results
    return JudgedDay(target, day, result, result.reason)
