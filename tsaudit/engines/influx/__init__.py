"""What all versions of InfluxDB have in common."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from tsaudit.engines.engine import Engine
from tsaudit.engines.quoting import Language

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tsaudit.model.profile import Measurement
    from tsaudit.model.rows import MisdatedRows


class InfluxEngine(Engine):
    """InfluxDB 1.x and 2.x: fields are stored separately, and tags are in an index of series."""

    icon = "influxdb"
    keeps_login_apart = True
    connects_without_login = True
    measuring = "tsaudit.engines.influx.measuring"
    has_series_index = True
    prunes_ranges = True
    has_costly_series = True
    has_costly_measurements = True
    measurement_price = "measurements, each of which takes memory in every shard, and which no query reads together"
    has_shards = True
    series_price = (
        "600 B of heap for each series, 110 B for each further tag, 300 B if it differs in nearly all series: measured "
        "on InfluxDB 1.6.7 with the index in memory; 60% to 85% of it with the index on disk"
    )
    language = Language.INFLUXQL
    keywords = ("influx/keywords.txt",)
    takes_line_protocol = True
    batched_facts = frozenset({"series_listing", "row_sample", "row_count"})
    own_guidelines = frozenset({"B2", "B6", "C7", "D8"})
    not_applicable = {
        **dict.fromkeys(("D1", "D3", "D4", "D5"), "fields are stored separately, so an absent one costs nothing"),
        "A9": "A5, A6, and C1 cover the values of tags and fields",
        "C5": "tag values are always text",
        "D2": "A2 and A8 cover what tags cost: the series that they make",
        "D7": "D6 covers the same",
        "E4": "A6 covers the same",
        "H4": "F3 covers the same",
    }

    precisions: Mapping[int, str] = {1_000: "us", 1_000_000: "ms", 1_000_000_000: "s"}
    """By how much nanoseconds are too small to the value of `precision` that is right."""

    def misdated_fix(self, found: MisdatedRows, table: str, rows: str) -> str:
        second = timedelta(seconds=1)
        ends = {"first": f"{found.first:%Y-%m-%dT%H:%M:%SZ}", "end": f"{found.last + second:%Y-%m-%dT%H:%M:%SZ}"}
        deletion = self.early_deletion.format(table=table, **ends) if table else ""
        return (
            f"Name the unit in the writer: the parameter `precision={self.precisions[found.factor]}` of the request, "
            "or the setting of that name in Telegraf, Node-RED, or the client library. Stored points cannot be moved: "
            f"write what is still needed again, with each time multiplied by {found.factor:,}, then delete {rows} in "
            f"January 1970{deletion}. A retention would delete them at once, and reject what is written until the unit "
            "is right."
        )

    early_deletion: str = ""
    """What deletes the points of a measurement `{table}` from `{first}` to `{end}`, to be appended to a sentence."""

    def series_bytes(self, measurement: Measurement) -> float | None:
        series = measurement.series.value if measurement.series else 0
        differing = [t for t in measurement.tags if t.values is not None and t.values.value > series / 2]
        further = max(len(measurement.tags) - 1, 0)
        return 600.0 + 110 * max(further - len(differing), 0) + 300 * len(differing)
