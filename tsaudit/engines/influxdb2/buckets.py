"""Buckets of InfluxDB 2: their ids, and what InfluxQL calls them. One look-up serves all connections to a server."""

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
    """What requests need of a bucket besides its name."""

    id: str
    org_id: str


@dataclass(frozen=True, slots=True)
class Dbrp:
    """What InfluxQL calls a bucket."""

    database: str
    policy: str
    default: bool
    """Whether the bucket is the one that is meant when only the database is named."""


@dataclass(slots=True)
class KnownBuckets:
    """What the server has said of its buckets so far, shared by all connections to it."""

    by_name: dict[str, Bucket] = field(default_factory=dict)
    mappings: dict[str, Dbrp | None] = field(default_factory=dict)
    """Name of the bucket to what InfluxQL calls it; None where it does not know it."""


@dataclass(slots=True)
class Ask(Turn):
    """One question to the connection, and what it is about."""

    fact: str
    about: Mapping[str, Any]

    @property
    def bucket(self) -> str:
        """The name of the bucket."""
        return str(self.about["database"])


class Buckets:
    """Looks buckets up by name, each once. Methods raise FactError, and what `Client` raises."""

    def __init__(self, client: Client, known: KnownBuckets) -> None:
        self._client = client
        self._known = known

    def remember(self, buckets: Sequence[Mapping[str, Any]]) -> None:
        """Keep what the server lists. FactError when one name stands for two buckets."""
        for bucket in buckets:
            known = self._known.by_name.get(bucket["name"])
            if known and known.org_id != bucket["orgID"]:
                detail = f"two organizations have a bucket {bucket['name']}; name one in the URL: ?org=NAME"
                raise FactError(Reason.FAILED, detail)
            self._known.by_name[bucket["name"]] = Bucket(bucket["id"], bucket["orgID"])

    def look_up(self, ask: Ask) -> dict[str, Any]:
        """The bucket as the server describes it. FactError when it lists none of that name."""
        request = json.loads(queries.render(_ENGINE, "retention", **ask.about))
        ask.rows.statement = shown(request)
        buckets = self._client.rest(request, ask)["buckets"]
        if not buckets:
            detail = f"no bucket {ask.bucket} is visible: there is none, or the token may not read it"
            raise FactError(Reason.FAILED, detail)
        self.remember(buckets)
        found: dict[str, Any] = buckets[0]
        return found

    def of(self, ask: Ask) -> Bucket:
        """The bucket that is asked about."""
        if ask.bucket not in self._known.by_name:
            self.look_up(ask)
        return self._known.by_name[ask.bucket]

    def dbrp(self, ask: Ask) -> Dbrp | None:
        """What InfluxQL calls the bucket: a default of its own database, else made by somebody, else virtual."""
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
            names = [Dbrp(m["database"], m["retention_policy"], m["default"]) for m in listed]
            known[ask.bucket] = names[0] if names else None
        return known[ask.bucket]


def shown(request: Mapping[str, Any]) -> str:
    """A request of the REST API in one line, for people to read."""
    query = urlencode(request["query"])
    return f"{request['method']} {request['path']}{'?' + query if query else ''}"
