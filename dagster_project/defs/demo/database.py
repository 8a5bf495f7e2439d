"""The demo's database as its owners have it in Dagster: an asset that grows by a day each morning."""

from datetime import UTC, datetime

import dagster as dg

from dagster_project.demo import CONFIG, POOL
from dagster_project.world import World
from tsaudit.config import file as config_file


@dg.asset(
    key=["demo", "database"],
    group_name="demo",
    kinds={"duckdb"},
    pool=POOL,
    description="An invented company's tables. Writes the days that are missing up to today (UTC).",
)
def database() -> dg.MaterializeResult[None]:
    world = World.of(config_file.load(CONFIG))
    days = world.missing(until=datetime.now(UTC).date())
    for day in days:
        world.advance(day)
    return dg.MaterializeResult(metadata={"days_written": len(days), "newest_day": str(world.last_day())})


morning = dg.ScheduleDefinition(
    name="demo_database",
    cron_schedule="30 5 * * *",
    target=[database],
)
