"""InfluxDB 1.x."""

import re
from typing import Final

from tsaudit.engines.engine import Engine, Language, LocalServer, Statements, Words
from tsaudit.engines.influx import TOGETHER
from tsaudit.engines.influx.guidelines import MOOT, OWN
from tsaudit.engines.influx.statements import TELEGRAF

ENGINE: Final = Engine(
    name="influxdb1",
    connector="tsaudit.engines.influxdb1.connector",
    measuring="tsaudit.engines.influx.measuring",
    advice="tsaudit.engines.influxdb1.advice",
    statements=Statements(
        make=(r"\bINTO (\S+\.)?\"<name>\"", TELEGRAF),
        remove=(r"\bDROP MEASUREMENT \"<name>\"",),
    ),
    example_url="http://localhost:8086",
    keywords=("influx/keywords.txt",),
    language=Language.INFLUXQL,
    words=Words(
        measurement="measurement",
        series="One measurement with one set of tag values. Fields do not count, although InfluxDB's "
        "documentation includes the field key: the index and `SHOW SERIES` do not.",
    ),
    icon="influxdb",
    local=LocalServer(8086, "/ping", re.compile(r"^v*1\."), "http://127.0.0.1:8086", header="X-Influxdb-Version"),
    takes_line_protocol=True,
    has_series_index=True,
    parameters={
        "several": "the names of measurements to query together; empty: only `measurement`",
        "named_policy": "the retention policy to name in the statement; empty: the default one, or the URL names it",
    },
    asked_together=TOGETHER,
    own_guidelines=OWN,
    moot=MOOT,
)
