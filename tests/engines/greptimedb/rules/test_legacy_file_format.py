"""STO014: the format of files."""

from __future__ import annotations

import pytest

from tests.builders import a_field
from tests.collecting import collected
from tests.databases import Dataset, Greptime, Row, Table, times, write
from tests.engines.greptimedb.cases import a_table, findings
from tests.engines.greptimedb.double import GreptimeDB
from tests.rules.cases import Case, dataset, run_rule
from tsaudit.engines.greptimedb.rules.legacy_file_format import legacy_file_format as rule
from tsaudit.model.finding import Outcome
from tsaudit.model.subject import Subject


def _hosts(sst_format: str) -> Dataset:
    rows = [Row(t, {"host": "a"}, {"cpu": 1.5}) for t in times(5)]
    settings = Greptime(options={"sst_format": sst_format} if sst_format else {})
    return dataset(Table("hosts", ("host",), {"cpu": "float"}, rows, key=("time", "host"), greptime=settings))


CASES = (Case(_hosts("primary_key"), _hosts("flat"), Subject("", "hosts")),)


@pytest.mark.parametrize(("version", "expected"), [("1.1.4", 1), ("1.0.0", 1), ("0.17.2", 0), ("unknown", 0)])
def test_information_when_the_server_knows_the_other_one(version: str, expected: int) -> None:
    found = findings(rule, a_table(options={"sst_format": "primary_key"}), version)
    assert len(found) == expected
    assert all(one.fix.startswith("Set sst_format to flat. Files stay as they are") for one in found)


@pytest.mark.parametrize(
    ("version", "outcome"), [("0.17.2", Outcome.PASS), ("1.0.2", Outcome.OPEN), ("1.1.4", Outcome.PASS)]
)
def test_unknown_when_the_version_does_not_tell(version: str, outcome: Outcome) -> None:
    server = GreptimeDB(version)
    try:
        profile = collected(write(_hosts(""), "greptimedb", server))
    finally:
        server.stop()
    result = run_rule(rule, profile)
    assert result.outcome is outcome
    if outcome is Outcome.OPEN:
        assert result.reason.endswith("the server does not report its file format; 1.1 and later do")


def test_silence_when_it_is_flat_not_said_or_another_tables() -> None:
    assert not findings(rule, a_table(options={"sst_format": "flat"}, fields=(a_field(),)))
    assert not findings(rule, a_table())
    assert not findings(rule, a_table(options={"sst_format": "primary_key", "on_physical_table": "p"}))
