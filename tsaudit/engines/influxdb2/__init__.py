"""InfluxDB 2.x."""

from __future__ import annotations

import re
from typing import Final

from tsaudit.engines.engine import Failure, LocalServer, ServerLimit, Words
from tsaudit.engines.influx import InfluxEngine

_ACCOUNTS: Final = "https://docs.influxdata.com/influxdb/cloud/account-management/limits/"
_SERIES: Final = "https://docs.influxdata.com/influxdb/cloud/reference/glossary/#series"
_PLANS: Final = {"influxdb-cloud-free": 10_000, "influxdb-cloud-usage": 1_000_000}
"""Plans of InfluxDB Cloud (TSM), with the maximum number of series in an account."""


class Influxdb2(InfluxEngine):
    """InfluxDB 2.x and InfluxDB Cloud (TSM)."""

    name = "influxdb2"
    connector = "tsaudit.engines.influxdb2.connector:connect"
    adviser = "tsaudit.engines.influxdb2.advice:Influxdb2Advice"
    shard_duration_statement = "influx bucket update --id ID --shard-group-duration {hours}h"
    example_url = "http://localhost:8086?org=acme"
    failures = {
        "tasks_failed": Failure(
            "Tasks fail",
            "`GET /api/v2/tasks` lists the tasks with their `lastRunStatus`, and the log of a run says why it failed: "
            "correct the script, then run it for the times that it missed, while their points are there.",
            "What the task should have written is missing, and cannot be computed once its points have expired.",
        )
    }
    words = Words(
        database="bucket",
        measurement="measurement",
        retention="bucket",
        series="One measurement with one set of tag values within a bucket. Fields do not count; InfluxDB "
        "Cloud does count them and shows higher numbers.",
    )
    local = LocalServer(8086, "/ping", re.compile(r"^v*2\."), "http://127.0.0.1:8086", header="X-Influxdb-Version")
    signs_in_by_token = True
    right_to_list = "`read` on the bucket"
    limits = tuple(
        limit
        for plan, series in _PLANS.items()
        for limit in (
            ServerLimit("high-series-cardinality.max_series", series, _ACCOUNTS, plan=plan),
            ServerLimit("high-series-cardinality.count_fields", 1, _SERIES, plan=plan),
        )
    )
    parameters = {
        "org": "the organization that the address names; empty for the token's own",
        "dbrp": "the bucket's names in InfluxQL: `database`, `policy`, and whether the policy is the `default`",
        "several": "the names of measurements to query together; empty: only `measurement`",
        "measurement": "in files about all measurements: the measurement to query, if each needs its own statement",
    }


ENGINE: Final = Influxdb2()
