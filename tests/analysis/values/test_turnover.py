"""Whether values come and go, on rows of which it is known what made them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.builders import a_source, a_tag
from tsaudit.analysis.cardinality.fleets import is_churn, is_fleet, keeps_coming, recurs
from tsaudit.analysis.values.turnover import turnover_of
from tsaudit.model.profile import Turnover

MEASURED = a_source()
MINUTE = 60_000_000


def turnover(rows: Sequence[tuple[int, int, int]]) -> Turnover | None:
    """Of rows (source, minute, value), in whatever order."""
    source, minute, value = np.random.default_rng(1).permutation(np.array(rows, np.int64)).T
    return turnover_of(value, source, minute * MINUTE, measured=MEASURED)


def is_seen_as(seen: Turnover | None) -> list[str]:
    tag = a_tag("x", 500, turnover=seen)
    words = {"coming": keeps_coming, "recurring": recurs, "fleet": is_fleet, "churn": is_churn}
    return [word for word, holds in words.items() if holds(tag)]


def test_progress_of_jobs_keeps_coming_though_its_values_recur() -> None:
    """Each of 12 jobs runs for an hour, one after the other, from 0 to 100 percent."""
    seen = turnover([(job, 60 * job + at, at * 100 // 60) for job in range(12) for at in range(60)])
    assert seen is not None
    assert (seen.sources, seen.first, seen.again, seen.new, seen.lasting_ratio) == (12, 240, 0, 240, 0.0)
    assert is_seen_as(seen) == ["coming"]


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
