"""DOC009: a disk that fills up."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.builders import DAY, a_profile
from tests.databases import Collection, Dataset
from tests.engines.mongodb.rules.test_collection_per_period import a_collection
from tests.rules.cases import Case, run_rule, with_steps
from tsaudit.engines.mongodb.rules.disk_fills_up import disk_fills_up as rule
from tsaudit.model.finding import Finding, Outcome, Severity
from tsaudit.model.impact import Currency
from tsaudit.model.profile import Database, DatabaseStorage, Profile
from tsaudit.model.subject import Subject
from tsaudit.model.timeline import Point, Timeline, figures

DAYS = 28


def full_in(days: float) -> object:
    """A history that goes on in a straight line until the disk is full; for no growth, infinity."""

    def history(profile: Profile) -> Timeline:
        points = {}
        for database in profile.databases:
            kept = database.storage
            assert kept is not None
            if kept.disk_bytes is None:
                pytest.skip("the server does not report its disk")
            assert kept.disk_used_bytes is not None
            a_day = (kept.disk_bytes - kept.disk_used_bytes) / days
            used = [kept.disk_used_bytes - a_day * (DAYS - i) for i in range(DAYS)]
            points["disk_used_bytes", Subject(database.name)] = tuple(
                Point(DAY - timedelta(days=DAYS - i), value) for i, value in enumerate(used)
            )
        return Timeline(points=points)

    return history


SHOP = Dataset(collections=[Collection("users", [{"name": "a"}])])
CASES = (
    Case(
        breaks=SHOP,
        keeps=SHOP,
        subject=Subject(""),
        history=full_in(85),
        quiet_history=full_in(float("inf")),
    ),
)


def _profile(used: int, total: int = 100_000_000_000, names: tuple[str, ...] = ("main",)) -> Profile:
    databases = tuple(
        Database(name, storage=DatabaseStorage(10_000_000 * (i + 1), 2_000_000, used, total))
        for i, name in enumerate(names)
    )
    return a_profile(a_collection("users"), engine="mongodb", databases=databases)


def _found(profile: Profile, days: float = float("inf"), **limits: float) -> tuple[Finding, ...]:
    timeline: Timeline = full_in(days)(profile)
    return with_steps(rule, profile, limits, timeline)


def test_severity_follows_from_the_days_that_are_left() -> None:
    assert [f.severity for f in _found(_profile(60_000_000_000), 60)] == [Severity.WARNING]
    assert [f.severity for f in _found(_profile(60_000_000_000), 10)] == [Severity.CRITICAL]
    assert [f.severity for f in _found(_profile(60_000_000_000), 150)] == [Severity.NOTE]
    assert _found(_profile(60_000_000_000)) == ()


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        (69_000_000_000, []),
        (70_000_000_000, [Severity.NOTE]),
        (80_000_000_000, [Severity.WARNING]),
        (95_000_000_000, [Severity.CRITICAL]),
    ],
)
def test_severity_follows_from_the_share_that_is_used(used: int, expected: list[Severity]) -> None:
    found = run_rule(rule, _profile(used)).findings
    assert [f.severity for f in found] == expected
    for finding in found:
        assert finding.impact is not None
        assert (finding.impact.currency, finding.impact.is_enforced) == (Currency.LIMIT, True)
        assert (finding.impact.now, finding.impact.whole) == (used, 100_000_000_000)


def test_message_and_forecast() -> None:
    (finding,) = _found(_profile(60_000_000_000), 40)
    assert finding.message == (
        "60% of the disk's 100 GB are used; at this rate the limit of 100 GB is reached in about 40 days "
        "(80% range 28 to 80)."
    )
    assert finding.forecast is not None
    assert finding.forecast.limit == 100_000_000_000
    assert finding.impact is not None
    assert finding.impact.days_left == finding.forecast.days
    assert "totalSize()" in finding.fix


def test_disk_that_is_nearly_full_is_told_without_history() -> None:
    (finding,) = run_rule(rule, _profile(90_000_000_000)).findings
    assert finding.message == "90% of the disk's 100 GB are used."


def test_disk_is_told_once_for_the_database_that_grew_most() -> None:
    (finding,) = run_rule(rule, _profile(95_000_000_000, names=("a", "b", "c"))).findings
    assert finding.subject == Subject("c")
    assert finding.evidence[-1].value == "a, b, c"


def test_silence_when_the_server_does_not_tell() -> None:
    databases = (Database("main", storage=DatabaseStorage(1, 1, None, None)), Database("other"))
    profile = a_profile(a_collection("users"), engine="mongodb", databases=databases)
    assert run_rule(rule, profile).outcome is Outcome.PASS


def test_timeline_follows_what_a_database_takes() -> None:
    found = {f.name: f.value for f in figures(_profile(5, 10)) if f.subject == Subject("main")}
    assert found["disk_used_bytes"] == 5
    assert found["data_bytes"] == 10_000_000
    assert found["index_bytes"] == 2_000_000
