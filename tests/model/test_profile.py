"""A profile that does not hold everything claims no whole."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import a_measurement, a_profile
from tsaudit.model.figures import Gap, Reason, TableKind
from tsaudit.model.jsonfile import in_parts, to_json
from tsaudit.model.profile import Database, Profile
from tsaudit.model.timeline import figures


def two_databases(gap: Gap | None) -> Profile:
    profile = a_profile(a_measurement(series=3), a_measurement(database="more", series=4))
    return replace(profile, gaps=(gap,) if gap else ())


def counts(profile: Profile) -> dict[tuple[str, str], float]:
    return {(f.name, f.subject.database): f.value for f in figures(profile) if not f.subject.measurement}


def test_series_when_all_is_listed_are_the_sum() -> None:
    whole = counts(two_databases(None))
    assert whole == {
        ("series", ""): 7,
        ("measurements", ""): 2,
        ("measurements", "main"): 1,
        ("measurements", "more"): 1,
    }


@pytest.mark.parametrize("reason", [Reason.TIMED_OUT, Reason.OVER_BUDGET, Reason.DENIED])
def test_series_when_a_database_is_listed_in_part_are_not_known(reason: Reason) -> None:
    profile = two_databases(Gap("measurements", reason, "not looked at", "more"))
    assert profile.series is None
    assert counts(profile) == {("measurements", "main"): 1}


def test_series_when_nothing_is_listed_are_not_none_at_all_but_not_known() -> None:
    nothing = a_profile(measurements=(), databases=(), gaps=(Gap("measurements", Reason.FAILED, "no database"),))
    assert nothing.series is None
    assert counts(nothing) == {}


def test_series_when_the_database_counts_itself_are_known_however_few_are_listed() -> None:
    profile = two_databases(Gap("measurements", Reason.OVER_BUDGET, "1 of 2 not looked at", "more"))
    profile = replace(
        profile, databases=(Database("main"), replace(profile.databases[1], series=a_measurement().series))
    )
    assert profile.series == 3 + 3


def test_gap_of_another_fact_or_measurement_leaves_the_whole_known() -> None:
    for gap in (Gap("row_count", Reason.FAILED, "x", "more"), Gap("measurements", Reason.FAILED, "x", "more", "cpu")):
        assert two_databases(gap).series == 7


@pytest.mark.parametrize("name", ["cpu", '"measurements":[]', "cut \ud83d off"])
def test_parts_of_a_profile_are_its_json(name: str) -> None:
    profile = replace(a_profile(a_measurement(name), a_measurement("other")), target=name)
    assert b"".join(in_parts(profile)) == to_json(profile)
    assert b"".join(in_parts(a_profile())) == to_json(a_profile())


def test_series_of_a_database_without_measurements_are_not_known() -> None:
    """Tables that were dropped, or not created yet: no series were counted, rather than 0."""
    empty = replace(a_profile(), measurements=())
    assert empty.databases
    assert empty.series is None
    assert ("series", "") not in counts(empty)


def test_series_of_a_target_of_events_only_are_none_to_count() -> None:
    event = replace(a_measurement(), kind=TableKind.EVENTS, series=None)
    assert a_profile(event).series is None
