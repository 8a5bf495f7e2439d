"""The owner of a finding, and the owner's channel."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from typing import Final

from tsaudit.config.settings import Owner, Route, Settings, Target
from tsaudit.history.deliveries import SLACK
from tsaudit.model.finding import Finding, RuleResult

DEFAULT_OWNER: Final = "default"


def owner_of(settings: Settings, target: Target) -> Callable[[Finding, RuleResult], str]:
    """The name of the owner of a finding on the target, from the first of these that sets one:

    the target's measurement patterns, the routes, the target, `default`. Patterns are tried in the order of the file
    and are case-sensitive; a finding about a whole target or database has an empty measurement name.
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
    """The owner's settings; those of `default` if the name is no longer configured."""
    return settings.owners.get(name) or settings.owners[DEFAULT_OWNER]


def channel_of(settings: Settings, name: str) -> str:
    """The owner's Slack channel; empty with a webhook, without Slack, or if none is configured."""
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
