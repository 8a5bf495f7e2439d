"""Home Assistant's recorder: states of entities in a SQL database."""

from __future__ import annotations

import random
from datetime import datetime
from typing import Any

from tests.builders import NOW
from tests.layouts.layout import Layout, Script
from tests.layouts.making import ANALYZE

_SOURCE = "https://www.home-assistant.io/docs/backend/database/"
_STATEMENTS = (
    """CREATE TABLE states_meta (metadata_id INTEGER PRIMARY KEY, entity_id VARCHAR(255))""",
    """CREATE UNIQUE INDEX ix_states_meta_entity_id ON states_meta (entity_id)""",
    """CREATE TABLE state_attributes (attributes_id INTEGER PRIMARY KEY, hash BIGINT, shared_attrs TEXT)""",
    """CREATE INDEX ix_state_attributes_hash ON state_attributes (hash)""",
    """CREATE TABLE states (
        state_id INTEGER PRIMARY KEY, entity_id CHAR(0), state VARCHAR(255), attributes CHAR(0), event_id SMALLINT,
        last_changed CHAR(0), last_changed_ts FLOAT, last_reported_ts FLOAT, last_updated CHAR(0),
        last_updated_ts FLOAT, old_state_id INTEGER REFERENCES states(state_id),
        attributes_id INTEGER REFERENCES state_attributes(attributes_id), context_id CHAR(0), context_user_id CHAR(0),
        context_parent_id CHAR(0), origin_idx SMALLINT, context_id_bin BLOB, context_user_id_bin BLOB,
        context_parent_id_bin BLOB, metadata_id INTEGER REFERENCES states_meta(metadata_id))""",
    """CREATE INDEX ix_states_last_updated_ts ON states (last_updated_ts)""",
    """CREATE INDEX ix_states_metadata_id_last_updated_ts ON states (metadata_id, last_updated_ts)""",
    """CREATE INDEX ix_states_context_id_bin ON states (context_id_bin)""",
)
_ENTITIES = [
    f"sensor.{room}_{what}"
    for room in ("kitchen", "living_room", "bath", "attic", "garage")
    for what in ("temperature", "humidity")
]
_ENTITIES += [f"binary_sensor.{room}_motion" for room in ("kitchen", "living_room", "bath")]


def _states(now: datetime = NOW) -> dict[str, list[tuple[Any, ...]]]:
    noise = random.Random(5)
    metas = list(enumerate(_ENTITIES, 1))
    attributes = [(i, noise.getrandbits(40), f'{{"friendly_name":"{name}","unit":"C"}}') for i, name in metas]
    states = []
    start = now.timestamp() - 5 * 86_400
    last: dict[int, int] = {}
    for number in range(1, 12_001):
        entity = noise.randrange(len(_ENTITIES))
        binary = _ENTITIES[entity].startswith("binary")
        state = noise.choice(("on", "off")) if binary else f"{noise.uniform(15, 60):.1f}"
        state = "unavailable" if noise.random() < 0.003 else state
        at = start + number * 5 * 86_400 / 12_001
        context = noise.randbytes(16)
        legacy, ids = (None,) * 3, (None, None)
        changed = at if number % 9 == 0 else None
        begin = (number, None, state, *legacy, changed, at, None, at, last.get(entity), entity + 1)
        states.append((*begin, *legacy, 0, context, *ids, entity + 1))
        last[entity] = number
    return {"states_meta": metas, "state_attributes": attributes, "states": states}


def _sqlite() -> Script:
    return Script(_STATEMENTS, _states())


_POSTGRESQL = {
    "CHAR(0)": "TEXT",
    "BLOB": "BYTEA",
    "last_changed TEXT": "last_changed TIMESTAMPTZ",
    "last_updated TEXT": "last_updated TIMESTAMPTZ",
    "FLOAT": "DOUBLE PRECISION",
}


def _postgresql() -> Script:
    """As on SQLite, with legacy columns for the time that have been empty since they became numbers."""
    statements = []
    for statement in _STATEMENTS:
        for old, new in _POSTGRESQL.items():
            statement = statement.replace(old, new)
        statements.append(statement)
    return Script(statements, _states(), (ANALYZE,))


LAYOUTS = (
    Layout(
        name="home-assistant-sqlite",
        engine="sqlite",
        source=_SOURCE,
        clean=_sqlite,
    ),
    Layout(
        name="home-assistant-postgresql",
        engine="postgresql",
        source=_SOURCE,
        clean=_postgresql,
    ),
)
