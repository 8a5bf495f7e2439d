"""InfluxDB 3 Core and Enterprise."""

from __future__ import annotations

from typing import Final

from tsaudit.engines.engine import Engine, ServerLimit, Words

_DOCS: Final = "https://docs.influxdata.com/influxdb3"


def _of_product(product: str, page: str, **numbers: int) -> tuple[ServerLimit, ...]:
    return tuple(
        ServerLimit(f"near-limit.{name}", value, f"{_DOCS}/{page}", edition=product) for name, value in numbers.items()
    )


class Influxdb3(Engine):
    """InfluxDB 3, which is queried in SQL and has no index of series."""

    name = "influxdb3"
    connector = "tsaudit.engines.influxdb3.connector:connect"
    adviser = "tsaudit.engines.influxdb3.advice:Influxdb3Advice"
    example_url = "http://localhost:8181"
    icon = "influxdb"
    keywords = ("influxdb3/keywords.txt", "influx/keywords.txt")
    words = Words(
        series="One distinct combination of tag values in a table. InfluxDB 3 keeps no index of series: "
        "many of them cost compression and sorting, not memory.",
    )
    keeps_login_apart = True
    signs_in_by_token = True
    indexes_tag_values = False
    takes_line_protocol = True
    limits = (
        *_of_product("Core", "core/admin/databases/", columns=500, server_measurements=2_000, databases=5),
        *_of_product(
            "Enterprise", "enterprise/admin/databases/", columns=500, server_measurements=10_000, databases=100
        ),
        *_of_product("Cloud Serverless", "cloud-serverless/admin/billing/limits/", columns=200, measurements=500),
        *_of_product("Cloud Dedicated", "cloud-dedicated/admin/databases/", columns=250, measurements=500),
    )
    parameters = {
        "catalog": "which of the server's catalogs to read: `system`, `information_schema` or `influxdb_schema`",
    }
    own_guidelines = frozenset({"B2"})
    not_applicable = {
        **dict.fromkeys(
            ("A1", "A2", "A3", "A5", "A6", "A8", "A9", "C2", "C6", "G5"),
            "tag values are not indexed, so their number does not matter",
        ),
        "B6": "the server rejects a write that would create one",
        "C5": "tag values are always text",
        "D7": "D6 covers the same",
    }


ENGINE: Final = Influxdb3()
