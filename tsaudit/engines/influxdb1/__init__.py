"""InfluxDB 1.x."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tsaudit.engines.engine import Downsampling, Failure, LocalServer, ServerLimit, Words
from tsaudit.engines.influx import InfluxEngine

if TYPE_CHECKING:
    from tsaudit.engines.advice import Advice
    from tsaudit.engines.connection import Access, Connection
    from tsaudit.model.profile import Database, Profile


_CONFIGURATION: Final = "https://docs.influxdata.com/influxdb/v1/administration/config/"
_RAISE: Final = (
    "To gain time, raise `{}` in the section [data] of the configuration, or set 0 for no limit, and "
    "restart the server: each further series then takes memory. The index `tsi1` ignores this setting: set 0 there."
)
_LIMITS: Final = (
    ServerLimit(
        "high-series-cardinality.max_series",
        1_000_000,
        f"{_CONFIGURATION}#max-series-per-database--1000000",
        setting="max_series_per_database",
        is_enforced=None,
        fix=_RAISE.format("max-series-per-database"),
    ),
    ServerLimit(
        "unbounded-tag.engine_values",
        100_000,
        f"{_CONFIGURATION}#max-values-per-tag--100000",
        setting="max_values_per_tag",
        is_enforced=None,
        fix=_RAISE.format("max-values-per-tag"),
    ),
)


class Influxdb1(InfluxEngine):
    """InfluxDB 1.x."""

    name = "influxdb1"
    reads_password_apart = True
    right_to_list = "READ on the database"
    settings_are_for_admins = True
    shard_duration_statement = "ALTER RETENTION POLICY {policy} ON {database} SHARD DURATION {hours}h"
    precisions = {**InfluxEngine.precisions, 1_000: "u"}
    early_deletion = ": `DELETE FROM {table} WHERE time >= '{first}' AND time < '{end}'`"
    example_url = "http://localhost:8086"
    words = Words(
        measurement="measurement",
        series="One measurement with one set of tag values. Fields do not count, although InfluxDB's "
        "documentation includes the field key: the index and `SHOW SERIES` do not.",
    )
    local = LocalServer(8086, "/ping", re.compile(r"^v*1\."), "http://127.0.0.1:8086", header="X-Influxdb-Version")
    failures = {
        "subscriptions_failed": Failure(
            "Writes to subscribers fail",
            "`SHOW STATS FOR 'subscriber'` counts them by destination: drop those of programs that are gone with DROP "
            "SUBSCRIPTION.",
            "Subscribers miss what was written meanwhile.",
        )
    }
    limits = (*_LIMITS, *(replace(limit, plan="influxdb1-default") for limit in _LIMITS))
    parameters = {
        "several": "the names of measurements to query together; empty: only `measurement`",
        "oldest": "whether to return the oldest row instead of the newest",
        "named_policy": "the retention policy to name in the statement; empty: the default one, or the URL names it",
    }

    def connect(self, access: Access) -> AbstractContextManager[Connection]:
        from tsaudit.engines.influxdb1 import connector

        return connector.connect(access)

    def downsamplings(self, profile: Profile) -> Sequence[Downsampling]:
        from tsaudit.engines.influxdb1 import continuous_queries

        return tuple(continuous_queries.downsamplings(profile))

    def redirection(self, query: Downsampling, policy: str) -> str:
        from tsaudit.engines.influxdb1 import continuous_queries

        return continuous_queries.redirection(query, policy)

    def enforces_limits(self, profile: Profile) -> bool | None:
        # Only the index in memory, which is the default, enforces limits. The index on disk never rejects a series,
        # whatever the settings are. Before 1.8, no statement tells which of them it is.
        in_memory = profile.server.settings.get("index_in_memory") if profile.server else None
        return _enforces_by_use(profile) if in_memory is None else bool(in_memory)

    def advice(self) -> type[Advice]:
        from tsaudit.engines.influxdb1.advice import Influxdb1Advice

        return Influxdb1Advice


_MOST_IN_A_WRITE: Final = 10_000
"""Points in a write, at most, as the vendor advises."""
_PART: Final = 0.2
"""Share of a low limit that a write may be at most."""


_LONG: Final = timedelta(days=1)
"""After so long without a dropped point, a tag beyond its limit shows that new values are accepted."""


def _enforces_by_use(profile: Profile) -> bool | None:
    """Whether limits are enforced, as far as what is used of them shows. Only the index in memory drops points where
    one is reached, and only the index on disk goes beyond one. Points are also dropped for other reasons, so what is
    beyond one counts for more. None: nothing shows it.
    """
    shown = {one for database in profile.wholes for one in _shown_by(profile, database)}
    return False if False in shown else True if shown else None


def _shown_by(profile: Profile, database: Database) -> Iterator[bool]:
    server = profile.server
    if server is None:
        return
    is_dropping = bool(server.counted("points_dropped", database.server_name))
    is_long_up = server.started is not None and profile.collected_at - server.started >= _LONG
    limit = server.settings.get("max_series_per_database", 0)
    if limit and database.series:
        # It drops all of a write that would exceed the limit, so there may be so many less.
        yield from _shown(database.series.value, limit - _of_a_write(limit), limit, limit, is_dropping=is_dropping)
    limit = server.settings.get("max_values_per_tag", 0)
    # It compares the values of a tag with the limit before it adds those of a write, so there may be so many more.
    most = limit + _of_a_write(limit)
    for count in (tag.values for m in profile.inside(database) for tag in m.tags):
        if limit and count and not count.standard_error:
            taken = limit if is_long_up else most
            yield from _shown(count.value, limit, most, taken, is_dropping=is_dropping)


def _shown(number: float, least: float, most: float, taken: float, *, is_dropping: bool) -> Iterator[bool]:
    """`least`, `most`: how many there are where more are rejected. `taken`: more than this are accepted, if nothing was
    dropped; if something was, the limit may have been lowered.
    """
    if is_dropping and least <= number <= most:
        yield True
    elif not is_dropping and number > taken:
        yield False


def _of_a_write(limit: float) -> float:
    return min(_MOST_IN_A_WRITE, _PART * limit)


ENGINE: Final = Influxdb1()
