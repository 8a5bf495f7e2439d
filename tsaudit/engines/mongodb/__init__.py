"""MongoDB, and servers that speak its protocol."""

import re
from typing import Final

from tsaudit.engines.engine import Engine, Language, LocalServer, Statements, Words
from tsaudit.engines.mongodb.guidelines import MOOT, OWN

DOCUMENT_ID: Final = "_id"
"""The field that identifies a document in its collection: always present, always indexed."""

ENGINE: Final = Engine(
    name="mongodb",
    connector="tsaudit.engines.mongodb.connector",
    measuring="tsaudit.engines.mongodb.measuring",
    advice="tsaudit.engines.mongodb.advice",
    statements=Statements(
        # Documents, or an index, of a collection that was not there.
        make=(r"(\binto: |\bcoll: |\$out: |\b(renameCollection|createCollection|getCollection)\()\"<name>\"",),
        remove=(r"\bgetCollection\(\"<name>\"\)\.(drop|renameCollection)\(",),
    ),
    extra="mongodb",
    example_url="mongodb://localhost:27017",
    language=Language.MONGOSH,
    words=Words(
        measurement="collection",
        series="One distinct value of the metaField: documents with the same value share buckets.",
    ),
    # To a browser it says that this is not HTTP.
    local=LocalServer(27017, "/", re.compile("MongoDB over HTTP"), "mongodb://127.0.0.1:27017"),
    keeps_documents=True,
    id_field=DOCUMENT_ID,
    asked_in_pieces={"row_estimate": 500, "storage": 500, "indexes": 500, "index_use": 500},
    parameters={
        "random": "whether to choose by chance; else the first ones are read",
        "viewless": "whether buckets are read of the collection itself; else of `system.buckets`",
        "whole": "whether all that the server says is wanted: some cannot leave parts of it out",
        "measurement": "in files about all measurements: the one asked about, where each takes a statement",
    },
    own_guidelines=OWN,
    moot=MOOT,
)
