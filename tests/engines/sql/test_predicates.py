"""What a query reads and filters by, by its words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsaudit.engines.sql.predicates import filtered_columns, tables


@pytest.mark.parametrize(
    ("sql", "read"),
    [
        ('SELECT 1 FROM "shop"."cpu" WHERE time > ago(1h)', {("shop", "cpu")}),
        ("select 1 from shop.cpu c join mem m on c.host = m.host", {("shop", "cpu"), ("", "mem")}),
        ("SELECT x FROM (SELECT y FROM a.b) t", {("a", "b")}),
        ("SELECT 'from x.y' -- from z.z\n FROM a.b /* from c.d */", {("a", "b")}),
        ("WITH t AS (SELECT 1 FROM a.b) SELECT 1 FROM t", {("a", "b"), ("", "t")}),
        ("SELECT extract(hour FROM time) FROM", {("", "time")}),
        (
            'SELECT 1, 2 FROM "a"."b" AS x, c.d, (SELECT 3, 4 FROM e.f) g, h.i WHERE y IN (5, z)',
            {("a", "b"), ("c", "d"), ("e", "f"), ("h", "i")},
        ),
        (
            "WITH t AS (SELECT 1 FROM a.b), u AS (SELECT 2) SELECT f(3, v), 4 FROM t, u",
            {("a", "b"), ("", "t"), ("", "u")},
        ),
        ("", set()),
    ],
)
def test_tables(sql: str, read: set[tuple[str, str]]) -> None:
    assert tables(sql) == read


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("SELECT a FROM t WHERE time > ago(1h) AND \"measure_name\" = 'cpu'", {"time", "measure_name"}),
        ("SELECT a FROM t WHERE time BETWEEN ago(1h) AND now() GROUP BY host HAVING count(*) > 3", {"time"}),
        ("SELECT a = 1 FROM t", set()),
        ("SELECT a FROM t WHERE date_trunc('day', time) = x", {"x"}),
        ("SELECT a FROM t WHERE 'x' = t.host AND (cell IN ('a', 'b') OR silo LIKE 'c%')", {"host", "cell", "silo"}),
        ("SELECT a FROM t WHERE k = (SELECT max(k) FROM u WHERE v <> 1) AND w NOT IN (1)", {"k", "v", "w"}),
        ("SELECT a FROM t JOIN u ON t.id = u.ref WHERE b IS NOT NULL", {"id", "ref", "b"}),
        ("SELECT a FROM (SELECT b FROM t WHERE c = 1 ORDER BY d) WHERE e = 2 LIMIT 3", {"c", "e"}),
        ("SELECT a FROM t WHERE 'it''s = b' = c -- d = 1", {"c"}),
        ("WHERE = (", set()),
    ],
)
def test_filtered_columns(sql: str, columns: set[str]) -> None:
    assert filtered_columns(sql) == columns


@given(st.text(max_size=200))
def test_any_text_is_read(sql: str) -> None:
    assert tables(sql) is not None
    assert "" not in filtered_columns(sql)


_NAME = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


@given(_NAME, _NAME, _NAME)
def test_quoted_names_come_back_as_they_were(database: str, table: str, column: str) -> None:
    def quoted(name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    sql = f"SELECT 1 FROM {quoted(database)}.{quoted(table)} WHERE {quoted(column)} = 'x'"
    assert tables(sql) == {(database, table)}
    assert filtered_columns(sql) == {column}
