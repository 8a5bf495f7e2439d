"""TAG010: dimensions that say the same in all records."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.builders import NOW, a_count, a_field, a_measurement, a_profile, a_tag
from tests.databases import Dataset, Row, Table, times
from tests.rules.cases import Case, planned, run_rule
from tsaudit.engines.timestream.rules.constant_dimension import constant_dimension as rule
from tsaudit.model.figures import Ratio, Subject
from tsaudit.model.finding import Outcome, Severity
from tsaudit.model.profile import Profile

SAME = {"account": "123456789012", "environment": "production"}


def _matches(**same: str) -> Dataset:
    rows = [Row(at, {"server": f"eu-{i % 4}", **same}, {"players": i % 64}, "match") for i, at in enumerate(times(200))]
    return Dataset([Table("matches", ("server", *same), {"players": "integer"}, rows)])


CASES = (Case(breaks=_matches(**SAME), keeps=_matches(), subject=Subject("", "matches")),)


def _profile(rows: int, values: int = 1, *, absent: float = 0.0, key: str = "", also: str = "") -> Profile:
    """Records of 50 bytes, or 35 without the region; 100 bytes more with `also`, which is another dimension."""
    region = a_tag("region", values, ("eu-west-1",), absent=Ratio(absent, a_count(1).source))
    tags = (a_tag("host", 400, ("web-1234567890",)), region)
    more = (a_tag(also, 90, ("x" * (100 - len(also)),)),) if also else ()
    measurement = a_measurement(
        tags=(*tags, *more),
        fields=(a_field("cpu", ("double",)), a_field("s", ("boolean",))),
        rows=a_count(rows),
        options={"CompositePartitionKey": key} if key else {},
        first_time=NOW - timedelta(days=30),
        last_time=NOW,
    )
    return a_profile(measurement, engine="timestream")


def test_message_and_plan() -> None:
    (finding,) = run_rule(rule, _profile(1_000_000)).findings
    assert finding.message == ("region has the same value in all records: 15 bytes of each, 30% of what it takes.")
    assert finding.severity is Severity.NOTE
    assert "Stop writing region" in planned(rule, _profile(1_000_000))


@pytest.mark.parametrize(("rows", "expected"), [(10_000_000, Severity.NOTE), (1_000_000_000, Severity.WARNING)])
def test_severity_when_it_costs_much(rows: int, expected: Severity) -> None:
    (finding,) = run_rule(rule, _profile(rows)).findings
    assert finding.impact is not None
    assert finding.impact.now == pytest.approx(finding.impact.whole * 15 / 50 if finding.impact.whole else 0)
    assert finding.severity is expected


def test_finding_when_the_share_is_small_and_the_bill_is_large() -> None:
    """15 of 150 bytes."""
    assert run_rule(rule, _profile(1_000_000, also="path")).outcome is Outcome.PASS
    assert run_rule(rule, _profile(2_000_000_000, also="path")).findings[0].severity is Severity.WARNING
    assert run_rule(rule, _profile(1_000_000, also="path"), {"min_share": 0.1}).findings


def test_silence_when_it_varies_or_is_needed() -> None:
    assert run_rule(rule, _profile(1_000_000_000, values=2)).outcome is Outcome.PASS
    assert run_rule(rule, _profile(1_000_000_000, absent=0.1)).outcome is Outcome.PASS
    assert run_rule(rule, _profile(1_000_000_000, key="region")).outcome is Outcome.PASS


def test_silence_when_there_is_one_source_only() -> None:
    profile = a_profile(a_measurement(tags=(a_tag("host", 1, ("web-1",)),)), engine="timestream")
    assert run_rule(rule, profile).outcome is Outcome.PASS
