"""InfluxDB 1.x."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tsaudit.engines.engine import Downsampling, Failure, LocalServer, ServerLimit, Words
from tsaudit.engines.influx import InfluxEngine

if TYPE_CHECKING:
    from tsaudit.model.profile import Database, Profile


_CONFIGURATION: Final = "https://docs.influxdata.com/influxdb/v1/administration/config/"
_RAISE: Final = (
    "To gain time, raise `{}` in the section [data] of the configuration, or set 0 for no limit, and "
    "restart the server: each further series then takes memory."
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
    connector = "tsaudit.engines.influxdb1.connector:connect"
    adviser = "tsaudit.engines.influxdb1.advice:Influxdb1Advice"
    reads_password_apart = True
    right_to_list = "READ on the database"
    settings_are_for_admins = True
    reads_each_type = True
    shard_duration_statement = "ALTER RETENTION POLICY {policy} ON {database} SHARD DURATION {hours}h"
    precisions = {**InfluxEngine.precisions, 1_000: "u"}
    early_deletion = ": `DELETE FROM {table} WHERE time >= '{first}' AND time < '{end}'`"
    example_url = "http://localhost:8086"
    words = Words(
        measurement="measurement",
        series="One measurement with one set of tag values. Fields do not count, although InfluxDB's "
        "documentation includes the field key: the index and `SHOW SERIES` do not.",
    )
    local = LocalServer(
        8086, "/ping", re.compile(r"^(v*1\.|unknown$)"), "http://127.0.0.1:8086", header="X-Influxdb-Version"
    )
    failures = {
        "subscriptions_failed": Failure(
            "Writes to subscribers fail",
            "`SHOW STATS FOR 'subscriber'` counts them by destination: drop those of programs that are gone with DROP "
            "SUBSCRIPTION.",
            "Subscribers miss what was written meanwhile.",
        )
    }
    measurements_per_statement: Mapping[str, int] = {"early_rows": 1_000}
    limits = (*_LIMITS, *(replace(limit, plan="influxdb1-default") for limit in _LIMITS))
    parameters = {
        "several": "the names of measurements to query together; empty: only `measurement`",
        "oldest": "whether to return the oldest row instead of the newest",
        "named_policy": "the retention policy to name in the statement; empty: the default one, or the URL names it",
    }

    def writes_again(self, profile: Profile, database: Database, measurement: str) -> bool:
        from tsaudit.engines.influxdb1 import continuous_queries

        return continuous_queries.writes_again(profile, database, measurement)

    def downsamplings(self, profile: Profile) -> Sequence[Downsampling]:
        from tsaudit.engines.influxdb1 import continuous_queries

        return tuple(continuous_queries.downsamplings(profile))

    def redirection(self, query: Downsampling, policy: str) -> str:
        from tsaudit.engines.influxdb1 import continuous_queries

        return continuous_queries.redirection(query, policy)

    def repetition(self, query: Downsampling, times: str) -> str:
        from tsaudit.engines.influxdb1 import continuous_queries

        return continuous_queries.repetition(query, times)

    def enforces_limits(self, profile: Profile) -> bool | None:
        # Only the index in memory, which is the default, enforces limits. The index on disk never rejects a series,
        # whatever the settings are.
        in_memory = profile.server.settings.get("index_in_memory") if profile.server else None
        return None if in_memory is None else bool(in_memory)


ENGINE: Final = Influxdb1()
