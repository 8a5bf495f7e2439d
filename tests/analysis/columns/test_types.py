"""What type names of engines mean."""

from __future__ import annotations

from tsaudit.analysis.columns.columns import is_integer, is_text


def test_types_when_engines_name_them() -> None:
    assert all(map(is_text, ("VARCHAR", "text", "string", "VARCHAR(20)", "ENUM('a')", "UUID", "character varying")))
    assert not any(map(is_text, ("DOUBLE", "BIGINT", "float", "TIMESTAMP", "BOOLEAN", "")))
    assert all(map(is_integer, ("BIGINT", "INTEGER", "integer", "int8", "UINTEGER", "SMALLINT")))
    assert all(map(is_integer, ("dt_integer(8)", "my_bigint", "unsigned")))
    assert not any(map(is_integer, ("INTERVAL", "DOUBLE", "float", "POINT")))
