"""Documents and label sets in a column: jsonb, hstore, MAP, STRUCT, lists."""

from __future__ import annotations

import json
import random

from tests.layouts.layout import Layout, Script, Wanted
from tests.layouts.making import ANALYZE, an_id, evenly

_EVENTS = (
    """CREATE TABLE events (id uuid PRIMARY KEY, occurred_at timestamptz NOT NULL, type text NOT NULL,
        stream_id uuid NOT NULL, version integer NOT NULL, payload jsonb NOT NULL, metadata json,
        UNIQUE (stream_id, version))""",
    "CREATE INDEX events_occurred_at ON events (occurred_at)",
    "CREATE INDEX events_payload ON events USING gin (payload jsonb_path_ops)",
)


def _events() -> Script:
    noise = random.Random(17)
    streams = [an_id(noise) for _ in range(900)]
    versions = dict.fromkeys(streams, 0)
    rows = []
    for at in evenly(8_000, 12):
        stream = noise.choice(streams)
        versions[stream] += 1
        kind = noise.choice(("OrderPlaced", "OrderPaid", "OrderShipped", "AddressChanged"))
        payload = json.dumps(
            {"order": noise.randrange(10**6), "amount": noise.randrange(10**4) / 100, "by": an_id(noise)}
        )
        about = json.dumps({"correlation_id": an_id(noise), "user_agent": "Mozilla/5.0"})
        rows.append((an_id(noise), at, kind, stream, versions[stream], payload, about))
    return Script(_EVENTS, {"events": rows}, (ANALYZE,))


_HSTORE = (
    "CREATE EXTENSION IF NOT EXISTS hstore SCHEMA public",
    """CREATE TABLE metrics (time timestamptz NOT NULL, metric text NOT NULL, tags hstore NOT NULL,
        value double precision)""",
    "CREATE INDEX metrics_metric_time_idx ON metrics (metric, time DESC)",
    "CREATE INDEX metrics_time_idx ON metrics (time)",
    "CREATE INDEX metrics_tags_idx ON metrics USING gin (tags)",
)


def _hstore(ids: int) -> Script:
    noise = random.Random(18)
    rows = []
    for n, at in enumerate(evenly(9_000, 5)):
        tags = f'"host"=>"web{n % 12}", "dc"=>"{"ams" if n % 12 < 6 else "fra"}"'
        if ids and n % 2:
            tags += f', "request_id"=>"{an_id(noise)}"'
        rows.append((at, ("latency", "errors")[n // 12 % 2], tags, round(noise.uniform(0, 300), 2)))
    return Script(_HSTORE, {"metrics": rows}, (ANALYZE,))


def _in_duckdb(kind: str, labels: str, rows: int = 9_000) -> Script:
    """`labels`: an expression for row number `i`, of the type `kind`."""
    return Script(
        (
            f"CREATE TABLE metrics (ts TIMESTAMP NOT NULL, name VARCHAR NOT NULL, labels {kind}, value DOUBLE)",
            f"""INSERT INTO metrics SELECT TIMESTAMP '2026-03-31 05:59:59' - (i // 60) * INTERVAL 30 SECOND,
                ['cpu', 'memory', 'disk'][1 + i % 3], {labels}, 50 + 30 * sin(i / 500.0)
                FROM generate_series(0, {rows - 1}) g(i)""",
        )
    )


_MAP = "MAP {{'host': 'web' || i // 3 % 20, 'dc': ['ams', 'fra'][1 + i // 3 % 2]{}}}"
_MAP_IDS = ", 'request_id': md5(i::VARCHAR)"
_STRUCT = "{{'host': 'web' || i // 3 % 20, 'region': ['eu', 'us'][1 + i // 3 % 2]{}}}"
_TAGS = "['host:web' || i // 3 % 20, 'env:prod', 'dc:' || ['ams', 'fra'][1 + i // 3 % 2]{}]"
_TAGS_IDS = ", 'container_id:' || md5((i // 2)::VARCHAR)"


def _structs(ids: bool) -> Script:
    kind = "STRUCT(host VARCHAR, region VARCHAR" + (", session VARCHAR)" if ids else ")")
    return _in_duckdb(kind, _STRUCT.format(", 'session': md5('s' || i)" if ids else ""))


_GITHUB = (
    """CREATE TABLE gh_events (id VARCHAR, type VARCHAR,
        actor STRUCT(id UBIGINT, login VARCHAR, display_login VARCHAR, gravatar_id VARCHAR, url VARCHAR),
        repo STRUCT(id UBIGINT, name VARCHAR, url VARCHAR), payload JSON, public BOOLEAN, created_at TIMESTAMP,
        org STRUCT(id UBIGINT, login VARCHAR))""",
    """INSERT INTO gh_events SELECT (34500000000 + i * 7)::VARCHAR,
        ['PushEvent', 'PushEvent', 'WatchEvent', 'IssuesEvent', 'PullRequestEvent', 'CreateEvent'
            ][1 + (hash(i) % 6)::BIGINT],
        {'id': hash(i + 1) % 9000000, 'login': 'user' || hash(i + 1) % 4000,
            'display_login': 'user' || hash(i + 1) % 4000,
            'gravatar_id': '', 'url': 'https://api.github.com/users/user' || hash(i + 1) % 4000},
        {'id': hash(i + 2) % 80000000, 'name': 'org' || hash(i + 2) % 900 || '/repo' || hash(i + 3) % 9000,
            'url': 'https://api.github.com/repos/org' || hash(i + 2) % 900 || '/repo' || hash(i + 3) % 9000},
        '{"push_id":' || 17000000000 + i || ',"size":1,"ref":"refs/heads/main","head":"' || sha1(i::VARCHAR) || '"}',
        true, TIMESTAMP '2026-03-31 05:59:59' - (11999 - i) * INTERVAL '300 milliseconds',
        CASE WHEN i % 4 = 0 THEN {'id': hash(i + 2) % 900, 'login': 'org' || hash(i + 2) % 900} END
        FROM generate_series(0, 11999) g(i)""",
)

_LABELS = "https://duckdb.org/docs/stable/sql/data_types/map"
_LEAK = "TAG002|CAR001|CAR004"

LAYOUTS = (
    Layout(
        name="event-store-postgresql",
        engine="postgresql",
        source="https://www.postgresql.org/docs/current/datatype-json.html",
        clean=_events,
    ),
    Layout(
        name="hstore-tags-postgresql",
        engine="postgresql",
        source="https://www.postgresql.org/docs/current/hstore.html",
        clean=lambda: _hstore(0),
        dirty=lambda: _hstore(1),
        wanted=(Wanted(_LEAK, "metrics*", "request ids among the tags: a series of each request"),),
    ),
    Layout(
        name="labels-map-duckdb",
        engine="duckdb",
        source=_LABELS,
        clean=lambda: _in_duckdb("MAP(VARCHAR, VARCHAR)", _MAP.format("")),
        dirty=lambda: _in_duckdb("MAP(VARCHAR, VARCHAR)", _MAP.format(_MAP_IDS)),
        wanted=(Wanted(_LEAK, "metrics*", "request ids among the labels: a series of each request"),),
    ),
    Layout(
        name="labels-struct-duckdb",
        engine="duckdb",
        source="https://duckdb.org/docs/stable/sql/data_types/struct",
        clean=lambda: _structs(False),
        dirty=lambda: _structs(True),
        wanted=(Wanted(_LEAK, "metrics*", "session ids among the labels: a series of each session"),),
    ),
    Layout(
        name="tag-lists-duckdb",
        engine="duckdb",
        source="https://docs.datadoghq.com/getting_started/tagging/",
        clean=lambda: _in_duckdb("VARCHAR[]", _TAGS.format("")),
        dirty=lambda: _in_duckdb("VARCHAR[]", _TAGS.format(_TAGS_IDS)),
        wanted=(Wanted(_LEAK, "metrics*", "container ids among the tags: a series of each container"),),
    ),
    Layout(
        name="github-events-duckdb",
        engine="duckdb",
        source="https://www.gharchive.org/",
        clean=lambda: Script(_GITHUB),
    ),
)
