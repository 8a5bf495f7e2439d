"""Whether values come and go, on rows of which it is known what made them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.builders import a_source, a_tag
from tsaudit.analysis.cardinality.fleets import is_churn, is_fleet, keeps_coming, ongoing, recurs
from tsaudit.analysis.rows.over_time import turnover_of
from tsaudit.model.columns import Turnover

MEASURED = a_source()
MINUTE = 60_000_000


def turnover(rows: Sequence[tuple[int, int, int]], by: tuple[str, ...] | None = ()) -> Turnover | None:
    """Of rows (source, minute, value), in whatever order. `by`: None for rows of a few series."""
    source, minute, value = np.random.default_rng(1).permutation(np.array(rows, np.int64)).T
    return turnover_of(value, source, minute * MINUTE, by=by, measured=MEASURED)


def is_seen_as(seen: Turnover | None) -> list[str]:
    tag = a_tag("x", 500, turnover=seen)
    words = {"coming": keeps_coming, "recurring": recurs, "fleet": is_fleet, "churn": is_churn}
    return [word for word, holds in words.items() if holds(tag)]


def test_progress_of_jobs_combines_known_values_anew() -> None:
    """Each of 12 jobs runs for an hour, one after the other, from 0 to 100 percent."""
    seen = turnover([(job, 60 * job + at, at * 100 // 60) for job in range(12) for at in range(60)])
    assert seen is not None
    assert (seen.sources, seen.first, seen.again, seen.new, seen.lasting_ratio) == (12, 240, 0, 240, 0.0)
    assert seen.new_values == 20
    assert is_seen_as(seen) == []
    assert ongoing(a_tag("progress", 60, turnover=seen)) == 1.0


def test_rooms_of_which_each_has_its_own_reading_are_a_list() -> None:
    """A temperature as a tag, too: each of its values is seen in room after room, but no room is new."""
    draw = np.random.default_rng(4)
    rows = [(int(draw.normal(2_000, 300)), at, room) for at in range(200) for room in range(80)]
    seen = turnover(rows)
    assert seen is not None
    assert 2 * seen.new > seen.first > 4 * seen.again
    assert seen.new_values == 0
    assert is_seen_as(seen) == []


def test_number_of_each_job_keeps_coming() -> None:
    seen = turnover([(slot, 10 * job + at, job) for slot in range(4) for job in range(30) for at in range(10)])
    assert is_seen_as(seen) == ["coming"]


def test_machine_that_moves_among_eight_hosts_recurs() -> None:
    moves = np.random.default_rng(3).integers(0, 8, (20, 60))
    seen = turnover([(m, 30 * move + at, moves[m, move]) for m in range(20) for move in range(60) for at in range(30)])
    assert is_seen_as(seen) == ["recurring", "fleet"]


def test_texts_that_a_server_writes_each_hour_recur() -> None:
    seen = turnover([(server, 60 * hour, text) for server in range(3) for hour in range(48) for text in range(90)])
    assert seen is not None
    assert (seen.first, seen.again, seen.new) == (270, 270, 0)
    assert is_seen_as(seen) == ["recurring", "fleet"]


def test_pods_that_others_replace_are_churn() -> None:
    """Ten at a time in each of three namespaces, each for four hours."""
    rows = [
        (space, 240 * life + at, 10 * life + pod)
        for space in range(3)
        for life in range(12)
        for pod in range(10)
        for at in range(0, 240, 5)
    ]
    assert is_seen_as(turnover(rows)) == ["coming", "churn"]


def test_fleet_that_reports_seldom_recurs() -> None:
    """1,000 meters, each a minute after the one before, round and round."""
    seen = turnover([(0, at, at % 1_000) for at in range(3_000)])
    assert is_seen_as(seen) == ["recurring", "fleet"]


def test_fleet_that_grows_neither_keeps_coming_nor_is_all_there() -> None:
    seen = turnover([(0, at, meter) for meter in range(100) for at in range(meter * 10, 1_000, 10)])
    assert seen is not None
    assert (seen.first, seen.again, seen.new) == (34, 34, 33)
    assert not {"coming", "recurring"} & {*is_seen_as(seen)}


@pytest.mark.parametrize("instants", [0, 1, 5])
def test_nothing_is_told_of_sources_with_few_instants(instants: int) -> None:
    assert not instants or turnover([(0, at, at) for at in range(instants)]) is None
    empty = np.zeros(0, np.int64)
    assert turnover_of(empty, empty, empty, measured=MEASURED) is None


def test_sources_of_different_length_count_alike() -> None:
    short = [(0, at, at) for at in range(6)]
    long = [(1, 100 + at, at // 100) for at in range(600)]
    seen = turnover([*short, *long, (2, 0, 0), (2, 1, 1)])
    assert seen is not None
    assert (seen.sources, seen.first, seen.again, seen.new) == (2, 4, 0, 4)


INSTANTS = 60


def changing(at: Sequence[Sequence[int]]) -> Turnover:
    """Sources that each have the same value until they change to one of their own, at these instants."""
    begun = [[sum(minute >= one for one in changes) for minute in range(INSTANTS)] for changes in at]
    rows = [
        (source, minute, own and 1_000 * source + own)
        for source, each in enumerate(begun)
        for minute, own in enumerate(each)
    ]
    seen = turnover(rows)
    assert seen is not None
    return seen


@pytest.mark.parametrize(
    "at",
    [
        # A version is rolled out in the last third, or in the course of everything that was read.
        [[50]] * 100,
        [[change] for change in np.random.default_rng(5).integers(1, INSTANTS, 100).tolist()],
        # Twenty clusters fail over, each at a time of its own; racks are renamed one after the other.
        [[change] for change in np.random.default_rng(6).integers(30, INSTANTS, 20).tolist()],
        [[20 + rack] for rack in range(40)],
    ],
)
def test_sources_that_changed_once_are_a_step(at: Sequence[Sequence[int]]) -> None:
    seen = changing(at)
    assert "coming" not in is_seen_as(seen)
    assert ongoing(a_tag("x", 500, turnover=seen)) == 0.0


def test_hosts_that_were_all_renamed_at_once_are_a_step() -> None:
    """Of one source, because nothing else tells them apart."""
    seen = turnover([(0, at, host + (500 if at >= 40 else 0)) for host in range(500) for at in range(INSTANTS)])
    assert seen is not None
    assert (seen.first, seen.again, seen.new, seen.going_on, seen.pairs) == (500, 0, 500, 0, 1_000)
    assert "coming" not in is_seen_as(seen)


@pytest.mark.parametrize(("mean", "least"), [(3.0, 0.8), (10.0, 0.9)])
def test_sources_that_change_again_and_again_go_on(mean: float, least: float) -> None:
    """At random: some of them have changed once only."""
    chance = np.random.default_rng(7)
    seen = changing([sorted(chance.integers(1, INSTANTS, chance.poisson(mean)).tolist()) for _ in range(200)])
    assert "coming" in is_seen_as(seen)
    assert least <= ongoing(a_tag("x", 500, turnover=seen)) <= 1.0


def test_leak_that_began_an_hour_ago_goes_on() -> None:
    seen = turnover([(0, at, at if at >= 45 else 0) for at in range(INSTANTS)] * 2)
    assert seen is not None
    assert (seen.new, seen.going_on) == (15, 15)
    assert ongoing(a_tag("x", 500, turnover=seen)) == 1.0
    assert ongoing(a_tag("x", 500)) is None


@pytest.mark.parametrize("begins", [0, 20 * 1_440, 58 * 1_440])
def test_busy_series_does_not_hide_that_values_keep_coming(begins: int) -> None:
    """A batch job a day for 60 days, and a service that writes each minute of two days and so most of the instants."""
    jobs = [(0, 1_440 * day + at, day) for day in range(60) for at in (7, 8, 9)]
    seen = turnover([*jobs, *((0, begins + at, 1_000) for at in range(2 * 1_440))], by=None)
    assert seen is not None
    assert seen.new == pytest.approx(20, abs=1)
    assert ongoing(a_tag("alloc", 5_000, turnover=seen)) == 1.0


def test_newest_rows_of_each_source_do_not_show_that_slow_ones_ended() -> None:
    """Of each source, the newest 40 rows are kept: those of fast ones are all newer than nearly all of slow ones."""
    periods = [(1, 90), (60, 50), (1440, 60)]
    ids = [(p, f"{p}-{n}") for p, sources in periods for n in range(sources)]
    rows = [(0, 60_000 - (number * 7) % p - p * at, number) for number, (p, _) in enumerate(ids) for at in range(40)]
    seen = turnover(rows)
    assert seen is not None
    assert seen.new >= 90
    assert seen.again == seen.first
    assert is_seen_as(seen) == []
    ended = turnover([(0, at + 40 * number, number) for number in range(200) for at in range(40)])
    assert is_seen_as(ended) == ["coming"]
