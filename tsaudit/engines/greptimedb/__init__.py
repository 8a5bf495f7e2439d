"""GreptimeDB: how it is reached, and what its answers about its own tables mean."""

import re
from typing import Final

from tsaudit.engines.engine import Engine, LocalServer, Words
from tsaudit.engines.greptimedb.guidelines import MOOT, OWN
from tsaudit.engines.sql import TOGETHER

ENGINE: Final = Engine(
    name="greptimedb",
    connector="tsaudit.engines.greptimedb.connector",
    advice="tsaudit.engines.greptimedb.advice",
    tables="tsaudit.engines.greptimedb.tables",
    extra="greptimedb",
    example_url="mysql+pymysql://localhost:4002",
    keywords=("greptimedb/keywords.txt",),
    words=Words(
        series="One distinct combination of the tags in the primary key.",
        as_field="A field can have its own index. Of rows with the same key and time only one is kept, unless "
        "the table is\n"
        "append-only, which keeps them all.",
    ),
    # Its build information; audits use the MySQL port, two above.
    local=LocalServer(
        4000,
        "/status",
        re.compile(r'"version".*"rustc_version"|"rustc_version".*"version"', re.DOTALL),
        "mysql+pymysql://127.0.0.1:4002",
    ),
    reads_password_apart=True,
    default_schema="",
    divides_by_time=True,
    judges_key_types=True,
    asked_together=TOGETHER - {"time_extents"},
    # Its count has every version of a row that is there more than once.
    total_falls_short=0.05,
    parameters={
        "catalog": "which of the server's catalogs to read: `statistics`, or the other tables of information_schema",
        "instants": "those columns whose values are times",
        "measurement": "in files about all measurements: the one asked about, where each takes a statement",
    },
    own_guidelines=OWN,
    moot=MOOT,
)
