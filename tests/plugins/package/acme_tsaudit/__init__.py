"""AcmeDB for tsaudit. To the tests it is a file of SQLite's; to tsaudit it is a database nobody has heard of."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from tsaudit.engines import queries
from tsaudit.engines.connection import Access, Connection
from tsaudit.engines.engine import Words
from tsaudit.engines.sqlite import Sqlite

_HERE = Path(__file__).parent


class Acmedb(Sqlite):
    """Takes SQLite's statements, so that plans are the same."""

    name = "acmedb"
    example_url = "acme:///var/lib/acme/{name}.db"
    file_magic = None
    measuring = "acme_tsaudit.measuring"
    words = Words(database="ledger", measurement="sheet")
    keywords = (_HERE / "keywords.txt",)
    # What is not in our own folder is asked as SQLite is.
    sql_folders = (_HERE / "sql", queries.root() / "sqlite")
    not_applicable = {**Sqlite.not_applicable, "F1": "rows stay until somebody deletes them"}

    def connect(self, access: Access) -> AbstractContextManager[Connection]:
        from acme_tsaudit import connector

        return connector.connect(access)


ENGINE = Acmedb()
