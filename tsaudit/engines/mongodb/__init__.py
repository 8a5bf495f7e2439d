"""MongoDB, and servers that speak its protocol."""

from __future__ import annotations

import re
from typing import Final

from tsaudit.engines.engine import Engine, Failure, LocalServer, ServerLimit, Words
from tsaudit.engines.quoting import Language

DOCUMENT_ID: Final = "_id"
"""The field that identifies a document in its collection: always present, always indexed."""


_MANUAL: Final = "https://www.mongodb.com/docs/manual/reference/limits/"
_ULIMIT: Final = "https://www.mongodb.com/docs/manual/reference/ulimit/"


class Mongodb(Engine):
    """MongoDB, and servers that speak its protocol."""

    name = "mongodb"
    connector = "tsaudit.engines.mongodb.connector:connect"
    adviser = "tsaudit.engines.mongodb.advice:MongoAdvice"
    example_url = "mongodb://localhost:27017"
    extra = "mongodb"
    language = Language.MONGOSH
    words = Words(
        measurement="collection",
        series="One distinct value of the metaField: documents with the same value share buckets.",
    )
    right_to_list = "the role `read` on the database"
    # MongoDB's response to a browser says that its port is not for HTTP.
    local = LocalServer(27017, "/", re.compile("MongoDB over HTTP"), "mongodb://127.0.0.1:27017")
    measuring = "tsaudit.engines.mongodb.measuring"
    keeps_documents = True
    has_costly_measurements = True
    counts_rows_written = False
    measurement_price = (
        "each collection, and each of its indexes, is an open file: MongoDB advises against more than 10,000 on a "
        "server, https://www.mongodb.com/docs/manual/data-modeling/design-antipatterns/reduce-collections/"
    )
    failures = {
        "cache": Failure(
            "The cache is full, or a fifth of it is not written yet, so that reads and writes have to make room first",
            "Look for what writes so much, or reads whole collections. Give the cache more memory, or the data a "
            "faster disk.",
            "Programs keep waiting for room in the cache.",
        ),
        "expiry": Failure(
            "The server has not looked for expired documents since its start, so TTL indexes remove nothing",
            "Set the parameter ttlMonitorEnabled to true, unless somebody stopped it for a while.",
            "Documents stay past their time.",
        ),
    }
    limits = (
        ServerLimit(
            "near-limit.indexes",
            64,
            f"{_MANUAL}#number-of-indexes-per-collection",
            fix="Drop those that no query uses. Serve fields that are chosen at run time with one wildcard index, or "
            "with one index on an array of names and values.",
        ),
        ServerLimit("unbounded-array.max_document_bytes", 16_777_216, f"{_MANUAL}#bson-documents"),
        ServerLimit(
            "near-limit.open_files",
            None,
            _ULIMIT,
            setting="open_files",
            fix="Raise the limit of the process (LimitNOFILE), and merge collections of one kind.",
        ),
        ServerLimit(
            "near-limit.connections",
            None,
            _ULIMIT,
            setting="connections",
            fix="Let programs share a pool of connections, or raise maxIncomingConnections.",
        ),
    )
    has_rights_by_table = True
    measurements_per_statement = {"row_estimate": 500, "storage": 500, "indexes": 500, "index_use": 500}
    parameters = {
        "random": "whether to select at random; otherwise, the first ones are read",
        "viewless": "whether to read buckets from the collection itself; otherwise from `system.buckets`",
        "whole": "whether to request everything that the server reports: some servers cannot leave out parts of it",
        "measurement": "in files about all measurements: the measurement to query, if each needs its own statement",
    }
    own_guidelines = frozenset({"B2", "C7", "E8", "H2", "H3", "H4", "H6"})
    not_applicable = {
        **dict.fromkeys(
            ("A1", "A2", "A3", "A5", "A6", "A8", "A9", "C1", "C2", "C5", "C6", "D2", "G5"),
            "documents have no tags; H6 covers the metaField",
        ),
        **dict.fromkeys(("C3", "C4"), "H4 covers the types of fields"),
        **dict.fromkeys(("D6", "D7"), "a document embeds related data"),
        "B3": "attributes are nested; H4 covers fields",
        "B5": "names are quoted text in every query",
        "D1": "documents have no columns; H4 covers fields",
        "D5": "the fields of a document share its time",
        "F1": "expiry is set for each collection",
    }

    def names_itself(self, column: str) -> bool:
        return column == DOCUMENT_ID


ENGINE: Final = Mongodb()
