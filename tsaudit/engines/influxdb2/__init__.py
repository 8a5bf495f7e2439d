"""InfluxDB 2.x."""

import re
from typing import Final

from tsaudit.engines.engine import Engine, Language, LocalServer, Statements, Words
from tsaudit.engines.influx import TOGETHER
from tsaudit.engines.influx.guidelines import MOOT, OWN
from tsaudit.engines.influx.statements import TELEGRAF

ENGINE: Final = Engine(
    name="influxdb2",
    connector="tsaudit.engines.influxdb2.connector",
    measuring="tsaudit.engines.influx.measuring",
    advice="tsaudit.engines.influxdb2.advice",
    statements=Statements(
        make=(r"\bset\(key: \"_measurement\", value: \"<name>\"\)", TELEGRAF),
        remove=(r"\binflux delete .*--predicate '_measurement=\"<name>\"'",),
    ),
    example_url="http://localhost:8086?org=acme",
    keywords=("influx/keywords.txt",),
    language=Language.INFLUXQL,
    words=Words(
        database="bucket",
        measurement="measurement",
        retention="bucket",
        series="One measurement with one set of tag values within a bucket. Fields do not count; InfluxDB "
        "Cloud does count them and shows higher numbers.",
    ),
    icon="influxdb",
    local=LocalServer(8086, "/ping", re.compile(r"^v*2\."), "http://127.0.0.1:8086", header="X-Influxdb-Version"),
    signs_in_by_token=True,
    takes_line_protocol=True,
    has_series_index=True,
    parameters={
        "org": "the organization that the address names; empty for the token's own",
        "org_id": "the organization of the bucket",
        "bucket_id": "the bucket",
        "dbrp": "what InfluxQL calls the bucket: `database`, `policy`, and whether that is its `default`",
        "several": "the names of measurements to query together; empty: only `measurement`",
        "measurement": "in files about all measurements: the one asked about, where each takes a statement",
    },
    asked_together=TOGETHER,
    own_guidelines=OWN,
    moot=MOOT,
)
