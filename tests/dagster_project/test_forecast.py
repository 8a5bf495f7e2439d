"""The forecast that the demo tells, held against what the demo's applications then write."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import accumulate
from pathlib import Path

import duckdb
import pytest

from dagster_project import tables
from dagster_project.world import World
from tsaudit.collect import collect
from tsaudit.config.settings import Target
from tsaudit.engines.opening import open_connection
from tsaudit.evaluation import evaluate
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Finding
from tsaudit.model.profile import Profile
from tsaudit.model.timeline import Point, Timeline
from tsaudit.policy import LimitPolicy
from tsaudit.rules.cardinality.runaway_cardinality import runaway_cardinality
from tsaudit.run import as_of

pytestmark = pytest.mark.full

FIRST = date(2026, 3, 1)
LIMIT = 100_000
WEEK_IN = tables.DEPLOYMENT + 7
REQUESTS = Subject("main", "http_requests")


def counts_of(world: World, days: int) -> dict[date, int]:
    """How many series of the web shop had been written by the end of each day."""
    for n in range(days):
        world.advance(FIRST + timedelta(days=n))
    columns = "host, region, method, status, path, request_id"
    first_days = f"SELECT {columns}, CAST(min(time) AS DATE) AS day FROM http_requests GROUP BY {columns}"
    with duckdb.connect(str(world.path), read_only=True) as connection:
        begun = dict(connection.sql(f"SELECT day, count(*) FROM ({first_days}) GROUP BY day").fetchall())
    every = [FIRST + timedelta(days=n) for n in range(days)]
    return dict(zip(every, accumulate(begun.get(day, 0) for day in every), strict=True))


def profile_of(world: World, day: date) -> Profile:
    settings = {"name": "demo", "engine": "duckdb", "url": f"duckdb:///{world.path}", "window": "60d"}
    target = Target.model_validate(settings)
    with open_connection(target) as connection:
        return collect(
            target, connection, day=day, wanted=runaway_cardinality.requires | runaway_cardinality.uses, now=as_of(day)
        )


def judged(profile: Profile, counts: dict[date, int]) -> Finding:
    """What the audit of the profile's day says of the web shop, with the days before as history."""
    points = tuple(Point(day, float(count)) for day, count in counts.items() if day < profile.day)
    policy = LimitPolicy(target={"high-series-cardinality.max_series": LIMIT})
    timeline = Timeline(points={("series", REQUESTS): points})
    (result,) = evaluate(profile, timeline, policy, [runaway_cardinality]).results
    return next(finding for finding in result.findings if finding.subject == REQUESTS)


def test_a_week_after_the_deployment_the_forecast_is_near_the_day_the_limit_is_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "EVERY_DAY", ())
    world = World(tmp_path / "demo.duckdb")
    counts = counts_of(world, 60)
    full = min(day for day, count in counts.items() if count >= LIMIT)
    made = FIRST + timedelta(days=WEEK_IN)

    finding = judged(profile_of(world, made), counts)

    assert finding.observed == counts[made]
    assert finding.since == FIRST + timedelta(days=tables.DEPLOYMENT)
    assert finding.forecast is not None
    truth = (full - made).days
    assert truth > 20
    assert finding.forecast.days == pytest.approx(truth, rel=0.2)
