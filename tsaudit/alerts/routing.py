"""Who is told of a finding."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from typing import Final

from tsaudit.config.settings import Owner, Route, Settings, Target
from tsaudit.history.deliveries import SLACK
from tsaudit.model.finding import Finding, RuleResult

DEFAULT_OWNER: Final = "default"


def owner_of(settings: Settings, target: Target) -> Callable[[Finding, RuleResult], str]:
    """What names the owner of a finding on the target. The first of these that names one:

    the target's measurement patterns, the routes, the target, `default`. Patterns are tried in the order of the
    file and match case-sensitively; what is about a whole target or database has an empty measurement name.
    """

    def owner(finding: Finding, result: RuleResult) -> str:
        measurement = finding.subject.measurement
        if measurement:
            for pattern, override in target.measurements.items():
                if override.owner and fnmatch.fnmatchcase(measurement, pattern):
                    return override.owner
        for route in settings.routes:
            if _matches(route, target.name, measurement, result):
                return route.owner
        return target.owner or DEFAULT_OWNER

    return owner


def settings_of(settings: Settings, name: str) -> Owner:
    """The owner's settings; those of `default` for a name that is no longer configured."""
    return settings.owners.get(name) or settings.owners[DEFAULT_OWNER]


def channel_of(settings: Settings, name: str) -> str:
    """The Slack channel in which the owner is told; empty with a webhook, without Slack, or when none is configured."""
    if settings.slack.token is None:
        return ""
    return settings_of(settings, name).channel or settings.owners[DEFAULT_OWNER].channel or ""


def sinks_of(settings: Settings) -> tuple[str, ...]:
    """Where owners are told. Slack is among them unless only others are configured: its messages go to a terminal."""
    others = tuple(sorted(settings.sinks))
    return (SLACK, *others) if settings.slack.token or settings.slack.webhook or not others else others


def _matches(route: Route, target: str, measurement: str, result: RuleResult) -> bool:
    def any_of(patterns: tuple[str, ...], *names: str) -> bool:
        return any(fnmatch.fnmatchcase(name, pattern) for name in names for pattern in patterns)

    return (
        any_of(route.targets, target)
        and any_of(route.measurements, measurement)
        and any_of(route.rules, result.code, result.name)
    )
