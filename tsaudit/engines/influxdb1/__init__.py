"""InfluxDB 1.x."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final

from tsaudit.engines.engine import LocalServer, Statements, Words
from tsaudit.engines.influx import TELEGRAF, InfluxEngine

if TYPE_CHECKING:
    from tsaudit.engines.advice import Advice
    from tsaudit.engines.connection import Connection
    from tsaudit.model.profile import Profile


class Influxdb1(InfluxEngine):
    """InfluxDB 1.x."""

    name = "influxdb1"
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
    parameters = {
        "several": "the names of measurements to query together; empty: only `measurement`",
        "named_policy": "the retention policy to name in the statement; empty: the default one, or the URL names it",
    }

    def connect(
        self, url: str, *, username: str | None, password: str | None, options: Mapping[str, Any]
    ) -> AbstractContextManager[Connection]:
        from tsaudit.engines.influxdb1 import connector

        return connector.connect(url, username=username, password=password, options=options)

    def enforces_limits(self, profile: Profile) -> bool | None:
        # Only the index in memory does. The one on disk never rejects a series, whatever the settings say.
        in_memory = profile.server.settings.get("index_in_memory") if profile.server else None
        return None if in_memory is None else bool(in_memory)

    def advice(self) -> type[Advice]:
        from tsaudit.engines.influxdb1.advice import Influxdb1Advice

        return Influxdb1Advice


ENGINE: Final = Influxdb1()
