"""What the days before say once known incidents are left out."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import DAY, NOW, a_count, a_measurement, a_profile, a_source
from tsaudit.collect import of_its_day
from tsaudit.model.figures import Count, How, Subject
from tsaudit.model.profile import Database
from tsaudit.model.server import StoredQuery
from tsaudit.model.timeline import Episode, Figure, Point, Timeline, figures, figures_of_its_day

REQUESTS = Subject("main", "requests")
FLAT = (100.0, 100.0, 100.0)


def points(*values: float) -> tuple[Point, ...]:
    return tuple(Point(DAY + timedelta(days=n), value) for n, value in enumerate(values))


def days_left(*values: float, subject: Subject = REQUESTS, code: str = "CAR004", of: Subject = REQUESTS) -> list[int]:
    """Numbers of the days left, where an incident of CAR004 at `of` lasted from day 3 to before day 6."""
    episode = Episode("CAR004", of, DAY + timedelta(days=3), DAY + timedelta(days=6))
    timeline = Timeline(points={("series", subject): points(*values)}, episodes=(episode,))
    return [(point.day - DAY).days for point in timeline.usual("series", subject, code)]


def test_what_came_and_went_is_left_out() -> None:
    assert days_left(*FLAT, 200, 900, 900, 100, 110) == [0, 1, 2, 6, 7]


@pytest.mark.parametrize("after", [900.0, 126.0])
def test_a_level_that_stayed_is_the_level(after: float) -> None:
    assert days_left(*FLAT, 200, 900, 900, after, after) == list(range(8))


@pytest.mark.parametrize("values", [(*FLAT, 200.0, 900.0, 900.0), ()])
def test_nothing_is_left_out_while_it_is_not_seen_what_came_after(values: tuple[float, ...]) -> None:
    assert days_left(*values) == list(range(len(values)))


def test_what_was_always_there_has_no_other_level() -> None:
    episode = Episode("CAR004", REQUESTS, DAY, DAY + timedelta(days=2))
    timeline = Timeline(points={("series", REQUESTS): points(900, 900, 100)}, episodes=(episode,))
    assert timeline.usual("series", REQUESTS, "CAR004") == points(900, 900, 100)


@pytest.mark.parametrize("whole", [Subject(), Subject("main")])
def test_an_incident_of_a_part_is_one_of_the_whole(whole: Subject) -> None:
    assert days_left(*FLAT, 200, 900, 900, 100, subject=whole) == [0, 1, 2, 6]


@pytest.mark.parametrize("elsewhere", [Subject("other", "requests"), Subject("main", "cpu"), Subject("main")])
def test_incidents_elsewhere_leave_nothing_out(elsewhere: Subject) -> None:
    assert days_left(*FLAT, 200, 900, 900, 100, of=elsewhere) == list(range(7))


def test_incidents_of_other_rules_leave_nothing_out() -> None:
    assert days_left(*FLAT, 200, 900, 900, 100, code="CAR001") == list(range(7))


@pytest.mark.parametrize(
    ("first", "own", "how", "error"),
    [
        (a_count(100), None, How.EXACT, None),
        (a_count(100, How.ESTIMATE, standard_error=3.0), None, How.ESTIMATE, 5.0),
        (a_count(100, How.ESTIMATE), None, How.ESTIMATE, None),
        (a_count(100, How.ESTIMATE, standard_error=3.0), a_count(150), How.EXACT, None),
    ],
)
def test_series_of_the_target_are_as_sure_as_those_they_are_the_sum_of(
    first: Count, own: Count | None, how: How, error: float | None
) -> None:
    second = a_count(50) if how is How.EXACT else a_count(50, How.ESTIMATE, standard_error=4.0)
    measurements = (replace(a_measurement("a"), series=first), replace(a_measurement("b"), series=second))
    profile = a_profile(*measurements, databases=(Database("main", series=own),))
    assert next(figures(profile)) == Figure("series", Subject(), 150.0, how, error)


@pytest.mark.parametrize(
    ("engine", "kept"),
    [
        ("duckdb", {"series", "rows", "tag_values", "null_ratio"}),
        ("influxdb1", {"rows", "null_ratio"}),
        ("mongodb", set()),
    ],
)
def test_what_only_the_present_shows_is_no_figure_of_a_past_day(engine: str, kept: set[str]) -> None:
    """Indexes and catalogues know no other time than now, and would make the past look like today."""
    profile = a_profile(a_measurement("requests"), engine=engine)
    assert set(figures_of_its_day(profile)) == set(figures(profile))
    # A schedule that audits a day in the night after it still sees it.
    assert set(figures_of_its_day(replace(profile, collected_at=NOW + timedelta(hours=20)))) == set(figures(profile))
    late = list(figures_of_its_day(of_its_day(replace(profile, collected_at=NOW + timedelta(days=9)))))
    assert {f.name for f in late} == kept & {f.name for f in figures(profile)}


def test_lower_bounds_are_no_figures_of_a_day() -> None:
    """On a day on which all could not be listed there seem to be fewer; on the next, there would be a jump."""

    def named(*measured: str) -> set[str]:
        measurement = a_measurement()
        (tag,) = measurement.tags
        for name in measured:
            part = Count(3, a_source(How.SAMPLED, scope="a part", is_at_least=True))
            if name == "series":
                measurement = replace(measurement, series=part)
            else:
                measurement = replace(measurement, tags=(replace(tag, values=part),))
        found = figures(a_profile(measurement))
        return {one.name for one in found if one.subject.measurement} & {"series", "tag_values"}

    assert named() == {"series", "tag_values"}
    assert named("series") == {"tag_values"}
    assert named("tag_values") == {"series"}


def test_what_each_run_of_a_scheduled_query_read_is_a_figure() -> None:
    queries = (StoredQuery("hourly", "SELECT 1", 5_000, None), StoredQuery("new", "SELECT 1", None, None))
    found = [f for f in figures(a_profile(stored_queries=queries)) if f.name == "bytes_scanned"]
    assert found == [Figure("bytes_scanned", Subject("", "hourly"), 5_000.0, How.EXACT)]
