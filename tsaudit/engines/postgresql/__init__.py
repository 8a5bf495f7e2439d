"""PostgreSQL and TimescaleDB."""

import re
from typing import Final

from tsaudit.engines.engine import Engine, LocalServer
from tsaudit.engines.sql import TOGETHER
from tsaudit.engines.sql.guidelines import MOOT, OWN

ENGINE: Final = Engine(
    name="postgresql",
    connector="tsaudit.engines.postgresql.connector",
    advice="tsaudit.engines.postgresql.advice",
    labels="tsaudit.engines.postgresql.labels",
    extra="postgresql",
    example_url="postgresql://tsaudit@localhost:5432/{name}",
    keywords=("postgresql/keywords.txt",),
    local=LocalServer(
        5432, "", re.compile("^PostgreSQL$"), "postgresql://tsaudit@127.0.0.1:5432/postgres", is_native=True
    ),
    reads_password_apart=True,
    default_schema="",
    has_one_database=True,
    infers_roles=True,
    asked_together=TOGETHER,
    counts_writes=True,
    parameters={
        "timescaledb": "the schema of the TimescaleDB extension; empty without it",
        "inherited": "whether other tables inherit from the table, which has rows of its own",
        "part": "of `scan_estimate`, what is to be planned: `inside` the window, `every` row, or the `newest`",
    },
    own_guidelines=OWN | {"E12"},
    moot=MOOT,
)
