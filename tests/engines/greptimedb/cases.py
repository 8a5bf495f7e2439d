"""Tables of GreptimeDB as profiles have them, and rows to write to a stand-in for it."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, Final

from tests.builders import NOW, a_count, a_field, a_measurement, a_profile
from tests.rules.cases import planned, run_rule
from tsaudit.model.columns import Field
from tsaudit.model.finding import Finding
from tsaudit.model.profile import Measurement
from tsaudit.model.storage import Index, StoredRows
from tsaudit.rule import Rule

_random = random.Random(11)
IDS: Final = tuple(str(uuid.UUID(int=_random.getrandbits(128), version=4)) for _ in range(3000))
_WORDS: Final = ("connection to", "payment of", "request for", "session with", "upload from")
LINES: Final = tuple(
    f"ERROR: {_WORDS[i % 5]} customer {_random.randint(1, 10**6)} failed after {_random.randint(1, 999)} ms, will retry"
    for i in range(3000)
)
METHODS: Final = ("GET", "POST", "PUT")


def a_text(key: str, sample: Iterable[str], distinct: int | None = None, **changes: Any) -> Field:
    values = tuple(sorted(sample))
    count = len(values) if distinct is None else distinct
    return a_field(key, ("string",), distinct=a_count(count), sample=values[:64], **changes)


def a_table(
    *,
    options: Mapping[str, str] | None = None,
    key: tuple[str, ...] = ("host",),
    indexes: Mapping[str, str] | None = None,
    **changes: Any,
) -> Measurement:
    """`indexes`: column to kind. Its tags are by default `host`, which is its key."""
    primary = (Index("PRIMARY", "primary", key, False, True, False),) if key else ()
    on_columns = tuple(
        Index(f"{kind.upper()}_INDEX_{column}", kind, (column,), False, False, False)
        for column, kind in sorted((indexes or {}).items())
    )
    known: dict[str, Any] = {
        "time_column": "ts",
        "time_type": "timestamp(3)",
        "options": {"engine": "mito", **(options or {})},
        "indexes": (*on_columns, *primary),
        "rows": a_count(1_000_000),
        "fields": (a_field("usage", ("double",)),),
    }
    return a_measurement("logs", **(known | ({} if key else {"tags": ()}) | changes))


def stored(rows: int) -> StoredRows:
    return StoredRows(rows, NOW - timedelta(days=30))


def findings(rule: Rule, table: Measurement, version: str = "1.1.4", **limits: float) -> tuple[Finding, ...]:
    result = run_rule(rule, a_profile(table, engine="greptimedb", server_version=version), limits)
    assert not result.reason, result.reason
    return result.findings


def steps(rule: Rule, table: Measurement, version: str = "1.1.4", **limits: float) -> str:
    """What the plans say and propose that come of what the rule finds."""
    return planned(rule, a_profile(table, engine="greptimedb", server_version=version), limits)
