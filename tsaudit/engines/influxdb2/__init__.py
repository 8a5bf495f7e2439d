"""InfluxDB 2.x."""

from typing import Final

from tsaudit.engines.engine import Engine, Ladder, Language, Words
from tsaudit.engines.influx.guidelines import MOOT, OWN

ENGINE: Final = Engine(
    name="influxdb2",
    connector="tsaudit.engines.influxdb2.connector",
    ladder=Ladder.TAG_LISTING,
    changes="tsaudit.engines.influxdb2.changes",
    example_url="http://localhost:8086?org=acme",
    keywords=("influx/keywords.txt",),
    language=Language.INFLUXQL,
    words=Words(
        database="bucket",
        measurement="measurement",
        retention="bucket",
        series="One measurement with one set of tag values within a bucket. Fields are not counted in; "
        "InfluxDB Cloud, which does count them, shows higher numbers.",
    ),
    icon="influxdb",
    signs_in_by_token=True,
    overwrites=True,
    takes_line_protocol=True,
    own_guidelines=OWN,
    moot=MOOT,
)
