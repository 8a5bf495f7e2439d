"""Amazon Timestream for LiveAnalytics."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tsaudit.engines.engine import Engine, ServerLimit, Words

if TYPE_CHECKING:
    from tsaudit.model.columns import Tag
    from tsaudit.model.finding import Impact
    from tsaudit.model.profile import Measurement


_GUIDE: Final = "https://docs.aws.amazon.com/timestream/latest/developerguide"
MOST_MEASURES: Final = 1_024
"""Maximum number of measures of a table."""
_QUOTAS: Final = {
    "fields": MOST_MEASURES,
    "tags": 128,
    "measure_names": 8_192,
    "server_measurements": 50_000,
    "databases": 500,
}


class Timestream(Engine):
    """Amazon Timestream for LiveAnalytics."""

    name = "timestream"
    connector = "tsaudit.engines.timestream.connector:connect"
    adviser = "tsaudit.engines.timestream.advice:TimestreamAdvice"
    example_url = "timestream://eu-central-1"
    extra = "timestream"
    icon = "aws"
    keywords = ("timestream/keywords.txt",)
    words = Words(
        tag="dimension",
        series="One distinct combination of dimension values; Timestream itself also includes the measure name.",
    )
    measuring = "tsaudit.engines.timestream.measuring"
    keeps_login_apart = True
    default_schema = ""
    describes_singly = True
    has_rights_by_table = True
    limits = (
        *(ServerLimit(f"near-limit.{name}", value, f"{_GUIDE}/ts-limits.html") for name, value in _QUOTAS.items()),
        # LiveAnalytics has no such limit. AWS recommends moving to InfluxDB 2 if there are fewer series keys, otherwise
        # to InfluxDB 3.
        ServerLimit(
            "high-series-cardinality.max_series",
            10_000_000,
            f"{_GUIDE}/AmazonTimestreamForLiveAnalytics-availability-change.html",
            is_enforced=False,
        ),
    )
    parameters = {
        "measurement": "in files about all measurements: the measurement to query, if each needs its own statement",
    }
    own_guidelines = frozenset({"B2", "C4", "D8", "F4", "G1", "G2", "G3", "G4", "G5", "G6", "G7"})
    not_applicable = {
        "A9": "G5 covers the values of dimensions",
        "C5": "C4 covers dimensions",
        "C7": "a record with another type is rejected",
        "E4": "G5 covers the same",
        "H5": "the API does not report bytes of a table, and no disk can fill up: storage is billed",
    }

    def names_itself(self, column: str) -> bool:
        # The name of the column in single-value records, which is followed by the type.
        return column.startswith("measure_value::")

    def tag_cost(self, measurement: Measurement, tag: Tag, days: float, horizon: timedelta) -> Impact | None:
        from tsaudit.engines.timestream import prices

        return prices.of_dimension(measurement, tag, days, horizon)


ENGINE: Final = Timestream()
