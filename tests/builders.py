"""Valid profiles, measurements and findings by default; one argument makes them bad."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from tsaudit.engines.advice import Place
from tsaudit.engines.registry import ENGINES
from tsaudit.model.columns import Field, Tag, Turnover, ValuesKind, ValuesOverTime
from tsaudit.model.facts import FACTS
from tsaudit.model.figures import Count, How, Ratio, Source, Subject, Window
from tsaudit.model.finding import AuditResult, Finding, Outcome, RuleResult, Severity
from tsaudit.model.plan import Effect
from tsaudit.model.profile import Database, Measurement, Profile

DAY = date(2026, 3, 31)
NOW = datetime(2026, 3, 31, 6, tzinfo=UTC)


def a_source(how: How = How.EXACT, **changes: Any) -> Source:
    return Source(**{"query": "duckdb/test.sql", "how": how, "as_of": NOW} | changes)


def a_count(value: int, how: How = How.EXACT, **changes: Any) -> Count:
    return Count(value, a_source(how), **changes)


def a_ratio(value: float, how: How = How.EXACT) -> Ratio:
    return Ratio(value, a_source(how))


def a_tag(
    key: str = "host", values: int = 3, sample: tuple[str, ...] = ("alpha", "beta", "gamma"), **changes: Any
) -> Tag:
    return Tag(
        **{"key": key, "data_type": "string", "values": a_count(values), "sample": sample, "absent": a_ratio(0.0)}
        | changes
    )


def a_turnover(first: int, again: int, new: int, *, is_step: bool = False, **changes: Any) -> Turnover:
    """Of one source with these values in its first third, and as many others in the middle."""
    going_on, pairs = 0 if is_step else new, 2 * first + new
    return replace(Turnover(("unit",), 1, first, again, new, new, going_on, pairs, 0.0, 40.0, a_source()), **changes)


RECURRING: Final = a_turnover(100, 95, 5)
"""Of a fleet, whatever its sources are called."""
PASSING: Final = a_turnover(100, 5, 100)
"""Of events."""


def a_field(key: str = "usage", types: tuple[str, ...] = ("float",), null_ratio: float = 0.0, **changes: Any) -> Field:
    return Field(**{"key": key, "types": types, "null_ratio": a_ratio(null_ratio)} | changes)


def a_measurement(name: str = "cpu", series: int = 3, **changes: Any) -> Measurement:
    return Measurement(
        **{
            "database": "main",
            "name": name,
            "time_column": "time",
            "tags": (a_tag(),),
            "fields": (a_field(),),
            "series": a_count(series),
            "rows": a_count(1000),
            "first_time": NOW - timedelta(days=30),
            "last_time": NOW,
        }
        | changes
    )


def a_place(profile: Profile, database: str, measurement: Measurement | None, effect: Effect | None = None) -> Place:
    """Where changes are to be made in a database of the profile's engine."""
    return Place(profile, ENGINES[profile.engine].quoted, database, measurement, effect or Effect())


def a_profile(*measurements: Measurement, engine: str = "duckdb", **changes: Any) -> Profile:
    found = measurements or (a_measurement(),)
    databases = tuple(Database(name) for name in sorted({m.database for m in found}))
    return Profile(
        **{
            "target": "demo",
            "engine": engine,
            "server_version": "1.0",
            "day": DAY,
            "collected_at": NOW - (DAY - changes.get("day", DAY)),
            "window": Window(NOW - timedelta(days=30), NOW),
            "facts": tuple(FACTS),
            "databases": databases,
            "measurements": found,
            "gaps": (),
            "costs": (),
        }
        | changes
    )


def a_finding(subject: Subject | None = None, severity: Severity = Severity.WARNING, **changes: Any) -> Finding:
    return Finding(
        **{
            "subject": subject or Subject("main", "cpu", "host"),
            "severity": severity,
            "message": "Tag host has too many values.",
            "fix": "Make host a field.",
        }
        | changes
    )


def a_rule_result(*findings: Finding, code: str = "CAR001", **changes: Any) -> RuleResult:
    return RuleResult(
        **{
            "code": code,
            "name": "high-series-cardinality",
            "title": "Too many series",
            "family": "cardinality",
            "guidelines": ("A1",),
            "outcome": Outcome.FAIL if findings else Outcome.PASS,
            "findings": findings,
        }
        | changes
    )


def a_result(*results: RuleResult, **changes: Any) -> AuditResult:
    return AuditResult(
        **{
            "target": "demo",
            "engine": "duckdb",
            "server_version": "1.0",
            "day": DAY,
            "audited_at": NOW - (DAY - changes.get("day", DAY)),
            "tsaudit_version": "0.1.0",
            "results": results or (a_rule_result(),),
        }
        | changes
    )


def values_over_time(kind: ValuesKind, days: int = 28, **changes: Any) -> ValuesOverTime:
    """What four weeks of listings, or so many days of them, tell of a tag's values."""
    known: dict[str, Any] = {"beta": 1.0, "turnover": 0.98, "new_values": 300, "new_per_day": 310.0}
    return ValuesOverTime(kind=kind, days=days, series=(), newest=None, **(known | changes))
