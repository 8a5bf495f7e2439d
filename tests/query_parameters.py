"""The parameters of a query, without all those that an audit would give it."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any, Final

from tests.builders import NOW
from tsaudit.model.facts import FACTS, Given

_NEUTRAL: Final[dict[str, Any]] = {
    "database": "",
    "measurement": "",
    "measurements": (),
    "tags": (),
    "fields": (),
    "time": None,
    "time_kind": None,
    "policies": (),
    "start": NOW - timedelta(days=30),
    "end": NOW,
    "columns": (),
    "texts": (),
    "longest": 1000,
    "limit": 1_000_000,
    "series": (),
    "partial_scan": None,
    "later": None,
    "total": None,
}


def filled(fact: str, **values: Any) -> Given:
    """What the fact's query is given: the values, and for the others what leaves the most out."""
    kind = FACTS[fact].given
    names = {field.name for field in dataclasses.fields(kind)}
    return kind(**{name: value for name, value in _NEUTRAL.items() if name in names} | values)
