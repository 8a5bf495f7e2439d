"""Amazon Timestream for LiveAnalytics."""

from typing import Final

from tsaudit.engines.engine import Engine, Statements, Words
from tsaudit.engines.timestream.guidelines import MOOT, OWN

SINGLE_VALUE: Final = "measure_value::"
"""Begins the columns that Timestream itself names, for records of one value, with its type behind it."""

ENGINE: Final = Engine(
    name="timestream",
    connector="tsaudit.engines.timestream.connector",
    measuring="tsaudit.engines.timestream.measuring",
    advice="tsaudit.engines.timestream.advice",
    statements=Statements(
        make=(r"\bcreate-table .*--table-name (?P<quote>'?)<name>(?P=quote)(?![\w.\"'-])",),
        remove=(r"\bdelete-table .*--table-name (?P<quote>'?)<name>(?P=quote)(?![\w.\"'-])",),
    ),
    extra="timestream",
    example_url="timestream://eu-central-1",
    keywords=("timestream/keywords.txt",),
    words=Words(
        tag="dimension",
        series="One distinct combination of dimension values; Timestream itself also includes the measure name.",
    ),
    icon="aws",
    default_schema="",
    own_prefixes=(SINGLE_VALUE,),
    describes_singly=True,
    successor="Timestream for InfluxDB",
    parameters={
        "measurement": "in files about all measurements: the one asked about, where each takes a statement",
    },
    own_guidelines=OWN,
    moot=MOOT,
)
