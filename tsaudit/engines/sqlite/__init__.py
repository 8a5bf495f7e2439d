"""SQLite."""

from typing import Final

from tsaudit.engines.engine import Engine

ENGINE: Final = Engine(
    name="sqlite",
    connector="tsaudit.engines.sql.connector",
    changes="tsaudit.engines.sqlite.changes",
    example_url="sqlite:///{name}.db",
    keywords=("sqlite/keywords.txt",),
    infers_roles=True,
    enforces_types=False,
)
