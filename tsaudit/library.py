"""What other programs call: the stages of an audit, each by itself, without a history."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from tsaudit.audit import audit as judge
from tsaudit.audit import required_facts
from tsaudit.collect import collect as measure
from tsaudit.config import file as config_file
from tsaudit.config.plans import limit_policy, rule_policy
from tsaudit.config.settings import Settings, Target
from tsaudit.engines.opening import with_connection
from tsaudit.model.finding import AuditResult
from tsaudit.model.profile import Profile, utc_now
from tsaudit.rule import Rule
from tsaudit.run import as_of

if TYPE_CHECKING:
    from tsaudit.engines.connection import Connection
    from tsaudit.net.watchdog import Deadline


def load_settings(path: str | Path | None = None) -> Settings:
    """The configuration in the file; None: in what TSAUDIT_CONFIG names, else in `./tsaudit.yaml`.

    Raises ConfigError, with a line for each problem.
    """
    return config_file.load(config_file.find(path))


def collect(target: Target, *, day: date | None = None) -> Profile:
    """Connect to the target and measure it, within its budget; `day` is the logical day in UTC, None for today.

    What could not be measured is in `Profile.gaps`. Only reads, and keeps nothing. Raises ConnectorError if the target
    cannot be connected to.
    """

    def measured(connection: Connection, deadline: Deadline) -> Profile:
        wanted = required_facts(target.engine)
        chosen = day or utc_now().date()
        return measure(target, connection, day=chosen, wanted=wanted, now=as_of(chosen), deadline=deadline)

    return with_connection(target, measured)


def audit(profile: Profile, *, settings: Settings | None = None, rules: Iterable[Rule] | None = None) -> AuditResult:
    """Judge the profile, by itself: rules that compare with earlier days find nothing to compare with.

    `settings`: limits and switches of its target of the profile's name; None, or no such target, for the defaults.
    `rules`: those to judge by; None for all there are, those of plug-ins included.
    """
    target = next((t for t in settings.targets if t.name == profile.target), None) if settings else None
    if settings is None or target is None:
        return judge(profile, rules=rules)
    policy, switches = limit_policy(settings, target), rule_policy(settings, target)
    return judge(profile, policy=policy, rules=rules, switches=switches)
