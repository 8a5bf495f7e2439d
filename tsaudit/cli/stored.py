"""Reads stored results for commands."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from tsaudit.history.store import Store
    from tsaudit.model.finding import AuditResult


def result_of(store: Store, target: str, day: date | None) -> AuditResult:
    """The result of the day; None for the newest day that is not in the future. Raises a usage error if
    there is none.
    """
    days = store.days(target)
    if not days:
        raise click.BadParameter(f"`{target}` was never audited", param_hint="TARGET")
    chosen = day or (store.past_days(target) or days)[-1]
    found = store.result(target, chosen)
    if found is not None:
        return found
    if chosen in days:
        raise click.BadParameter(f"the data stored for {chosen} was written by another version", param_hint="--day")
    near = min(days, key=lambda d: abs(d - chosen))
    raise click.BadParameter(f"{target} was not audited on {chosen}; the nearest day is {near}", param_hint="--day")
