"""InfluxDB 3 Core and Enterprise."""

from typing import Final

from tsaudit.engines.engine import Engine, Statements, Words
from tsaudit.engines.influx.statements import TELEGRAF
from tsaudit.engines.influxdb3.guidelines import MOOT, OWN

ENGINE: Final = Engine(
    name="influxdb3",
    connector="tsaudit.engines.influxdb3.connector",
    advice="tsaudit.engines.influxdb3.advice",
    statements=Statements(
        make=(TELEGRAF,),
        remove=(r"\bdelete table --database \S+ (-- )?(?P<quote>'?)<name>(?P=quote)(?![\w.\"'-])",),
    ),
    extra="influxdb3",
    example_url="http://localhost:8181",
    keywords=("influxdb3/keywords.txt", "influx/keywords.txt"),
    words=Words(
        series="One distinct combination of tag values in a table. InfluxDB 3 keeps no index of series: "
        "many of them cost compression and sorting, not memory.",
    ),
    icon="influxdb",
    signs_in_by_token=True,
    indexes_tag_values=False,
    takes_line_protocol=True,
    parameters={
        "catalog": "which of the server's catalogs to read: `system`, `information_schema` or `influxdb_schema`",
    },
    own_guidelines=OWN,
    moot=MOOT,
)
