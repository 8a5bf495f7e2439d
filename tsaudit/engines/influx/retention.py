"""How an InfluxDB is told for how long it keeps data."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from datetime import timedelta

from tsaudit.engines.influx.reach import server_name
from tsaudit.engines.rendering import Place
from tsaudit.model.change import SetRetention
from tsaudit.model.plan import Phase, Step
from tsaudit.text import many


def of_policy(place: Place, changes: Sequence[SetRetention]) -> Iterator[Step]:
    """A retention policy of InfluxDB 1.x."""
    database = _database(place)
    for change in changes:
        policy, on = place.quoted([change.policy]), place.quoted([database])
        yield _limited(
            f"Set a duration for retention policy {change.policy} of {database}",
            f"ALTER RETENTION POLICY {policy} ON {on} DURATION {weeks(change.keep)}w SHARD DURATION 7d",
            "influxql",
            change,
        )
        yield Step(
            Phase.PREPARE,
            "Write data that you need longer to a retention policy of its own.",
            f'CREATE RETENTION POLICY "long" ON {on} DURATION INF REPLICATION 1',
            "influxql",
        )


def of_bucket(place: Place, changes: Sequence[SetRetention]) -> Iterator[Step]:
    """A bucket of InfluxDB 2.x."""
    for change in changes:
        yield _limited(
            f"Set a retention period for bucket {place.database}, with its ID from `influx bucket list`",
            f"influx bucket update --id ID --retention {weeks(change.keep)}w --shard-group-duration 7d",
            "sh",
            change,
        )
        yield Step(
            Phase.PREPARE,
            "Write data that you need longer to a bucket of its own.",
            "influx bucket create --name long --retention 0",
            "sh",
        )


def of_database(place: Place, changes: Sequence[SetRetention]) -> Iterator[Step]:
    """A database of InfluxDB 3, by the tool of its product."""
    for change in changes:
        days, name = round(change.keep / timedelta(days=1)), shlex.quote(place.database)
        if place.profile.edition == "Core":
            yield Step(
                Phase.WRITE,
                "Core sets a retention period only when a database is created: create another one, and write "
                "to it from then on.",
            )
            yield Step(
                Phase.PREPARE,
                "Create a database with a retention period.",
                f"influxdb3 create database --retention-period {days}d {shlex.quote(f'{place.database}_{days}d')}",
                "sh",
            )
            continue
        text = f"influxdb3 update database --database {name} --retention-period {days}d"
        if "Dedicated" in place.profile.edition:
            text = f"influxctl database update --retention-period {days}d {name}"
        if "Serverless" in place.profile.edition:
            text = f"influx bucket update --id ID --retention {days}d"
        yield _limited(f"Set a retention period for database {place.database}", text, "sh", change)
        yield Step(Phase.PREPARE, "Write data that you need longer to a database of its own.")


def _limited(what: str, text: str, language: str, change: SetRetention) -> Step:
    age = many(round(change.keep / timedelta(days=1)), "day")
    return Step(
        Phase.REMOVE,
        f"{what}: first decide how long the data is needed. Older shards are deleted at once.",
        text,
        language,
        can_undo=False,
        loses=f"all data older than {age}; how much that is is not known: only the newest data was read",
    )


def weeks(keep: timedelta) -> int:
    """Whole weeks, at least one."""
    return max(round(keep / timedelta(weeks=1)), 1)


def _database(place: Place) -> str:
    known = next((d for d in place.profile.databases if d.name == place.database), None)
    return server_name(known) if known else place.database
