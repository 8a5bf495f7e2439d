"""GreptimeDB: how it is reached, and what its answers about its own tables mean."""

from typing import Final

from tsaudit.engines.engine import Engine, Words
from tsaudit.engines.greptimedb.guidelines import MOOT, OWN

ENGINE: Final = Engine(
    name="greptimedb",
    connector="tsaudit.engines.greptimedb.connector",
    changes="tsaudit.engines.greptimedb.changes",
    extra="greptimedb",
    example_url="mysql+pymysql://localhost:4002",
    keywords=("greptimedb/keywords.txt",),
    words=Words(
        series="One distinct combination of the tags in the primary key.",
        as_field="A field can have an index of its own. Of rows with the same key and time one is left, unless the "
        "table is\nappend-only, which keeps them all.",
    ),
    reads_password_apart=True,
    default_schema="",
    overwrites=True,
    # Its count has every version of a row that is there more than once.
    total_falls_short=0.05,
    parameters={
        "catalog": "which of the server's catalogues to read: `statistics`, or the other tables of information_schema",
        "instants": "those columns whose values are times",
        "measurement": "in files about all measurements: the one asked about, where each takes a statement",
    },
    own_guidelines=OWN,
    moot=MOOT,
)
