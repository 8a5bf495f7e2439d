"""LAY001: wide tables."""

from __future__ import annotations

import dataclasses
from datetime import timedelta

import pytest

from tests.builders import DAY, a_field, a_measurement, a_profile
from tests.rules.cases import Case, dataset, hosts, run_rule, table
from tsaudit.model.finding import Outcome, Severity
from tsaudit.model.impact import Currency, Impact
from tsaudit.model.profile import Profile
from tsaudit.model.subject import Subject
from tsaudit.model.timeline import Point, Timeline
from tsaudit.rules.layout.wide_table import wide_table as rule


def _wide(fields: int) -> dict[str, str]:
    return {f"f{i}": "float" for i in range(fields)}


def _values(fields: int) -> dict[str, float]:
    return {f"f{i}": i + 0.5 for i in range(fields)}


CASES = (
    Case(
        breaks=dataset(table("machine", hosts(2), _wide(18), lambda s, r: _values(18))),
        keeps=dataset(table("machine", hosts(2), _wide(5), lambda s, r: _values(5))),
        subject=Subject("", "machine"),
        limits={"wide-table.engine_columns": 20, "wide-table.engine_fields": 20},
    ),
)


def _profile(fields: int, engine: str = "duckdb") -> Profile:
    return a_profile(a_measurement(fields=tuple(a_field(f"f{i}") for i in range(fields))), engine=engine)


def _impact(profile: Profile, timeline: Timeline | None = None) -> Impact:
    (finding,) = run_rule(rule, profile, timeline=timeline).findings
    assert finding.impact is not None
    return finding.impact


def _severity(profile: Profile, timeline: Timeline | None = None) -> Severity:
    (finding,) = run_rule(rule, profile, timeline=timeline).findings
    return finding.severity


def test_silence_below_half_of_the_limit() -> None:
    assert run_rule(rule, _profile(797, "postgresql")).outcome is Outcome.PASS
    (finding,) = run_rule(rule, _profile(798, "postgresql")).findings
    assert finding.message == "800 columns, 50% of what postgresql allows."
    assert finding.severity is Severity.NOTE


@pytest.mark.parametrize(("engine", "limit"), [("sqlite", 2000), ("postgresql", 1600)], ids=["sqlite", "postgresql"])
def test_severity_by_the_room_that_is_left(engine: str, limit: int) -> None:
    impact = _impact(_profile(limit * 8 // 10 - 2, engine))
    assert (impact.currency, impact.now, impact.whole) == (Currency.LIMIT, limit * 8 // 10, limit)
    severities = [_severity(_profile(columns - 2, engine)) for columns in (limit * 8 // 10 - 1, limit * 8 // 10)]
    assert severities == [Severity.NOTE, Severity.WARNING]
    severities = [_severity(_profile(columns - 2, engine)) for columns in (limit * 95 // 100 - 1, limit * 95 // 100)]
    assert severities == [Severity.WARNING, Severity.CRITICAL]


def test_the_rate_of_the_last_weeks_counts() -> None:
    profile = _profile(1000, "postgresql")

    def grown(by: int) -> Timeline:
        points = (Point(DAY - timedelta(days=20), 1000.0 - by),)
        return Timeline(points={("fields", Subject("main", "cpu")): points})

    assert _impact(profile, grown(100)).days_left == pytest.approx(598 / 5)
    assert [_severity(profile, grown(by)) for by in (100, 200, 900)] == [
        Severity.NOTE,
        Severity.WARNING,
        Severity.CRITICAL,
    ]
    # Less than a week says nothing.
    young = Timeline(points={("fields", Subject("main", "cpu")): (Point(DAY - timedelta(days=6), 100.0),)})
    assert _severity(profile, young) is Severity.NOTE


@pytest.mark.parametrize(
    ("version", "limit"),
    [("Core 3.4.1", 500), ("Enterprise 3.9.2, over HTTP", 500), ("Cloud Serverless", 200), ("Cloud Dedicated", 250)],
)
def test_limit_when_products_of_one_engine_differ(version: str, limit: int) -> None:
    profile = dataclasses.replace(_profile(limit - 2, "influxdb3"), server_version=version)
    (finding,) = run_rule(rule, profile).findings
    assert (finding.severity, finding.observed) == (Severity.CRITICAL, limit)
    assert finding.limit is not None
    assert (finding.limit.value, finding.limit.origin) == (limit, f"engine influxdb3 {profile.edition}")
    assert finding.message.endswith(f"100% of what influxdb3 {profile.edition} allows.")
    # More than the limit proves that this server was given another one.
    more = dataclasses.replace(_profile(limit - 1, "influxdb3"), server_version=version)
    assert _severity(more) is Severity.NOTE
    unknown = dataclasses.replace(profile, server_version="3.4.1")
    assert run_rule(rule, unknown).outcome is Outcome.PASS


def test_fields_count_where_they_have_a_limit_of_their_own() -> None:
    impact = _impact(_profile(1000, "timestream"))
    assert (impact.now, impact.whole, impact.unit) == (1000, 1024, "fields")


def test_silence_when_the_engine_has_no_limit() -> None:
    assert run_rule(rule, _profile(1798)).outcome is Outcome.NOT_APPLICABLE
    assert run_rule(rule, _profile(1798, "greptimedb")).outcome is Outcome.NOT_APPLICABLE
