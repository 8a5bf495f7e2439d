"""AcmeDB for tsaudit. To the tests it is a file of SQLite's; to tsaudit it is a database nobody has heard of."""

from pathlib import Path

from tsaudit import Engine
from tsaudit.engines import queries
from tsaudit.engines.engine import Words
from tsaudit.engines.sql.guidelines import MOOT, OWN

_HERE = Path(__file__).parent

ENGINE = Engine(
    name="acmedb",
    connector="acme_tsaudit.connector",
    measuring="acme_tsaudit.measuring",
    example_url="acme:///var/lib/acme/{name}.db",
    words=Words(database="ledger", measurement="sheet"),
    keywords=(_HERE / "keywords.txt",),
    # What is not in our own folder is asked as SQLite is.
    sql_folders=(_HERE / "sql", queries.root() / "sqlite"),
    speaks="sqlite",
    is_a_file=True,
    infers_roles=True,
    enforces_types=False,
    own_guidelines=OWN,
    moot=MOOT | {"F1": "rows stay until somebody deletes them"},
)
