"""Writes data sets to MongoDB."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pymongo
import pytest

from tests.databases import Collection, Dataset, Table, Written, new_name
from tests.engines.mongodb import mongosh
from tests.planning.places import Held, counted
from tsaudit.config.settings import Target
from tsaudit.model.plan import Step
from tsaudit.model.profile import Profile

_BATCH: Final = 50_000


def place(request: pytest.FixtureRequest, folder: Path) -> str:
    """The address of a server."""
    del folder
    found: str = request.getfixturevalue("mongodb")
    return found


def written(dataset: Dataset, where: str) -> Written:
    """Databases of the server."""
    return Written(where, tuple(_database(one, where) for one in (dataset, *dataset.beside)))


def _database(dataset: Dataset, url: str) -> str:
    """The name of the database that holds it now; one of that name is replaced.

    What FerretDB cannot keep, for want of time series, validators or quoting, skips the test.
    """
    name = dataset.database or new_name()
    with pymongo.MongoClient[dict[str, Any]](url) as client:
        client.drop_database(name)
        for collection in (*map(_as_collection, dataset.tables), *dataset.collections):
            try:
                _write_collection(client[name], collection)
            except pymongo.errors.OperationFailure as error:
                if "ferretdbVersion" in client.admin.command("buildInfo"):
                    pytest.skip(f"FerretDB does not keep it: {error}")
                raise
    return name


def _write_collection(database: Any, collection: Collection) -> None:
    kept = database.create_collection(collection.name, **collection.options)
    for key in collection.unique:
        kept.create_index(key, unique=True)
    for key, seconds in collection.expire.items():
        kept.create_index(key, expireAfterSeconds=seconds)
    for fields in collection.indexes:
        kept.create_index([(name, pymongo.ASCENDING) for name in fields])
    for first in range(0, len(collection.documents), _BATCH):
        # Copied: the driver puts the `_id` it makes into the document it is given.
        kept.insert_many([dict(d) for d in collection.documents[first : first + _BATCH]])


def _as_collection(table: Table) -> Collection:
    """A document for each row, what is null left out."""
    return Collection(
        table.name,
        [
            {table.time: row.time}
            | {k: row.tags[k] for k in table.tags if row.tags.get(k) is not None}
            | {k: row.fields[k] for k in table.fields if row.fields.get(k) is not None}
            for row in table.rows
        ],
    )


def server(where: str, target: Target) -> MongoDB:
    """Runs the commands of the shell."""
    return MongoDB(where, target.databases[0] if target.databases else "")


@dataclass(frozen=True, slots=True)
class MongoDB:
    """A database of the server."""

    url: str
    database: str

    def run(self, step: Step) -> int:
        """The commands of a step, as one text; how many texts these are."""
        if step.language != "mongosh":
            return 0
        mongosh.run([step.text], self.url)
        return 1

    def held(self, profile: Profile) -> Held:
        """Counts of documents and of values."""
        with pymongo.MongoClient[dict[str, Any]](self.url) as client:
            names = [n for n in client[self.database].list_collection_names() if not n.startswith("system.")]
            return {name: counted(client[self.database][name].find()) for name in names}
