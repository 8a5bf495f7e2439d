"""SQLite."""

from typing import Final

from tsaudit.engines.engine import Engine
from tsaudit.engines.sql.guidelines import MOOT, OWN

ENGINE: Final = Engine(
    name="sqlite",
    connector="tsaudit.engines.sql.connector",
    advice="tsaudit.engines.sqlite.advice",
    labels="tsaudit.engines.sqlite.labels",
    example_url="sqlite:///{name}.db",
    keywords=("sqlite/keywords.txt",),
    is_a_file=True,
    file_magic=(0, b"SQLite format 3\0"),
    infers_roles=True,
    enforces_types=False,
    own_guidelines=OWN,
    moot=MOOT
    | {
        "C7": "C3 covers values that do not fit the column's type",
        "E12": "a table has no partitions",
        "F1": "rows stay until they are deleted; the engine has no retention setting",
    },
)
