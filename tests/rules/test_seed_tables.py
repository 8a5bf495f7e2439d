"""The tables of GreptimeDB's guide to table schemas: what the audit advises on them is what the guide says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pytest

from tests.collect.conftest import collected
from tests.databases import Dataset, write
from tests.greptimedb_double import GreptimeDB
from tests.rules.seed_tables import MISUSED, TABLES
from tsaudit.audit import audit
from tsaudit.finding import AuditResult, Severity
from tsaudit.profile import Profile
from tsaudit.rule import LimitPolicy

SMALL: Final = {
    "unfitting-index.max_low_values": 1_000,
    "unfitting-index.min_rows": 1_000,
    "unfitting-full-text-index.min_rows": 1_000,
}
"""Limits for tables of thousands of rows instead of millions."""

EXPECTED: Final = {
    ("without_append_mode", None): "STO006",
    ("id_in_the_key", "application"): "STO005",
    ("id_in_the_key", "request_id"): "TAG002",
    ("id_with_inverted_index", "request_id"): "STO007",
    ("method_with_skipping_index", "http_method"): "STO007",
    ("key_indexed_again", None): "STO001",
    ("unsearchable_logs", "message"): "STO008",
    ("metrics_by_time", None): "STO001 STO003",
}
"""(table, column to blame) to the rules that report it, of all that is wrong with the misused tables."""


def _audited(dataset: Dataset, version: str = "1.1.4") -> tuple[Profile, AuditResult]:
    server = GreptimeDB(version)
    try:
        profile = collected(write(dataset, "greptimedb", server))
    finally:
        server.stop()
    return profile, audit(profile, policy=LimitPolicy(target=SMALL))


def _reported(result: AuditResult) -> Mapping[tuple[str | None, str | None], str]:
    found: dict[tuple[str | None, str | None], set[str]] = {}
    for rule, finding in result.findings():
        # The guide keeps the status of a request as text, which holds whole numbers; guideline C3 says otherwise.
        if finding.severity is not Severity.INFO and finding.guilty != "http_status":
            found.setdefault((finding.subject.measurement, finding.guilty), set()).add(rule.code)
    return {key: " ".join(sorted(codes)) for key, codes in found.items()}


@pytest.mark.parametrize("version", ["0.17.2", "1.0.2", "1.1.4"])
def test_tables_of_the_guide_are_in_order(version: str) -> None:
    profile, result = _audited(TABLES, version)
    assert len(profile.measurements) == len(TABLES.tables)
    assert _reported(result) == {}


def test_what_the_guide_warns_against_is_reported_and_nothing_else() -> None:
    profile, result = _audited(MISUSED)
    assert profile.gaps == ()
    assert _reported(result) == EXPECTED
