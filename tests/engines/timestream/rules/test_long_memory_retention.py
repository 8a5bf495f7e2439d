"""RET004: records that stay in memory."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.builders import NOW, a_count, a_field, a_measurement, a_profile, a_tag
from tests.databases import Dataset, Row, Table, times
from tests.rules.cases import Case, planned, run_rule
from tsaudit.engines.timestream.rules.long_memory_retention import long_memory_retention as rule
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Currency, Finding, Outcome, Severity
from tsaudit.model.profile import Profile


def _matches(hours: int) -> Dataset:
    rows = [Row(at, {"server": f"eu-{i % 4}"}, {"players": i % 64}, "match") for i, at in enumerate(times(200))]
    kept = {"MemoryStoreRetentionPeriodInHours": hours, "MagneticStoreRetentionPeriodInDays": 365}
    settings = {"RetentionProperties": kept}
    return Dataset([Table("matches", ("server",), {"players": "integer"}, rows, timestream=settings)])


CASES = (Case(breaks=_matches(2_160), keeps=_matches(24), subject=Subject("", "matches")),)


def _profile(hours: int, *, rows: int = 10_000_000, days: int = 30, **options: str) -> Profile:
    """Records of 30 bytes: the time, `host` and `web-1234`, and a value."""
    known: dict[str, Any] = {"MemoryStoreRetentionPeriodInHours": str(hours)}
    known |= {"MagneticStoreRetentionPeriodInDays": "365"} | options
    measurement = a_measurement(
        tags=(a_tag("host", 400, ("web-1234",)),),
        fields=(a_field("cpu", ("double",)), a_field("up", ("boolean",)), a_field("s", ("varchar",), sample=("x",))),
        rows=a_count(rows),
        options=known,
        first_time=NOW - timedelta(days=days),
        last_time=NOW,
    )
    return a_profile(measurement, engine="timestream")


def _found(profile: Profile, **limits: float) -> Finding:
    (finding,) = run_rule(rule, profile, limits).findings
    return finding


def test_cost_is_that_of_longer_than_enough() -> None:
    finding = _found(_profile(72))
    assert finding.message == (
        "Records stay in the memory store for 3 days; there, a month of a gigabyte costs $26, in the magnetic store "
        "$0.03."
    )
    # 8 bytes of time, 12 of the dimension, and 10 of values; each day a thirtieth of the rows, for two days longer.
    a_day = 10_000_000 / 30 * 30 / 1e9
    assert finding.impact is not None
    assert finding.impact.currency is Currency.MONEY
    assert finding.impact.now == pytest.approx(2 * a_day * (0.036 * 730 - 0.03))
    # Written, for three days in memory, and for a year in the magnetic store.
    assert finding.impact.whole == pytest.approx(a_day * (0.5 * 365 / 12 + 3 * 0.036 * 730 + 365 * 0.03))


@pytest.mark.parametrize(
    ("hours", "rows", "days", "expected"),
    [
        (2_160, 13_000_000, 30, Severity.WARNING),
        (2_160, 3_000_000, 30, Severity.NOTE),
        # Not yet 90 days in memory, but soon.
        (2_160, 430_000, 1, Severity.WARNING),
        (48, 400_000_000, 30, Severity.WARNING),
        (48, 300_000_000, 30, Severity.NOTE),
    ],
)
def test_severity_when_it_costs_much(hours: int, rows: int, days: int, expected: Severity) -> None:
    assert _found(_profile(hours, rows=rows, days=days)).severity is expected


def test_plan_and_late_records() -> None:
    text = planned(rule, _profile(2_160, rows=20_000_000))
    assert '{"MemoryStoreRetentionPeriodInHours": 24, "MagneticStoreRetentionPeriodInDays": 365}' in " ".join(
        text.split()
    )
    assert _found(_profile(2_160)).fix.endswith("first enable writes to the magnetic store.")
    assert not _found(_profile(2_160, EnableMagneticStoreWrites="true")).fix.endswith("magnetic store.")


def test_silence_when_it_is_short() -> None:
    assert run_rule(rule, _profile(24)).outcome is Outcome.PASS
    assert run_rule(rule, _profile(2_160), {"enough_hours": 2_160}).outcome is Outcome.PASS
    assert _found(_profile(25)).severity is Severity.NOTE


def test_note_when_nothing_tells_how_much_is_written() -> None:
    assert (_found(_profile(2_160, rows=0)).impact, _found(_profile(2_160, days=0)).impact) == (None, None)


@pytest.mark.parametrize(
    ("minutes", "ago", "is_known"),
    [(20, 0, True), (9, 0, False), (20, 30, False), (600, 30, True), (60 * 24 * 20, 60 * 24 * 8, False)],
)
def test_rate_when_a_table_is_new_or_no_longer_written(minutes: int, ago: int, is_known: bool) -> None:
    """A third of an hour up to now is a rate; what ended longer ago than it lasted, or a week ago, is none."""
    profile = _profile(2_160)
    last = NOW - timedelta(minutes=ago)
    times = {"first_time": last - timedelta(minutes=minutes), "last_time": last}
    measurement = replace(profile.measurements[0], **times)
    found = _found(replace(profile, measurements=(measurement,)))
    assert (found.impact is not None) is is_known


def test_bill_is_the_same_however_long_a_table_has_been_written() -> None:
    """The same rate for a day and for a month: what is in the stores later is charged later, and is the same."""
    young, old = _found(_profile(720, rows=500_000, days=1)), _found(_profile(720, rows=15_000_000))
    assert young.impact is not None
    assert old.impact is not None
    assert (young.impact.now, young.impact.whole) == pytest.approx((old.impact.now, old.impact.whole))
