"""How long PostgreSQL and TimescaleDB keep rows: what drops old ones, and what makes room."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from tsaudit.engines.quoting import quote_text
from tsaudit.engines.rendering import Place
from tsaudit.engines.sql.types import is_integer, is_text
from tsaudit.model.change import SetRetention
from tsaudit.model.plan import Phase, Step
from tsaudit.text import many

_COMPRESSED: Final = "timescaledb.compress"
"""The option that says whether a hypertable can be compressed."""
_COMPRESS_AFTER: Final = "compress_after"
"""The age at which a policy compresses chunks."""
_A_DAY_S: Final = 86_400


def keep_for(place: Place, changes: Sequence[SetRetention]) -> Iterator[Step]:
    """A policy where TimescaleDB has one; else what is dropped or deleted by hand or by a job."""
    for change in changes:
        name, days = place.here.name, round(change.keep / timedelta(days=1))
        loses = f"all rows of {name} older than {many(days, 'day')}; how many is not known: only the window was read"
        agree = f"Agree on how long the rows of {name} are needed; what is dropped cannot be brought back."
        if change.policy:
            yield from _compressed(place)
            yield from _policy(place, days, agree, loses)
        elif place.here.partitioning is not None:
            yield Step(
                Phase.REMOVE,
                f"{agree} Detach each partition that is too old (ALTER TABLE ... DETACH PARTITION ... CONCURRENTLY), "
                "archive it if need be, and drop it.",
                can_undo=False,
                loses=loses,
            )
        else:
            yield Step(
                Phase.REMOVE,
                f"{agree} Delete old rows, one day at a time; divide the table by time (PARTITION BY RANGE), so that "
                "they go with their partition, at once.",
                _delete(place, days),
                "sql",
                can_undo=False,
                locks="writers of the same rows",
                loses=loses,
            )


def _policy(place: Place, days: int, agree: str, loses: str) -> Iterator[Step]:
    text, counts = quote_text(place.profile.engine, place.table()), is_integer(place.here.time_type or "")
    age = f"BIGINT '{days * _A_DAY_S}'" if counts else f"INTERVAL '{days} days'"
    needed = (
        " Tell TimescaleDB what is now (set_integer_now_func), and give ages as the column counts, here in seconds."
    )
    yield Step(
        Phase.REMOVE,
        agree + (needed if counts else ""),
        f"SELECT add_retention_policy({text}, drop_after => {age});",
        "sql",
        can_undo=False,
        loses=loses,
    )


def _compressed(place: Place) -> Iterator[Step]:
    """Policies that compress old chunks, where nothing does so yet."""
    options = place.here.options or {}
    if _COMPRESSED not in options or _COMPRESS_AFTER in options:
        return
    text, counts = quote_text(place.profile.engine, place.table()), is_integer(place.here.time_type or "")
    month = f"BIGINT '{30 * _A_DAY_S}'" if counts else "INTERVAL '1 month'"
    told = []
    if options[_COMPRESSED] == "false":
        segments = "/*, timescaledb.compress_segmentby = 'the tag that queries name' */"
        told.append(f"ALTER TABLE {place.table()} SET (timescaledb.compress {segments});")
    told.append(f"SELECT add_compression_policy({text}, compress_after => {month});")
    yield Step(Phase.PREPARE, "What is kept takes less room compressed.", "\n".join(told), "sql")


def _delete(place: Place, days: int) -> str:
    """Deletes the rows of the oldest day that is too old, by the type of the time."""
    time, kind = place.quoted([place.here.time_column or "time"]), place.here.time_type or ""
    limit = f"now() - INTERVAL '{days} days'"
    if is_integer(kind):
        limit, value = f"extract(EPOCH FROM {limit}) /* * 1000 where it counts milliseconds */", time
        span = str(_A_DAY_S)
    else:
        value = f"CAST({time} AS TIMESTAMPTZ)" if is_text(kind) else time
        span = "INTERVAL '1 day'"
    oldest = f"(SELECT min({value}) FROM {place.table()})"  # noqa: S608 -- shown, never run
    return f"DELETE FROM {place.table()} WHERE {value} < {limit} AND {value} < {oldest} + {span};"  # noqa: S608
