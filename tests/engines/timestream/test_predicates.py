"""What a query reads and filters by."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tsaudit.engines.connection import ConnectorError
from tsaudit.engines.timestream.predicates import UnreadableError, read

LIMITED = settings(deadline=None, max_examples=examples(100))

INTERPOLATED = """
WITH binned_timeseries AS (
    SELECT hostname, BIN(time, 30s) AS binned_timestamp, ROUND(AVG(measure_value::double), 2) AS avg_cpu
    FROM "sampleDB".DevOps
    WHERE measure_name = 'cpu_utilization' AND hostname = 'host-Hovjv' AND time > ago(2h)
    GROUP BY hostname, BIN(time, 30s)
), interpolated AS (
    SELECT hostname, INTERPOLATE_LINEAR(
        CREATE_TIME_SERIES(binned_timestamp, avg_cpu),
        SEQUENCE(min(binned_timestamp), max(binned_timestamp), 15s)) AS series
    FROM binned_timeseries GROUP BY hostname
)
SELECT time, ROUND(value, 2) FROM interpolated CROSS JOIN UNNEST(series)
"""
"""After the vendor's own examples."""


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ('SELECT 1 FROM "shop"."cpu" WHERE time > ago(1h)', {("shop", "cpu")}),
        ("select 1 from shop.cpu c join mem m on c.host = m.host", {("shop", "cpu"), ("", "mem")}),
        ("SELECT x FROM (SELECT y FROM a.b) t", {("a", "b")}),
        ("SELECT 'from x.y' -- from z.z\n FROM a.b /* from c.d */", {("a", "b")}),
        ("WITH t AS (SELECT 1 FROM a.b) SELECT 1 FROM t", {("a", "b")}),
        ("WITH T AS (SELECT 1 FROM a.b) SELECT 1 FROM t, a.t", {("a", "b"), ("a", "t")}),
        ("SELECT extract(hour FROM time) FROM a.b", {("a", "b")}),
        (
            'SELECT 1, 2 FROM "a"."b" AS x, c.d, (SELECT 3, 4 FROM e.f) g, h.i WHERE y IN (5, z)',
            {("a", "b"), ("c", "d"), ("e", "f"), ("h", "i")},
        ),
        ("WITH t AS (SELECT 1 FROM a.b), u AS (SELECT 2) SELECT f(3, v), 4 FROM t, u", {("a", "b")}),
        ("SELECT 1 FROM a.b UNION ALL (SELECT 2 FROM c.d) ORDER BY 1", {("a", "b"), ("c", "d")}),
        ("SELECT 1 FROM a.b CROSS JOIN UNNEST(x) AS t (y)", {("a", "b")}),
        (INTERPOLATED, {("sampleDB", "DevOps")}),
        ("SELECT 1", set()),
    ],
)
def test_tables(sql: str, tables: set[tuple[str, str]]) -> None:
    assert read(sql).tables == tables


@pytest.mark.parametrize(
    ("condition", "columns"),
    [
        ("date_trunc('day', time) = '2026-01-01' AND host = 'a'", {"time"}),
        ("time + 1h > now()", {"time"}),
        ("time > ago(1d) AND bin(time, 1h) = x", set()),
        ("k = 1 AND EXISTS (SELECT 1 FROM u WHERE c = 2 AND v = 3)", set()),
    ],
)
def test_columns_that_are_only_compared_after_a_calculation(condition: str, columns: set[str]) -> None:
    assert read(f"SELECT a FROM t WHERE {condition}").only_computed == columns


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("SELECT a FROM t WHERE time > ago(1h) AND \"measure_name\" = 'cpu'", {"time", "measure_name"}),
        ("SELECT a FROM t WHERE time BETWEEN ago(1h) AND now() GROUP BY host HAVING count(*) > 3", {"time"}),
        ("SELECT a FROM t WHERE time BETWEEN @scheduled_runtime - 15m AND @scheduled_runtime", {"time"}),
        ("SELECT a FROM t WHERE now() - 1d < (time)", {"time"}),
        ("SELECT a = 1 FROM t", set()),
        ("SELECT a FROM t WHERE date_trunc('day', time) = x", {"x"}),
        ("SELECT a FROM t WHERE bin(time, 1h) > ago(1h) AND regexp_like(host, 'x')", set()),
        ("SELECT a FROM t WHERE 'x' = t.host AND (cell IN ('a', 'b') OR silo LIKE 'c%')", {"host", "cell", "silo"}),
        ("SELECT a FROM t WHERE k = (SELECT max(k) FROM u WHERE v <> 1) AND w NOT IN (1)", {"k", "v", "w"}),
        ("SELECT a FROM t WHERE k IN (SELECT b = 1 FROM u) AND EXISTS (SELECT c < 2 FROM w)", {"k"}),
        ("SELECT a FROM t JOIN u ON t.id = u.ref WHERE b IS NOT NULL", {"id", "ref", "b"}),
        ("SELECT a FROM (SELECT b FROM t WHERE c = 1 ORDER BY d) WHERE e = 2 LIMIT 3", {"c", "e"}),
        ("SELECT a FROM t WHERE 'it''s = b' = c -- d = 1", {"c"}),
        ('SELECT a FROM t WHERE "measure_value::bigint" > 3 AND measure_value::double > 2', {"measure_value::bigint"}),
        (INTERPOLATED, {"measure_name", "hostname", "time"}),
    ],
)
def test_filters(sql: str, columns: set[str]) -> None:
    assert read(sql).filters == columns


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("", "does not begin with SELECT"),
        ("SHOW TABLES", "does not begin with SELECT"),
        ("UNLOAD (SELECT 1 FROM a.b) TO 's3://x'", "does not begin with SELECT"),
        ("WHERE = (", "does not begin with SELECT"),
        ("SELECT extract(hour FROM time) FROM", "line 1, column"),
        ("SELECT 1 FROM a.b WHERE 'x", "has no end"),
        ("SELECT 1 FROM a; SELECT 2 FROM b", "not a single query"),
        ("(" * 10_000, "line 1, column|nested too deeply"),
        ("SELECT " + "(" * 10_000 + "1" + ")" * 10_000, "nested too deeply"),
    ],
)
def test_text_that_is_no_query_is_refused_in_one_line(sql: str, why: str) -> None:
    with pytest.raises(UnreadableError, match=why) as caught:
        read(sql)
    assert "\n" not in str(caught.value)


def test_missing_library_is_one_line_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(ConnectorError, match=r"needs its driver: pip install 'tsaudit\[timestream\]'$"):
        read("SELECT 1")


@LIMITED
@given(st.text(max_size=200) | st.text(st.sampled_from("SELECT FROM WHERE(),.'\"=<>-/*@1h\n"), max_size=60))
def test_any_text_is_read_or_refused(sql: str) -> None:
    for text in (sql, f"SELECT {sql}", f"SELECT 1 FROM a WHERE {sql}"):
        with suppress(UnreadableError):
            assert "" not in read(text).filters


_NAME = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@LIMITED
@given(_NAME, _NAME, _NAME)
def test_quoted_names_come_back_as_they_were(database: str, table: str, column: str) -> None:
    found = read(f"SELECT 1 FROM {quoted(database)}.{quoted(table)} WHERE {quoted(column)} = 'x'")
    assert found.tables == {(database, table)}
    assert found.filters == {column}


@dataclass(frozen=True)
class Written:
    """A query of the test's own making, and what it reads by construction."""

    sql: str
    tables: frozenset[tuple[str, str]]
    filters: frozenset[str]


_COLUMN = st.integers(0, 9).map(lambda n: f"c{n}")
_PRUNING = st.sampled_from(
    ["{} = 'x'", "{} <> 1", "ago(1h) <= {}", "{} BETWEEN 1 AND 2", "{} IN (1, 2)", "NOT {} LIKE 'a%'", "({}) IS NULL"]
)
_NOT_PRUNING = st.sampled_from(["lower({}) = 'x'", "1 = 1", "bin({}, 5m) > ago(1d)", "regexp_like({}, 'a = b')"])


@st.composite
def queries(draw: st.DrawFn, depth: int = 2) -> Written:
    """Tables, subqueries in FROM and in WHERE, WITH, and unions, nested; conditions that prune and some that do not."""
    tables: set[tuple[str, str]] = set()
    filters: set[str] = set()

    def nested() -> str:
        inner = draw(queries(depth - 1))
        tables.update(inner.tables)
        filters.update(inner.filters)
        return inner.sql

    def source() -> str:
        if depth and draw(st.booleans()):
            return f"({nested()}) s"
        table = (f"d{draw(st.integers(0, 2))}", f"t{draw(st.integers(0, 4))}")
        tables.add(table)
        return ".".join(table)

    def condition() -> str:
        column = draw(_COLUMN)
        if depth and draw(st.integers(0, 5)) == 0:
            filters.add(column)
            return f"{column} = ({nested()})"
        if draw(st.booleans()):
            return draw(_NOT_PRUNING).format(column)
        filters.add(column)
        return draw(_PRUNING).format(column)

    sql = f"SELECT c1 = 2, max(c2) FROM {source()}"
    if draw(st.booleans()):
        sql += f" JOIN {source()} ON {condition()}"
    if draw(st.booleans()):
        sql += f" WHERE {condition()} {draw(st.sampled_from(['AND', 'OR']))} {condition()}"
    if draw(st.booleans()):
        sql += " GROUP BY c3 HAVING count(c4) > 5"
    if depth and draw(st.integers(0, 3)) == 0:
        sql += f" UNION ALL {nested()}"
    if depth == 2 and draw(st.booleans()):
        sql = f"WITH w AS ({nested()}) SELECT 1 FROM w, ({sql}) /* FROM x WHERE y = 1 */"
    return Written(sql, frozenset(tables), frozenset(filters))


@LIMITED
@given(queries())
def test_query_reads_what_was_written_into_it(query: Written) -> None:
    found = read(query.sql)
    assert (found.tables, found.filters) == (query.tables, query.filters), query.sql
