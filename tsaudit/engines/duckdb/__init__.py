"""DuckDB."""

from typing import Final

from tsaudit.engines.engine import Engine
from tsaudit.engines.sql import TOGETHER
from tsaudit.engines.sql.guidelines import MOOT, OWN

ENGINE: Final = Engine(
    name="duckdb",
    connector="tsaudit.engines.sql.connector",
    advice="tsaudit.engines.duckdb.advice",
    labels="tsaudit.engines.duckdb.labels",
    extra="duckdb",
    example_url="duckdb:///{name}.duckdb",
    keywords=("duckdb/keywords.txt",),
    default_schema="main",
    has_one_database=True,
    is_a_file=True,
    file_magic=(8, b"DUCK"),
    infers_roles=True,
    asked_in_pieces={"row_estimate": 50},
    # Each part that is sorted takes megabytes, and the parts of one statement run at once.
    asked_together=TOGETHER - {"row_sample"},
    total_falls_short=0.0,
    counts_writes=True,
    several_columns_unused="DuckDB uses no index on several columns to answer a query",
    times_found_by="DuckDB finds a time range by the range it keeps for each part of the column",
    own_guidelines=OWN,
    moot=MOOT
    | {
        "E12": "a table has no partitions",
        "F1": "rows stay until they are deleted; the engine has no retention setting",
    },
    parameters={
        "catalog": "the database's name in the file's catalog",
    },
)
