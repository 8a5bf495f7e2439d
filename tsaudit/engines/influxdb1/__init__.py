"""InfluxDB 1.x."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tsaudit.engines.engine import LocalServer, ServerLimit, Statements, Words
from tsaudit.engines.influx import TELEGRAF, InfluxEngine

if TYPE_CHECKING:
    from tsaudit.engines.advice import Advice
    from tsaudit.engines.connection import Access, Connection
    from tsaudit.model.profile import Profile


_CONFIGURATION: Final = "https://docs.influxdata.com/influxdb/v1/administration/config/"
_LIMITS: Final = (
    ServerLimit(
        "high-series-cardinality.max_series",
        1_000_000,
        f"{_CONFIGURATION}#max-series-per-database--1000000",
        setting="max_series_per_database",
        is_enforced=None,
    ),
    ServerLimit(
        "unbounded-tag.engine_values",
        100_000,
        f"{_CONFIGURATION}#max-values-per-tag--100000",
        setting="max_values_per_tag",
        is_enforced=None,
    ),
)


class Influxdb1(InfluxEngine):
    """InfluxDB 1.x."""

    name = "influxdb1"
    shard_duration_statement = "ALTER RETENTION POLICY {policy} ON {database} SHARD DURATION {hours}h"
    example_url = "http://localhost:8086"
    words = Words(
        measurement="measurement",
        series="One measurement with one set of tag values. Fields do not count, although InfluxDB's "
        "documentation includes the field key: the index and `SHOW SERIES` do not.",
    )
    local = LocalServer(8086, "/ping", re.compile(r"^v*1\."), "http://127.0.0.1:8086", header="X-Influxdb-Version")
    statements = Statements(
        make=(r"\bINTO (\S+\.)?\"<name>\"", TELEGRAF),
        remove=(r"\bDROP MEASUREMENT \"<name>\"",),
    )
    limits = (*_LIMITS, *(replace(limit, plan="influxdb1-default") for limit in _LIMITS))
    parameters = {
        "several": "the names of measurements to query together; empty: only `measurement`",
        "named_policy": "the retention policy to name in the statement; empty: the default one, or the URL names it",
    }

    def connect(self, access: Access) -> AbstractContextManager[Connection]:
        from tsaudit.engines.influxdb1 import connector

        return connector.connect(access)

    def enforces_limits(self, profile: Profile) -> bool | None:
        # Only the index in memory enforces limits. The index on disk never rejects a series, whatever the settings are.
        settings = profile.server.settings if profile.server else {}
        in_memory = settings.get("index_in_memory")
        if in_memory is not None:
            return bool(in_memory)
        return False if _is_above_a_limit(profile, settings) else None

    def advice(self) -> type[Advice]:
        from tsaudit.engines.influxdb1.advice import Influxdb1Advice

        return Influxdb1Advice


def _is_above_a_limit(profile: Profile, settings: Mapping[str, float]) -> bool:
    """Whether any figure is above a limit of the server. The index in memory, which enforces limits, would prevent
    that.
    """
    series, values = settings.get("max_series_per_database"), settings.get("max_values_per_tag")
    databases = (one.series.value for one in profile.databases if one.series)
    counted = (tag.values for m in profile.measurements for tag in m.tags)
    tags = (count.value for count in counted if count and not count.standard_error)
    return bool((series and any(n > series for n in databases)) or (values and any(n > values for n in tags)))


ENGINE: Final = Influxdb1()
