"""Addresses read alike, whichever version of SQLAlchemy is installed."""

from __future__ import annotations

import pytest

from tsaudit.net.sql_addresses import parse


@pytest.mark.parametrize(
    ("address", "database"),
    [
        ("sqlite:////data/a%20b%3F%25.db", "/data/a b?%.db"),
        ("postgresql://h/plant%2F1", "plant/1"),
        ("sqlite:///a+b", "a+b"),
        ("postgresql://h", None),
    ],
)
def test_parse_when_the_name_of_the_database_is_encoded(address: str, database: str | None) -> None:
    assert parse(address).database == database
