"""Buckets of InfluxDB 2: their IDs, and their names in InfluxQL. One lookup serves all connections to a server."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

from influxdb_client.rest import ApiException

from tsaudit.engines import queries
from tsaudit.engines.connection import FactError
from tsaudit.engines.influxdb2.client import Client, Turn
from tsaudit.model.profile import Reason

_ENGINE: Final = "influxdb2"


@dataclass(frozen=True, slots=True)
class Bucket:
    """What requests need to know about a bucket in addition to its name."""

    id: str
    org_id: str


@dataclass(frozen=True, slots=True)
class Dbrp:
    """The names of a bucket in InfluxQL."""

    database: str
    policy: str
    default: bool
    """Whether the bucket is used if a statement names only the database."""


@dataclass(slots=True)
class KnownBuckets:
    """What is known about the server's buckets so far; shared by all connections to it."""

    by_name: dict[str, Bucket] = field(default_factory=dict)
    mappings: dict[str, Dbrp | None] = field(default_factory=dict)
    """Name of the bucket to its names in InfluxQL; None if InfluxQL cannot access it."""


@dataclass(slots=True)
class Ask(Turn):
    """One query to the connection, and what it is about."""

    fact: str
    about: Mapping[str, Any]

    @property
    def bucket(self) -> str:
        """The name of the bucket."""
        return str(self.about["database"])


class BucketList:
    """Looks up buckets by name, each only once. Methods raise FactError, and the errors of `Client`."""

    def __init__(self, client: Client, known: KnownBuckets) -> None:
        self._client = client
        self._known = known

    def remember(self, buckets: Sequence[Mapping[str, Any]]) -> None:
        """Store the buckets that the server lists. Raises FactError if two buckets share a name."""
        for bucket in buckets:
            known = self._known.by_name.get(bucket["name"])
            if known and known.org_id != bucket["orgID"]:
                detail = f"two organizations have a bucket {bucket['name']}; name one in the URL: ?org=NAME"
                raise FactError(Reason.FAILED, detail)
            self._known.by_name[bucket["name"]] = Bucket(bucket["id"], bucket["orgID"])

    def look_up(self, ask: Ask) -> dict[str, Any]:
        """The bucket as described by the server. Raises FactError if there is none with this name."""
        request = json.loads(queries.render(_ENGINE, "retention", **ask.about))
        ask.rows.statement = shown(request)
        buckets = self._client.rest(request, ask)["buckets"]
        if not buckets:
            detail = f"no bucket {ask.bucket} is visible: it does not exist, or the token has no permission to read it"
            raise FactError(Reason.FAILED, detail)
        self.remember(buckets)
        found: dict[str, Any] = buckets[0]
        return found

    def of(self, ask: Ask) -> Bucket:
        """The bucket that the query is about."""
        if ask.bucket not in self._known.by_name:
            self.look_up(ask)
        return self._known.by_name[ask.bucket]

    def dbrp(self, ask: Ask) -> Dbrp | None:
        """The names of the bucket in InfluxQL: the default mapping of its own database, otherwise a user-defined
        mapping, otherwise a virtual one. None if there is none.
        """
        known = self._known.mappings
        if ask.bucket not in known:
            bucket = self.of(ask)
            path = queries.root() / _ENGINE / "_dbrp.json"
            request = json.loads(queries.render_file(path, org_id=bucket.org_id, bucket_id=bucket.id))
            try:
                listed = self._client.rest(request, ask).get("content") or []
            except ApiException:
                listed = []
            listed.sort(key=lambda m: (not m["default"], bool(m.get("virtual"))))
            mappings = (Dbrp(m["database"], m["retention_policy"], m["default"]) for m in listed)
            names = [one for one in mappings if isinstance(one.database, str) and isinstance(one.policy, str)]
            known[ask.bucket] = names[0] if names else None
        return known[ask.bucket]


def shown(request: Mapping[str, Any]) -> str:
    """A request of the REST API in one line, for display."""
    query = urlencode(request["query"])
    return f"{request['method']} {request['path']}{'?' + query if query else ''}"
