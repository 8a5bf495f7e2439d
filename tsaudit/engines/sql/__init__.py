"""What the SQL engines share."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final

from tsaudit.engines.engine import Engine

if TYPE_CHECKING:
    from tsaudit.engines.connection import Access, Connection
    from tsaudit.engines.sql.connector import FileDriver

BATCHED: Final = frozenset({"time_extents", "row_sample", "series_listing", "null_counts"})
"""The facts that `batching` makes one statement of for several tables, whose columns have types."""


class SqlEngine(Engine):
    """A database whose tables are declared in SQL, without saying which columns are tags."""

    infers_roles = True
    own_guidelines = frozenset({"E8"})
    not_applicable = {
        **dict.fromkeys(("D6", "D7"), "the engine is built to join tables"),
        "C5": "any type works in a key",
        "C6": "there is no series index that a changed attribute would enlarge",
        "D2": "tags are columns, which D1 covers",
        "F2": "permissions are granted per table or row",
        "H1": "these engines partition into a table per period; the number of tables is reported under A7",
    }


class FileEngine(SqlEngine):
    """A database in one file, whose address is `example_url` with another path."""

    is_a_file = True
    counts_rows_written = False
    not_applicable = {
        **SqlEngine.not_applicable,
        "E12": "a table has no partitions",
        "F1": "rows stay until they are deleted; the engine has no retention setting",
    }

    def connect(self, access: Access) -> AbstractContextManager[Connection]:
        from tsaudit.engines.sql import connector

        return connector.connect(self, self.driver, access)

    def driver(self) -> FileDriver:
        """How its driver opens a file and reads a response."""
        raise NotImplementedError
