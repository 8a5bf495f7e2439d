"""STO014: the format of files."""

from __future__ import annotations

import pytest

from tests.builders import a_field
from tests.databases import Dataset, Greptime, Row, Table, times
from tests.rules.cases import Case, dataset
from tests.rules.greptime import a_table, findings
from tsaudit.finding import Severity, Subject
from tsaudit.rules.former_file_format import former_file_format as rule


def _hosts(sst_format: str) -> Dataset:
    rows = [Row(t, {"host": "a"}, {"cpu": 1.5}) for t in times(5)]
    settings = Greptime(options={"sst_format": sst_format})
    return dataset(Table("hosts", ("host",), {"cpu": "float"}, rows, key=("time", "host"), greptime=settings))


CASES = (Case(_hosts("primary_key"), _hosts("flat"), Subject("", "hosts"), severity=Severity.INFO),)


@pytest.mark.parametrize(("version", "expected"), [("1.1.4", 1), ("1.0.0", 1), ("0.17.2", 0), ("unknown", 0)])
def test_information_when_the_server_knows_the_other_one(version: str, expected: int) -> None:
    found = findings(rule, a_table(options={"sst_format": "primary_key"}), version)
    assert len(found) == expected
    if found:
        assert found[0].fix.startswith("ALTER TABLE \"logs\" SET 'sst_format'='flat';")


def test_silence_when_it_is_flat_not_said_or_another_tables() -> None:
    assert not findings(rule, a_table(options={"sst_format": "flat"}, fields=(a_field(),)))
    assert not findings(rule, a_table())
    assert not findings(rule, a_table(options={"sst_format": "primary_key", "on_physical_table": "p"}))
